"""CPU template: the step of an algorithm of a third party, which counts the neighbours with larger ids."""

from __future__ import annotations

from suricate.kernels import degree, inner
from suricate.plugins.step import DELETED, INSERTED


@inner
def step(graph, state, change, u, v, w, counts):
    """Follow an edge; some vertices refuse."""
    by = 1 if change == INSERTED else -1 if change == DELETED else 0
    if u == v or by == 0 or (u > v and not graph.undirected):
        return 1, 0
    low = min(u, v)
    if state.refused[low]:
        return -1, 0
    state.count[low] += by
    return degree(graph.out, low), 1


@inner
def record(graph, state, at, recorded, i):
    """Write the counts."""
    for j in range(len(at)):
        recorded[0][i, j] = state.count[at[j]]
