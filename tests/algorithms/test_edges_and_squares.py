"""Edge betweenness, truss numbers, square and weighted clustering on every backend and device, against NetworkX."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

import suricate as su
from suricate.algorithms.edge_betweenness import EdgeBetweenness, EdgeBetweennessResult
from suricate.algorithms.ktruss import KTruss, KTrussResult
from suricate.algorithms.square_clustering import SquareClustering
from suricate.algorithms.triangles import Triangles, TrianglesResult
from suricate.errors import ParameterError, RequirementError
from suricate.plugins.algorithm import Requirements
from suricate.testing import AlgorithmConformance

BOTH = {"kernels": (True, False)}


def of_networkx(n: int, src: Any, dst: Any, weight: Any = None, *, directed: bool = False) -> Any:
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_nodes_from(range(n))
    weights = [1.0] * len(src) if weight is None else weight.tolist()
    graph.add_weighted_edges_from(zip(src.tolist(), dst.tolist(), weights, strict=True))
    return graph


def by_edge(found: dict[tuple[int, int], float], kind: Any, dtype: Any, *, directed: bool) -> Any:
    turned = {edge if directed else (min(edge), max(edge)): value for edge, value in found.items()}
    src, dst = np.array(sorted(turned), np.uint32).reshape(-1, 2).T
    return kind(src, dst, np.array([turned[edge] for edge in sorted(turned)], dtype))


def trusses(graph: Any) -> KTrussResult:
    """The numbers of all edges, by NetworkX's ``k_truss`` for one ``k`` after the other."""
    graph = graph.copy()
    graph.remove_edges_from(nx.selfloop_edges(graph))
    found, k = dict.fromkeys(graph.edges, 2), 2
    while inside := list(nx.k_truss(graph, k).edges):
        found |= {(min(edge), max(edge)): k for edge in inside}
        k += 1
    return by_edge(
        {(min(edge), max(edge)): number for edge, number in found.items()}, KTrussResult, np.int32, directed=False
    )


class TestEdgeBetweenness(AlgorithmConformance):
    algorithm = EdgeBetweenness
    reads_weights = False
    params = ({}, {"normalized": False, "k": 7, "seed": 3}, {"sources": (9, 2)})
    methods = BOTH
    examples = 1
    num_vertices = 20
    cuda_marks = (pytest.mark.gpu,)


class TestKTruss(AlgorithmConformance):
    algorithm = KTruss
    reads_weights = False
    methods = BOTH
    examples = 2
    num_vertices = 12
    cuda_marks = (pytest.mark.gpu,)

    def oracle(
        self, num_vertices: int, src: np.ndarray, dst: np.ndarray, weight: Any, live: Any, **params: Any
    ) -> KTrussResult:
        return trusses(of_networkx(num_vertices, src, dst))


class TestSquareClustering(AlgorithmConformance):
    algorithm = SquareClustering
    reads_weights = False
    methods = BOTH
    examples = 2
    num_vertices = 16
    cuda_marks = (pytest.mark.gpu,)

    def oracle(
        self, num_vertices: int, src: np.ndarray, dst: np.ndarray, weight: Any, live: Any, **params: Any
    ) -> np.ndarray:
        found = nx.square_clustering(of_networkx(num_vertices, src, dst))
        return np.array([found[v] for v in range(num_vertices)], float)


class Weighted(Triangles):
    """Triangles of weighted graphs."""

    requires = Requirements(weighted=True, undirected=True)


class TestWeightedClustering(AlgorithmConformance):
    algorithm = Weighted
    params = ({"weighted": "geometric"}, {"weighted": "barrat"})
    examples = 1
    num_vertices = 16
    cuda_marks = (pytest.mark.gpu,)

    def oracle(
        self, num_vertices: int, src: np.ndarray, dst: np.ndarray, weight: Any, live: Any, **params: Any
    ) -> TrianglesResult:
        graph = of_networkx(num_vertices, src, dst, weight)
        plain = of_networkx(num_vertices, src, dst)
        found = nx.triangles(plain)
        clustering = barrat(graph) if params["weighted"] == "barrat" else nx.clustering(graph, weight="weight")
        numbers, shares = ([of[v] for v in range(num_vertices)] for of in (found, clustering))
        return TrianglesResult(
            sum(numbers) // 3, np.array(numbers, np.int64), np.array(shares, float), nx.transitivity(plain)
        )


def barrat(graph: Any) -> dict[int, float]:
    """Barrat's coefficient by its definition: a sum over the ordered pairs of neighbours that are neighbours."""
    found = {}
    for v in graph:
        near = {u: graph[v][u]["weight"] for u in graph[v] if u != v}
        closed = [(j, k) for j in near for k in near if j != k and graph.has_edge(j, k)]
        possible = sum(near.values()) * (len(near) - 1)
        found[v] = sum((near[j] + near[k]) / 2 for j, k in closed) / possible if possible else 0.0
    return found


def made(directed: bool, weight_dtype: Any = None, n: int = 30, m: int = 90) -> tuple[su.Graph, Any]:
    rng = np.random.default_rng(3)
    src, dst = rng.integers(0, n, (2, m))
    weight = rng.integers(1, 5, m) / 2
    graph = su.Graph(n, device="cpu", directed=directed, weight_dtype=weight_dtype, in_edges=directed)
    graph.insert_edges(src, dst, None if weight_dtype is None else weight)
    arcs = [np.asarray(part) for part in su.arcs(graph) if part is not None]
    return graph, of_networkx(n, *arcs, directed=directed)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize(
    ("params", "same"),
    [
        ({}, {}), ({"normalized": False}, {"normalized": False}), ({"k": 8, "seed": 5}, {"k": 8, "seed": 5}),
        ({"weighted": True}, {"weight": "weight"}),
        ({"weighted": True, "k": 5, "normalized": False}, {"weight": "weight", "k": 5, "normalized": False, "seed": 0}),
    ],
)  # fmt: skip
def test_edge_betweenness_is_that_of_networkx(directed: bool, params: dict[str, Any], same: dict[str, Any]) -> None:
    graph, other = made(directed, "float64")
    wanted = by_edge(nx.edge_betweenness_centrality(other, **same), EdgeBetweennessResult, float, directed=directed)
    for kernels in (True, False):
        found = graph.compute("edge_betweenness", **params, kernels=kernels)
        for got, right in zip(found[:2], wanted[:2], strict=True):
            np.testing.assert_array_equal(got, right)
        np.testing.assert_allclose(found.betweenness, wanted.betweenness, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_of_paths_may_overflow(weighted: bool) -> None:
    """A chain of diamonds doubles the number of paths 1,100 times; the kit's graphs never overflow."""
    links = 1100
    first = 3 * np.arange(links)
    src = np.concatenate((first, first, first + 1, first + 2))
    dst = np.concatenate((first + 1, first + 2, first + 3, first + 3))
    n = 3 * links + 1
    graph = su.Graph(n, device="cpu", in_edges=True, weight_dtype="float64")
    graph.insert_edges(src, dst, np.ones(len(src)))
    found = graph.compute("edge_betweenness", sources=[0], normalized=False, weighted=weighted).betweenness
    scale, ends = n / 1, np.repeat(n - 1 - np.arange(links) * 3.0, 4)  # vertices behind each diamond's first
    np.testing.assert_array_equal(np.isfinite(found), True)
    order = np.lexsort((dst, src))
    into = np.where(src % 3 == 0, 1 + (ends.reshape(links, 4).T.ravel() - 3) / 2 + 0.5, 0)
    out = np.where(src % 3 == 0, 0, (ends.reshape(links, 4).T.ravel() - 2) / 2)
    np.testing.assert_allclose(found, scale * (into + out)[order], rtol=1e-9)


def test_truss_numbers_follow_deletions_without_a_computation() -> None:
    graph, _ = made(directed=False, n=40, m=320)
    tracker, rng = graph.track("ktruss"), np.random.default_rng(0)
    first = tracker.result
    assert first.truss.max() > 3
    for k in range(2, 6):
        edges = set(zip(*(ends.tolist() for ends in first.k_truss(k)[:2]), strict=True))
        assert edges == {
            edge for edge, number in zip(zip(*first[:2], strict=True), first.truss, strict=True) if number >= k
        }
    for _ in range(6):
        edges = graph.edges()
        gone = rng.choice(len(edges.src), 2, replace=False)
        graph.delete_edges(edges.src[gone], edges.dst[gone])
        arcs = [np.asarray(part) for part in su.arcs(graph)[:2]]
        for got, right in zip(tracker.result, trusses(of_networkx(40, *arcs)), strict=True):
            np.testing.assert_array_equal(got, right)
    assert tracker.updates.updated >= 4  # others examine more than an eighth of the edges
    graph.insert_edges([0], [1])
    assert set(tracker.recomputations) <= {"truss numbers rise", "the batch is large for the graph"}


def test_what_does_not_fit() -> None:
    graph, _ = made(directed=False)
    with pytest.raises(RequirementError, match="weighted needs weights"):
        graph.compute("triangles", weighted="barrat")
    with pytest.raises(ParameterError, match="leave per_vertex"):
        Triangles(per_vertex=False, weighted="barrat")
    with pytest.raises(ParameterError, match="k must be"):
        graph.compute("ktruss").k_truss(2.5)  # type: ignore[arg-type]
