"""CPU template of ``intersect`` for pairs: common neighbours of ``u[i]`` in the view ``g`` and ``v[i]`` in ``h``.

The functions of the cursor of ``h`` have the prefix ``right_``. A pair counts if ``status`` is empty or ``status[i] ==
wanted``, except that with ``once`` pairs with ``u[i] >= v[i]`` do not. ``at_right`` says that the larger one of two
adjacencies, that of ``large``, lies in ``h``, and the smaller one, that of ``small``, in ``g``; otherwise vice versa.
For functions that take weights or rows ``*slots(s, t)`` is replaced by those of the slots ``s`` in ``g`` and ``t`` in
``h``; for others these, and lines that end in "# slots", are left out.
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
    slots,
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
def looked_up(g, h, at_right, at_left, large, small, i, a, b, *args):
    """Return the sum of ``value`` over neighbours of ``small`` that are found in the adjacency of ``large``.

    ``at_left``: whether ``small`` is ``a``, as it also may be if both views are the same.
    """
    found = cast(0)
    if at_right:
        for x, near in neighbors(g, small):
            far = right_find(h, large, x)
            if far >= 0:
                found += cast(value(i, a, b, x, *slots(near, far), *args))
    else:
        for x, near in right_neighbors(h, small):
            far = find(g, large, x)
            if far >= 0:
                s, t = (near, far) if at_left else (far, near)  # slots
                found += cast(value(i, a, b, x, *slots(s, t), *args))
    return found


@inner
def members_marked(g, h, at_right, small, marks, step, shared, places):
    """Write the neighbours ``x`` of ``small`` with ``marks[x] == step`` to ``shared``; return their number.

    See the module for ``g``, ``h`` and ``at_right``. ``shared``, and ``places`` for their slots, must have one entry
    more than ``small`` has neighbours, since the loop has no branch on marks.
    """
    found = np.uint64(0)
    if at_right:
        for x, near in neighbors(g, small):
            shared[found] = x
            places[found] = near  # slots
            found += np.uint64(marks[x] == step)
    else:
        for x, near in right_neighbors(h, small):
            shared[found] = x
            places[found] = near  # slots
            found += np.uint64(marks[x] == step)
    return found


@inner
def mark(g, h, at_right, large, marks, step, held):
    """Set ``marks[x] = step``, and ``held[x]`` to its slot, for each neighbour ``x`` of ``large``; see the module."""
    if at_right:
        for x, far in right_neighbors(h, large):
            marks[x] = step
            held[x] = far  # slots
    else:
        for x, far in neighbors(g, large):
            marks[x] = step
            held[x] = far  # slots


@kernel
def intersect_pairs(views, u, v, bits, keys, smaller, search, marks, step, scratch, total, out, *args):
    """Write the sums of ``value``, the user's function, over the common neighbours of the pairs in ``keys`` (sorted).

    The neighbours in a larger adjacency are marked once for all its pairs, unless look-ups take less time.

    Args:
        views: the left view, the right view, and whether they are the same.
        u, v: the vertices of each pair, on the left and on the right.
        bits, keys, smaller: as for :func:`larger_sides`, which wrote the last two.
        search: the cost of looking up one neighbour, in units of the cost of marking one.
        marks, step: ``uint32[n]`` by vertex; numbers above ``step`` are unused, and one is taken per marked adjacency.
        scratch: two arrays that are longer than any smaller adjacency, ``uint32`` and ``int64``, and ``int64[n]``; the
            latter two have one entry if no slots are used.
        total: whether ``out[0]`` gets the sum of all pairs; else ``out[i]`` gets that of pair ``i``.
        out: the sums; its dtype is that of the result.
        args: passed to the user's function.
    """
    g, h, same = views
    shared, places, held = scratch
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
            mark(g, h, at_right, large, marks, step, held)
        for j in range(start, stop):
            i = keys[j] ^ side << shift
            a, b = u[i], v[i]
            at_left = at_right or (same and b == large)  # the smaller one
            small = a if at_left else b
            if marking:
                found = cast(0)
                for k in range(members_marked(g, h, at_right, small, marks, step, shared, places)):
                    x = shared[k]
                    s, t = (places[k], held[x]) if at_left else (held[x], places[k])  # slots
                    found += cast(value(np.int64(i), a, b, x, *slots(s, t), *args))
            else:
                found = looked_up(g, h, at_right, at_left, large, small, np.int64(i), a, b, *args)
            grand += found
            if not total:
                out[i] = found
        start = stop
    if total:
        out[0] = grand
