"""CPU template of ``converge`` with ``swap`` and sums: pulls over all vertices, all rounds in one loop on one thread.

Arrays that are swapped take each other's place in every other round. A scalar has the same two totals in all rounds:
that of the round before is copied to where functions read it.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import kernel
from suricate.operators.cpu.bindings import carry, ends, in_round, then
from suricate.operators.cpu.pull.pulling import asks_ahead, reduce_vertex


@kernel
def one_pass(g, h, num_vertices, values, counts, *args):
    """Reduce over the edges of every vertex, and call ``then`` with its value."""
    asks = asks_ahead(g, num_vertices, True, *args)
    for i in range(num_vertices):
        v = np.uint32(i)
        then(v, reduce_vertex(g, h, num_vertices, v, asks, values, counts, *args), *args)


@kernel
def passes(views, max_steps, bound, tables, *args):
    """Make rounds until the total that ends the loop is at most ``bound``, or NaN; return their number.

    Args:
        views: the data of the view to pull over and of a second one for both directions, and the number of vertices.
        max_steps: the largest number of rounds.
        bound: see above.
        tables: scratch arrays ``(values, counts)`` that no reduction uses here.
        args: the arguments of the functions, in the first round.
    """
    g, h, num_vertices = views
    values, counts = tables
    rounds = 0
    while rounds < max_steps:
        if rounds > 0:
            carry(0, *args)
        one_pass(g, h, num_vertices, values, counts, *in_round(rounds, *args))
        rounds += 1
        if ends(bound, *args):
            break
    return rounds
