"""Pushes on CUDA: what ``advance`` and ``propagate`` launch.

Nothing here waits for the device, except ``propagate``, which reads the number of steps at its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.cuda.program import Program
from suricate.devices import Array
from suricate.operators import schemes
from suricate.operators.call import Call, Order, Start, stamps_of
from suricate.operators.cuda.launches import (
    NULL,
    Counters,
    blocks,
    frontier_arguments,
    full_grid,
    has_cooperative_launch,
    heavy_arrays,
    multiprocessors,
    nobody,
    not_yet,
)
from suricate.operators.cuda.programs import (
    BLOCK,
    PROGRESS,
    PROPAGATE_BLOCK,
    STATE_WORDS,
    WARPS,
    program_of,
    walk_of,
)
from suricate.operators.results import Propagated
from suricate.structures.frontier import Frontier
from suricate.types import ArcList

if TYPE_CHECKING:
    from suricate.graph import Graph

LEVEL = PROGRESS.dtype.fields["level"][1] // 4  # type: ignore[index]  # where a propagation keeps its steps, in words


def advance(graph: Graph, call: Call, start: Start, out: Any, over: str, scheme: str) -> Frontier:
    """Push once from ``start``; return what changed."""
    not_yet(call.then is not None, "then")
    not_yet(over != "out", f"over={over!r}")
    not_yet(call.reduce == "argmin", "reduce='argmin'")
    if len(start.arcs) == 1 and not start.frontiers:
        return advance_edges(graph, call, start.arcs[0], out)
    frontier = _only_frontier(graph, start)
    view = graph.view("out")
    if scheme == "updated":
        source = schemes.updated_source(graph, "out", view)
        if source == schemes.LISTED:
            edges = graph.store("out").updated()
            return advance_edges(graph, call, ArcList(*edges, None, 0, len(edges.src)), out)
        scheme = "updated" if source == schemes.ITERATOR else "auto"
    scheme = schemes.of_push(scheme, view, frontier)
    if not frontier.at_most:
        return nobody(graph)
    walk = walk_of(view)
    program, stamps = program_of("advance.cu", walk, call, out.dtype), stamps_of(graph)
    count, heavy_total = graph.workspace.state(Counters).take()
    queue = graph.device.xp.empty(walk.num_vertices, np.uint32)
    whole = (walk.packed, walk.bound)
    target = (out, stamps.array, np.uint32(stamps.steps(1)), queue, count)
    if scheme in schemes.WHOLE_GRAPH:
        kernel = program.kernel("push_updated" if scheme == "updated" else "push_segments")
        kernel((full_grid(graph.device),), (BLOCK,), (*whole, *target, *call.values))
    else:
        _push_from(graph, program, call, frontier, scheme, whole, target, (*heavy_arrays(graph), heavy_total))
    return Frontier(graph.device, queue, count, num_vertices=graph.num_vertices)


def _push_from(
    graph: Graph,
    program: Program,
    call: Call,
    frontier: Frontier,
    scheme: str,
    whole: tuple,
    target: tuple,
    heavy: tuple,
) -> None:
    """Launch the two halves of a push from some vertices: the vertices, then the buckets of those that are split."""
    size, fill, start = frontier.at_most, full_grid(graph.device), frontier_arguments(frontier)
    if scheme == "bucket":
        program.kernel("list_buckets")((min(blocks(size, BLOCK), fill),), (BLOCK,), (*whole, *start, *heavy))
    else:
        few = np.uint32(schemes.FEW_VERTICES if scheme == "auto" else 0)
        arguments = (*whole, *start, *target, *heavy, few, *call.values)
        program.kernel("push_vertices")((min(blocks(size, WARPS), fill),), (BLOCK,), arguments)
    arguments = (*whole, *target, *heavy, np.int32(scheme == "bucket"), *call.values)
    program.kernel("push_heavy_buckets")((fill,), (BLOCK,), arguments)


def advance_edges(graph: Graph, call: Call, arcs: ArcList, out: Array) -> Frontier:
    """Apply the edge function to exactly ``arcs``; return what changed."""
    not_yet(arcs.status is not None, "arcs with a status")
    if not arcs.size:
        return nobody(graph)
    walk, stamps = walk_of(graph.view("out")), stamps_of(graph)
    count, _ = graph.workspace.state(Counters).take()
    queue = graph.device.xp.empty(min(walk.num_vertices, arcs.size), np.uint32)
    arguments = (
        walk.bound, arcs.src, arcs.dst, NULL if arcs.weight is None else arcs.weight,
        np.int64(arcs.size), out, stamps.array, np.uint32(stamps.steps(1)), queue, count, *call.values,
    )  # fmt: skip
    grid = (min(blocks(arcs.size, BLOCK), full_grid(graph.device)),)
    program_of("advance.cu", walk, call, out.dtype).kernel("push_edges")(grid, (BLOCK,), arguments)
    return Frontier(graph.device, queue, count, num_vertices=graph.num_vertices)


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
    not_yet(call.then is not None, "then")
    not_yet(over != "out", f"over={over!r}")
    not_yet(call.reduce not in ("min", "max", "or"), f"reduce={call.reduce!r}")
    not_yet(order is not None, "order")
    not_yet(layers, "layers")
    frontier = _only_frontier(graph, start)
    if not frontier.at_most or max_steps == 0:
        return Propagated.of(0, 0, not frontier.at_most)
    if not has_cooperative_launch(graph.device.index):
        return _propagate_by_host(graph, call, frontier, out, max_steps)
    walk, stamps, workspace = walk_of(graph.view("out")), stamps_of(graph), graph.workspace
    kernel = program_of("propagate.cu", walk, call, out.dtype).kernel("propagate")
    first = stamps.steps(max_steps)
    queues = [workspace.array(f"operators.queue{i}", walk.num_vertices, np.uint32) for i in range(2)]
    state = workspace.array("operators.state", STATE_WORDS, np.uint32)
    state.data.memset_async(0, state.nbytes)
    arguments = (
        walk.packed, walk.bound, *frontier_arguments(frontier), out, stamps.array, np.uint32(first),
        np.uint32(max_steps), *queues, *heavy_arrays(graph), state, *call.values,
    )  # fmt: skip
    kernel((multiprocessors(graph.device.index),), (PROPAGATE_BLOCK,), arguments)
    steps = int(graph.device.to_numpy(state)[LEVEL])
    stamps.give_back(first + steps)
    return Propagated.of(steps, 0, steps < max_steps)


def _propagate_by_host(graph: Graph, call: Call, frontier: Frontier, out: Array, max_steps: int) -> Propagated:
    """Propagate with one host read per step, where cooperative launches are not supported."""
    steps = 0
    while steps < max_steps and len(frontier):
        frontier = advance(graph, call, Start((frontier,)), out, "out", "vertex")
        steps += 1
    return Propagated.of(steps, 0, not len(frontier))


def _only_frontier(graph: Graph, start: Start) -> Frontier:
    """Return ``start`` as one frontier without repeats; a single array of ids is sorted for that."""
    not_yet(len(start.frontiers) != 1 or bool(start.arcs), "a union of frontiers and edges")
    frontier = start.frontiers[0]
    return frontier if frontier.distinct else Frontier.from_vertices(graph, frontier.vertices)
