"""Triangles of a directed graph on the CPU, from scratch: a template over a cursor.

Vertices are renamed by rank, in the order of their in- plus out-degrees, so that every triangle is a path ``r -> s ->
t`` and a pair of ``r`` and ``t`` of ascending ranks (the forward algorithm of Schank and Wagner, 2005). Row ``r``, the
entries from ``starts[r]`` on, ``lengths[r]`` of them, has the neighbours of higher rank in ascending order: ``rows``,
their ranks, and ``ways``, how many arcs the pair has (1 or 2). ``g`` and ``h`` are the data of the views over out- and
in-edges.
"""

from __future__ import annotations

import numpy as np

from suricate.kernels import degree, inner, kernel, neighbors

ONE = np.uint64(1)


@kernel
def most_arcs(g, h, n):
    """Return the largest sum of both degrees of a vertex below ``n``."""
    most = 0
    for u in range(n):
        most = max(most, int(degree(g, u) + degree(h, u)))
    return most


@kernel
def rank_vertices(g, h, counts, rank, order, starts, lengths):
    """Write ``rank``, its inverse ``order``, where each row starts, and lengths of 0; return the space of all rows.

    The first four are ``uint32[n]``, the next two ``int64[n]``; ``counts`` is ``int64[most + 2]``, zeros, with the
    largest sum of both degrees of a vertex.
    """
    n = len(rank)
    for u in range(n):
        counts[degree(g, u) + degree(h, u) + 1] += 1
    for d in range(len(counts) - 1):
        counts[d + 1] += counts[d]
    for u in range(n):
        d = degree(g, u) + degree(h, u)
        rank[u] = counts[d]
        order[counts[d]] = u
        counts[d] += 1
    at = np.int64(0)
    for r in range(n):
        starts[r], lengths[r] = at, 0
        at += degree(g, order[r]) + degree(h, order[r])
    return at


@inner
def add_pairs(g, u, s, rank, starts, lengths, rows, ways):
    """Enter ``s``, the rank of ``u``, in the rows of its neighbours of lower rank; return their other neighbours too.

    The result is the number of neighbours of ``u`` in ``g``, less ``u`` itself, plus ``2**32`` times the number of
    pairs that were entered before, whose ``ways`` become 2.
    """
    found, mutual = np.int64(0), np.int64(0)
    for v, _ in neighbors(g, u):
        r = rank[v]
        found += r != s
        if r < s:
            at = np.uint64(starts[r] + lengths[r])
            if lengths[r] > 0 and rows[at - ONE] == s:
                ways[at - ONE] = 2
                mutual += 1
            else:
                rows[at], ways[at] = s, 1
                lengths[r] += 1
    return mutual << 32 | found


@kernel
def orient(g, h, rank, order, starts, lengths, rows, ways, arcs):
    """Write all rows (see the module), and to ``arcs`` (``int64[n]``) the arcs of each vertex without self-loops."""
    for s in range(len(rank)):
        u = order[s]
        one = add_pairs(g, u, np.uint32(s), rank, starts, lengths, rows, ways)
        other = add_pairs(h, u, np.uint32(s), rank, starts, lengths, rows, ways)
        arcs[u] = (one & 0xFFFFFFFF) + (other & 0xFFFFFFFF)


@kernel
def count_mutual(order, starts, lengths, rows, ways, mutual):
    """Write to ``mutual`` (``int64[n]``) how many neighbours of each vertex are neighbours by two arcs."""
    mutual[:] = 0
    for r in range(len(order)):
        for j in range(np.uint64(starts[r]), np.uint64(starts[r] + lengths[r])):
            both = np.int64(ways[j]) - 1
            mutual[order[r]] += both
            mutual[order[rows[j]]] += both


@kernel
def sum_corners(is_product, starts, lengths, rows, ways, marked, sums, begin_rank, stride):
    """Write to ``sums`` what the triangles of a part count at their corners, ``int64[n]`` by rank.

    The part has the triangles whose lowest rank is ``begin_rank``, ``begin_rank + stride``, and so on. At a corner a
    triangle counts as the arcs of the opposite pair, or, if ``is_product``, as the product of the arcs of all pairs.
    ``marked`` is scratch, ``uint8[n]``, zero before and after.
    """
    sums[:] = 0
    for r in range(begin_rank, len(starts), stride):
        low, high = np.uint64(starts[r]), np.uint64(starts[r] + lengths[r])
        if high - low < 2:
            continue
        for j in range(low, high):
            marked[np.uint64(rows[j])] = ways[j]
        lowest = np.int64(0)
        for j in range(low, high):
            s, middle, near = np.uint64(rows[j]), np.int64(0), np.int64(ways[j])
            for i in range(np.uint64(starts[s]), np.uint64(starts[s] + lengths[s])):
                t = np.uint64(rows[i])
                far, opposite = np.int64(marked[t]), np.int64(ways[i])
                if is_product:
                    product = near * far * opposite
                    sums[t] += product
                    middle += product
                    lowest += product
                else:
                    known = (far + 1) >> 1  # 1 if ``r`` and ``t`` are neighbours; a branch would cost more
                    sums[t] += near * known
                    middle += far
                    lowest += opposite * known
            sums[s] += middle
        sums[r] += lowest
        for j in range(low, high):
            marked[np.uint64(rows[j])] = 0
