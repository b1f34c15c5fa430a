"""Replayed events against single calls of the graph, and against independent oracles, event by event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import suricate as su
from suricate.graph.frames import fields_of
from suricate.repair.cpu.events import REFUSAL
from suricate.replaying.pieces import COMES_BACK

SIZE = 9  #: vertices of the random graphs
CHECKED = settings(
    max_examples=30, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
KINDS = {
    "directed": {"in_edges": True},
    "out-edges only": {},
    "undirected": {"directed": False},
    "without self-loops": {"directed": False, "self_loops": "drop"},
}
RUNS = {  #: algorithm (None: degrees), parameters, type of weights
    "degrees": (None, {}, None),
    "weighted degrees": (None, {}, "float64"),
    "bfs": ("bfs", {"source": 1}, None),
    "sssp": ("sssp", {"source": 1}, "float32"),
    "sssp of integers": ("sssp", {"source": 1}, "int32"),
    "wcc": ("wcc", {}, None),
    "label_propagation": ("label_propagation", {}, None),
}
FAST = ("slabhash", "blocked")  #: backends with single edges
BY_CALLS = ("label_propagation",)  #: without a step

Event = tuple[int, int, bool, int]
Edges = dict[tuple[int, int], float]


class Stream(NamedTuple):
    """A graph's edges, its deleted vertices, and events."""

    edges: list[Event]
    deleted: list[int]
    events: list[Event]


def streams(deleted: bool = True) -> st.SearchStrategy[Stream]:
    """Random streams on a small graph: self-loops, duplicates, deletions of absent edges, deleted vertices."""
    vertices, weights = st.integers(0, SIZE - 1), st.integers(0, 4)
    event = st.tuples(vertices, vertices, st.sampled_from((True, True, False)), weights)
    gone = st.lists(vertices.filter(lambda v: v != 1), max_size=2 * deleted)
    return st.builds(Stream, st.lists(event, max_size=14), gone, st.lists(event, min_size=1, max_size=40))


def arrays(events: Sequence[Event], weighted: bool) -> tuple[Any, ...]:
    """The events as ``replay`` takes them."""
    src, dst, inserted, weight = (list(part) for part in zip(*events, strict=True))
    return (src, dst, inserted, weight) if weighted else (src, dst, inserted)


def build(stream: Stream, backend: str, dtype: str | None, **kind: Any) -> su.Graph:
    """The graph that the events of a stream are to change."""
    graph = su.Graph(SIZE, backend=backend, device="cpu", weight_dtype=dtype, **kind)
    for event in stream.edges:
        apply(graph, event)
    graph.delete_vertices(stream.deleted)
    return graph


def apply(graph: su.Graph, event: Event) -> None:
    """Make one event by a call."""
    u, v, inserted, w = event
    if inserted:
        graph.insert_edges([u], [v], None if graph.weight_dtype is None else [w])
    else:
        graph.delete_edges([u], [v])


def values(graph: su.Graph, tracker: Any, at: Any = None) -> dict[str, np.ndarray]:
    """Copies of what the tracker says of all vertices, or some."""
    if tracker is None:
        return {"degree": graph.degrees() if at is None else graph.degrees()[at]}
    return {name: np.array(part) for name, part in fields_of(tracker.result if at is None else tracker.at(at)).items()}


def sorted_edges(graph: su.Graph) -> list[tuple[float, ...]]:
    """All edges with their weights."""
    return sorted(zip(*(part.tolist() for part in graph.edges() if part is not None), strict=True))


def tracked(graph: su.Graph, name: str | None, params: dict[str, Any]) -> Any:
    """A tracker, or None."""
    return None if name is None else graph.track(name, **params)


def check_against_calls(stream: Stream, backend: str, run: str, kind: dict[str, Any]) -> None:
    """Compare replays, with and without ``at``, with single calls."""
    name, params, dtype = RUNS[run]
    graphs = [build(stream, backend, dtype, **kind) for _ in range(3)]
    calls, one, other = (tracked(graph, name, params) for graph in graphs)
    at, events = [1, 0, SIZE - 1, 3], arrays(stream.events, dtype is not None)
    follower = graphs[1].track("bfs", source=1)  # another tracker, that gets net deltas
    replayed = su.replay(graphs[1], events, one, at=at)
    counted = su.replay(graphs[2], events, other)
    assert replayed.done == counted.done == len(stream.events)
    if backend in FAST and run not in BY_CALLS:
        reasons = replayed.reasons.keys() | counted.reasons.keys()
        assert reasons <= {COMES_BACK, REFUSAL, "wcc needs in-edges for a step"}
        assert replayed.compiled or reasons
    before = values(graphs[0], calls)
    for i, event in enumerate(stream.events):
        apply(graphs[0], event)
        after, here = values(graphs[0], calls), values(graphs[0], calls, at)
        for field, expected in here.items():
            got = fields_of(replayed.answers)[field][i]
            assert np.array_equal(got, expected), f"{field} after event {i}: {got}, not {expected}"
        per_vertex = [field for field, part in after.items() if part.shape == (SIZE,)]
        differ = np.logical_or.reduce([before[field] != after[field] for field in per_vertex])
        assert counted.changed is not None
        assert counted.changed[i] == differ.sum(), f"changed vertices of event {i}"
        before = after
    for graph, tracker in ((graphs[1], one), (graphs[2], other)):
        graph.check()
        assert sorted_edges(graph) == sorted_edges(graphs[0])
        assert graph.live.tolist() == graphs[0].live.tolist()
        assert graph.num_edges == graphs[0].num_edges
        for field, expected in before.items():
            assert np.array_equal(values(graph, tracker)[field], expected)
    assert np.array_equal(follower.result.level, graphs[0].compute("bfs", source=1).level)
    apply(graphs[1], (2, 5, True, 1))  # the state is handed back: updates go on from it
    apply(graphs[0], (2, 5, True, 1))
    for field, expected in values(graphs[0], calls).items():
        assert np.array_equal(values(graphs[1], one)[field], expected)


@pytest.mark.compiled
@pytest.mark.parametrize("backend", ["slabhash", "blocked", "csr_baseline", "gpma", "hornet_like"])
@pytest.mark.parametrize("run", RUNS)
@given(streams(), st.sampled_from(sorted(KINDS)))
@CHECKED
def test_every_answer_is_that_of_single_calls(backend: str, run: str, stream: Stream, kind: str) -> None:
    if run == "label_propagation" and kind == "out-edges only":
        kind = "directed"
    check_against_calls(stream, backend, run, KINDS[kind])
