"""Replayed events against single calls of the graph, and against independent oracles, event by event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import suricate as su
from suricate.repair.cpu.event_step import REFUSAL
from suricate.replaying.pieces import COMES_BACK
from suricate.testing import check_replay

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


def check_against_calls(stream: Stream, backend: str, run: str, kind: dict[str, Any]) -> None:
    """Compare replays, with and without ``at``, with single calls; then make one more change by a call."""
    name, params, dtype = RUNS[run]
    graphs: list[su.Graph] = []
    followers: list[Any] = []
    trackers: list[Any] = []  # they share the state of those of the check

    def built() -> su.Graph:
        graphs.append(build(stream, backend, dtype, **kind))
        followers.append(graphs[-1].track("bfs", source=1))  # another tracker, that gets net deltas
        trackers.append(None if name is None else graphs[-1].track(name, **params))
        return graphs[-1]

    found = check_replay(built, arrays(stream.events, dtype is not None), name, **params)
    if backend in FAST and run not in BY_CALLS:
        reasons = set().union(*(one.reasons for one in found))
        assert reasons <= {COMES_BACK, REFUSAL, "wcc needs in-edges for a step"}
        assert found[0].compiled or reasons
    for graph, follower, tracker in zip(graphs, followers, trackers, strict=True):
        assert np.array_equal(follower.result.level, graph.compute("bfs", source=1).level)
        if name is not None and name != "label_propagation":  # the state was handed back: updates go on from it
            apply(graph, (2, 5, True, 1))
            for got, right in zip(tracker.result, graph.compute(name, **params), strict=True):
                assert np.array_equal(got, right)


@pytest.mark.plain
@pytest.mark.parametrize("backend", ["slabhash", "blocked", "csr_baseline", "gpma", "hornet_like"])
@pytest.mark.parametrize("run", RUNS)
@given(streams(), st.sampled_from(sorted(KINDS)))
@CHECKED
def test_every_answer_is_that_of_single_calls(backend: str, run: str, stream: Stream, kind: str) -> None:
    if run == "label_propagation" and kind == "out-edges only":
        kind = "directed"
    check_against_calls(stream, backend, run, KINDS[kind])
