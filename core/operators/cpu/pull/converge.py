"""CPU template of ``converge``: rounds of pulls over an active set.

A vertex is made active for the next round once: its stamp is then the number of that round.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner, kernel
from suricate.cpu.vector import match8, trailing_zeros
from suricate.operators.cpu.bindings import ahead, commit, degree, has_commit, neighbors, then
from suricate.operators.cpu.measuring import MANY, edges_of, most_edges
from suricate.operators.cpu.pull.pulling import asks_ahead, reduce_vertex

AHEAD = 16  #: places of the active set ahead at which edges are prefetched
ONE = np.uint64(1)
SCATTERED = 128  #: if more than 1 / SCATTERED of the vertices are active, they are taken in order
DENSE = 32  #: if more than 1 / DENSE are, it takes less time to look for stamps than to keep a queue


@inner
def wake_row(g, u, stamp, step, queue, queued):
    """Append the neighbours of ``u`` in one view to the queue; return its length. Without a branch on stamps."""
    for v, _ in neighbors(g, u):
        if queued == np.uint64(len(queue)):  # all vertices are in it
            return queued
        queue[queued] = v
        queued += np.uint64(stamp[v] != step)
        stamp[v] = step
    return queued


@inner
def stamp_row(g, u, stamp, step):
    """Stamp the neighbours of ``u`` in one view."""
    for v, _ in neighbors(g, u):
        stamp[v] = step


@inner
def gather(num_vertices, stamp, step, queue):
    """Write the vertices that have this stamp to the queue, ascending; return its length."""
    queued, whole = np.uint64(0), num_vertices & ~np.int64(7)
    for block in range(0, whole, 8):
        mask = match8(stamp, block, step)
        while mask:
            queue[queued] = block + trailing_zeros(mask)
            queued += ONE
            mask &= mask - 1
    for v in range(whole, num_vertices):
        if stamp[v] == step:
            queue[queued] = v
            queued += ONE
    return queued


@inner
def soon(active, i, count, num_vertices):
    """Return a vertex that comes soon after the ``i``-th of the active set; of ids out of range the last vertex."""
    return np.uint64(min(active[np.uint64(min(i + AHEAD, count - 1))], num_vertices - 1))


@kernel
def largest_degree(g, h, num_vertices, vertices, everything, count):
    """Return the largest number of edges of ``count`` vertices: what the tables of modes and h-indices must hold."""
    return most_edges(g, h, num_vertices, vertices, everything, count)


@kernel
def converge(views, wakers, vertices, stamp, step, max_steps, most, share, queue, buffer, tables, *args):
    """Compute rounds until the active set is empty, or a round has more than ``most`` vertices and edges to wake over.

    Return the number of rounds, of vertices computed, of those active, and whether there was such a round.

    ``wakers`` are two views, and over how many of them vertices wake others; ``vertices``: the active set, ``Listed``.
    Round ``i`` stamps with ``step + i``. ``queue`` and ``buffer`` are ``uint32[num_vertices]``; ``buffer`` may hold the
    active set. A round with more than ``share`` edges is left to several threads, unless ``share`` is ``MANY``.
    """
    g, h, num_vertices = views
    waking, also_waking, wakes = wakers
    active, everything, count = vertices
    values, counts = tables
    rounds, touched, asks = 0, 0, asks_ahead(g, num_vertices, everything, *args)
    work, limited = np.int64(0), most < MANY
    while count > 0 and rounds < max_steps and work <= most:
        if share < MANY and edges_of(g, h, num_vertices, active, everything, count, share) > share:
            break
        dense = wakes > 0 and count * DENSE > num_vertices
        queued, now, work = np.uint64(0), np.uint32(step + rounds), np.int64(count)
        for i in range(count):
            v = np.uint32(i) if everything else active[i]
            if v >= num_vertices:
                continue
            if not everything:
                ahead(g, soon(active, i, count, num_vertices))
            says = np.int64(then(v, reduce_vertex(g, h, num_vertices, v, asks, values, counts, *args), *args))
            if says & 1 and stamp[v] != now:
                stamp[v] = now
                queue[queued] = v
                queued += ONE
            if says & 2 and wakes > 0:
                if limited:
                    work += np.int64(degree(waking, v)) + (np.int64(degree(also_waking, v)) if wakes > 1 else 0)
                if work > most:  # there is no other round
                    continue
                if dense:
                    stamp_row(waking, v, stamp, now)
                    if wakes > 1:
                        stamp_row(also_waking, v, stamp, now)
                else:
                    queued = wake_row(waking, v, stamp, now, queue, queued)
                    if wakes > 1:
                        queued = wake_row(also_waking, v, stamp, now, queue, queued)
        if has_commit:
            for i in range(count):
                v = np.uint32(i) if everything else active[i]
                if v < num_vertices:
                    commit(v, *args)
        if dense or np.int64(queued) * SCATTERED > num_vertices:
            queued = gather(num_vertices, stamp, now, queue)
        rounds += 1
        touched += count
        active, queue, buffer = queue, buffer, queue
        everything, count = False, np.int64(queued)
    return rounds, touched, count, work > most
