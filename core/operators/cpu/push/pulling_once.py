"""Pull steps, shared by the CPU templates of searches: the vertices of a range take offers of their neighbours.

``back`` and ``also_back`` are the views of the reverse direction; other parameters are those of ``pushing.py``.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner
from suricate.operators.cpu.bindings import both, edge, neighbors, store, then, weight


@inner
def pull_row(g, v, without_loop, joined, equal, out, stamp, *args):
    """Apply the offers of the neighbours of ``v`` whose stamp is ``joined``; return whether ``out[v]`` changed."""
    altered = False
    for u, slot in neighbors(g, v):
        if stamp[u] != joined or (without_loop and u == v):
            continue
        if store(out, v, edge(u, v, weight(g, slot), *args)):
            altered = True
            if equal:
                return True
    return altered


@inner
def pull_range(back, also_back, begin, end, out, stamp, step, number, equal, queue, at, *args):
    """Pull over ``back`` for the vertices ``begin`` to ``end`` that the search has not reached: stamps below ``step``.

    Those that it reaches now, in step ``number``, are written to ``queue[at:]``; returns the index behind the last
    one.
    """
    for v in range(begin, end):
        if stamp[v] >= step:
            continue
        altered = pull_row(back, np.uint32(v), False, step + number, equal, out, stamp, *args)
        if both and not (altered and equal):
            altered = pull_row(also_back, np.uint32(v), True, step + number, equal, out, stamp, *args) or altered
        if altered:
            queue[at] = v
            at += 1
    return at


@inner
def let_join_range(begin, end, stamp, joined, refused, number, queue, *args):
    """Call ``then`` for the vertices ``queue[begin:end]``; stamp them ``joined`` where it is true, else ``refused``.

    Moves those that joined to the front of the range; returns the index behind the last of them.
    """
    at = begin
    for i in range(begin, end):
        v = queue[i]
        if then(v, number, *args):
            stamp[v] = joined
            queue[at] = v
            at += 1
        else:
            stamp[v] = refused
    return at
