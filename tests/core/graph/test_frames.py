"""Frames of trackers: the best, all, changed and chosen live vertices, with their names."""

from __future__ import annotations

import copy
from typing import NamedTuple

import numpy as np
import pandas
import pyarrow
import pytest

import suricate as su
from suricate import stream
from suricate.errors import (
    MissingLibraryError,
    ParameterError,
    RequirementError,
    ShapeError,
    UnknownNameError,
    VertexRangeError,
)

GIVEN = {}  # the result of ``Given``, by version of the graph


class Result(NamedTuple):
    score: object
    total: int
    mark: object


class Given(su.Algorithm):
    """Answers what a test has put down."""

    name = "given"

    def compute(self, graph):
        self.graph = graph

    def update(self, graph, delta):
        pass

    @property
    def result(self):
        put = self.graph.device.xp.asarray
        score = put(np.array(GIVEN["score"]))
        return Result(score, 7, put(np.arange(len(score), dtype=np.uint32))) if GIVEN.get("parts") else score


class Grouped(Given):
    name = "grouped"
    groups = "value"


class Pointing(Given):
    name = "pointing"
    pointers = ("score",)


@pytest.fixture
def graph(device):
    return su.Graph(6, device=device)


def track(graph, score, kind=Given, *, parts=False):
    GIVEN.update(score=score, parts=parts)
    return graph.track(kind)


def named(graph, *names):
    graph.names = su.Names()
    graph.names.intern(list(names))


def order(frame):
    return frame["vertex"].tolist()


SCORES = [
    [3.0, np.nan, 1.0, 3.0, np.inf, -np.inf],
    [0, 2**63 - 1, -(2**63), 2**63 - 2, 0, 5],
    np.array([0, 2**32 - 1, 7, 7, 7, 1], np.uint32),
    [True, False, True, False, False, True],
]


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("score", SCORES, ids=["float", "int64", "uint32", "bool"])
def test_the_best_come_in_order_ties_by_id_and_nan_last(graph, score, largest):
    tracker = track(graph, score)
    numbers = np.array(score).tolist()
    sign = -1 if largest else 1
    wanted = sorted(
        range(6), key=lambda v: (numbers[v] != numbers[v], sign * numbers[v] if numbers[v] == numbers[v] else 0, v)
    )
    for k in range(8):
        frame = tracker.top(k, largest=largest)
        assert order(frame) == wanted[:k]
        np.testing.assert_array_equal(frame["value"], np.array(score)[wanted[:k]])
        assert frame["rank"].tolist() == list(range(1, min(k, 6) + 1))


def test_deleted_vertices_are_in_no_frame(graph):
    tracker = track(graph, [1.0, 9.0, 2.0, 3.0, 4.0, 5.0])
    graph.delete_vertices([1, 4])
    assert order(tracker.top(2)) == [5, 3]
    assert order(tracker.changed()) == tracker.to_pandas()["vertex"].tolist() == [0, 2, 3, 5]
    assert tracker.to_arrow().to_pydict() == {"vertex": [0, 2, 3, 5], "value": [1.0, 2.0, 3.0, 5.0]}


def test_another_array_of_the_result_can_be_ranked(graph):
    tracker = track(graph, [1, 0, 0, 0, 5, 0], parts=True)
    frame = tracker.top(2, by="mark")
    assert frame.columns == ("rank", "vertex", "score", "mark")
    assert list(frame) == [(1, 5, 0, 5), (2, 4, 5, 4)]
    with pytest.raises(ParameterError, match="by must be one of score, mark, got 'total'"):
        tracker.top(by="total")
    with pytest.raises(ParameterError, match="k must be at least 0"):
        tracker.top(-1)
    with pytest.raises(UnknownNameError, match="there are rank, vertex, score, mark"):
        frame["value"]


def test_groups_are_ranked_by_size_and_called_after_their_vertex(graph):
    tracker = track(graph, np.array([0, 1, 1, 0, 4, 5], np.uint32), Grouped)
    named(graph, *"abcdef")
    graph.delete_vertices([4])
    assert tracker.top(3).columns == ("rank", "vertex", "name", "size")
    assert list(tracker.top(3)) == [(1, 0, "a", 2), (2, 1, "b", 2), (3, 5, "f", 1)]
    assert order(tracker.top(1, largest=False)) == [5]
    assert list(tracker.top(1, by="value")) == [(1, 5, "f", 5, "f")]


def test_values_at_ids_and_names(graph):
    tracker = track(graph, [0, 10, 20, 30, 40, 50], parts=True)
    named(graph, *"abcdef")
    to_list = lambda array: graph.device.to_numpy(array).tolist()  # noqa: E731
    assert to_list(tracker.at([5, 1, 5]).score) == [50, 10, 50]
    assert tracker.at([5]).total == 7
    columns = pyarrow.array(["f", "b"]), pandas.Series(["f", "b"], index=[7, 8])
    for texts in (["f", "b"], np.array(["f", "b"]), np.array(["f", "b"], object), *columns):
        assert to_list(tracker.at(texts).mark) == [5, 1]
    assert tracker.at("c") == tracker.at(2) == (20, 7, 2)
    assert type(tracker.at(2).score) is int
    assert to_list(tracker.at([]).score) == []


def test_columns_of_vertices_have_names(graph):
    tracker = track(graph, [-1, 0, 1, 1, 5, -1], Pointing, parts=True)
    named(graph, *"abcde")
    assert tracker.top(2).columns == ("rank", "vertex", "name", "score", "score_name", "mark")
    assert tracker.to_arrow()["score_name"].to_pylist() == [None, "a", "b", "b", None, None]
    assert tracker.changed()["score_name"].tolist() == [None, "a", "b", "b", None, None]
    graph.names = None
    assert tracker.top(2).columns == ("rank", "vertex", "score", "mark")


def test_closed_trackers_answer_for_their_graph_only(graph):
    tracker = track(graph, [5, 4, 3, 2, 1, 0])
    tracker.close()
    assert tracker.at(1) == 4
    graph.delete_vertices([3])
    for ask in (tracker.top, tracker.changed, tracker.to_pandas, lambda: tracker.at(1)):
        with pytest.raises(ParameterError, match="the tracker is closed, and the graph has changed"):
            ask()


def test_integers_are_ids_and_names_only_where_that_is_said(graph):
    tracker = track(graph, [0, 10, 20, 30, 40, 50])
    graph.names = su.Names("int64")
    graph.names.intern([3, -(2**63), 2])
    assert tracker.at(2) == 20
    assert tracker.at(names=2) == 20
    assert tracker.at(names=-(2**63)) == 10
    assert tracker.at(names=3) == 0
    with pytest.raises(UnknownNameError, match=r"names\[1\] is 7: the graph has no vertex of this name"):
        tracker.at(names=[3, 7])


def test_what_is_at_no_vertex_is_an_error(graph):
    tracker = track(graph, [0] * 6)
    with pytest.raises(UnknownNameError, match="the graph has no names"):
        tracker.at(["a"])
    with pytest.raises(UnknownNameError, match="the graph has no names"):
        tracker.at(names=["a"])
    named(graph, "a")
    with pytest.raises(UnknownNameError, match=r"ids\[1\] is 'x'"):
        tracker.at(["a", "x"])
    with pytest.raises(UnknownNameError, match=r"ids\[1\] is 'x'"):
        tracker.at(pandas.Series(["a", "x"], index=[7, 8]))
    with pytest.raises(VertexRangeError, match=r"ids\[0\] is 6"):
        tracker.at([6])
    with pytest.raises(ShapeError, match="one-dimensional"):
        tracker.at([[1, 2]])
    with pytest.raises(ParameterError, match="ids, or names="):
        tracker.at()
    tracker = track(graph, [0, 0])
    for ask in (tracker.top, tracker.changed, tracker.to_pandas, tracker.to_arrow, lambda: tracker.at([1])):
        with pytest.raises(ParameterError, match="given gives no value per vertex"):
            ask()


def test_changed_vertices_are_those_since_the_last_call(graph):
    tracker = track(graph, [1.0, np.nan, np.inf, 2.0, 3.0, 4.0])
    assert tracker.changed()["change"].tolist() == ["new"] * 6
    assert len(tracker.changed()) == 0
    graph.delete_vertices([5, 4])
    graph.insert_vertices(1, recycle=True)  # 4
    graph.insert_vertices(1)
    GIVEN["score"] = [1.25, np.nan, -np.inf, 5.0, np.nan, 0.0, 9.0]
    frame = tracker.changed(atol=0.25)
    assert frame.columns == ("vertex", "value", "change")
    assert order(frame) == [2, 3, 4, 5, 6]
    assert frame["change"].tolist() == ["changed", "changed", "changed", "left", "new"]
    np.testing.assert_array_equal(frame["value"], [-np.inf, 5.0, np.nan, 4.0, 9.0])
    with pytest.raises(ParameterError, match="atol"):
        tracker.changed(atol=-1)


@pytest.mark.parametrize("dtype", ["int64", "uint32", "bool"])
def test_differences_of_integers_do_not_wrap(graph, dtype):
    low, high = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    tracker = track(graph, np.array([low, high, 0, 1, 1, 0], dtype))
    tracker.changed()
    GIVEN["score"] = np.array([high, low, 0, 0, 1, 1], dtype)
    assert order(tracker.changed(atol=0.5)) == [0, 1, 3, 5]
    GIVEN["score"] = np.array([low, high, 0, 1, 1, 0], dtype)
    assert order(tracker.changed(atol=1)) == ([] if dtype == "bool" else [0, 1])


def test_names_that_left_and_ids_given_to_other_names(graph):
    tracker = track(graph, [1] * 6)
    named(graph, *"abcdef")
    tracker.changed()
    graph.names.next_slide()
    graph.names.forget([1, 2])
    graph.delete_vertices([1, 2])
    frame = tracker.changed()
    assert list(frame) == [(1, "b", 1, "left"), (2, "c", 1, "left")]
    graph.names.next_slide()
    graph.insert_vertices(1, recycle=True)
    assert graph.names.intern("x") == 1
    assert list(tracker.changed()) == [(1, "x", 1, "new")]
    graph.names.next_slide()
    graph.names.forget([0, 1])
    graph.names.next_slide()
    assert graph.names.intern(["y"]).tolist() == [0]  # vertex 0 is another one now, with an equal value
    assert list(tracker.changed()) == [(0, "y", 1, "new")]


def test_a_vertex_whose_id_was_given_on_and_freed_again_has_left(graph):
    tracker = track(graph, np.array([0, 1, 1, 3, 4, 5], np.uint32), Grouped)
    named(graph, *"abcdef")
    tracker.changed()
    for name in ("x", "y"):
        graph.names.next_slide()
        graph.names.forget([1])
        graph.names.next_slide()
        assert graph.names.intern([name]).tolist() == [1]
    graph.names.next_slide()
    graph.names.forget([1])
    graph.delete_vertices([1])
    assert list(tracker.changed()) == [(1, None, 1, None, "left")]  # its name is gone, and "y" was another's


def test_changes_of_slides_have_the_names_that_left(device):
    events = {"time": [0, 1, 2, 3, 4, 5], "src": [*"abcada"], "dst": [*"bcdeef"]}
    job = stream.Window([events], size=2, slide=2, names=True, graph={"device": device})
    tracker = job.track("wcc")
    changes = []
    with job:
        for window in job:
            frame = tracker.changed()
            columns = (frame[column].tolist() for column in ("name", "change"))
            changes.append((window.end, sorted(zip(*columns, strict=True))))
    assert changes == [
        (2, [("a", "new"), ("b", "new"), ("c", "new")]),
        (4, [("b", "left"), ("c", "changed"), ("d", "new"), ("e", "new")]),
        (6, [("c", "left"), ("d", "changed"), ("e", "changed"), ("f", "new")]),
    ]


def test_a_frame_is_read_by_libraries_and_shown(graph):
    tracker = track(graph, [0.5] * 6)
    named(graph, "left", "right")
    frame = tracker.top(3)
    assert frame["name"].tolist() == ["left", "right", None]
    assert frame.to_pandas().columns.tolist() == ["rank", "vertex", "name", "value"]
    assert frame.to_arrow().column("name").to_pylist() == ["left", "right", None]
    assert pyarrow.table(frame).num_rows == 3
    assert repr(frame).splitlines()[:2] == ["rank  vertex   name  value", "   1       0   left    0.5"]
    assert len(repr(tracker.top(0)).splitlines()) == 1


def test_libraries_that_are_missing_are_named(graph, monkeypatch):
    tracker = track(graph, [0] * 6)
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingLibraryError, match=r"suricate\[pandas\]"):
        tracker.to_pandas()
    with pytest.raises(MissingLibraryError, match=r"suricate\[arrow\]"):
        tracker.to_arrow()


def test_neighbours_of_names(graph):
    graph.insert_edges([0, 0, 2], [1, 2, 0])
    named(graph, "a", "b", "c")
    to_list = lambda array: sorted(graph.device.to_numpy(array).tolist())  # noqa: E731
    assert to_list(graph.neighbors("a")) == [1, 2]
    assert to_list(graph.adjacency(["c", "a"]).dst) == [0, 1, 2]
    with pytest.raises(UnknownNameError, match=r"vertices\[0\] is 'x'"):
        graph.neighbors("x")


def test_nodes_of_networkx_are_names(graph):
    graph.insert_edges([0, 2, 5], [1, 0, 5])
    graph.delete_vertices([4])
    named(graph, "a", "b", "c", "d", "e")
    other = graph.to_networkx()
    assert list(other) == ["a", "b", "c", "d", 5]
    assert sorted(other.edges, key=str) == [("a", "b"), ("c", "a"), (5, 5)]
    graph.names = su.Names("int64")
    graph.names.intern([40, 30, 5])
    with pytest.raises(RequirementError, match="vertex 5 has no name, and another vertex has this name"):
        graph.to_networkx()
    graph.delete_vertices([5])
    assert list(graph.to_networkx()) == [40, 30, 5, 3]


def test_copies_have_names_of_their_own(graph):
    named(graph, "a", "b")
    other = copy.copy(graph)
    graph.names.forget([0])
    assert list(other.names) == ["a", "b"]


def test_names_of_a_graph_are_names_of_its_vertices(graph):
    with pytest.raises(ParameterError, match=r"names must be su\.Names or None, got \['a'\]"):
        graph.names = ["a"]
    names = su.Names()
    names.intern([*"abcdefg"])
    with pytest.raises(ParameterError, match="names has 7 ids, but the graph has 6 vertices"):
        graph.names = names
    assert graph.names is None
    graph.insert_vertices()
    graph.names = names
    assert graph.names is names
