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
    """First phase: offer along the edges of ``count`` vertices; return the length of the queue."""
    return push_list(g, h, num_vertices, frontier, everything, count, out, stamp, step, queue, queued, *args)


@kernel
def push_arcs(num_vertices, src, dst, weights, status, wanted, size, out, stamp, step, queue, queued, *args):
    """First phase: offer along the given arcs, those of the wanted status; return the length of the queue."""
    for i in range(size):
        u, v = src[i], dst[i]
        if u >= num_vertices or v >= num_vertices or (len(status) and status[i] != wanted):
            continue
        if store(out, v, edge(u, v, arc_weight(weights, i), *args)):
            queued = queue_once(v, stamp, step, queue, queued)
    return queued


@kernel
def second_phase(queue, queued, number, *args):
    """Keep the vertices of the queue for which ``then`` returns true in step ``number``; return how many there are."""
    return second_phase_of(queue, queued, number, *args)
