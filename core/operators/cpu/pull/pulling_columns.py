"""The reduction of columns, in place of ``pulling.py``: a vertex has ``k`` values, in one pass over its edges.

``values`` has one entry per column, and is what :func:`reduce_vertex` returns; ``counts`` is unused. The edge function
is called for the columns of one edge after the other, so that rows of ``k`` entries are read as they lie in memory.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner
from suricate.cpu.scratch import scratch
from suricate.operators.cpu.bindings import both, cast, combine, edge_of_column, identity, neighbors, weight

MOST = 256  #: columns in one pass over the edges of a vertex


@inner
def asks_ahead(g, num_vertices, in_order, *args):
    """Return False: the loops of this reduction do not prefetch what the edge function reads at the neighbours."""
    return False


@inner
def reduce_row(g, u, without_loop, low, size, totals, *args):
    """Reduce the values of all edges of ``u`` in the view ``g``, in the columns from ``low`` on, into ``totals``."""
    for v, slot in neighbors(g, u):
        if without_loop and v == u:
            continue
        w = weight(g, slot)
        for i in range(size):
            at = np.uint64(i)
            totals[at] = combine(totals[at], cast(edge_of_column(u, v, w, np.uint64(low + i), *args)))


@inner
def reduce_vertex(g, h, num_vertices, u, asks, values, counts, *args):
    """Return ``values``, filled with the reduced values of ``u`` over its edges in ``g``, and in ``h`` if ``both``.

    An id that is not below ``num_vertices`` gets the neutral value. ``asks`` and ``counts`` are unused. Totals are on
    the stack, of which the compiler knows that no argument shares it: so it makes vector instructions of the loop.
    """
    totals, k = scratch().view(cast), len(values)
    for low in range(0, k, MOST):
        size = min(MOST, k - low)
        for i in range(size):
            totals[np.uint64(i)] = cast(identity)
        if u < num_vertices:
            reduce_row(g, u, False, low, size, totals, *args)
            if both:
                reduce_row(h, u, True, low, size, totals, *args)
        for i in range(size):
            values[np.uint64(low + i)] = totals[np.uint64(i)]
    return values
