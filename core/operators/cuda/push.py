"""Pushes on CUDA: what ``advance`` and ``propagate`` launch. Nothing here waits for the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.cuda.program import Program, c_type
from suricate.devices import Array
from suricate.operators import schemes
from suricate.operators.call import Call, Order, Start, stamps_of
from suricate.operators.cuda.launches import (
    NULL,
    Counters,
    blocks,
    frontier_arguments,
    full_grid,
    heavy_arrays,
    merged,
    nobody,
)
from suricate.operators.cuda.loops import (
    NO_ARCS,
    LoopMemory,
    Outcome,
    Outcomes,
    loop_grid,
    packed_arcs,
    packed_vertices,
    propagated,
)
from suricate.operators.cuda.programs import BLOCK, WARPS, Walk, program_of, walk_of
from suricate.operators.cuda.programs import launch_values as values_of
from suricate.operators.cuda.push_structs import PROPAGATE_BLOCK
from suricate.operators.results import Layers, Propagated, empty_layers
from suricate.structures.frontier import Frontier
from suricate.types import ArcList

if TYPE_CHECKING:
    from suricate.graph import Graph

VIEWS = {"out": ("out",), "in": ("in",), "both": ("out", "in")}  #: whose edges a push walks
BOTH_WAYS = {"out": ("out", "in"), "in": ("in", "out")}  #: those, and whose edges a step walks that pulls
ARC_LISTS = 3  #: of one launch of a loop


# -- one step ----------------------------------------------------------------------------------------------------------


def advance(graph: Graph, call: Call, start: Start, out: Any, over: str, scheme: str) -> Frontier:
    """Push once from ``start``; return what changed."""
    if call.then is not None:
        return _advance_in_two_phases(graph, call, start, out, over)
    frontier = _frontier_of(graph, start)
    arcs = [one for one in start.arcs if one.size]
    if scheme == "updated":
        scheme, frontier, arcs = _updated(graph, over, frontier, arcs)
    if not arcs and (frontier is None or not frontier.at_most):
        return nobody(graph)
    push = _Push(graph, call, out)
    for one in arcs:
        push.arcs(one)
    if frontier is not None and frontier.at_most:
        for second, direction in enumerate(VIEWS[over]):
            push.vertices(direction, frontier, scheme, bool(second))
    return Frontier(graph.device, push.queue, push.count, num_vertices=graph.num_vertices)


class _Push:
    """The launches of one step: they share the values of the call, the stamps' number and the queue."""

    def __init__(self, graph: Graph, call: Call, out: Any) -> None:
        self.graph, self.call, self.values = graph, call, values_of(call)
        stamps = stamps_of(graph)
        self.count, _ = graph.workspace.state(Counters).take()
        self.queue = graph.device.xp.empty(graph.num_vertices, np.uint32)
        self.target = (_array_of(out), stamps.array, np.uint32(stamps.steps(1)), self.queue, self.count)

    def program(self, walk: Walk, second: bool) -> Program:
        """Return the program over the cursor of a view; ``second``: without self-loops."""
        return program_of("advance.cu", walk, self.call, self.call.dtype, SECOND_VIEW=int(second), PLAIN_WORD_LOADS=1)

    def arcs(self, arcs: ArcList) -> None:
        """Push along exactly these arcs."""
        walk = walk_of(self.graph.view("out"))
        grid = (min(blocks(arcs.size, BLOCK), full_grid(self.graph.device)),)
        arguments = (walk.bound, packed_arcs(arcs), *self.target, *self.values)
        self.program(walk, False).kernel("push_edges")(grid, (BLOCK,), arguments)

    def vertices(self, direction: str, frontier: Frontier, scheme: str, second: bool) -> None:
        """Push from a frontier without repeats."""
        graph, view = self.graph, self.graph.view(direction)
        walk = walk_of(view)
        program, whole = self.program(walk, second), (walk.packed, walk.bound)
        if scheme != "updated":
            scheme = schemes.of_push(scheme, view, frontier)
        if scheme in schemes.WHOLE_GRAPH:
            kernel = program.kernel("push_updated" if scheme == "updated" else "push_segments")
            kernel((full_grid(graph.device),), (BLOCK,), (*whole, *self.target, *self.values))
            return
        _, heavy_total = graph.workspace.state(Counters).take()
        heavy = (*heavy_arrays(graph), heavy_total)
        size, fill, start = frontier.at_most, full_grid(graph.device), frontier_arguments(frontier)
        if scheme == "bucket":
            program.kernel("list_buckets")((min(blocks(size, BLOCK), fill),), (BLOCK,), (*whole, *start, *heavy))
        else:
            few = np.uint32(schemes.FEW_VERTICES if scheme == "auto" else 0)
            arguments = (*whole, *start, *self.target, *heavy, few, *self.values)
            program.kernel("push_vertices")((min(blocks(size, WARPS), fill),), (BLOCK,), arguments)
        arguments = (*whole, *self.target, *heavy, np.int32(scheme == "bucket"), *self.values)
        program.kernel("push_heavy_buckets")((fill,), (BLOCK,), arguments)


def _updated(
    graph: Graph, over: str, frontier: Frontier | None, arcs: list[ArcList]
) -> tuple[str, Frontier | None, list[ArcList]]:
    """Return scheme, frontier and arcs by which a push meets exactly the edges inserted since the mark."""
    direction = VIEWS[over][0]
    source = schemes.updated_source(graph, direction, graph.view(direction))
    if source != schemes.LISTED:
        return ("updated" if source == schemes.ITERATOR else "auto"), frontier, arcs
    edges = graph.store(direction).updated()
    return "auto", None, [*arcs, ArcList(*edges, None, 0, len(edges.src))]


def _advance_in_two_phases(graph: Graph, call: Call, start: Start, out: Any, over: str) -> Frontier:
    queue, count = graph.device.xp.empty(graph.num_vertices, np.uint32), graph.workspace.state(Counters).take()[0]
    memory = graph.workspace.state(LoopMemory).with_frontier(graph, queue)
    _loop(graph, call, start, out, over, memory, 1, "", None, None, count)
    return Frontier(graph.device, queue, count, num_vertices=graph.num_vertices)


# -- to a fixed point --------------------------------------------------------------------------------------------------


def propagate(
    graph: Graph,
    call: Call,
    start: Start,
    out: Any,
    over: str,
    max_steps: int,
    order: Order | None,
    layers: bool,
    once: str,
) -> Propagated:
    """Push until nothing changes."""
    if not start.at_most or max_steps == 0:
        return Propagated.of(
            0, 0, not start.at_most, empty_layers(graph.device, graph.num_vertices, 0) if layers else None
        )
    kept = empty_layers(graph.device, graph.num_vertices, graph.num_vertices) if layers else None
    memory = graph.workspace.state(LoopMemory).of(graph)
    outcome = _loop(graph, call, start, out, over, memory, max_steps, once, order, kept, None)
    return propagated(graph, outcome, kept)


def _loop(
    graph: Graph,
    call: Call,
    start: Start,
    out: Any,
    over: str,
    memory: np.void,
    max_steps: int,
    once: str,
    order: Order | None,
    layers: Layers | None,
    left_count: Array | None,
) -> Outcome:
    """Launch the steps; return their outcome, on the device."""
    frontier, arcs = _frontier_of(graph, start), [one for one in start.arcs if one.size]
    pulls = bool(once) and over != "both" and order is None and layers is None and graph.has_in_edges
    views = [walk_of(graph.view(direction)) for direction in (BOTH_WAYS if pulls else VIEWS)[over]]
    order_dtype = np.dtype(np.int32) if order is None else order.array.dtype
    program = program_of(
        "propagate.cu", views[0], call, call.dtype,
        PLAIN_WORD_LOADS=1, OVER_BOTH_VIEWS=int(over == "both"), HAS_ORDER=int(order is not None),
        HAS_LAYERS=int(layers is not None), ORDER_T=c_type(order_dtype), HAS_PULL=int(pulls),
        PROPAGATE_BLOCK=PROPAGATE_BLOCK,
    )  # fmt: skip
    lists = [packed_arcs(one) for one in _few(graph, arcs)]
    lists += [NO_ARCS] * (ARC_LISTS - len(lists))
    by_order = (
        (NULL, NULL, order_dtype.type(0))
        if order is None
        else (order.array, order.bound, order_dtype.type(order.delta))
    )
    by_layer = (NULL, NULL, np.int64(0), NULL)
    if layers is not None:
        by_layer = (layers.vertices, layers.offsets, np.int64(len(layers.vertices)), layers.count)
    outcome = graph.workspace.state(Outcomes).take()
    arguments = (
        views[0].packed, views[-1].packed, views[0].bound, packed_vertices(frontier), *lists, _array_of(out), memory,
        np.uint32(max_steps), np.int32(once == "equal"), *by_order, *by_layer, outcome.address,
        NULL if left_count is None else left_count, *values_of(call),
    )  # fmt: skip
    program.kernel("propagate")(*loop_grid(graph.device), arguments)
    return outcome


def _frontier_of(graph: Graph, start: Start) -> Frontier | None:
    """Return the vertices of ``start`` without repeats."""
    return merged(graph, Start(start.frontiers)) if start.frontiers else None


def _few(graph: Graph, arcs: list[ArcList]) -> list[ArcList]:
    """Return at most ``ARC_LISTS`` lists of arcs; the last ones are joined."""
    rest = arcs[ARC_LISTS - 1 :]
    if len(rest) < 2:
        return arcs
    xp = graph.device.xp
    src = xp.concatenate([one.src[: one.size] for one in rest])
    dst = xp.concatenate([one.dst[: one.size] for one in rest])
    weights = [one.weight[: one.size] for one in rest if one.weight is not None]
    counts = [
        xp.ones(one.size, bool) if one.status is None else one.status[: one.size] == np.uint8(one.wanted)
        for one in rest
    ]
    joined = ArcList(
        src, dst, xp.concatenate(weights) if weights else None, xp.concatenate(counts).view(np.uint8), 1, len(src)
    )
    return [*arcs[: ARC_LISTS - 1], joined]


def _array_of(out: Any) -> Array:
    """Return the array of what is reduced into."""
    return getattr(out, "data", out) if hasattr(out, "layout") else out
