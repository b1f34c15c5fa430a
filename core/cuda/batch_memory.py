"""The memory of a batch on a CUDA device: copies and outcome in one block, made into arrays when they are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from suricate.base.devices import Array
from suricate.base.types import Change, EdgeList, Outcome, PlacedArcs

MOST_PLANS = 64  #: kinds and sizes of batches that are remembered
ALIGNMENT = 256  #: bytes


@lru_cache(MOST_PLANS)
def offsets_of(*sizes: int) -> tuple[int, ...]:
    """Return the offsets of arrays of these sizes (bytes) in one block of memory, and last the size of the block."""
    return tuple(accumulate((size + ALIGNMENT - 1 & -ALIGNMENT for size in sizes), initial=0))


@lru_cache(MOST_PLANS)
def batch_offsets(deletes: int, inserts: int, width: int, paired: int) -> tuple[int, ...]:
    """Return the offsets, in bytes, of a change's arrays in one block of memory, and last the size of the block.

    The arrays are copies of src, dst and weights, status, old weights, and status and old weights of a second store,
    for ``deletes + inserts`` edges (weights: ``inserts``). A weight has ``width`` bytes, or 0; ``paired`` is 1 if
    there is a second store, else 0.
    """
    size = deletes + inserts
    old = width * size
    return offsets_of(4 * size, 4 * size, width * inserts, size, old, paired * size, paired * old)


@dataclass(slots=True, eq=False)
class LazyChange:
    """When called, returns the copies and the outcome of a batch as arrays.

    ``addresses`` in ``memory`` are those of the copies of src, dst and weight, of the status and the old weights, and
    of the status and the old weights for a second store.
    """

    size: int
    mirrored: bool
    weight: np.dtype | None
    before: np.dtype | None
    memory: Any
    addresses: tuple[int, ...]

    def __call__(self) -> Change:
        """Return the arrays."""
        src, dst, weight, status, before, _, _ = self.addresses
        edges = EdgeList(self.array(src, np.uint32), self.array(dst, np.uint32), self._array(weight, self.weight))
        return Change(edges, Outcome(self.array(status, np.uint8), self._array(before, self.before)), self.mirrored)

    def placed(self, wanted: int, *, gone: bool) -> PlacedArcs:
        """Return the entries of status ``wanted``, as :class:`PlacedArcs`.

        Weights are those of the batch; with ``gone``, those before it.
        """
        src, dst, weight, status, before, _, _ = self.addresses
        held, at = (self.before, before) if gone else (self.weight, weight)
        return PlacedArcs((src, dst, 0 if held is None else at, status), wanted, self.size, self)

    def array(self, address: int, dtype: Any, size: int | None = None) -> Array:
        """Return the array at an address in the memory, of one entry per edge or of ``size`` entries."""
        import cupy

        memory = self.memory
        return cupy.ndarray((self.size if size is None else size,), dtype, memory + (address - memory.ptr))

    def _array(self, address: int, dtype: np.dtype | None) -> Array | None:
        return None if dtype is None else self.array(address, dtype)
