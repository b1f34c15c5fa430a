"""Batch operations on CUDA: how they spread over the device."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from suricate.backends.slabhash.programs import BLOCK, LANES
from suricate.cuda.launch import StructKernel

WARPS = BLOCK // LANES  # of a block
MAX_BLOCKS = 1 << 20


@dataclass(slots=True, eq=False)
class ScratchBuffer:
    """Scratch memory for insertions of up to ``edges`` edges: ``size`` bytes, held by ``memory``.

    ``prefix`` are the first bytes of the kernel's argument: the struct of the arrays, and the struct ``SCRATCH``.
    """

    edges: int
    size: int
    memory: Any
    prefix: bytes


NO_SCRATCH = ScratchBuffer(0, 0, None, b"")


class BatchKernel:
    """The kernel of a batch operation, and the struct that it takes as argument.

    The struct begins with ``prefix`` bytes that rarely change: the struct of the arrays and, for insertions,
    ``SCRATCH``. The operation's own fields follow, then ``Unvalidated`` if the kernel takes unvalidated batches;
    ``packer`` packs both. A tile has ``lanes`` lanes. ``resident`` blocks fill the device; a ``cooperative`` grid has
    no more.
    """

    def __init__(
        self, kernel: StructKernel, prefix: int, packer: struct.Struct, lanes: int, resident: int, *, cooperative: bool
    ) -> None:
        self._kernel, self._at, self._packer = kernel, prefix, packer
        self._tiles, self._rounds = LANES // lanes, lanes if lanes > 2 else 1  # of a warp, and those it takes at most
        self._filling = self._tiles * WARPS * resident  # edges of which every tile of the device has one
        self._most_blocks = resident if cooperative else MAX_BLOCKS

    def spread(self, edges: int) -> tuple[int, int]:
        """Return how many of a batch's ``edges`` edges a warp handles at a time, and how many blocks to launch.

        A warp handles one edge per tile until that fills the device, then more, at most one per lane; see tile.cuh.
        """
        tiles, filling = self._tiles, self._filling
        share = tiles if edges < filling else tiles * min(self._rounds, 1 + edges // filling)
        return share, min((edges - 1) // (share * WARPS) + 1, self._most_blocks)

    def launch(self, prefix: bytes, blocks: int, words: tuple[int, ...]) -> None:
        """Launch ``blocks`` blocks; the kernel's argument is ``prefix`` followed by the packed ``words``."""
        kernel = self._kernel
        if kernel.prefix is not prefix:
            kernel.begin_with(prefix)
        self._packer.pack_into(kernel.buffer, self._at, *words)
        kernel.launch(blocks, BLOCK)


@dataclass(slots=True, eq=False)  # read on the hot path, where a slot takes a third of the time of a NamedTuple's field
class LaunchPlan:
    """The launch of a batch operation for one number of edges. A warp takes ``share`` edges at a time."""

    kernel: BatchKernel
    share: int
    blocks: int
