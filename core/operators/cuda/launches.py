"""What the launches of operators on CUDA have in common: grids, frontiers as kernels take them, counters, lists."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.devices import Array, Device
from suricate.operators import schemes
from suricate.operators.cuda.programs import BLOCK, WARPS
from suricate.structures.frontier import Frontier

if TYPE_CHECKING:
    from suricate.graph import Graph

BLOCKS_PER_SM = 8  #: of BLOCK threads: what a multiprocessor can hold
NULL = np.uint64(0)


# -- grids -------------------------------------------------------------------------------------------------------------


def blocks(items: int, per_block: int) -> int:
    """Return how many blocks serve ``items``."""
    return -(-items // per_block)


def full_grid(device: Device) -> int:
    """Return how many blocks of ``BLOCK`` threads fill the device."""
    return BLOCKS_PER_SM * multiprocessors(device.index)


def fair_share(device: Device, count: int) -> int:
    """Return how many of ``count`` vertices each block serves: few if they are few, so that all blocks have some."""
    return min(BLOCK, WARPS * blocks(count, WARPS * full_grid(device)))


@cache
def multiprocessors(index: int) -> int:
    """Return the number of multiprocessors of CUDA device ``index``."""
    import cupy

    return cupy.cuda.Device(index).attributes["MultiProcessorCount"]


@cache
def has_cooperative_launch(index: int) -> bool:
    """Return whether CUDA device ``index`` can run ``propagate`` as one launch; without it the host steps."""
    import cupy

    return bool(cupy.cuda.Device(index).attributes["CooperativeLaunch"])


# -- arguments ---------------------------------------------------------------------------------------------------------


def frontier_arguments(frontier: Frontier) -> tuple[Any, Any, np.uint32]:
    """Return a frontier as kernels take it: ids or null, their number on the device or null, their number if known."""
    if frontier.is_all:
        return NULL, NULL, np.uint32(frontier.capacity)
    known = frontier.known_count
    return frontier.buffer, frontier.device_count if known is None else NULL, np.uint32(known or 0)


def heavy_arrays(graph: Graph) -> tuple[Array, Array]:
    """Return the arrays of a list of heavy vertices that has a place for every vertex."""
    workspace, size = graph.workspace, graph.num_vertices
    return workspace.array("operators.heavy", size, np.uint32), workspace.array("operators.heavy_base", size, np.int64)


def short_heavy_list(graph: Graph) -> tuple[Array, Array, Array, np.uint32]:
    """Return an empty list of at most ``MAX_SPLIT`` heavy vertices, as kernels take it."""
    workspace, (_, total), most = graph.workspace, graph.workspace.state(Counters).take(), schemes.MAX_SPLIT
    entry = workspace.array("operators.split", most, np.uint32)
    base = workspace.array("operators.split_base", most, np.int64)
    return entry, base, total, np.uint32(most)


def nobody(graph: Graph) -> Frontier:
    """Return an empty frontier."""
    return Frontier(graph.device, graph.device.xp.empty(0, np.uint32), num_vertices=graph.num_vertices)


def not_yet(wanted: bool, what: str) -> None:
    """Raise ``NotImplementedError`` if ``what`` is wanted: the CPU has it, the kernels have not."""
    if wanted:
        raise NotImplementedError(f"{what} is not there yet on CUDA")


class Counters:
    """Zeroed counters on the device, handed out one pair per launch, so that no launch has to clear its own."""

    SIZE = 2048

    def __init__(self, device: Device) -> None:
        self._device = device
        self._next = self.SIZE

    def take(self) -> tuple[Array, Array]:
        """Return a ``uint32[1]`` and a ``uint64[1]``, both zero; nobody else gets them."""
        if self._next == self.SIZE:
            self._counts = self._device.xp.zeros(self.SIZE, np.uint32)
            self._totals = self._device.xp.zeros(self.SIZE, np.uint64)
            self._next = 0
        at = self._next
        self._next += 1
        return self._counts[at : at + 1], self._totals[at : at + 1]
