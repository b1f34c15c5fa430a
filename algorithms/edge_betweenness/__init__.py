"""Betweenness of edges: the share of shortest paths that use an edge. Computed from scratch after a change.

Brandes, *On variants of shortest-path betweenness centrality and their generic computation* (2008): the searches are
those of ``betweenness``; an edge ``u -> v`` of a shortest path gets ``paths[u] / paths[v] * (1 + credit[v])``. With
``k`` sources the result is an estimate, scaled as NetworkX scales it. On the CPU searches without weights are plain
loops over a copy of the rows, several at a time (``searches_cpu.py``); else operators search, and each edge adds to its
own entry. A source from which a number of paths overflows is repeated with factors and powers of 2.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate import hookimpl
from suricate.algorithms.betweenness import searched
from suricate.algorithms.shared.live import deleted_among
from suricate.algorithms.shared.matrices import adjacency
from suricate.algorithms.shared.sources import Sample, search_bytes
from suricate.algorithms.shared.weighted_paths import credits, demand_weights
from suricate.base.effects import atomic
from suricate.base.html import result_html
from suricate.base.parameters import flag
from suricate.base.types import EdgeList, edge_keys
from suricate.cpu import threads
from suricate.graph.row_copies import copied_rows
from suricate.operators import arcs, edge_map
from suricate.plugins.algorithm import Algorithm

if TYPE_CHECKING:
    from suricate.base.devices import Array, ReturnedArray
    from suricate.graph import Graph


class EdgeBetweennessResult(NamedTuple):
    """The betweenness of every edge; undirected ones are there once, with ``src <= dst``.

    Attributes:
        src: uint32[m], ascending.
        dst: uint32[m], ascending for each ``src``.
        betweenness: float64[m].
    """

    src: ReturnedArray
    dst: ReturnedArray
    betweenness: ReturnedArray

    def _repr_html_(self) -> str:
        return result_html(self)


def share(i, u, v, w, far, part, power, credit, total, source, weighted, both):
    """Add the share of the paths from ``source`` that use edge ``i`` from ``u`` to ``v`` to ``total[i]``.

    ``far`` are steps or distances from the source, ``part[v] * 2 ** power[v]`` numbers of shortest paths. ``both``: the
    paths may also go from ``v`` to ``u``. Nothing is added if ``credit[source]`` is NaN, as a number overflowed.
    """
    step = float(w) if weighted else 1.0
    if credit[source] == credit[source]:
        if far[v] == far[u] + step and far[v] > far[u]:
            atomic.add(total, i, part[u] / part[v] * math.exp2(power[u] - power[v]) * (1 + credit[v]))
        elif both and far[u] == far[v] + step and far[u] > far[v]:
            atomic.add(total, i, part[v] / part[u] * math.exp2(power[v] - power[u]) * (1 + credit[u]))


class EdgeBetweenness(Algorithm):
    """Betweenness of all edges; parameters and scaling are NetworkX's.

    Args:
        k: number of sources to sample, at least 1; None, or as many as there are live vertices: exact.
        normalized: divide by the number of pairs.
        seed: of the sample; NetworkX draws the same sample with it.
        sources: ids of the sample, in place of ``k`` and ``seed``.
        weighted: shortest paths are those by weight; then all weights must be above 0.
        kernels: False: by operators only, without the loops of this algorithm.

    Raises:
        ParameterError: a parameter is of the wrong type or out of range, or both ``k`` and ``sources`` are given.
        RequirementError: ``weighted`` on a graph without weights.
        WeightError: ``weighted``, and a weight is 0 or negative; with a tracker also when such a weight is inserted.
        DTypeError, ShapeError, VertexRangeError: ``sources`` are not ids of live vertices. If one is deleted later,
            reading a tracker's result raises until the vertex is live again.

    Example:
        >>> g = su.Graph.from_coo([0, 1], [1, 2], directed=False, device="cpu")
        >>> g.compute("edge_betweenness", normalized=False).betweenness.tolist()
        [2.0, 2.0]
    """

    name = "edge_betweenness"
    scale_free = True
    uses_weights = False

    def __init__(
        self,
        k: int | None = None,
        normalized: bool = True,
        seed: int = 0,
        sources: Any = None,
        weighted: bool = False,
        kernels: bool = True,
    ) -> None:
        self.sample = Sample("edge_betweenness", k, seed, sources)
        self.normalized = flag("edge_betweenness: normalized", normalized)
        self.weighted = flag("edge_betweenness: weighted", weighted)
        self.kernels = flag("edge_betweenness: kernels", kernels)
        self._found: Any = None
        self._visited = 0  # arcs that searches followed

    def compute(self, graph: Graph) -> None:
        """Search from every source, and add up the shares of all searches."""
        if self.weighted:
            demand_weights(graph, "edge_betweenness", positive=True)
        xp, sources = graph.device.xp, self.sample.of(graph)
        edges = graph.edges()
        order = xp.argsort(edge_keys(edges.src, edges.dst))
        edges = edges.each(lambda part: part[order])
        total, left = xp.zeros(len(order)), sources
        if self.kernels and not self.weighted and not graph.device.is_cuda:
            left = self._by_loops(graph, edges, sources, total)
        with copied_rows(graph):
            self._by_operators(graph, edges, left, total)
        total *= _scale(graph.num_live, len(sources), graph.directed, self.normalized)
        self._found = EdgeBetweennessResult(edges.src, edges.dst, total)

    def _by_loops(self, graph: Graph, edges: EdgeList, sources: list[int], total: np.ndarray) -> list[int]:
        """Add up the shares of ``sources`` in ``total``, one entry per edge; return those that overflow."""
        from suricate.algorithms.edge_betweenness.searches_cpu import add_shares

        src, dst, _ = arcs(graph)
        offsets = np.zeros(graph.num_vertices + 1, np.int64)
        np.cumsum(np.bincount(src, minlength=graph.num_vertices), out=offsets[1:])
        given, failed = np.array(sources, np.int64), np.zeros(len(sources), bool)
        number = min(threads.limit(), threads.parts(len(sources) * (len(src) + 1)), max(len(sources), 1))
        shares = np.zeros((number, len(src)))
        parts = zip(shares, threads.ranges(len(sources), number), strict=True)
        threads.run(add_shares, [(offsets, dst, given, failed, one, _scratch(graph), *part) for one, part in parts])
        ends = (src, dst) if graph.directed else (np.minimum(src, dst), np.maximum(src, dst))
        at = np.searchsorted(edge_keys(edges.src, edges.dst), edge_keys(*ends))
        total += np.bincount(at, shares.sum(axis=0), len(total))
        return given[failed].tolist()

    def _by_operators(self, graph: Graph, edges: EdgeList, sources: list[int], total: Array) -> None:
        xp, n, both = graph.device.xp, graph.num_vertices, not graph.directed
        failed = xp.zeros(len(sources), bool)
        again: Any = range(len(sources))
        for overflows in (False, True):
            for at in again:
                source = sources[at]
                search = credits if self.weighted else searched
                far, credit, (part, power) = search(graph, source, overflows=overflows)
                power = xp.zeros(n) if power is None else power
                args = (far, part, power, credit, total, source, self.weighted, both)
                edge_map(graph, edges, share, args=args)
                failed[at] = xp.isnan(credit[source])
            again = xp.flatnonzero(failed).tolist() if not overflows else ()

    @property
    def result(self) -> EdgeBetweennessResult:
        """The betweenness of every edge, in new arrays."""
        return EdgeBetweennessResult(*(part.copy() for part in self._found))

    # -- verification and benchmark ------------------------------------------------------------------------------------

    @classmethod
    def reference(
        cls,
        src: np.ndarray,
        dst: np.ndarray,
        weight: np.ndarray | None,
        num_vertices: int,
        directed: bool,
        *,
        live: np.ndarray | None = None,
        **params: Any,
    ) -> EdgeBetweennessResult:
        """Return the result by SciPy's Dijkstra, and sums over the arcs between vertices of consecutive distances."""
        from scipy.sparse import csgraph

        asked = cls(**params)
        step = weight.astype(np.float64) if asked.weighted and weight is not None else np.ones(len(src))
        matrix, total = adjacency(src, dst, step, num_vertices), np.zeros(len(src))
        sources = asked.sample.drawn(num_vertices, live)
        for source in sources:
            far = csgraph.dijkstra(matrix, indices=source)
            tight = np.flatnonzero(np.isfinite(far[src]) & (far[src] + step == far[dst]) & (far[dst] > far[src]))
            layers = np.split(tight[np.argsort(far[src[tight]], kind="stable")], _steps(far[src[tight]]))
            paths, credit = np.zeros(num_vertices, object), np.zeros(num_vertices)
            paths[source] = 1
            for some in layers:
                np.add.at(paths, dst[some], paths[src[some]])
            for some in reversed(layers):
                one = (paths[src[some]] / np.maximum(paths[dst[some]], 1)).astype(float) * (1 + credit[dst[some]])
                np.add.at(credit, src[some], one)
                total[some] += one
        ends = (src, dst) if directed else (np.minimum(src, dst), np.maximum(src, dst))
        keys, at = np.unique(edge_keys(*ends), return_inverse=True)
        num_live = num_vertices - deleted_among(live)
        sums = np.bincount(at, total, len(keys)) * _scale(num_live, len(sources), directed, asked.normalized)
        return EdgeBetweennessResult((keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32), sums)

    @classmethod
    def sample_params(cls, num_vertices: int, centre: int) -> dict[str, Any]:
        """Return parameters for the benchmark, for every graph the same: 16 sources."""
        return {"k": 16}

    def traffic(self, graph: Graph) -> int:
        """Return how many bytes all searches and shares move at least: of each source all arcs, twice."""
        searches = graph.num_live if self.sample.k is None else self.sample.k
        arcs_read = searches * graph.most_arcs
        return 2 * search_bytes(arcs_read, searches * graph.num_live) + 8 * graph.num_edges


def _scratch(graph: Graph) -> tuple[np.ndarray, ...]:
    n = graph.num_vertices
    return np.full(n, -1, np.int32), np.zeros(n), np.zeros(n), np.empty(n, np.uint32)


def _steps(far: np.ndarray) -> np.ndarray:
    """Return where the sorted values of ``far`` change."""
    return np.flatnonzero(np.diff(np.sort(far))) + 1


def _scale(num_live: int, sources: int, directed: bool, normalized: bool) -> float:
    """Return the factor by which NetworkX scales sums of shares over ``sources`` of ``num_live`` vertices."""
    if num_live < 2:
        return 1.0
    counted = max(sources, 1)
    return 1 / (counted * (num_live - 1)) if normalized else num_live / (counted * (1 if directed else 2))


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Return the algorithm of this package, :class:`EdgeBetweenness`, which registers it as a plugin."""
    return [EdgeBetweenness]
