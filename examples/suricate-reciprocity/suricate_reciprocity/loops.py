"""Counting on the CPU: a template. What it imports from ``suricate.kernels`` is taken from a backend's cursor."""

from __future__ import annotations

from suricate.kernels import find, inner, kernel, neighbors


@inner
def answered(g, u):
    """Return how many out-edges of ``u`` have an edge in the other direction."""
    count = 0
    for v, _ in neighbors(g, u):
        if find(g, v, u) >= 0:
            count += 1
    return count


@kernel
def count_all(g, num_vertices, count):
    """Count at every vertex."""
    for u in range(num_vertices):
        count[u] = answered(g, u)


@kernel
def count_ends(g, src, dst, status, wanted, size, count):
    """Count at both ends of the arcs whose ``status`` is ``wanted``; an empty ``status`` means all."""
    for i in range(size):
        if len(status) == 0 or status[i] == wanted:
            count[src[i]] = answered(g, src[i])
            count[dst[i]] = answered(g, dst[i])
