"""Operators on CUDA: their launches, and which scheme serves a call.

Nothing here waits for the device, except ``propagate``, which reads the number of steps at its end.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from suricate.cuda.program import Program
from suricate.devices import Array, Device
from suricate.errors import RequirementError
from suricate.operators import updated
from suricate.operators.call import Call, identity_of, scratch_of
from suricate.operators.cuda.programs import Walk, program_of, walk_of
from suricate.structures.frontier import Frontier
from suricate.types import EMPTY, EdgeList, StoreView

if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.structures.workspace import Workspace

BLOCK = 256  # threads per block, in all kernels but propagate
WARPS = BLOCK // 32
PAIR_TILES = BLOCK // 8  # pairs that a block of intersect_pairs serves
PROPAGATE_BLOCK = 512  # one block per multiprocessor: a barrier gets dearer with every block
BLOCKS_PER_SM = 8  # of BLOCK threads: what a multiprocessor can hold

# What "auto" decides by. The host knows neither degrees nor, often, how long a frontier is, and never waits to learn
# it; so skew is dealt with on the device, within "vertex": the storage units of some vertices are shared out to the
# whole grid.

#: "auto", advance: a frontier of at most this many vertices, as far as the host knows, goes by "unit" on backends that
#: can scan, whose units are small: there vertices that count as light, with up to 64 neighbours, have several. Where
#: most have one unit, listing all vertices first costs more than it gains, the more the longer the frontier.
UNIT_VERTICES = 1 << 16

#: "auto", advance: in a frontier of at most this many vertices each one that is too much for a tile (64 neighbours) is
#: shared out, not only hubs. With so few, a warp for each leaves most of the device idle, and the launch that serves
#: hubs is there anyway. It wins while the longest walk of a warp takes longer than sharing out. 0: never.
FEW_VERTICES = 2048
#: "auto", neighbor_reduce: vertices of more than this many neighbours are shared out, not left to one block each. It
#: costs one more launch, and wins where one hub takes a block longer than all the rest takes the device.
HUB_DEGREE = 4096
SHARED_HUBS = 4096  #: so many of them at most; if there are more, they keep the blocks evenly busy as it is

WHOLE = ("scan", "updated")  # schemes that walk segments of the storage, not vertices
NULL = np.uint64(0)

# -- operators ---------------------------------------------------------------------------------------------------------


def neighbor_reduce(graph: Graph, call: Call, vertices: Array | None, out: Array, over: str, scheme: str) -> None:
    """Fill ``out`` (see ``suricate.operators.neighbor_reduce``)."""
    view = graph.view(over)
    if scheme == "updated":
        scheme, view = _updated_view(graph, over, view)
    walk = walk_of(view)
    if scheme == "auto" and walk.can_scan and vertices is None:
        scheme = "scan"
    _demand_scan(walk, scheme)
    if not len(out):
        return
    program = program_of("neighbor_reduce.cu", walk, call, out.dtype, over)
    bound, ids = walk.bound, NULL if vertices is None else vertices
    if scheme in ("auto", "vertex"):
        shares_hubs = scheme == "auto" and walk.num_vertices > HUB_DEGREE  # no degree exceeds the number of vertices
        hubs = _shared_hubs(graph) if shares_hubs else (NULL, NULL, NULL, np.uint32(0))
        share, hub = _fair_share(graph.device, len(out)), HUB_DEGREE if shares_hubs else EMPTY
        sizes = (np.int64(len(out)), np.uint32(share), np.uint32(hub))
        arguments = (walk.packed, bound, ids, *sizes, out, *hubs, *call.values)
        program.kernel("reduce_vertices")((_blocks(len(out), share),), (BLOCK,), arguments)
        if shares_hubs:
            arguments = (walk.packed, ids, out, *hubs, *call.values)
            program.kernel("reduce_hub_units")((_fill(graph.device),), (BLOCK,), arguments)
        return
    out.fill(identity_of(call.reduce, out.dtype))
    grid = (_fill(graph.device),)
    if scheme in WHOLE:
        kernel = program.kernel("reduce_updated" if scheme == "updated" else "reduce_segments")
        kernel(grid, (BLOCK,), (walk.packed, bound, out, *call.values))
        return
    count, parts = np.int64(len(out)), graph.device.xp.empty(len(out), np.int64)
    program.kernel("count_units")(grid, (BLOCK,), (walk.packed, bound, ids, count, parts))
    program.kernel("reduce_units")(grid, (BLOCK,), (walk.packed, ids, count, parts.cumsum(), out, *call.values))


def advance(graph: Graph, call: Call, frontier: Frontier, out: Array, scheme: str) -> Frontier:
    """Push once along the out-edges of ``frontier``; return what changed."""
    walk = walk_of(graph.view("out"))
    if scheme == "updated":
        source = updated.source_of(graph, "out", walk.has_updated)
        if source == updated.LISTED:
            return advance_edges(graph, call, graph.store("out").updated(), out)
        scheme = "updated" if source == updated.ITERATOR else "auto"
    if scheme == "auto" and walk.can_scan:
        if frontier.is_all and frontier.capacity == walk.num_vertices:
            scheme = "scan"
        elif frontier.at_most <= UNIT_VERTICES:
            scheme = "unit"
    _demand_scan(walk, scheme)
    if not frontier.at_most:
        return Frontier(graph.device, graph.device.xp.empty(0, np.uint32))
    program, scratch = program_of("advance.cu", walk, call, out.dtype), scratch_of(graph)
    count, hub_total = _counters_of(graph).take()
    queue = graph.device.xp.empty(walk.num_vertices, np.uint32)
    whole = (walk.packed, walk.bound)
    target = (out, scratch.stamp, np.uint32(scratch.steps(1)), queue, count)
    if scheme in WHOLE:
        kernel = program.kernel("push_updated" if scheme == "updated" else "push_segments")
        kernel((_fill(graph.device),), (BLOCK,), (*whole, *target, *call.values))
    else:
        _push_from(graph, program, call, frontier, scheme, whole, target, (*_hub_arrays(graph), hub_total))
    return Frontier(graph.device, queue, count)


def _push_from(
    graph: Graph,
    program: Program,
    call: Call,
    frontier: Frontier,
    scheme: str,
    whole: tuple,
    target: tuple,
    hubs: tuple,
) -> None:
    """Launch the two halves of a push from some vertices: the vertices themselves, then what they put aside."""
    size, fill, start = frontier.at_most, _fill(graph.device), _start(frontier)
    if scheme == "unit":
        program.kernel("list_units")((min(_blocks(size, BLOCK), fill),), (BLOCK,), (*whole, *start, *hubs))
    else:
        few = np.uint32(FEW_VERTICES if scheme == "auto" else 0)
        arguments = (*whole, *start, *target, *hubs, few, *call.values)
        program.kernel("push_vertices")((min(_blocks(size, WARPS), fill),), (BLOCK,), arguments)
    arguments = (*whole, *target, *hubs, np.int32(scheme == "unit"), *call.values)
    program.kernel("push_hub_units")((fill,), (BLOCK,), arguments)


def advance_edges(graph: Graph, call: Call, edges: EdgeList, out: Array) -> Frontier:
    """Apply the edge function to exactly ``edges``; return what changed."""
    if not len(edges.src):
        return Frontier(graph.device, graph.device.xp.empty(0, np.uint32))
    walk, scratch = walk_of(graph.view("out")), scratch_of(graph)
    count, _ = _counters_of(graph).take()
    queue = graph.device.xp.empty(min(walk.num_vertices, len(edges.dst)), np.uint32)
    arguments = (
        walk.bound, edges.src, edges.dst, NULL if edges.weight is None else edges.weight,
        np.int64(len(edges.src)), out, scratch.stamp, np.uint32(scratch.steps(1)), queue, count, *call.values,
    )  # fmt: skip
    grid = (min(_blocks(len(edges.src), BLOCK), _fill(graph.device)),)
    program_of("advance.cu", walk, call, out.dtype).kernel("push_edges")(grid, (BLOCK,), arguments)
    return Frontier(graph.device, queue, count)


def propagate(graph: Graph, call: Call, frontier: Frontier, out: Array, max_steps: int) -> int:
    """Push until nothing changes; return the number of steps."""
    if not frontier.at_most or max_steps == 0:
        return 0
    if not has_cooperative_launch(graph.device.index):
        return _propagate_by_host(graph, call, frontier, out, max_steps)
    walk, scratch, workspace = walk_of(graph.view("out")), scratch_of(graph), graph.workspace
    kernel = program_of("propagate.cu", walk, call, out.dtype).kernel("propagate")
    first = scratch.steps(max_steps)
    queues = [workspace.array(f"operators.queue{i}", walk.num_vertices, np.uint32) for i in range(2)]
    state = workspace.array("operators.state", 16, np.uint32)
    state.data.memset_async(0, state.nbytes)
    arguments = (
        walk.packed, walk.bound, *_start(frontier), out, scratch.stamp, np.uint32(first),
        np.uint32(max_steps), *queues, *_hub_arrays(graph), state, *call.values,
    )  # fmt: skip
    kernel((_multiprocessors(graph.device.index),), (PROPAGATE_BLOCK,), arguments)
    steps = int(graph.device.to_numpy(state)[1])
    scratch.give_back(first + steps)
    return steps


def _propagate_by_host(graph: Graph, call: Call, frontier: Frontier, out: Array, max_steps: int) -> int:
    """Propagate with one host read per step, where cooperative launches are not supported."""
    steps = 0
    while steps < max_steps and len(frontier):
        frontier = advance(graph, call, frontier, out, "vertex")
        steps += 1
    return steps


def select(graph: Graph, call: Call, frontier: Frontier) -> Frontier:
    """Return the vertices of ``frontier`` that pass the predicate."""
    size = frontier.at_most
    kept = graph.device.xp.empty(size, np.uint32)
    if not size:
        return Frontier(graph.device, kept)
    count, _ = _counters_of(graph).take()
    grid = (min(_blocks(size, BLOCK), _fill(graph.device)),)
    arguments = (np.uint32(graph.num_vertices), *_start(frontier), kept, count, *call.values)
    program = program_of("filter.cu", None, call, np.dtype(np.int32))
    program.kernel("select_vertices")(grid, (BLOCK,), arguments)
    return Frontier(graph.device, kept, count)


def intersect(graph: Graph, call: Call, left: Array, right: Array, out: Array) -> None:
    """Fill ``out`` with one sum per pair."""
    if not len(out):
        return
    walk = walk_of(graph.view("out"))
    arguments = (walk.packed, walk.bound, left, right, np.int64(len(out)), out, *call.values)
    kernel = program_of("intersect.cu", walk, call, out.dtype).kernel("intersect_pairs")
    kernel((_blocks(len(out), PAIR_TILES),), (BLOCK,), arguments)


# -- launches ----------------------------------------------------------------------------------------------------------


def _start(frontier: Frontier) -> tuple[Any, Any, np.uint32]:
    """Return a frontier as kernels take it: ids or null, their number on the device or null, their number if known."""
    if frontier.is_all:
        return NULL, NULL, np.uint32(frontier.capacity)
    known = frontier.known_count
    return frontier.buffer, frontier.device_count if known is None else NULL, np.uint32(known or 0)


def _blocks(items: int, per_block: int) -> int:
    return -(-items // per_block)


def _fill(device: Device) -> int:
    """Return how many blocks of ``BLOCK`` threads fill the device."""
    return BLOCKS_PER_SM * _multiprocessors(device.index)


@cache
def _multiprocessors(index: int) -> int:
    import cupy

    return cupy.cuda.Device(index).attributes["MultiProcessorCount"]


@cache
def has_cooperative_launch(index: int) -> bool:
    """Return whether CUDA device ``index`` can run ``propagate`` as one launch; without it the host steps."""
    import cupy

    return bool(cupy.cuda.Device(index).attributes["CooperativeLaunch"])


def _hub_arrays(graph: Graph) -> tuple[Array, Array]:
    workspace, size = graph.workspace, graph.num_vertices
    return workspace.array("operators.hubs", size, np.uint32), workspace.array("operators.hub_base", size, np.int64)


def _shared_hubs(graph: Graph) -> tuple[Array, Array, Array, np.uint32]:
    """Return an empty list of hubs with room for ``SHARED_HUBS``, as kernels take it."""
    workspace, (_, total) = graph.workspace, _counters_of(graph).take()
    entry = workspace.array("operators.shared_hubs", SHARED_HUBS, np.uint32)
    base = workspace.array("operators.shared_hub_base", SHARED_HUBS, np.int64)
    return entry, base, total, np.uint32(SHARED_HUBS)


def _fair_share(device: Device, count: int) -> int:
    """Return how many of ``count`` vertices each block serves: few if they are few, so that all blocks have some."""
    return min(BLOCK, WARPS * _blocks(count, WARPS * _fill(device)))


def _updated_view(graph: Graph, over: str, view: StoreView) -> tuple[str, StoreView]:
    """Return the scheme and the view by which a pull meets exactly the edges inserted since the mark."""
    source = updated.source_of(graph, over, walk_of(view).has_updated)
    if source == updated.ITERATOR:
        return "updated", view
    return "auto", updated.inserted_view(graph, over) if source == updated.LISTED else view


def _demand_scan(walk: Walk, scheme: str) -> None:
    if scheme == "scan" and not walk.can_scan:
        raise RequirementError(
            "scheme 'scan': the storage of this backend does not know its owners; use 'vertex' or 'auto'"
        )


class _Counters:
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


_counters: WeakKeyDictionary[Workspace, _Counters] = WeakKeyDictionary()


def _counters_of(graph: Graph) -> _Counters:
    counters = _counters.get(graph.workspace)
    if counters is None:
        counters = _counters[graph.workspace] = _Counters(graph.device)
    return counters
