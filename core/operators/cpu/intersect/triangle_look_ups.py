"""CPU template that counts all triangles of an undirected graph without vertices of large degree, by edge queries.

Each triangle ``w < v < u`` is counted once: for every two neighbours of ``u`` below it, the edge between them is looked
up. Nothing is sorted. The loop returns -1 as soon as it finds a row longer than ``SHORT``.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner, kernel
from suricate.cpu.scratch import scratch
from suricate.cursors.bindings import begin, buckets, degree, end, find, first, following, key
from suricate.operators.cpu.intersect.triangle_count import SHORT


@inner
def list_below(g, u, lower):
    """Write the neighbours of ``u`` below ``u`` to ``lower``, in the order of storage; return their number."""
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
    """Return the number of triangles whose largest vertex is in ``first_vertex`` to ``last_vertex`` (exclusive)."""
    total, lower = np.int64(0), scratch()
    for u in range(first_vertex, last_vertex):
        if degree(g, u) > SHORT:
            return np.int64(-1)
        for i in range(np.uint64(1), list_below(g, np.uint32(u), lower)):
            v = lower[i]
            for j in range(np.uint64(0), i):
                total += find(g, v, lower[j]) >= 0
    return total
