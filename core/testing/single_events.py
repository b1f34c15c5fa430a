"""A test of ``suricate.replay``, for algorithms and backends that handle single events in their own way."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.graph.frames import fields_of
from suricate.replaying import Replayed, replay

if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.graph.tracker import Tracker


def check_replay(
    build: Callable[[], Graph], events: tuple[Any, ...], algorithm: Any = None, **params: Any
) -> tuple[Replayed, Replayed]:
    """Assert that ``suricate.replay(events)`` has the same effect as one call per event.

    Answers and numbers of changed vertices are compared after each event, graphs and tracked results at the end.

    Args:
        build: makes a graph on the CPU, an equal one at every call.
        events: as ``suricate.replay`` takes them, with ids.
        algorithm: the algorithm to track, a name or a class; None: degrees. Its results must be exact.
        params: parameters of the algorithm.

    Returns:
        The results of two replays: one with answers at all vertices, one that counts changed vertices.
    """
    graphs = [build() for _ in range(3)]
    trackers = [None if algorithm is None else graph.track(algorithm, **params) for graph in graphs]
    size = graphs[0].num_vertices
    answered = replay(graphs[1], events, trackers[1], at=np.arange(size))
    counted = replay(graphs[2], events, trackers[2])
    assert answered.done == counted.done == len(events[0])
    assert counted.changed is not None
    before = _values(graphs[0], trackers[0])
    for i in range(len(events[0])):
        _apply(graphs[0], events, i)
        after = _values(graphs[0], trackers[0])
        for name, expected in after.items():
            got = fields_of(answered.answers)[name][i]
            assert _equal(got, expected), f"{name} after event {i}: {got}, not {expected}"
        differ = [_differing(before[name], part) for name, part in after.items() if part.shape == (size,)]
        assert counted.changed[i] == np.logical_or.reduce(differ).sum(), f"vertices that event {i} changed"
        before = after
    for graph, tracker in zip(graphs[1:], trackers[1:], strict=True):
        graph.check()
        assert _edges(graph) == _edges(graphs[0]), "the edges differ"
        assert graph.num_edges == graphs[0].num_edges
        assert np.array_equal(graph.live, graphs[0].live)
        for name, expected in _values(graph, tracker).items():
            assert _equal(before[name], expected), f"{name} of the tracker"
    return answered, counted


def _apply(graph: Graph, events: tuple[Any, ...], i: int) -> None:
    src, dst, inserted, *weight = ([part[i]] for part in events)
    if inserted[0]:
        graph.insert_edges(src, dst, *(weight if graph.weight_dtype is not None else ()))
    else:
        graph.delete_edges(src, dst)


def _values(graph: Graph, tracker: Tracker | None) -> dict[str, np.ndarray]:
    if tracker is None:
        return {"degree": graph.degrees()}
    return {name: np.array(part) for name, part in fields_of(tracker.result).items()}


def _differing(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return (one != other) & ~((one != one) & (other != other))


def _equal(one: Any, other: np.ndarray) -> bool:
    return np.shape(one) == other.shape and not _differing(np.asarray(one), other).any()


def _edges(graph: Graph) -> list[tuple[float, ...]]:
    return sorted(zip(*(part.tolist() for part in graph.edges() if part is not None), strict=True))
