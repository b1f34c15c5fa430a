"""Shortest paths on every backend and device: the conformance kit, SciPy, zero and negative weights, wider words."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

import suricate as su
from suricate.algorithms.sssp import SSSP, bucket_width
from suricate.errors import ParameterError, VertexRangeError, WeightError
from suricate.testing import AlgorithmConformance

KINDS: list[dict[str, Any]] = [{}, {"in_edges": True}, {"directed": False}]


class TestSSSP(AlgorithmConformance):
    algorithm = SSSP
    params = ({}, {"source": 7}, {"sources": [11, 3, 7, 3]})
    examples = 3
    cuda_marks = (pytest.mark.gpu,)


class TestSSSPWithZeros(AlgorithmConformance):
    algorithm = SSSP
    weights = (0, 0, 1, 2)
    params = ({"delta": 1.5},)
    examples = 3
    cuda_marks = (pytest.mark.gpu,)


def matches(graph: su.Graph, result: Any, **params: Any) -> None:
    """Assert that a result is right for a graph."""
    src, dst, weight = (None if a is None else graph.device.to_numpy(a) for a in su.arcs(graph))
    expected = SSSP.reference(src, dst, weight, graph.num_vertices, graph.directed, **params)
    assert SSSP.mismatch(type(expected)(*map(graph.device.to_numpy, result)), expected) is None


@pytest.mark.parametrize("seed", range(6))
def test_reference_agrees_with_networkx(seed: int) -> None:
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, 40, (2, 150), np.uint32)
    keys = np.unique(src.astype(np.uint64) << np.uint64(32) | dst)
    src, dst = (keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32)
    weight = rng.integers(0, 4, len(src)).astype(np.int32)
    found = SSSP.reference(src, dst, weight, 40, True, source=3)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(40))
    graph.add_weighted_edges_from(zip(src.tolist(), dst.tolist(), weight.tolist(), strict=True))
    distance = nx.single_source_dijkstra_path_length(graph, 3)
    assert found.distance.tolist() == [distance.get(v, -1) for v in range(40)]
    for v, parent in enumerate(found.parent.tolist()):
        if v == 3 or v not in distance:
            assert parent == (3 if v == 3 else -1)
            continue
        assert distance[parent] + graph[parent][v]["weight"] == distance[v]
        path = {v}
        while v != 3:  # no cycle over zero weights
            v = found.parent[v]
            assert v not in path
            path.add(v)


def test_mismatch_ignores_parents_that_rounding_decides() -> None:
    src, dst = np.array([0, 0, 1, 2], np.uint32), np.array([1, 2, 3, 3], np.uint32)
    right = SSSP.reference(src, dst, np.ones(4, np.float32), 4, True)
    assert right.parent.tolist() == [0, 0, 0, -2]
    assert SSSP.mismatch(right._replace(parent=np.array([0, 0, 0, 2])), right) is None
    assert SSSP.mismatch(right._replace(parent=np.array([0, 0, 1, 2])), right) is not None


@pytest.mark.parametrize("source", [1.5, "1", True, None])
def test_a_source_that_is_no_integer(source: Any) -> None:
    with pytest.raises(ParameterError, match="sssp: source must be an integer"):
        SSSP(source)


@pytest.mark.parametrize("delta", [0, -1.0, "1", float("nan")])
def test_widths_of_buckets_are_positive_numbers(delta: Any) -> None:
    with pytest.raises(ParameterError, match="sssp: delta"):
        SSSP(0, delta)


def test_sources_are_checked_before_anything_is_done(device: su.devices.Device, backend: str) -> None:
    graph = su.Graph(3, backend=backend, device=str(device), weight_dtype="int32")
    for source in (-1, 3, 2**40):
        with pytest.raises(VertexRangeError, match="sssp: source"):
            graph.compute("sssp", source=source)


@pytest.mark.parametrize("options", KINDS, ids=str)
@pytest.mark.parametrize("dtype", ["int32", "uint32", "float32", "float64"])
def test_zero_weights_and_cycles_of_them(
    device: su.devices.Device, backend: str, options: dict[str, Any], dtype: str
) -> None:
    graph = su.Graph(8, backend=backend, device=str(device), weight_dtype=dtype, **options)
    graph.insert_edges([0, 1, 2, 3, 3, 5], [1, 2, 3, 1, 4, 6], [3, 0, 0, 0, 2, 0])
    tracker = graph.track("sssp")
    matches(graph, tracker.result)
    graph.delete_edges([0], [1])  # the cycle 1-2-3 must not keep itself alive
    matches(graph, tracker.result)
    graph.insert_edges([0, 4], [3, 5], [1, 0])
    matches(graph, tracker.result)


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_a_zero_weight_that_comes_later(device: su.devices.Device, backend: str, dtype: str) -> None:
    graph = su.Graph(5, backend=backend, device=str(device), weight_dtype=dtype, in_edges=True)
    graph.insert_edges([0, 1, 2], [1, 2, 3], [1, 1, 1])
    tracker = graph.track("sssp")
    graph.insert_edges([1, 3, 2], [3, 2, 3], [0, 0, 5])
    graph.insert_edges([3], [4], [2])
    matches(graph, tracker.result)
    assert tracker.result.distance.tolist() == [0, 1, 1, 1, 3]


def test_distances_beyond_32_bits(device: su.devices.Device, backend: str) -> None:
    graph = su.Graph(4, backend=backend, device=str(device), weight_dtype="uint32")
    graph.insert_edges([0, 1, 2], [1, 2, 3], [2**32 - 2, 1, 2**32 - 1])
    assert graph.compute("sssp").distance.tolist() == [0, 2**32 - 2, 2**32 - 1, 2**33 - 2]


def test_a_float_that_absorbs_a_weight(device: su.devices.Device, backend: str) -> None:
    graph = su.Graph(4, backend=backend, device=str(device), weight_dtype="float32")
    graph.insert_edges([0, 1, 2, 3], [1, 2, 3, 2], [2.0**24, 0.5, 0.5, 0.5])
    result = graph.compute("sssp")
    assert result.distance.tolist() == [0, 2.0**24, 2.0**24, 2.0**24]
    assert result.parent.tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize("options", KINDS, ids=str)
@pytest.mark.parametrize(("dtype", "large"), [("float32", 3e38), ("float64", 1.5e308)])
def test_a_path_of_infinite_length_reaches_nothing(
    device: su.devices.Device, backend: str, dtype: str, large: float, options: dict[str, Any]
) -> None:
    graph = su.Graph(6, backend=backend, device=str(device), weight_dtype=dtype, **options)
    tracker = graph.track("sssp", source=0)

    def check(distance: list[float], parent: list[int]) -> None:
        for result in (tracker.result, graph.compute("sssp", source=0)):
            assert result.distance.tolist() == np.array(distance, dtype).tolist()
            assert result.parent.tolist() == parent
            matches(graph, result)

    inf = np.inf
    graph.insert_edges([0, 1, 2, 3], [1, 2, 3, 4], [large] * 4)
    check([0, large, inf, inf, inf, inf], [0, 0, -1, -1, -1, -1])
    graph.insert_edges([0, 3], [3, 4], [0, 0.5])
    check(
        [0, large, large if not graph.directed else inf, 0, 0.5, inf], [0, 0, 3 if not graph.directed else -1, 0, 3, -1]
    )
    graph.insert_edges([0], [3], [large])  # what was reached through it is too far now
    graph.insert_edges([3], [4], [large])
    check([0, large, inf, large, inf, inf], [0, 0, -1, 0, -1, -1])
    graph.delete_edges([0], [1])
    check([0, inf, inf, large, inf, inf], [0, -1, -1, 0, -1, -1])


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_negative_weights_are_refused(device: su.devices.Device, backend: str, dtype: str) -> None:
    graph = su.Graph(4, backend=backend, device=str(device), weight_dtype=dtype)
    graph.insert_edges([0, 1, 2], [1, 2, 1], [3, 1, -2])
    with pytest.raises(WeightError, match="sssp: an edge has a negative weight"):
        graph.compute("sssp")
    graph.delete_edges([2], [1])
    tracker = graph.track("sssp")

    def insert_and_read() -> Any:  # on CUDA it shows when the result is read
        graph.insert_edges([2], [0], [-1])
        return tracker.result

    with pytest.raises(WeightError, match="negative"):
        insert_and_read()
    graph.delete_edges([2], [0])
    matches(graph, tracker.result)


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_every_tree_edge_is_deleted(device: su.devices.Device, backend: str, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(5)
    graph = su.Graph(300, backend=backend, device=str(device), weight_dtype="int32", **options)
    graph.insert_edges(*rng.integers(0, 300, (2, 900)), rng.integers(1, 9, 900))
    tracker = graph.track("sssp")
    for _ in range(3):
        parent = device.to_numpy(tracker.result.parent)
        child = np.flatnonzero((parent >= 0) & (parent != np.arange(300)))
        graph.delete_edges(parent[child], child)
        matches(graph, tracker.result)


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_a_grid_that_changes_its_weights(device: su.devices.Device, backend: str, options: dict[str, Any]) -> None:
    rng, side = np.random.default_rng(6), 15
    at = np.arange(side * side).reshape(side, side)
    src = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    dst = np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])
    graph = su.Graph(side * side, backend=backend, device=str(device), weight_dtype="uint32", **options)
    graph.insert_edges(src, dst, rng.integers(0, 20, len(src)))
    tracker = graph.track("sssp", source=0)
    for _ in range(4):
        chosen = rng.permutation(len(src))[:60]
        graph.insert_edges(src[chosen], dst[chosen], rng.integers(0, 20, 60))
        matches(graph, tracker.result)


def test_what_unweighted_graphs_get(device: su.devices.Device, backend: str) -> None:
    graph = su.Graph(5, backend=backend, device=str(device))
    graph.insert_edges([0, 1, 0], [1, 2, 3])
    tracker = graph.track("sssp")
    graph.insert_edges([3], [2])
    assert tracker.result.distance.tolist() == [0, 1, 2, 1, -1]
    assert tracker.result.parent.tolist() == [0, 0, 1, 0, -1]


def test_buckets_are_wider_where_warps_are_to_be_filled() -> None:
    assert bucket_width(3.0, 4.0, is_cuda=False) == 0.75
    assert bucket_width(3.0, 4.0, is_cuda=True) == 24.0
    assert bucket_width(3.0, 100.0, is_cuda=True) == 3.0
    assert bucket_width(3.0, 0.0, is_cuda=True) == 96.0


def test_traffic_counts_what_is_reached() -> None:
    graph = su.Graph(5, device="cpu", weight_dtype="float32")
    graph.insert_edges([0, 0, 1, 4], [1, 2, 2, 0], [1, 1, 1, 1])
    algorithm = SSSP(0)
    algorithm.compute(graph)
    assert algorithm.traffic(graph) == 3 * 8 + 3 * 24
