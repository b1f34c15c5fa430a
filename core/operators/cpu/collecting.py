"""Loops that build queues of vertices for operators on the CPU; they depend on no backend and no user function.

``queue`` has ``queued`` entries in use when a loop begins. ``stamp[v] == step`` says that ``v`` is in the queue. Ids
that are not below ``num_vertices`` are ignored.
"""

from __future__ import annotations

from suricate.cpu.jit import kernel
from suricate.cpu.queues import queue_once


@kernel
def collect(num_vertices, ids, count, stamp, step, queue, queued):
    """Append to ``queue`` those of ``ids[:count]`` that it lacks, and stamp them ``step``; return its new length."""
    for i in range(count):
        if ids[i] < num_vertices:
            queued = queue_once(ids[i], stamp, step, queue, queued)
    return queued


@kernel
def collect_ends(num_vertices, src, dst, status, wanted, size, stamp, step, queue, queued):
    """Append to ``queue`` those ends of arcs that it lacks, and stamp them ``step``; return its new length.

    Arc ``i < size`` is ``src[i] -> dst[i]``; it counts if ``status`` is empty or ``status[i] == wanted``.
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
    """Append to ``queue`` those ids below ``count`` that it lacks, and stamp them ``step``; return its new length."""
    for i in range(min(count, num_vertices)):
        queued = queue_once(i, stamp, step, queue, queued)
    return queued
