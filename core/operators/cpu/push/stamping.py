"""What the CPU templates share that run on several threads: offers along the edges of a vertex, which leave stamps."""

from __future__ import annotations

from suricate.base.types import TOMBSTONE
from suricate.cpu.jit import inner
from suricate.operators.cpu.bindings import begin, buckets, edge, end, first, following, key, store, weight


@inner
def stamp_row(g, u, without_loop, out, stamp, step, *args):
    """Offer along the edges of ``u`` in one view; stamp what is altered."""
    for k in range(buckets(g, u)):
        c = first(g, u, k)
        while c >= 0:
            for slot in range(begin(g, c), end(g, c)):
                v = key(g, slot)
                if v >= TOMBSTONE or (without_loop and v == u):
                    continue
                if store(out, v, edge(u, v, weight(g, slot), *args)):
                    stamp[v] = step
            c = following(g, c)
