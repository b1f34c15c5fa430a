"""Batch operations on CUDA: how they spread over the device, and the memory of an unvalidated batch."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

import cupy
import numpy as np

from suricate.backends.slabhash.programs import BLOCK, LANES
from suricate.cuda.launch import StructKernel
from suricate.devices import Array
from suricate.types import Change, EdgeList, Outcome, PlacedArcs

WARPS = BLOCK // LANES  # of a block
MAX_BLOCKS = 1 << 20
MOST_PLANS = 64  # kinds and sizes of batches that are remembered
ALIGNMENT = 256  # bytes


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
        edges = EdgeList(self._array(0, np.uint32), self._array(1, np.uint32), weight and self._array(2, weight))
        outcome = Outcome(self._array(3, np.uint8), before and self._array(4, before))
        return Change(edges, outcome, self.mirrored)

    def placed(self, wanted: int, *, gone: bool) -> PlacedArcs:
        """Return the entries of status ``wanted`` for launches; with the weights that they had if they are gone."""
        src, dst, weight, status, before, _, _ = self.batch.addresses
        held, at = (self.before, before) if gone else (self.weight, weight)
        return PlacedArcs((src, dst, 0 if held is None else at, status), wanted, self.size, self)

    def _array(self, place: int, dtype: Any) -> Array:
        return cupy.ndarray((self.size,), dtype, self.batch.memory + self.batch.offsets[place])


@dataclass(slots=True, eq=False)
class ScratchBuffer:
    """Memory for insertions of up to ``edges`` edges, ``size`` bytes.

    ``prefix`` is what the kernel's argument begins with: the struct of the arrays, and the struct ``Scratch``.
    """

    edges: int
    size: int
    memory: Any
    prefix: bytes


NO_SCRATCH = ScratchBuffer(0, 0, None, b"")


class BatchKernel:
    """The kernel of a batch operation.

    Its argument begins with ``prefix`` bytes that change seldom: the struct of the arrays, and what insertions have in
    common. The operation's struct follows, with ``Unvalidated`` if it takes unvalidated batches; ``packer`` packs both.
    ``resident`` blocks fill the device; a ``cooperative`` grid has no more.
    """

    def __init__(
        self, kernel: StructKernel, prefix: int, packer: struct.Struct, lanes: int, resident: int, *, cooperative: bool
    ) -> None:
        self._kernel, self._at, self._packer = kernel, prefix, packer
        self._tiles, self._rounds = LANES // lanes, lanes if lanes > 2 else 1  # of a warp, and those it takes at most
        self._filling = self._tiles * WARPS * resident  # edges of which every tile of the device has one
        self._most_blocks = resident if cooperative else MAX_BLOCKS

    def spread(self, edges: int) -> tuple[int, int]:
        """Return how many of so many edges a warp takes at a time, and how many blocks to launch.

        A warp takes as many edges as it has tiles while that keeps the device busy, up to one per lane for larger
        batches; see tile.cuh.
        """
        tiles, filling = self._tiles, self._filling
        share = tiles if edges < filling else tiles * min(self._rounds, 1 + edges // filling)
        return share, min((edges - 1) // (share * WARPS) + 1, self._most_blocks)

    def launch(self, prefix: bytes, blocks: int, words: tuple[int, ...]) -> None:
        """Launch as many blocks."""
        kernel = self._kernel
        if kernel.prefix is not prefix:
            kernel.begin_with(prefix)
        self._packer.pack_into(kernel.buffer, self._at, *words)
        kernel.launch(blocks, BLOCK)


@dataclass(slots=True, eq=False)  # read on the hot path, where a slot takes a third of the time of a NamedTuple's field
class LaunchPlan:
    """What batches of one kind and size have in common.

    A warp takes ``share`` edges at a time; ``offsets`` are those of a ``BatchMemory``.
    """

    kernel: BatchKernel
    share: int
    blocks: int
    offsets: tuple[int, ...]
