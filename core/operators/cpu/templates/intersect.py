"""CPU template of ``intersect`` for pairs: common neighbours of ``u[i]`` by the cursor ``g`` and ``v[i]`` by ``h``.

The functions of the second cursor have the prefix ``right_``. A pair does not count if its status is not ``wanted``
(an empty ``status``: all count), or if ``once`` is set and ``u[i] >= v[i]``.
"""

from __future__ import annotations

import numpy as np

from suricate.jit import inner, kernel
from suricate.operators.cpu.templates.bindings import (
    begin,
    buckets,
    cast,
    degree,
    end,
    find,
    first,
    following,
    key,
    right_begin,
    right_buckets,
    right_degree,
    right_end,
    right_find,
    right_first,
    right_following,
    right_key,
    value,
)
from suricate.types import TOMBSTONE

NOTHING = np.uint64(0xFFFFFFFFFFFFFFFF)  #: the side of a pair that has no common neighbours


@inner
def counts(i, u, v, status, wanted, once):
    """Return whether pair ``i`` counts."""
    return (len(status) == 0 or status[i] == wanted) and not (once and u[i] >= v[i])


@kernel
def probe_pairs(g, h, u, v, status, wanted, once, total, out, *args):
    """Walk the smaller adjacency of each pair, look its members up in the other one.

    ``out[i]`` becomes the sum of pair ``i``, or with ``total`` ``out[0]`` the sum of all.
    """
    grand = cast(0)
    for i in range(len(u)):
        found = cast(0)
        if counts(i, u, v, status, wanted, once):
            a, b = u[i], v[i]
            if degree(g, a) <= right_degree(h, b):
                for k in range(buckets(g, a)):
                    c = first(g, a, k)
                    while c >= 0:
                        for slot in range(begin(g, c), end(g, c)):
                            x = key(g, slot)
                            if x < TOMBSTONE and right_find(h, b, x) >= 0:
                                found += cast(value(i, a, b, x, *args))
                        c = following(g, c)
            else:
                for k in range(right_buckets(h, b)):
                    c = right_first(h, b, k)
                    while c >= 0:
                        for slot in range(right_begin(h, c), right_end(h, c)):
                            x = right_key(h, slot)
                            if x < TOMBSTONE and find(g, a, x) >= 0:
                                found += cast(value(i, a, b, x, *args))
                        c = right_following(h, c)
        grand += found
        if not total:
            out[i] = found
    if total:
        out[0] = grand


@kernel
def larger_sides(g, h, u, v, status, wanted, once, same, side, length):
    """Write to ``side[i]`` which adjacency of pair ``i`` is the larger one: ``2 * vertex``, plus 1 for that of ``h``.

    ``same``: ``g`` and ``h`` are one view, so that a vertex has one adjacency. ``length[i]`` becomes the length of the
    larger one. Returns the sum of the lengths of the smaller ones.
    """
    smaller = np.int64(0)
    for i in range(len(u)):
        side[i], length[i] = NOTHING, 0
        if counts(i, u, v, status, wanted, once):
            left, right = degree(g, u[i]), right_degree(h, v[i])
            if left > 0 and right > 0:
                is_left = left > right
                vertex = np.uint64(u[i] if is_left else v[i])
                side[i] = vertex * np.uint64(2) + np.uint64(0 if is_left or same else 1)
                length[i] = max(left, right)
                smaller += min(left, right)
    return smaller


@kernel
def mark_pairs(g, h, same, u, v, side, order, marks, step, total, out, *args):
    """Mark the larger adjacency of a pair, walk the smaller one; ``order`` has pairs with the same ``side`` in a row.

    An adjacency is marked once for all pairs in which it is the larger one: ``marks[x]`` is a number of its own, from
    ``step`` on. ``out`` as in :func:`probe_pairs`.
    """
    grand, marked = cast(0), NOTHING
    for j in range(len(order)):
        i = order[j]
        found = cast(0)
        if side[i] != NOTHING:
            a, b = u[i], v[i]
            if side[i] != marked:
                marked = side[i]
                step += 1
                large = np.uint32(marked >> np.uint64(1))
                if marked & np.uint64(1):
                    for k in range(right_buckets(h, large)):
                        c = right_first(h, large, k)
                        while c >= 0:
                            for slot in range(right_begin(h, c), right_end(h, c)):
                                x = right_key(h, slot)
                                if x < TOMBSTONE:
                                    marks[x] = step
                            c = right_following(h, c)
                else:
                    for k in range(buckets(g, large)):
                        c = first(g, large, k)
                        while c >= 0:
                            for slot in range(begin(g, c), end(g, c)):
                                x = key(g, slot)
                                if x < TOMBSTONE:
                                    marks[x] = step
                            c = following(g, c)
            small_is_left = not same and marked & np.uint64(1)
            if same or small_is_left:
                small = b if same and np.uint64(a) == marked >> np.uint64(1) else a
                for k in range(buckets(g, small)):
                    c = first(g, small, k)
                    while c >= 0:
                        for slot in range(begin(g, c), end(g, c)):
                            x = key(g, slot)
                            if x < TOMBSTONE and marks[x] == step:
                                found += cast(value(i, a, b, x, *args))
                        c = following(g, c)
            else:
                for k in range(right_buckets(h, b)):
                    c = right_first(h, b, k)
                    while c >= 0:
                        for slot in range(right_begin(h, c), right_end(h, c)):
                            x = right_key(h, slot)
                            if x < TOMBSTONE and marks[x] == step:
                                found += cast(value(i, a, b, x, *args))
                        c = right_following(h, c)
        grand += found
        if not total:
            out[i] = found
    if total:
        out[0] = grand
