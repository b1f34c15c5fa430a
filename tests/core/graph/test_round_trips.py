"""What goes in comes out: graphs of other libraries come back equal, and graphs that were there come back equal."""

from __future__ import annotations

import copy
import pickle
import sys
import tempfile
import warnings
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import suricate as su
import suricate.stream as streams
from suricate.errors import ParameterError, RequirementError

pytestmark = pytest.mark.plain

EXAMPLES = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
TEXTS = st.text(max_size=4)
WHOLE = st.integers(-(2**70), 2**70)
FLOATS = st.floats(allow_nan=False)
PLAIN = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), WHOLE, FLOATS, TEXTS)
NODES = st.one_of(
    TEXTS,
    st.integers(-3, 3),
    st.integers(0, 2**64),
    FLOATS,
    st.tuples(TEXTS, st.integers(0, 3)),
    st.frozensets(TEXTS, max_size=2),
)
KINDS_OF_NODES = st.sampled_from([st.integers(0, 6), TEXTS, st.integers(-(2**63), 2**63 - 1), NODES])
VALUES = st.one_of(PLAIN, st.lists(PLAIN, max_size=2), st.dictionaries(TEXTS, PLAIN, max_size=2))
COLUMNS = st.sampled_from([st.booleans(), st.integers(-9, 9), st.integers(0, 2**64 - 1), FLOATS, TEXTS, VALUES])
NAMES = st.one_of(st.sampled_from(["color", "weight", "name", "", "size"]), st.integers(0, 2))


@st.composite
def attributes(draw: Any, items: list[Any]) -> list[dict[Any, Any]]:
    """Attributes of nodes or edges: some at all, of one type or any; others at some."""
    found: list[dict[Any, Any]] = [{} for _ in items]
    for name in draw(st.lists(NAMES, max_size=3, unique=True)):
        values, everywhere = draw(COLUMNS), draw(st.booleans())
        for each in found:
            if everywhere or draw(st.booleans()):
                each[name] = draw(values)
    return found


@st.composite
def networkx_graphs(draw: Any) -> Any:
    """Graphs of NetworkX of every class, whose parallel edges have keys but are none beside each other."""
    kind = draw(st.sampled_from([nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]))
    nodes = draw(st.lists(draw(KINDS_OF_NODES), max_size=6, unique=True))
    graph = kind(**draw(st.sampled_from([{}, {"title": "t", "year": 1736}])))
    graph.add_nodes_from(zip(nodes, draw(attributes(nodes)), strict=True))
    pairs = [(u, v) for u in nodes for v in nodes if draw(st.booleans())]
    pairs = [pair for at, pair in enumerate(pairs) if graph.is_directed() or pair[::-1] not in pairs[:at]]
    for pair, data in zip(pairs, draw(attributes(pairs)), strict=True):
        key = (draw(st.sampled_from([0, "k", 7])),) if graph.is_multigraph() else ()
        graph.add_edges_from([(*pair, *key, data)])
    return graph


def are_equal(one: Any, other: Any) -> bool:
    return type(one) is type(other) and nx.utils.graphs_equal(one, other)


@EXAMPLES
@given(networkx_graphs())
def test_networkx(graph: Any) -> None:
    made = su.Graph.from_networkx(graph, device="cpu")
    made.check()
    assert are_equal(made.to_networkx(), graph)
    for again in (copy.copy(made), pickle.loads(pickle.dumps(made))):
        assert are_equal(again.to_networkx(), graph)
    if all(not isinstance(node, Path) for node in graph):
        with tempfile.TemporaryDirectory() as folder:
            made.save(Path(folder) / "graph.npz")
            assert are_equal(su.Graph.load(Path(folder) / "graph.npz", device="cpu").to_networkx(), graph)


@EXAMPLES
@given(networkx_graphs(), st.sampled_from([st.integers(-99, 99), st.floats(-1e9, 1e9)]), st.data())
def test_networkx_with_weights(graph: Any, numbers: Any, data: Any) -> None:
    edges = list(graph.edges(data=True))
    for _, _, found in edges:
        if data.draw(st.booleans()):
            found["cost"] = data.draw(numbers)
    if edges:
        edges[0][2]["cost"] = 2
    made = su.Graph.from_networkx(graph, weight="cost", device="cpu")
    assert made.weight_dtype is not None
    assert are_equal(made.to_networkx(), graph)


def test_networkx_after_changes() -> None:
    given = nx.Graph(title="t")
    given.add_nodes_from([(("a", 1), {"x": 1}), ("b", {"x": 2, "y": 3}), (2.5, {"x": 3})])
    given.add_edge(("a", 1), "b", since=1999)
    given.add_edge("b", 2.5, since=2001)
    graph = su.Graph.from_networkx(given, device="cpu")
    assert (graph.names, graph.objects.nodes) == (None, [("a", 1), "b", 2.5])
    assert graph.columns["x"].tolist() == [1, 2, 3]
    graph.apply(su.Batch(delete=([0], [1])))
    graph.insert_edges([0, 0], [1, 2])
    given.remove_edge(("a", 1), "b")
    given.add_edges_from([(("a", 1), "b"), (("a", 1), 2.5)])
    assert are_equal(graph.to_networkx(), given)
    graph.delete_vertices([1])
    given.remove_node("b")
    assert are_equal(graph.to_networkx(), given)
    assert graph.insert_vertices(2, recycle=True).tolist() == [1, 3]
    found = graph.to_networkx()
    assert list(found) == [("a", 1), 1, 2.5, 3]
    assert found.nodes[1] == {"x": 0}
    graph.objects = None
    assert list(graph.to_networkx()) == [0, 1, 2, 3]
    with pytest.raises(ParameterError, match="objects can be set to None"):
        graph.objects = {}


@pytest.mark.parametrize(("numbers", "dtype"), [([0, 2**63], "uint64"), ([-1, 2**63], None), ([0, 2**64], None)])
def test_attributes_beyond_63_bits_are_columns_where_64_are_enough(numbers: list[int], dtype: str | None) -> None:
    given = nx.Graph()
    given.add_nodes_from([(node, {"x": number}) for node, number in enumerate(numbers)])
    graph = su.Graph.from_networkx(given, device="cpu")
    assert graph.columns["x"].dtype == dtype if dtype else "x" not in graph.columns
    assert are_equal(graph.to_networkx(), given)


def test_parallel_edges_of_networkx_are_told_and_the_last_one_is_kept() -> None:
    given = nx.MultiDiGraph([("a", "b", 0, {"x": 1}), ("a", "b", "k", {"x": 2}), ("b", "c", 0, {})])
    with pytest.warns(UserWarning, match="1 edges are parallel to others"):
        found = su.Graph.from_networkx(given, device="cpu").to_networkx()
    given.remove_edge("a", "b", 0)
    assert are_equal(found, given)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        su.Graph.from_networkx(given, combine="last", device="cpu")


def test_ids_that_are_names_of_others() -> None:
    graph = su.Graph.from_networkx(nx.Graph([(3, "a"), ("a", 4.5)]), device="cpu")
    graph.insert_vertices()
    with pytest.raises(RequirementError, match="vertex 3 has no name, and another vertex has this name"):
        graph.to_networkx()


def test_what_a_snapshot_cannot_hold(tmp_path: Path) -> None:
    graph = su.Graph.from_networkx(nx.Graph(made=Path("x")), device="cpu")
    with pytest.raises(RequirementError, match="pickle the graph"):
        graph.save(tmp_path / "graph.npz")
    assert pickle.loads(pickle.dumps(graph)).to_networkx().graph == {"made": Path("x")}


# -- tables and matrices -----------------------------------------------------------------------------------------------

WEIGHTS = st.sampled_from(["int32", "uint32", "float32", "float64"])


def numbers_of(dtype: str) -> Any:
    if dtype.startswith("float"):
        return st.floats(width=int(dtype[5:]), allow_nan=False, allow_infinity=False)
    limits = np.iinfo(dtype)
    return st.integers(int(limits.min), int(limits.max))


@EXAMPLES
@given(st.sampled_from([TEXTS, st.integers(0, 6)]), WEIGHTS, st.data())
def test_edge_lists_of_pandas(nodes: Any, dtype: str, data: Any) -> None:
    pairs = data.draw(st.lists(st.tuples(nodes, nodes), min_size=1, max_size=8, unique=True))
    frame = pd.DataFrame({"source": [u for u, _ in pairs], "target": [v for _, v in pairs]})
    values = data.draw(st.lists(numbers_of(dtype), min_size=len(pairs), max_size=len(pairs)))
    frame["weight"] = np.array(values, dtype)
    back = su.Graph.from_pandas_edgelist(frame, weight="weight", device="cpu").to_pandas_edgelist()
    order = ["source", "target"]
    pd.testing.assert_frame_equal(
        back.sort_values(order, ignore_index=True), frame.sort_values(order, ignore_index=True), check_dtype=False
    )
    assert back["weight"].dtype == dtype


@EXAMPLES
@given(st.integers(0, 6), WEIGHTS, st.data())
def test_matrices_of_scipy(size: int, dtype: str, data: Any) -> None:
    places = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)) if size else st.nothing()
    pairs = data.draw(st.lists(places, max_size=9, unique=True)) if size else []
    values = data.draw(st.lists(numbers_of(dtype), min_size=len(pairs), max_size=len(pairs)))
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    matrix = sp.coo_array((np.array(values, dtype), (ends[:, 0], ends[:, 1])), shape=(size, size)).tocsr()
    back = su.Graph.from_scipy_sparse(matrix, device="cpu").to_scipy_sparse()
    assert (back.dtype, back.shape, back.nnz) == (matrix.dtype, matrix.shape, matrix.nnz)
    assert (back.indptr.tolist(), back.indices.tolist()) == (matrix.indptr.tolist(), matrix.indices.tolist())
    assert back.data.tobytes() == matrix.data.tobytes()


# -- graphs that were in another library -------------------------------------------------------------------------------

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
KINDS_OF_NAMES = [None, TEXTS, st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**64 - 1)]


def column(draw: Any, dtype: str, size: int) -> np.ndarray:
    if dtype == "str":
        return np.fromiter(draw(st.lists(TEXTS, min_size=size, max_size=size)), object, size)
    numbers = st.booleans() if dtype == "bool" else numbers_of(dtype)
    return np.array(draw(st.lists(numbers, min_size=size, max_size=size)), dtype)


@st.composite
def graphs(draw: Any, *, edge_columns: bool = True, names: Any = KINDS_OF_NAMES) -> su.Graph:
    """Graphs with isolated and deleted vertices, names of some, columns of vertices and edges or weights."""
    size, directed = draw(st.integers(0, 7)), draw(st.booleans())
    ids = st.integers(0, size - 1)
    pairs = (
        draw(st.lists(st.tuples(ids, ids), max_size=9, unique_by=(lambda e: e if directed else (min(e), max(e)))))
        if size
        else []
    )
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    kinds = draw(st.lists(st.sampled_from([*DTYPES, "str"]), max_size=2)) if edge_columns else []
    weight: Any = {f"e{at}": column(draw, dtype, len(pairs)) for at, dtype in enumerate(kinds)} or None
    if weight is None and draw(st.booleans()):
        weight = column(draw, draw(WEIGHTS), len(pairs))
    graph = su.Graph.from_coo(ends[:, 0], ends[:, 1], weight, num_vertices=size, directed=directed, device="cpu")
    kind = draw(st.sampled_from(names))
    if kind is not None and size:
        graph.names = su.Names.of(draw(st.lists(kind, min_size=size, max_size=size, unique=True)))
        graph.names.forget(draw(st.lists(ids, max_size=2, unique=True)), reuse=False)
    for at, dtype in enumerate(draw(st.lists(st.sampled_from([*DTYPES, "str"]), max_size=2))):
        graph.columns[f"v{at}"] = column(draw, dtype, size)
    if size:
        graph.delete_vertices(draw(st.lists(ids, max_size=2)))
    return graph


def contents(graph: su.Graph, *, deleted: bool = True, dtypes: bool = True) -> dict[str, Any]:
    """All of a graph that must come back; ``deleted``: whether deleted vertices are; ``dtypes``: of columns."""
    frame = graph.to_pandas_edgelist(names=False)
    live = graph.live_vertices
    named = [] if graph.names is None else live[graph.names.has(live)]
    return {
        "direction": graph.directed,
        "vertices": live.tolist() if deleted else None,
        "edges": sorted(frame[sorted(frame.columns)].itertuples(index=False, name=None)),
        "weights": graph.weight_dtype,
        "edge dtypes": {name: part.dtype for name, part in graph.edge_columns.items()}
        if dtypes
        else sorted(graph.edge_columns),
        "names": dict(zip(named, [graph.names[vertex] for vertex in named], strict=True)) if len(named) else {},
        "columns": {name: part[live].tolist() for name, part in graph.columns.items()},
        "dtypes": {name: part.dtype for name, part in graph.columns.items()} if dtypes else None,
    }


@EXAMPLES
@given(graphs())
def test_tables_of_arrow(graph: su.Graph) -> None:
    tables = graph.to_arrow()
    again = su.Graph.from_arrow(*tables, device="cpu")
    again.check()
    assert contents(again) == contents(graph)
    back = again.to_arrow()
    assert back.vertices.equals(tables.vertices)
    assert back.edges.sort_by([("src", "ascending"), ("dst", "ascending")]).equals(
        tables.edges.sort_by([("src", "ascending"), ("dst", "ascending")]), check_metadata=True
    )


@EXAMPLES
@given(graphs())
def test_frames_of_polars(graph: su.Graph) -> None:
    pl = pytest.importorskip("polars")
    frames = graph.to_polars()
    assert contents(su.Graph.from_polars(*frames, directed=graph.directed, device="cpu")) == contents(graph)
    lazy = [frame.lazy() for frame in frames]
    assert contents(su.Graph.from_polars(*lazy, directed=graph.directed, device="cpu")) == contents(graph)
    assert isinstance(frames.edges, pl.DataFrame)


@EXAMPLES
@given(graphs())
def test_igraph(graph: su.Graph) -> None:
    pytest.importorskip("igraph")
    other = graph.to_igraph()
    again = su.Graph.from_igraph(other, device="cpu")
    back = again.to_igraph()
    for one, two in ((back.vs, other.vs), (back.es, other.es)):
        found = [{name: each[name] for name in each.attributes()} for each in (one, two)]
        assert str(found[0]) == str(found[1])  # NaN, which deleted vertices have, is no other NaN
    assert (back.get_edgelist(), back.is_directed(), back.vcount()) == (
        other.get_edgelist(), other.is_directed(), other.vcount(),
    )  # fmt: skip


def test_objects_go_to_igraph_and_back() -> None:
    igraph = pytest.importorskip("igraph")
    other = igraph.Graph(3, [(2, 0), (1, 2)])
    other["title"], other["year"] = "t", 1736
    other.vs["name"] = [("a", 1), "b", 2.5]
    other.vs["age"], other.vs["odd"] = [1, 2.5, 3], [None, 1, [2]]
    other.es["weight"], other.es["odd"] = [1.5, 2.5], [None, {"x": 1}]
    for directed in (None, True):
        options = {} if directed is None else {"directed": directed}
        graph = su.Graph.from_igraph(other, device="cpu", **options)
        assert graph.weight_dtype == np.float64
        back = graph.to_igraph()
        assert {name: back[name] for name in back.attributes()} == {"title": "t", "year": 1736}
        assert {name: back.vs[name] for name in back.vs.attributes()} == {
            name: other.vs[name] for name in other.vs.attributes()
        }
        rows = {(*sorted(edge.tuple), edge["weight"], str(edge["odd"])) for edge in back.es}
        assert rows == {(0, 2, 1.5, "None"), (1, 2, 2.5, "{'x': 1}")}
    assert graph.to_networkx().graph == {"title": "t", "year": 1736}


@EXAMPLES
@given(graphs(edge_columns=False))
def test_networkit(graph: su.Graph) -> None:
    pytest.importorskip("networkit")
    limits = np.iinfo(np.int32)
    whole = [part.astype(object) for part in graph.columns.values() if part.dtype.kind in "iu" and len(part)]
    if any(part.min() < limits.min or part.max() > limits.max for part in whole):
        with pytest.raises(RequirementError, match="has integers beyond 32 bits"):
            graph.to_networkit()
        return
    other, names = graph.to_networkit(names=True)
    kinds = {
        name: {"b": int, "i": int, "u": int, "f": float, "O": str}[part.dtype.kind]
        for name, part in graph.columns.items()
    }
    again = su.Graph.from_networkit(other, kinds, device="cpu")
    found, right = contents(again, dtypes=False), contents(graph, dtypes=False)
    if any(isinstance(name, int) and not limits.min <= name <= limits.max for name in names or ()):
        assert found.pop("names") == {}
        del right["names"]  # only on request
    assert (found.pop("weights") is None) == (right.pop("weights") is None)
    assert found == right
    live = graph.live_vertices.tolist()
    assert names is None or [names[v] for v in live] == [
        graph.names[v] if graph.names.has([v])[0] else None for v in live
    ]


@pytest.fixture(scope="module")
def stub_of_pyg() -> Any:
    """What takes the place of PyTorch Geometric, an object that holds arrays."""
    torch, data = ModuleType("torch"), ModuleType("torch_geometric.data")
    torch.as_tensor, data.Data = np.asarray, SimpleNamespace  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "torch", torch)
        patch.setitem(sys.modules, "torch_geometric", ModuleType("torch_geometric"))
        patch.setitem(sys.modules, "torch_geometric.data", data)
        yield


@EXAMPLES
@given(graph=graphs())
@pytest.mark.usefixtures("stub_of_pyg")
def test_pytorch_geometric(graph: su.Graph) -> None:
    other = graph.to_pyg()
    if other.num_nodes == other.edge_index.shape[1]:
        return  # names of attributes decide then what they belong to
    again = su.Graph.from_pyg(other, directed=graph.directed, device="cpu")
    found, right = contents(again, deleted=False), contents(graph, deleted=False)
    live = graph.live_vertices
    found["columns"] = {name: part[live].tolist() for name, part in again.columns.items()}
    found["names"] = {vertex: name for vertex, name in found["names"].items() if vertex in live}
    assert found == right


# -- names on request, and what offers tables --------------------------------------------------------------------------


def test_names_on_request() -> None:
    graph = su.Graph.from_networkx(nx.DiGraph([((0, 1), "x"), ("x", 2.5)]), device="cpu")
    named = su.Graph.from_coo(["a", "b"], ["b", "c"], device="cpu")
    plain = su.Graph.from_coo([0], [1], device="cpu")
    for one, right in ((graph, [(0, 1), "x", 2.5]), (named, ["a", "b", "c"]), (plain, None)):
        matrix, names = one.to_scipy_sparse(names=True)
        assert (matrix.nnz, names) == (one.num_edges, right)
        again = su.Graph.from_scipy_sparse(matrix, names=names, device="cpu")
        assert sorted(again.to_networkx().edges, key=str) == sorted(one.to_networkx().edges, key=str)
        index, _, names = one.to_edge_index(names=True)
        assert (index.shape, names) == ((2, one.num_edges), right)
        pytest.importorskip("networkit")
        assert one.to_networkit(names=True)[1] == right
    with pytest.raises(RequirementError, match="names=False"):
        graph.to_arrow()
    assert graph.to_arrow(names=False).vertices.column_names == ["vertex"]
    assert graph.to_pandas_edgelist().to_dict("list") == {"source": [(0, 1), "x"], "target": ["x", 2.5]}
    named.names.forget([2], reuse=False)
    with pytest.raises(RequirementError, match="vertex 2 has edges and no name: pass names=False"):
        named.to_pandas_edgelist()
    assert named.to_pandas_edgelist(names=False)["target"].tolist() == [1, 2]


class Stream:
    """Offers a table by Arrow's C interface and by nothing else."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


class Relation(Stream):
    """Has columns, too, but no arrays in them, as a relation of DuckDB."""

    def __init__(self, table: Any) -> None:
        super().__init__(table)
        self.columns = table.column_names

    def __getitem__(self, name: str) -> Any:
        return Relation(self._table.select([name]))


@pytest.mark.parametrize("kind", [Stream, Relation, "reader", "batch", "lazy", "pandas"])
def test_whatever_offers_a_table_comes_in(kind: Any) -> None:
    table = pa.table({"source": ["a", "b"], "target": ["b", "c"], "weight": [1.5, 2.5]})

    def offered() -> Any:
        if kind == "reader":
            return pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
        if kind == "batch":
            return table.to_batches()[0]
        if kind == "lazy":
            return pytest.importorskip("polars").from_arrow(table).lazy()
        return table.to_pandas() if kind == "pandas" else kind(table)

    made = [
        su.Graph.from_pandas_edgelist(offered(), weight="weight", device="cpu"),
        su.Graph.from_arrow(offered(), device="cpu"),
        su.Graph.from_polars(offered(), device="cpu"),
    ]
    for graph in made:
        assert graph.to_pandas_edgelist().to_dict("list") == table.to_pydict()
    if kind == Stream:
        ends = [Stream(table[name]) for name in ("source", "target", "weight")]
        graph = su.Graph.from_coo(*ends, device="cpu")
        assert graph.to_pandas_edgelist().to_dict("list") == table.to_pydict()


@pytest.mark.parametrize("lazy", [False, True])
def test_sources_of_events(lazy: bool) -> None:
    table = pa.table({"time": [1, 2], "src": [0, 1], "dst": [1, 2]})
    chunk = pytest.importorskip("polars").from_arrow(table).lazy() if lazy else Relation(table)
    for source in (chunk, [chunk]):
        with streams.Window(source, slide=10, graph={"device": "cpu"}) as job:
            assert [w.graph.num_edges for w in job] == [2]


def test_the_metadata_of_a_table_say_the_direction() -> None:
    undirected = su.Graph.from_coo([0, 1], [1, 2], directed=False, device="cpu")
    tables = undirected.to_arrow()
    assert su.Graph.from_arrow(*tables, device="cpu").directed is False
    both = su.Graph.from_arrow(*tables, directed=True, device="cpu")
    assert (both.directed, both.num_edges) == (True, 4)
    assert su.Graph.from_arrow(tables.edges.replace_schema_metadata(None), device="cpu").directed is True


@pytest.mark.parametrize("library", ["polars", "arrow"])
def test_columns_of_texts_without_edges_stay_texts(library) -> None:
    pytest.importorskip({"arrow": "pyarrow"}.get(library, library))
    graph = su.Graph(0, device="cpu", edge_columns={"road": str, "km": "float32"})
    graph.columns.add("name of a river", dtype=str)
    back = getattr(su.Graph, f"from_{library}")(*getattr(graph, f"to_{library}")())
    assert (back.edge_columns["road"].dtype, back.edge_columns["km"].dtype) == (object, np.float32)
    assert back.columns["name of a river"].dtype == object
