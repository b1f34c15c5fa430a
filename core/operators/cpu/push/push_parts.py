"""CPU template of one step of a push, or of the first phase of a pull of a search, by several threads.

A part is a range of the frontier. Vertices that an offer alters get the stamp of the step; who does so does not matter,
since all write the same. Then parts are ranges of all vertices: those with the stamp are the queue, in ascending order.
``store`` exchanges values by compare-and-swap here.

Other parameters are those of ``pushing.py``.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import kernel
from suricate.operators.cpu.bindings import arc_weight, both, edge, store, then
from suricate.operators.cpu.measuring import edges_of, edges_of_rest, measure  # noqa: F401 - drivers call kernels there
from suricate.operators.cpu.push.pulling_once import let_join_range, pull_range
from suricate.operators.cpu.push.stamping import stamp_row


@kernel
def push(g, h, num_vertices, frontier, everything, begin, end, out, stamp, step, *args):
    """Offer along the edges of ``frontier[begin:end]``, or of the vertices ``begin`` to ``end`` if ``everything``.

    ``g`` and ``h`` are the data of two views. Values in ``out`` change in place; vertices that change get the stamp
    ``step``.
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

    Arcs with ``status[i] != wanted`` do not count, unless ``status`` is empty. Values in ``out`` change in place;
    vertices that change get the stamp ``step``.
    """
    for i in range(begin, end):
        u, v = src[i], dst[i]
        if u >= num_vertices or v >= num_vertices or (len(status) and status[i] != wanted):
            continue
        if store(out, v, edge(u, v, arc_weight(weights, i), *args)):
            stamp[v] = step


@kernel
def gather(begin, end, stamp, step, refused, number, queue, *args):
    """Write the vertices from ``begin`` to ``end`` (exclusive) with the stamp ``step`` to ``queue[begin:]``.

    A vertex that ``then`` keeps out of step ``number`` gets the stamp ``refused`` instead. Returns the index behind
    the last one written.
    """
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
    """Pull over ``back`` for the vertices from ``begin`` to ``end`` (exclusive) that the search has not reached.

    Vertices whose value in ``out`` changes are written to ``queue[begin:]``; returns the index behind the last one.
    ``stamp`` is only read, since other threads read it, too; ``propagate_once.py`` explains the stamps and ``equal``.
    """
    return pull_range(back, also_back, begin, end, out, stamp, step, number, equal, queue, begin, *args)


@kernel
def let_join(begin, end, stamp, step, refused, number, queue, *args):
    """Call ``then`` for ``queue[begin:end]`` in step ``number``; stamp those that join ``step``, others ``refused``.

    Those that join are moved to the front of the range; returns the index behind the last of them.
    """
    return let_join_range(begin, end, stamp, step, refused, number, queue, *args)


@kernel
def work_of(g, h, num_vertices, frontier, everything, count, enough):
    """Return the number of edges of the first ``count`` vertices of ``frontier``; counting stops above ``enough``.

    ``g`` and ``h`` are the data of two views; with ``everything`` the vertices are those below ``count``.
    """
    return edges_of(g, h, num_vertices, frontier, everything, count, enough)


@kernel
def work_of_rest(g, h, begin, end, stamp, step):
    """Return the number of edges of the vertices from ``begin`` to ``end`` that a search has not reached.

    Their stamps are below ``step``; ``g`` and ``h`` are the data of two views.
    """
    return edges_of_rest(g, h, begin, end, stamp, step)
