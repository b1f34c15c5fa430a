"""Columns of edges against a dictionary: insertions, deletions, recycling, copies, snapshots, operators, algorithms."""

import copy
import pickle

import numpy as np
import pytest
from turns import few

import suricate as su
from suricate.errors import (
    CapacityError,
    DTypeError,
    ParameterError,
    RequirementError,
    ShapeError,
    UnknownNameError,
)

KINDS = {"amount": "float64", "count": ("uint32", 7), "channel": str}
WAYS = {
    "copy": copy.copy,
    "pickle": lambda graph: pickle.loads(pickle.dumps(graph)),
    "to": lambda graph: graph.to(graph.device),
}


def of(graph):
    """The columns of a graph by edge, in plain Python."""
    edges = graph.edges()
    columns = [graph.edge_columns.at_rows(name, edges.row).tolist() for name in KINDS]
    return dict(zip(zip(edges.src.tolist(), edges.dst.tolist(), strict=True), zip(*columns, strict=True), strict=True))


def same(found, model):
    """Whether two dictionaries agree, NaN with NaN."""
    return found.keys() == model.keys() and all(
        np.array_equal(found[key][:2], model[key][:2], equal_nan=True) and found[key][2] == model[key][2]
        for key in model
    )


class Pair:
    """A graph with columns of edges, and a dictionary of what they are."""

    def __init__(self, seed, **options):
        self.random, self.edges = np.random.default_rng(seed), {}
        self.graph = su.Graph(12, edge_columns=KINDS, **options)
        self.directed = options.get("directed", True)

    def key(self, u, v):
        return (u, v) if self.directed else (min(u, v), max(u, v))

    def insert(self, count):
        src, dst = self.random.integers(0, 12, (2, count))
        columns = {
            "amount": self.random.random(count),
            "count": self.random.integers(0, 9, count).astype(np.uint32),
            "channel": self.random.choice(["web", "shop", ""], count).astype(object),
        }
        given = {name: part for name, part in columns.items() if self.random.random() < 0.8}
        self.graph.insert_edges(src, dst, given)
        for i in range(count):
            row = [given[name][i] if name in given else self.graph.edge_columns.missing(name) for name in KINDS]
            self.edges[self.key(int(src[i]), int(dst[i]))] = (float(row[0]), float(row[1]), row[2])

    def change(self):
        src, dst = self.random.integers(0, 12, (2, 5))
        self.graph.apply(su.Batch(delete=(src, dst), insert=(src[:2], dst[:2], {"amount": 5.0})))
        for u, v in zip(src.tolist(), dst.tolist(), strict=True):
            self.edges.pop(self.key(u, v), None)
        for u, v in zip(src[:2].tolist(), dst[:2].tolist(), strict=True):
            self.edges[self.key(u, v)] = (5.0, 7.0, "")

    def recycle(self):
        gone = int(self.random.integers(0, 12))
        self.graph.delete_vertices([gone])
        self.edges = {key: row for key, row in self.edges.items() if gone not in key}
        self.graph.insert_vertices(1, recycle=True)

    def put(self):
        keys = list(self.edges)[:3]
        if keys:
            self.graph.edge_columns.put("amount", *np.transpose(keys), 2.5)
            self.edges.update({key: (2.5, *self.edges[key][1:]) for key in keys})


@pytest.mark.plain
@pytest.mark.parametrize("kind", [{}, {"in_edges": True}, {"directed": False}], ids=["out", "in", "undirected"])
def test_columns_follow_edges_as_a_dictionary_does(backend, device, kind):
    pair = Pair(3, backend=backend, device=device, **kind)
    tracker = pair.graph.track("sssp", source=0, weight="amount")
    for step in range(25):
        pair.insert(int(pair.random.integers(0, 20)))
        (pair.change, pair.recycle, pair.put)[step % 3]()
        pair.graph.check()
        assert same(of(pair.graph), pair.edges)
        native = su.Graph(12, device=device, directed=pair.directed, weight_dtype="float64")
        keys = [key for key, row in pair.edges.items() if not np.isnan(row[0])]
        for key in set(pair.edges) - set(keys):
            pair.graph.edge_columns.put("amount", [key[0]], [key[1]], 0.25)
            pair.edges[key] = (0.25, *pair.edges[key][1:])
        if pair.edges:
            native.insert_edges(*np.transpose(list(pair.edges)), [row[0] for row in pair.edges.values()])
        expected = native.compute("sssp", source=0).distance
        assert np.allclose(pair.graph.device.to_numpy(tracker.result.distance), native.device.to_numpy(expected))
    assert tracker.updates.updated > 4  # how many depends on how the backend orders edges
    assert pair.graph.edge_table._tail < 200  # rows are used again


@pytest.mark.parametrize("way", WAYS)
def test_copies_have_rows_of_their_own(backend, device, way):
    pair = Pair(5, backend=backend, device=device)
    pair.insert(30)
    other = WAYS[way](pair.graph)
    before = dict(pair.edges)
    pair.insert(30)
    pair.recycle()
    assert same(of(other), before)
    other.insert_edges([1], [2], {"channel": "copy"})
    assert other.edge_columns.at("channel", [1], [2]).tolist() == ["copy"]
    assert same(of(pair.graph), pair.edges)
    other.check()


def test_snapshots_keep_columns_of_edges(device, tmp_path):
    pair = Pair(7, device=device, directed=False)
    pair.insert(30)
    pair.put()
    path = tmp_path / "g.npz"
    pair.graph.save(path)
    other = su.Graph.load(path, device=device, backend="csr_baseline")
    other.check()
    assert same(of(other), pair.edges)
    assert other.edge_columns.missing("count") == 7
    with pytest.raises(ParameterError, match="edge_columns is part of the snapshot"):
        su.Graph.load(path, device=device, edge_columns={})


@pytest.mark.plain
def test_functions_and_algorithms_take_columns_by_name(backend, device):
    kinds = {"km": "float32", "toll": "int32", "road": str}
    graph = su.Graph(4, backend=backend, device=device, in_edges=True, edge_columns=kinds)
    graph.insert_edges([0, 1, 0, 2], [1, 3, 2, 3], {"km": [1, 1, 5, 5], "toll": [9, 9, 0, 1], "road": "A"})
    graph.columns["age"] = [1, 2, 3, 4]
    out = graph.device.xp.zeros(4)
    su.neighbor_reduce(
        graph, None, lambda u, v, row, km, age: km[row] * age[u], out=out, args=("km", "age"), reduce="sum", over="in"
    )
    assert out.tolist() == [0, 1, 5, 17]
    assert graph.compute("sssp", source=0, weight="km").distance.tolist() == [0, 1, 5, 2]
    assert graph.compute("sssp", source=0, weight="toll").distance.tolist() == [0, 9, 0, 1]
    assert graph.compute("sssp", source=0).distance.tolist() == [0, 1, 1, 2]  # no column is called weight
    assert graph.compute("spmv", weight="toll").tolist() == [9, 9, 1, 0]
    close = {name: graph.compute("closeness", weighted=True, weight=name).tolist() for name in ("km", "toll")}
    assert close == {"km": pytest.approx([0, 1 / 3, 1 / 15, 3 / 8]), "toll": pytest.approx([0, 1 / 27, 0, 3 / 11])}
    trackers = [graph.track("sssp", source=0, weight=name) for name in ("km", "toll")]
    hops = graph.track("bfs", source=0)
    delta = graph.insert_edges([0, 3], [3, 0], {"toll": 3, "km": 0.5})
    assert [tracker.result.distance.tolist() for tracker in trackers] == [[0, 1, 5, 0.5], [0, 9, 0, 1]]
    assert hops.result.level.tolist() == [0, 1, 1, 1]
    assert graph.edge_columns.at_rows("toll", delta.inserted.row).tolist() == [3, 3]
    assert graph.track("sssp", source=0, weight="km").algorithm is trackers[0].algorithm
    graph.edge_columns.put("km", [0], [1], 0.25)
    assert trackers[0].result.distance.tolist() == [0, 0.25, 5, 0.5]
    assert trackers[1].updates.skipped == (not device.is_cuda)  # a change of kilometres is none of tolls
    assert trackers[0].graph is graph


@pytest.mark.parametrize("dtype", few(["int64", "uint8"]))
def test_other_integers_are_read_as_floats(device, dtype):
    graph = su.Graph(4, device=device, edge_columns={"n": dtype})
    graph.insert_edges([0, 1, 0], [1, 2, 2], {"n": [7, 5, 100]})
    tracker = graph.track("sssp", source=0, weight="n")
    assert tracker.result.distance.dtype == np.float64
    assert tracker.result.distance.tolist()[:3] == [0, 7, 12]
    graph.apply(su.Batch(delete=([1], [2]), insert=([2, 0], [3, 1], {"n": [1, 200]})))
    assert tracker.result.distance.tolist() == [0, 200, 100, 101]


def test_weights_and_columns_side_by_side(device):
    graph = su.Graph(3, device=device, weight_dtype="float32", edge_columns={"kind": str})
    graph.insert_edges([0, 1], [1, 2], [2, 3])
    graph.insert_edges([0], [2], {"weight": 9, "kind": "rail"})
    assert graph.compute("sssp", source=0).distance.tolist() == [0, 2, 5]
    assert graph.edge_columns["kind"].tolist() == ["", "rail", ""]
    assert graph.to_scipy_sparse().toarray().tolist() == [[0, 2, 9], [0, 0, 3], [0, 0, 0]]
    frame = graph.to_pandas_edgelist()
    assert frame.to_dict("list") == {
        "source": [0, 0, 1], "target": [1, 2, 2], "weight": [2, 9, 3], "kind": ["", "rail", ""]
    }  # fmt: skip
    other = su.Graph.from_pandas_edgelist(frame, weight="weight", edge_columns=["kind"], device=device)
    assert other.compute("sssp", source=0).distance.tolist() == [0, 2, 5]
    node = graph.to_networkx()
    assert node.edges[0, 2] == {"weight": 9.0, "kind": "rail"}
    back = su.Graph.from_networkx(node, edge_columns={"weight": "float64", "kind": (str, "?")}, device=device)
    assert sorted(zip(back.edge_columns["weight"].tolist(), back.edge_columns["kind"], strict=True)) == [
        (2.0, ""), (3.0, ""), (9.0, "rail")
    ]  # fmt: skip


def test_names_and_columns_of_edges(device):
    graph = su.Graph(names=su.Names("text"), device=device, edge_columns={"amount": "float64"})
    graph.insert_edges(["ann", "bob"], ["bob", "cleo"], {"amount": [4, 2]})
    found = graph.edge_columns.at("amount", ["ann", "eve", "bob"], ["bob", "ann", "ann"])
    assert np.array_equal(graph.device.to_numpy(found), [4, np.nan, np.nan], equal_nan=True)
    graph.edge_columns.put("amount", ["bob"], ["cleo"], 7)
    assert graph.compute("sssp", source="ann", weight="amount").distance.tolist() == [0, 4, 11]


def test_bad_columns_change_nothing(device):
    graph = su.Graph(3, device=device, edge_columns={"amount": "float32", "n": "int8"})
    graph.insert_edges([0], [1], {"amount": 2})
    for given, error, text in [
        ({"price": 1}, UnknownNameError, "the edges have no column 'price'; they have: amount, n"),
        ({"amount": [1, 2]}, ShapeError, r"amount has shape \(2,\) for 1 edges"),
        ({"amount": "x"}, DTypeError, "amount"),
        ({"n": 300}, DTypeError, "int8 cannot hold"),
        (3.0, UnknownNameError, "no column 'weight'"),
    ]:
        with pytest.raises(error, match=text):
            graph.insert_edges([1], [2], given)
    with pytest.raises(ParameterError, match="edge 1 is not stored"):
        graph.edge_columns.put("amount", [0, 1], [1, 2], 5)
    with pytest.raises(su.errors.VertexRangeError):
        graph.insert_edges([9], [2], {"amount": 1})
    other = su.Graph(3, device=device, edge_columns={"by": str})
    with pytest.raises(DTypeError, match="weight='by': the column has texts, no weights"):
        other.track("sssp", source=0, weight="by")
    with pytest.raises(ParameterError, match="bfs uses no weights"):
        graph.compute("bfs", source=0, weight="amount")
    with pytest.raises(ParameterError, match="weighted=True only: pass that, too, or leave weight='amount'"):
        graph.compute("closeness", weight="amount")
    totals = np.zeros(3)  # a function that takes rows comes first: no name of a column stands for them
    su.neighbor_reduce(
        graph, None, lambda u, v, row: row, out=graph.device.xp.asarray(totals), reduce="sum", over="out"
    )
    for name in ("price", "", ["amount"], 3):
        with pytest.raises(UnknownNameError, match=r"no column ('price'|''|\['amount'\]|3); they have: amount, n"):
            graph.track("sssp", source=0, weight=name)
        with pytest.raises(UnknownNameError, match="they have: amount, n"):
            graph.edge_columns.put(name, [0], [1], 5)
    with pytest.raises(ParameterError, match="the edges have a column 'amount'"):
        graph.columns["amount"] = 1
    plain = su.Graph(3, device=device, weight_dtype="float32")
    with pytest.raises(RequirementError, match="the edges have no columns"):
        plain.track("sssp", source=0, weight="amount")
    with pytest.raises(RequirementError, match="the edges have no columns"):
        plain.edge_columns["amount"]
    with pytest.raises(DTypeError, match="weights are numbers"):
        plain.insert_edges([0], [1], {"amount": 1})
    for given, error in [(3, ParameterError), ({3: "int8"}, ParameterError), ({"a": "U9"}, DTypeError),
                         ({"a": ("int8", 300)}, DTypeError), ({"a": "nonsense"}, ParameterError),
                         ({"a": None}, ParameterError)]:  # fmt: skip
        with pytest.raises(error):
            su.Graph(3, device=device, edge_columns=given)
    graph.check()
    assert graph.edge_columns["amount"].tolist() == [2]


@pytest.mark.parametrize("kind", [{}, {"in_edges": True}, {"directed": False}], ids=["out", "in", "undirected"])
def test_compact_shrinks_columns(backend, device, kind):
    pair = Pair(5, backend=backend, device=device, **kind)
    graph = pair.graph
    graph.insert_vertices(90)
    src, dst = np.divmod(np.arange(60 * 60), 60)
    graph.insert_edges(src, dst, {"amount": src, "count": dst, "channel": "web"})
    graph.mark()
    graph.insert_edges([70], [71], {"amount": 7})
    tracker = graph.track("sssp", source=0, weight="amount")
    graph.delete_edges(src[:3000], dst[:3000])
    graph.columns["age"] = np.arange(102)
    graph.columns["name"] = "?"
    graph.insert_vertices(1)
    before, updated, version, memory = of(graph), listed(graph.updated()), graph.version, graph.memory_usage().parts
    graph.compact()
    graph.check()
    assert same(of(graph), before)
    assert (listed(graph.updated()), graph.version) == (updated, version)
    after = graph.memory_usage().parts
    assert after["edge_columns"][1] == 1024 * (8 + 4 + 8) < memory["edge_columns"][1]
    assert after["columns"][1] == 103 * 16 < memory["columns"][1]
    graph.insert_edges([60], [61], {"amount": 9})
    graph.check()
    assert tracker.result.distance.tolist() == graph.compute("sssp", source=0, weight="amount").distance.tolist()


def listed(edges):
    return sorted(zip(edges.src.tolist(), edges.dst.tolist(), strict=True))


def test_refused_batches_take_no_rows(device):
    graph = su.Graph(2, device=device, edge_columns={"amount": "float64"}, memory_limit="64KB")
    graph.insert_edges([0], [1], {"amount": 2})
    with pytest.raises(CapacityError):
        graph.insert_vertices(1 << 20)
    for _ in range(3):
        with pytest.raises(su.errors.VertexRangeError):
            graph.insert_edges(np.zeros(500, int), np.full(500, 3), {"amount": 1})
    graph.check()
    assert graph.edge_table._tail <= 501


def test_an_interrupt_loses_no_rows(device, monkeypatch):
    graph = su.Graph(4, device=device, edge_columns={"amount": "float64"})
    graph.insert_edges([0, 1], [1, 2], {"amount": [1, 2]})
    apply = graph._updater.apply

    def interrupted(*args):
        apply(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(graph._updater, "apply", interrupted)
    with pytest.raises(KeyboardInterrupt):
        graph.insert_edges([2], [3], {"amount": [3]})
    monkeypatch.undo()
    graph.insert_edges([0], [3], {"amount": [4]})
    graph.check()
    assert graph.edge_columns["amount"].tolist() == [1, 4, 2, 3]
