"""CPU template that counts all triangles of an undirected graph without vertices of large degree.

Row ``u`` is ``rows[begins[u] : ends[u]]``, ascending; only neighbours below ``u`` are read. Each triangle ``w < v < u``
is counted once, as a common entry ``w`` of the rows ``u`` and ``v``. A loop returns -1 as soon as it finds a row longer
than :data:`SHORT`.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import kernel
from suricate.cursors.bindings import degree, neighbors

SHORT = 64  #: neighbours of a vertex


@kernel
def sum_degrees(g, first_vertex, last_vertex):
    """Return the sum of the degrees in ``g`` of the vertices from ``first_vertex`` to ``last_vertex`` (exclusive)."""
    total = np.int64(0)
    for u in range(first_vertex, last_vertex):
        total += np.int64(degree(g, u))
    return total


@kernel
def list_lower(g, at, begins, ends, rows, first_vertex, last_vertex):
    """Write the neighbours below ``u`` of each vertex ``u`` of a range to ``rows[at:]``; return the index behind them.

    The range is ``first_vertex`` to ``last_vertex`` (exclusive) of the view ``g``. ``begins[u]`` and ``ends[u]`` are
    written too. Returns -1 as soon as a vertex has more than :data:`SHORT` neighbours.
    """
    for u in range(first_vertex, last_vertex):
        if degree(g, u) > SHORT:
            return np.int64(-1)
        begins[u] = at
        for v, _ in neighbors(g, u):
            if v < u:
                place = at
                while place > begins[u] and rows[np.uint64(place - 1)] > v:
                    rows[np.uint64(place)] = rows[np.uint64(place - 1)]
                    place -= 1
                rows[np.uint64(place)] = v
                at += 1
        ends[u] = at
    return at


@kernel
def count_triangles(begins, ends, rows, first_vertex, last_vertex):
    """Return the number of triangles whose largest vertex is in ``first_vertex`` to ``last_vertex`` (exclusive).

    ``begins``, ``ends`` and ``rows`` are described in the module. Returns -1 as soon as a row has more than
    :data:`SHORT` entries.
    """
    total = 0
    for u in range(first_vertex, last_vertex):
        first, stop = np.uint64(begins[u]), np.uint64(ends[u])
        if stop > first + np.uint64(SHORT):
            return -1
        for i in range(first + np.uint64(1), stop):  # nothing in the row is below its first vertex
            v = np.uint64(rows[i])
            if v >= u:
                break
            at = first
            for j in range(np.uint64(begins[v]), np.uint64(ends[v])):
                w = rows[j]
                if w >= v:
                    break
                while rows[at] < w:  # ``v`` itself is above ``w``
                    at += np.uint64(1)
                total += rows[at] == w
    return total
