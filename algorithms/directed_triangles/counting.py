"""Triangles of a directed graph from scratch on the CPU: rows of higher neighbours are intersected directly."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from suricate.cpu import threads
from suricate.kernels import loops_over, without_weights

if TYPE_CHECKING:
    from suricate.base.types import StoreView
    from suricate.graph import Graph

TEMPLATE = Path(__file__).parent / "counting_cpu.py"
PARTS = 4  #: at most, since each has a sum per vertex


def count_on_host(graph: Graph, *, is_product: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return three numbers of each vertex of ``graph``, ``int64[n]`` each: of its triangles, arcs, mutual neighbours.

    A triangle counts as the product of the arcs of its pairs (``is_product``), or as those of the opposite pair. Takes
    13 bytes per arc and 60 per vertex meanwhile.
    """
    n, (out, into) = graph.num_vertices, _both_views(graph)
    loops, g, h = loops_over(out, TEMPLATE), without_weights(out), without_weights(into)
    rank, order = np.empty((2, n), np.uint32)
    starts, lengths, arcs, mutual, triangles = np.empty((5, n), np.int64)
    space = loops.rank_vertices(g, h, np.zeros(loops.most_arcs(g, h, n) + 2, np.int64), rank, order, starts, lengths)
    rows, ways = np.empty(space, np.uint32), np.empty(space, np.uint8)
    loops.orient(g, h, rank, order, starts, lengths, rows, ways, arcs)
    loops.count_mutual(order, starts, lengths, rows, ways, mutual)
    parts = min(threads.limit(), threads.parts(space), PARTS)
    sums, marked = np.empty((parts, n), np.int64), np.zeros((parts, n), np.uint8)
    given = is_product, starts, lengths, rows, ways
    threads.run(loops.sum_corners, [(*given, marked[p], sums[p], p, parts) for p in range(parts)])
    triangles[order] = sums.sum(axis=0)
    return triangles, arcs, mutual


def _both_views(graph: Graph) -> tuple[StoreView, StoreView]:
    """Return views over the out-edges and the in-edges of ``graph``; if it keeps no in-edges, of sorted copies."""
    if graph.has_in_edges:
        return graph.view("out"), graph.view("in")
    from scipy import sparse

    from suricate.cursors.contiguous import contiguous_view

    src, dst = graph.edges()[:2]
    out = sparse.csr_array((np.ones(len(src), np.uint8), (src, dst)), shape=(graph.num_vertices,) * 2)
    views = []
    for matrix in (out, out.tocsc()):
        offsets, ids = matrix.indptr.astype(np.int64), matrix.indices.astype(np.uint32)
        views.append(contiguous_view(offsets[:-1], offsets[1:], ids, None))
    return views[0], views[1]
