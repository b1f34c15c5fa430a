"""The graph of a window belongs to it: users read and track it, and copies are theirs."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import suricate as su
import suricate.stream as st
from suricate.base.devices import Device
from suricate.errors import RequirementError
from suricate.parallel import Comm, run

EVENTS = {"src": [0, 1, 2], "dst": [1, 2, 3], "fee": [1, 2, 3]}


def changes(graph: su.Graph) -> list[Any]:
    """Everything that changes edges or vertices."""
    return [
        lambda: graph.insert_edges([0], [2], {"fee": [1]}),
        lambda: graph.delete_edges([0], [1]),
        lambda: graph.apply(su.Batch(delete=([0], [1]))),
        lambda: graph.insert_vertices(2),
        lambda: graph.delete_vertices([0]),
        lambda: graph.edge_columns.put("fee", [0], [1], [7]),
        lambda: su.replay(graph, ([0], [1], [False])),
    ]


def check_that_only_the_window_changes(graph: su.Graph) -> None:
    before = graph.version, graph.num_vertices, graph.num_edges
    for change in changes(graph):
        with pytest.raises(RequirementError, match=r"the window changes this graph.*copy.copy\(graph\)"):
            change()
    assert (graph.version, graph.num_vertices, graph.num_edges) == before
    graph.check()


@pytest.mark.parametrize("symmetric", [False, True])
def test_only_the_window_changes_its_graph(device: Device, symmetric: bool, tmp_path: Any) -> None:
    for most in (2, 9):  # the second job goes on from the checkpoint
        job = st.Window(EVENTS, size=2, slide=1, attributes={"fee": "sum"}, graph={"device": device},
                        checkpoint=tmp_path, checkpoint_every=1)  # fmt: skip
        job.track("wcc", symmetric=symmetric)
        for w in job:
            graph = w.graph
            check_that_only_the_window_changes(graph)
            if symmetric:
                with pytest.raises(RequirementError):
                    job.graphs.twin.graph.delete_vertices([0])
            graph.reserve(9)
            graph.compact()
            if "age" not in graph.columns:
                graph.columns.add("age", dtype="int64")
            graph.columns.put("age", [1], [job.slides])
            assert graph.track("wcc").result is not None
            assert graph.columns["age"][1] == job.slides
            theirs = copy.copy(graph)
            assert theirs.insert_edges([0], [0], {"fee": [1]}).num_inserted == 1
            if job.slides == most:
                break
    assert job.slides == 3


@pytest.mark.plain
def test_only_the_window_changes_a_divided_graph() -> None:
    def job(comm: Comm) -> int:
        for w in st.Window(EVENTS, size=2, slide=1, attributes={"fee": "sum"}, graph={"device": "cpu", "comm": comm}):
            if comm.rank == 1:  # what one process calls by mistake does not wait for the others
                check_owner(w.graph)
        return w.graph.num_edges

    def check_owner(graph: su.Graph) -> None:
        for change in changes(graph)[:-1]:
            with pytest.raises(RequirementError, match="the window changes this graph"):
                change()

    assert run(job, 2) == [2, 2]


def test_a_slide_is_over_when_the_next_one_closes() -> None:
    job = st.Window({"src": [0, 1], "dst": [1, 2]}, size=1, slide=1, graph={"device": "cpu"})
    first = next(job)
    kept = copy.copy(first.graph)
    assert first.delta.num_inserted == 1
    next(job)
    with pytest.raises(RequirementError, match="is over"):
        _ = first.graph
    assert kept.num_edges == 1
