"""One push on CUDA: the launches of ``advance``. Nothing here waits for the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.types import ArcList
from suricate.cuda.program import Program
from suricate.graph import Graph
from suricate.kernels.arcs import packed_arcs
from suricate.kernels.walking import Walk, walk_of
from suricate.operators import schemes
from suricate.operators.call import Call, Start, stamps_of
from suricate.operators.cuda.launches import (
    Counters,
    blocks,
    distinct_vertices,
    empty_frontier,
    frontier_arguments,
    full_grid,
    heavy_arrays,
)
from suricate.operators.cuda.programs import BLOCK, WARPS, array_of, launch_values, program_of
from suricate.operators.cuda.push.propagate import VIEWS, advance_in_two_phases
from suricate.state.frontier import Frontier


def advance(graph: Graph, call: Call, start: Start, out: Any, over: str, scheme: str) -> Frontier:
    """Push once from ``start`` into ``out``, in place; return the vertices that changed and, with ``then``, joined."""
    if call.then is not None:
        return advance_in_two_phases(graph, call, start, out, over)
    frontier = distinct_vertices(graph, start)
    arcs = [one for one in start.arcs if one.size]
    if scheme == "updated":
        scheme, frontier, arcs = _updated(graph, over, frontier, arcs)
    if not arcs and (frontier is None or not frontier.at_most):
        return empty_frontier(graph)
    push = _Push(graph, call, out)
    for one in arcs:
        push.arcs(one)
    if frontier is not None and frontier.at_most:
        for second, direction in enumerate(VIEWS[over]):
            push.vertices(direction, frontier, scheme, bool(second))
    return Frontier._of(graph.device, push.queue, push.count, num_vertices=graph.num_vertices)


class _Push:
    """The launches of one step; they all write to the same values (``out``), stamps, queue and length of the queue."""

    def __init__(self, graph: Graph, call: Call, out: Any) -> None:
        self.graph, self.call, self.values = graph, call, launch_values(call)
        stamps = stamps_of(graph)
        self.count = graph.workspace.state(Counters).count()
        self.queue = graph.device.xp.empty(graph.num_vertices, np.uint32)
        self.target = (array_of(out), stamps.array, np.uint32(stamps.steps(1)), self.queue, self.count.address)

    def program(self, walk: Walk, second: bool) -> Program:
        """Return the CUDA program for the view of ``walk``; if ``second`` is set, its kernels leave out self-loops."""
        return program_of("advance.cu", walk, self.call, self.call.dtype, SECOND_VIEW=int(second), PLAIN_WORD_LOADS=1)

    def arcs(self, arcs: ArcList) -> None:
        """Push along the arcs of the arc list ``arcs``."""
        walk = walk_of(self.graph.view("out"))
        grid = (min(blocks(arcs.size, BLOCK), full_grid(self.graph.device)),)
        arguments = (walk.bound, packed_arcs(arcs), *self.target, *self.values)
        self.program(walk, False).kernel("push_edges")(grid, (BLOCK,), arguments)

    def vertices(self, direction: str, frontier: Frontier, scheme: str, second: bool) -> None:
        """Push along the edges of ``frontier`` in a ``direction``; the ``second`` one leaves out self-loops."""
        graph, view = self.graph, self.graph.view(direction)
        walk = walk_of(view)
        program, whole = self.program(walk, second), (walk.packed, walk.bound)
        if scheme != "updated":
            scheme = schemes.of_push(scheme, view, frontier)
        if scheme in schemes.WHOLE_GRAPH:
            kernel = program.kernel("push_updated" if scheme == "updated" else "push_segments")
            kernel((full_grid(graph.device),), (BLOCK,), (*whole, *self.target, *self.values))
            return
        heavy = (*heavy_arrays(graph), graph.workspace.state(Counters).total())
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
    """Return scheme, frontier and arcs for the edges inserted since the mark: by an iterator, else as a list."""
    direction = VIEWS[over][0]
    source = schemes.updated_source(graph, direction, graph.view(direction))
    if source != schemes.LISTED:
        return ("updated" if source == schemes.ITERATOR else "auto"), frontier, arcs
    edges = graph.store(direction).updated()
    return "auto", None, [*arcs, ArcList.of(edges)]
