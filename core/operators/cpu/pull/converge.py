"""CPU template of ``converge``: rounds of pulls over an active set, all in one loop or each by several threads.

A vertex is made active for the next round once: its stamp is then the number of that round.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner, kernel
from suricate.cpu.vector import match8, trailing_zeros
from suricate.operators.cpu.bindings import ahead, commit, degree, has_commit, neighbors, then
from suricate.operators.cpu.measuring import MANY, edges_of, largest_degree, measure  # noqa: F401 - drivers call kernels there
from suricate.operators.cpu.pull.pulling import asks_ahead, reduce_vertex

AHEAD = 16  #: places of the active set ahead at which edges are prefetched
ONE = np.uint64(1)
SCATTERED = 128  #: if more than 1 / SCATTERED of the vertices are active, they are taken in order
DENSE = 32  #: if more than 1 / DENSE are, it takes less time to look for stamps than to keep a queue


@inner
def queue_row(g, u, stamp, now, queue, queued):
    """Append the neighbours of ``u`` in the view ``g`` whose stamp is not ``now`` to ``queue``, and stamp them ``now``.

    ``queued`` is the length of the queue before; its length afterwards is returned. There is no branch on stamps.
    """
    for v, _ in neighbors(g, u):
        if queued == np.uint64(len(queue)):  # all vertices are in it
            return queued
        queue[queued] = v
        queued += np.uint64(stamp[v] != now)
        stamp[v] = now
    return queued


@inner
def stamp_row(g, u, shared, stamp, now):
    """Write ``now`` to ``stamp`` for each neighbour of ``u`` in the view ``g``.

    With ``shared`` only stamps that differ are written, so that threads that stamp the same vertices write little.
    """
    for v, _ in neighbors(g, u):
        if not shared or stamp[v] != now:
            stamp[v] = now


@inner
def gather_range(begin, end, stamp, now, queue, queued):
    """Append the vertices ``v`` of ``begin`` to ``end`` (exclusive) with ``stamp[v] == now`` to ``queue``, ascending.

    ``queued`` is the length of the queue before; its length afterwards is returned.
    """
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


@inner
def soon(active, i, count, num_vertices):
    """Return the vertex :data:`AHEAD` places after the ``i``-th of the ``count`` vertices in ``active``.

    It is at most ``num_vertices - 1``, and the last one of ``active`` if fewer places follow.
    """
    return np.uint64(min(active[np.uint64(min(i + AHEAD, count - 1))], num_vertices - 1))


@inner
def compute_range(views, wakers, vertices, begin, end, stamp, now, by, most, queue, tables, *args):
    """Compute the vertices from ``begin`` to ``end`` of the active set, and activate those of the next round.

    Args:
        views, wakers: the views to pull over, and over which vertices activate neighbours.
        vertices: the active set: ids, whether it is all vertices, and its size.
        stamp, now: by vertex: its stamp; the stamp that makes it active for the next round.
        by: whether vertices are activated by stamps alone, and whether several threads do so; else also by ``queue``.
        most: limit of the work, above which no vertex activates its neighbours.
        queue: written: the vertices of the next round.
        tables: scratch for modes and h-indices.

    Returns:
        The length of the queue, and the work: vertices, plus, if limited by ``most``, the edges to activate over.
    """
    g, h, num_vertices = views
    waking, also_waking, wakes = wakers
    active, everything, count = vertices
    values, counts = tables
    stamped, shared = by
    asks, limited = asks_ahead(g, num_vertices, everything, *args), most < MANY
    queued, work = np.uint64(0), np.int64(end - begin)
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
    """Call ``commit`` for the vertices at places ``begin`` to ``end`` (exclusive) of the active set.

    ``vertices`` holds ids, whether the set is all vertices, and its size.
    """
    active, everything, _ = vertices
    for i in range(begin, end):
        v = np.uint32(i) if everything else active[i]
        if v < num_vertices:
            commit(v, *args)


@kernel
def converge(views, wakers, vertices, stamp, step, max_steps, most, share, queue, buffer, tables, *args):
    """Compute rounds until the active set is empty, or until the work of a round exceeds ``most``.

    Args:
        views: the views to pull over.
        wakers: two views, and over how many of them vertices activate neighbours.
        vertices: the active set, ``Listed``.
        stamp, step: round ``i`` stamps with ``step + i``.
        most: limit of the vertices and of the edges over which they would activate others.
        share: a round with more edges is left to several threads, unless this is ``MANY``.
        queue, buffer: ``uint32[num_vertices]``; ``buffer`` may hold the active set.

    Returns:
        The numbers of rounds, of vertices computed and of vertices still active, and whether ``most`` was exceeded.
    """
    g, h, num_vertices = views
    active, everything, count = vertices
    rounds, touched, work = 0, 0, np.int64(0)
    while count > 0 and rounds < max_steps and work <= most:
        if share < MANY and edges_of(g, h, num_vertices, active, everything, count, share) > share:
            break
        dense, now = wakers[2] > 0 and count * DENSE > num_vertices, np.uint32(step + rounds)
        listed, by = (active, everything, count), (dense, False)
        queued, work = compute_range(views, wakers, listed, 0, count, stamp, now, by, most, queue, tables, *args)
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
    """Compute the vertices at places ``begin`` to ``end`` of the active set, one of several threads; return the work.

    Parameters are those of :func:`compute_range`. Vertices of the next round get the stamp ``now``; ``queue`` is
    unused.
    """
    by = True, True
    return compute_range(views, wakers, vertices, begin, end, stamp, now, by, most, queue, tables, *args)[1]


@kernel
def publish(num_vertices, vertices, begin, end, *args):
    """Call ``commit`` for places ``begin`` to ``end`` of the active set ``vertices``, as one of several threads."""
    publish_range(num_vertices, vertices, begin, end, *args)


@kernel
def gather(begin, end, stamp, now, queue):
    """Write the vertices ``begin`` to ``end`` (exclusive) with the stamp ``now`` to ``queue[begin:]``, ascending.

    Returns the index behind the last one.
    """
    return np.int64(gather_range(begin, end, stamp, now, queue, np.uint64(begin)))
