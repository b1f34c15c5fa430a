"""The reduction ``"hindex"``, in place of ``pulling.py``: the largest h such that h values are at least h.

No h is above the degree d of the vertex, so values above d count as d. ``counts[k]`` is the number of values k; it is
longer than the largest degree. ``values`` is unused.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner
from suricate.operators.cpu.bindings import both, cast, degree, edge, neighbors, weight

ONE = np.uint64(1)


@inner
def count_row(g, u, without_loop, most, counts, *args):
    """For each edge of ``u`` in the view ``g`` with a positive value, add 1 to ``counts[min(value, most)]``."""
    for v, slot in neighbors(g, u):
        if without_loop and v == u:
            continue
        value = cast(edge(u, v, weight(g, slot), *args))
        if value > 0:
            counts[min(np.uint64(value), most)] += np.uint32(1)


@inner
def asks_ahead(g, num_vertices, in_order, *args):
    """Return False: the loops of this reduction do not prefetch what the edge function reads at the neighbours."""
    return False


@inner
def reduce_vertex(g, h, num_vertices, u, asks, values, counts, *args):
    """Return the h-index over the edges of ``u`` in the view ``g``, and in ``h`` if both directions are walked.

    A vertex without edges and an id that is not below ``num_vertices`` get 0. ``counts`` is scratch: its first entries,
    one more than ``u`` has edges, are overwritten. ``asks`` and ``values`` are unused.
    """
    if u >= num_vertices:
        return cast(0)
    most = np.uint64(degree(g, u))
    if both:
        most += np.uint64(degree(h, u))
    for i in range(np.int64(most) + 1):
        counts[i] = 0
    count_row(g, u, False, most, counts, *args)
    if both:
        count_row(h, u, True, most, counts, *args)
    above = np.uint64(counts[most])
    while above < most:  # at 0 it has ended
        most -= ONE
        above += np.uint64(counts[most])
    return cast(most)
