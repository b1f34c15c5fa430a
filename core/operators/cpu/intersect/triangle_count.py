"""CPU template of ``intersect`` that only counts all triangles of an undirected graph whose rows are short.

Each triangle ``w < v < u`` is counted once, where the ascending rows of ``u`` and ``v`` meet. Rows begin at
``begins[u]`` and end at ``ends[u]`` in ``rows``; of a row only what is below its vertex is read. The loops end, and
return -1, when they meet a row that is not short.
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
    """Write the smaller neighbours of each vertex of a range to ``rows[at:]``, ascending; return the end.

    The range is ``first_vertex`` to ``last_vertex`` (exclusive) of the view ``g``. Row ``u`` becomes ``rows[begins[u] :
    ends[u]]``. Returns -1 as soon as a vertex has more than :data:`SHORT` neighbours.
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

    Row ``u`` is ``rows[begins[u] : ends[u]]``, ascending. Returns -1 as soon as a row has more than :data:`SHORT`
    entries.
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
