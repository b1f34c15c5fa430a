"""igraph, NetworKit, Arrow, polars and PyTorch Geometric: there and back again nothing is lost, or it is refused."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import suricate as su
from suricate.errors import (
    DTypeError,
    MissingLibraryError,
    ParameterError,
    RequirementError,
    ShapeError,
    SuricateError,
    UnknownNameError,
)

LIBRARIES = ("igraph", "networkit", "arrow", "polars", "pyg")


@pytest.fixture
def pyg(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch Geometric, or what takes its place where it is not installed: an object that holds arrays."""
    try:
        import torch_geometric.data  # noqa: F401
    except ImportError:
        torch, data = ModuleType("torch"), ModuleType("torch_geometric.data")
        torch.as_tensor, data.Data = np.asarray, SimpleNamespace  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "torch", torch)
        monkeypatch.setitem(sys.modules, "torch_geometric", ModuleType("torch_geometric"))
        monkeypatch.setitem(sys.modules, "torch_geometric.data", data)


def there_and_back(graph: su.Graph, library: str, **options: Any) -> su.Graph:
    """Convert a graph to a library and back; skips the test if it is not installed."""
    if library in ("igraph", "networkit", "polars"):
        pytest.importorskip(library)
    other = getattr(graph, f"to_{library}")()
    convert = getattr(su.Graph, f"from_{library}")
    if library in ("arrow", "polars", "pyg"):
        options["directed"] = graph.directed
    return (
        convert(*other, device="cpu", **options)
        if library in ("arrow", "polars")
        else convert(other, device="cpu", **options)
    )


def rows(graph: su.Graph) -> list[Any]:
    """The edges with their weights and columns, by names where there are names."""
    table = graph.to_pandas_edgelist()
    return sorted(table[sorted(table.columns)].itertuples(index=False, name=None))


def named_graph(*, directed: bool, weights: bool) -> su.Graph:
    graph = su.Graph(7, device="cpu", directed=directed, weight_dtype="float64" if weights else None)
    graph.insert_edges([0, 1, 2, 2, 5], [1, 2, 0, 2, 0], [1.5, -2, 0, 0.25, 1e300] if weights else None)
    graph.names = su.Names.of(["ann", "bob", "cid", "dan", "eve", "fay", "gus"])
    graph.columns["age"] = [30, 40, 50, 60, 70, 80, 90]
    graph.columns["town"] = ["", "Ulm", "Köln", "Bonn", "x", "y", "z"]
    return graph


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.usefixtures("pyg")
def test_names_attributes_and_isolated_vertices_are_kept(library: str, directed: bool, weights: bool) -> None:
    graph = named_graph(directed=directed, weights=weights)
    options = {"attributes": {"name": str, "age": int, "town": str}} if library == "networkit" else {}
    again = there_and_back(graph, library, **options)
    assert (again.num_vertices, again.directed, again.weight_dtype) == (7, directed, graph.weight_dtype)
    assert rows(again) == rows(graph)
    assert list(again.names) == list(graph.names)
    for name in ("age", "town"):
        assert again.columns[name].tolist() == graph.columns[name].tolist()


@pytest.mark.parametrize("library", ["networkit", "arrow", "polars"])
def test_deleted_vertices_stay_deleted(library: str) -> None:
    graph = named_graph(directed=True, weights=True)
    graph.delete_vertices([1, 6])
    again = there_and_back(graph, library)
    assert again.live_vertices.tolist() == [0, 2, 3, 4, 5]
    assert rows(again) == rows(graph)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("library", ["igraph", "arrow", "polars", "pyg"])
@pytest.mark.usefixtures("pyg")
def test_columns_of_edges_are_kept(library: str, directed: bool) -> None:
    columns = {"weight": np.array([1.5, 2.5]), "count": np.array([3, 4]), "kind": ["a", ""]}
    graph = su.Graph.from_coo([0, 2], [1, 2], columns, num_vertices=4, directed=directed, device="cpu")
    again = there_and_back(graph, library)
    assert again.num_vertices == 4
    assert rows(again) == rows(graph)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.usefixtures("pyg")
def test_the_empty_graph(library: str) -> None:
    again = there_and_back(su.Graph(0, device="cpu"), library)
    assert (again.num_vertices, again.num_edges) == (0, 0)


def test_graphs_of_igraph_with_what_cannot_be_kept() -> None:
    igraph = pytest.importorskip("igraph")
    twice = igraph.Graph(3, [(0, 1), (1, 0)])
    with pytest.raises(ParameterError, match="parallel edges, from 0 to 1"):
        su.Graph.from_igraph(twice, device="cpu")
    assert su.Graph.from_igraph(twice.simplify(), device="cpu").num_edges == 1
    named = igraph.Graph(2, [(0, 1)])
    named.vs["name"] = ["a", "a"]
    with pytest.raises(ParameterError, match="'a', is the name of two vertices"):
        su.Graph.from_igraph(named, device="cpu")
    unhashable = igraph.Graph(2, [(0, 1)])
    unhashable.vs["name"] = [[1], [2]]
    with pytest.raises(ParameterError, match="cannot be hashed"):
        su.Graph.from_igraph(unhashable, device="cpu")
    both = su.Graph.from_igraph(igraph.Graph(2, [(0, 1)]), directed=True, device="cpu")
    assert both.num_edges == 2


def test_graphs_of_networkit_with_what_cannot_be_kept() -> None:
    networkit = pytest.importorskip("networkit")
    graph = networkit.Graph(3)
    graph.addEdge(0, 1)
    graph.addEdge(1, 0)
    with pytest.raises(ParameterError, match="parallel edges"):
        su.Graph.from_networkit(graph, device="cpu")
    graph.removeMultiEdges()
    graph.attachNodeAttribute("age", int)[1] = 5
    with pytest.raises(ParameterError, match="node 0 has no 'age'"):
        su.Graph.from_networkit(graph, {"age": int}, device="cpu")
    columns = su.Graph.from_coo([0], [1], {"kind": ["a"]}, device="cpu")
    with pytest.raises(RequirementError, match="no attribute 'kind'"):
        columns.to_networkit()


TABLES: list[tuple[Any, Any, type[SuricateError], str]] = [
    ({"src": [0]}, None, ShapeError, r"edges has no column of dst \(dst= names it\); it has: src"),
    ({"src": [0, None], "dst": [1, 2]}, None, ParameterError, "column 'src' has missing values"),
    ({"src": [0], "dst": [1], "x": pa.array([None], "int64")}, None, ParameterError, "column 'x' has missing"),
    ({"src": [0, 0], "dst": [1, 1]}, None, ParameterError, "parallel edges, from 0 to 1"),
    ({"src": [0], "dst": [1]}, {"vertex": [0, 2]}, ParameterError, "from 0 to 1, has an end that is no vertex"),
    ({"src": [0], "dst": [1]}, {"vertex": [0, 0, 1]}, ParameterError, "an id is in several rows"),
    ({"src": [0], "dst": [1]}, {"vertex": [-1, 0, 1]}, ParameterError, "vertex -1 is negative"),
    ({"src": ["a"], "dst": ["b"]}, {"name": ["a"]}, UnknownNameError, "'dst' has 'b', which is no name"),
    ({"src": ["a"], "dst": ["b"]}, {"age": [1]}, RequirementError, "vertices has no column 'name'"),
    ({"src": [0.5], "dst": [1.0]}, None, DTypeError, "column of ends"),
]


@pytest.mark.parametrize(("edges", "vertices", "error", "text"), TABLES, ids=range(len(TABLES)))
def test_tables_that_do_not_fit(edges: Any, vertices: Any, error: type[SuricateError], text: str) -> None:
    about = None if vertices is None else pa.table(vertices)
    with pytest.raises(error, match=text):
        su.Graph.from_arrow(pa.table(edges), about, device="cpu")


def test_tables_with_names() -> None:
    edges = pa.table({"src": ["b", "a"], "dst": ["a", "c"], "weight": [1, 2]})
    graph = su.Graph.from_arrow(edges, device="cpu")
    assert (list(graph.names), graph.weight_dtype) == (["b", "a", "c"], np.int32)
    vertices = pa.table({"vertex": [4, 0, 2, 3], "name": ["a", "b", "c", None]})
    graph = su.Graph.from_arrow(edges, vertices, device="cpu")
    assert graph.live_vertices.tolist() == [0, 2, 3, 4]
    assert graph.edges().src.tolist() == [0, 4]
    assert graph.names.find(["a", "b", "c"]).tolist() == [4, 0, 2]
    assert len(graph.names) == 3


def test_data_of_pytorch_geometric() -> None:
    index = np.array([[0, 1, 1, 2], [1, 0, 2, 2]])
    data = SimpleNamespace(edge_index=index, num_nodes=5, x=np.ones((5, 2)), y=np.arange(5), edge_attr=np.ones((4, 1)))
    with pytest.raises(ShapeError, match=r"x has shape \(5, 2\).*exclude=\['x'\]"):
        su.Graph.from_pyg(data, device="cpu")
    graph = su.Graph.from_pyg(data, exclude=["x"], device="cpu")
    assert (graph.num_vertices, graph.num_edges, graph.columns["y"].tolist()) == (5, 4, [0, 1, 2, 3, 4])
    assert list(graph.edge_columns) == ["edge_attr"]
    with pytest.raises(ParameterError, match="weight differs between the two directions"):
        su.Graph.from_pyg(
            SimpleNamespace(edge_index=index, num_nodes=3, edge_weight=np.arange(4.0)), directed=False, device="cpu"
        )
    data = SimpleNamespace(edge_index=index, num_nodes=3, edge_weight=np.array([2.0, 2.0, 3.0, 4.0]))
    assert rows(su.Graph.from_pyg(data, directed=False, device="cpu")) == [(0, 1, 2.0), (1, 2, 3.0), (2, 2, 4.0)]


class Tensor:
    """What cannot become an array of NumPy, as tensors with a gradient, and those of dtype bfloat16."""

    def __init__(self, error: type[Exception]) -> None:
        self.error = error

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise self.error("not to NumPy")


@pytest.mark.parametrize("error", [RuntimeError, TypeError])
def test_data_that_numpy_cannot_take_over(error: type[Exception]) -> None:
    index = np.array([[0, 1], [1, 2]])
    with pytest.raises(DTypeError, match="x cannot be made into an array: not to NumPy"):
        su.Graph.from_pyg(SimpleNamespace(edge_index=index, num_nodes=3, x=Tensor(error)), device="cpu")
    with pytest.raises(DTypeError, match="src cannot be made into an array"):
        su.Graph(3, device="cpu").insert_edges(Tensor(error), [1, 2])
    with pytest.raises(ParameterError, match="data has no edge_index"):
        su.Graph.from_pyg(SimpleNamespace(edge_index=None, num_nodes=3), device="cpu")


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_is_no_graph(library: str) -> None:
    with pytest.raises(ParameterError, match="got int"):
        getattr(su.Graph, f"from_{library}")(5)


@pytest.mark.parametrize("library", ["igraph", "networkit", "polars", "torch"])
def test_a_missing_library_is_named(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingLibraryError, match=f"this needs {library}"):
        getattr(su.Graph(2, device="cpu"), f"to_{'pyg' if library == 'torch' else library}")()
