"""Offers along the edges of one vertex and of a list of vertices; shared by the CPU templates of pushes.

``g`` is the data of a view; ``h`` is a second one, used only over both directions. ``out`` has the values that offers
change in place. Each vertex whose value changes gets ``stamp[v] = step`` and is appended to ``queue``, unless it has
that stamp already, so that it is queued once per step. ``queued`` is the length of the queue before a call, which
returns the new length. ``args`` go to the user's functions.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner
from suricate.cpu.queues import queue_once
from suricate.operators.cpu.bindings import ahead, both, edge, neighbors, store, then, weight


@inner
def append_layer(layers, ends, number, frontier, everything, count):
    """Append ``frontier[:count]`` (if ``everything``: ids below ``count``) as layer ``number``; return whether it fits.

    Layer ``i`` is ``layers[ends[i] : ends[i + 1]]``; ``layers`` is ``uint32[capacity]``. If the layer does not fit,
    nothing is written. If ``ends`` is empty, layers are not wanted: nothing is written, and True is returned.
    """
    if len(ends) == 0:
        return True
    at = ends[number]
    if at + count > len(layers):
        return False
    for i in range(count):
        layers[at + i] = np.uint32(i) if everything else frontier[i]
    if count > 0:
        ends[number + 1] = at + count
    return True


AHEAD = 8  #: vertices ahead of the current one whose edges are prefetched


@inner
def push_row(g, u, without_loop, out, stamp, step, queue, queued, *args):
    """Offer along the edges of ``u`` in the view ``g``; return the new length of the queue."""
    for v, slot in neighbors(g, u):
        if without_loop and v == u:
            continue
        if store(out, v, edge(u, v, weight(g, slot), *args)):
            queued = queue_once(v, stamp, step, queue, queued)
    return queued


@inner
def push_list(g, h, num_vertices, frontier, everything, count, out, stamp, step, queue, queued, *args):
    """Offer along the edges of ``frontier[:count]`` (if ``everything``: of all ids below ``count``).

    Args:
        g, h, num_vertices: the data of two views, ``h`` for both directions only, and the number of vertices; ids that
            are not below it are ignored.
        frontier, everything, count: the vertices, see above.
        out: values, changed in place.
        stamp, step: each vertex whose value changes gets ``stamp[v] = step``.
        queue, queued: ``v`` is appended to ``queue``, whose length is ``queued`` before, unless it had this stamp.

    Returns:
        The new length of the queue.
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
    """Call ``then(v, number)`` for each vertex of ``queue[:queued]``, and remove those for which it is false.

    The remaining ones move to the front of ``queue``, in their order; returns how many these are. ``number`` is the
    number of the step.
    """
    kept = 0
    for i in range(queued):
        v = queue[i]
        if then(v, number, *args):
            queue[kept] = v
            kept += 1
    return kept
