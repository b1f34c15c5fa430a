"""Pull steps, shared by the CPU templates of searches: unreached vertices take offers from their neighbours.

``back`` and ``also_back`` are the data of the views of the reverse direction, the second for ``over="both"`` only.
``out`` has the values, ``stamp`` the stamp of each vertex; ``args`` go to the user's functions.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner
from suricate.operators.cpu.bindings import both, edge, neighbors, store, then, weight


@inner
def pull_row(g, v, without_loop, joined, equal, out, stamp, *args):
    """Apply the offers of neighbours ``u`` of ``v`` with ``stamp[u] == joined`` to ``out[v]``.

    Returns whether ``out[v]`` has changed. The neighbours are those of ``v`` in the view ``g``. If ``equal`` is set,
    the first offer that changes the value ends the loop; if ``without_loop``, the self-loop of ``v`` is left out.
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
    """Pull for each vertex from ``begin`` to ``end`` (exclusive) whose stamp is below ``step``: it was not reached yet.

    This is step ``number``. Offers come from the vertices that joined in the one before, which have the stamp ``step +
    number``; if ``equal`` is set, one offer is enough. Vertices whose value in ``out`` changes are written to
    ``queue[at:]``; returns the index after the last one. Stamps are not changed.
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
    """Call ``then(v, number)`` for each vertex of ``queue[begin:end]``; those for which it is true join the frontier.

    These get the stamp ``joined`` and move to the front of the range, the others get the stamp ``refused``. ``number``
    is the number of the step. Returns the index after the last vertex that joined.
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
