"""CPU template of one step of a push or of a search, divided into parts for several threads.

In a push, a part offers along the edges of a range of the frontier, and stamps the vertices that it changes with the
number of the step; several threads may write the same stamp. Then each part collects the stamped vertices of a range of
ids, in ascending order. ``store`` writes values by compare-and-swap. Other parameters are those of ``pushing.py``.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner, kernel
from suricate.operators.cpu.bindings import arc_weight, both, edge, neighbors, store, then, weight
from suricate.operators.cpu.push.pulling_once import let_join_range, pull_range


@inner
def stamp_row(g, u, without_loop, out, stamp, step, *args):
    """Offer along the edges of ``u``, without its self-loop if set so; stamp the vertices whose values change."""
    for v, slot in neighbors(g, u):
        if without_loop and v == u:
            continue
        if store(out, v, edge(u, v, weight(g, slot), *args)):
            stamp[v] = step


@kernel
def push(g, h, num_vertices, frontier, everything, begin, end, out, stamp, step, *args):
    """Offer along the edges of ``frontier[begin:end]`` (if ``everything``: of the vertices ``begin`` to ``end``).

    ``g`` and ``h`` are the data of two views, ``h`` for both directions only; ids not below ``num_vertices`` are
    ignored. Values in ``out`` change in place; each vertex ``v`` whose value changes gets ``stamp[v] = step``.
    """
    for i in range(begin, end):
        u = np.uint32(i) if everything else frontier[i]
        if u < num_vertices:
            stamp_row(g, u, False, out, stamp, step, *args)
            if both:
                stamp_row(h, u, True, out, stamp, step, *args)


@kernel
def push_arcs(num_vertices, src, dst, weights, status, wanted, begin, end, out, stamp, step, *args):
    """Offer along the arcs ``src[i] -> dst[i]`` of weight ``weights[i]`` for ``begin <= i < end``.

    An arc counts if ``status`` is empty or ``status[i] == wanted``, and if both ends are below ``num_vertices``. Values
    in ``out`` change in place; vertices that change get the stamp ``step``.
    """
    for i in range(begin, end):
        u, v = src[i], dst[i]
        if u >= num_vertices or v >= num_vertices or (len(status) and status[i] != wanted):
            continue
        if store(out, v, edge(u, v, arc_weight(weights, i), *args)):
            stamp[v] = step


@kernel
def gather(begin, end, stamp, step, refused, number, queue, *args):
    """Queue the vertices of a range with the stamp for which ``then`` is true; others get ``refused``."""
    at = begin
    for v in range(begin, end):
        if stamp[v] == step:
            if then(np.uint32(v), number, *args):
                queue[at] = v
                at += 1
            else:
                stamp[v] = refused
    return at


@kernel
def pull(back, also_back, begin, end, out, stamp, step, number, equal, queue, *args):
    """:func:`pull_range`, which writes to ``queue[begin:]``, as a loop that Python calls."""
    return pull_range(back, also_back, begin, end, out, stamp, step, number, equal, queue, begin, *args)


@kernel
def let_join(begin, end, stamp, step, refused, number, queue, *args):
    """:func:`let_join_range`, as a loop that Python calls."""
    return let_join_range(begin, end, stamp, step, refused, number, queue, *args)
