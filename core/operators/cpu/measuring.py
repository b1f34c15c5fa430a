"""Counts of edges, by which CPU templates choose a method (drivers: ``edge_counts``).

``g`` is the data of a view; ``h`` is a second one, used only if a call walks both directions. A list of vertices is the
first ``count`` ids of an array or, if ``everything`` is set, all ids below ``count``. Ids that are not below
``num_vertices`` have no edges.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner
from suricate.operators.cpu.bindings import both, degree

MANY = np.int64(1) << np.int64(62)


@inner
def edges_of(g, h, num_vertices, frontier, everything, count, enough):
    """Return the number of edges of a list of vertices; counting stops beyond ``enough``."""
    edges = np.int64(0)
    for i in range(count):
        u = np.uint32(i) if everything else frontier[i]
        if u < num_vertices:
            edges += np.int64(degree(g, u))
            if both:
                edges += np.int64(degree(h, u))
        if edges > enough:
            break
    return edges


@inner
def edges_of_rest(g, h, begin, end, stamp, step):
    """Return the number of edges of all vertices ``v`` in ``begin <= v < end`` with ``stamp[v] < step``."""
    edges = np.int64(0)
    for v in range(begin, end):
        if stamp[v] < step:
            edges += np.int64(degree(g, v))
            if both:
                edges += np.int64(degree(h, v))
    return edges
