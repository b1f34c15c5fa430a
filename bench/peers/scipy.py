"""SciPy: a CSR matrix, and the functions of ``scipy.sparse.csgraph`` on one thread."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from suricate.bench.peers import Answer, field

MODULE = "scipy"
CHUNK = 1 << 24  #: look-ups per product, which bounds its memory
ITERATIONS = 10_000  #: of ranks at most


def build(src: Any, dst: Any, weight: Any, num_vertices: int, directed: bool) -> sparse.csr_array:
    """Return the adjacency matrix, float32 with weights, else int8; both directions of undirected edges."""
    if not directed:
        twice = src != dst
        weight = None if weight is None else np.concatenate((weight, weight[twice]))
        src, dst = np.concatenate((src, dst[twice])), np.concatenate((dst, src[twice]))
    values = np.ones(len(src), np.int8) if weight is None else weight.astype(np.float32)
    at = src.astype(np.int32), dst.astype(np.int32)
    return sparse.coo_array((values, at), shape=(num_vertices, num_vertices)).tocsr()


def distinct(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return ``matrix``, built of edges that repeat, with each counted once."""
    matrix.data[:] = 1
    return matrix


def ranks(matrix: Any, *, alpha: float = 0.85, tol: float = 1e-6, **_: Any) -> np.ndarray:
    """Return PageRank by power iteration, until a step changes less than ``tol`` in the L1 norm."""
    n = matrix.shape[0]
    degree = np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel()
    dangling, shares = degree == 0, np.repeat(1 / np.maximum(degree, 1e-300), np.diff(matrix.indptr))
    push = sparse.csr_array((matrix.data * shares, matrix.indices, matrix.indptr), shape=matrix.shape).T
    rank = np.full(n, 1 / n)
    for _step in range(ITERATIONS):
        after = alpha * (push @ rank) + (alpha * rank[dangling].sum() + 1 - alpha) / n
        change, rank = float(np.abs(after - rank).sum()), after
        if change < tol:
            break
    return rank


def count(matrix: Any, **_: Any) -> int:
    """Return the number of triangles, by masked products of the arcs to vertices of higher degree."""
    src, dst = matrix.tocoo().coords
    degrees = np.bincount(src, minlength=matrix.shape[0])
    up = (degrees[src] < degrees[dst]) | ((degrees[src] == degrees[dst]) & (src < dst))
    upward = sparse.csr_array((np.ones(np.count_nonzero(up), np.int64), (src[up], dst[up])), shape=matrix.shape)
    steps = np.cumsum(upward @ np.diff(upward.indptr))
    parts = int(steps[-1]) // CHUNK + 1
    ends = [0, *np.searchsorted(steps, np.arange(1, parts) * CHUNK).tolist(), matrix.shape[0]]
    return sum(int((upward[a:b] @ upward).multiply(upward[a:b]).sum()) for a, b in pairwise(ends))


def _levels(found: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    order, before = found
    level = np.full(len(before), -1, np.int32)
    level[order[0]] = 0
    for vertex in order[1:].tolist():
        level[vertex] = level[before[vertex]] + 1
    return {"level": level}


def _components(kind: str) -> Answer:
    return Answer(
        lambda matrix, **_: csgraph.connected_components(matrix, directed=True, connection=kind),
        lambda found, params: {"label": found[1], "num_components": found[0]},
    )


def _product(matrix: Any, *, x: Any, over: str = "out", **_: Any) -> Any:
    return (matrix if over == "out" else matrix.T) @ x


ANSWERS = {
    "bfs": Answer(lambda matrix, *, source=0, **_: csgraph.breadth_first_order(matrix, source), _levels),
    "sssp": Answer(lambda matrix, *, source=0, **_: csgraph.dijkstra(matrix, indices=source), field("distance")),
    "pagerank": Answer(ranks, field()),
    "wcc": _components("weak"),
    "scc": _components("strong"),
    "triangles": Answer(count, field("total")),
    "msf": Answer(
        lambda matrix, **_: csgraph.minimum_spanning_tree(matrix),
        lambda found, params: {"total": found.sum(dtype=np.float64)},
    ),
    "spmv": Answer(_product, field()),
}
