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
LOOSE = {**MANY, "tol": 1e-5}
NAMES = ("hits", "katz", "eigenvector")


class TestHITS(AlgorithmConformance):
    algorithm = HITS
    num_vertices = 20
    params = (LOOSE, {**MANY, "normalized": False, "weighted": False})
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
    num_vertices = 20
    params = (LOOSE, {**LOOSE, "weighted": False, "nstart": {0: 1, 4: 2}})
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
    other.add_weighted_edges_from(zip(*(part.tolist() for part in su.arcs(graph)), strict=True))
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
@pytest.mark.parametrize(("dtype", "weight"), [("int32", -2), ("float32", -0.5)])
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


@pytest.mark.parametrize("scale", [2.0**-1030, 2.0**-600, 2.0**-30, 2.0**600, 2.0**1021])
@pytest.mark.parametrize("name", ["hits", "eigenvector"])
def test_the_scale_of_the_weights_does_not_matter(device: su.devices.Device, name: str, scale: float) -> None:
    graphs = []
    for factor in (1.0, scale):
        graph = su.Graph(30, device=str(device), weight_dtype="float64", directed=False)
        rng = np.random.default_rng(2)
        graph.insert_edges(*rng.integers(0, 30, (2, 90)), rng.choice([1.0, 1.5, 2.0, 3.0], 90) * factor)
        graphs.append(graph)
    for params in ({}, {"normalized": False}) if name == "hits" else ({},):
        tracker = graphs[1].track(name, max_iter=5000, **params)
        graphs[1].insert_edges([1, 1], [29, 28], [scale, scale])
        graphs[0].insert_edges([1, 1], [29, 28], [1.0, 1.0])
        right = graphs[0].compute(name, max_iter=5000, **params)
        for result in (graphs[1].compute(name, max_iter=5000, **params), tracker.result):
            for at, (got, expected) in enumerate(
                zip(*(part if name == "hits" else (part,) for part in (result, right)), strict=True)
            ):
                factor = scale if params and at == 0 else 1.0
                np.testing.assert_allclose(
                    device.to_numpy(got), device.to_numpy(expected) * factor, rtol=1e-3, atol=1e-6 * factor
                )


@pytest.mark.compiled
def test_the_residual_of_an_eigenvector_is_relative(device: su.devices.Device) -> None:
    n = 3000  # a path: n times the tolerance once was more than a whole vector
    graph = su.Graph(n, device=str(device), directed=False)
    graph.insert_edges(np.arange(n - 1), np.arange(1, n))
    with pytest.raises(ConvergenceError) as caught:
        graph.compute("eigenvector", max_iter=50)
    assert 1e-6 < caught.value.change < 1
    x = device.to_numpy(graph.compute("eigenvector", tol=1e-4, max_iter=5000))
    after = np.r_[x[1:], 0] + np.r_[0, x[:-1]]
    assert np.linalg.norm(after - np.linalg.norm(after) * x) <= 1.001e-4 * np.linalg.norm(after)
    star = su.Graph(n, device=str(device), directed=False)
    star.insert_edges(np.zeros(n - 1, int), np.arange(1, n))
    right = np.r_[1, np.full(n - 1, 1 / math.sqrt(n - 1))] / math.sqrt(2)
    np.testing.assert_allclose(device.to_numpy(star.compute("eigenvector")), right, atol=1e-5)


@pytest.mark.compiled
def test_bounds_of_residuals_hold_where_norms_do_not_fall(device: su.devices.Device) -> None:
    """In a directed graph with heavy edges a step may enlarge the residual of the step before."""
    n = 40
    graph = su.Graph(n, device=str(device), weight_dtype="float64", in_edges=True)
    rng = np.random.default_rng(1)
    graph.insert_edges(np.arange(n), (np.arange(n) + 1) % n, np.ones(n))
    graph.insert_edges(*rng.integers(0, n, (2, 60)), rng.uniform(0, 3, 60))
    graph.insert_edges([0, 1, 2], [20, 21, 22], [50.0, 50.0, 50.0])
    arcs = tuple(map(device.to_numpy, su.arcs(graph)))
    for tol in (1e-3, 1e-6):
        for kind, params in ((Katz, {"alpha": 0.05}), (HITS, {}), (Eigenvector, {})):
            params = {**params, "tol": tol, "max_iter": 5000}
            result = graph.compute(kind, **params)
            matrix = kind.reference(*arcs, n, True, **params)
            if kind is Katz:
                adjacency = HITS.reference(*arcs, n, True)
                x = device.to_numpy(graph.compute(kind, normalized=False, **params))
                assert np.abs(x - 0.05 * (adjacency.T @ x) - 1).sum() <= 1.001 * tol * n
            elif kind is HITS:
                h = device.to_numpy(result.hubs)
                after = matrix @ (matrix.T @ h)
                assert np.abs(after / after.sum() - h).sum() <= 1.001 * tol
            else:
                x = device.to_numpy(result)
                after = matrix.T @ x
                assert np.linalg.norm(after - np.linalg.norm(after) * x) <= 1.001 * tol * np.linalg.norm(after)


@pytest.mark.compiled
def test_a_batch_that_is_undone_leaves_no_trace(device: su.devices.Device) -> None:
    n = 400
    u = np.arange(n)
    graph = su.Graph(n, device=str(device), in_edges=True)
    graph.insert_edges(np.repeat(u, 9), (np.repeat(u, 9) + np.tile(np.arange(1, 10), n)) % n)
    tracker = graph.track("katz")
    right = device.to_numpy(tracker.result).copy()
    a, b = np.nonzero(np.ones((20, 20), bool))
    b = b + 100
    graph.insert_edges(np.r_[a, b], np.r_[b, a])  # alpha times 20 is above 1
    with pytest.raises(ConvergenceError):
        _ = tracker.result
    graph.delete_edges(np.r_[a, b], np.r_[b, a])
    np.testing.assert_allclose(device.to_numpy(tracker.result), right, atol=1e-6)


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["hits", "eigenvector"])
def test_a_warm_start_finds_the_new_centre(device: su.devices.Device, name: str) -> None:
    """The old centre is taken apart, batch by batch, in a graph in which all else has little weight."""
    n = 30_000
    graph = su.Graph(n, device=str(device), in_edges=True)
    u, v = np.nonzero(~np.eye(40, dtype=bool))
    graph.insert_edges(u, v)
    graph.insert_edges(u[(u < 34) & (v < 34)] + 1000, v[(u < 34) & (v < 34)] + 1000)
    tracker = graph.track(name)
    order = np.random.default_rng(0).permutation(len(u))[:500]
    for at in range(0, 500, 100):
        graph.delete_edges(u[order[at : at + 100]], v[order[at : at + 100]])
    found, right = tracker.result, graph.compute(name)
    for got, expected in zip(*(part if name == "hits" else (part,) for part in (found, right)), strict=True):
        np.testing.assert_allclose(device.to_numpy(got), device.to_numpy(expected), atol=1e-4)
        assert float(got[1000:1034].min()) > 0.9 * float(got.max())


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
        ({"tol": 1e-17}, ParameterError, "tol must be at least 2.22e-16, the rounding error of float64"),
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
    arcs = su.arcs(graph)
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


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e9])
def test_katz_may_err_by_its_bound_at_one_vertex_before_it_is_scaled(scale: float) -> None:
    """Where most of the norm is one vertex's, scaling moves all the others: by far more than the error itself."""
    x = scale * np.append(np.ones(10_000), 100.0)
    exact = Katz.reference(np.empty(0, int), np.empty(0, int), None, len(x), True, beta=x)
    bound = 1e-4 * exact.beta
    for error, is_found in ((0.99 * bound, False), (-0.99 * bound, False), (3 * bound, True)):
        found = x + np.append(np.zeros(10_000), error)
        wrong = Katz.mismatch(found / np.linalg.norm(found), exact, tol=1e-4)
        assert (wrong is not None) == is_found, wrong
    assert "norm" in str(Katz.mismatch(2 * x / np.linalg.norm(x), exact))


def test_traffic_is_the_pulls_of_all_steps() -> None:
    graph, _ = strongly_connected(1)
    for kind, pulls in ((HITS, 2), (Katz, 1), (Eigenvector, 1)):
        algorithm = kind(max_iter=5)
        algorithm.compute(graph)
        assert algorithm.traffic(graph) == 5 * pulls * (graph.num_edges * 12 + 31 * 8 + 2 * 30 * 8)
