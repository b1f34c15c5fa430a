"""Queues of vertices in CPU loops: an array, the number of its entries in use, and a stamp per vertex.

A vertex is in a queue if its stamp is that of the current step, so nothing has to be cleared between steps.
"""

from __future__ import annotations

from suricate.cpu.jit import inner


@inner
def queue_once(v, stamp, step, queue, queued):
    """Append vertex ``v`` to ``queue``, whose first ``queued`` entries are in use, unless ``stamp[v] == step``.

    In that case it is in the queue already; otherwise ``stamp[v]`` is set to ``step``. Returns the new length of the
    queue.
    """
    if stamp[v] != step:
        stamp[v] = step
        queue[queued] = v
        queued += 1
    return queued
