"""Operators on CUDA: what each call launches.

Nothing here waits for the device, except ``propagate``, which reads the number of steps at its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suricate.cuda.program import Program
from suricate.devices import Array
from suricate.operators import schemes
from suricate.operators.call import Call, identity_of, stamps_of
from suricate.operators.cuda.launches import (
    NULL,
    Counters,
    blocks,
    fair_share,
    frontier_arguments,
    full_grid,
    has_cooperative_launch,
    heavy_arrays,
    multiprocessors,
    short_heavy_list,
)
from suricate.operators.cuda.programs import (
    BLOCK,
    PAIR_TILE,
    PROGRESS,
    PROPAGATE_BLOCK,
    STATE_WORDS,
    WARPS,
    program_of,
    walk_of,
)
from suricate.structures.frontier import Frontier
from suricate.types import EMPTY, EdgeList, StoreView

if TYPE_CHECKING:
    from suricate.graph import Graph

LEVEL = PROGRESS.dtype.fields["level"][1] // 4  # type: ignore[index]  # where a propagation keeps its steps, in words

# -- operators ---------------------------------------------------------------------------------------------------------


def neighbor_reduce(graph: Graph, call: Call, vertices: Array | None, out: Array, over: str, scheme: str) -> None:
    """Fill ``out`` (see ``suricate.operators.neighbor_reduce``)."""
    view = graph.view(over)
    if scheme == "updated":
        scheme, view = _updated_view(graph, over, view)
    scheme = schemes.of_pull(scheme, view, everything=vertices is None)
    if not len(out):
        return
    walk = walk_of(view)
    program = program_of("neighbor_reduce.cu", walk, call, out.dtype, over)
    bound, ids = walk.bound, NULL if vertices is None else vertices
    if scheme in ("auto", "vertex"):
        splits = scheme == "auto" and walk.num_vertices > schemes.HEAVY_DEGREE  # no degree exceeds that number
        heavy = short_heavy_list(graph) if splits else (NULL, NULL, NULL, np.uint32(0))
        share, limit = fair_share(graph.device, len(out)), schemes.HEAVY_DEGREE if splits else EMPTY
        sizes = (np.int64(len(out)), np.uint32(share), np.uint32(limit))
        arguments = (walk.packed, bound, ids, *sizes, out, *heavy, *call.values)
        program.kernel("reduce_vertices")((blocks(len(out), share),), (BLOCK,), arguments)
        if splits:
            arguments = (walk.packed, ids, out, *heavy, *call.values)
            program.kernel("reduce_heavy_buckets")((full_grid(graph.device),), (BLOCK,), arguments)
        return
    out.fill(identity_of(call.reduce, out.dtype))
    grid = (full_grid(graph.device),)
    if scheme in schemes.WHOLE_GRAPH:
        kernel = program.kernel("reduce_updated" if scheme == "updated" else "reduce_segments")
        kernel(grid, (BLOCK,), (walk.packed, bound, out, *call.values))
        return
    count, parts = np.int64(len(out)), graph.device.xp.empty(len(out), np.int64)
    program.kernel("count_buckets")(grid, (BLOCK,), (walk.packed, bound, ids, count, parts))
    program.kernel("reduce_buckets")(grid, (BLOCK,), (walk.packed, ids, count, parts.cumsum(), out, *call.values))


def advance(graph: Graph, call: Call, frontier: Frontier, out: Array, scheme: str) -> Frontier:
    """Push once along the out-edges of ``frontier``; return what changed."""
    view = graph.view("out")
    if scheme == "updated":
        source = schemes.updated_source(graph, "out", view)
        if source == schemes.LISTED:
            return advance_edges(graph, call, graph.store("out").updated(), out)
        scheme = "updated" if source == schemes.ITERATOR else "auto"
    scheme = schemes.of_push(scheme, view, frontier)
    if not frontier.at_most:
        return _nobody(graph)
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


def advance_edges(graph: Graph, call: Call, edges: EdgeList, out: Array) -> Frontier:
    """Apply the edge function to exactly ``edges``; return what changed."""
    if not len(edges.src):
        return _nobody(graph)
    walk, stamps = walk_of(graph.view("out")), stamps_of(graph)
    count, _ = graph.workspace.state(Counters).take()
    queue = graph.device.xp.empty(min(walk.num_vertices, len(edges.dst)), np.uint32)
    arguments = (
        walk.bound, edges.src, edges.dst, NULL if edges.weight is None else edges.weight,
        np.int64(len(edges.src)), out, stamps.array, np.uint32(stamps.steps(1)), queue, count, *call.values,
    )  # fmt: skip
    grid = (min(blocks(len(edges.src), BLOCK), full_grid(graph.device)),)
    program_of("advance.cu", walk, call, out.dtype).kernel("push_edges")(grid, (BLOCK,), arguments)
    return Frontier(graph.device, queue, count, num_vertices=graph.num_vertices)


def propagate(graph: Graph, call: Call, frontier: Frontier, out: Array, max_steps: int) -> int:
    """Push until nothing changes; return the number of steps."""
    if not frontier.at_most or max_steps == 0:
        return 0
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
    if not size:
        return _nobody(graph)
    kept = graph.device.xp.empty(size, np.uint32)
    count, _ = graph.workspace.state(Counters).take()
    grid = (min(blocks(size, BLOCK), full_grid(graph.device)),)
    arguments = (np.uint32(graph.num_vertices), *frontier_arguments(frontier), kept, count, *call.values)
    program = program_of("filter.cu", None, call, np.dtype(np.int32))
    program.kernel("select_vertices")(grid, (BLOCK,), arguments)
    return Frontier(graph.device, kept, count, num_vertices=graph.num_vertices)


def intersect(graph: Graph, call: Call, left: Array, right: Array, out: Array) -> None:
    """Fill ``out`` with one sum per pair."""
    if not len(out):
        return
    walk = walk_of(graph.view("out"))
    arguments = (walk.packed, walk.bound, left, right, np.int64(len(out)), out, *call.values)
    kernel = program_of("intersect.cu", walk, call, out.dtype).kernel("intersect_pairs")
    kernel((blocks(len(out), BLOCK // PAIR_TILE),), (BLOCK,), arguments)


def _nobody(graph: Graph) -> Frontier:
    return Frontier(graph.device, graph.device.xp.empty(0, np.uint32), num_vertices=graph.num_vertices)


def _updated_view(graph: Graph, over: str, view: StoreView) -> tuple[str, StoreView]:
    """Return the scheme and the view by which a pull meets exactly the edges inserted since the mark."""
    source = schemes.updated_source(graph, over, view)
    if source == schemes.ITERATOR:
        return "updated", view
    return "auto", schemes.inserted_view(graph, over) if source == schemes.LISTED else view
