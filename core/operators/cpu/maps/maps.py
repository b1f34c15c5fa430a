"""``vertex_map``, ``edge_map`` and ``iterate`` on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from suricate.base.devices import Device
from suricate.cpu import threads
from suricate.graph import Graph
from suricate.operators.call import Call, Start, Until, stamps_of
from suricate.operators.cpu.instances import Traversal, instance
from suricate.operators.cpu.parallel import cut, is_for_one, run_shared
from suricate.operators.cpu.sources import Listed, arcs_of, listed, numba_values, union_of, walk_over
from suricate.state.frontier import Frontier


def vertex_map(graph: Graph, call: Call, start: Start) -> Frontier:
    """Call the function of ``call`` for each vertex of ``start``; return those for which it is true, as a frontier."""
    vertices = _vertices(graph, call, start, ends=True)
    kept = np.empty(vertices.size, np.uint32)
    distinct = not _keeps_repeats(call) or start.frontiers[0].distinct
    alone = not distinct or is_for_one(call)  # a vertex may be there twice, or more be written
    ranges = [(0, vertices.size)] if alone else threads.ranges(vertices.size, threads.parts(vertices.size))
    walk = Traversal(graph.view() if call.function.needs_view else None)
    module = instance("vertex_map", walk, call, shared=call.has_effects and len(ranges) > 1)
    given = graph.num_vertices, vertices.ids, vertices.everything
    parts = [(*given, *part, kept) for part in ranges]
    count = threads.compacted(kept, ranges, run_shared(call, numba_values(call), module.vertex_map, parts))
    return Frontier._of(graph.device, kept, count, num_vertices=graph.num_vertices, distinct=distinct)


def edge_map(graph: Graph, call: Call, start: Start, over: str) -> None:
    """Call the function of ``call`` on every arc of ``start`` and on the edges ``over`` which its vertices walk."""
    walk, g, h = walk_over(graph, over, call)
    values, views, alone = numba_values(call), (g, h, graph.num_vertices), is_for_one(call)
    for arcs in start.arcs:
        *given, size = arcs_of(arcs, call)
        ranges = threads.ranges(size, 1 if alone else threads.parts(size))
        module = instance("edge_map", walk, call, shared=len(ranges) > 1)
        run_shared(call, values, module.map_arcs, [(views[2], *given, *part) for part in ranges])
    if start.frontiers:
        vertices = _vertices(graph, call, start)
        module = instance("edge_map", walk, call)
        ranges = [(0, vertices.size)] if alone else cut(graph, walk, over, views, vertices)
        if len(ranges) > 1:
            module = instance("edge_map", walk, call, shared=True)
        ids = vertices.ids, vertices.everything
        run_shared(call, values, module.edge_map, [(*views, *ids, *part) for part in ranges])


def _vertices(graph: Graph, call: Call, start: Start, *, ends: bool = False) -> Listed:
    """Return the vertices of ``start`` for a loop, each once; if the function takes positions, the list as it is."""
    if _keeps_repeats(call):
        return listed(start.frontiers[0])
    queue = graph.workspace.array("operators.buffer", graph.num_vertices, np.uint32)
    return union_of(graph, start, stamps_of(graph), queue, ends=ends)


def _keeps_repeats(call: Call) -> bool:
    return call.function.leading[0] == "i"


def iterate(
    device: Device, body: Callable[[], Any], until: Until, max_steps: int, swap: tuple[tuple[Any, Any], ...]
) -> int:
    """Call ``body``, then exchange the contents of ``swap``, until the condition holds; return the number of calls."""
    steps = 0
    while steps < max_steps:
        body()
        steps += 1
        for a, b in swap:
            a[:], b[:] = b.copy(), a.copy()
        if steps == max_steps or until.ends_loop():
            break
    return steps
