"""PageRank after batches: every method and formulation against exact ranks, on both devices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from turns import few

import suricate as su
from suricate.algorithms.pagerank import PageRank, passes
from suricate.algorithms.pagerank.reference import distance_bound
from suricate.algorithms.shared.convergence import WarmStarts
from suricate.errors import WeightError

METHODS = ("auto", "static", "nd", "dt", "df", "dfp")
SAHU = {"self_loops": True, "norm": "linf", "tol": 1e-10, "max_iter": 500}

TIGHT = {"tol": 1e-9, "max_iter": 500}


def exact(graph: su.Graph, **params: Any) -> np.ndarray:
    """Ranks from a dense system of equations; only live vertices are jumped to, so that deleted ones have rank 0."""
    n, alpha, live = graph.num_vertices, params.get("alpha", 0.85), graph.device.to_numpy(graph.live)
    src, dst, weight = (None if part is None else graph.device.to_numpy(part) for part in su.arcs(graph))
    values = np.ones(len(src)) if weight is None or params.get("weighted") is False else weight.astype(float)
    matrix = np.zeros((n, n))
    matrix[dst, src] = values
    if params.get("self_loops"):
        np.fill_diagonal(matrix, 1.0)
    total = matrix.sum(0)
    jumps = live.astype(float)
    if params.get("personalization"):
        jumps[:] = 0
        jumps[list(params["personalization"])] = list(params["personalization"].values())
        jumps *= live
    jumps /= jumps.sum()
    shares = np.where(total > 0, matrix / np.where(total > 0, total, 1), jumps[:, None])
    return np.linalg.solve(np.eye(n) - alpha * shares, (1 - alpha) * jumps)


def changed(graph: su.Graph, rng: np.random.Generator, batch: int) -> None:
    """Insert, delete, do both, or replace weights."""
    src, dst, _ = (None if part is None else graph.device.to_numpy(part) for part in su.arcs(graph))
    some = rng.integers(0, len(src), 4)
    new = rng.integers(0, graph.num_vertices, (2, 4))
    weight = None if graph.weight_dtype is None else rng.choice([0, 1, 5], 4).astype(graph.weight_dtype)
    if batch % 3 != 1:
        graph.insert_edges(*new, weight)
    if batch % 3 != 0:
        graph.delete_edges(src[some], dst[some])
    if weight is not None:
        graph.insert_edges(src[some[:2]], dst[some[:2]], weight[:2])


@pytest.mark.compiled
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "params",
    few([{}, TIGHT, SAHU, SAHU | {"equation": 1}, TIGHT | {"personalization": {0: 1, 7: 2.5}}]),
    ids=["meerkat", "tight", "sahu", "sahu-1", "personal"],
)
@pytest.mark.parametrize("kind", few(["directed", "undirected", "weighted", "no in-edges"]))
def test_ranks_after_batches_are_within_the_bound(
    device: su.devices.Device, kind: str, params: dict[str, Any], method: str
) -> None:
    rng = np.random.default_rng(7)
    options: dict[str, Any] = {
        "directed": {"in_edges": True},
        "undirected": {"directed": False},
        "weighted": {"in_edges": True, "weight_dtype": "float64"},
        "no in-edges": {},
    }[kind]
    graph = su.Graph(60, backend="csr_baseline", device=str(device), **options)
    src, dst = rng.integers(0, 50, 150), rng.integers(0, 60, 150)
    graph.insert_edges(src, dst, rng.choice([0.0, 1.0, 2.5], 150) if kind == "weighted" else None)
    tracker = graph.track("pagerank", method=method, **params)
    for batch in range(7):
        changed(graph, rng, batch)
        if batch == 4:
            graph.insert_vertices(3)
        if batch == 5:
            graph.delete_vertices([3, 61])
        ranks, right = device.to_numpy(tracker.result), exact(graph, **params)
        bound = distance_bound(len(ranks), ranks.dtype, {"alpha": 0.85, "tol": 1e-5, "max_iter": 100} | params)
        assert np.abs(ranks - right).sum() <= 3 * bound, f"after batch {batch}"
        assert ranks.sum() == pytest.approx(1, abs=1e-9)
    assert PageRank.mismatch(ranks, right, method=method, **params) is None


@pytest.mark.slow
@pytest.mark.compiled
def test_local_methods_compute_what_a_change_affects(device: su.devices.Device) -> None:
    side = 40
    at = np.arange(side * side).reshape(side, side)
    graph = su.Graph(side * side, backend="csr_baseline", device=str(device), directed=False)
    graph.insert_edges(np.append(at[:, :-1], at[:-1].T), np.append(at[:, 1:], at[1:].T))
    touched, right = {}, exact(graph)
    for method in ("dt", "df", "dfp"):
        tracker = graph.track("pagerank", method=method, frontier_tol=1e-3)
        graph.delete_edges([0], [1])
        touched[method] = tracker.algorithm.touched
        graph.insert_edges([0], [1])
        assert tracker.algorithm.iterations > 0
        assert np.abs(device.to_numpy(tracker.result) - right).sum() < 1e-3
    assert max(touched["dfp"], touched["df"]) < 10 * side < side * side < touched["dt"]


@pytest.mark.usefixtures("may_recompute")
def test_auto_begins_anew_after_large_batches() -> None:
    n = 400
    graph = su.Graph(n, device="cpu", directed=False)
    graph.insert_edges(np.arange(n), (np.arange(n) + 1) % n)  # a ring: the uniform vector is exact
    tracker = graph.track("pagerank", tol=1e-8)
    far = np.arange(100), np.arange(100) + n // 2
    graph.insert_edges(*far)
    warm = tracker.algorithm.iterations
    graph.delete_edges(*far)
    assert tracker.algorithm.iterations <= 3 < warm
    assert np.abs(tracker.result - 1 / n).sum() < 1e-7


def grid(side: int, device: Any, **options: Any) -> su.Graph:
    """Return a grid, listed in both directions."""
    at = np.arange(side * side).reshape(side, side)
    src, dst = np.append(at[:, :-1], at[:-1].T), np.append(at[:, 1:], at[1:].T)
    graph = su.Graph(side * side, device=str(device), in_edges=True, **options)
    graph.insert_edges(np.append(src, dst), np.append(dst, src))
    return graph


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("params", [{}, TIGHT, {"norm": "linf", "tol": 1e-8}, {"dtype": "float32"}])
def test_extrapolated_steps_are_few_where_changes_fade_slowly(
    device: su.devices.Device, params: dict[str, Any]
) -> None:
    graph, rng = grid(24, device), np.random.default_rng(5)
    trackers = {method: graph.track("pagerank", method=method, **params) for method in ("auto", "nd")}
    for batch in range(4):
        if batch % 2 == 0:
            pairs = rng.integers(0, graph.num_vertices, (2, 20))
            graph.insert_edges(*pairs)
        else:
            graph.delete_edges(*pairs)
        right = exact(graph, **params)
        for method, tracker in trackers.items():
            ranks = device.to_numpy(tracker.result)
            assert PageRank.mismatch(ranks, right, method=method, **params) is None
            assert ranks.min() >= 0.149 / graph.num_vertices
        few, many = (tracker.algorithm.iterations for tracker in trackers.values())
        assert few < 0.7 * many, (few, many)


def test_extrapolated_steps_are_given_up_where_they_do_not_pay(device: su.devices.Device) -> None:
    n = 300
    graph = su.Graph(n, device=str(device), in_edges=True)
    graph.insert_edges(np.arange(n), (np.arange(n) + 1) % n)  # a ring in one direction: no eigenvalue is real but two
    trackers = [graph.track("pagerank", method=method) for method in ("auto", "nd")]
    for batch in range(3):
        graph.insert_edges(np.arange(5 * batch, 5 * batch + 5), np.arange(5) * 50)
        few, many = (tracker.algorithm.iterations for tracker in trackers)
        assert few <= many + (12 if batch == 0 else 6)  # dynamic methods end at half of the tolerances, after 4 more
        for tracker in trackers:
            ranks = device.to_numpy(tracker.result)
            assert PageRank.mismatch(ranks, exact(graph), method=tracker.algorithm.method) is None


@pytest.mark.parametrize(("graph", "least"), [("star", 20), ("pairs", 8), ("rmat", 0)])
def test_geometric_series_of_changes_are_summed_up_at_once_on_the_cpu(
    monkeypatch: pytest.MonkeyPatch, graph: str, least: int
) -> None:
    monkeypatch.setattr(PageRank, "_in_one_loop", lambda self, graph: False)  # as small graphs are computed
    if graph == "rmat":  # many eigenvalues of about the same size
        src, dst, _ = su.generate.rmat(8, 16, seed=1)
    else:  # the eigenvalue that counts is -alpha, or positive
        n = np.arange(1, 256)
        src, dst = (n, n * 0) if graph == "star" else (n, n - n % 2)
        src, dst = np.append(src, dst), np.append(dst, src)
    stored = su.Graph(256, device="cpu", in_edges=True)
    stored.insert_edges(src, dst)
    few, many = (stored.track("pagerank", method=method, alpha=0.5, tol=1e-12) for method in ("auto", "static"))
    assert few.algorithm.iterations <= many.algorithm.iterations - least
    assert np.abs(few.result - exact(stored, alpha=0.5)).sum() < 1e-11


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("method", few(["dt", "df", "dfp"]))
def test_passes_that_take_over_keep_the_sum_of_the_ranks(method: str, device: su.devices.Device) -> None:
    n, rng = 1 << 10, np.random.default_rng(2)
    src, dst, _ = su.generate.rmat(10, 4, seed=1)
    graph = su.Graph(n, device=str(device), in_edges=True)
    graph.insert_edges(src, dst)
    tracker = graph.track("pagerank", method=method, self_loops=True, tol=1e-8, frontier_tol=1e-9)
    for gone in range(0, 600, 20):
        new = rng.integers(0, n, (2, 20), np.uint32)
        graph.apply(su.Batch(insert=(new[0], new[1]), delete=(src[gone : gone + 20], dst[gone : gone + 20])))
        ranks = tracker.algorithm
        assert ranks._loops[0].crowded
        assert float((ranks._share / abs(ranks._inv)).sum()) == pytest.approx(1, abs=1e-7)
    assert np.abs(device.to_numpy(tracker.result) - exact(graph, self_loops=True)).sum() < 1e-7


def test_many_small_batches_do_not_add_up_to_a_large_error() -> None:
    rng = np.random.default_rng(3)
    graph = su.Graph(200, device="cpu", in_edges=True)
    graph.insert_edges(rng.integers(0, 200, 800), rng.integers(0, 200, 800))
    tracker = graph.track("pagerank", method="dfp", tol=1e-4)
    for _ in range(60):
        graph.insert_edges(rng.integers(0, 200, 2), rng.integers(0, 200, 2))
    assert PageRank.mismatch(tracker.result, exact(graph), tol=1e-4, method="dfp") is None


@pytest.mark.compiled
@pytest.mark.parametrize(("tol", "whole_passes"), [(1e-2, 0), (1e-4, 2)])
def test_whole_passes_come_when_small_batches_have_left_much_to_be_told(tol: float, whole_passes: int) -> None:
    rng, n = np.random.default_rng(4), 4000
    graph = su.Graph(n, device="cpu", in_edges=True)
    graph.insert_edges(rng.integers(0, n, 2 * n), rng.integers(0, n, 2 * n))
    tracker, found = graph.track("pagerank", tol=tol), 0
    for _ in range(99):
        graph.insert_edges(rng.integers(0, n, 1), rng.integers(0, n, 1))
        found += tracker.algorithm.touched is None
    assert found == whole_passes


@pytest.mark.compiled
@pytest.mark.parametrize(("tol", "touched"), few([(1e-2, 6), (1e-6, None)]))
def test_batches_within_the_tolerance_are_local_on_the_cpu(tol: float, touched: int | None) -> None:
    """Their neighbours' neighbours would be too many of the graph, but these are not reached."""
    n = 1 << 12
    graph, ids = su.Graph(n, device="cpu", in_edges=True), np.arange(n)
    for step in range(1, 10):
        graph.insert_edges(ids, (ids + 100 * step) % n)
    tracker = graph.track("pagerank", tol=tol)
    graph.insert_edges([1, 2, 3], [11, 12, 13])
    assert tracker.algorithm.touched == touched
    assert PageRank.mismatch(tracker.result, exact(graph), tol=tol) is None


def test_an_empty_batch_changes_nothing(device: su.devices.Device) -> None:
    graph = su.Graph(4, backend="csr_baseline", device=str(device), in_edges=True)
    graph.insert_edges([0, 1, 2], [1, 2, 0])
    for method in METHODS:
        tracker = graph.track("pagerank", method=method)
        before = device.to_numpy(tracker.result)
        graph.insert_edges([0], [1])
        graph.delete_edges([3], [1])
        graph.delete_edges([0], [1])
        graph.insert_edges([0], [1])
        assert np.abs(device.to_numpy(tracker.result) - before).sum() < 1e-4


def test_weights_that_become_unusable_and_usable_again(device: su.devices.Device) -> None:
    graph = su.Graph(4, backend="csr_baseline", device=str(device), in_edges=True, weight_dtype="float64")
    graph.insert_edges([0, 1, 2, 3], [1, 2, 0, 0], [1.0, 2, 3, 1])
    tracker = graph.track("pagerank", method="dfp")
    graph.insert_edges([1], [3], [-5.0])
    with pytest.raises(su.errors.WeightError, match="negative weight"):
        tracker.result  # noqa: B018
    graph.insert_edges([1], [3], [5.0])
    assert np.abs(device.to_numpy(tracker.result) - exact(graph)).sum() < 1e-4


def test_the_methods_are_compared_in_sahus_setting() -> None:
    variants = PageRank.variants()
    assert [*variants] == ["static", "nd", "dt", "df", "dfp"]
    graph = su.Graph(40, device="cpu", backend="csr_baseline", in_edges=True)
    rng = np.random.default_rng(2)
    graph.insert_edges(*rng.integers(0, 40, (2, 200)))
    src, dst, _ = su.arcs(graph)
    for params in variants.values():
        algorithm = PageRank.create(params)
        algorithm.compute(graph)
        exact = PageRank.reference(src, dst, None, 40, True, **params)
        assert PageRank.error(algorithm.result, exact) < 1e-7
        assert PageRank.error(exact + 0.5, exact) == pytest.approx(20)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_residuals_are_pushed_on_the_cpu(directed: bool, weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Edges and vertices come, go and come back, rows become empty, weights change; ranks stay within the bound."""
    monkeypatch.setattr(passes, "SMALL", 0)
    monkeypatch.setattr(WarmStarts, "lose", lambda *_: False)
    monkeypatch.setattr(PageRank, "_is_local", lambda *_, **__: False)
    n, rng = 24, np.random.default_rng(7)
    graph = su.Graph(
        n, device="cpu", directed=directed, in_edges=directed, weight_dtype="float32" if weighted else None
    )

    def edges(count: int) -> tuple[np.ndarray, ...]:
        ends = tuple(rng.integers(0, graph.num_vertices, (2, count)))
        return (*ends, rng.integers(1, 9, count).astype(np.float32)) if weighted else ends

    graph.insert_edges(*edges(60))
    tracker, pushed = graph.track("pagerank"), 0
    for step in range(40):
        held = graph.edges()
        at = rng.integers(0, len(held.src), 4)
        gone = held.src[at], held.dst[at]
        match step % 8:
            case 3:
                graph.delete_vertices(rng.integers(0, graph.num_vertices, 2))
            case 5:
                graph.insert_vertices(3)
            case 6:
                row = held.src == held.src[at[0]]
                graph.delete_edges(held.src[row], held.dst[row])
            case _:
                graph.apply(su.Batch(insert=edges(5), delete=gone))
        ranks = tracker.result
        assert np.abs(ranks - exact(graph)).sum() <= 8.5e-5, step
        assert not ranks[~graph.live].any()
        pushed += tracker.last.kind == "updated" and tracker.algorithm._events is not None
    assert pushed > 30
    if weighted:
        with pytest.raises(WeightError):
            graph.insert_edges([0], [1], np.float32([-1]))


@pytest.mark.compiled
@pytest.mark.usefixtures("may_recompute")
def test_ranks_of_a_window_take_a_third_of_the_passes_of_a_computation(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a turnover of 1 %, with less error than the computation has."""
    monkeypatch.setattr("suricate.cpu.threads.limit", lambda: 2)
    n, m, turnover, rng = 20_000, 35_000, 350, np.random.default_rng(1)
    src, dst = (n * rng.random((2, 2 * m)) ** 3).astype(np.int64)
    graph = su.Graph(n, device="cpu", in_edges=True)
    graph.insert_edges(src[:m], dst[:m])
    tracker, passes_made, errors = graph.track("pagerank"), [], []
    for at in range(0, 20 * turnover, turnover):
        old, new = slice(at, at + turnover), slice(m + at, m + at + turnover)
        graph.apply(su.Batch(insert=(src[new], dst[new]), delete=(src[old], dst[old])))
        other = su.algorithm("pagerank").create({})
        other.compute(graph)
        right = graph.compute("pagerank", tol=1e-13)
        passes_made.append((tracker.algorithm.iterations, other.iterations))
        errors.append([np.abs(ranks - right).sum() for ranks in (tracker.result, other.result)])
    updated, computed = np.sum(passes_made[1:], 0)
    assert 3 * updated <= computed, passes_made
    assert np.sum(errors, 0)[0] <= np.sum(errors, 0)[1]
    assert tracker.updates.computed == 1
