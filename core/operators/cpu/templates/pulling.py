"""What the CPU templates of pulls share: the reduction over the edges of a vertex, in one view or in two.

For ``"mode"`` ``pulling_mode.py`` takes its place; ``values`` and ``counts`` are used there only.
"""

from __future__ import annotations

from suricate.jit import inner
from suricate.operators.cpu.templates.bindings import (
    begin,
    both,
    buckets,
    cast,
    combine,
    edge,
    end,
    final,
    first,
    following,
    identity,
    key,
    weight,
)
from suricate.types import TOMBSTONE


@inner
def reduce_row(g, u, without_loop, total, *args):
    """Return the reduction of ``total`` and the edges of ``u`` in one view, as far as it takes to know it."""
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
