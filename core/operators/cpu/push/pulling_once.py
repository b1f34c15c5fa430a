"""What the CPU templates of searches share that pull: the offers that one vertex takes."""

from __future__ import annotations

from suricate.cpu.jit import inner
from suricate.operators.cpu.bindings import edge, neighbors, store, weight


@inner
def pull_row(g, v, without_loop, joined, equal, out, stamp, *args):
    """Take the offers of the neighbours of ``v`` whose stamp is ``joined``; return whether one altered it."""
    altered = False
    for u, slot in neighbors(g, v):
        if stamp[u] != joined or (without_loop and u == v):
            continue
        if store(out, v, edge(u, v, weight(g, slot), *args)):
            altered = True
            if equal:
                return True
    return altered
