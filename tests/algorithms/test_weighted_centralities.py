"""Closeness and betweenness by weight on every backend and device: the conformance kit, NetworkX, ties, errors."""

from __future__ import annotations

import math
from typing import Any

import networkx as nx
import numpy as np
import pytest

import suricate as su
from suricate.algorithms import betweenness, closeness
from suricate.errors import RequirementError, WeightError
from suricate.plugins.algorithm import Requirements
from suricate.testing import AlgorithmConformance

NAMES = ("closeness", "betweenness")


class Closeness(closeness.Closeness):
    """Closeness of weighted graphs."""

    requires = Requirements(weighted=True)


class Betweenness(betweenness.Betweenness):
    """Betweenness of weighted graphs."""

    requires = Requirements(weighted=True)


class TestCloseness(AlgorithmConformance):
    algorithm = Closeness
    weights = (0, 1, 2, 7)
    params = ({"weighted": True}, {"weighted": True, "wf_improved": False, "sources": [4, 2]})
    examples = 1
    num_vertices = 16
    cuda_marks = (pytest.mark.gpu,)


class TestBetweenness(AlgorithmConformance):
    algorithm = Betweenness
    params = ({"weighted": True}, {"weighted": True, "endpoints": True, "normalized": False, "sources": [4, 2]})
    examples = 1
    num_vertices = 16
    cuda_marks = (pytest.mark.gpu,)


def weighted_graph(weights: Any, dtype: str, **options: Any) -> su.Graph:
    rng = np.random.default_rng(6)
    graph = su.Graph(24, device="cpu", weight_dtype=dtype, **options)
    graph.insert_edges(*rng.integers(0, 24, (2, 80)), rng.choice(weights, 80))
    return graph


@pytest.mark.parametrize("options", [{}, {"in_edges": True}, {"directed": False}], ids=str)
@pytest.mark.parametrize(
    ("dtype", "weights"), [("int32", [1, 2, 3]), ("float64", [0.1, 0.2, 0.3]), ("float32", [1e-3, 1e3, 1])]
)
def test_networkx_gives_the_same(dtype: str, weights: list[float], options: dict[str, bool]) -> None:
    graph = weighted_graph(weights, dtype, **options)
    other = graph.to_networkx()
    wanted = nx.closeness_centrality(other, distance="weight")
    np.testing.assert_allclose(graph.compute("closeness", weighted=True), [wanted[v] for v in range(24)], rtol=1e-12)
    for chosen in ({}, {"k": 5, "seed": 2}, {"endpoints": True, "normalized": False}):
        wanted = nx.betweenness_centrality(other, weight="weight", **chosen)
        found = graph.compute("betweenness", weighted=True, **chosen)
        np.testing.assert_allclose(found, [wanted[v] for v in range(24)], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("size", [60, 1100])
def test_numbers_of_paths_beyond_the_integers_of_floats(device: su.devices.Device, size: int) -> None:
    """Diamonds in a row, each with a third way of one edge: 3 ** size paths, whose lengths are sums of 1 and 2."""
    first, n = 3 * np.arange(size), 3 * size + 1
    src = np.concatenate([first, first, first + 1, first + 2, first])
    dst = np.concatenate([first + 1, first + 2, first + 3, first + 3, first + 3])
    graph = su.Graph(n, device=str(device), weight_dtype="float32")
    graph.insert_edges(src, dst, np.repeat([1, 2], [4 * size, size]))
    found = device.to_numpy(graph.compute("betweenness", weighted=True, sources=[0], normalized=False))
    beyond = 3.0 * (size - first // 3 - 1)  # vertices behind the end of a diamond
    right = np.zeros(n)
    right[first[1:]] = beyond[:-1][: size - 1]
    right[first + 1] = right[first + 2] = (1 + beyond) / 3
    np.testing.assert_allclose(found[1:] / (n - 1), right[1:], rtol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_weights_that_paths_cannot_have(name: str) -> None:
    with pytest.raises(RequirementError, match=f"{name}: weighted=True needs edge weights: build the graph"):
        su.Graph(3, device="cpu").compute(name, weighted=True)
    graph = weighted_graph([1, 2], "float32")
    tracker = graph.track(name, weighted=True)
    with pytest.raises(WeightError, match=f"{name}: an edge has weight -0.5"):
        graph.insert_edges([0], [1], [-0.5])
    with pytest.raises(WeightError, match=r"weights (above 0|of at least 0)$"):
        _ = tracker.result
    graph.insert_edges([0], [1], [0])
    if name == "betweenness":
        with pytest.raises(WeightError, match="an edge has weight 0: weighted=True needs weights above 0"):
            _ = tracker.result
    graph.insert_edges([0], [1], [3])
    np.testing.assert_array_equal(tracker.result, graph.compute(name, weighted=True))


@pytest.mark.parametrize("name", NAMES)
def test_distances_beyond_floats_are_no_paths(name: str) -> None:
    graph = su.Graph(4, device="cpu", weight_dtype="float64")
    graph.insert_edges([0, 1, 2], [1, 2, 3], [1.7e308] * 3)
    assert np.isfinite(graph.compute(name, weighted=True)).all()
    assert math.isfinite(float(graph.compute(name, weighted=True, sources=[0, 3]).sum()))
