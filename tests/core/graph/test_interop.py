"""Exchange with other libraries: each ``to_`` undoes its ``from_``, and what does not fit is refused."""

from __future__ import annotations

import sys

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

import suricate as su
from suricate.errors import (
    CapacityError,
    DTypeError,
    ParameterError,
    ShapeError,
    SuricateError,
    VertexRangeError,
    WeightError,
)

SRC, DST, WEIGHT = [0, 2, 2, 4], [1, 0, 2, 3], [1.5, 2.5, 3.5, 4.5]


@pytest.fixture
def where(backend, device):
    return {"backend": backend, "device": device}


def edges(graph):
    host = graph.device.to_numpy
    parts = [host(part).tolist() for part in graph.edges() if part is not None]
    return sorted(zip(*parts, strict=True))


def test_coo(where):
    graph = su.Graph.from_coo(SRC, DST, WEIGHT, **where)
    assert (graph.num_vertices, graph.weight_dtype) == (5, np.float64)
    assert edges(graph) == sorted(zip(SRC, DST, WEIGHT, strict=True))
    again = su.Graph.from_coo(*graph.to_coo(), num_vertices=9, **where)
    assert (again.num_vertices, edges(again)) == (9, edges(graph))
    plain = su.Graph.from_coo(np.array(SRC), np.array(DST), num_vertices=5, in_edges=True, **where)
    assert (plain.weight_dtype, plain.has_in_edges, plain.num_edges) == (None, True, 4)
    empty = su.Graph.from_coo([], [], **where)
    assert (empty.num_vertices, empty.num_edges) == (0, 0)


def test_coo_that_does_not_fit(where):
    with pytest.raises(VertexRangeError, match=r"dst\[1\] is 9"):
        su.Graph.from_coo([0, 1], [1, 9], num_vertices=3, **where)
    with pytest.raises(VertexRangeError, match=r"src\[0\] is -1"):
        su.Graph.from_coo([-1], [1], **where)
    with pytest.raises(VertexRangeError, match=r"dst\[0\] is 4294967295"):
        su.Graph.from_coo([0], [2**32 - 1], **where)
    with pytest.raises(WeightError, match="unweighted"):
        su.Graph.from_coo([0], [1], [2.0], weight_dtype=None, **where)
    with pytest.raises(DTypeError, match="bool"):
        su.Graph.from_coo([0], [1], [True], **where)


@pytest.mark.parametrize(
    ("given", "held"),
    [("float16", "float32"), ("float32", "float32"), ("float64", "float64"), ("int8", "int32"), ("int64", "int32"),
     ("uint16", "int32"), ("uint32", "uint32"), ("uint64", "int32")],
)  # fmt: skip
def test_the_dtype_of_weights_is_kept_where_a_graph_has_it(where, given, held):
    assert su.Graph.from_coo([0], [1], np.array([3], given), **where).weight_dtype == held


def test_csr(where):
    graph = su.Graph.from_csr([0, 1, 1, 3, 3, 4], [1, 2, 0, 3], [1, 3, 2, 4], **where)
    assert edges(graph) == [(0, 1, 1), (2, 0, 2), (2, 2, 3), (4, 3, 4)]
    offsets, dst, weight = (graph.device.to_numpy(part).tolist() for part in graph.to_csr())
    assert (offsets, dst, weight) == ([0, 1, 1, 3, 3, 4], [1, 0, 2, 3], [1, 2, 3, 4])


@pytest.mark.parametrize("offsets", [[], [1, 2], [0, 2, 1, 2], [0, 3]])
def test_offsets_that_do_not_fit(where, offsets):
    with pytest.raises(ShapeError, match="offsets"):
        su.Graph.from_csr(offsets, [0, 0], **where)


def test_scipy_sparse(where):
    matrix = sp.coo_array((WEIGHT, (SRC, DST)), shape=(5, 5))
    graph = su.Graph.from_scipy_sparse(matrix, **where)
    assert graph.num_edges == 4
    assert (graph.to_scipy_sparse() != matrix.tocsr()).nnz == 0
    assert su.Graph.from_scipy_sparse(matrix, weight_dtype="float32", **where).weight_dtype == np.float32


def test_scipy_sparse_of_unweighted_and_undirected_graphs(where):
    boolean = sp.csr_matrix(np.array([[1, 0], [1, 0]], bool))
    graph = su.Graph.from_scipy_sparse(boolean, **where)
    assert (graph.weight_dtype, edges(graph)) == (None, [(0, 0), (1, 0)])
    undirected = su.Graph.from_scipy_sparse(boolean, directed=False, **where)
    assert undirected.to_scipy_sparse().toarray().tolist() == [[1, 1], [1, 0]]
    with pytest.warns(UserWarning, match="1 of 2 edges repeat"):
        lower_wins = su.Graph.from_scipy_sparse(sp.csr_array(np.array([[0, 5], [7, 0]])), directed=False, **where)
    assert edges(lower_wins) == [(0, 1, 7)]
    with pytest.raises(ShapeError, match=r"\(2, 3\)"):
        su.Graph.from_scipy_sparse(sp.csr_array((2, 3)), **where)


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_networkx(where, kind):
    given = kind()
    given.add_nodes_from(range(6))
    given.add_weighted_edges_from(zip(SRC, DST, WEIGHT, strict=True))
    graph = su.Graph.from_networkx(given, weight="weight", **where)
    assert (graph.directed, graph.num_vertices) == (given.is_directed(), 6)
    assert nx.utils.graphs_equal(graph.to_networkx(), given)
    plain = su.Graph.from_networkx(given, **where)
    assert plain.weight_dtype is None
    assert sorted(plain.to_networkx().edges) == sorted(
        kind(given.edges).edges if kind is nx.DiGraph else plain_edges(given)
    )


def test_deleted_vertices_are_no_nodes_and_empty_rows(where):
    graph = su.Graph(5, directed=False, **where)
    graph.insert_edges([0, 1, 2], [1, 2, 3])
    graph.delete_vertices([1, 4])
    other = graph.to_networkx()
    assert (list(other.nodes), list(other.edges)) == ([0, 2, 3], [(2, 3)])
    assert graph.to_scipy_sparse().toarray()[[1, 4]].tolist() == [[0] * 5] * 2
    assert graph.device.to_numpy(graph.to_csr().offsets).tolist() == [0, 0, 0, 1, 2, 2]
    graph.insert_edges([4], [0])
    assert list(graph.to_networkx().nodes) == [0, 2, 3, 4]


def test_an_undirected_edge_of_networkx_is_two_arcs_of_a_directed_graph(where):
    given = nx.MultiGraph([(0, 1, {"cost": 5}), (2, 2, {"cost": 3}), (1, 0, {"cost": 7})])
    with pytest.warns(UserWarning, match="1 edges are parallel"):
        graph = su.Graph.from_networkx(given, weight="cost", directed=True, **where)
    assert sorted(graph.to_networkx().edges(data="cost")) == [(0, 1, 7), (1, 0, 7), (2, 2, 3)]
    assert sorted(graph.to_networkx("weight").edges(data="weight")) == [(0, 1, 7), (1, 0, 7), (2, 2, 3)]
    assert su.Graph.from_networkx(nx.DiGraph([(0, 1), (1, 0)]), directed=False, **where).num_edges == 1


def test_weights_that_nobody_has_named_are_refused(where):
    with pytest.raises(WeightError, match="name the edge attribute"):
        su.Graph.from_networkx(nx.Graph([(0, 1, {"weight": 2})]), weight_dtype="float32", **where)
    with pytest.raises(WeightError, match="name the column"):
        su.Graph.from_pandas_edgelist(pd.DataFrame({"source": [0], "target": [1]}), weight_dtype="int32", **where)


def plain_edges(graph):
    return [(min(u, v), max(u, v)) for u, v in graph.edges]


def test_networkx_with_labels_multigraphs_and_missing_weights(where):
    given = nx.MultiDiGraph([("b", "a", {"cost": 2.5}), ("a", "c"), ("b", "a", {"cost": 4.0})])
    with pytest.warns(UserWarning, match="1 edges are parallel"):
        graph = su.Graph.from_networkx(given, weight="cost", **where)
    assert edges(graph) == [(0, 1, 4.0), (1, 2, 1.0)]
    assert edges(su.Graph.from_networkx(given, weight="cost", combine="sum", **where)) == [(0, 1, 6.5), (1, 2, 1.0)]
    assert edges(su.Graph.from_networkx(given, combine="count", **where)) == [(0, 1, 2), (1, 2, 1)]
    shuffled = nx.DiGraph([(2, 0), (0, 1)])
    assert edges(su.Graph.from_networkx(shuffled, **where)) == [(0, 1), (2, 0)]
    assert su.Graph.from_networkx(nx.Graph(), **where).num_vertices == 0


@pytest.mark.parametrize("kind", [int, np.int64, np.uint8])
def test_integers_of_numpy_are_nodes_as_those_of_python(kind):
    rows = [(kind(2), kind(0)), (kind(0), kind(1))]
    for given in (nx.DiGraph(rows), nx.Graph(rows), nx.MultiDiGraph(rows), nx.DiGraph(rows).subgraph([0, 1, 2])):
        graph = su.Graph.from_networkx(given, device="cpu")
        assert edges(graph) == ([(0, 1), (2, 0)] if given.is_directed() else [(0, 1), (0, 2)])
    named = su.Graph.from_networkx(nx.DiGraph([(True, "a")]), device="cpu")
    assert edges(named) == [(0, 1)]


def test_an_attribute_that_no_edge_has():
    given = nx.MultiGraph([(0, 1, {"cost": 5, "length": 2}), (1, 2)])
    with pytest.raises(ParameterError, match="weight='price': no edge has this attribute; there are: cost, length"):
        su.Graph.from_networkx(given, weight="price", device="cpu")
    assert edges(su.Graph.from_networkx(given, weight="cost", device="cpu")) == [(0, 1, 5), (1, 2, 1)]
    assert su.Graph.from_networkx(nx.empty_graph(3), weight="price", device="cpu").num_edges == 0


@pytest.mark.parametrize(
    ("library", "advice"),
    [("igraph", "from_igraph"), ("rustworkx.graph", "edge_list"), ("dgl", "g.edges"), ("scipy.sparse", "from_scipy")],
)
def test_graphs_of_other_libraries_name_the_way(library, advice):
    other = type("Other", (), {"__module__": library, "is_directed": lambda self: True})()
    for convert in (su.Graph.from_networkx, su.Graph.from_scipy_sparse, su.Graph.from_pandas_edgelist):
        with pytest.raises(ParameterError, match=f"got Other: use Graph.*{advice}"):
            convert(other, device="cpu")


def test_arrow_tables():
    table = pa.table({"a": pa.array([0, 2]).dictionary_encode(), "b": [1, 1], "w": [2.5, 3.5], "n": [1, None]})
    assert edges(su.Graph.from_pandas_edgelist(table, "a", "b", "w", device="cpu")) == [(0, 1, 2.5), (2, 1, 3.5)]
    batch = table.drop(["a"]).to_batches()[0]
    assert edges(su.Graph.from_pandas_edgelist(batch, "b", "b", device="cpu")) == [(1, 1)]
    assert edges(su.Graph.from_coo(pa.array([0]), table["b"].slice(0, 1), device="cpu")) == [(0, 1)]
    with pytest.raises(DTypeError, match="missing"):
        su.Graph.from_pandas_edgelist(table, "n", "b", device="cpu")


def test_duplicates_of_a_sparse_matrix_are_summed_where_the_sum_fits():
    def total(values, **options):
        place = np.zeros(len(values), int)
        kinds = (
            sp.coo_array((values, (place, place + 1)), (2, 2)),
            sp.csr_array((values, place + 1, [0, len(place), len(place)])),
        )
        found = [edges(su.Graph.from_scipy_sparse(kind, device="cpu", **options)) for kind in kinds]
        assert found[0] == found[1]
        assert kinds[1].nnz == len(values)  # the argument stays as it is
        return found[0][0][2]

    assert total(np.array([100, 100], np.int8)) == 200
    assert total(np.array([-30000] * 3, np.int16)) == -90000
    assert total(np.array([2**31, 2**31 - 1], np.uint32)) == 2**32 - 1
    assert total(np.array([2**63, 2**63, 2**63], np.uint64), weight_dtype="float64") == 3 * 2.0**63
    for values in (np.array([2**31 - 1, 1], np.int32), np.array([3e38, 3e38], np.float32)):
        with pytest.raises(WeightError, match="weight_dtype='"):
            total(values)


def test_pandas(where):
    frame = pd.DataFrame({"from": SRC, "to": DST, "cost": WEIGHT})
    graph = su.Graph.from_pandas_edgelist(frame, "from", "to", "cost", **where)
    back = graph.to_pandas_edgelist("from", "to", "cost").sort_values(["from", "to"], ignore_index=True)
    pd.testing.assert_frame_equal(back, frame, check_dtype=False)
    plain = su.Graph.from_pandas_edgelist(frame, "from", "to", **where)
    assert list(plain.to_pandas_edgelist().columns) == ["source", "target"]
    assert su.Graph.from_pandas_edgelist(frame, **where).num_edges == graph.num_edges  # headers that su.read knows
    with pytest.raises(ShapeError, match=r"no column of dst \(dst= names it\); it has: from, cost"):
        su.Graph.from_pandas_edgelist(frame[["from", "cost"]], **where)


def test_edge_index(where):
    index = np.array([SRC, DST])
    graph = su.Graph.from_edge_index(index, 7, np.array(WEIGHT, np.float32), **where)
    assert (graph.num_vertices, graph.num_edges) == (7, 4)
    back, weight = graph.to_edge_index()
    host = graph.device.to_numpy
    assert (host(back).dtype, host(back).shape) == (np.int64, (2, 4))
    assert sorted(zip(*host(back).tolist(), host(weight).tolist(), strict=True)) == edges(graph)
    undirected = su.Graph.from_edge_index(np.array([[0, 1, 2], [1, 0, 2]]), 3, directed=False, **where)
    back, weight = undirected.to_edge_index()
    assert sorted(zip(*host(back).tolist(), strict=True)) == [(0, 1), (1, 0), (2, 2)]
    assert weight is None
    for bad in (index.T, SRC):
        with pytest.raises(ShapeError, match=r"\[2, edges\]"):
            su.Graph.from_edge_index(bad, 7, **where)


@pytest.mark.parametrize(("name", "method"), [("networkx", "to_networkx"), ("pandas", "to_pandas_edgelist")])
def test_a_library_that_is_not_there_is_named(where, monkeypatch, name, method):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=f"suricate\\[{name}\\]") as caught:
        getattr(su.Graph(1, **where), method)()
    assert isinstance(caught.value, SuricateError)


MASKED = np.ma.array([0, 1, 99], mask=[False, False, True])
BAD_INPUT = {
    "masked ids": (lambda g: g.from_coo(MASKED, [0, 1, 1]), DTypeError, "src has masked entries"),
    "masked weights": (lambda g: g.from_coo([0] * 3, [1] * 3, MASKED), DTypeError, "weight has masked entries"),
    "masked offsets": (lambda g: g.from_csr(MASKED, [0]), DTypeError, "offsets has masked entries"),
    "float32 beyond int32": (
        lambda g: g.from_coo([0], [1], np.array([2.0**31], np.float32), weight_dtype="int32"),
        WeightError,
        "2147483648, out of the range of int32",
    ),
    "int64 beyond int32": (lambda g: g.from_coo([0], [1], [2**31]), WeightError, "int32 .*dtype='uint32'"),
    "int64 below int32": (lambda g: g.from_coo([0], [1], [-(2**31) - 1]), WeightError, "weight_dtype='float64'"),
    "huge id": (lambda g: g.from_coo([0], [2**40]), VertexRangeError, r"dst\[0\] is 1099511627776, .*intern.*relabel"),
    "no memory for an id": (
        lambda g: g.from_coo([0], [2**32 - 9], memory_limit=1 << 20), CapacityError, "id 4294967287 makes it.*relabel"
    ),
    "text weights": (lambda g: g.from_coo([0], [1], ["a"]), DTypeError, "must be numbers"),
    "complex weights": (lambda g: g.from_coo([0], [1], [1j]), DTypeError, "must be numbers"),
    "NaN vertices": (lambda g: g.from_coo([0], [1], num_vertices=float("nan")), DTypeError, "num_vertices is nan"),
    "a vertex and a half": (lambda g: g.from_coo([0], [1], num_vertices=1.5), DTypeError, "num_vertices is 1.5"),
    "negative ids": (lambda g: g.from_coo([-5, -7], [-5, -9]), VertexRangeError, r"src\[0\] is -5.*intern"),
    "negative id": (lambda g: g.from_coo([0, -1], [1, 1]), VertexRangeError, r"src\[1\] is -1"),
    "vertices of CSR": (lambda g: g.from_csr([0, 1], [0], num_vertices=7), ParameterError, "offsets determines"),
    "unsigned offsets": (lambda g: g.from_csr(np.array([0, 2**64 - 1, 1], np.uint64), [0]), ShapeError, "ascend"),
    "no matrix": (lambda g: g.from_scipy_sparse(np.ones((2, 2))), ParameterError, "sparse matrix of SciPy"),
    "flat matrix": (lambda g: g.from_scipy_sparse(sp.coo_array(np.ones(3))), ShapeError, r"shape \(3,\)"),
    "damaged matrix": (lambda g: g.from_scipy_sparse(damaged_matrix()), ParameterError, "matrix is damaged"),
    "no NetworkX": (lambda g: g.from_networkx([(0, 1)]), ParameterError, "graph of NetworkX, got list"),
    "NetworkX text": (
        lambda g: g.from_networkx(nx.Graph([(0, 1, {"w": "x"})]), weight="w"), DTypeError, "must be numbers"
    ),
    "NetworkX None": (
        lambda g: g.from_networkx(nx.Graph([(0, 1, {"w": None})]), weight="w"), DTypeError, "must be numbers"
    ),
    "list as attribute": (lambda g: g.from_networkx(nx.Graph(), weight=["w"]), ParameterError, "weight must be a name"),
    "list as column": (
        lambda g: g.from_pandas_edgelist(pd.DataFrame({"a": [0]}), ["a"], "a"), ParameterError, "src must be a name"
    ),
    "no pandas": (lambda g: g.from_pandas_edgelist(None), ParameterError, "data frame of pandas"),
    "missing ids": (
        lambda g: g.from_pandas_edgelist(pd.DataFrame({"source": [1, None], "target": [0, 1]})),
        DTypeError,
        "column 'source' has dtype float64",
    ),
    "missing weights": (
        lambda g: g.from_pandas_edgelist(
            pd.DataFrame({"source": [1], "target": [0], "w": pd.array([None], "Int64")}), weight="w"
        ),
        (DTypeError, WeightError),
        "weight",
    ),
    "two columns as weights": (
        lambda g: g.from_pandas_edgelist(
            pd.DataFrame({"source": [0], "target": [1], "weight": [3], "w": [9.5]}), weight="w", edge_columns=["weight"]
        ),
        ParameterError,
        "weight='w' and edge_columns with 'weight'",
    ),
    "bools in an index": (lambda g: g.from_edge_index([[True, 2], [0, 1]], 3), DTypeError, "mixes bools"),
    "ragged index": (lambda g: g.from_edge_index([[0, 1], [1]], 3), ShapeError, "edge_index"),
}  # fmt: skip


def damaged_matrix():
    matrix = sp.csr_array(np.eye(3))
    matrix.indices[0] = 77
    return matrix


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input(case):
    call, error, message = BAD_INPUT[case]
    with pytest.raises(error, match=message) as caught:
        call(su.Graph)
    assert isinstance(caught.value, SuricateError)
    assert "\n" not in str(caught.value)
