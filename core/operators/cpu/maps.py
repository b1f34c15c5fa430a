"""Functions per vertex and per edge on the CPU, and the repetition of operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.devices import Device
from suricate.operators.call import Call, Start, Until, stamps_of
from suricate.operators.cpu.instances import Walk, instance
from suricate.operators.cpu.sources import Listed, arcs_of, listed, numba_values, union_of, walk_over
from suricate.structures.frontier import Frontier

if TYPE_CHECKING:
    from suricate.graph import Graph

EVERY_PLACE = (0, 2**63 - 1)


def vertex_map(graph: Graph, call: Call, start: Start) -> Frontier:
    """Return the vertices of ``start`` for which the function is true."""
    vertices = _vertices(graph, call, start, ends=True)
    kept = np.empty(vertices.size, np.uint32)
    module = instance("vertex_map", Walk(graph.view() if call.function.needs_view else None), call)
    count = module.vertex_map(graph.num_vertices, *vertices, kept, *numba_values(call))
    distinct = not _keeps_repeats(call) or start.frontiers[0].distinct
    return Frontier(graph.device, kept, count, num_vertices=graph.num_vertices, distinct=distinct)


def edge_map(graph: Graph, call: Call, start: Start, over: str, first: tuple[int, int] | None) -> None:
    """Call a function for its effects on every edge of ``start``."""
    walk, g, h = walk_over(graph, over)
    module, values, n = instance("edge_map", walk, call), numba_values(call), graph.num_vertices
    for arcs in start.arcs:
        module.map_arcs(n, *arcs_of(arcs), *values)
    if start.frontiers:
        low, high = first or EVERY_PLACE
        module.edge_map(g, h, n, *_vertices(graph, call, start), low, high, *values)


def _vertices(graph: Graph, call: Call, start: Start, *, ends: bool = False) -> Listed:
    """Return the vertices of ``start``: each once, or as they are where functions want their positions."""
    if _keeps_repeats(call):
        return listed(start.frontiers[0])
    queue = graph.workspace.array("operators.spare", graph.num_vertices, np.uint32)
    return union_of(graph, start, stamps_of(graph), queue, ends=ends)


def _keeps_repeats(call: Call) -> bool:
    return call.function.leading[0] == "i"


def iterate(
    device: Device, body: Callable[[], Any], until: Until, max_steps: int, swap: tuple[tuple[Any, Any], ...]
) -> int:
    """Repeat ``body`` until a scalar says stop; return the number of rounds."""
    steps = 0
    while steps < max_steps:
        body()
        steps += 1
        if steps == max_steps or until.scalar.read() <= until.bound:
            break
        for a, b in swap:
            a[:], b[:] = b.copy(), a.copy()
    return steps
