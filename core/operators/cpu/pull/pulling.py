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
    weight,
)

NEAR, SAMPLES = 1 << 15, 64  #: entries that are not far apart; vertices that are looked at
MOST = WORDS - 64  #: keys in the scratch array before others are copied


@inner
def reduce_keys(u, keys, count, without_loop, total, *args):
    """Return ``total`` reduced over ``keys[:count]`` without tombstones and, if set so, without the self-loop."""
    for i in range(count):
        v = keys[np.uint64(i)]
        if v < TOMBSTONE and not (without_loop and v == u):
            total = combine(total, cast(edge(u, v, 1, *args)))
    return total


@inner
def reduce_copied(g, u, without_loop, total, *args):
    """Return ``total`` reduced with the values of all edges of ``u`` in the unweighted view ``g``.

    The keys are copied first, so that one loop runs over many spans. If ``without_loop`` is set, the self-loop of ``u``
    is left out.
    """
    keys, count = scratch(), 0
    for k in range(buckets(g, u)):
        c = first(g, u, k)
        while c >= 0:
            count = copied(g, c, keys, count)
            c = following(g, c)
            if count > MOST:
                total, count = reduce_keys(u, keys, count, without_loop, total, *args), 0
    return reduce_keys(u, keys, count, without_loop, total, *args)


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
def reduce_row(g, u, asks, without_loop, total, *args):
    """Return ``total`` reduced with the values of all edges of ``u`` in the view ``g``.

    The loop ends early if no edge can change the total. If ``asks`` is set, what later edges read is prefetched; if
    ``without_loop``, the self-loop of ``u`` is left out.
    """
    if runs:
        start = run(g, u)
        if start >= 0 and not without_loop:
            for slot in range(start, start + np.int64(degree(g, u))):
                total = combine(total, cast(edge(u, key(g, slot), weight(g, slot), *args)))
                if final(total):
                    return total
            return total
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
