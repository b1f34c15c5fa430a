"""Deleted vertices are in no answer: each equals that on the graph without them, from scratch and kept current."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from turns import few

import suricate as su
from suricate.base.devices import Device
from suricate.base.types import EMPTY
from suricate.errors import ParameterError, VertexRangeError

N = 24
VERTICES = {"label", "parent"}  # fields of results that hold ids
NOTHING = {"level": -1, "distance": -1, "parent": -1}  # at deleted vertices; of other fields 0
CASES: dict[str, dict[str, Any]] = {
    "bfs": {"source": 1}, "sssp": {"source": 1}, "wcc": {}, "scc": {}, "kcore": {}, "triangles": {}, "spmv": {},
    "degree": {}, "directed_triangles": {}, "directed_kcore": {},
    "closeness": {}, "betweenness": {"k": 4, "endpoints": True},
}  # fmt: skip


def changed(graph: su.Graph) -> Any:
    """Change a graph step by step: vertices are deleted, recycled, given edges, which they lose again."""
    rng, xp = np.random.default_rng(8), graph.device.xp

    def batch(size: int, most: int = N) -> tuple[Any, ...]:
        src, dst = map(xp.asarray, rng.integers(0, most, (2, size)))
        return (src, dst) if graph.weight_dtype is None else (src, dst, 1.0)

    graph.insert_edges(*batch(30))
    yield
    graph.delete_vertices([3, 4, 9, 17, 23])
    yield
    graph.insert_edges(*batch(5, 8))
    yield
    edge = tuple(map(xp.asarray, ([9, 0], [9, 17])))
    graph.insert_edges(*edge, *batch(0)[2:])
    yield
    graph.delete_edges(*edge)  # 9 and 17 stay live
    yield
    graph.delete_vertices([9, 5, 0])
    yield
    graph.insert_vertices(1, recycle=True)
    graph.apply(su.Batch(insert=batch(6), delete=batch(6)[:2]))
    yield
    graph.insert_vertices(6, recycle=True)
    yield


def without_deleted(graph: su.Graph) -> tuple[su.Graph, np.ndarray]:
    """Return a graph on the CPU of the live vertices alone, renumbered, and their ids."""
    live = graph.device.to_numpy(graph.live_vertices)
    number = np.full(graph.num_vertices, -1)
    number[live] = np.arange(len(live))
    other = su.Graph(
        len(live), device="cpu", directed=graph.directed, in_edges=graph.directed, weight_dtype=graph.weight_dtype
    )
    src, dst, weight = (None if part is None else graph.device.to_numpy(part) for part in graph.edges())
    other.insert_edges(number[src], number[dst], weight)
    return other, live


def fields(result: Any, device: Device) -> dict[str, Any]:
    parts = result._asdict() if hasattr(result, "_asdict") else {"value": result}
    return {name: device.to_numpy(part) if hasattr(part, "dtype") else part for name, part in parts.items()}


def compare(name: str, graph: su.Graph, result: Any, **params: Any) -> None:
    """Compare a result with that on the graph without deleted vertices."""
    other, live = without_deleted(graph)
    if "source" in params:
        params["source"] = int(np.flatnonzero(live == params["source"])[0])
    deleted = graph.deleted_vertices
    right = fields(other.compute(name, **params), other.device)
    for field, got in fields(result, graph.device).items():
        if np.ndim(got) == 0:
            assert got == pytest.approx(right[field]), field
            continue
        expected = right[field]
        if field in VERTICES:
            expected = np.where(expected < 0, expected, live[expected])
        np.testing.assert_allclose(got[live], expected, rtol=1e-12, err_msg=field)
        nothing = deleted if field == "label" else NOTHING.get(field, 0)
        np.testing.assert_array_equal(got[deleted], np.broadcast_to(nothing, len(deleted)), err_msg=field)


@pytest.mark.parametrize("repairs", [False, True], ids=["recomputed", "repaired"])
@pytest.mark.parametrize("name", CASES)
def test_an_answer_is_that_without_deleted_vertices(
    device: Device, monkeypatch: pytest.MonkeyPatch, name: str, repairs: bool
) -> None:
    kind = su.plugins.algorithm(name)
    monkeypatch.setattr(kind, "should_recompute", lambda *_, **__: not repairs)
    graph = su.Graph(N, device=device, directed=not kind.requires.undirected, in_edges=not kind.requires.undirected)
    params = CASES[name]
    tracker = graph.track(name, **params)
    for _ in changed(graph):
        compare(name, graph, tracker.result, **params)
        compare(name, graph, graph.compute(name, **params), **params)


ITERATED: dict[str, dict[str, Any]] = {
    "pagerank": {"tol": 1e-13},
    "katz": {"tol": 1e-13, "alpha": 0.05, "beta": dict.fromkeys(range(0, N, 2), 1.0)},
    "hits": {"tol": 1e-12, "max_iter": 20_000},
    "eigenvector": {"tol": 1e-11, "max_iter": 20_000},
}


@pytest.mark.parametrize("repairs", [False, True], ids=["recomputed", "repaired"])
@pytest.mark.parametrize("name", few(ITERATED))
def test_iterations_are_those_without_deleted_vertices(
    device: Device, monkeypatch: pytest.MonkeyPatch, name: str, repairs: bool
) -> None:
    kind = su.plugins.algorithm(name)
    monkeypatch.setattr(kind, "should_recompute", lambda *_, **__: not repairs)
    graph = su.Graph(N, device=device, directed=name == "pagerank", in_edges=name == "pagerank")
    params = ITERATED[name]
    tracker = graph.track(name, **params)
    for _ in changed(graph):
        other, live = without_deleted(graph)
        own = dict(params)
        if name == "katz":
            own["beta"] = {i: params["beta"].get(int(v), 0.0) for i, v in enumerate(live)}
        right = fields(other.compute(name, **own), other.device)
        for result in (tracker.result, graph.compute(name, **params)):
            for field, got in fields(result, device).items():
                np.testing.assert_allclose(got[live], right[field], atol=1e-8, err_msg=field)
                assert not got[graph.deleted_vertices].any()


def test_a_personalization_without_live_vertices(device: Device) -> None:
    graph = su.Graph(6, device=device, in_edges=True)
    graph.insert_edges([0, 1, 2, 3], [1, 2, 3, 4])
    tracker = graph.track("pagerank", personalization={1: 1, 3: 2}, tol=1e-12)
    graph.delete_vertices([3])
    alone = graph.compute("pagerank", personalization={1: 1}, tol=1e-12)
    np.testing.assert_allclose(device.to_numpy(tracker.result), device.to_numpy(alone), atol=1e-11)
    graph.delete_vertices([1])
    for read in (lambda: tracker.result, lambda: graph.compute("pagerank", personalization={1: 1})):
        with pytest.raises(ParameterError, match="pagerank: personalization has no live vertex"):
            read()
    graph.insert_edges([1], [2])
    np.testing.assert_allclose(
        device.to_numpy(tracker.result), device.to_numpy(graph.compute("pagerank", personalization={1: 1}, tol=1e-12)),
        atol=1e-11,
    )  # fmt: skip
    graph.delete_vertices(range(6))
    assert device.to_numpy(graph.compute("pagerank")).tolist() == [0] * 6


def test_a_deleted_vertex_is_no_member_of_an_independent_set(device: Device) -> None:
    graph = su.Graph(N, device=device, in_edges=True)
    tracker, host = graph.track("independent_set"), device.to_numpy
    for _ in changed(graph):
        src, dst = map(host, graph.edges()[:2])
        right = type(tracker.algorithm).reference(src, dst, None, graph.num_vertices, True, live=host(graph.live))
        np.testing.assert_array_equal(host(tracker.result), right)
        np.testing.assert_array_equal(host(graph.compute("independent_set")), right)


@pytest.mark.parametrize("restart", [0.0, 0.5])
def test_walks_from_deleted_vertices_are_empty(device: Device, restart: float) -> None:
    graph = su.Graph(N, device=device)
    tracker = graph.track("random_walks", length=4, walks_per_vertex=2, restart=restart)
    for _ in changed(graph):
        walks = device.to_numpy(tracker.result)
        assert walks.shape == (2 * graph.num_vertices, 5)
        empty = np.flatnonzero((walks == EMPTY).all(axis=1))
        np.testing.assert_array_equal(np.unique(empty // 2), graph.deleted_vertices)
        assert not np.isin(walks, graph.deleted_vertices).any()


NAMED = (("bfs", {"source": 2}), ("sssp", {"source": 2}), ("random_walks", {"starts": [1, 2]}))


@pytest.mark.parametrize(("name", "params"), NAMED)
def test_a_deleted_source_is_an_error_at_the_read_until_it_is_back(
    device: Device, name: str, params: dict[str, Any]
) -> None:
    graph = su.Graph(4, device=device)
    graph.insert_edges([2, 0], [0, 1])
    tracker, closed = graph.track(name, **params), graph.track(name, **params)
    closed.close()
    assert graph.delete_vertices([2]).num_deleted == 1
    graph.insert_edges([1], [3])
    for call in (lambda: tracker.result, lambda: graph.compute(name, **params)):
        with pytest.raises(VertexRangeError, match=rf"{name}: (source|starts\[1\]) is 2: this vertex is deleted"):
            call()
    graph.insert_edges(*(device.xp.asarray([end]) for end in (2, 1)))
    for found, right in zip(
        fields(tracker.result, device).values(), fields(graph.compute(name, **params), device).values(), strict=True
    ):
        np.testing.assert_array_equal(found, right)
    graph.delete_vertices([2])
    assert len(fields(closed.result, device)) > 0  # it was closed when the source was live
    with pytest.raises(VertexRangeError):
        _ = tracker.result
    tracker.close()


class NeedsAllVertices(su.Algorithm):
    """Refuses graphs with deleted vertices, in updates too."""

    name = "needs_all"

    def compute(self, graph):
        if graph.num_live < graph.num_vertices:
            raise VertexRangeError("a vertex is deleted")
        self.seen = graph.num_live

    @property
    def result(self):
        return self.seen


def test_deleting_vertices_never_fails_because_of_a_tracker(device: Device) -> None:
    graph = su.Graph(4, device=device)
    tracker = graph.track(NeedsAllVertices)
    graph.delete_vertices([2])
    assert (tracker.stale, tracker.updates.failed) == (True, 1)
    with pytest.raises(VertexRangeError):
        _ = tracker.result
    graph.insert_vertices(2, recycle=True)
    assert tracker.result == 5
