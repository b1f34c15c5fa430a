"""Columns of vertices: values, growth, deletion, recycling, revival, copies, snapshots, edge functions, bad input."""

import copy
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import suricate as su
from suricate.errors import (
    DTypeError,
    FileFormatError,
    ParameterError,
    ShapeError,
    UnknownNameError,
    VertexRangeError,
)

WAYS = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda graph: pickle.loads(pickle.dumps(graph)),
    "to": lambda graph: graph.to(graph.device),
}


@pytest.fixture
def graph(backend, device):
    graph = su.Graph(4, backend=backend, device=device)
    graph.insert_edges([0, 1, 2], [1, 2, 3])
    graph.columns["age"] = [30, 40, 50, 60]
    graph.columns.add("city", ["Ulm", "Rom", "Bonn", ""], missing="?")
    graph.columns.add("score", dtype="float32")
    return graph


def listed(graph, name):
    return graph.device.to_numpy(graph.columns[name]).tolist() if name != "city" else graph.columns[name].tolist()


def test_columns_follow_the_vertices(graph):
    graph.columns.put("score", [3, 1, 3], [5, 7, 9])
    graph.delete_vertices([1])
    assert (listed(graph, "age"), listed(graph, "city")) == ([30, 0, 50, 60], ["Ulm", "?", "Bonn", ""])
    assert np.array_equal(listed(graph, "score"), [np.nan, np.nan, np.nan, 9], equal_nan=True)
    graph.insert_vertices(3, recycle=True)
    assert (listed(graph, "age"), listed(graph, "city")) == ([30, 0, 50, 60, 0, 0], ["Ulm", "?", "Bonn", "", "?", "?"])
    graph.columns.put("age", [1, 5], 8)
    graph.delete_vertices([5])
    graph.insert_edges([5], [0])
    assert listed(graph, "age") == [30, 8, 50, 60, 0, 0]
    for _ in range(6):
        graph.insert_vertices(7)
        graph.check()
    assert listed(graph, "age") == [30, 8, 50, 60] + [0] * 44
    assert set(graph.columns) == {"age", "city", "score"}
    assert graph.memory_usage().parts["columns"][1] >= graph.num_vertices * (8 + 8 + 4)
    del graph.columns["city"]
    assert "city" not in graph.columns


def test_values_of_deleted_vertices_are_passed_over(graph):
    graph.delete_vertices([0, 2])
    graph.columns["age"] = [1, 2, 3, 4]
    graph.columns["flag"] = True
    assert listed(graph, "age") == [0, 2, 0, 4]
    assert listed(graph, "flag") == [False, True, False, True]
    with pytest.raises(VertexRangeError, match=r"vertices\[1\]=2 is a deleted vertex"):
        graph.columns.put("age", [1, 2], [5, 6])
    assert listed(graph, "age") == [0, 2, 0, 4]
    graph.check()


def test_what_is_read_cannot_change_the_column(graph):
    ages = graph.columns["age"]
    if graph.device.is_cuda:
        ages[0] = 1
    else:
        with pytest.raises(ValueError, match="read-only"):
            ages[0] = 1
    assert listed(graph, "age")[0] == 30


@pytest.mark.parametrize("way", WAYS)
def test_copies_have_columns_of_their_own(graph, way):
    other = WAYS[way](graph)
    assert (listed(other, "age"), listed(other, "city")) == ([30, 40, 50, 60], ["Ulm", "Rom", "Bonn", ""])
    assert (other.columns.missing("city"), other.columns["score"].dtype) == ("?", np.float32)
    other.delete_vertices([0])
    assert listed(graph, "age")[0] == 30
    other.check()


def test_snapshots_keep_columns(graph, tmp_path):
    graph.delete_vertices([2])
    graph.columns.put("city", [3], "日\0")
    path = tmp_path / "g.npz"
    graph.save(path)
    other = su.Graph.load(path, device=graph.device)
    assert (listed(other, "age"), listed(other, "city")) == ([30, 40, 0, 60], ["Ulm", "Rom", "?", "日\0"])
    assert other.columns["age"].dtype == graph.columns["age"].dtype
    other.check()
    with np.load(path) as file:
        parts = dict(file)
    for part in ("columns.names", "columns.0.values", "columns.1.ends"):
        np.savez(path, **{**parts, part: parts[part][:-1]})
        with pytest.raises(FileFormatError, match="columns of the snapshot are damaged"):
            su.Graph.load(path, device=graph.device)


def test_operators_take_columns_by_name(graph):
    sums = graph.device.xp.zeros(4, np.int64)
    su.neighbor_reduce(graph, None, lambda u, v, w, age: age[v] + 1, out=sums, args=("age",), reduce="sum", over="out")
    assert sums.tolist() == [41, 51, 61, 0]
    graph.insert_vertices(5)
    graph.columns.put("age", [8], 7)
    graph.insert_edges([3], [8])
    sums = graph.device.xp.zeros(9, np.int64)
    su.advance(graph, None, lambda u, v, w, age: age[u], out=sums, args=("age",), reduce="max")
    assert sums.tolist() == [0, 30, 40, 50, 0, 0, 0, 0, 60]
    with pytest.raises(UnknownNameError, match="has no column 'size'; it has: age, city, score"):
        su.advance(graph, None, lambda u, v, w, age: age[u], out=sums, args=("size",), reduce="max")
    with pytest.raises((DTypeError, su.errors.DeviceError)):
        su.advance(graph, None, lambda u, v, w, city: 1, out=sums, args=("city",), reduce="max")


def test_operators_refuse_columns_that_are_too_short(graph):
    age = graph._columns["age"]
    age.size -= 1
    with pytest.raises(ShapeError, match="column 'age' has 3 entries, 4 are needed"):
        su.vertex_map(graph, None, lambda v, age: age[v], args=("age",))
    graph = su.Graph(4, backend=graph.backend, device=graph.device, edge_columns={"km": "float32"})
    graph.insert_edges([0] * 4, range(4), {"km": 1})
    graph.edge_table.columns["km"].size = 3
    out = graph.device.xp.zeros(4, np.float32)
    with pytest.raises(ShapeError, match="column 'km' has 3 entries, 4 are needed"):
        su.neighbor_reduce(graph, None, lambda u, v, row, km: km[row], args=("km",), reduce="sum", over="out", out=out)
    with pytest.raises(ShapeError, match="column 'km' has 3 entries, 4 are needed"):
        graph.compute("sssp", source=0, weight="km")


NOTHING = {
    "list": [],
    "tuple": (),
    "floats": np.empty(0),
    "objects": np.empty(0, object),
    "texts": np.empty(0, "U3"),
    "times": np.empty(0, "M8[ns]"),
    "pandas": pd.Series([], dtype=object),
    "polars": lambda: pytest.importorskip("polars").Series([]),
    "arrow": pa.array([]),
    "arrow texts": pa.chunked_array([], pa.string()),
}


@pytest.mark.parametrize("kind", NOTHING)
def test_nothing_fits_every_column(device, kind):
    nothing = NOTHING[kind]() if kind == "polars" else NOTHING[kind]
    columns = {"text": str, "flag": bool, "count": "uint64", "size": "float32"}
    graph = su.Graph(3, device=device, edge_columns=columns)
    for name, dtype in columns.items():
        graph.columns.add(f"v{name}", dtype=dtype)
        graph.columns.put(f"v{name}", nothing, nothing)
        assert len(graph.columns[f"v{name}"]) == 3
        assert graph.insert_edges(nothing, nothing, {name: nothing}).is_empty
        assert graph.apply(su.Batch(insert=(nothing, nothing, {name: nothing}), delete=(nothing, nothing))).is_empty
        graph.edge_columns.put(name, nothing, nothing, nothing)
        assert len(graph.edge_columns.at(name, nothing, nothing)) == 0
    empty = su.Graph(0, device=device)
    for name, dtype in columns.items():
        empty.columns.add(name, nothing, dtype=dtype)
        empty.columns[name] = nothing
    graph.check()


def test_no_values_have_the_dtype_of_what_is_missing():
    graph = su.Graph(0, device="cpu")
    graph.columns.add("city", [], missing="?")
    graph.columns.add("age", [], missing=7)
    graph.columns.add("size", [])
    graph.insert_vertices(1)
    assert [graph.columns[name].tolist() for name in ("city", "age")] == [["?"], [7]]
    assert [graph.columns[name].dtype for name in ("age", "size")] == ["int64", "float64"]


def test_names_stand_for_vertices(graph):
    graph.names = su.Names("text")
    graph.names.intern(["ann", "bob"])
    graph.columns.put("age", ["bob"], 41)
    assert listed(graph, "age")[:2] == [30, 41]
    with pytest.raises(UnknownNameError):
        graph.columns.put("age", ["eve"], 41)


@pytest.mark.parametrize(("values", "error"), [
    ([1, 2, 3], ShapeError), ([1.5, 2, 3, 4], DTypeError), (["a", "b", "c", "d"], DTypeError), (2**70, DTypeError),
    ([[1, 2, 3, 4]], ShapeError), (None, ParameterError), ([1, None, 3, 4], DTypeError), ([2**63, 1, 1, 1], DTypeError),
])  # fmt: skip
def test_bad_values_change_nothing(graph, values, error):
    with pytest.raises(error):
        graph.columns["age"] = values
    assert listed(graph, "age") == [30, 40, 50, 60]
    assert len(graph.columns) == 3


@pytest.mark.parametrize(
    "values",
    [
        [True, None, False],
        np.array(["a", None, "b"], object),
        pa.array([True, None, False]),
        pa.array([2**53 + 1, None, 3]),  # as floats they would be others
        pd.array([2**53 + 1, None, 3], dtype="Int64"),
        pd.Series([True, None, False], dtype="boolean"),
    ],
    ids=lambda values: f"{type(values).__name__} {values[0]}",
)
def test_values_that_are_missing_are_named(values):
    graph = su.Graph(3, device="cpu", edge_columns={"fee": "int64"})
    for call in (
        lambda: graph.columns.__setitem__("age", values),
        lambda: graph.insert_edges([0, 1, 2], [1, 2, 0], {"fee": values}),
    ):
        with pytest.raises(DTypeError, match="has no value at 1: fill in"):
            call()
    assert "age" not in graph.columns
    assert graph.num_edges == 0


def test_values_that_no_column_holds_are_told():
    graph = su.Graph(2, device="cpu", edge_columns={"fee": "float64"})
    with pytest.raises(DTypeError, match=r"fee has 10{3}.*: columns are numbers of at most 64 bits, bools or texts"):
        graph.insert_edges([0, 1], [1, 0], {"fee": [10**400, 1]})
    with pytest.raises(DTypeError, match="src has bytes: decode them"):
        graph.insert_edges([b"ann"], [b"bob"])


def test_numbers_are_bools_if_they_are_0_or_1():
    graph = su.Graph(2, device="cpu", edge_columns={"open": "bool"})
    graph.insert_edges([0, 1], [1, 0], {"open": np.array([0, 1])})
    assert graph.edge_columns["open"].tolist() == [False, True]
    for wrong in (np.array([0, 2]), np.array([0.0, 1.0]), ["yes", "no"]):
        with pytest.raises(DTypeError, match="open has"):
            graph.insert_edges([0, 1], [0, 1], {"open": wrong})
    assert graph.num_edges == 2


def test_bad_columns(graph):
    with pytest.raises(UnknownNameError, match="no column 'size'"):
        graph.columns["size"]
    with pytest.raises(ParameterError, match="name of a column"):
        graph.columns[3] = 1
    with pytest.raises(DTypeError, match="missing"):
        graph.columns.add("new", dtype="int32", missing=0.5)
    with pytest.raises(DTypeError):
        graph.columns.add("new", dtype="datetime64[s]")
    with pytest.raises(DTypeError):
        graph.columns["city"] = ["a", "b", 3, "d"]
    with pytest.raises(ParameterError, match="dtype"):
        graph.columns.add("new", dtype="nonsense")
    with pytest.raises(ParameterError, match="values, or a dtype"):
        graph.columns.add("new")
    assert set(graph.columns) == {"age", "city", "score"}


def test_edges_have_columns_by_rows(backend, device):
    """Columns that the user keeps: the weight is a place in an array, and deltas list those that are free again."""
    xp, rng, rows = device.xp, np.random.default_rng(3), {}
    graph = su.Graph(20, backend=backend, device=device, weight_dtype="uint32", in_edges=True)
    amounts, free = np.zeros(400), set(range(400))
    for _ in range(12):
        pairs = np.unique(rng.integers(0, 20, (40, 2)), axis=0)
        gone = [pair for pair in rows if rng.random() < 0.3]
        given = sorted(free)[: len(pairs)]
        amounts[given] = rng.random(len(given))
        batch = su.Batch(insert=(*pairs.T, given), delete=tuple(np.array(gone, np.int64).reshape(-1, 2).T))
        delta = graph.apply(batch)
        free -= set(given)
        for part in (delta.deleted.weight, delta.replaced_old):
            free |= set(device.to_numpy(part).tolist())
        for pair in gone:
            del rows[pair]
        rows.update(zip(map(tuple, pairs.tolist()), given, strict=True))
        assert len(free) == len(amounts) - len(rows)
        assert free.isdisjoint(rows.values())
    received = xp.zeros(20)
    su.neighbor_reduce(
        graph, None, lambda u, v, at, a: a[at], out=received, args=(xp.asarray(amounts),), reduce="sum", over="in"
    )
    expected = np.zeros(20)
    for (_, v), row in rows.items():
        expected[v] += amounts[row]
    np.testing.assert_allclose(device.to_numpy(received), expected)
