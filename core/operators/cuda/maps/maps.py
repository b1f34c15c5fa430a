"""``vertex_map`` and ``edge_map`` on CUDA. Nothing here waits for the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from suricate.graph import Graph
from suricate.kernels.walking import Walk, walk_of
from suricate.operators.call import Call, Start
from suricate.operators.cuda.launches import NULL, Counters, blocks, frontier_arguments, full_grid, merged, split_list
from suricate.operators.cuda.programs import BLOCK, launch_values, program_of, skip_scalars
from suricate.state.frontier import Frontier

EVERYWHERE = 1 << 30  #: more blocks than any device holds


def vertex_map(graph: Graph, call: Call, start: Start) -> Frontier:
    """Call the function of ``call`` for each vertex of ``start``; return those for which it is true, as a frontier."""
    takes_position = call.function.leading[0] == "i"
    frontier = start.frontiers[0] if takes_position else merged(graph, start)
    size = frontier.at_most
    kept = graph.device.xp.empty(size, np.uint32)
    count = graph.workspace.state(Counters).count()
    if size:
        grid = (min(blocks(size, BLOCK), full_grid(graph.device)),)
        walk = walk_of(graph.view()) if call.function.needs_view else None
        program = program_of("vertex_map.cu", walk, call, HAS_POSITION=int(takes_position), KEEPS=1)
        own = np.uint32(graph.num_vertices), *frontier_arguments(frontier), kept, count.address
        program.kernel("map_vertices")(grid, (BLOCK,), (*own, *launch_values(call)))
    else:
        skip_scalars(call)
    return Frontier._of(graph.device, kept, count, num_vertices=graph.num_vertices, distinct=not takes_position)


def edge_map(graph: Graph, call: Call, start: Start, over: str) -> None:
    """Call the function of ``call``, for its effects, on every arc of ``start`` and on the edges of its vertices.

    ``over`` is the direction of the edges.
    """
    if not any(part.size for part in start.arcs) and not any(part.at_most for part in start.frontiers):
        skip_scalars(call)
        return
    takes_position = call.function.leading[0] == "i"
    walks = [walk_of(graph.view(one)) for one in (("in", "out") if over == "both" else (over,))]
    macros: dict[str, Any] = {"OVER": f"OVER_{over.upper()}", "HAS_POSITION": int(takes_position)}
    program, values = program_of("edge_map.cu", walks[0], call, **macros), launch_values(call)

    def launch(kernel: str, grid: int, *arguments: Any) -> None:
        grid = min(grid, full_grid(graph.device))
        program.kernel(kernel)((grid,), (BLOCK,), (*arguments, *values))

    for arcs in start.arcs:
        if arcs.size:
            weights, status = (NULL if part is None else part for part in (arcs.weight, arcs.status))
            listed = (arcs.src, arcs.dst, weights, status, np.uint32(arcs.wanted), np.int64(arcs.size))
            launch("map_arcs", blocks(arcs.size, BLOCK), walks[0].bound, *listed)
    distinct = start.frontiers if takes_position or not start.frontiers else (merged(graph, Start(start.frontiers)),)
    for frontier in distinct:
        if frontier.at_most:
            whole = frontier.is_all and frontier.capacity == graph.num_vertices
            if whole and graph.view("in" if over == "in" else "out").can_scan:
                for other, walk in enumerate(walks):
                    launch("map_segments", EVERYWHERE, walk.packed, walks[0].bound, np.int32(other))
            else:
                _map_edges(graph, launch, walks, frontier)


def _map_edges(graph: Graph, launch: Callable[..., None], walks: list[Walk], frontier: Frontier) -> None:
    """Launch the kernels of ``edge_map`` for the edges of ``frontier``."""
    views, (ids, number, size) = [walk.packed for walk in walks], frontier_arguments(frontier)
    listed = (*views, walks[0].bound, ids, number, np.int64(size))
    splits, limit, heavy = split_list(graph, walks)
    launch("map_edges", frontier.at_most, *listed, limit, *heavy)
    if splits:
        launch("map_heavy_edges", EVERYWHERE, *views, *heavy)
