"""CPU template of ``intersect`` for pairs: common neighbours of ``u[i]`` in the view ``g`` and ``v[i]`` in ``h``.

The functions of the cursor of ``h`` have the prefix ``right_``. A pair counts if ``status`` is empty or ``status[i] ==
wanted``, except that with ``once`` pairs with ``u[i] >= v[i]`` do not. ``at_right`` says that the larger one of two
adjacencies, that of ``large``, lies in ``h``, and the smaller one, that of ``small``, in ``g``; otherwise vice versa.
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
        u, v, status, wanted, once: the pairs, and which of them count: see the module.
        same: whether ``g`` and ``h`` are one view, so that a vertex has only one adjacency.
        bits: number of bits that the index of a pair takes.
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
    """Return the sum of ``value`` over neighbours of ``small`` that are found in the adjacency of ``large``."""
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

    See the module for ``g``, ``h`` and ``at_right``. ``shared`` must have one entry more than ``small`` has neighbours,
    since the loop has no branch on marks.
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
    """Set ``marks[x] = step`` for each neighbour ``x`` of ``large``; see the module for ``g``, ``h``, ``at_right``."""
    if at_right:
        for x, _ in right_neighbors(h, large):
            marks[x] = step
    else:
        for x, _ in neighbors(g, large):
            marks[x] = step


@kernel
def intersect_pairs(views, u, v, bits, keys, smaller, search, marks, step, shared, total, out, *args):
    """Write the sums of ``value``, the user's function, over the common neighbours of the pairs in ``keys`` (sorted).

    The neighbours in a larger adjacency are marked once for all its pairs, unless look-ups take less time.

    Args:
        views: the left view, the right view, and whether they are the same.
        u, v: the vertices of each pair, on the left and on the right.
        bits, keys, smaller: as for :func:`larger_sides`, which wrote the last two.
        search: the cost of looking up one neighbour, in units of the cost of marking one.
        marks, step: ``uint32[n]`` by vertex; numbers above ``step`` are unused, and one is taken per marked adjacency.
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
