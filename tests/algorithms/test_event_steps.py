"""Steps of ``suricate.replay``: the answers after every event against NetworkX on the edges there are then."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np
import pytest

import suricate as su
from suricate.algorithms.kcore.core_numbers import EVENTS
from suricate.cpu.plain import PLAIN
from suricate.kernels import loops_over
from suricate.replaying import pieces

Events = tuple[np.ndarray, ...]
SIZES = pytest.mark.parametrize(
    ("n", "count"), [(9, 150), pytest.param(40, 1500, marks=pytest.mark.compiled)], ids=["plain", "compiled"]
)


def draw(n: int, count: int, seed: int, inserted: float = 0.6) -> Events:
    """Random events, self-loops and edges that are there or gone already among them, mostly at vertices of small id."""
    rng = np.random.default_rng(seed)
    src, dst = (n * rng.random((2, count)) ** 1.5).astype(np.int64)
    is_new, again = rng.random(count) < inserted, rng.integers(0, np.maximum(1, np.arange(count)))
    mostly = ~is_new & (rng.random(count) < 0.8)  # deletions are mostly of edges that were inserted
    return np.where(mostly, src[again], src), np.where(mostly, dst[again], dst), is_new


def after_each(n: int, events: Events) -> Iterator[nx.Graph]:
    """The graph after each event, without self-loops."""
    graph = nx.empty_graph(n)
    for u, v, is_new in zip(*(part.tolist() for part in events), strict=True):
        if u != v and is_new:
            graph.add_edge(u, v)
        elif graph.has_edge(u, v):
            graph.remove_edge(u, v)
        yield graph


def undirected(n: int, backend: str = "slabhash") -> su.Graph:
    return su.Graph(n, backend=backend, device="cpu", directed=False)


def cores(graph: nx.Graph) -> list[int]:
    return [*nx.core_number(graph).values()]


@SIZES
@pytest.mark.parametrize("seed", range(3))
def test_core_numbers(n: int, count: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", 97)
    events, graphs = draw(n, count, seed, inserted=0.55 + 0.1 * seed), [undirected(n) for _ in range(2)]
    trackers = [graph.track("kcore") for graph in graphs]
    found = su.replay(graphs[0], events, trackers[0], at=range(n))
    changed = su.replay(graphs[1], events, trackers[1]).changed
    assert changed is not None
    assert found.compiled == count
    before = [0] * n
    for i, graph in enumerate(after_each(n, events)):
        right = cores(graph)
        assert found.answers.core[i].tolist() == right, i
        assert found.answers.degeneracy[i] == max(right)
        assert changed[i] == sum(a != b for a, b in zip(before, right, strict=True))
        before = right
    for tracker in trackers:
        assert tracker.result.core.tolist() == before
        assert tracker.at([0]).degeneracy == max(before)


@pytest.mark.slow
@SIZES
@pytest.mark.parametrize("backend", ["slabhash", "blocked"])
def test_triangles(n: int, count: int, backend: str) -> None:
    events, graphs = draw(n, count, 1), [undirected(n, backend) for _ in range(2)]
    trackers = [graph.track("triangles") for graph in graphs]
    found = su.replay(graphs[0], events, trackers[0], at=range(n)).answers
    changed = su.replay(graphs[1], events, trackers[1]).changed
    assert changed is not None
    before = np.zeros((2, n))
    for i, graph in enumerate(after_each(n, events)):
        right = np.array([[*nx.triangles(graph).values()], [*nx.clustering(graph).values()]])
        assert found.triangles[i].tolist() == right[0].tolist(), i
        np.testing.assert_allclose(found.clustering[i], right[1], rtol=1e-12)
        assert found.total[i] == right[0].sum() // 3
        assert found.transitivity[i] == pytest.approx(nx.transitivity(graph), rel=1e-12)
        assert changed[i] == (abs(before - right) > 1e-12).any(0).sum()
        before = right
    for tracker in trackers:
        assert tracker.result.triangles.tolist() == before[0].tolist()
        assert tracker.result.transitivity == found.transitivity[-1]


@pytest.mark.slow
@SIZES
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_ranks(n: int, count: int, directed: bool, weighted: bool) -> None:
    rng = np.random.default_rng(5)
    weights, jumps = rng.integers(1, 6, count).astype(float), np.arange(n) % 3 + (0 if weighted else 1)
    graph = su.Graph(n, device="cpu", directed=directed, weight_dtype="float64" if weighted else None)
    tracker = graph.track("pagerank", personalization=jumps)
    events = (*draw(n, count, 6), weights) if weighted else draw(n, count, 6)
    found = su.replay(graph, events, tracker, at=range(n))
    assert found.compiled == count
    matrix, least = np.zeros((n, n)), 1.0
    for i, (u, v, is_new) in enumerate(zip(*(part.tolist() for part in events[:3]), strict=True)):
        for arc in [(u, v)] if directed else [(u, v), (v, u)]:
            matrix[arc] = is_new * (weights[i] if weighted else 1)
        right = exact_ranks(matrix, jumps / jumps.sum())
        distance = abs(found.answers[i] - right).sum()
        assert distance <= 8.5e-5, i
        least = min(least, distance)
    assert abs(tracker.result - right).sum() <= 8.5e-5
    assert least < 1e-5
    graph.insert_edges([0, 1], [2, 3], *([[2.0, 1.0]] if weighted else []))
    assert abs(tracker.result - graph.compute("pagerank", personalization=jumps)).sum() <= 4 * 8.5e-5


def exact_ranks(matrix: np.ndarray, jumps: np.ndarray) -> np.ndarray:
    """The solution of the equations of PageRank, with the rank of dangling vertices spread like jumps."""
    total = matrix.sum(1, keepdims=True)
    shares = np.where(total > 0, matrix / np.where(total > 0, total, 1), jumps)
    return np.linalg.solve(np.eye(len(jumps)) - 0.85 * shares.T, 0.15 * jumps)


def test_ranks_refuse_weights_without_a_usable_sum() -> None:
    graph = su.Graph(3, device="cpu", weight_dtype="float64")
    tracker = graph.track("pagerank")
    with pytest.raises(su.errors.WeightError) as caught:
        su.replay(graph, ([0, 1, 2], [1, 2, 0], [True] * 3, [1.0, -1.0, 1.0]), tracker, at=[0])
    assert caught.value.replayed.done == 1  # type: ignore[attr-defined]
    assert graph.num_edges == 1


@pytest.mark.parametrize("name", ["kcore", "triangles"])
def test_batches_between_replays(name: str) -> None:
    n, rng = 12, np.random.default_rng(3)
    graph = undirected(n)
    tracker: Any = graph.track(name)
    for turn in range(6):
        events = draw(n, 25, turn, 0.7)
        assert su.replay(graph, events, tracker).compiled == 25
        graph.insert_edges(*rng.integers(0, n, (2, 4)))
        graph.delete_edges(*rng.integers(0, n, (2, 8)))
        for got, right in zip(tracker.result, graph.compute(name), strict=True):
            np.testing.assert_array_equal(got, right)


def check_lists(numbers: Any, graph: nx.Graph) -> None:
    """The list of each level has the vertices with that core number, places grow along it, and counts are right."""
    state, listed = numbers._listed, []
    for level, head in enumerate(state.first):
        v, before = int(head), -1
        while v != su.EMPTY:
            support, place, later, rises, status, behind = (int(count) for count in state.node[v, :6])
            assert state.core[v] == level
            assert place > before
            others = [(int(state.core[w]), int(state.node[w, 1])) for w in graph[v]]
            assert support == sum(other[0] >= level for other in others)
            assert later == sum(other > (level, place) for other in others) <= level
            assert rises == status == 0
            listed, v, before = [*listed, v], behind, place
    assert sorted(listed) == list(range(len(state.node)))


@pytest.mark.skipif(not PLAIN, reason="compiled loops have their constants")
def test_places_that_run_out_are_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    n, graph = 14, undirected(14)
    loops = loops_over(graph.view(), EVENTS)
    for name, value in {"GAP": 2, "LEAST": 20, "MIDDLE": 50, "MOST": 80}.items():
        monkeypatch.setattr(loops, name, value)
    calls = [0, 0]

    def counted(number: int, function: Any) -> Any:
        def call(*given: Any) -> Any:
            calls[number] += 1
            return function(*given)

        return call

    for number, name in enumerate(("spread", "move_apart")):
        monkeypatch.setattr(loops, name, counted(number, getattr(loops, name)))
    tracker: Any = graph.track("kcore")
    numbers, edges = tracker.algorithm._numbers, nx.empty_graph(n)
    for turn in range(8):
        events = draw(n, 60, turn, 0.65)
        found = su.replay(graph, events, tracker, at=range(n))
        for u, v, is_new in zip(*(part.tolist() for part in events), strict=True):
            edges.update([(u, v)] if is_new and u != v else [])
            edges.remove_edges_from([] if is_new else [(u, v)])
        check_lists(numbers, edges)
        assert found.answers.core[-1].tolist() == graph.compute("kcore").core.tolist()
    assert calls[0] > 3
    assert calls[1] > 3


@pytest.mark.compiled
def test_a_ring_that_opens_and_closes() -> None:
    n, times = 200, 1500
    graph = undirected(n)
    graph.insert_edges(np.arange(n), (np.arange(n) + 1) % n)
    tracker = graph.track("kcore")
    cut = np.random.default_rng(1).integers(0, n, times).repeat(2)
    found = su.replay(graph, (cut, (cut + 1) % n, np.tile([False, True], times)), tracker, at=[0, n - 1])
    assert found.compiled == 2 * times
    assert found.answers.core.tolist() == [[1, 1], [2, 2]] * times
    assert found.answers.degeneracy.tolist() == [1, 2] * times


def test_what_has_no_step() -> None:
    events = [0, 1], [1, 2], [True, True]
    for name, params, why in (
        ("kcore", {"kernels": False}, "kcore has no step without its kernels"),
        ("triangles", {"kernels": False}, "triangles has no step without its kernels"),
        (
            "pagerank",
            {"norm": "linf"},
            "pagerank has a step with norm='l1' and dtype='float64' only, without self_loops and dangling",
        ),
        ("triangles", {"per_vertex": False}, "triangles has no step for a total alone"),
    ):
        graph = undirected(3)
        found = su.replay(graph, events, graph.track(name, **params), at=[0])
        assert found.reasons == {why: 2}


@pytest.mark.compiled
def test_insertions_that_change_nothing_visit_few_arcs() -> None:
    n, rng = 1000, np.random.default_rng(3)
    src, dst = np.nonzero(np.triu(rng.random((n, n)) < 0.01, 1))
    graph = undirected(n)
    graph.insert_edges(src, dst)
    tracker, is_there, work = graph.track("kcore"), np.ones(len(src), bool), 0
    for _ in range(1000):
        gone = np.flatnonzero(~is_there)
        edge = rng.choice(gone) if len(gone) and rng.random() < 0.5 else rng.integers(len(src))
        is_there[edge] = not is_there[edge]
        found = su.replay(graph, (src[[edge]], dst[[edge]], is_there[[edge]]), tracker)
        assert found.changed is not None
        work += 0 if found.changed[0] else found.most_work
    assert work < 20_000
