"""HITS, Katz and eigenvector centrality on every backend and device: the kit, NetworkX, warm starts, parameters."""

from __future__ import annotations

import math
from typing import Any

import networkx as nx
import numpy as np
import pytest

import suricate as su
from suricate.algorithms.eigenvector import Eigenvector
from suricate.algorithms.hits import HITS
from suricate.algorithms.katz import Katz
from suricate.errors import (
    ConvergenceError,
    ParameterError,
    RequirementError,
    ShapeError,
    VertexRangeError,
    WeightError,
)
from suricate.testing import AlgorithmConformance

MANY = {"max_iter": 20_000}
NAMES = ("hits", "katz", "eigenvector")


class TestHITS(AlgorithmConformance):
    algorithm = HITS
    params = (MANY, {**MANY, "normalized": False, "weighted": False})
    weights = (0, 1, 2)
    examples = 1
    cuda_marks = (pytest.mark.gpu,)


class TestKatz(AlgorithmConformance):
    algorithm = Katz
    params = ({"alpha": 0.01}, {"alpha": 0.01, "beta": {3: 1, 5: -2}, "normalized": False, "tol": 1e-10})
    weights = (0, 1, 2)
    examples = 1
    cuda_marks = (pytest.mark.gpu,)


class TestEigenvector(AlgorithmConformance):
    algorithm = Eigenvector
    params = (MANY, {**MANY, "weighted": False, "nstart": {0: 1, 4: 2}, "tol": 1e-5})
    weights = (0, 1, 2)
    examples = 1
    cuda_marks = (pytest.mark.gpu,)

    def judge(self, result: Any, graph: su.Graph, params: Any) -> None:
        if "nstart" not in params:  # which may not reach the largest component
            super().judge(result, graph, params)


def strongly_connected(seed: int, **options: Any) -> tuple[su.Graph, Any]:
    """A graph with a cycle through all vertices and random chords, and the same graph in NetworkX."""
    rng = np.random.default_rng(seed)
    graph = su.Graph(30, device="cpu", weight_dtype="float64", **options)
    graph.insert_edges(range(30), np.roll(range(30), 1), np.ones(30))
    graph.insert_edges(*rng.integers(0, 30, (2, 80)), rng.uniform(0.5, 2, 80))
    other = nx.DiGraph() if graph.directed else nx.Graph()
    other.add_nodes_from(range(30))
    other.add_weighted_edges_from(zip(*(part.tolist() for part in su.edges(graph)), strict=True))
    return graph, other


def values(of: dict[int, float]) -> np.ndarray:
    return np.array([of[v] for v in range(len(of))])


@pytest.mark.parametrize("options", [{}, {"in_edges": True}, {"directed": False}], ids=str)
@pytest.mark.parametrize("weighted", [None, False])
@pytest.mark.parametrize("seed", range(2))
def test_networkx_gives_the_same(seed: int, weighted: bool | None, options: dict[str, bool]) -> None:
    graph, other = strongly_connected(seed, **options)
    weight = "weight" if weighted is None else None
    eigen = nx.eigenvector_centrality(other, max_iter=5000, tol=1e-12, weight=weight)
    found = graph.compute("eigenvector", tol=1e-12, max_iter=5000, weighted=weighted)
    np.testing.assert_allclose(found, values(eigen), rtol=1e-6)
    for beta, normalized in ((1.0, True), (dict(enumerate(range(30))), False)):
        options = {"alpha": 0.03, "beta": beta, "normalized": normalized, "max_iter": 5000, "tol": 1e-12}
        katz = nx.katz_centrality(other, weight=weight, **options)
        np.testing.assert_allclose(graph.compute("katz", weighted=weighted, **options), values(katz), rtol=1e-8)
    if weighted is False:
        nx.set_edge_attributes(other, 1.0, "weight")
    for normalized in (True, False):
        hubs, authorities = map(values, nx.hits(other, max_iter=5000, tol=1e-12, normalized=normalized))
        sign = np.sign(authorities.sum())  # SciPy's singular vectors have any
        found = graph.compute("hits", tol=1e-12, max_iter=5000, weighted=weighted, normalized=normalized)
        np.testing.assert_allclose(found.hubs, sign * hubs, rtol=1e-6)
        np.testing.assert_allclose(found.authorities, sign * authorities, rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_a_warm_start_takes_fewer_steps(name: str) -> None:
    graph, _ = strongly_connected(3, in_edges=True)
    params = {"alpha": 0.03} if name == "katz" else {}
    tracker = graph.track(name, **params, tol=1e-10, max_iter=5000)
    cold = tracker.algorithm.iterations
    graph.insert_edges([3], [20], [1e-9])
    assert 0 < tracker.algorithm.iterations < cold


@pytest.mark.parametrize("name", ["hits", "eigenvector"])
def test_a_new_centre_is_found(device: su.devices.Device, backend: str, name: str) -> None:
    graph = su.Graph(20, backend=backend, device=str(device), directed=False)
    graph.insert_edges([0, 1, 2], [1, 2, 0])
    tracker = graph.track(name, max_iter=1000)
    clique = [(u, v) for u in range(10, 16) for v in range(10, u)]
    graph.insert_edges(*zip(*clique, strict=True))
    result = tracker.result.authorities if name == "hits" else tracker.result
    assert float(result[10:16].min()) > 0.1
    assert float(result[:3].max()) < 1e-3


def test_no_convergence_is_an_error_when_the_result_is_read(device: su.devices.Device, backend: str) -> None:
    graph = su.Graph(12, backend=backend, device=str(device), directed=False)
    tracker = graph.track("katz", alpha=0.2)
    clique = np.array([(u, v) for u in range(12) for v in range(u)]).T
    graph.insert_edges(*clique)
    with pytest.raises(ConvergenceError, match=r"katz: no convergence .* alpha must be below the reciprocal"):
        _ = tracker.result
    graph.delete_edges(*clique)  # the values had grown without bound
    np.testing.assert_allclose(device.to_numpy(tracker.result), 1 / math.sqrt(12), rtol=1e-6)
    path = su.Graph(9, backend=backend, device=str(device), directed=False)
    path.insert_edges(range(8), range(1, 9))
    for name in ("hits", "eigenvector"):
        with pytest.raises(ConvergenceError, match=f"{name}: no convergence to tol=1e-12 within 2 steps: raise"):
            path.compute(name, max_iter=2, tol=1e-12)


@pytest.mark.parametrize("options", [{}, {"in_edges": True}, {"directed": False}], ids=str)
@pytest.mark.parametrize(("dtype", "weight"), [("int32", -2), ("float32", -0.5), ("float64", 1e308)])
@pytest.mark.parametrize("name", ["hits", "eigenvector"])
def test_weights_that_make_scores_negative_or_infinite(
    device: su.devices.Device, name: str, dtype: str, weight: float, options: dict[str, Any]
) -> None:
    graph = su.Graph(6, device=str(device), weight_dtype=dtype, **options)
    graph.insert_edges([0, 1, 2], [1, 2, 0], [1, 1, 1])
    tracker = graph.track(name, max_iter=2000)
    right = graph.compute(name, max_iter=2000)
    with pytest.raises(WeightError, match=f"{name}: a score is negative or infinite: weights must not be negative"):
        graph.insert_edges([3, 4], [4, 5], [weight, weight])
    with pytest.raises(WeightError):
        _ = tracker.result
    with pytest.raises(WeightError):
        graph.compute(name)
    graph.compute(name, weighted=False, max_iter=2000)
    graph.delete_edges([3, 4], [4, 5])
    for part, expected in zip(*(each if name == "hits" else (each,) for each in (tracker.result, right)), strict=True):
        np.testing.assert_allclose(device.to_numpy(part), device.to_numpy(expected), atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_no_vertices_and_no_edges(device: su.devices.Device, name: str) -> None:
    for n in (0, 3):
        result = su.Graph(n, device=str(device)).compute(name)
        for part in result if name == "hits" else (result,):
            expected = 0 if name == "hits" else 1 / math.sqrt(max(n, 1))
            np.testing.assert_allclose(device.to_numpy(part), np.full(n, expected))


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"max_iter": 0}, ParameterError, "max_iter must be at least 1"),
        ({"max_iter": 1.5}, ParameterError, "max_iter must be an integer"),
        ({"tol": 0}, ParameterError, r"tol must be in \(0, inf\)"),
        ({"tol": math.nan}, ParameterError, r"tol must be in \(0, inf\)"),
        ({"nstart": {1: -1}}, ParameterError, r"nstart\[1\] must be in \[0"),
        ({"nstart": [1, -1, 0]}, ParameterError, r"nstart\[1\] is -1.0: finite numbers of at least 0 only"),
        ({"nstart": [1, 2]}, ShapeError, "nstart has 2 entries, the graph 3 vertices"),
        ({"nstart": {7: 1}}, VertexRangeError, "vertex 7 is not in"),
        ({"weighted": 1}, ParameterError, "weighted must be True or False"),
        ({"weighted": True}, RequirementError, "weighted=True needs edge weights"),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", NAMES)
def test_impossible_parameters(name: str, params: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{name}: .*{message}" if message[0] != "^" else message):
        su.Graph(3, device="cpu").compute(name, **params)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"alpha": 0}, r"alpha must be in \(0, inf\)"),
        ({"alpha": "x"}, "alpha must be a number"),
        ({"beta": math.inf}, "beta must be in"),
        ({"beta": {1: None}}, r"beta\[1\] must be a number"),
        ({"normalized": 1}, "normalized must be True or False"),
    ],
    ids=str,
)
def test_impossible_parameters_of_katz(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=f"^katz: {message}"):
        su.Graph(3, device="cpu").compute("katz", **params)


def test_mismatches_are_noticed() -> None:
    graph, _ = strongly_connected(1)
    arcs = su.edges(graph)
    for kind, params in ((HITS, {}), (Katz, {"alpha": 0.03}), (Eigenvector, {})):
        right = graph.compute(kind, **params, max_iter=1000)
        reference = kind.reference(*arcs, 30, True, **params)
        assert kind.mismatch(right, reference, **params) is None
        parts = right if kind is HITS else (right,)
        for part in parts:
            before = part[3]
            part[3] += 1e-3
            wrong = HITS.mismatch(right, reference) if kind is HITS else kind.mismatch(right, reference, **params)
            assert wrong is not None
            part[3] = before
    reference = Eigenvector.reference(*arcs, 30, True)
    assert "grows by" in str(Eigenvector.mismatch(np.eye(30)[0], reference * 0 + _two_centres()))


def _two_centres() -> Any:
    """A matrix with a small component at vertex 0 and a heavier one elsewhere."""
    from scipy import sparse

    return sparse.csr_array(np.diag([1.0, *[5.0] * 29]))


def test_traffic_is_the_pulls_of_all_steps() -> None:
    graph, _ = strongly_connected(1)
    for kind, pulls in ((HITS, 2), (Katz, 1), (Eigenvector, 1)):
        algorithm = kind(max_iter=5)
        algorithm.compute(graph)
        assert algorithm.traffic(graph) == 5 * pulls * (graph.num_edges * 12 + 31 * 8 + 2 * 30 * 8)
