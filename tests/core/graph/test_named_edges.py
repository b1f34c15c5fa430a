"""Edges given by names: insertion with new names, deletion, questions, refusals, on every backend."""

import numpy as np
import pytest

import suricate as su
from suricate.errors import DTypeError, ParameterError, SelfLoopError, ShapeError, UnknownNameError, WeightError

EDGES = [("ann", "bob", 1), ("bob", "cleo", 2), ("cleo", "dän", 3)]


@pytest.fixture
def graph(backend, device):
    """A weighted graph of four people."""
    graph = su.Graph(names=["ann", "bob"], backend=backend, device=device, weight_dtype="float32", in_edges=True)
    graph.insert_edges(["ann", "bob", "cleo"], np.array(["bob", "cleo", "dän"]), [1, 2, 3])
    return graph


def named_edges(graph):
    src, dst, weight = (graph.device.to_numpy(part) for part in graph.edges())
    return sorted(zip(graph.names[src], graph.names[dst], weight.tolist(), strict=True))


def test_new_names_become_vertices_and_texts_stand_for_ids(graph):
    assert (graph.num_vertices, graph.names.num_ids, graph.version) == (4, 4, 1)
    assert named_edges(graph) == EDGES
    assert (graph.degree("cleo"), graph.degree(3), graph.degree("bob", "in")) == (1, 0, 1)
    assert [edge in graph for edge in (("ann", "bob"), (0, "bob"), ("bob", "ann"), ("ann", "eve"), (0, 9))] == [
        True, True, False, False, False]  # fmt: skip
    assert ["cleo" in graph, "eve" in graph, 3 in graph, 4 in graph] == [True, False, True, False]
    assert graph.has_edges(["ann", "eve", "ann"], ["bob", "bob", "eve"]).tolist() == [True, False, False]
    assert graph.has_edges([0, 1], ["bob", "eve"]).tolist() == [True, False]
    assert graph.edge_weights(["ann", "eve"], ["bob", "bob"], default=-1).tolist() == [1, -1]
    assert graph.delete_edges(["ann", "eve", "bob"], ["bob", "bob", "ann"]).num_deleted == 1
    graph.apply(su.Batch(insert=(["eve"], ["ann"], 7), delete=(["cleo"], ["dän"])))
    assert named_edges(graph) == [("bob", "cleo", 2), ("eve", "ann", 7)]
    graph.delete_vertices(["cleo"])
    assert "cleo" not in graph
    graph.insert_edges(["cleo"], ["dän"], 1)
    assert graph.names.find("cleo") in graph
    graph.check()


@pytest.mark.slow
def test_trackers_and_columns_follow_insertions_by_name(graph):
    graph.columns["age"] = [1, 2, 3, 4]
    reached, parts = graph.track("bfs", source="ann"), graph.track("wcc")
    graph.insert_edges(["dän", "fay"], ["eve", "gus"], 1)
    assert reached.at("eve").level == 4
    assert reached.at("gus").level == -1
    assert parts.result.num_components == 2
    assert graph.columns["age"].tolist() == [1, 2, 3, 4, 0, 0, 0]


def test_vertices_without_names_keep_their_ids(graph):
    graph.insert_vertices(2)
    graph.insert_edges(["fay"], ["ann"], 1)
    assert graph.names.find("fay") == 6
    assert graph.names.has([4, 5]).tolist() == [False, False]
    assert su.Graph(9, names=["a"], device=graph.device).num_vertices == 9
    graph.delete_vertices(["bob"])
    assert graph.insert_vertices(recycle=True).tolist() == [1]
    assert "bob" not in graph
    graph.names.next_slide()
    graph.insert_edges(["bob"], ["ann"], 1)
    assert graph.names.find("bob") == 7  # 1 is the id of a vertex without a name
    graph.names.check()


@pytest.mark.parametrize(("edges", "error"), [
    ((["new"], ["x", "y"], 1), ShapeError), ((["new"], ["ann"], [np.nan]), WeightError),
    ((["new"], ["ann"], None), WeightError), ((["new"], [0], 1), ParameterError),
    ((["new", "s"], ["ann", "s"], 1), SelfLoopError), ((["new", None], ["ann", "bob"], 1), DTypeError),
])  # fmt: skip
def test_a_refused_insertion_adds_neither_names_nor_vertices(backend, device, edges, error):
    graph = su.Graph(names=["ann"], backend=backend, device=device, weight_dtype="float32", self_loops="error")
    with pytest.raises(error):
        graph.insert_edges(*edges)
    assert (graph.num_vertices, graph.version, list(graph.names), graph.names.num_ids) == (1, 0, ["ann"], 1)
    graph.insert_edges(["bob"], ["ann"], 1)
    assert graph.names.find("bob") == 1


def test_bad_items_and_names(graph):
    with pytest.raises(UnknownNameError):
        graph.degree("eve")
    for item in (1.5, (1, 2, 3), None):
        with pytest.raises((ParameterError, DTypeError, ShapeError)):
            item in graph  # noqa: B015
    with pytest.raises(ParameterError, match="name of two vertices"):
        su.Graph(names=["a", "b", "a"], device=graph.device)
    plain = su.Graph(2, device=graph.device)
    with pytest.raises(DTypeError):
        plain.insert_edges(["a"], ["b"])


def test_frames_and_networkx_bring_names(device):
    nx, pd = pytest.importorskip("networkx"), pytest.importorskip("pandas")
    frame = pd.DataFrame({"source": ["b", "a"], "target": ["a", "c"], "amount": [1.5, 2]})
    graph = su.Graph.from_pandas_edgelist(frame, weight="amount", device=device)
    assert list(graph.names) == ["b", "a", "c"]
    assert named_edges(graph) == [("a", "c", 2), ("b", "a", 1.5)]
    assert ("b", "a") in su.Graph.from_coo(["b"], ["a"], device=device)
    names = su.Names()
    assert su.Graph.from_coo(["b"], ["a"], names=names, device=device).names is names
    with pytest.raises(DTypeError, match="missing"):
        su.Graph.from_pandas_edgelist(pd.DataFrame({"source": ["b", None], "target": ["a", "c"]}), device=device)
    for nodes in (["x", "y", "z"], [30, -2, 7]):
        given = nx.DiGraph([nodes[:2], nodes[1:]])
        again = su.Graph.from_networkx(given, device=device)
        assert list(again.names) == nodes
        assert nx.utils.graphs_equal(again.to_networkx(), given)
    assert su.Graph.from_networkx(nx.path_graph(3), device=device).names is None
    assert su.Graph.from_networkx(nx.DiGraph([(True, "a")]), device=device).names is None


def test_names_that_are_given_are_never_passed_over(tmp_path):
    names, path = su.Names("text"), tmp_path / "e.csv"
    path.write_text("src,dst\nann,bob\n")
    assert su.read(path, relabel="text").to_graph(device="cpu", names=names).names is names
    su.Graph(2, device="cpu").save(tmp_path / "g.npz")
    with pytest.raises(ParameterError, match="names is part of the snapshot"):
        su.Graph.load(tmp_path / "g.npz", device="cpu", names=names)
