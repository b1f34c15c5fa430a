"""Loops of operators on the CPU that depend on no graph and no function: sets of vertices."""

from __future__ import annotations

from suricate.cpu.jit import kernel


@kernel
def collect(num_vertices, ids, count, stamp, step, queue, queued):
    """Append the first ``count`` of ``ids`` to ``queue``, each vertex once; return the length of the queue.

    A vertex is in the queue if its stamp is ``step``; ids that are not below ``num_vertices`` are left out.
    """
    for i in range(count):
        v = ids[i]
        if v < num_vertices and stamp[v] != step:
            stamp[v] = step
            queue[queued] = v
            queued += 1
    return queued


@kernel
def collect_ends(num_vertices, src, dst, status, wanted, size, stamp, step, queue, queued):
    """Append both ends of the arcs to ``queue``, each vertex once; return the length of the queue."""
    for i in range(size):
        if len(status) and status[i] != wanted:
            continue
        for v in (src[i], dst[i]):
            if v < num_vertices and stamp[v] != step:
                stamp[v] = step
                queue[queued] = v
                queued += 1
    return queued


@kernel
def collect_below(num_vertices, count, stamp, step, queue, queued):
    """Append the vertices below ``count`` to ``queue``, each once; return the length of the queue."""
    for i in range(min(count, num_vertices)):
        if stamp[i] != step:
            stamp[i] = step
            queue[queued] = i
            queued += 1
    return queued
