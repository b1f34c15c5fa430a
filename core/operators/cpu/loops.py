"""Loops of operators on the CPU that depend on no graph and no function: sets of vertices."""

from __future__ import annotations

from suricate.cpu.jit import kernel
from suricate.cpu.queues import queue_once


@kernel
def collect(num_vertices, ids, count, stamp, step, queue, queued):
    """Append the first ``count`` of ``ids`` to ``queue``, each vertex once; return the length of the queue.

    ``queued`` is the length before. ``stamp[v] == step`` says that ``v`` is in the queue, and is set; ids that are not
    below ``num_vertices`` are ignored.
    """
    for i in range(count):
        if ids[i] < num_vertices:
            queued = queue_once(ids[i], stamp, step, queue, queued)
    return queued


@kernel
def collect_ends(num_vertices, src, dst, status, wanted, size, stamp, step, queue, queued):
    """Append both ends of the first ``size`` arcs to ``queue``, each vertex once; return the length of the queue.

    Arc ``i`` is ``src[i] -> dst[i]``; it does not count if ``status[i] != wanted``, unless ``status`` is empty. Other
    parameters are those of :func:`collect`.
    """
    for i in range(size):
        if len(status) and status[i] != wanted:
            continue
        for v in (src[i], dst[i]):
            if v < num_vertices:
                queued = queue_once(v, stamp, step, queue, queued)
    return queued


@kernel
def collect_below(num_vertices, count, stamp, step, queue, queued):
    """Append the vertices below ``count`` to ``queue``, each once; return the length of the queue.

    Other parameters are those of :func:`collect`.
    """
    for i in range(min(count, num_vertices)):
        queued = queue_once(i, stamp, step, queue, queued)
    return queued
