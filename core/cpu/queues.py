"""Queues of vertices in CPU loops: an array, the number of its entries in use, and a stamp per vertex.

A vertex is in a queue if its stamp is that of the current step, so nothing has to be cleared between steps.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner, kernel
from suricate.cpu.vector import match8, trailing_zeros

ONE = np.uint64(1)


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


@inner
def gather_range(begin, end, stamp, now, queue, queued):
    """Append the vertices ``v`` in ``begin <= v < end`` with ``stamp[v] == now`` to ``queue``, ascending."""
    whole = begin + (end - begin & ~np.int64(7))
    for block in range(begin, whole, 8):
        mask = match8(stamp, block, now)
        while mask:
            queue[queued] = block + trailing_zeros(mask)
            queued += ONE
            mask &= mask - 1
    for v in range(whole, end):
        if stamp[v] == now:
            queue[queued] = v
            queued += ONE
    return queued


@kernel
def gather(begin, end, stamp, now, queue):
    """:func:`gather_range` to ``queue[begin:]``, as a loop that Python calls; return the end of the entries."""
    return np.int64(gather_range(begin, end, stamp, now, queue, np.uint64(begin)))
