"""What the launches of all operators on CUDA use: grid sizes, frontiers as kernel arguments, counters, merged lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from suricate.base.devices import Array, Device
from suricate.base.types import EMPTY, ArcList
from suricate.cuda.launch import address, multiprocessors
from suricate.graph import Graph
from suricate.kernels.walking import Walk
from suricate.operators import schemes
from suricate.operators.call import Start, stamps_of
from suricate.operators.cuda.loops.recording import cleared_counters
from suricate.operators.cuda.programs import BLOCK, HEAVY_BYTES, LIST, MERGE, WARPS
from suricate.state.frontier import DeviceCount, Frontier

BLOCKS_PER_SM = 8  #: of BLOCK threads: what a multiprocessor can hold
NULL, NOTHING = np.uint64(0), np.uint32(0)
SPLIT_ABOVE = np.uint32(schemes.HEAVY_DEGREE)
#: what :func:`split_list` returns where no vertex is split
NO_SPLITS = False, np.uint32(EMPTY), (NULL, NULL, NOTHING)


# -- grids -------------------------------------------------------------------------------------------------------------


def blocks(items: int, per_block: int) -> int:
    """Return the number of blocks for ``items`` items, of which a block handles ``per_block``."""
    return -(-items // per_block)


def full_grid(device: Device) -> int:
    """Return the number of blocks of ``BLOCK`` threads that ``device`` can run at the same time."""
    return BLOCKS_PER_SM * multiprocessors(device)


def fair_share(device: Device, count: int) -> int:
    """Return how many of ``count`` vertices a block should handle so that all blocks of a full grid have work."""
    return min(BLOCK, WARPS * blocks(count, WARPS * full_grid(device)))


# -- arguments ---------------------------------------------------------------------------------------------------------


def frontier_arguments(frontier: Frontier) -> tuple[Any, Any, np.uint32]:
    """Return ``frontier`` as the three arguments ``(ids, address, count)`` of kernels.

    ``ids`` is an array, or null for all vertices. ``address`` is the device address of their number if only the device
    knows it, else null; then ``count`` is the number.
    """
    if frontier.is_all:
        return NULL, NULL, np.uint32(frontier.capacity)
    known = frontier.known_count
    if known is None:
        return frontier.buffer, frontier.count_address, NOTHING
    return frontier.buffer, NULL, np.uint32(known)


def heavy_arrays(graph: Graph) -> tuple[Array, Array]:
    """Return scratch for heavy vertices: ids, ``uint32[n]``, and sums of buckets before each, ``int64[n]``."""
    workspace, size = graph.workspace, graph.num_vertices
    workspace.state(WideArray).holds = None
    return workspace.array("operators.heavy", size, np.uint32), workspace.array("operators.heavy_base", size, np.int64)


def split_list(
    graph: Graph, walks: Sequence[Walk], *, wanted: bool = True
) -> tuple[bool, np.uint32, tuple[Any, Any, np.uint32]]:
    """Return how a launch over ``walks`` splits heavy vertices: ``(splits, limit, list)``.

    ``splits`` says whether there may be vertices to split, ``limit`` is the degree above which a vertex is split, and
    ``list`` is the empty list of them as kernels take it: memory, address of its counter, capacity. No vertex is split
    if ``wanted`` is False, or if the views together have no more than ``HEAVY_DEGREE`` vertices.
    """
    if not wanted or sum([walk.num_vertices for walk in walks]) <= schemes.HEAVY_DEGREE:
        return NO_SPLITS
    memory, most = split_memory(graph)
    return True, SPLIT_ABOVE, (memory, graph.workspace.state(Counters).total(), most)


def split_memory(graph: Graph) -> tuple[Array, np.uint32]:
    """Return memory for a list of vertices to split, ``uint8[HEAVY_BYTES * capacity]``, and the capacity (vertices)."""
    return graph.workspace.state(SplitMemory).of(graph)


class SplitMemory:
    """The memory of :func:`split_memory` for one graph; allocated again when its number of vertices changes."""

    def __init__(self, device: Device) -> None:
        self._size, self._held = -1, (None, NOTHING)

    def of(self, graph: Graph) -> tuple[Array, np.uint32]:
        """Return the memory, ``uint8[HEAVY_BYTES * capacity]``, and its capacity in vertices, for ``graph``."""
        if graph.num_vertices != self._size:
            most = min(schemes.MAX_SPLIT, max(16, graph.num_vertices // 16))
            self._held = graph.workspace.array("operators.split", most * HEAVY_BYTES, np.uint8), np.uint32(most)
            self._size = graph.num_vertices
        return self._held


class WideArray:
    """Records what the array that :func:`wide_array` returns contains, so that it is not filled again; one per graph.

    ``holds`` is ``(content, device address, length)``: the parameter ``content`` of the last call of
    :func:`wide_array`, and address and length of its array. None: the memory has been used for something else since.
    """

    def __init__(self, device: Device) -> None:
        self.holds: Any = None


def wide_array(graph: Graph, content: Any, dtype: np.dtype, value: Any) -> Array:
    """Return a scratch array ``dtype[num_vertices]`` filled with ``value``; it shares memory with :func:`heavy_arrays`.

    The caller must leave it filled with ``value``: the next call with an equal ``content``, a key that stands for
    ``dtype`` and ``value``, does not fill it again.
    """
    size = graph.num_vertices
    memory = graph.workspace.array("operators.heavy_base", size, np.int64)
    array = memory.view(dtype)[:size]
    known, state = graph.workspace.state(WideArray), (content, memory.data.ptr, size)
    if known.holds != state:
        array.fill(value)
        known.holds = state
    return array


def merged(graph: Graph, start: Start) -> Frontier:
    """Return the vertices of ``start`` as one frontier without repeats; both ends of its arcs are included."""
    if start.single is not None:
        return start.single
    capacity = min(start.at_most + sum(arcs.size for arcs in start.arcs), graph.num_vertices)
    queue, stamps = graph.device.xp.empty(capacity, np.uint32), stamps_of(graph)
    count, step = graph.workspace.state(Counters).count(), np.uint32(stamps.steps(1))

    lists = [_frontier_list(frontier, capacity) for frontier in start.frontiers]
    lists += [_arcs_list(arcs) for arcs in start.arcs]
    lists = [one for one in lists if one[1]]
    for i in range(0, len(lists), 2):
        (first, size), (second, other) = (*lists[i : i + 2], NO_LIST)[:2]
        grid = (min(blocks(max(size, other), BLOCK), full_grid(graph.device)),)
        arguments = (np.uint32(graph.num_vertices), first, second, stamps.array, step, queue, count.address)
        MERGE.kernel("merge_vertices")(grid, (BLOCK,), arguments)
    return Frontier._of(graph.device, queue, count, num_vertices=graph.num_vertices)


def _frontier_list(frontier: Frontier, capacity: int) -> tuple[np.void, int]:
    """Return ``frontier`` as a struct ``List`` for the kernel ``merge_vertices``, and an upper bound of its length."""
    ids, number, size = frontier_arguments(frontier)
    listed = 0 if ids is NULL else ids.data.ptr
    return LIST.packed(listed, 0, int(number), 0, int(size), 0), int(size) if number is NULL else capacity


def _arcs_list(arcs: ArcList) -> tuple[np.void, int]:
    """Return both ends of ``arcs`` as a struct ``List`` for the kernel ``merge_vertices``, and the number of arcs."""
    if not arcs.size:
        return NO_LIST
    status = address(arcs.status)
    return LIST.packed(arcs.src.data.ptr, arcs.dst.data.ptr, 0, status, arcs.size, arcs.wanted), arcs.size


NO_LIST = LIST.packed(0, 0, 0, 0, 0, 0), 0


def distinct_vertices(graph: Graph, start: Start) -> Frontier | None:
    """Return the union of the frontiers of ``start`` without repeats; None if there are no frontiers."""
    if not start.frontiers or start.single is not None:
        return start.single
    return merged(graph, Start(start.frontiers))


def empty_frontier(graph: Graph) -> Frontier:
    """Return a frontier of ``graph`` without vertices."""
    return Frontier._of(graph.device, graph.device.xp.empty(0, np.uint32), num_vertices=graph.num_vertices)


class Counters:
    """A supply of zeroed counters on the device; each serves one launch only, so that none has to clear its own."""

    def __init__(self, device: Device) -> None:
        self._counts, self._totals = _Zeros(device, np.uint32), _Zeros(device, np.uint64)

    def count(self) -> DeviceCount:
        """Return an unused ``uint32`` counter on the device, whose value is 0."""
        cleared = cleared_counters()
        if cleared is not None and (found := cleared.count()) is not None:
            return found
        return DeviceCount(*self._counts.take())

    def total(self) -> np.uint64:
        """Return the address of an unused ``uint64`` counter on the device, whose value is 0."""
        cleared = cleared_counters()
        if cleared is not None and (found := cleared.total()) is not None:
            return found
        return self._totals.take()[2]


class _Zeros:
    """A supply of zeros of one dtype on the device; each zero is used only once."""

    SIZE = 2048

    def __init__(self, device: Device, dtype: Any) -> None:
        self._xp, self._dtype, self._next = device.xp, dtype, self.SIZE

    def take(self) -> tuple[Array, int, np.uint64]:
        """Return ``(array, i, address)``: an array whose entry ``i`` is an unused zero, and that entry's address."""
        if self._next == self.SIZE:
            self._array, self._next = self._xp.zeros(self.SIZE, self._dtype), 0
            places = np.uint64(self._array.itemsize) * np.arange(self.SIZE, dtype=np.uint64)
            self._addresses = np.uint64(self._array.data.ptr) + places
        at = self._next
        self._next += 1
        return self._array, at, self._addresses[at]
