"""CPU template of ``converge``: rounds of pulls over an active set, all in one loop or each by several threads.

A vertex ``v`` is made active for the next round by ``stamp[v] = now``, where ``now`` is the stamp of this round, so
that it is queued only once. ``vertices`` is the active set: an array of ids, whether it is all vertices, and its size.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner, kernel
from suricate.cpu.queues import gather_range
from suricate.operators.cpu.bindings import ahead, commit, degree, has_commit, neighbors, then
from suricate.operators.cpu.measuring import MANY, edges_of
from suricate.operators.cpu.pull.pulling import asks_ahead, reduce_vertex

AHEAD = 16  #: places of the active set ahead at which edges are prefetched
ONE = np.uint64(1)
SCATTERED = 128  #: if more than 1 / SCATTERED of the vertices are active, they are taken in order
DENSE = 32  #: if more than 1 / DENSE are, it takes less time to look for stamps than to keep a queue


@inner
def queue_row(g, u, stamp, now, queue, queued):
    """Stamp the neighbours of ``u`` and append those that had another stamp, without branches; return the length."""
    for v, _ in neighbors(g, u):
        if queued == np.uint64(len(queue)):  # all vertices are in it
            return queued
        queue[queued] = v
        queued += np.uint64(stamp[v] != now)
        stamp[v] = now
    return queued


@inner
def stamp_row(g, u, shared, stamp, now):
    """Stamp the neighbours of ``u``; if ``shared``, only where that differs, so that fewer cache lines change."""
    for v, _ in neighbors(g, u):
        if not shared or stamp[v] != now:
            stamp[v] = now


@inner
def soon(active, i, count, num_vertices):
    """Return the vertex to prefetch: the one ``AHEAD`` positions behind ``i``, or the last one, as a valid id."""
    return np.uint64(min(active[np.uint64(min(i + AHEAD, count - 1))], num_vertices - 1))


@inner
def compute_range(views, wakers, vertices, begin, end, stamp, now, by, most, queue, queued, tables, *args):
    """Compute the vertices at positions ``begin`` to ``end`` (exclusive) of the active set, and activate others.

    Args:
        views: the data of the view to pull over and of a second one for both directions, and the number of vertices.
        wakers: two views, and over how many of them (0 to 2) a vertex activates its neighbours.
        vertices: the active set, see the module.
        stamp, now: stamps by vertex; the stamp that makes a vertex active in the next round.
        by: ``(stamped, shared)``: whether vertices are activated by stamps alone, not also by ``queue``; whether
            several threads do so.
        most: limit of the work; once it is exceeded, no vertex activates its neighbours.
        queue, queued: the vertices of the next round are written to it from place ``queued`` on, unless ``stamped``.
        tables: scratch ``(values, counts)`` for reductions that take all values at once.

    Returns:
        The length of the queue, and the work: the number of vertices plus, if there is a limit ``most``, of the edges
        over which they activate neighbours.
    """
    g, h, num_vertices = views
    waking, also_waking, wakes = wakers
    active, everything, count = vertices
    values, counts = tables
    stamped, shared = by
    asks, limited = asks_ahead(g, num_vertices, everything, *args), most < MANY
    work = np.int64(end - begin)
    for i in range(begin, end):
        v = np.uint32(i) if everything else active[i]
        if v >= num_vertices:
            continue
        if not everything:
            ahead(g, soon(active, i, count, num_vertices))
        says = np.int64(then(v, reduce_vertex(g, h, num_vertices, v, asks, values, counts, *args), *args))
        if says & 1 and (stamped or stamp[v] != now):
            stamp[v] = now
            if not stamped:
                queue[queued] = v
                queued += ONE
        if says & 2 and wakes > 0:
            if limited:
                work += np.int64(degree(waking, v)) + (np.int64(degree(also_waking, v)) if wakes > 1 else 0)
            if work > most:  # there is no other round
                continue
            if stamped:
                stamp_row(waking, v, shared, stamp, now)
                if wakes > 1:
                    stamp_row(also_waking, v, shared, stamp, now)
            else:
                queued = queue_row(waking, v, stamp, now, queue, queued)
                if wakes > 1:
                    queued = queue_row(also_waking, v, stamp, now, queue, queued)
    return queued, work


@inner
def publish_range(num_vertices, vertices, begin, end, *args):
    """Call ``commit`` for the vertices at positions ``begin`` to ``end`` (exclusive) of the active set ``vertices``."""
    active, everything, _ = vertices
    for i in range(begin, end):
        v = np.uint32(i) if everything else active[i]
        if v < num_vertices:
            commit(v, *args)


@kernel
def converge(views, wakers, vertices, stamp, step, max_steps, most, share, queue, buffer, tables, *args):
    """Compute rounds until the active set is empty, or until the work of a round exceeds ``most``.

    Args:
        views, wakers, tables: as for :func:`compute_range`.
        vertices: the active set, see the module.
        stamp, step: round ``i`` uses the stamp ``step + i``.
        max_steps: the largest number of rounds.
        most: limit of the work of a round: its vertices plus the edges over which they would activate others.
        share: return before a round with more edges, which several threads will compute; ``MANY``: no limit.
        queue, buffer: ``uint32[num_vertices]``; ``buffer`` may hold the active set.

    Returns:
        The numbers of rounds, of vertices computed and of vertices still active, and whether ``most`` was exceeded. The
        active set is in ``queue`` after an odd number of rounds, in ``buffer`` after an even number above 0.
    """
    g, h, num_vertices = views
    active, everything, count = vertices
    rounds, touched, work = 0, 0, np.int64(0)
    while count > 0 and rounds < max_steps and work <= most:
        if share < MANY and edges_of(g, h, num_vertices, active, everything, count, share) > share:
            break
        dense, now = wakers[2] > 0 and count * DENSE > num_vertices, np.uint32(step + rounds)
        listed, by = (active, everything, count), (dense, False)
        queued, work = compute_range(
            views, wakers, listed, 0, count, stamp, now, by, most, queue, np.uint64(0), tables, *args
        )
        if has_commit:
            publish_range(num_vertices, listed, 0, count, *args)
        if dense or np.int64(queued) * SCATTERED > num_vertices:
            queued = gather_range(0, num_vertices, stamp, now, queue, np.uint64(0))
        rounds += 1
        touched += count
        active, queue, buffer = queue, buffer, queue
        everything, count = False, np.int64(queued)
    return rounds, touched, count, work > most


# A round by several threads: parts are ranges of the active set; then of all vertices, of which those with the stamp of
# the round are active in the next one, in ascending order.


@kernel
def compute(views, wakers, vertices, begin, end, stamp, now, most, queue, tables, *args):
    """Compute the active vertices at positions ``begin`` to ``end - 1``, as one of several threads; return the work."""
    by, none = (True, True), np.uint64(0)
    return compute_range(views, wakers, vertices, begin, end, stamp, now, by, most, queue, none, tables, *args)[1]


@kernel
def publish(num_vertices, vertices, begin, end, *args):
    """Call ``commit`` for the active vertices at positions ``begin`` to ``end - 1``, as one of several threads."""
    publish_range(num_vertices, vertices, begin, end, *args)
