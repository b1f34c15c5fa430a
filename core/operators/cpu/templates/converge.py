"""CPU template of ``converge``: rounds of pulls over an active set.

A vertex is made active for the next round once: its stamp is then the number of that round.
"""

from __future__ import annotations

import numpy as np

from suricate.jit import inner, kernel
from suricate.operators.cpu.templates.bindings import (
    begin,
    buckets,
    commit,
    end,
    first,
    following,
    has_commit,
    key,
    then,
)
from suricate.operators.cpu.templates.measuring import MANY, edges_of
from suricate.operators.cpu.templates.pulling import most_edges, reduce_vertex
from suricate.types import TOMBSTONE

SCATTERED = 128  #: of so many vertices one is active, and it is worth while to take them in order


@inner
def wake_row(g, u, stamp, step, queue, queued):
    """Append the neighbours of ``u`` in one view to the queue; return its length. Without a branch on stamps."""
    for k in range(buckets(g, u)):
        c = first(g, u, k)
        while c >= 0:
            for slot in range(begin(g, c), end(g, c)):
                v = key(g, slot)
                if v < TOMBSTONE:
                    if queued == len(queue):  # everybody is in it
                        return queued
                    queue[queued] = v
                    queued += stamp[v] != step
                    stamp[v] = step
            c = following(g, c)
    return queued


@inner
def put_in_order(num_vertices, stamp, step, queue):
    """Write the vertices that have this stamp to the queue, ascending."""
    queued = 0
    for v in range(num_vertices):
        if queued == len(queue):
            break
        queue[queued] = v
        queued += stamp[v] == step


@kernel
def largest_degree(g, h, num_vertices, vertices, everything, count):
    """Return the largest number of edges of ``count`` vertices: what the tables of modes must hold."""
    return most_edges(g, h, num_vertices, vertices, everything, count)


@kernel
def converge(
    g, h, waking, also_waking, wakes, num_vertices, active, everything, count, stamp, step, max_steps, share, queue,
    spare, values, counts, *args,
):  # fmt: skip
    """Compute rounds until the active set is empty; return their number, of vertices computed, of those active.

    Vertices wake others over so many (``wakes``) of the views ``waking`` and ``also_waking``. Round ``i`` stamps with
    ``step + i``. ``queue`` and ``spare`` are ``uint32[num_vertices]``; the active set is perhaps in ``spare``. A round
    with more than ``share`` edges is left to several threads, unless that is ``MANY``.
    """
    rounds, touched = 0, 0
    while count > 0 and rounds < max_steps:
        if share < MANY and edges_of(g, h, num_vertices, active, everything, count, share) > share:
            break
        queued = 0
        for i in range(count):
            v = np.uint32(i) if everything else active[i]
            if v >= num_vertices:
                continue
            says = np.int64(then(v, reduce_vertex(g, h, num_vertices, v, values, counts, *args), *args))
            if says & 1 and stamp[v] != step + rounds:
                stamp[v] = step + rounds
                queue[queued] = v
                queued += 1
            if says & 2 and wakes > 0:
                queued = wake_row(waking, v, stamp, step + rounds, queue, queued)
                if wakes > 1:
                    queued = wake_row(also_waking, v, stamp, step + rounds, queue, queued)
        if has_commit:
            for i in range(count):
                v = np.uint32(i) if everything else active[i]
                if v < num_vertices:
                    commit(v, *args)
        if queued * SCATTERED > num_vertices:  # many enough that a pass takes less than their reads in any order
            put_in_order(num_vertices, stamp, step + rounds, queue)
        rounds += 1
        touched += count
        active, queue, spare = queue, spare, queue
        everything, count = False, queued
    return rounds, touched, count
