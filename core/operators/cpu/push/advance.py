"""CPU template of ``advance``: the phases of one step, and the first step of a propagation from arcs or a union.

``queue`` is ``uint32[num_vertices]``, of which ``queued`` entries are in use. The edge function may read ``out`` while
it changes, and so see values of the same step.
"""

from __future__ import annotations

from suricate.cpu.jit import kernel
from suricate.cpu.queues import queue_once
from suricate.operators.cpu.bindings import arc_weight, edge, store
from suricate.operators.cpu.push.pushing import push_list, second_phase_of


@kernel
def push(g, h, num_vertices, frontier, everything, count, out, stamp, step, queue, queued, *args):
    """First phase of a step along the edges of ``frontier``: :func:`push_list` as a loop that Python calls."""
    return push_list(g, h, num_vertices, frontier, everything, count, out, stamp, step, queue, queued, *args)


@kernel
def push_arcs(num_vertices, src, dst, weights, status, wanted, size, out, stamp, step, queue, queued, *args):
    """First phase of a step: offer along the arcs ``src[i] -> dst[i]``, ``i < size``; return the queue's new length.

    An arc counts if ``status`` is empty or ``status[i] == wanted``, and if both ends are below ``num_vertices``; its
    weight is ``weights[i]``. Values in ``out`` change in place; each vertex whose value changes gets the stamp ``step``
    and is appended to ``queue`` once.
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
    """Call ``then(v, number)`` for each vertex of ``queue[:queued]``, and remove those for which it is false."""
    return second_phase_of(queue, queued, number, *args)
