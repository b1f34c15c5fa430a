"""What the launches of operators on CUDA have in common: grids, frontiers as kernels take them, counters, lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.devices import Array, Device
from suricate.base.types import EMPTY, ArcList
from suricate.cuda.launch import address, multiprocessors
from suricate.kernels.walking import Walk
from suricate.operators import schemes
from suricate.operators.call import Start, stamps_of
from suricate.operators.cuda.loops.replay import cleared_counters
from suricate.operators.cuda.programs import BLOCK, HEAVY_BYTES, LIST, MERGE, WARPS
from suricate.state.frontier import DeviceCount, Frontier

if TYPE_CHECKING:
    from suricate.graph import Graph

BLOCKS_PER_SM = 8  #: of BLOCK threads: what a multiprocessor can hold
NULL, NOTHING = np.uint64(0), np.uint32(0)
SPLIT_ABOVE = np.uint32(schemes.HEAVY_DEGREE)
#: what :func:`split_list` returns where no vertex is split
NO_SPLITS = False, np.uint32(EMPTY), (NULL, NULL, NOTHING)


# -- grids -------------------------------------------------------------------------------------------------------------


def blocks(items: int, per_block: int) -> int:
    """Return the number of blocks for ``items`` at ``per_block`` each, rounded up."""
    return -(-items // per_block)


def full_grid(device: Device) -> int:
    """Return how many blocks of ``BLOCK`` threads fill the device."""
    return BLOCKS_PER_SM * multiprocessors(device)


def fair_share(device: Device, count: int) -> int:
    """Return how many of ``count`` vertices each block handles: few enough that every block has some."""
    return min(BLOCK, WARPS * blocks(count, WARPS * full_grid(device)))


# -- arguments ---------------------------------------------------------------------------------------------------------


def frontier_arguments(frontier: Frontier) -> tuple[Any, Any, np.uint32]:
    """Return a frontier as kernels take it: ids or null, their number on the device or null, their number if known."""
    if frontier.is_all:
        return NULL, NULL, np.uint32(frontier.capacity)
    known = frontier.known_count
    if known is None:
        return frontier.buffer, frontier.count_address, NOTHING
    return frontier.buffer, NULL, np.uint32(known)


def heavy_arrays(graph: Graph) -> tuple[Array, Array]:
    """Return the arrays of a list of heavy vertices with a place for every vertex: ``uint32[n]`` ids, ``int64[n]``."""
    workspace, size = graph.workspace, graph.num_vertices
    workspace.state(WideArray).holds = None
    return workspace.array("operators.heavy", size, np.uint32), workspace.array("operators.heavy_base", size, np.int64)


def split_list(
    graph: Graph, walks: Sequence[Walk], *, wanted: bool = True
) -> tuple[bool, np.uint32, tuple[Any, Any, np.uint32]]:
    """Return how heavy vertices are split: whether any may be, above which degree, and an empty list of them.

    The list is given as kernels take it: memory, total and capacity. None are split unless ``wanted``, or if the views
    of ``walks`` together have too few vertices for such a degree.
    """
    if not wanted or sum([walk.num_vertices for walk in walks]) <= schemes.HEAVY_DEGREE:
        return NO_SPLITS
    memory, most = split_memory(graph)
    return True, SPLIT_ABOVE, (memory, graph.workspace.state(Counters).total(), most)


def split_memory(graph: Graph) -> tuple[Array, np.uint32]:
    """Return the memory of a list of vertices to split, and how many it holds: few on small graphs."""
    return graph.workspace.state(SplitMemory).of(graph)


class SplitMemory:
    """The memory of a list of vertices to split, allocated again when the size of the graph changes."""

    def __init__(self, device: Device) -> None:
        self._size, self._held = -1, (None, NOTHING)

    def of(self, graph: Graph) -> tuple[Array, np.uint32]:
        """Return the memory for ``graph`` at its current size."""
        if graph.num_vertices != self._size:
            most = min(schemes.MAX_SPLIT, max(16, graph.num_vertices // 16))
            self._held = graph.workspace.array("operators.split", most * HEAVY_BYTES, np.uint8), np.uint32(most)
            self._size = graph.num_vertices
        return self._held


class WideArray:
    """What the scratch array of eight bytes per vertex is known to contain; see :func:`wide_array`."""

    def __init__(self, device: Device) -> None:
        self.holds: Any = None


def wide_array(graph: Graph, content: Any, dtype: np.dtype, value: Any) -> Array:
    """Return scratch ``dtype[num_vertices]`` filled with ``value``, in the memory that pushes use for heavy vertices.

    The caller must leave it filled with ``value``: a later call with the same key ``content`` does not fill it again.
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
    """Return the vertices of ``start`` without repeats, both ends of its arcs included."""
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
    return Frontier(graph.device, queue, count, num_vertices=graph.num_vertices)


def _frontier_list(frontier: Frontier, capacity: int) -> tuple[np.void, int]:
    """Return a frontier as ``merge_vertices`` takes it, and its number of entries; ``capacity`` if that is unknown."""
    ids, number, size = frontier_arguments(frontier)
    listed = 0 if ids is NULL else ids.data.ptr
    return LIST.packed(listed, 0, int(number), 0, int(size), 0), int(size) if number is NULL else capacity


def _arcs_list(arcs: ArcList) -> tuple[np.void, int]:
    """Return both ends of ``arcs`` as ``merge_vertices`` takes them, and the number of arcs."""
    if not arcs.size:
        return NO_LIST
    status = address(arcs.status)
    return LIST.packed(arcs.src.data.ptr, arcs.dst.data.ptr, 0, status, arcs.size, arcs.wanted), arcs.size


NO_LIST = LIST.packed(0, 0, 0, 0, 0, 0), 0


def distinct_vertices(graph: Graph, start: Start) -> Frontier | None:
    """Return the vertices of the frontiers of ``start`` without repeats, None if there are no frontiers."""
    if not start.frontiers or start.single is not None:
        return start.single
    return merged(graph, Start(start.frontiers))


def empty_frontier(graph: Graph) -> Frontier:
    """Return a frontier of ``graph`` without vertices."""
    return Frontier(graph.device, graph.device.xp.empty(0, np.uint32), num_vertices=graph.num_vertices)


class Counters:
    """Zeroed counters on the device, handed out one per launch, so that no launch has to clear its own."""

    def __init__(self, device: Device) -> None:
        self._counts, self._totals = _Zeros(device, np.uint32), _Zeros(device, np.uint64)

    def count(self) -> DeviceCount:
        """Return a ``uint32`` on the device that is zero and that nothing else uses."""
        cleared = cleared_counters()
        if cleared is not None and (found := cleared.count()) is not None:
            return found
        return DeviceCount(*self._counts.take())

    def total(self) -> np.uint64:
        """Return the address of a ``uint64`` on the device that is zero and that nothing else uses."""
        cleared = cleared_counters()
        if cleared is not None and (found := cleared.total()) is not None:
            return found
        return self._totals.take()[2]


class _Zeros:
    """Zeros of one dtype on the device, each of which is handed out once."""

    SIZE = 2048

    def __init__(self, device: Device, dtype: Any) -> None:
        self._xp, self._dtype, self._next = device.xp, dtype, self.SIZE

    def take(self) -> tuple[Array, int, np.uint64]:
        """Return an array, the index of a zero in it, and the address of that zero."""
        if self._next == self.SIZE:
            self._array, self._next = self._xp.zeros(self.SIZE, self._dtype), 0
            places = np.uint64(self._array.itemsize) * np.arange(self.SIZE, dtype=np.uint64)
            self._addresses = np.uint64(self._array.data.ptr) + places
        at = self._next
        self._next += 1
        return self._array, at, self._addresses[at]
