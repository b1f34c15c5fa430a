"""CPU template of one round of ``converge`` by several threads; the parameters are those of ``converge.py``.

Parts are ranges of the active set; then of all vertices, of which those with the stamp of the round are active in the
next one, in ascending order.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner, kernel
from suricate.operators.cpu.bindings import commit, degree, neighbors, then
from suricate.operators.cpu.measuring import measure_blocks
from suricate.operators.cpu.pull.pulling import asks_ahead, reduce_vertex


@kernel
def measure(g, h, num_vertices, vertices, everything, count, block, work):
    """Write the work of each block of vertices: see ``measuring.py``."""
    measure_blocks(g, h, num_vertices, vertices, everything, count, block, work)


@inner
def stamp_neighbors(g, u, stamp, step):
    """Stamp the neighbours of ``u`` in one view."""
    for v, _ in neighbors(g, u):
        if stamp[v] != step:
            stamp[v] = step


@kernel
def compute(views, wakers, active, everything, first_place, last_place, stamp, step, tables, *args):
    """Compute ``active[first_place:last_place]``, stamp what is active next; return the edges to wake over."""
    g, h, num_vertices = views
    waking, also_waking, wakes = wakers
    values, counts = tables
    activated = np.int64(0)
    asks = asks_ahead(g, num_vertices, everything, *args)
    for i in range(first_place, last_place):
        v = np.uint32(i) if everything else active[i]
        if v >= num_vertices:
            continue
        says = np.int64(then(v, reduce_vertex(g, h, num_vertices, v, asks, values, counts, *args), *args))
        if says & 1:
            stamp[v] = step
        if says & 2 and wakes > 0:
            activated += np.int64(degree(waking, v))
            stamp_neighbors(waking, v, stamp, step)
            if wakes > 1:
                activated += np.int64(degree(also_waking, v))
                stamp_neighbors(also_waking, v, stamp, step)
    return activated


@kernel
def publish(num_vertices, active, everything, first_place, last_place, *args):
    """Run the third phase for ``active[first_place:last_place]``."""
    for i in range(first_place, last_place):
        v = np.uint32(i) if everything else active[i]
        if v < num_vertices:
            commit(v, *args)


@kernel
def gather(first_place, last_place, stamp, step, queue):
    """Write the vertices of a range that have the stamp to ``queue``, from its begin on; return where they end."""
    at = first_place
    for v in range(first_place, last_place):
        if stamp[v] == step:
            queue[at] = v
            at += 1
    return at
