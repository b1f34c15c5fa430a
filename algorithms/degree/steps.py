"""The step of degrees, on the CPU; see ``suricate.plugins.step``. ``state`` is a ``State`` of the package."""

from __future__ import annotations

from suricate.cpu.jit import inner
from suricate.plugins.step import DELETED, INSERTED


@inner
def step(graph, state, change, u, v, w, counts):
    """Count an edge that was inserted or deleted; return ``(0, number of vertices whose degree changed)``."""
    if change != INSERTED and change != DELETED:
        return 0, 0
    by = 1 if change == INSERTED else -1
    if graph.undirected and u != v:
        state.degree[u] += by
        state.degree[v] += by
        return 0, 2
    state.degree[u if state.of_source else v] += by
    return 0, 1


@inner
def record(graph, state, at, recorded, i):
    """Write the degrees of the vertices ``at`` to row ``i`` of ``recorded[0]``."""
    for j in range(len(at)):
        recorded[0][i, j] = state.degree[at[j]]
