"""The product of matrix and vector on every backend and device: the conformance kit, NetworkX's matrix, parameters."""

from __future__ import annotations

import math
from typing import Any

import networkx as nx
import numpy as np
import pytest

import suricate as su
from suricate.algorithms.spmv import SpMV
from suricate.errors import ParameterError, RequirementError, ShapeError, VertexRangeError
from suricate.testing import AlgorithmConformance

NUMBERS = np.random.default_rng(0).normal(size=30)


class TestSpMV(AlgorithmConformance):
    algorithm = SpMV
    params = ({}, {"x": NUMBERS, "over": "in"}, {"x": {3: -2, 7: 0.5}, "weighted": False})
    weights = (-3, 0, 1, 2)
    examples = 1
    cuda_marks = (pytest.mark.gpu,)


@pytest.mark.parametrize("over", ["out", "in"])
@pytest.mark.parametrize("directed", [True, False])
def test_product_with_the_matrix_of_networkx(over: str, directed: bool) -> None:
    rng = np.random.default_rng(4)
    graph = su.Graph(30, device="cpu", directed=directed, weight_dtype="float64")
    graph.insert_edges(*rng.integers(0, 30, (2, 90)), rng.normal(size=90))
    other = nx.DiGraph()
    other.add_nodes_from(range(30))
    other.add_weighted_edges_from(zip(*(part.tolist() for part in su.arcs(graph)), strict=True))
    matrix = nx.to_scipy_sparse_array(other, nodelist=range(30))
    wanted = (matrix if over == "out" else matrix.T) @ NUMBERS
    np.testing.assert_allclose(graph.compute("spmv", x=NUMBERS, over=over), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("weight_dtype", [None, "float32"])
def test_a_vector_of_float32_is_that_of_float64(weight_dtype: str | None, device: su.devices.Device) -> None:
    rng = np.random.default_rng(5)
    graph = su.Graph(40, device=str(device), weight_dtype=weight_dtype)
    graph.insert_edges(*rng.integers(0, 40, (2, 200)), None if weight_dtype is None else rng.random(200))
    x = rng.normal(size=40).astype(np.float32)
    single, double = (graph.track("spmv", x=each) for each in (x, x.astype(np.float64)))
    x[:] = 0  # a copy was made
    np.testing.assert_allclose(device.to_numpy(single.result), device.to_numpy(double.result), rtol=1e-14, atol=1e-14)
    graph.insert_edges([1, 2], [3, 3], None if weight_dtype is None else [0.1, 0.2])
    np.testing.assert_allclose(device.to_numpy(single.result), device.to_numpy(double.result), rtol=1e-14, atol=1e-14)
    assert device.to_numpy(single.result).any()


def test_an_update_computes_changed_rows_only(device: su.devices.Device, backend: str) -> None:
    graph = su.Graph(6, backend=backend, device=str(device))
    graph.insert_edges([0, 1, 2, 5], [1, 2, 3, 0])
    tracker = graph.track("spmv", x=[1, 2, 3, 4, 5, 6])
    tracker.algorithm._y[5] = -1  # would be overwritten if row 5 were computed
    graph.apply(su.Batch(insert=([0, 3], [4, 3]), delete=([1], [2])))
    assert tracker.result.tolist() == [7, 0, 4, 4, 0, -1]


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"x": math.nan}, ParameterError, "x must be in"),
        ({"x": [1, math.inf, 2]}, ParameterError, r"x\[1\] is inf: finite numbers only"),
        ({"x": {1: "a"}}, ParameterError, r"x\[1\] must be a number"),
        ({"x": {"a": 1}}, ParameterError, "a vertex must be an integer"),
        ({"x": [[1, 2, 3]]}, ParameterError, "one-dimensional"),
        ({"x": {-1: 2}}, VertexRangeError, "vertex -1 is negative"),
        ({"x": {3: 2}}, VertexRangeError, r"vertex 3 is not in \[0, 3\)"),
        ({"x": [1, 2]}, ShapeError, "x has 2 entries, the graph 3 vertices"),
        ({"over": "both"}, ParameterError, "over must be 'out' or 'in'"),
        ({"over": 5}, ParameterError, "over must be 'out' or 'in'"),
        ({"weighted": "yes"}, ParameterError, "weighted must be True or False"),
        ({"weighted": True}, RequirementError, r"weighted=True needs edge weights: build .*weight_dtype"),
    ],
    ids=str,
)
def test_impossible_parameters(params: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        su.Graph(3, device="cpu").compute("spmv", **params)
    assert str(caught.value).startswith("spmv: ")


def test_vertices_that_come_later(device: su.devices.Device) -> None:
    for x, last in ((2, 2.0), ([1, 1, 1], 0.0), ({0: 1}, 0.0)):
        graph = su.Graph(3, device=str(device))
        tracker = graph.track("spmv", x=x)
        graph.insert_vertices(2)
        graph.insert_edges([0], [4])
        assert tracker.result.tolist() == [last, 0, 0, 0, 0]


def test_traffic_is_one_pull() -> None:
    graph = su.Graph(4, device="cpu", weight_dtype="float32")
    graph.insert_edges([0, 1], [1, 2], [1, 2])
    for weighted, per_edge in ((None, 8), (False, 4)):
        algorithm = SpMV(weighted=weighted)
        algorithm.compute(graph)
        assert algorithm.traffic(graph) == 2 * per_edge + 5 * 8 + 2 * 4 * 8
