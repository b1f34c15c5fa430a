"""What the CPU templates of searches share that pull: the offers that one vertex takes."""

from __future__ import annotations

from suricate.base.types import TOMBSTONE
from suricate.cpu.jit import inner
from suricate.operators.cpu.bindings import begin, buckets, edge, end, first, following, key, store, weight


@inner
def pull_row(g, v, without_loop, joined, equal, out, stamp, *args):
    """Take the offers of the neighbours of ``v`` whose stamp is ``joined``; return whether one altered it."""
    altered = False
    for k in range(buckets(g, v)):
        c = first(g, v, k)
        while c >= 0:
            for slot in range(begin(g, c), end(g, c)):
                u = key(g, slot)
                if u >= TOMBSTONE or stamp[u] != joined or (without_loop and u == v):
                    continue
                if store(out, v, edge(u, v, weight(g, slot), *args)):
                    altered = True
                    if equal:
                        return True
            c = following(g, c)
    return altered
