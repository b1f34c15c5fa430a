"""Triangles after single edges, on the CPU: a template over a cursor with the step of ``suricate.replay``.

The triangles of an edge are those with the common neighbours of its ends, which are counted once each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suricate.kernels import common, inner, joins, neighbors
from suricate.plugins.step import DELETED, INSERTED


class State(NamedTuple):
    """What the step works on.

    Attributes:
        triangles, degrees: ``int64[n]``, the triangles and the neighbours of each vertex.
        totals: ``int64[2]``, the sums of ``triangles``, and of the pairs of neighbours.
        shared, marks: scratch, ``uint32[n]``: common neighbours; ``uint8[n]``, 0 between events.
    """

    triangles: np.ndarray
    degrees: np.ndarray
    totals: np.ndarray
    shared: np.ndarray
    marks: np.ndarray


@inner
def list_common(g, hub, u, shared, marks):
    """Write the common neighbours of ``hub`` and ``u``, which has fewer, to ``shared``; return their number.

    Where the cursor cannot look them up in less than a pass over ``hub``, they are marked.
    """
    if joins:
        return common(g, hub, u, shared)
    found = np.uint64(0)
    for x, _ in neighbors(g, u):
        marks[x] = 1
    for x, _ in neighbors(g, hub):
        shared[found] = x
        found += np.uint64(marks[x])
    for x, _ in neighbors(g, u):
        marks[x] = 0
    return found


@inner
def coefficient(triangles, degree):
    """Return the clustering coefficient of a vertex with ``triangles`` and ``degree`` neighbours."""
    return triangles / max(degree * (degree - 1) // 2, 1)


@inner
def step(graph, state, change, u, v, w, counts):
    """Count the triangles of an edge that was inserted or deleted; return (smaller degree of its ends, changed)."""
    if u == v or (change != INSERTED and change != DELETED):
        return 0, 0
    triangles, degrees, shared = state.triangles, state.degrees, state.shared
    by = 1 if change == INSERTED else -1
    hub, other = (u, v) if degrees[u] > degrees[v] else (v, u)
    found, total = list_common(graph.out, hub, other, shared, state.marks), 0
    for j in range(found):
        x = shared[j]
        if x != u and x != v:  # by a self-loop
            triangles[x] += by
            total += 1
    changed = total
    for end in (u, v):
        before = coefficient(triangles[end], degrees[end])
        state.totals[1] += degrees[end] if by > 0 else 1 - degrees[end]
        degrees[end] += by
        triangles[end] += by * total
        changed += total > 0 or before != coefficient(triangles[end], degrees[end])
    state.totals[0] += 3 * by * total
    return degrees[other], changed


@inner
def record(graph, state, at, recorded, i):
    """Write triangles and degrees of the vertices ``at``, and the totals, to row ``i`` of the arrays ``recorded``."""
    for j in range(len(at)):
        recorded[0][i, j] = state.triangles[at[j]]
        recorded[1][i, j] = state.degrees[at[j]]
    recorded[2][i, 0], recorded[2][i, 1] = state.totals[0], state.totals[1]
