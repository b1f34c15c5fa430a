"""PageRank of several sources: NetworkX's, one source at a time; frames with a row per source and vertex."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from cli_calls import call

import suricate as su
from suricate.errors import ParameterError, RequirementError, VertexRangeError, WeightError

N, SOURCES = 25, [7, 3, 7, 19]


def random_graph(device: Any = "cpu", **options: Any) -> su.Graph:
    rng = np.random.default_rng(4)
    graph = su.Graph(N, device=str(device), **options)
    weights = () if graph.weight_dtype is None else (rng.integers(0, 9, 45),)
    graph.insert_edges(*rng.integers(0, N, (2, 45)), *weights)
    return graph


def expected(graph: su.Graph, alpha: float) -> np.ndarray:
    other, ranks = graph.to_networkx(), []
    weight = None if graph.weight_dtype is None else "weight"
    for source in SOURCES:
        found = nx.pagerank(other, alpha, {source: 1}, tol=1e-13, max_iter=5000, weight=weight)
        ranks.append([found.get(v, 0) for v in range(graph.num_vertices)])
    return np.array(ranks).T


@pytest.mark.parametrize("alpha", [0.85, 0.0])
@pytest.mark.parametrize("weight_dtype", [None, "int32"])
@pytest.mark.parametrize("directed", [True, False])
def test_each_column_is_the_pagerank_of_a_source(device, directed, weight_dtype, alpha):
    graph = random_graph(device, directed=directed, in_edges=directed, weight_dtype=weight_dtype)
    tracker = graph.track("personalized_pagerank", sources=SOURCES, alpha=alpha, tol=1e-12)
    more = [] if weight_dtype is None else [[1, 2]]
    src, dst = (graph.device.to_numpy(part) for part in graph.edges()[:2])
    for change in (
        lambda: None,
        lambda: graph.delete_edges(src[::6], dst[::6]),
        lambda: (graph.insert_vertices(2), graph.insert_edges([7, 2], [26, 7], *more)),
    ):
        change()
        assert tracker.result.source.tolist() == SOURCES
        found = graph.device.to_numpy(tracker.result.rank)
        np.testing.assert_allclose(found, expected(graph, alpha), atol=1e-10)
        np.testing.assert_allclose(found.sum(axis=0), 1)
    graph.delete_vertices([3])
    with pytest.raises(VertexRangeError, match=r"sources\[1\] is 3: this vertex is deleted"):
        _ = tracker.result
    graph.insert_edges([3], [4], *([] if weight_dtype is None else [[1]]))
    np.testing.assert_allclose(graph.device.to_numpy(tracker.result.rank), expected(graph, alpha), atol=1e-10)


def test_frames_have_a_row_per_source_and_vertex():
    graph = su.Graph(names=su.Names(), in_edges=True, device="cpu")
    graph.insert_edges(["a", "b", "c"], ["b", "c", "a"])
    ids = graph.names.find(["c", "a"])
    tracker = graph.track("personalized_pagerank", sources=ids)
    rank = tracker.result.rank
    rows = [(int(source), name, v, "abc"[v], rank[v, j]) for j, (source, name) in enumerate(zip(ids, "ca", strict=True))
            for v in range(3)]  # fmt: skip
    columns = ("source", "source_name", "vertex", "name", "rank")
    assert list(tracker.to_pandas().itertuples(index=False, name=None)) == rows
    assert tuple(tracker.to_pandas().columns) == columns
    best = tracker.top(2)
    assert set(best.columns) == {*columns}
    assert sorted(best["name"].tolist()) == ["a", "c"]
    assert best["rank"].tolist() == sorted(rank.ravel().tolist())[: -1 - 2 : -1]
    assert tracker.at(names=["b"]).rank.tolist() == [rank[1].tolist()]
    assert tracker.at(1).rank.tolist() == rank[1].tolist()
    assert [row[4] for row in tracker.changed()] == [row[4] for row in rows]
    assert len(tracker.changed()) == 0
    graph.insert_edges(["d"], ["a"])
    graph.insert_edges(["a"], ["c"])
    changed = tracker.changed(1e-9)
    assert set(zip(changed["source_name"], changed["name"], changed["change"], strict=True)) == {
        *((source, v, "changed") for source in "ac" for v in "abc"), ("a", "d", "new"), ("c", "d", "new"),
    }  # fmt: skip


def test_the_command_line_prints_the_best_pairs(tmp_path):
    file = tmp_path / "edges.txt"
    file.write_text("a b\nb c\nc a\n")
    options = "--relabel", "--device", "cpu", "--format", "csv", "--top", "2"
    done = call("run", "personalized_pagerank", file, *options, "--param", "sources=c,a")
    assert done.exit_code == 0, done.output
    assert "source" in done.output
    assert "rank,source,source_name,vertex,name" in done.output


@pytest.mark.parametrize(
    ("error", "message", "options"),
    [
        (ParameterError, "names no vertex", {"sources": []}),
        (VertexRangeError, "30", {"sources": [30]}),
        (ParameterError, "alpha", {"sources": [1], "alpha": 1.0}),
        (ParameterError, "tol", {"sources": [1], "tol": 0}),
        (RequirementError, "weighted=True", {"sources": [1], "weighted": True}),
    ],
)
def test_bad_parameters(error, message, options):
    with pytest.raises(error, match=message):
        random_graph(in_edges=True).compute("personalized_pagerank", **options)


def test_what_a_graph_must_have():
    with pytest.raises(RequirementError, match="in-edges"):
        random_graph().compute("personalized_pagerank", sources=[1])
    graph = su.Graph(3, device="cpu", in_edges=True, weight_dtype="float32")
    graph.insert_edges([0, 1], [1, 2], [1.0, -1.0])
    with pytest.raises(WeightError, match="negative"):
        graph.compute("personalized_pagerank", sources=[1])
    assert graph.compute("personalized_pagerank", sources=[1], weighted=False).rank.shape == (3, 1)


def test_an_alert_needs_one_value_per_vertex():
    graph = random_graph(in_edges=True)
    tracker = graph.track("personalized_pagerank", sources=[1, 2])
    from suricate.graph import frames

    with pytest.raises(ParameterError, match="one for each source"):
        frames.entries(graph, tracker.result, tracker.algorithm)
