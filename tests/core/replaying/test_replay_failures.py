"""Replays that cannot go on, invalid input, names, and other users of the graph."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from patience import PATIENCE

import suricate as su
from suricate import errors
from suricate.replaying import calls, pieces

pytestmark = pytest.mark.plain
BACKENDS = ["slabhash", "blocked", "csr_baseline", "gpma", "hornet_like"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_was_done_stands_when_memory_runs_out(backend: str) -> None:
    n, rng = 500, np.random.default_rng(2)
    events = rng.integers(0, n, 60_000), rng.integers(0, n, 60_000), np.ones(60_000, bool)
    events[2][::50] = False
    small = su.Graph(n, backend=backend, device="cpu", in_edges=True)
    limit = 4 * max(sum(allocated for _, allocated in store.memory().values()) for store in small._stores) + 80_000
    graph = su.Graph(n, backend=backend, device="cpu", in_edges=True, memory_limit=limit)
    few = tuple(part[: 60_000 if backend in ("slabhash", "blocked") else 15_000] for part in events)
    with pytest.raises(errors.CapacityError) as caught:
        su.replay(graph, few, at=[1, 2])
    replayed: Any = caught.value.replayed  # type: ignore[attr-defined]
    done = replayed.done
    assert 0 < done < len(few[0])
    assert replayed.answers.degree.shape == (done, 2)
    arcs: set[tuple[int, int]] = set()
    for u, v, is_new in zip(*(part[:done].tolist() for part in few), strict=True):
        (arcs.add if is_new else arcs.discard)((u, v))
    assert set(zip(*(part.tolist() for part in graph.edges()[:2]), strict=True)) == arcs
    assert replayed.answers.degree[-1].tolist() == graph.degrees()[[1, 2]].tolist()
    graph.check()
    with pytest.raises(errors.CapacityError):
        graph.insert_edges(few[0][done : done + 1], few[1][done : done + 1])


def test_an_interrupt_ends_a_replay_between_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", 8)
    finish = pieces._Piece._finish

    def interrupted(self: Any, *given: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        finish(self, *given)

    monkeypatch.setattr(pieces._Piece, "_finish", interrupted)
    graph = su.Graph(30, directed=False, device="cpu")
    tracker = graph.track("wcc")
    with pytest.raises(KeyboardInterrupt) as caught:
        su.replay(graph, (range(20), range(1, 21), [True] * 20), tracker, at=[8])
    replayed: Any = caught.value.replayed  # type: ignore[attr-defined]
    assert replayed.done == graph.num_edges == 8
    assert replayed.answers.label[:, 0].tolist() == [8] * 7 + [0]
    assert tracker.result.num_components == 22


def test_an_interrupt_ends_single_calls_behind_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    change = calls.SingleCalls._change

    def interrupted(self: Any, i: int) -> None:
        change(self, i)
        if i == 3:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(calls.SingleCalls, "_change", interrupted)
    graph = su.Graph(30, directed=False, device="cpu", backend="csr_baseline")
    with pytest.raises(KeyboardInterrupt) as caught:
        su.replay(graph, (range(20), range(1, 21), [True] * 20), at=[3])
    replayed: Any = caught.value.replayed  # type: ignore[attr-defined]
    assert replayed.done == graph.num_edges == 4
    assert replayed.answers.degree[:, 0].tolist() == [0, 0, 1, 2]


def test_other_threads_get_their_turn_between_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", 32)
    graph, seen = su.Graph(50, directed=False, device="cpu"), list[int]()
    tracker, run = graph.track("wcc"), pieces.Pieces.run

    def look() -> None:
        with graph.exclusive():
            seen.append(graph.num_edges)
            assert tracker.result.num_components == 50 - graph.num_edges

    def look_before(self: pieces.Pieces) -> str:
        with ThreadPoolExecutor(1) as other:
            other.submit(look).result(PATIENCE)
        return run(self)

    monkeypatch.setattr(pieces.Pieces, "run", look_before)
    ids = np.arange(49).repeat(8)
    found = su.replay(graph, (ids, ids + 1, np.ones(len(ids), bool)), tracker, at=[49])
    assert found.done == len(ids)
    assert seen == [*range(0, 49, 4)]


def test_insertions_since_a_mark_are_known() -> None:
    graph = su.Graph(6, device="cpu")
    graph.insert_edges([0], [1])
    graph.mark()
    su.replay(graph, ([1, 2, 1], [2, 3, 2], [True, True, False]))
    assert [part.tolist() for part in graph.updated()[:2]] == [[2], [3]]
    graph.check()


@pytest.mark.parametrize("backend", ["slabhash", "csr_baseline"])
def test_an_event_that_a_tracker_cannot_follow_is_undone(backend: str) -> None:
    graph = su.Graph(4, device="cpu", in_edges=True, weight_dtype="float32", backend=backend)
    tracker = graph.track("sssp", source=0)
    events = [0, 1, 0, 2], [1, 2, 1, 3], [True] * 4, [1.0, 1.0, -2.0, 1.0]
    with pytest.raises(errors.WeightError) as caught:
        su.replay(graph, events, tracker, at=[2])
    replayed: Any = caught.value.replayed  # type: ignore[attr-defined]
    assert replayed.done == 2
    assert replayed.answers.distance[:, 0].tolist() == [np.inf, 2.0]
    assert graph.edge_weights([0], [1]).tolist() == [1.0]
    assert graph.num_edges == 2
    assert tracker.result.distance.tolist() == [0.0, 1.0, 2.0, np.inf]


def test_zero_weights_and_long_paths_take_wider_words() -> None:
    graph = su.Graph(4, device="cpu", in_edges=True, weight_dtype="uint32")
    tracker = graph.track("sssp", source=0)
    events = [0, 1, 2, 1, 0], [1, 2, 3, 2, 3], [True, True, True, True, True], [2**31, 2**31, 5, 0, 7]
    found = su.replay(graph, events, tracker, at=[3])
    assert found.answers.distance[:, 0].tolist() == [-1, -1, 2**32 + 5, 2**31 + 5, 7]
    assert found.compiled == 4  # the wider words stay
    assert graph.compute("sssp", source=0).distance.tolist() == tracker.result.distance.tolist()


INVALID: list[tuple[type[Exception], Any, dict[str, Any]]] = [
    (errors.ShapeError, ([0], [1]), {}),
    (errors.ShapeError, ([0, 1], [1], [True, True]), {}),
    (errors.ShapeError, ([0], [1], [True, False]), {}),
    (errors.ShapeError, ([0], [1], [[True]]), {}),
    (errors.DTypeError, ([0.5], [1], [True]), {}),
    (errors.DTypeError, ([0], [1], [2]), {}),
    (errors.DTypeError, (["a"], ["b"], [True]), {}),
    (errors.VertexRangeError, ([0, 1], [1, 9], [True, False]), {}),
    (errors.VertexRangeError, ([0], [1], [True]), {"at": [9]}),
    (errors.ShapeError, ([0], [1], [True]), {"at": [[0]]}),
    (errors.WeightError, ([0], [1], [True], [1.0]), {}),
    (errors.SelfLoopError, ([0, 1], [1, 1], [True, True]), {}),
]


@pytest.mark.parametrize(("error", "events", "options"), INVALID)
def test_invalid_input_changes_nothing(error: type[Exception], events: Any, options: dict[str, Any]) -> None:
    graph = su.Graph(4, device="cpu", self_loops="error")
    with pytest.raises(error):
        su.replay(graph, events, **options)
    assert (graph.num_edges, graph.version) == (0, 0)


def test_weights_of_insertions_only_are_checked() -> None:
    graph = su.Graph(4, device="cpu", weight_dtype="int32")
    su.replay(graph, ([0, 0], [1, 2], [True, False], [3.0, np.nan]))
    assert graph.edge_weights([0], [1]).tolist() == [3]
    with pytest.raises(errors.WeightError, match=r"weight\[1\] is 0.5"):
        su.replay(graph, ([0, 0], [1, 2], [False, True], [np.nan, 0.5]))
    with pytest.raises(errors.WeightError, match="missing"):
        su.replay(graph, ([0], [2], [True]))
    su.replay(graph, ([0], [1], [False]))  # none to check
    assert graph.num_edges == 0


def test_trackers_must_be_open_and_of_the_graph() -> None:
    graph, other = (su.Graph(4, directed=False, device="cpu") for _ in range(2))
    closed = graph.track("wcc")
    closed.close()
    for tracker in (closed, other.track("wcc"), "wcc"):
        with pytest.raises(errors.ParameterError):
            su.replay(graph, ([0], [1], [True]), tracker)
    assert graph.num_edges == 0


@pytest.mark.parametrize("backend", ["slabhash", "csr_baseline"])
def test_names_are_taken_and_added_event_by_event(backend: str) -> None:
    graph = su.Graph(directed=False, device="cpu", names=["ann", "bob", "cem"], backend=backend)
    tracker = graph.track("wcc")
    src, dst = ["ann", "dan", "cem", "eve", "dan", "fay"], ["bob", "ann", "dan", "bob", "eve", "ann"]
    events = src, np.array(dst), [True, False, True, True, True, False]
    found = su.replay(graph, events, tracker, at=["bob", "cem"])
    assert found.answers.label.tolist() == [[0, 2], [0, 2], [0, 2], [0, 2], [0, 0], [0, 0]]
    assert found.answers.num_components.tolist() == [2, 2, 2, 2, 1, 1]
    assert graph.names[range(5)].tolist() == ["ann", "bob", "cem", "dan", "eve"]
    assert graph.neighbors("dan").tolist() == graph.names.find(["cem", "eve"]).tolist()


def test_columns_of_edges_are_kept_event_by_event() -> None:
    graph = su.Graph(4, directed=False, device="cpu", edge_columns={"amount": "float32"})
    tracker = graph.track("sssp", source=0, weight="amount")
    events = [0, 1, 0, 0], [1, 2, 1, 1], [True, True, True, False], {"amount": [2.0, 3.0, 1.0, 9.0]}
    found = su.replay(graph, events, tracker, at=[2])
    assert found.answers.distance[:, 0].tolist() == [np.inf, 5.0, 4.0, np.inf]
    assert graph.edge_columns.at("amount", [1], [2]).tolist() == [3.0]
    with pytest.raises(errors.ShapeError):
        su.replay(graph, ([0], [1], [True], {"amount": [2.0, 3.0]}), tracker)
    assert graph.num_edges == 1
    assert sum(found.reasons.values()) == 4


def test_an_empty_replay_and_empty_answers() -> None:
    graph = su.Graph(4, device="cpu")
    found = su.replay(graph, ([], [], []), at=[1])
    assert (found.done, found.answers.degree.shape) == (0, (0, 1))
    found = su.replay(graph, ([0], [1], [True]), at=[])
    assert (found.done, found.answers.degree.shape) == (1, (1, 0))
    assert su.replay(graph, ([0], [2], [True]), at=0).answers.degree.tolist() == [[2]]


@pytest.mark.gpu
def test_graphs_on_cuda_are_refused_with_advice() -> None:
    graph = su.Graph(4, device="cuda")
    with pytest.raises(errors.DeviceError, match=r"graph.to\('cpu'\)"):
        su.replay(graph, ([0], [1], [True]))
