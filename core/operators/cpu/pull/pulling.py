"""The reduction over the edges of a vertex, in one view or in two; shared by the CPU templates of pulls.

For ``"mode"`` and ``"hindex"`` it is replaced by ``pulling_mode.py`` and ``pulling_hindex.py``. ``total`` is the
reduced value so far. If ``without_loop`` is set, the self-loop of ``u`` is left out, since the first view has it
already.
"""

from __future__ import annotations

import numpy as np

from suricate.base.types import TOMBSTONE
from suricate.cpu.jit import inner
from suricate.cpu.scratch import WORDS, scratch
from suricate.cpu.vector import choose
from suricate.operators.cpu.bindings import (
    ask,
    begin,
    both,
    buckets,
    cast,
    combine,
    copied,
    copies,
    degree,
    edge,
    end,
    far,
    final,
    first,
    following,
    gapless,
    identity,
    key,
    later,
    looks_ahead,
    run,
    runs,
    spreads,
    weight,
)

NEAR, SAMPLES = 1 << 15, 64  #: entries that are not far apart; vertices that are looked at
MOST = WORDS - 64  #: keys in the scratch array before others are copied


@inner
def of_place(g, u, keys, i, *args):
    """Return the value of the edge from ``u`` to ``keys[i]``, or in slot ``i`` if there are no ``keys``."""
    if keys is None:
        return cast(edge(u, key(g, i), weight(g, i), *args))
    return cast(edge(u, keys[np.uint64(i)], 1, *args))


@inner
def spread(g, u, keys, i, stop, asks, total, *args):
    """Return ``total`` reduced with the edges of ``u`` in all places from ``i`` to ``stop``, of ``keys`` or slots.

    There are four totals, which do not wait for each other. The last one to three edges are taken without a branch, of
    which the processor would guess wrong in rows of many lengths: the last edge is read again, and counts for nothing.
    """
    second, third, fourth, last = cast(identity), cast(identity), cast(identity), stop - 1
    while i + 4 <= stop:
        if asks:
            for j in range(4):
                ask(later(g, i + j), *args)
        total = combine(total, of_place(g, u, keys, i, *args))
        second = combine(second, of_place(g, u, keys, i + 1, *args))
        third = combine(third, of_place(g, u, keys, i + 2, *args))
        fourth = combine(fourth, of_place(g, u, keys, i + 3, *args))
        i += 4
    if i < stop:
        total = combine(total, of_place(g, u, keys, i, *args))
        second = combine(second, choose(i < last, of_place(g, u, keys, min(i + 1, last), *args), cast(identity)))
        third = combine(third, choose(i + 1 < last, of_place(g, u, keys, last, *args), cast(identity)))
    return combine(combine(total, second), combine(third, fourth))


@inner
def reduce_keys(g, u, keys, count, without_loop, total, *args):
    """Return ``total`` reduced over ``keys[:count]``, all of them edges, and, if set so, without the self-loop."""
    if spreads and not without_loop:
        return spread(g, u, keys, np.int64(0), count, False, total, *args)
    for i in range(count):
        v = keys[np.uint64(i)]
        if not (without_loop and v == u):
            total = combine(total, cast(edge(u, v, 1, *args)))
    return total


@inner
def has_tombstones(keys, count):
    """Return whether there are tombstones in ``keys[:count]``; quick for many keys."""
    found = False
    for i in range(count):
        found |= keys[np.uint64(i)] >= TOMBSTONE
    return found


@inner
def without_tombstones(keys, count):
    """Move the keys of ``keys[:count]`` that are no tombstones to the front, and return how many these are."""
    kept = np.int64(0)
    for i in range(count):
        v = keys[np.uint64(i)]
        keys[np.uint64(kept)] = v
        kept += v < TOMBSTONE
    return kept


@inner
def reduce_copied(g, u, without_loop, total, *args):
    """Return ``total`` reduced with the values of all edges of ``u`` in the unweighted view ``g``.

    The keys are copied first, so that one loop runs over many spans. A row with more keys than edges has tombstones. If
    ``without_loop`` is set, the self-loop of ``u`` is left out.
    """
    keys, count, before = scratch(), np.int64(0), np.int64(0)
    for k in range(buckets(g, u)):
        c = first(g, u, k)
        while c >= 0:
            count = copied(g, c, keys, count)
            c = following(g, c)
            if count > MOST:
                before += count
                if has_tombstones(keys, count):
                    count = without_tombstones(keys, count)
                total, count = reduce_keys(g, u, keys, count, without_loop, total, *args), np.int64(0)
    if before + count != degree(g, u):
        count = without_tombstones(keys, count)
    return reduce_keys(g, u, keys, count, without_loop, total, *args)


@inner
def asks_ahead(g, num_vertices, in_order, *args):
    """Return whether it pays to prefetch what the edge function reads at the neighbours.

    It does if the arrays read there are large, and in a sample of rows of the view ``g``, which has ``num_vertices``
    vertices, more than a third of the neighbours have ids far from that of the vertex. ``in_order``: whether the pull
    is for all vertices or most of a range, otherwise it does not pay; ``args``: the arguments of the functions.
    """
    apart, step = 0, max(1, num_vertices // SAMPLES)
    if looks_ahead and in_order and far(g, *args):
        for i in range(0, num_vertices, step):
            u = np.uint32(i)
            c = first(g, u, 0) if buckets(g, u) > 0 else np.int64(-1)
            if c >= 0 and begin(g, c) < end(g, c):
                v = key(g, (begin(g, c) + end(g, c)) >> 1)
                if v < TOMBSTONE:
                    apart += 2 if abs(np.int64(u) - np.int64(v)) > NEAR else -1
    return apart > 0


@inner
def reduce_span(g, u, start, stop, asks, without_loop, total, *args):
    """Return ``total`` reduced with the values of the edges of ``u`` in the slots ``start`` to ``stop`` (exclusive)."""
    if spreads and gapless and not without_loop:
        return spread(g, u, None, start, stop, asks, total, *args)
    for slot in range(start, stop):
        if asks:
            ask(later(g, slot), *args)
        v = key(g, slot)
        if (not gapless and v >= TOMBSTONE) or (without_loop and v == u):
            continue
        total = combine(total, cast(edge(u, v, weight(g, slot), *args)))
        if final(total):
            return total
    return total


@inner
def reduce_run(g, u, start, total, *args):
    """Return ``total`` reduced with the values of the edges of ``u``, which are all slots from ``start`` on."""
    stop = start + np.int64(degree(g, u))
    if spreads:
        return spread(g, u, None, start, stop, False, total, *args)
    return reduce_span(g, u, start, stop, False, False, total, *args)


@inner
def reduce_row(g, u, asks, without_loop, total, *args):
    """Return ``total`` reduced with the values of all edges of ``u`` in the view ``g``.

    The loop ends early if no edge can change the total. If ``asks`` is set, what later edges read is prefetched; if
    ``without_loop``, the self-loop of ``u`` is left out.
    """
    if runs:
        start = run(g, u)
        if start >= 0 and not without_loop:
            return reduce_run(g, u, start, total, *args)
    if copies:
        return reduce_copied(g, u, without_loop, total, *args)
    for k in range(buckets(g, u)):
        c = first(g, u, k)
        while c >= 0:
            start, stop = begin(g, c), end(g, c)
            if looks_ahead and asks:  # two loops: to ask or not in one of them costs a sixth on grids
                total = reduce_span(g, u, start, stop, True, without_loop, total, *args)
            else:
                total = reduce_span(g, u, start, stop, False, without_loop, total, *args)
            if final(total):
                return total
            c = following(g, c)
    return total


@inner
def reduce_vertex(g, h, num_vertices, u, asks, values, counts, *args):
    """Return the reduced value of ``u`` over its edges in the view ``g``, and in ``h`` if both directions are walked.

    An id that is not below ``num_vertices`` gets the neutral value. If ``asks`` is set, what later edges read is
    prefetched. ``values`` and ``counts`` are unused.
    """
    total = cast(identity)
    if u < num_vertices:
        total = reduce_row(g, u, asks, False, total, *args)
        if both:
            total = reduce_row(h, u, asks, True, total, *args)
    return total
