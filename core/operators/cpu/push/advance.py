"""CPU template of ``advance``: the two phases of one step, and the first step of a propagation from arcs or a union.

``queue`` is ``uint32[num_vertices]``, of which ``queued`` entries are in use. ``fn`` reads ``out`` while it changes: it
may see values of the same step.
"""

from __future__ import annotations

from suricate.cpu.jit import kernel
from suricate.cpu.queues import queue_once
from suricate.operators.cpu.bindings import arc_weight, edge, store
from suricate.operators.cpu.push.pushing import push_list, second_phase_of


@kernel
def push(g, h, num_vertices, frontier, everything, count, out, stamp, step, queue, queued, *args):
    """Offer along the edges of the first ``count`` vertices of ``frontier``, as the first phase of a step.

    Values in ``out`` change in place; each vertex whose value changed is stamped ``step`` and appended to ``queue``
    once.

    Args:
        g, h, num_vertices: the data of two views (``h`` only counts over both directions), and the number of vertices.
        frontier, everything, count: ids; all vertices below ``count`` if ``everything``.
        out: the array of values. stamp: by vertex: the step that queued it last.
        queued: the length of the queue before.

    Returns:
        The length of the queue.
    """
    return push_list(g, h, num_vertices, frontier, everything, count, out, stamp, step, queue, queued, *args)


@kernel
def push_arcs(num_vertices, src, dst, weights, status, wanted, size, out, stamp, step, queue, queued, *args):
    """Offer along the first ``size`` arcs ``src[i] -> dst[i]``, the first phase of a step; return the queue's length.

    Arcs with ``status[i] != wanted`` do not count, unless ``status`` is empty. ``weights`` are those of the arcs.
    Values in ``out`` change in place; each vertex whose value changed is stamped ``step`` and appended to ``queue``,
    which held ``queued`` vertices before.
    """
    for i in range(size):
        u, v = src[i], dst[i]
        if u >= num_vertices or v >= num_vertices or (len(status) and status[i] != wanted):
            continue
        if store(out, v, edge(u, v, arc_weight(weights, i), *args)):
            queued = queue_once(v, stamp, step, queue, queued)
    return queued


@kernel
def second_phase(queue, queued, number, *args):
    """Keep the vertices of ``queue[:queued]`` for which ``then`` is true in step ``number``; return their number.

    They are moved to the front of ``queue``, in their order.
    """
    return second_phase_of(queue, queued, number, *args)
