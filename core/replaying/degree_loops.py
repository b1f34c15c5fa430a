"""CPU template: the step of a replay of out-degrees, which needs no state; see ``suricate.plugins.step``."""

from __future__ import annotations

from suricate.cpu.jit import inner
from suricate.cursors.bindings import degree
from suricate.plugins.step import DELETED, INSERTED


@inner
def step(graph, state, change, u, v, w, counts):
    """Return ``(0, k)`` if the edge from ``u`` to ``v`` was inserted or deleted, which changes ``k`` degrees.

    For another ``change`` return ``(0, 0)``. ``state``, ``w`` and ``counts`` are not used.
    """
    if change != INSERTED and change != DELETED:
        return 0, 0
    return 0, 2 if graph.undirected and u != v else 1


@inner
def record(graph, state, at, recorded, i):
    """Write the out-degrees of the vertices ``at`` to row ``i`` of ``recorded[0]``; ``state`` is not used."""
    for j in range(len(at)):
        recorded[0][i, j] = degree(graph.out, at[j])
