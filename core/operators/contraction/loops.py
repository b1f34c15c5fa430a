"""Loops of the CPU for contraction: a template over a cursor.

``group`` is the group of each vertex, ``uint32[n]``, EMPTY for deleted ones. The members of group ``a`` are
``members[offsets[a]:offsets[a + 1]]``. Weights are rounded to multiples of ``unit``.
"""

from __future__ import annotations

import numpy as np

from suricate.kernels import ahead, inner, kernel, neighbors, weight

AHEAD = 8  #: members ahead of the current one whose rows are prefetched


@inner
def rounded(g, slot, unit):
    """Return the weight of an edge (below 0: 1) rounded to a multiple of ``unit``, a power of two (0: it is one)."""
    w = 1.0 if unit < 0 else np.float64(weight(g, slot))
    return w if unit <= 0 else np.floor(w / unit + 0.5) * unit  # of two as near ones the larger


@kernel
def merge_rows(g, group, offsets, members, unit, starts, ends, dst, sums, strength, place, low, high):  # noqa: PLR0913
    """Write the rows of the groups ``low`` to ``high`` (exclusive): per neighbour group the sum of weights, not 0.

    The graph is undirected. Row ``a`` begins at ``starts[a]``; its end is written to ``ends[a]``. An edge inside a
    group counts once, for its smaller end. ``strength[a]``: the sum of the weights of all arcs of the members, and of
    self-loops once more. ``place`` is scratch, ``int64[q]``, of any content.
    """
    for a in range(low, high):
        start = starts[a]
        at, total = start, 0.0
        for i in range(offsets[a], offsets[a + 1]):
            ahead(g, members[min(i + AHEAD, len(members) - 1)])
            u = members[i]
            for x, slot in neighbors(g, u):
                w, b = rounded(g, slot, unit), np.int64(group[x])
                total += w
                if a == b:
                    if x < u:
                        continue
                    if x == u:
                        total += w
                p = place[b]
                if start <= p < at and dst[p] == b:
                    sums[p] += w
                else:
                    place[b], dst[at], sums[at] = at, b, w
                    at += 1
        kept = start
        for i in range(start, at):
            if sums[i] != 0:
                dst[kept], sums[kept] = dst[i], sums[i]
                kept += 1
        ends[a], strength[a] = kept, total
