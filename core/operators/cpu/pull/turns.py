"""CPU template of ``converge`` with ``turn``: cycles of sub-rounds over an active set, all in one loop.

The active set of a cycle stays the same. In each sub-round the vertices that had no turn yet are asked; those whose
turn it is are computed and published, and activate others as in ``converge.py``, for the next cycle. A cycle ends with
the sub-round in which the last vertex had its turn.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner, kernel
from suricate.operators.cpu.bindings import has_commit, turn
from suricate.operators.cpu.measuring import MANY, edges_of
from suricate.operators.cpu.pull.converge import (  # noqa: F401
    DENSE,
    SCATTERED,
    compute,
    compute_range,
    gather_range,
    publish,
    publish_range,
)

#: entries of the state that stays between calls: whether a cycle has begun, how many vertices in it had no turn yet,
#: how many are queued for the next one, whether they are stamped only; cycles that have ended, and those of this call
IN_CYCLE, LEFT, QUEUED, STAMPED, CYCLES, ENDED = range(6)
STATE = 6


@inner
def divide(vertices, num_vertices, step, mine, rest, *args):
    """Write the vertices whose turn it is to ``mine``, the others to ``rest``; return the numbers of both.

    ``rest`` may be the array of ``vertices``. Ids that are not below ``num_vertices`` are left out.
    """
    active, everything, count = vertices
    taken, left = np.uint64(0), np.uint64(0)
    for i in range(count):
        v = np.uint32(i) if everything else active[i]
        if v >= num_vertices:
            continue
        now = np.uint64(bool(turn(v, step, *args)))
        mine[taken] = v
        rest[left] = v
        taken += now
        left += np.uint64(1) - now
    return np.int64(taken), np.int64(left)


@kernel
def turns(views, wakers, vertices, stamp, first, steps, most, share, lists, queues, state, tables, *args):
    """Make sub-rounds until the active set is empty, or until the work of one exceeds ``most``.

    Args:
        views, wakers, most, tables: as for ``converge``.
        vertices: the active set of the next cycle; in a cycle it is in ``lists`` and ``state``.
        stamp, first: cycle ``i`` uses the stamp ``first + i``.
        steps: the number of sub-rounds before, and the largest number of further ones.
        share: return before a sub-round of more edges, which several threads will compute; ``MANY``: no limit.
        lists: ``(mine, rest)``, ``uint32[num_vertices]`` each: those whose turn it is, those that still wait for it.
        queues: ``(queue, buffer)`` of the same size; ``buffer`` may hold the active set.
        state: see the module; all 0 at first.

    Returns:
        The numbers of sub-rounds, of vertices computed and of active vertices of the next cycle, how many vertices in
        ``mine`` several threads will compute (0: none), and whether ``most`` was exceeded. The next active set is in
        ``queue`` after an odd number of cycles in this call, in ``buffer`` after an even one above 0.
    """
    num_vertices = views[2]
    active, everything, count = vertices
    mine, rest = lists
    queue, buffer = queues
    before, limit = steps
    rounds, touched, work, due = 0, 0, np.int64(0), np.int64(0)
    state[ENDED] = 0
    while rounds < limit and work <= most and (count > 0 or state[IN_CYCLE]):
        now, step = np.uint32(first + state[CYCLES]), np.int64(before + rounds)
        if state[IN_CYCLE]:
            taken, left = divide((rest, False, state[LEFT]), num_vertices, step, mine, rest, *args)
        else:
            state[STAMPED] = wakers[2] > 0 and count * DENSE > num_vertices
            state[QUEUED], state[IN_CYCLE] = 0, 1
            taken, left = divide((active, everything, count), num_vertices, step, mine, rest, *args)
        state[LEFT] = left
        if share < MANY and edges_of(views[0], views[1], num_vertices, mine, False, taken, share) > share:
            due = taken
            break
        by, listed, queued = (bool(state[STAMPED]), False), (mine, False, taken), np.uint64(state[QUEUED])
        queued, work = compute_range(
            views, wakers, listed, 0, taken, stamp, now, by, most, queue, queued, tables, *args
        )
        if has_commit:
            publish_range(num_vertices, listed, 0, taken, *args)
        state[QUEUED] = queued
        rounds += 1
        touched += taken
        if left == 0:
            if state[STAMPED] or np.int64(queued) * SCATTERED > num_vertices:
                queued = gather_range(0, num_vertices, stamp, now, queue, np.uint64(0))
            active, queue, buffer = queue, buffer, queue
            everything, count = False, np.int64(queued)
            state[IN_CYCLE] = 0
            state[CYCLES] += 1
            state[ENDED] += 1
    return rounds, touched, count, due, work > most
