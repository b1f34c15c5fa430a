"""Edges that are given several times: rules that combine their weights, and a word where some are left out."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

import suricate as su
from suricate.errors import ParameterError, RequirementError, VertexRangeError, WeightError
from suricate.graph.edge_columns.repeats import RULES

pytestmark = pytest.mark.plain

SEED = np.random.default_rng(7)
SRC, DST = SEED.integers(0, 9, 200), SEED.integers(0, 9, 200)
WEIGHT = SEED.integers(-5, 6, 200)


def expected(rule: str, *, directed: bool, weight: np.ndarray = WEIGHT) -> dict[tuple[int, int], Any]:
    """The weight of each edge by pandas."""
    ends = (SRC, DST) if directed else (np.minimum(SRC, DST), np.maximum(SRC, DST))
    frame = pd.DataFrame({"u": ends[0], "v": ends[1], "w": weight})
    return getattr(frame.groupby(["u", "v"])["w"], rule)().to_dict()


def weights(graph: su.Graph) -> dict[tuple[int, int], Any]:
    frame = graph.to_pandas_edgelist()
    return dict(zip(zip(frame["source"], frame["target"], strict=True), frame["weight"], strict=True))


def quietly(make: Any) -> Any:
    """The result of ``make()``, which must not warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        return make()


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
def test_rules_agree_with_pandas(rule: str, dtype: str, directed: bool) -> None:
    options = {"combine": rule, "directed": directed, "device": "cpu"}
    weight, right = WEIGHT.astype(dtype), expected(rule, directed=directed)
    frame = pd.DataFrame({"source": SRC, "target": DST, "w": weight})
    made = [
        quietly(lambda: su.Graph.from_coo(SRC, DST, weight, **options)),
        quietly(lambda: su.Graph.from_pandas_edgelist(frame, weight="w", **options)),
        quietly(lambda: su.Graph.from_arrow(pa.table({"source": SRC, "target": DST, "weight": weight}), **options)),
        quietly(lambda: su.Graph.from_coo(SRC, DST, {"weight": weight, "n": WEIGHT}, **options)),
    ]
    for graph in made:
        graph.check()
        assert weights(graph) == right
        if rule == "count":
            assert graph.to_pandas_edgelist()["weight"].dtype == np.uint32


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("directed", [True, False])
def test_files_and_the_command_line(tmp_path: Path, rule: str, directed: bool) -> None:
    path = tmp_path / "edges.csv"
    pd.DataFrame({"src": SRC, "dst": DST, "weight": WEIGHT, "fee": WEIGHT * 2, "town": "x"}).to_csv(path, index=False)
    right = expected(rule, directed=directed)
    graph = quietly(lambda: su.read(path).to_graph(combine=rule, directed=directed, device="cpu"))
    assert weights(graph) == right
    rules = {"weight": rule, "fee": rule, "town": "first"}
    file = su.read(path, edge_columns=["fee", "town"])
    graph = quietly(lambda: file.to_graph(combine=rules, directed=directed, device="cpu"))
    frame = graph.to_pandas_edgelist()
    assert weights(graph) == right
    assert frame["fee"].tolist() == [value * (1 if rule == "count" else 2) for value in frame["weight"]]
    one = su.read(path, directed=False)
    arcs = weights(quietly(lambda: one.to_graph(combine=rule, directed=True, device="cpu")))
    undirected = expected(rule, directed=False)
    assert arcs == {pair: undirected[min(pair), max(pair)] for edge in undirected for pair in (edge, edge[::-1])}


def test_the_last_one_is_kept_with_one_warning() -> None:
    src, dst, weight = [0, 0, 0, 1, 2], [1, 1, 1, 0, 2], [1.0, 2.0, 2.0, 7.0, 5.0]
    with pytest.warns(UserWarning, match=r"1 of 5 edges repeat .* combine=") as told:
        graph = su.Graph.from_coo(src, dst, weight, device="cpu")
    assert (len(told), Path(told[0].filename)) == (1, Path(__file__))
    assert weights(graph) == {(0, 1): 2.0, (1, 0): 7.0, (2, 2): 5.0}
    with pytest.warns(UserWarning, match="3 of 5 edges repeat") as told:
        graph = su.Graph.from_coo(src, dst, weight, directed=False, device="cpu")
    assert (len(told), weights(graph)) == (1, {(0, 1): 7.0, (2, 2): 5.0})
    with pytest.warns(UserWarning, match="1 of 2 edges repeat"):
        su.Graph.from_coo([0, 0], [1, 1], {"town": ["Ulm", "Bonn"]}, device="cpu")


def test_what_repeats_without_a_difference_says_nothing() -> None:
    src, dst = [0, 1, 0, 3, 3], [1, 0, 1, 3, 3]
    for weight in (None, [2.5, 2.5, 2.5, 1, 1], 4, {"town": ["a", "a", "a", "b", "b"], "x": [np.nan] * 5}):
        quietly(lambda weight=weight: su.Graph.from_coo(src, dst, weight, directed=False, device="cpu"))
    matrix = sp.csr_array(np.array([[0, 5], [5, 1]]))
    quietly(lambda: su.Graph.from_scipy_sparse(matrix, directed=False, device="cpu"))
    quietly(lambda: su.Graph.from_networkx(nx.MultiGraph([(0, 1), (1, 2)]), device="cpu"))


def test_every_backend_tells(every_backend: str) -> None:
    for directed, count in ((True, 2), (False, 3)):
        with pytest.warns(UserWarning, match=f"{count} of 5 edges repeat"):
            su.Graph.from_coo(
                [0, 0, 0, 1, 1],
                [1, 1, 1, 0, 1],
                [1, 2, 3, 4, 5],
                directed=directed,
                backend=every_backend,
                device="cpu",
            )


@pytest.mark.parametrize("rule", RULES)
def test_one_triangle_of_a_symmetric_matrix_is_read(rule: str) -> None:
    half = sp.random_array((12, 12), density=0.3, rng=np.random.default_rng(3), format="coo")
    matrix = (half + half.T).tocoo()
    index = np.stack(matrix.coords)
    rows = matrix.tocsr()
    options = {"directed": False, "combine": rule, "device": "cpu"}
    made = [
        su.Graph.from_scipy_sparse(matrix, **options),
        su.Graph.from_edge_index(index, 12, matrix.data, **options),
        su.Graph.from_csr(rows.indptr, rows.indices, rows.data, **options),
    ]
    right = (rows != 0).astype(float) if rule == "count" else rows
    for graph in made:
        assert (graph.to_scipy_sparse() != right).nnz == 0


def test_two_values_of_a_matrix_that_is_not_symmetric() -> None:
    matrix = sp.csr_array(np.array([[1, 5], [7, 0]]))
    with pytest.warns(UserWarning, match="1 of 3 edges repeat"):
        graph = su.Graph.from_scipy_sparse(matrix, directed=False, device="cpu")
    assert weights(graph) == {(0, 0): 1, (0, 1): 7}
    graph = quietly(lambda: su.Graph.from_scipy_sparse(matrix, directed=False, combine="sum", device="cpu"))
    assert weights(graph) == {(0, 0): 1, (0, 1): 12}


def test_counts_need_no_weights_and_rules_by_column_add_some() -> None:
    graph = su.Graph.from_coo(["a", "a", "b"], ["b", "b", "a"], combine="count", device="cpu")
    assert (graph.weight_dtype, weights(graph)) == (np.uint32, {("a", "b"): 2, ("b", "a"): 1})
    given = {"amount": [1, 2, 4], "town": ["x", "y", "z"]}
    rules = {"amount": "sum", "payments": "count"}
    graph = su.Graph.from_coo([0, 0, 1], [1, 1, 0], given, combine=rules, device="cpu")
    assert graph.to_pandas_edgelist().to_dict("list") == {
        "source": [0, 1], "target": [1, 0], "amount": [3, 4], "town": ["y", "z"], "payments": [2, 1],
    }  # fmt: skip
    assert su.Graph.from_coo([], [], [], combine="sum", device="cpu").num_edges == 0


def test_large_sums() -> None:
    weight = np.array([2**62, 2**62, 2**62], np.int64)
    graph = su.Graph.from_coo([0] * 3, [1] * 3, weight, combine="sum", weight_dtype="float64", device="cpu")
    assert weights(graph) == {(0, 1): 3 * 2.0**62}
    with pytest.raises(WeightError, match="out of the range of int32"):
        su.Graph.from_coo([0, 0], [1, 1], [2**31 - 1, 1], combine="sum", device="cpu")


REFUSED: list[tuple[Any, Any, type[Exception], str]] = [
    ("mean", [1, 2], ParameterError, "combine must be one of last, first, sum, count, min, max, got 'mean'"),
    ({"weight": 3}, [1, 2], ParameterError, r"combine\['weight'\] must be one of"),
    ("sum", None, RequirementError, "combine='sum' needs weights; there are none"),
    ({"fee": "max"}, {"fare": [1, 2]}, RequirementError, "needs a column 'fee'; there are fare"),
    ({"town": "min"}, {"town": ["a", "b"]}, ParameterError, "'town' has no numbers: use one of last, first, count"),
    ("sum", [1, np.nan], WeightError, r"weight\[1\] is nan"),
]


@pytest.mark.parametrize(("combine", "weight", "error", "text"), REFUSED, ids=range(len(REFUSED)))
def test_rules_that_do_not_fit(combine: Any, weight: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        su.Graph.from_coo([0, 0], [1, 1], weight, combine=combine, device="cpu")


def test_invalid_ids_under_a_rule() -> None:
    with pytest.raises(VertexRangeError, match=r"src\[1\] is -1"):
        su.Graph.from_coo([0, -1], [1, 1], [1, 2], combine="sum", device="cpu")
    with pytest.raises(VertexRangeError, match=r"dst\[1\] is 9"):
        su.Graph.from_coo([0, 1], [1, 9], [1, 2], combine="sum", num_vertices=3, device="cpu")


def test_parallel_edges_of_other_libraries() -> None:
    igraph = pytest.importorskip("igraph")
    twice = igraph.Graph(3, [(0, 1), (1, 0)])
    twice.es["weight"] = [2, 3]
    assert weights(su.Graph.from_igraph(twice, combine="sum", device="cpu")) == {(0, 1): 5}
