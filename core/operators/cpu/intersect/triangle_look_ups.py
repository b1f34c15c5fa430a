"""CPU template of ``intersect`` that only counts all triangles of an undirected graph of short rows, by hash look-ups.

Each triangle ``w < v < u`` is counted once, where the pairs of neighbours below ``u`` are looked up as they are stored:
nothing is copied or sorted. The loop ends, and returns -1, when it meets a row that is not short.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner, kernel
from suricate.cpu.scratch import scratch
from suricate.cursors.bindings import begin, buckets, degree, end, find, first, following, key
from suricate.operators.cpu.intersect.triangle_count import SHORT


@inner
def list_below(g, u, lower):
    """Write the neighbours below ``u`` in the view ``g`` to ``lower``; return how many there are.

    Keys of empty slots and tombstones are above all vertices.
    """
    count = np.uint64(0)
    for k in range(buckets(g, u)):
        c = first(g, u, k)
        while c >= 0:
            for slot in range(begin(g, c), end(g, c)):
                v = key(g, slot)
                if v < u:
                    lower[count] = v
                    count += np.uint64(1)
            c = following(g, c)
    return count


@kernel
def look_up_triangles(g, first_vertex, last_vertex):
    """Return the number of triangles whose largest vertex is in ``first_vertex`` to ``last_vertex`` (exclusive).

    ``g`` is the data of the view. Returns -1 as soon as a vertex has more than ``SHORT`` neighbours.
    """
    total, lower = np.int64(0), scratch()
    for u in range(first_vertex, last_vertex):
        if degree(g, u) > SHORT:
            return np.int64(-1)
        for i in range(np.uint64(1), list_below(g, np.uint32(u), lower)):
            v = lower[i]
            for j in range(np.uint64(0), i):
                total += find(g, v, lower[j]) >= 0
    return total
