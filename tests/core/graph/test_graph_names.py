"""Graphs whose vertices have names: files, copies, and texts where ids are taken."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import suricate as su
from suricate.errors import ParameterError, ShapeError, UnknownNameError


@pytest.fixture
def graph(device):
    """A graph of four people."""
    graph = su.Graph(4, device=device, in_edges=True)
    graph.insert_edges([0, 1, 2], [1, 2, 3])
    graph.names = su.Names()
    graph.names.intern(["ann", "bob", "cleo", "dän"])
    return graph


def test_vertices_are_deleted_by_name(graph):
    delta = graph.delete_vertices(np.array(["bob", "dän"]))
    assert graph.device.to_numpy(delta.deleted_vertices).tolist() == [1, 3]
    assert "bob" in graph.names
    with pytest.raises(UnknownNameError, match=r"ids\[1\] is 'eve'"):
        graph.delete_vertices(["ann", "eve"])
    assert graph.num_live == 2


def test_algorithms_take_names(graph):
    level = graph.compute("bfs", source="bob").level
    assert graph.device.to_numpy(level).tolist() == [-1, 0, 1, 2]
    one, other = (graph.track("pagerank", personalization=given) for given in ({"cleo": 1.0}, {2: 1.0}))
    np.testing.assert_array_equal(*(graph.device.to_numpy(tracker.result) for tracker in (one, other)))
    with pytest.raises(UnknownNameError, match=r"source\[0\] is 'eve'"):
        graph.track("bfs", source="eve")
    with pytest.raises(UnknownNameError, match=r"personalization\[0\] is 'eve'"):
        graph.track("pagerank", personalization={"eve": 1.0})


def test_what_is_no_list_of_texts_is_the_same_error_with_names_or_without(graph):
    for names in (graph.names, None):
        graph.names = names
        with pytest.raises(ShapeError):
            graph.adjacency(np.array(None, object))
        with pytest.raises(ShapeError):
            graph.delete_vertices(np.array([["ann"]]))


@pytest.mark.parametrize("lines", [3, 30_000])
@pytest.mark.parametrize("kind", ["text", "int64", "uint64"])
def test_graphs_of_files_have_the_names_of_the_file(tmp_path, lines, kind):
    names = {
        "text": [f'p "{k}"' for k in range(lines)],
        "int64": [7 * k - 5 for k in range(lines)],
        "uint64": [2**64 - 1 - k for k in range(lines)],
    }[kind]
    cells = ['"' + name.replace('"', '""') + '"' if kind == "text" else str(name) for name in names]
    path = tmp_path / "e.csv"
    path.write_text("src,dst\n" + "".join(f"{a},{b}\n" for a, b in zip(cells, cells[1:] + cells[:1], strict=True)))
    file = su.read(path, relabel=True)
    first, second = file.to_graph(device="cpu"), copy.copy(file.to_graph(device="cpu"))
    assert file.names.dtype == kind
    for graph in (first, second):
        graph.names.check()
        assert list(graph.names) == list(file.labels) == names
    first.names.forget([0])
    assert len(second.names) == len(file.names) == lines
    ends = second.names[second.edges().src], second.names[second.edges().dst]
    assert sorted(zip(*ends, strict=True)) == sorted(zip(names, names[1:] + names[:1], strict=True))


@pytest.mark.parametrize("lines", [2, 30_000])
def test_one_name_quoted_or_not_is_one_vertex(tmp_path, lines):
    path = tmp_path / "e.csv"
    path.write_text("src,dst\n" + 'a"b,x\n"a""b",y\n' * lines)
    file = su.read(path, relabel="text")
    assert file.labels.tolist() == ['a"b', "x", "y"]
    assert file.to_graph(device="cpu").names.find('a"b') == 0


def test_tables_have_names_too(tmp_path):
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({"src": ["a", "b"], "dst": ["b", "c"]}), tmp_path / "e.parquet")
    graph = su.read(tmp_path / "e.parquet", relabel=True).to_graph(device="cpu")
    assert list(graph.names) == ["a", "b", "c"]
    assert su.read(tmp_path / "e.parquet", relabel=True).to_graph(device="cpu").neighbors("a").tolist() == [1]


def test_names_of_a_graph_are_written(graph, tmp_path):
    su.write(graph, tmp_path / "e.csv", labels=True)
    assert (tmp_path / "e.csv").read_text().splitlines() == ["src,dst", "ann,bob", "bob,cleo", "cleo,dän"]
    graph.insert_vertices()
    su.write(graph, tmp_path / "e.csv", labels=True)
    graph.names.forget([2])
    with pytest.raises(ParameterError, match="vertex 2 has edges and no name"):
        su.write(graph, tmp_path / "e.csv", labels=True)
    graph.names = None
    with pytest.raises(ParameterError, match="a graph with names"):
        su.write(graph, tmp_path / "e.csv", labels=True)
