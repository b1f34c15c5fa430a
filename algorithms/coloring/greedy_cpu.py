"""A greedy colouring on the CPU, by one thread: a template over a cursor.

``g`` and ``h`` are the data of two views, ``h`` for a directed graph only (``both``). ``colour`` is ``uint32[n]``; at a
vertex that has none yet it is ``none``, more than all degrees. ``mark`` is ``uint32[none + 1]``: ``v`` at colours that
a neighbour of ``v`` has, before ``EMPTY``.
"""

from __future__ import annotations

import numpy as np

from suricate.base.types import TOMBSTONE
from suricate.cpu.scratch import WORDS, scratch
from suricate.kernels import ahead, buckets, copied, copies, degree, first, following, inner, kernel, neighbors

MOST = WORDS - 64  #: keys in the scratch array before others are copied
BITS = 62  #: arcs from which on the colours of neighbours are marked in memory, not in a register
AHEAD = 8  #: vertices ahead of the current one whose rows are prefetched


@inner
def mark_keys(keys, count, v, colour, mark):
    """Set ``mark`` to ``v`` at the colours of ``keys[:count]``; entries from ``TOMBSTONE`` on are no vertices."""
    for i in range(np.uint64(count)):
        u = keys[i]
        if u < TOMBSTONE:
            mark[np.uint64(colour[u])] = v


@inner
def mark_taken(g, v, colour, mark):
    """Set ``mark`` to ``v`` at the colours of the neighbours of ``v`` in ``g``."""
    if copies:
        keys, count = scratch(), 0
        for k in range(buckets(g, v)):
            c = first(g, v, k)
            while c >= 0:
                count = copied(g, c, keys, count)
                c = following(g, c)
                if count > MOST:
                    mark_keys(keys, count, v, colour, mark)
                    count = 0
        mark_keys(keys, count, v, colour, mark)
        return
    for u, _ in neighbors(g, v):
        mark[np.uint64(colour[u])] = v


@inner
def taken_bits(g, v, colour):
    """Return an integer with a bit for each colour below ``BITS`` that a neighbour of ``v`` has."""
    taken = np.int64(0)
    for u, _ in neighbors(g, v):
        taken |= np.int64(1) << min(np.int64(colour[u]), np.int64(BITS))
    return taken


@inner
def first_free(g, h, both, v, colour, mark):
    """Return the first colour that no neighbour of ``v`` has."""
    if degree(g, v) + (degree(h, v) if both else 0) < BITS:
        taken = taken_bits(g, v, colour) | (taken_bits(h, v, colour) if both else 0)
        return np.uint32((np.float64(~taken & (taken + 1)).view(np.int64) >> 52) - 1023)  # the lowest bit not set
    mark_taken(g, v, colour, mark)
    if both:
        mark_taken(h, v, colour, mark)
    free = np.uint64(0)
    while mark[free] == v:
        free += np.uint64(1)
    return np.uint32(free)


@kernel
def color(g, h, both, hubs, start, none, colour, mark):
    """Give each vertex in turn the first colour that no neighbour has: first ``hubs``, then the others.

    The others come by their ids, from ``start`` on, and those below ``start`` last. Changes ``colour`` and ``mark`` in
    place.
    """
    for v in hubs:
        colour[v] = first_free(g, h, both, v, colour, mark)
    for begin, end in ((start, len(colour)), (0, start)):
        for i in range(begin, end):
            v = np.uint32(i)
            ahead(g, np.uint32(min(i + AHEAD, end - 1)))
            if colour[v] == none:
                colour[v] = first_free(g, h, both, v, colour, mark)
