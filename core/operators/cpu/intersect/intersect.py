"""CPU template of ``intersect`` for pairs: common neighbours of ``u[i]`` by the cursor ``g`` and ``v[i]`` by ``h``.

The functions of the second cursor have the prefix ``right_``. A pair does not count if its status is not ``wanted``
(an empty ``status``: all count), or if ``once`` is set and ``u[i] >= v[i]``.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner, kernel
from suricate.operators.cpu.bindings import (
    cast,
    degree,
    find,
    neighbors,
    right_degree,
    right_find,
    right_neighbors,
    value,
)

ONE = np.uint64(1)


@kernel
def larger_sides(g, h, u, v, status, wanted, once, same, bits, keys, smaller):
    """List the pairs that may have common neighbours, by the larger of their two adjacencies; return their number.

    Args:
        g, h: the views that have the neighbours of ``u[i]`` and of ``v[i]``.
        u, v, status, wanted, once: the pairs, and which of them count: see the head of the file.
        same: ``g`` and ``h`` are one view, so that a vertex has one adjacency.
        bits: number of bits of a pair's index.
        keys: written: ``side << bits | pair``, where ``side`` is ``2 * vertex``, plus 1 for its adjacency in ``h``.
        smaller: by pair: the length of the smaller adjacency is written; it remains 0 if the pair is not listed.
    """
    listed = 0
    for i in range(len(u)):
        if (len(status) == 0 or status[i] == wanted) and not (once and u[i] >= v[i]):
            left, right = degree(g, u[i]), right_degree(h, v[i])
            if left > 0 and right > 0:
                is_left = left > right
                side = np.uint64(u[i] if is_left else v[i]) << ONE | np.uint64(not (is_left or same))
                keys[listed] = side << np.uint64(bits) | np.uint64(i)
                smaller[i] = min(left, right)
                listed += 1
    return listed


@inner
def looked_up(g, h, at_right, large, small, i, a, b, *args):
    """Return the sum of pair ``i`` of ``a`` and ``b``: look up each neighbour of ``small`` in the row of ``large``.

    ``large`` lies in the view ``h`` if ``at_right``, else in ``g``; ``small`` in the other one.
    """
    found = cast(0)
    if at_right:
        for x, _ in neighbors(g, small):
            if right_find(h, large, x) >= 0:
                found += cast(value(i, a, b, x, *args))
    else:
        for x, _ in right_neighbors(h, small):
            if find(g, large, x) >= 0:
                found += cast(value(i, a, b, x, *args))
    return found


@inner
def members_marked(g, h, at_right, small, marks, step, shared):
    """Write the neighbours ``x`` of ``small`` with ``marks[x] == step`` to ``shared``; return their number.

    ``small`` lies in the view ``g`` if ``at_right``, else in ``h``. There is no branch on marks: ``shared`` must have
    space for one entry more than the adjacency has.
    """
    found = np.uint64(0)
    if at_right:
        for x, _ in neighbors(g, small):
            shared[found] = x
            found += np.uint64(marks[x] == step)
    else:
        for x, _ in right_neighbors(h, small):
            shared[found] = x
            found += np.uint64(marks[x] == step)
    return found


@inner
def mark(g, h, at_right, large, marks, step):
    """Set ``marks[x]`` to ``step`` for each neighbour ``x`` of ``large``.

    The row of ``large`` lies in the view ``h`` if ``at_right``, else in ``g``.
    """
    if at_right:
        for x, _ in right_neighbors(h, large):
            marks[x] = step
    else:
        for x, _ in neighbors(g, large):
            marks[x] = step


@kernel
def intersect_pairs(views, u, v, bits, keys, smaller, search, marks, step, shared, total, out, *args):
    """Write the sums over the common neighbours of the pairs in ``keys``, which are sorted.

    The neighbours in a larger adjacency are marked once for all its pairs, unless look-ups are cheaper.

    Args:
        views: the left and the right view, and whether they are the same.
        u, v: the vertices of each pair, on the left and on the right.
        bits, keys, smaller: as passed to :func:`larger_sides` and written by it.
        search: the cost of a look-up, in marks.
        marks: by vertex: the number of the last marking. step: a number from which on none has been used.
        shared: scratch, longer than any smaller adjacency.
        total: whether ``out[0]`` gets the sum of all pairs; else ``out[i]`` gets that of pair ``i``.
        out: the sums; its dtype is that of the result.
        args: passed to the user's function.
    """
    g, h, same = views
    grand, shift = cast(0), np.uint64(bits)
    start = 0
    while start < len(keys):
        side = keys[start] >> shift
        stop, lookups = start, np.int64(0)
        while stop < len(keys) and keys[stop] >> shift == side:
            lookups += smaller[keys[stop] ^ side << shift]
            stop += 1
        large, at_right = np.uint32(side >> ONE), side & ONE == ONE
        length = right_degree(h, large) if at_right else degree(g, large)
        marking = length <= search * lookups
        if marking:
            step += 1
            mark(g, h, at_right, large, marks, step)
        for j in range(start, stop):
            i = keys[j] ^ side << shift
            a, b = u[i], v[i]
            small = a if at_right or (same and b == large) else b
            if marking:
                found = cast(0)
                for k in range(members_marked(g, h, at_right, small, marks, step, shared)):
                    found += cast(value(np.int64(i), a, b, shared[k], *args))
            else:
                found = looked_up(g, h, at_right, large, small, np.int64(i), a, b, *args)
            grand += found
            if not total:
                out[i] = found
        start = stop
    if total:
        out[0] = grand
