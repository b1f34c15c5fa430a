"""Pulls of columns on CUDA: ``k`` values per vertex. Nothing here waits for the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.devices import Array
from suricate.cuda.program import Program
from suricate.graph import Graph
from suricate.kernels.walking import Walk, walk_of
from suricate.operators.call import Call, Start
from suricate.operators.cuda.launches import NULL, Counters, blocks, frontier_arguments, full_grid, merged
from suricate.operators.cuda.programs import BLOCK, WARPS, launch_values, program_of
from suricate.state.frontier import Frontier

HEAVY = 1024  #: up to this degree a warp serves a vertex, above it a block
WARP = 32


def neighbor_reduce(graph: Graph, call: Call, vertices: Array | Start | None, out: Any, over: str) -> Frontier | None:
    """Fill ``out`` with reduced values or pass them to ``then``; return the vertices for which ``then`` is true.

    ``vertices`` are not empty.
    """
    xp, counters, n = graph.device.xp, graph.workspace.state(Counters), graph.num_vertices
    walks = [walk_of(graph.view(one)) for one in (("in", "out") if over == "both" else (over,))]
    program, values, bound = columns_program(walks[0], call, over), launch_values(call), walks[0].bound
    if isinstance(vertices, Start):
        frontier = merged(graph, vertices)
        most, (ids, number, size) = frontier.at_most, frontier_arguments(frontier)
    else:
        most = n if vertices is None else len(vertices)
        ids, number, size = NULL if vertices is None else vertices, NULL, np.uint32(most)
    queue, count = xp.empty(most if call.then is not None else 0, np.uint32), counters.count()
    heavy, heavies = xp.empty(most, np.uint32), counters.count()
    target = (NULL if out is None else out, queue if len(queue) else NULL, count.address)
    views, grid, k = [walk.packed for walk in walks], full_grid(graph.device), np.int64(call.columns)
    own = (*views, bound, ids, number, np.int64(size), k, np.uint32(HEAVY), *target, heavy, heavies.address)
    program.kernel("reduce_columns")((min(blocks(most, WARPS), grid),), (BLOCK,), (*own, *values))
    own = (*views, bound, ids, k, *target, heavy, heavies.address)
    program.kernel("reduce_heavy_columns")((grid,), (BLOCK,), (*own, *values))
    if call.then is None:
        return None
    return Frontier._of(graph.device, queue, count, num_vertices=n)


def columns_program(walk: Walk, call: Call, over: str) -> Program:
    """Return the CUDA program of a pull of columns for ``call`` over the direction ``over``; made once."""
    lanes = min(WARP, max(4, 1 << (call.columns - 1).bit_length()))
    return program_of("columns.cu", walk, call, call.dtype, OVER=f"OVER_{over.upper()}", COLUMN_LANES=lanes)
