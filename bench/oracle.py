"""The oracle: what backends and algorithms must agree with, computed by other means, from the raw input.

Edges are a sorted NumPy array of 64-bit keys, searches are SciPy's, ranks are a push-style power iteration over a SciPy
sparse matrix. Nothing here uses a store, an operator or an algorithm of suricate.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from suricate.arrays import sorted_distinct
from suricate.bench import constants
from suricate.bench.runner import Mismatch


def expect(holds: Any, what: str) -> None:
    """Raise :class:`Mismatch` saying ``what`` is wrong unless ``holds``."""
    if not holds:
        raise Mismatch(what)


def keys_of(src: np.ndarray, dst: np.ndarray) -> np.ndarray:
    """Return ``src << 32 | dst`` as uint64."""
    return src.astype(np.uint64) << np.uint64(32) | dst.astype(np.uint64)


def ends_of(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sources and destinations (uint32) of edge keys."""
    return (keys >> np.uint64(32)).astype(np.uint32), (keys & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def _places(ascending: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return ``np.searchsorted(ascending, keys)``; ten times as fast for keys in random order, by asking in order."""
    order = np.argsort(keys)
    places = np.empty(len(keys), np.int64)
    places[order] = np.searchsorted(ascending, keys[order])
    return places


def among(keys: np.ndarray, ascending: np.ndarray) -> np.ndarray:
    """Return which of ``keys`` are in ``ascending``, bool[n]; many times as fast as ``np.isin``."""
    if not len(ascending):
        return np.zeros(len(keys), bool)
    return ascending[np.minimum(_places(ascending, keys), len(ascending) - 1)] == keys


class EdgeModel:
    """A set of edges: ascending uint64 ``keys``, and ``weight`` in the same order or None; the last weight wins."""

    def __init__(self, src: np.ndarray, dst: np.ndarray, weight: np.ndarray | None = None) -> None:
        keys = keys_of(src, dst)
        if weight is None:
            self.keys, self.weight = sorted_distinct(keys), None
        else:
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
            last = np.ones(len(keys), bool)
            np.not_equal(keys[1:], keys[:-1], out=last[:-1])
            self.keys, self.weight = keys[last], weight[order[last]]
        self._ranks: np.ndarray | None = None

    def exact_ranks(self, num_vertices: int) -> np.ndarray:
        """Return PageRank far beyond the algorithms' tolerance; computed once."""
        if self._ranks is None or len(self._ranks) != num_vertices:
            damping = constants.PAGERANK["damping"]
            self._ranks = pagerank(self.csr(num_vertices), damping, constants.PAGERANK_EXACT, 1000)
        return self._ranks

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def src(self) -> np.ndarray:
        """Sources, uint32."""
        return ends_of(self.keys)[0]

    @property
    def dst(self) -> np.ndarray:
        """Destinations, uint32."""
        return ends_of(self.keys)[1]

    def contains(self, keys: np.ndarray) -> np.ndarray:
        """Return which of ``keys`` are edges, bool[n]."""
        return among(keys, self.keys)

    def plus(self, keys: np.ndarray) -> np.ndarray:
        """Return the keys of the edges and of ``keys`` (ascending, distinct), ascending and distinct."""
        new = keys[~self.contains(keys)]
        return np.insert(self.keys, np.searchsorted(self.keys, new), new)

    def minus(self, keys: np.ndarray) -> np.ndarray:
        """Return the keys of the edges without ``keys`` (distinct), ascending."""
        return np.delete(self.keys, _places(self.keys, keys[self.contains(keys)]))

    def weights_of(self, keys: np.ndarray) -> np.ndarray:
        """Return the weights of ``keys``, all of which must be edges."""
        assert self.weight is not None
        return self.weight[_places(self.keys, keys)]

    def csr(self, num_vertices: int, dtype: Any = np.int8) -> sparse.csr_array:
        """Return the adjacency matrix, row = source; without weights all values are 1."""
        values = np.ones(len(self.keys), dtype) if self.weight is None else self.weight.astype(dtype)
        indptr = np.zeros(num_vertices + 1, np.int64)
        np.cumsum(np.bincount(self.src, minlength=num_vertices), out=indptr[1:])
        index = np.int32 if len(self.keys) < 2**31 else np.int64
        shape = (num_vertices, num_vertices)
        return sparse.csr_array((values, self.dst.astype(index), indptr.astype(index)), shape=shape)


def check_same_keys(found: np.ndarray, expected: np.ndarray, what: str) -> None:
    """Compare a set of edge keys, in any order, with the ``expected`` ones in ascending order."""
    expect(len(found) == len(expected), f"{what}: {len(found)} edges instead of {len(expected)}")
    expect(np.array_equal(np.sort(found), expected), f"{what}: the right number of edges, but other ones")


def check_content(graph: Any, model: EdgeModel) -> None:
    """Compare all edges (and weights) of a directed ``graph`` with the model."""
    host = graph.device.to_numpy
    edges = graph.edges()
    keys = keys_of(host(edges.src), host(edges.dst))
    check_same_keys(keys, model.keys, "content of the graph")
    expect(graph.num_edges == len(model), f"num_edges is {graph.num_edges} instead of {len(model)}")
    if model.weight is not None:
        expect(np.array_equal(host(edges.weight)[np.argsort(keys)], model.weight), "the weights of the graph differ")


# -- breadth-first search ----------------------------------------------------------------------------------------------


def levels(matrix: sparse.csr_array, source: int) -> np.ndarray:
    """Return the level of every vertex, -1 where unreached, by SciPy's breadth-first order (int64[n])."""
    order, parents = csgraph.breadth_first_order(matrix, source, directed=True, return_predecessors=True)
    position = np.empty(matrix.shape[0], np.int64)
    position[order] = np.arange(len(order))
    parent_at = position[parents[order[1:]]]  # ascending, since the search is breadth first
    result = np.full(matrix.shape[0], -1, np.int64)
    begin, end, level = 0, 1, 0
    while begin < end:
        result[order[begin:end]] = level
        begin, end, level = end, 1 + int(np.searchsorted(parent_at, end)), level + 1
    return result


def check_bfs(result: Any, model: EdgeModel, num_vertices: int, source: int, to_numpy: Any) -> None:
    """Verify levels (exactly) and parents: each is an in-neighbour of its child, one level above it."""
    level, parent = to_numpy(result.level), to_numpy(result.parent).astype(np.int64)
    expected = levels(model.csr(num_vertices), source)
    wrong = int(np.count_nonzero(level != expected))
    expect(wrong == 0, f"bfs: {wrong} of {num_vertices} levels differ from scipy.sparse.csgraph")
    expect(parent[source] == source, "bfs: the parent of the source is not the source")
    expect(bool(np.all(parent[expected < 0] == -1)), "bfs: an unreached vertex has a parent")
    child = np.flatnonzero(expected > 0)
    above = parent[child]
    expect(bool(np.all((above >= 0) & (above < num_vertices))), "bfs: a reached vertex has no parent")
    expect(bool(np.all(expected[above] == expected[child] - 1)), "bfs: a parent is not one level above its child")
    expect(bool(np.all(model.contains(keys_of(above, child)))), "bfs: a parent is not an in-neighbour of its child")


# -- PageRank ----------------------------------------------------------------------------------------------------------


def pagerank(matrix: sparse.csr_array, damping: float, tolerance: float, max_iterations: int) -> np.ndarray:
    """Return the ranks by power iteration in float64, pushing along the rows; dangling mass is spread evenly.

    Stops when the L1 norm of a step is below ``tolerance``. ``matrix`` has one entry per edge.
    """
    n = matrix.shape[0]
    degree = np.diff(matrix.indptr)
    push = sparse.csr_array(
        (np.repeat(1 / np.maximum(degree, 1), degree), matrix.indices, matrix.indptr), shape=matrix.shape
    ).T  # a CSC matrix: multiplying it by a vector scatters along the rows of the CSR one
    dangling, rank = degree == 0, np.full(n, 1 / n)
    for _ in range(max_iterations):
        after = damping * (push @ rank + rank[dangling].sum() / n) + (1 - damping) / n
        change, rank = np.abs(after - rank).sum(), after
        if change < tolerance:
            break
    return rank


def check_pagerank(result: Any, model: EdgeModel, num_vertices: int, to_numpy: Any) -> None:
    """Verify ranks: their L1 distance to the exact ones is within the algorithm's stated bound."""
    damping, tolerance = constants.PAGERANK["damping"], constants.PAGERANK["tolerance"]
    exact = model.exact_ranks(num_vertices)
    bound = tolerance * damping / (1 - damping) + 1e-12 * num_vertices**0.5
    distance = float(np.abs(to_numpy(result) - exact).sum())
    # written so that NaN fails
    expect(distance <= bound, f"pagerank: L1 distance {distance:.2e} to the exact ranks, the bound is {bound:.2e}")
