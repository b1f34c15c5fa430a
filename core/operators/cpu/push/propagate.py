"""CPU template of ``propagate`` where steps need no phases: vertices may see values of the same step."""

from __future__ import annotations

from suricate.cpu.jit import kernel
from suricate.operators.cpu.measuring import MANY, edges_of
from suricate.operators.cpu.push.pushing import push_list


@kernel
def propagate(
    g, h, num_vertices, frontier, everything, count, out, stamp, step, number, max_steps, share, queue, spare, *args
):
    """Push until nothing changes; return the number of the last step, of vertices that pushed, of those left.

    Step ``i``, of which the first is ``number + 1``, stamps with ``step + i``. ``queue`` and ``spare`` are
    ``uint32[num_vertices]``; the frontier is perhaps in ``spare``. A step with more than ``share`` edges is left to
    several threads, unless that is ``MANY``.
    """
    touched = 0
    while count > 0 and number < max_steps:
        if share < MANY and edges_of(g, h, num_vertices, frontier, everything, count, share) > share:
            break
        number += 1
        touched += count
        count = push_list(g, h, num_vertices, frontier, everything, count, out, stamp, step + number, queue, 0, *args)
        frontier, queue, spare = queue, spare, queue
        everything = False
    return number, touched, count
