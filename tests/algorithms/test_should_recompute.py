"""Which batches are so large that answers are computed from scratch; results are right before and after."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from counting_backend import counting_store
from turns import few

import suricate as su
from suricate.algorithms.shared.convergence import WarmStarts
from suricate.bench.verify.results import on_host
from suricate.plugins import algorithm
from suricate.plugins.algorithm import LARGE, SLOWER

N = 1 << 10
CASES: dict[str, dict[str, Any]] = {
    "bfs": {}, "sssp": {}, "wcc": {}, "kcore": {}, "spmv": {}, "pagerank": {}, "hits": {}, "eigenvector": {},
    "katz": {"alpha": 1e-3},
}  # fmt: skip


def edges_of(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, N, (2, count))


def graph_of(name: str, device: su.Device, backend: str) -> su.Graph:
    graph = su.Graph(N, backend=backend, device=device, directed=False)
    graph.insert_edges(*edges_of(8 * N, 1))
    return graph


def verify(graph: su.Graph, tracker: Any, params: dict[str, Any]) -> None:
    arcs = [part if part is None else graph.device.to_numpy(part) for part in graph.store("out").edges()]
    kind, got = type(tracker.algorithm), on_host(tracker.result, graph.device)
    right = kind.reference(*arcs, graph.num_vertices, graph.directed, **params)
    assert kind.mismatch(got, right, **params) is None


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.usefixtures("may_recompute")
@pytest.mark.parametrize("name", CASES)
def test_results_are_right_on_both_sides_of_the_bound(
    name: str, device: su.Device, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = graph_of(name, device, backend)
    monkeypatch.setattr(algorithm(name), "recompute_share", 0.02)
    monkeypatch.setattr(algorithm(name), "recompute_share_on_cpu", None)
    tracker, decided = graph.track(name, **CASES[name]), []
    should_recompute = algorithm(name).should_recompute
    monkeypatch.setattr(
        algorithm(name),
        "should_recompute",
        lambda *args, **times: decided.append(should_recompute(*args, **times)) or decided[-1],
    )
    for seed, count in enumerate((20, N, 20, 20, N, N, 20)):
        edges = graph.edges()
        at = graph.device.xp.asarray(np.random.default_rng(seed).integers(0, len(edges.src), count))
        graph.delete_edges(edges.src[at], edges.dst[at])
        verify(graph, tracker, CASES[name])
        graph.insert_edges(*edges_of(count, seed + 9))
        verify(graph, tracker, CASES[name])
    assert {True, False} == set(map(bool, decided))


@pytest.mark.usefixtures("may_recompute")
def test_a_batch_above_the_share_of_the_arcs_is_recomputed(device: su.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = su.Graph(N, device=device, directed=False)
    graph.insert_edges(np.arange(100), np.arange(100) + 1)
    bfs = algorithm("bfs")()
    assert not bfs.should_recompute(graph)
    for count, share, answer in ((10, 0.11, False), (10, 0.09, True), (0, 0.0, False)):
        edges = graph.edge_set(np.arange(count), np.arange(count) + 1)
        monkeypatch.setattr(type(bfs), "recompute_share", share)
        assert bfs.should_recompute(graph, edges) == answer
    monkeypatch.setattr(type(bfs), "recompute_share", 0.1)
    edge = graph.edge_set([0], [1])
    assert [bfs.should_recompute(graph, edge, times=times) for times in (1, 9, 11)] == [False, False, True]


def test_the_bound_of_arcs(device: su.Device, backend: str) -> None:
    graph = su.Graph(N, backend=backend, device=device, directed=False)
    assert graph.most_arcs == 0
    graph.insert_edges(*edges_of(100, 1))
    arcs = len(graph.store("out").edges().src)
    assert arcs <= graph.most_arcs <= 200
    assert graph.num_edges <= 100
    assert graph.most_arcs == arcs
    for _ in range(50):  # the same edges again and again
        graph.insert_edges(*edges_of(100, 1))
        graph.delete_edges(*edges_of(1, 1))
    held = len(graph.store("out").edges().src)
    assert held <= graph.most_arcs
    if not device.is_cuda:
        assert graph.most_arcs <= held * 2
    copy = graph.to(device)
    assert copy.most_arcs == held


@pytest.mark.usefixtures("may_recompute")
@pytest.mark.parametrize(("side", "recomputes"), [(48, True), (0, False)])
def test_insertions_into_sparse_graphs_count_more_for_core_numbers(
    side: int, recomputes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of four arcs: an insertion counts eight times, as levels are large. Rows of 36: once.

    So it is where updates do not give up early, as the loops of the CPU do.
    """
    ids = np.arange(N)
    ends = (ids[:-1], ids[1:]) if side else tuple(part.ravel() for part in np.meshgrid(ids[:36], ids))
    graph = su.Graph(N, device="cpu", directed=False)
    graph.insert_edges(*ends)
    if side:
        graph.insert_edges(ids[:-side], ids[side:])
    kind, decided = algorithm("kcore"), []
    should_recompute = kind.should_recompute
    monkeypatch.setattr(kind, "recompute_share_on_cpu", 0.1)
    monkeypatch.setattr(kind, "learns", False)
    monkeypatch.setattr(
        kind, "should_recompute", lambda *args, **times: decided.append(should_recompute(*args, **times)) or decided[-1]
    )
    trackers = [graph.track("kcore", kernels=kernels) for kernels in (False, True)]
    assert all(tracker.result is not None for tracker in trackers)
    graph.insert_edges(ids[:100], ids[500:600])
    assert decided == [recomputes, False]


class SteadyClock:
    """A clock by which every span takes a tenth of a second: updates are as slow as computations, and not slower."""

    def start(self) -> bool:
        return True

    def stop(self) -> None:
        pass

    def seconds(self) -> float:
        return 0.1


@pytest.mark.usefixtures("may_recompute")
@pytest.mark.parametrize("share", few([0.5, 2.0]), ids=["below", "above"])
@pytest.mark.parametrize(("name", "weight", "arcs"), [("bfs", 4, 0.02), ("wcc", 2, 0.02), ("kcore", 0.45, 0.0005)])
def test_batches_that_visit_many_vertices_are_computations_with_a_reason(
    name: str, weight: float, arcs: float, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal batches, each of which counts ``weight`` arcs per edge: none is computed from scratch to time it."""
    monkeypatch.setattr("suricate.plugins.pace.clock_on", lambda _: SteadyClock())
    monkeypatch.setattr(algorithm(name), "recompute_share_on_cpu", arcs)
    store, n = counting_store(), 1 << 12
    edges, rng = su.generate.rmat(12, 8, seed=1), np.random.default_rng(2)
    graph = su.Graph(n, backend=store, device="cpu", directed=False, threads=1)
    graph.insert_edges(edges.src, edges.dst)
    tracker = graph.track(name, **({"source": int(np.bincount(edges.src).argmax())} if name == "bfs" else {}))
    graph.delete_edges(edges.src[:1], edges.dst[:1])  # for components, builds what later deletions are repaired in
    size = int(share * arcs * graph.most_arcs / weight)
    before, visits, found = tracker.updates.computed, [], []
    for _ in range(16):
        at = rng.integers(0, len(edges.src), size)
        store.visits[0] = 0
        graph.apply(su.Batch(delete=(edges.src[at], edges.dst[at]), insert=tuple(rng.integers(0, n, (2, size)))))
        visits.append(int(store.visits[0]))
        found.append(tracker.last)
    assert all(one.reason for one in found if one.kind == "recomputed")
    many = [count > 3 * np.median(visits) for count in visits]
    assert many == [one.kind == "recomputed" for one in found]
    assert [one.kind for one in found].count("recomputed") == tracker.updates.computed - before <= 2
    assert (found[0][:2] == ("recomputed", LARGE)) == (share > 1)
    assert all(one.reason != LARGE for one in found[1:])


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.usefixtures("may_recompute")
@pytest.mark.parametrize("name", ["kcore", "directed_kcore"])
@pytest.mark.parametrize(("size", "most"), [(100, 0), (1_000, 2), (3_000, 3), (10_000, 20)])
def test_core_numbers_on_the_cpu_are_updated_where_that_is_cheaper(
    name: str, size: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty batches of R-MAT 16: a computation costs as much as twenty updates of 1,000; few updates give up."""
    monkeypatch.setattr("suricate.plugins.pace.clock_on", lambda _: SteadyClock())
    directed, n, rng = name == "directed_kcore", 1 << 16, np.random.default_rng(2)
    graph = su.Graph(n, device="cpu", directed=directed, in_edges=directed)
    edges = su.generate.rmat(16, 8, seed=1)
    graph.insert_edges(edges.src, edges.dst)
    tracker = graph.track(name)
    for _ in range(20):
        graph.insert_edges(*rng.integers(0, n, (2, size)))
    assert sum(tracker.recomputations.values()) <= most
    given_up = sum(count for why, count in tracker.recomputations.items() if why not in (LARGE, SLOWER))
    assert given_up <= 4, "the work of each is lost"
    assert tracker.result.core.tolist() == graph.compute(name).core.tolist()


def test_warm_starts_that_took_more_steps_are_not_made_again() -> None:
    starts = WarmStarts()
    starts.computed(20)
    starts.updated(100, 22)
    assert not starts.lose(100), "a tie"
    starts.updated(50, 10)
    starts.updated(200, 30)
    assert [starts.lose(size) for size in (100, 180, 190, 5000)] == [False, False, True, True]
    starts.computed(40)  # as the graph has changed
    assert not starts.lose(5000)


@pytest.mark.usefixtures("may_recompute")
def test_the_share_of_the_cpu_counts_there() -> None:
    graph = su.Graph(1_000, device="cpu", in_edges=True)
    rng = np.random.default_rng(1)
    graph.insert_edges(*rng.integers(0, 1_000, (2, 20_000)))
    ranks = graph.track("pagerank")
    for size, kind in ((800, "updated"), (2_000, "recomputed")):
        graph.insert_edges(*rng.integers(0, 1_000, (2, size)))
        assert ranks.last.kind == kind
        assert ranks.result.sum() == pytest.approx(1)
