"""Triangles of directed graphs on every backend and device: the conformance kit, NetworkX, LDBC's definition."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

import suricate as su
from suricate.algorithms.directed_triangles import DirectedTriangles
from suricate.errors import ParameterError, RequirementError
from suricate.generate import rmat
from suricate.testing import AlgorithmConformance


class TestDirectedTriangles(AlgorithmConformance):
    algorithm = DirectedTriangles
    reads_weights = False
    params = ({}, {"definition": "ldbc"})
    examples = 2
    num_vertices = 16
    cuda_marks = (pytest.mark.gpu,)

    def oracle(self, num_vertices: int, src: Any, dst: Any, weight: Any, live: Any, **params: Any) -> Any:
        """Plain sets: for every vertex, over ordered pairs of its neighbours."""
        arcs = {(u, v) for u, v in zip(src.tolist(), dst.tolist(), strict=True) if u != v}
        near: list[set[int]] = [set() for _ in range(num_vertices)]
        for u, v in arcs:
            near[u].add(v)
            near[v].add(u)
        count = [[((u, v) in arcs) + ((v, u) in arcs) for v in range(num_vertices)] for u in range(num_vertices)]
        triangles, clustering = np.zeros(num_vertices, np.int64), np.zeros(num_vertices)
        for v in range(num_vertices):
            pairs = [(a, b) for a in near[v] for b in near[v] if a < b]
            if params.get("definition") == "ldbc":
                triangles[v] = sum(count[a][b] for a, b in pairs)
                possible = 2 * len(pairs)
            else:
                triangles[v] = sum(count[v][a] * count[a][b] * count[v][b] for a, b in pairs)
                total = sum(count[v])
                possible = total * (total - 1) - 2 * count[v].count(2)
            clustering[v] = triangles[v] / max(possible, 1)
        return triangles, clustering


@pytest.mark.parametrize("seed", range(3))
def test_clustering_is_that_of_networkx(seed: int) -> None:
    graph = su.Graph(40, device="cpu")
    src, dst = np.random.default_rng(seed).integers(0, 40, (2, 300))
    graph.insert_edges(src, dst)
    tracker = graph.track("directed_triangles")
    for step in range(3):
        wanted = nx.clustering(graph.to_networkx())
        np.testing.assert_allclose(tracker.result.clustering, [wanted[v] for v in range(40)], rtol=1e-12)
        some = slice(90 * step, 90 * step + 50)
        graph.apply(su.Batch(delete=(src[some], dst[some]), insert=(dst[50:90], src[some][:40])))
    assert (tracker.updates.updated, tracker.updates.computed) == (3, 1)


@pytest.mark.compiled
@pytest.mark.parametrize("in_edges", [False, True])
@pytest.mark.parametrize("definition", ["networkx", "ldbc"])
def test_hubs_are_counted_by_several_threads(backend: str, definition: Any, in_edges: bool) -> None:
    src, dst, _ = rmat(12, 20)
    graph = su.Graph(1 << 12, backend=backend, device="cpu", threads=3, in_edges=in_edges, self_loops="allow")
    graph.insert_edges(src, dst)
    arcs = tuple(map(np.asarray, graph.edges()[:2]))
    expected = DirectedTriangles.reference(*arcs, None, 1 << 12, True, definition=definition)
    found = graph.compute("directed_triangles", definition=definition)
    np.testing.assert_array_equal(found.triangles, expected.triangles)
    np.testing.assert_allclose(found.clustering, expected.clustering, rtol=1e-12)


def test_a_graph_without_vertices_has_none() -> None:
    assert len(su.Graph(0, device="cpu").compute("directed_triangles").triangles) == 0


def test_without_directions_both_are_the_numbers_of_the_undirected_graph() -> None:
    src, dst = np.random.default_rng(8).integers(0, 30, (2, 150))
    graph, plain = su.Graph(30, device="cpu"), su.Graph(30, device="cpu", directed=False)
    for one, other in ((src, dst), (dst, src)):
        graph.insert_edges(one, other)
        plain.insert_edges(one, other)
    wanted = plain.compute("triangles")
    for definition, factor in (("networkx", 8), ("ldbc", 2)):
        found = graph.compute("directed_triangles", definition=definition)
        np.testing.assert_array_equal(found.triangles, factor * wanted.triangles)
        np.testing.assert_allclose(found.clustering, wanted.clustering, rtol=1e-12)


@pytest.mark.usefixtures("may_recompute")
def test_large_batches_are_computed_from_scratch() -> None:
    graph = su.Graph(50, device="cpu")
    tracker = graph.track("directed_triangles")
    graph.insert_edges(*np.random.default_rng(1).integers(0, 50, (2, 200)))
    assert tracker.recomputations == {"the batch is large for the graph": 1}


def test_what_is_refused() -> None:
    with pytest.raises(
        ParameterError, match="directed_triangles: definition must be 'networkx' or 'ldbc', got 'fagiolo'"
    ):
        su.Graph(3, device="cpu").compute("directed_triangles", definition="fagiolo")
    with pytest.raises(RequirementError, match="needs a directed graph"):
        su.Graph(3, device="cpu", directed=False).compute("directed_triangles")
