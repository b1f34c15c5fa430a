"""Offers along the edges of a vertex, of a list of vertices, and along given arcs; shared by CPU templates of pushes.

A vertex that an offer alters is queued once per step: ``stamp[v]`` holds the number of the step that queued it last, so
that nothing has to be cleared between steps. Over both directions ``g`` and ``h`` are two views, else one.

The vertices are the first ``count`` of ``frontier``; if ``everything`` is set, they are those below ``count``. ``out``
has the values that offers change, ``queue`` the ``queued`` altered vertices; ``args`` go to the user's functions.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner
from suricate.cpu.queues import queue_once
from suricate.operators.cpu.bindings import ahead, both, edge, neighbors, store, then, weight

AHEAD = 8  #: vertices ahead of the current one whose edges are prefetched


@inner
def push_row(g, u, without_loop, out, stamp, step, queue, queued, *args):
    """Offer along the edges of ``u`` in the view ``g``; return the length of the queue.

    Values in ``out`` change in place. Vertices whose value changes get the stamp ``step`` and are appended to
    ``queue``, unless they had it; ``queued`` is the length of the queue before. With ``without_loop`` the loop of ``u``
    is left out.
    """
    for v, slot in neighbors(g, u):
        if without_loop and v == u:
            continue
        if store(out, v, edge(u, v, weight(g, slot), *args)):
            queued = queue_once(v, stamp, step, queue, queued)
    return queued


@inner
def push_list(g, h, num_vertices, frontier, everything, count, out, stamp, step, queue, queued, *args):
    """Offer along the edges of the first ``count`` vertices of ``frontier``; return the length of the queue.

    Args:
        g, h, num_vertices: the data of two views, and the number of vertices; other ids are ignored.
        frontier, everything, count: the ids; all vertices below ``count`` if ``everything``.
        out: values, changed in place.
        stamp, step: vertices whose value changes get the stamp ``step``.
        queue, queued: those that did not have it are appended to ``queue``; its length before.
    """
    for i in range(count):
        if not everything and i + AHEAD < count and frontier[i + AHEAD] < num_vertices:
            ahead(g, frontier[i + AHEAD])
        u = np.uint32(i) if everything else frontier[i]
        if u < num_vertices:
            queued = push_row(g, u, False, out, stamp, step, queue, queued, *args)
            if both:
                queued = push_row(h, u, True, out, stamp, step, queue, queued, *args)
    return queued


@inner
def second_phase_of(queue, queued, number, *args):
    """Keep the vertices of ``queue[:queued]`` for which ``then`` is true in step ``number``; return their number.

    They are moved to the front of ``queue``, in their order.
    """
    kept = 0
    for i in range(queued):
        v = queue[i]
        if then(v, number, *args):
            queue[kept] = v
            kept += 1
    return kept
