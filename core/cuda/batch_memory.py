"""The memory of a batch on a CUDA device: its edges and its outcome are in one block; arrays are made when needed."""

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
    """Return the offsets (bytes) of arrays of these sizes (bytes) in one block of memory, and last the block's size."""
    return tuple(accumulate((size + ALIGNMENT - 1 & -ALIGNMENT for size in sizes), initial=0))


@lru_cache(MOST_PLANS)
def batch_offsets(deletes: int, inserts: int, width: int, paired: int) -> tuple[int, ...]:
    """Return the offsets, in bytes, of a change's arrays in one block of memory, and last the size of the block.

    The arrays are src, dst, weights, status, old weights, and status and old weights of a second store. Weights have an
    entry per inserted edge, the others ``deletes + inserts`` entries. A weight has ``width`` bytes, or 0; ``paired`` is
    1 if there is a second store, else 0.
    """
    size = deletes + inserts
    old = width * size
    return offsets_of(4 * size, 4 * size, width * inserts, size, old, paired * size, paired * old)


@dataclass(slots=True, eq=False)
class LazyChange:
    """The edges and the outcome of a batch on the device, as addresses; calling the object returns them as arrays.

    Attributes:
        size: number of edges.
        mirrored: whether the batch has both arcs of each undirected edge.
        weight, before: dtypes of the weights in the batch and of the old weights; None: there are none.
        memory: the block of memory that contains the arrays.
        addresses: seven addresses in ``memory``: of src, dst, weight, status and old weights, and of the status and
            old weights of a second store (of in-edges), which this object does not read.
    """

    size: int
    mirrored: bool
    weight: np.dtype | None
    before: np.dtype | None
    memory: Any
    addresses: tuple[int, ...]

    def __call__(self) -> Change:
        """Return the edges and their outcome as views of the block of memory; weights are None if there are none."""
        src, dst, weight, status, before, _, _ = self.addresses
        edges = EdgeList(self.array(src, np.uint32), self.array(dst, np.uint32), self._array(weight, self.weight))
        return Change(edges, Outcome(self.array(status, np.uint8), self._array(before, self.before)), self.mirrored)

    def placed(self, wanted: int, *, gone: bool) -> PlacedArcs:
        """Return the edges of status ``wanted``, with ``gone`` with old weights, without making arrays."""
        src, dst, weight, status, before, _, _ = self.addresses
        held, at = (self.before, before) if gone else (self.weight, weight)
        return PlacedArcs((src, dst, 0 if held is None else at, status), wanted, self.size, self)

    def array(self, address: int, dtype: Any, size: int | None = None) -> Array:
        """Return the array of ``dtype`` at ``address`` in the block of memory; ``size`` None: one entry per edge."""
        import cupy

        memory = self.memory
        return cupy.ndarray((self.size if size is None else size,), dtype, memory + (address - memory.ptr))

    def _array(self, address: int, dtype: np.dtype | None) -> Array | None:
        return None if dtype is None else self.array(address, dtype)
