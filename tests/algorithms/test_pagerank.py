"""PageRank on every backend and device: the conformance kit, NetworkX's definitions, parameters, ownership."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import networkx as nx
import numpy as np
import pytest
from turns import few

import suricate as su
from suricate.algorithms.pagerank import PageRank
from suricate.errors import (
    ConvergenceError,
    ParameterError,
    RequirementError,
    ShapeError,
    VertexRangeError,
    WeightError,
)
from suricate.testing import AlgorithmConformance

PRECISE = {"tol": 1e-12, "max_iter": 1000}


class TestPageRank(AlgorithmConformance):
    algorithm = PageRank
    params = (
        {},
        {**PRECISE, "personalization": {3: 1, 7: 0.5}},
        {**PRECISE, "weighted": False, "alpha": 0.5},
        {**PRECISE, "dangling": {4: 2, 9: 1}, "nstart": {7: 1}},
    )
    weights = (0, 1, 2, 7)
    examples = 3
    cuda_marks = (pytest.mark.gpu,)


def networkx_ranks(graph: su.Graph, **options: Any) -> np.ndarray:
    """Ranks by NetworkX; the edges of an unweighted graph weigh 1."""
    other = nx.DiGraph()
    other.add_nodes_from(range(graph.num_vertices))
    src, dst, weight = (None if part is None else part.tolist() for part in su.arcs(graph))
    other.add_weighted_edges_from(zip(src, dst, weight or [1.0] * len(src), strict=True))
    ranks = nx.pagerank(other, tol=1e-15, max_iter=10_000, **options)
    return np.array([ranks[v] for v in range(graph.num_vertices)])


def networkx_ranks_of_live(graph: su.Graph, **options: Any) -> np.ndarray:
    """Ranks by NetworkX of the graph without deleted vertices, which have 0."""
    ranks = nx.pagerank(graph.to_networkx().to_directed(), tol=1e-15, max_iter=10_000, **options)
    return np.array([ranks.get(v, 0) for v in range(graph.num_vertices)])


def random_graph(seed: int, weight_dtype: str | None, **options: Any) -> su.Graph:
    """30 vertices, of which some are dangling; a third of the weights is 0."""
    rng = np.random.default_rng(seed)
    graph = su.Graph(30, device="cpu", weight_dtype=weight_dtype, **options)
    src, dst = rng.integers(0, 22, 70), rng.integers(0, 30, 70)
    graph.insert_edges(src, dst, None if weight_dtype is None else rng.choice([0, 1, 5], 70))
    return graph


# -- NetworkX's definitions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"in_edges": True}, {"directed": False}], ids=str)
@pytest.mark.parametrize("weight_dtype", [None, "float32", "int32"])
@pytest.mark.parametrize("seed", few(range(3)))
def test_ranks_are_networkx_ranks(seed: int, weight_dtype: str | None, options: dict[str, bool]) -> None:
    graph = random_graph(seed, weight_dtype, **options)
    jumps = np.random.default_rng(seed).integers(0, 3, 30)
    for personalization in (None, {4: 1, 9: 2.5, 25: 0}, jumps):
        as_dict = dict(enumerate(jumps.tolist())) if personalization is jumps else personalization
        for weighted in (None, False):
            expected = networkx_ranks(
                graph, personalization=as_dict, weight=None if weighted is False else "weight", alpha=0.8
            )
            chosen = {"alpha": 0.8, "weighted": weighted, "personalization": personalization}
            found = graph.compute("pagerank", **chosen, **PRECISE)
            assert np.abs(found - expected).sum() < 1e-11
            arcs = su.arcs(graph)
            reference = PageRank.reference(*arcs, graph.num_vertices, graph.directed, **chosen, **PRECISE)
            assert np.abs(reference - expected).sum() < 1e-11


@pytest.mark.parametrize("in_edges", [False, True])
def test_weighted_ranks_are_kept_current(in_edges: bool) -> None:
    rng = np.random.default_rng(5)
    graph = random_graph(5, "float64", in_edges=in_edges)
    tracker = graph.track("pagerank", personalization={2: 1, 20: 3}, **PRECISE)
    for _ in range(6):
        src, dst, _ = su.arcs(graph)
        gone, heavier = rng.integers(0, len(src), (2, 10))
        graph.delete_edges(src[gone], dst[gone])
        graph.insert_edges(src[heavier], dst[heavier], rng.choice([0, 2, 9], 10))  # replaces weights
        expected = networkx_ranks(graph, personalization={2: 1, 20: 3})
        assert np.abs(tracker.result - expected).sum() < 1e-11
    graph.insert_vertices(3)
    graph.insert_edges([30, 2], [2, 31], [1, 4])
    assert np.abs(tracker.result - networkx_ranks(graph, personalization={2: 1, 20: 3})).sum() < 1e-11


@pytest.mark.parametrize("in_edges", [False, True])
@pytest.mark.parametrize("weight_dtype", ["float32", "float64", "int32", "uint32"])
def test_single_precision_ranks(device: su.devices.Device, weight_dtype: str, in_edges: bool) -> None:
    graph = random_graph(3, weight_dtype, in_edges=in_edges)
    ranks = graph.to(str(device)).compute("pagerank", dtype="float32")
    assert ranks.dtype == np.float32
    assert np.abs(device.to_numpy(ranks) - networkx_ranks(graph)).sum() < 1e-4


def test_vertices_that_come_later_are_not_jumped_to() -> None:
    graph = random_graph(1, None)
    tracker = graph.track("pagerank", personalization=np.ones(30), **PRECISE)
    graph.insert_vertices(2)
    assert np.abs(tracker.result - networkx_ranks(graph, personalization=dict.fromkeys(range(30), 1))).sum() < 1e-11
    before = tracker.result
    tracker.refresh()
    assert np.abs(tracker.result - before).sum() < 1e-11


# -- parameters --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("personalization", [None, {3: 1, 28: 2}])
@pytest.mark.parametrize("options", [{}, {"in_edges": True}, {"directed": False}], ids=str)
def test_dangling_goes_where_networkx_sends_it(
    device: su.devices.Device, backend: str, options: dict[str, bool], personalization: Any
) -> None:
    graph = su.Graph(30, backend=backend, device=str(device), **options)
    src, dst = np.random.default_rng(2).integers((0, 0), (20, 30), (70, 2)).T
    graph.insert_edges(src, dst)
    dangling = {2: 1, 29: 3, 11: 0}
    trackers = [
        graph.track("pagerank", personalization=personalization, dangling=given, **PRECISE)
        for given in (dangling, [dangling.get(v, 0) for v in range(30)])
    ]
    for change in (lambda: None, lambda: graph.delete_edges(src[:5], dst[:5]), lambda: graph.insert_vertices(2)):
        change()
        expected = networkx_ranks(graph, personalization=personalization, dangling=dangling)
        for tracker in trackers:
            assert np.abs(device.to_numpy(tracker.result) - expected).sum() < 1e-11
    graph.delete_vertices([2, 29])
    for tracker in trackers:
        with pytest.raises(ParameterError, match="pagerank: dangling has no live vertex"):
            _ = tracker.result
    graph.insert_edges([29], [0])
    live = networkx_ranks_of_live(graph, personalization=personalization, dangling={29: 3})
    assert np.abs(device.to_numpy(trackers[0].result) - live).sum() < 1e-11


def test_nstart_saves_steps_and_changes_nothing_else() -> None:
    graph = random_graph(1, None, in_edges=True)
    plain = graph.track("pagerank", **PRECISE)
    started = graph.track("pagerank", nstart=plain.result, **PRECISE)
    far = graph.track("pagerank", nstart={3: 1e300, 4: 1e300}, **PRECISE)
    assert started.algorithm.iterations < plain.algorithm.iterations / 3
    for tracker in (started, far):
        assert np.abs(tracker.result - plain.result).sum() < 1e-11
    with pytest.raises(ShapeError, match="pagerank: nstart has 2 entries, the graph 30 vertices"):
        graph.compute("pagerank", nstart=[1, 2])
    with pytest.raises(VertexRangeError, match="pagerank: nstart: vertex 30"):
        graph.compute("pagerank", nstart={30: 1})
    graph.delete_vertices([3, 4])
    np.testing.assert_allclose(graph.compute("pagerank", nstart={3: 1, 4: 1}, **PRECISE).sum(), 1)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"max_iter": math.nan}, "max_iter must be an integer"),
        ({"max_iter": 1.5}, "max_iter must be an integer"),
        ({"max_iter": True}, "max_iter must be an integer"),
        ({"max_iter": "9"}, "max_iter must be an integer"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"max_iter": -5}, "max_iter must be at least 1"),
        ({"tol": 0}, r"tol must be in \(0, inf\)"),
        ({"tol": -1e-9}, r"tol must be in \(0, inf\)"),
        ({"tol": math.nan}, r"tol must be in \(0, inf\)"),
        ({"tol": math.inf}, r"tol must be in \(0, inf\)"),
        ({"tol": 10**400}, r"tol must be in \(0, inf\)"),
        ({"tol": "small"}, "tol must be a number"),
        ({"tol": 5e-324}, "tol must be at least 2.22e-16, the rounding error of float64, got 5e-324"),
        ({"tol": 1e-8, "dtype": "float32"}, "tol must be at least 1.19e-07, the rounding error of float32"),
        ({"tol": 1e-17, "norm": "linf"}, "tol must be at least 7.4e-17, the rounding error of float64"),
        ({"alpha": 1}, r"alpha must be in \[0, 1\)"),
        ({"alpha": -0.1}, r"alpha must be in \[0, 1\)"),
        ({"alpha": math.nan}, r"alpha must be in \[0, 1\)"),
        ({"alpha": None}, "alpha must be a number"),
        ({"alpha": False}, "alpha must be a number"),
        ({"dtype": "foo"}, "dtype must be float64 or float32"),
        ({"dtype": "int32"}, "dtype must be float64 or float32"),
        ({"dtype": None}, "dtype must be float64 or float32"),
        ({"weighted": "yes"}, "weighted must be True or False"),
        ({"weighted": 1}, "weighted must be True or False"),
        ({"personalization": {}}, "a finite sum above 0"),
        ({"personalization": {1: 0}}, "a finite sum above 0"),
        ({"personalization": [1e308] * 9}, "a finite sum above 0"),
        ({"personalization": {1: -1}}, r"personalization\[1\] must be in \[0, inf\)"),
        ({"personalization": {1: "x"}}, r"personalization\[1\] must be a number"),
        ({"personalization": {"a": 1}}, "a vertex must be an integer"),
        ({"personalization": [1, math.nan]}, "finite numbers"),
        ({"personalization": [-1, 2]}, "finite numbers"),
        ({"personalization": [[1, 2]]}, "a dict, or a one-dimensional array"),
        ({"personalization": "ab"}, "a dict, or a one-dimensional array"),
        ({"dangling": {1: -1}}, r"dangling\[1\] must be in \[0, inf\)"),
        ({"dangling": [0, 0, 0]}, "dangling must have a finite sum above 0"),
        ({"dangling": {1: 1}, "self_loops": True}, "dangling is about vertices without out-edges"),
        ({"nstart": {1: -1}}, r"nstart\[1\] must be in \[0, inf\)"),
        ({"nstart": [0, 0, 0]}, "nstart is 0 at every vertex"),
        ({"damping": 0.9}, "unexpected keyword argument 'damping' .its parameters: alpha, personalization"),
        ({"norm": "l2"}, "norm must be l1 or linf"),
        ({"method": "fast"}, "method must be auto, static, nd, dt, df or dfp"),
        ({"method": None}, "method must be"),
        ({"equation": 3}, "equation must be"),
        ({"equation": 2}, "equation=2 is about self-loops"),
        ({"self_loops": 1}, "self_loops must be True or False"),
        ({"frontier_tol": -1}, r"frontier_tol must be in \[0, inf\)"),
        ({"prune_tol": "x"}, "prune_tol must be a number"),
    ],
    ids=str,
)
def test_impossible_parameters(params: dict[str, Any], message: str) -> None:
    graph = su.Graph(3, device="cpu")
    with pytest.raises(ParameterError, match=message) as caught:
        graph.compute("pagerank", **params)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("pagerank: ")


def test_an_instance_that_is_used_for_a_smaller_graph() -> None:
    algorithm = PageRank(personalization=[1, 1, 1])
    algorithm.compute(su.Graph(3, device="cpu"))
    with pytest.raises(ShapeError, match="personalization has 3 entries, the graph 2 vertices"):
        algorithm.compute(su.Graph(2, device="cpu"))


def test_parameters_that_do_not_fit_the_graph(device: su.devices.Device) -> None:
    graph = su.Graph(3, device=str(device))
    with pytest.raises(ShapeError, match="personalization has 2 entries, the graph 3 vertices"):
        graph.compute("pagerank", personalization=[1, 1])
    with pytest.raises(VertexRangeError, match="vertex 3 is not in"):
        graph.compute("pagerank", personalization={3: 1})
    with pytest.raises(VertexRangeError, match="vertex -1 is negative"):
        graph.compute("pagerank", personalization={-1: 1})
    with pytest.raises(RequirementError, match=r"weighted=True needs edge weights: build .*weight_dtype"):
        graph.compute("pagerank", weighted=True)


@pytest.mark.parametrize(
    ("weight", "dtype"),
    [([-1, 2], "float64"), ([1e308, 1e308], "float64"), ([1e-320, 0], "float64"), ([1e45, 2e45], "float32")],
    ids=str,
)
def test_weights_that_cannot_be_shared_by(device: su.devices.Device, weight: list[float], dtype: str) -> None:
    graph = su.Graph(3, device=str(device), weight_dtype="float64")
    graph.insert_edges([0, 0], [1, 2], weight)
    with pytest.raises(WeightError, match="pagerank: a vertex has a negative weight"):
        graph.compute("pagerank", dtype=dtype)
    assert float(graph.compute("pagerank", weighted=False).sum()) == pytest.approx(1)


def test_a_personalization_array_of_the_device_is_taken(device: su.devices.Device, backend: str) -> None:
    graph = su.Graph(3, backend=backend, device=str(device))
    graph.insert_edges([0, 1], [1, 2])
    given = device.xp.asarray([1.0, 0.0, 0.0])
    algorithm = PageRank(personalization=given)
    given[:] = 7  # it was copied
    algorithm.compute(graph)
    ranks = algorithm.result.tolist()
    assert ranks[0] > ranks[1] > ranks[2] > 0
    assert ranks == graph.compute("pagerank", personalization={0: 5}).tolist()


# -- convergence -------------------------------------------------------------------------------------------------------


def slow(device: su.devices.Device, **options: Any) -> su.Graph:
    """A star whose centre and one leaf point to each other: changes fall by alpha per step, and no faster."""
    n = 300
    graph = su.Graph(n, device=str(device), **options)
    graph.insert_edges(np.r_[np.arange(1, n), 0], np.r_[np.zeros(n - 1, int), 1])
    return graph


def within_the_bound(tracker: su.Tracker, **params: Any) -> bool:
    graph = tracker.graph
    src, dst, _ = (None if part is None else graph.device.to_numpy(part) for part in su.arcs(graph))
    exact = PageRank.reference(src, dst, None, graph.num_vertices, True, **params)
    return PageRank.mismatch(graph.device.to_numpy(tracker.result), exact, **params) is None


@pytest.mark.compiled
@pytest.mark.parametrize("options", [{}, {"in_edges": True}], ids=str)
@pytest.mark.parametrize("params", [{}, {"method": "static"}, {"norm": "linf", "tol": 1e-8}], ids=str)
def test_steps_go_on_until_the_tolerance(
    device: su.devices.Device, options: dict[str, Any], params: dict[str, Any]
) -> None:
    graph = slow(device, **options)
    tracker = graph.track("pagerank", alpha=0.99, **params)
    assert within_the_bound(tracker, alpha=0.99, **params)
    assert tracker.algorithm.converged
    assert tracker.algorithm.iterations > 1000


@pytest.mark.parametrize("options", [{}, {"in_edges": True}], ids=str)
@pytest.mark.parametrize("method", few(["auto", "static", "nd", "df", "dfp"]))
def test_too_few_steps_are_an_error_and_a_tracker_recovers(
    device: su.devices.Device, options: dict[str, Any], method: str
) -> None:
    graph = slow(device, **options)
    tracker = graph.track("pagerank", alpha=0.99, max_iter=100, method=method)
    for _ in range(2):
        with pytest.raises(ConvergenceError, match=r"pagerank: no convergence to tol=1e-05 within 100 steps") as caught:
            _ = tracker.result
        assert caught.value.result.shape == (300,)
        assert float(caught.value.result.sum()) == pytest.approx(1)
        assert caught.value.change == pytest.approx(0.718, rel=0.1)
        assert not tracker.algorithm.converged
        assert tracker.algorithm.iterations == 100
    graph.insert_edges([5], [7])  # an edge elsewhere changes nothing about the centre
    assert not tracker.algorithm.converged
    with contextlib.suppress(ConvergenceError):  # "auto" may extrapolate the rest, and is right then
        assert within_the_bound(tracker, alpha=0.99, method=method)
    graph.delete_edges(np.arange(1, 300), np.zeros(299, int))  # now the changes fade at once
    assert within_the_bound(tracker, alpha=0.99, method=method)
    assert tracker.algorithm.converged


@pytest.mark.compiled
def test_a_tolerance_that_rounding_keeps_from_is_an_error() -> None:
    for options in ({}, {"in_edges": True}):
        with pytest.raises(ConvergenceError, match=r"the change of a step no longer falls: it is .*: raise tol") as why:
            slow(su.Device("cpu"), **options).compute("pagerank", alpha=0.99, tol=2.3e-16)
        assert 2.3e-16 < why.value.change < 1e-12


@pytest.mark.compiled
@pytest.mark.parametrize("params", [{}, {"method": "static"}], ids=str)
def test_single_precision_sums_up_the_ranks_of_many_neighbours(
    device: su.devices.Device, params: dict[str, Any]
) -> None:
    n = 50_000
    graph = su.Graph(n, device=str(device), directed=False, backend="csr_baseline")
    graph.insert_edges(np.arange(1, n), np.zeros(n - 1, int))
    right = device.to_numpy(graph.compute("pagerank", tol=1e-9))
    assert np.abs(device.to_numpy(graph.compute("pagerank", dtype="float32", **params)) - right).sum() < 2e-5


# -- results -----------------------------------------------------------------------------------------------------------


def test_results_are_copies(device: su.devices.Device, backend: str) -> None:
    graph = su.Graph(3, backend=backend, device=str(device))
    graph.insert_edges([0, 1], [1, 2])
    algorithm = PageRank()
    algorithm.compute(graph)
    before = algorithm.result.tolist()
    result = algorithm.result
    result *= 2
    assert algorithm.result.tolist() == before


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_mismatch_knows_the_bound(dtype: str) -> None:
    graph = random_graph(2, None)
    src, dst, _ = su.arcs(graph)
    exact = PageRank.reference(src, dst, None, 30, True)
    ranks = graph.compute("pagerank", dtype=dtype)
    assert ranks.dtype == dtype
    assert PageRank.mismatch(ranks, exact, dtype=dtype) is None
    for wrong in (exact * 1.001, np.roll(exact, 1), np.full(30, np.nan), exact[:-1]):
        assert "L1 distance" in str(PageRank.mismatch(wrong, exact))
    assert PageRank.mismatch(np.eye(30)[0], exact) is not None


def test_traffic_is_a_pull_per_iteration() -> None:
    graph = random_graph(2, "float32", in_edges=True)
    for weighted, bytes_per_edge in ((None, 8), (False, 4)):
        algorithm = PageRank(weighted=weighted)
        algorithm.compute(graph)
        one = graph.num_edges * bytes_per_edge + 31 * 8 + 2 * 30 * 8
        assert algorithm.traffic(graph) == algorithm.iterations * one > 0
