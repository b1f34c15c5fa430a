"""Closeness and betweenness on every backend and device: the conformance kit, NetworkX, samples, parameters."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from turns import few

import suricate as su
from suricate.algorithms.betweenness import Betweenness
from suricate.algorithms.closeness import Closeness
from suricate.errors import ParameterError
from suricate.testing import AlgorithmConformance

OPTIONS = ({}, {"in_edges": True}, {"directed": False})


class TestCloseness(AlgorithmConformance):
    algorithm = Closeness
    reads_weights = False
    params = ({}, {"wf_improved": False, "k": 7, "seed": 3}, {"sources": [2, 9, 2]})
    examples = 1
    num_vertices = 20
    cuda_marks = (pytest.mark.gpu,)


class TestBetweenness(AlgorithmConformance):
    algorithm = Betweenness
    reads_weights = False
    params = ({}, {"normalized": False, "endpoints": True, "k": 7, "seed": 3}, {"k": 1}, {"sources": (9, 2)})
    examples = 1
    num_vertices = 20
    cuda_marks = (pytest.mark.gpu,)


FAMILIES = {
    "path": [(i, i + 1) for i in range(11)],
    "grid": [(4 * i + j, 4 * i + j + 1) for i in range(3) for j in range(3)]
    + [(4 * i + j, 4 * i + j + 4) for i in range(2) for j in range(4)],
    "star": [(0, i) for i in range(1, 12)],
    "complete": [(i, j) for i in range(12) for j in range(12) if i != j],
    "pieces": [(0, 1), (1, 2), (2, 0), (5, 6), (7, 7), (8, 9), (9, 8)],
    "random": [(i * i % 12, (i * 7 + 3) % 12) for i in range(40)],
}


def pair(edges: list[tuple[int, int]], options: dict[str, bool]) -> tuple[su.Graph, Any]:
    """The graph with these edges, and the same graph in NetworkX."""
    graph = su.Graph(12, device="cpu", **options)
    graph.insert_edges(*zip(*edges, strict=True))
    other = nx.DiGraph() if graph.directed else nx.Graph()
    other.add_nodes_from(range(12))
    other.add_edges_from(edges)
    return graph, other


def values(of: dict[int, float]) -> np.ndarray:
    return np.array([of[v] for v in range(len(of))])


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("family", FAMILIES)
def test_networkx_gives_the_same(family: str, options: dict[str, bool]) -> None:
    graph, other = pair(FAMILIES[family], options)
    for wf_improved in (True, False):
        wanted = values(nx.closeness_centrality(other, wf_improved=wf_improved))
        np.testing.assert_allclose(graph.compute("closeness", wf_improved=wf_improved), wanted, rtol=1e-12)
    for normalized in (True, False):
        for endpoints in (True, False):
            for k, seed in ((None, 0), (12, 0), (5, 1), (2, 2), (1, 3)):
                chosen = {"normalized": normalized, "endpoints": endpoints, "k": k, "seed": seed}
                wanted = values(nx.betweenness_centrality(other, **chosen))
                np.testing.assert_allclose(graph.compute("betweenness", **chosen), wanted, rtol=1e-12, atol=1e-12)


def brandes(neighbours: list[list[int]], source: int) -> np.ndarray:
    """The credits of all vertices for the shortest paths from one, whose numbers are Python's integers."""
    level, paths, order = {source: 0}, {source: 1}, [source]
    for u in order:
        for v in neighbours[u]:
            if v not in level:
                level[v], paths[v] = level[u] + 1, 0
                order.append(v)
            if level[v] == level[u] + 1:
                paths[v] += paths[u]
    credit = np.zeros(len(neighbours))
    for u in reversed(order):
        credit[u] = sum(paths[u] / paths[v] * (1 + credit[v]) for v in neighbours[u] if level[v] == level[u] + 1)
    credit[source] = 0
    return credit


@pytest.mark.parametrize("options", few([{"directed": False}, {}]), ids=str)
def test_numbers_of_paths_beyond_the_range_of_floats(device: su.devices.Device, options: dict[str, bool]) -> None:
    size = 1100  # diamonds in a row: 2 ** size paths, beside one single path of the same length
    first, n = 3 * np.arange(size), 5 * size
    single = np.r_[0, np.arange(3 * size + 1, n), 3 * size]
    src = np.concatenate([first, first, first + 1, first + 2, single[:-1]])
    dst = np.concatenate([first + 1, first + 2, first + 3, first + 3, single[1:]])
    graph = su.Graph(n, device=str(device), **options)
    graph.insert_edges(src, dst)
    neighbours: list[list[int]] = [[] for _ in range(n)]
    for u, v in zip(src.tolist(), dst.tolist(), strict=True):
        neighbours[u].append(v)
        if not graph.directed:
            neighbours[v].append(u)
    sources = [0, n - 1]  # one is at an end
    kind = su.plugins.algorithm("betweenness")(k=len(sources), normalized=False, seed=11)
    kind.sample.drawn = lambda *_: sources
    kind.compute(graph)
    credits = [brandes(neighbours, source) for source in sources]
    right = np.sum(credits, 0)
    got = device.to_numpy(kind.result)
    others = np.setdiff1d(np.arange(n), sources)
    scale = (n - 1) / len(sources) / (1 if graph.directed else 2)
    np.testing.assert_allclose(got[others], right[others] * scale, rtol=1e-9)


@pytest.mark.parametrize("name", ["closeness", "betweenness"])
def test_few_vertices(device: su.devices.Device, backend: str, name: str) -> None:
    for n in range(4):
        graph = su.Graph(n, backend=backend, device=str(device))
        other = nx.empty_graph(n, create_using=nx.DiGraph)
        if n > 1:
            graph.insert_edges([0, n - 1], [1, 0])
            other.add_edges_from([(0, 1), (n - 1, 0)])
        wanted = values(getattr(nx, f"{name}_centrality")(other))
        np.testing.assert_allclose(device.to_numpy(graph.compute(name)), wanted)


@pytest.mark.compiled
def test_sampled_closeness_is_near(device: su.devices.Device) -> None:
    rng = np.random.default_rng(2)
    graph = su.Graph(400, device=str(device), directed=False)
    graph.insert_edges(*rng.integers(0, 400, (2, 2400)))
    exact = device.to_numpy(graph.compute("closeness"))
    found = device.to_numpy(graph.compute("closeness", k=200, seed=5))
    reached = exact > 0
    assert np.abs(found[reached] / exact[reached] - 1).max() < 0.1
    assert not np.array_equal(found, device.to_numpy(graph.compute("closeness", k=200, seed=6)))


@pytest.mark.parametrize("name", ["closeness", "betweenness"])
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"k": 0}, "k must be at least 1"),
        ({"k": 1.5}, "k must be an integer"),
        ({"k": "all"}, "k must be an integer"),
        ({"seed": None}, "seed must be an integer"),
        ({"length": "x"}, "unexpected keyword argument 'length'"),
    ],
    ids=str,
)
def test_impossible_parameters(name: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=f"^{name}: .*{message}"):
        su.Graph(3, device="cpu").compute(name, **params)


def test_mismatches_are_noticed() -> None:
    graph, _ = pair(FAMILIES["random"], {})
    arcs = su.arcs(graph)
    for kind in (Closeness, Betweenness):
        for params in ({}, {"k": 1}):
            reference = kind.reference(*arcs, 12, True, **params)
            right = graph.compute(kind, **params)
            assert kind.mismatch(right, reference, **params) is None
            right[5] += 1e-3
            assert kind.mismatch(right, reference, **params) is not None
            assert kind.mismatch(right[:-1], reference, **params) is not None


def test_traffic_counts_what_is_reached() -> None:
    graph = su.Graph(5, device="cpu")
    graph.insert_edges([0, 0, 1, 4], [1, 2, 2, 0])
    visits, pushes = 3 + 2 + 1 + 1 + 4, 3 + 1 + 0 + 0 + 4  # from the vertices 0 to 4
    for kind in (Closeness, Betweenness):
        algorithm = kind()
        algorithm.compute(graph)
        one = pushes * 4 + visits * 16
        assert algorithm.traffic(graph) == (one if kind is Closeness else 2 * one + visits * 32)
