"""Results with a value per edge: ``at(src, dst)``, ``top``, ``changed``, and frames with a row per edge."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import suricate as su
from suricate.errors import ParameterError, ShapeError, UnknownNameError, VertexRangeError


class Sums(NamedTuple):
    src: Any
    dst: Any
    ends: Any  # the sum of the degrees of both ends
    order: Any
    total: float


class EdgeSums(su.Algorithm):
    """For each edge the sum of the degrees of its ends, and their difference."""

    name = "edge_sums"

    def compute(self, graph):
        edges, degree = graph.edges(), graph.degrees().astype(np.int64)
        src, dst = edges.src.astype(np.int64), edges.dst.astype(np.int64)
        order = graph.device.xp.argsort(src << 32 | dst)
        src, dst = src[order], dst[order]
        sums = degree[src] + degree[dst]
        self.found = Sums(
            src.astype(np.uint32), dst.astype(np.uint32), sums, (degree[src] - degree[dst]) / 2, float(sums.sum())
        )

    @property
    def result(self):
        return Sums(*(part.copy() if hasattr(part, "copy") else part for part in self.found))


def made(device: Any, *, directed: bool = False, names: bool = False) -> su.Graph:
    graph = su.Graph(5, device=device, directed=directed)
    graph.insert_edges([3, 1, 1, 2], [0, 2, 3, 3])
    if names:
        graph.names = su.Names()
        graph.names.intern(list("abcde"))
    return graph


def test_values_at_edges(device):
    graph = made(device)
    tracker = graph.track(EdgeSums)
    found = tracker.at([3, 2, 0, 4], [0, 1, 1, 4])
    assert isinstance(found, Sums)
    assert graph.device.to_numpy(found.src).tolist() == [0, 1, 0, 4]
    assert graph.device.to_numpy(found.ends).tolist() == pytest.approx([4, 4, np.nan, np.nan], nan_ok=True)
    one = tracker.at(1, 3)
    assert one == (1, 3, 5.0, -0.5, 18.0)
    assert type(one.ends) is float
    directed = made(device, directed=True).track(EdgeSums)
    assert directed.at(3, 0).ends == 1
    assert np.isnan(directed.at(0, 3).ends)
    none = su.Graph(2, device=device).track(EdgeSums)
    assert np.isnan(none.at(0, 1).ends)


def test_rows_of_edges(device):
    graph = made(device, names=True)
    tracker = graph.track(EdgeSums)
    assert [*tracker.top(2)] == [(1, "b", "d", 5, -0.5), (2, "c", "d", 5, -0.5)]
    assert [*tracker.top(1, "order", largest=False)] == [(1, "a", "d", 4, -1.0)]
    frame = tracker.to_pandas()
    assert list(frame.columns) == ["src", "dst", "ends", "order"]
    assert frame.values.tolist() == [["a", "d", 4, -1.0], ["b", "c", 4, 0.0], ["b", "d", 5, -0.5], ["c", "d", 5, -0.5]]
    assert tracker.at("d", "a").ends == 4
    assert [*made(device).track(EdgeSums).top(1)] == [(1, 1, 3, 5, -0.5)]


def test_edges_that_change(device):
    graph = made(device)
    tracker = graph.track(EdgeSums)
    assert len(tracker.changed()) == 4
    assert {row[-1] for row in tracker.changed()} <= {"new"}
    assert len(tracker.changed()) == 0
    graph.delete_edges([1], [2])
    graph.insert_edges([0], [4])
    rows = [(*row[:3], row[-1]) for row in tracker.changed()]
    assert rows == [
        (0, 3, 5, "changed"),
        (0, 4, 3, "new"),
        (1, 2, 4, "left"),
        (1, 3, 4, "changed"),
        (2, 3, 4, "changed"),
    ]
    assert len(tracker.changed(atol=10)) == 0


def test_bad_edges(device):
    graph = made(device, names=True)
    tracker = graph.track(EdgeSums)
    with pytest.raises(ParameterError, match="per vertex: call at"):
        tracker.at([1, 2])
    with pytest.raises(ParameterError, match="degree gives values per vertex"):
        graph.track("degree").at([1], [2])
    with pytest.raises(ShapeError, match="src has 2 entries, dst has 1"):
        tracker.at([1, 2], [2])
    with pytest.raises(VertexRangeError):
        tracker.at(1, 5)
    with pytest.raises(UnknownNameError):
        tracker.at("a", "z")
    with pytest.raises(ParameterError, match="by must be one of ends, order"):
        tracker.top(by="src")
