"""What the CPU templates of pulls share: the reduction over the edges of a vertex, in one view or in two.

For ``"mode"`` ``pulling_mode.py`` takes its place; ``values`` and ``counts`` are used there only.
"""

from __future__ import annotations

import numpy as np

from suricate.jit import inner
from suricate.operators.cpu.templates.bindings import (
    begin,
    both,
    buckets,
    cast,
    combine,
    copied,
    copies,
    edge,
    end,
    final,
    first,
    following,
    identity,
    key,
    weight,
)
from suricate.scratch import WORDS, scratch
from suricate.types import TOMBSTONE

MOST = WORDS - 64  #: keys in the scratch array before others are copied


@inner
def reduce_keys(u, keys, count, without_loop, total, *args):
    """Return the reduction of ``total`` and the edges of ``u`` to the first ``count`` of ``keys``, which weigh 1."""
    for i in range(count):
        v = keys[np.uint64(i)]
        if v < TOMBSTONE and not (without_loop and v == u):
            total = combine(total, cast(edge(u, v, 1, *args)))
    return total


@inner
def reduce_copied(g, u, without_loop, total, *args):
    """Do as :func:`reduce_row` with one loop over many spans, whose ends it does not have to guess."""
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
def reduce_row(g, u, without_loop, total, *args):
    """Return the reduction of ``total`` and the edges of ``u`` in one view, as far as it takes to know it."""
    if copies:
        return reduce_copied(g, u, without_loop, total, *args)
    for k in range(buckets(g, u)):
        c = first(g, u, k)
        while c >= 0:
            for slot in range(begin(g, c), end(g, c)):
                v = key(g, slot)
                if v >= TOMBSTONE or (without_loop and v == u):
                    continue
                total = combine(total, cast(edge(u, v, weight(g, slot), *args)))
                if final(total):
                    return total
            c = following(g, c)
    return total


@inner
def reduce_vertex(g, h, num_vertices, u, values, counts, *args):
    """Return the reduction over the edges of ``u``; an id that is not below ``num_vertices`` has none."""
    total = cast(identity)
    if u < num_vertices:
        total = reduce_row(g, u, False, total, *args)
        if both:
            total = reduce_row(h, u, True, total, *args)
    return total


@inner
def most_edges(g, h, num_vertices, vertices, everything, count):
    """Return 0: no table is needed."""
    return 0
