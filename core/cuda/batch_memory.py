"""The memory of an unvalidated batch: one block for copies and outcome, made into arrays when they are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate.base.devices import Array, Device
from suricate.base.types import Change, EdgeList, Outcome, PlacedArcs

if TYPE_CHECKING:
    from suricate.intake.ingest import UnvalidatedBatch

MOST_PLANS = 64  #: kinds and sizes of batches that are remembered
ALIGNMENT = 256  #: bytes


@lru_cache(MOST_PLANS)
def offsets_of(*sizes: int) -> tuple[int, ...]:
    """Return the offsets of arrays of these sizes in one block of memory, and the size of that."""
    return tuple(accumulate((size + ALIGNMENT - 1 & -ALIGNMENT for size in sizes), initial=0))


class BatchMemory(NamedTuple):
    """Memory for the copies and the outcome of an unvalidated batch.

    ``addresses`` are those of the copies of src, dst and weight, of the status and the old weights, and of the status
    and the old weights that a second store reports.
    """

    offsets: tuple[int, ...]
    memory: Any
    addresses: tuple[int, ...]


NO_MEMORY = BatchMemory((0,), None, ())


def batch_memory(offsets: tuple[int, ...], memory: Any) -> BatchMemory:
    """Return ``memory`` divided at ``offsets``."""
    start, (src, dst, weight, status, before, second, old, _) = memory.ptr, offsets
    return BatchMemory(offsets, memory, (
        start + src, start + dst, start + weight, start + status, start + before, start + second, start + old,
    ))  # fmt: skip


@dataclass(slots=True, eq=False)
class LazyChange:
    """Makes the arrays of the copies and the outcome of an unvalidated batch when it is called."""

    size: int
    mirrored: bool
    weight: np.dtype | None
    before: np.dtype | None
    batch: BatchMemory

    def __call__(self) -> Change:
        """Return the arrays."""
        weight, before = self.weight, self.before
        edges = EdgeList(self.array(0, np.uint32), self.array(1, np.uint32), weight and self.array(2, weight))
        outcome = Outcome(self.array(3, np.uint8), before and self.array(4, before))
        return Change(edges, outcome, self.mirrored)

    def placed(self, wanted: int, *, gone: bool) -> PlacedArcs:
        """Return the entries of status ``wanted`` for launches; with the weights that they had if they are gone."""
        src, dst, weight, status, before, _, _ = self.batch.addresses
        held, at = (self.before, before) if gone else (self.weight, weight)
        return PlacedArcs((src, dst, 0 if held is None else at, status), wanted, self.size, self)

    def array(self, place: int, dtype: Any) -> Array:
        """Return the array at a place of ``BatchMemory.addresses``."""
        import cupy

        return cupy.ndarray((self.size,), dtype, self.batch.memory + self.batch.offsets[place])


def batch_offsets(size: int, operation: str, held: np.dtype | None, *, paired: bool) -> tuple[int, ...]:
    """Return where the copies and the outcome of a batch lie in one block of memory.

    ``held`` is the dtype of the store's weights; ``paired``: a second store will report as well.
    """
    width = 0 if held is None else held.itemsize * size
    copied = width if operation == "insert" else 0
    return offsets_of(4 * size, 4 * size, copied, size, width, paired * size, paired * width)


def halves_of_memory(
    device: Device, removed: UnvalidatedBatch, added: UnvalidatedBatch, held: np.dtype | None, *, paired: bool
) -> tuple[LazyChange, LazyChange]:
    """Return memory for both halves of a batch: in each array that of the insertion lies behind that of the deletion.

    The addresses of the first are those of whole arrays, but for the weights, which only the insertion has.
    """
    deletes, inserts, mirrored = removed.size, added.size, added.variant.mirrored
    size, width = deletes + inserts, 0 if held is None else held.itemsize
    offsets = offsets_of(4 * size, 4 * size, width * inserts, size, width * size, paired * size, paired * width * size)
    src, dst, weight, status, before, second, old, end = offsets
    behind = (
        src + 4 * deletes, dst + 4 * deletes, weight, status + deletes, before + width * deletes, second + deletes,
        old + width * deletes, end,
    )  # fmt: skip
    memory = device.xp.cuda.alloc(end)
    return (
        LazyChange(deletes, mirrored, None, held, batch_memory(offsets, memory)),
        LazyChange(inserts, mirrored, held, held, batch_memory(behind, memory)),
    )


def memory_of_batch(
    device: Device, batch: UnvalidatedBatch, held: np.dtype | None, offsets: tuple[int, ...]
) -> LazyChange:
    """Return memory for the copies and the outcome of a batch, divided at :func:`batch_offsets`."""
    memory = batch_memory(offsets, device.xp.cuda.alloc(offsets[-1]))
    weight = held if batch.operation == "insert" else None
    return LazyChange(batch.size, batch.variant.mirrored, weight, held, memory)
