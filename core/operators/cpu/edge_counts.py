"""Loops that count edges, by which drivers divide the work among threads and choose a method: a template over a cursor.

``g`` is the data of a view, ``h`` of a second one, which counts too if ``both`` is set; neither needs weights. A list
of vertices is the first ``count`` ids of an array or, if ``everything`` is set, all ids below ``count``. Ids that are
not below ``num_vertices`` have no edges.
"""

from __future__ import annotations

import numpy as np

from suricate.kernels import degree, inner, kernel


@inner
def edges_at(g, h, both, u):
    """Return the number of edges of ``u``."""
    return np.int64(degree(g, u)) + (np.int64(degree(h, u)) if both else 0)


@kernel
def measure(g, h, both, num_vertices, vertices, everything, count, block, work):
    """Write the vertices plus edges of each ``block`` entries of a list to ``work``; the last block may be shorter."""
    for b in range(len(work)):
        first = b * block
        last = min(count, first + block)
        total = np.int64(last - first)
        for i in range(first, last):
            u = np.uint32(i) if everything else vertices[i]
            if u < num_vertices:
                total += edges_at(g, h, both, u)
        work[b] = total


@kernel
def largest_degree(g, h, both, num_vertices, vertices, everything, count):
    """Return the largest number of edges of one vertex of a list."""
    most = np.int64(0)
    for i in range(count):
        u = np.uint32(i) if everything else vertices[i]
        if u < num_vertices:
            most = max(most, edges_at(g, h, both, u))
    return most


@kernel
def work_of(g, h, both, num_vertices, vertices, everything, count, enough):
    """Return the number of edges of a list; counting stops beyond ``enough``."""
    edges = np.int64(0)
    for i in range(count):
        u = np.uint32(i) if everything else vertices[i]
        if u < num_vertices:
            edges += edges_at(g, h, both, u)
        if edges > enough:
            break
    return edges


@kernel
def work_of_rest(g, h, both, begin, end, stamp, step):
    """Return the number of edges of all vertices ``v`` in ``begin <= v < end`` with ``stamp[v] < step``."""
    edges = np.int64(0)
    for v in range(begin, end):
        if stamp[v] < step:
            edges += edges_at(g, h, both, np.uint32(v))
    return edges
