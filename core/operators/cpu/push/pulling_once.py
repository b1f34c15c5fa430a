"""Pull steps, shared by the CPU templates of searches: the vertices of a range take offers of their neighbours.

``back`` and ``also_back`` are the views of the reverse direction; other parameters are those of ``pushing.py``.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner
from suricate.operators.cpu.bindings import both, edge, neighbors, store, then, weight


@inner
def pull_row(g, v, without_loop, joined, equal, out, stamp, *args):
    """Apply the offers of neighbours with the stamp ``joined`` to ``out[v]``, in place; return whether it changed.

    ``g`` is the view that has the neighbours. With ``equal`` the first offer that changes the value ends the loop; with
    ``without_loop`` the loop of ``v`` is left out.
    """
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
    """Pull over ``back`` for the vertices ``begin`` to ``end`` (exclusive) that the search has not reached.

    Their stamps are below ``step``. Offers come from vertices that joined in the step before: stamps ``step + number``.
    Vertices whose value in ``out`` changes are written to ``queue[at:]``; returns the index behind the last one. Stamps
    are only read.
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
    """Call ``then`` for the vertices ``queue[begin:end]`` in step ``number``; those for which it is true join.

    They get the stamp ``joined`` and are moved to the front of the range; the others get ``refused``. Returns the index
    behind the last vertex that joined.
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
