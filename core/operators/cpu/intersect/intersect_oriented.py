"""CPU template of ``intersect`` for all triangles of an undirected graph, each of them once.

Vertices are renamed by rank, so that every triangle is a path ``r -> s -> t`` and an edge ``r -> t`` of ascending ranks
(the forward algorithm of Schank and Wagner). ``rows[starts[r] : starts[r] + lengths[r]]`` holds the higher
neighbours of rank ``r`` in ascending order; with ranks by degree no row is longer than the square root of twice the
edges.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import kernel
from suricate.operators.cpu.bindings import cast, degree, neighbors, value


@kernel
def rank_vertices(g, by_degree, counts, rank, order):
    """Rank the vertices by ascending degree and id, or by id alone; write ``rank`` and its inverse ``order``."""
    n = len(rank)
    counts[:] = 0
    if by_degree:
        for u in range(n):
            counts[degree(g, u) + 1] += 1
        for d in range(n + 1):
            counts[d + 1] += counts[d]
    for u in range(n):
        d = degree(g, u) if by_degree else 0
        rank[u] = counts[d]
        order[counts[d]] = u
        counts[d] += 1


@kernel
def list_starts(g, order, starts, lengths):
    """Write where row ``r`` begins to ``starts[r]``, clear ``lengths``, and return the total space of all rows."""
    at = np.int64(0)
    for r in range(len(order)):
        starts[r], lengths[r] = at, 0
        at += degree(g, order[r])
    return at


@kernel
def orient(g, rank, order, starts, lengths, rows):
    """Write the ranks of the higher neighbours of each rank ``r`` to ``rows[starts[r]:]``, ascending.

    Their number is added to ``lengths[r]``, which is 0 before. ``g`` is the view; ``rank`` and ``order`` were written
    by :func:`rank_vertices`, ``starts`` by :func:`list_starts`.
    """
    for s in range(len(rank)):
        u = order[s]
        for v, _ in neighbors(g, u):
            if rank[v] < s:
                r = rank[v]
                rows[np.uint64(starts[r] + lengths[r])] = s
                lengths[r] += 1


@kernel
def sum_triangles(order, starts, lengths, rows, marked, out, begin_rank, stride, *args):
    """Write to ``out[0]`` the sum of the function over the triangles of one part.

    The part has the triangles whose lowest rank is ``begin_rank``, ``begin_rank + stride``, and so on. ``order[r]`` is
    the vertex of rank ``r``; ``starts``, ``lengths`` and ``rows`` are described in the module. ``marked`` is scratch,
    ``uint8[n]``, zero before and after.
    """
    total = cast(0)
    for r in range(begin_rank, len(order), stride):
        low, high = np.uint64(starts[r]), np.uint64(starts[r] + lengths[r])
        if high - low < 2:
            continue
        for j in range(low, high):
            marked[np.uint64(rows[j])] = 1
        for j in range(low, high):
            s = rows[j]
            for i in range(np.uint64(starts[s]), np.uint64(starts[s] + lengths[s])):
                t = np.uint64(rows[i])
                if marked[t]:
                    total += cast(value(0, order[r], order[s], order[t], *args))
        for j in range(low, high):
            marked[np.uint64(rows[j])] = 0
    out[0] = total


@kernel
def sum_corners(order, starts, lengths, rows, marked, sums, begin_rank, stride, *args):
    """Write to ``sums[r]`` the sum of the function over those triangles of one part that have a corner of rank ``r``.

    ``sums`` has one entry per rank. The part and the other parameters are those of :func:`sum_triangles`.
    """
    sums[:] = cast(0)
    for r in range(begin_rank, len(order), stride):
        low, high = np.uint64(starts[r]), np.uint64(starts[r] + lengths[r])
        if high - low < 2:
            continue
        for j in range(low, high):
            marked[np.uint64(rows[j])] = 1
        lowest = cast(0)
        for j in range(low, high):
            s = np.uint64(rows[j])
            middle = cast(0)
            for i in range(np.uint64(starts[s]), np.uint64(starts[s] + lengths[s])):
                t = np.uint64(rows[i])
                one = cast(value(0, order[r], order[s], order[t], *args)) if marked[t] else cast(0)
                middle += one
                sums[t] += one  # of 0 as well: a branch that is hard to predict costs more
            sums[s] += middle
            lowest += middle
        sums[r] += lowest
        for j in range(low, high):
            marked[np.uint64(rows[j])] = 0


@kernel
def put_back(order, sums, out):
    """Set ``out[order[r]]``, the entry of the vertex of rank ``r``, to the sum of ``sums[part, r]`` over the parts."""
    for r in range(len(order)):
        total = sums[0, r]
        for p in range(1, len(sums)):
            total += sums[p, r]
        out[order[r]] = total
