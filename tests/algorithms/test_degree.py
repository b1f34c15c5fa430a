"""Degrees on every backend and device: the conformance kit, NetworkX's degrees, ranks by name, event by event."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

import suricate as su
from suricate.algorithms.degree import Degree
from suricate.errors import ParameterError, RequirementError
from suricate.testing import AlgorithmConformance, Variant


class TestDegree(AlgorithmConformance):
    algorithm = Degree
    params = ({}, {"over": "in"})
    weights = (-3, 0, 1, 2)
    examples = 1
    cuda_marks = (pytest.mark.gpu,)


class TestWeightedDegree(TestDegree):
    params = ({"weighted": True},)

    def lacks(self, variant: Variant) -> str | None:
        return super().lacks(variant) or (None if variant.weight_dtype else "weights")


@pytest.mark.parametrize("over", ["out", "in"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [True, False])
def test_degrees_are_those_of_networkx(over: str, weighted: bool, directed: bool) -> None:
    rng = np.random.default_rng(4)
    graph = su.Graph(30, device="cpu", directed=directed, weight_dtype="float64", in_edges=True, self_loops="drop")
    tracker = graph.track("degree", over=over, weighted=weighted)
    graph.insert_edges(*rng.integers(0, 30, (2, 90)), rng.integers(1, 9, 90).astype(float))
    src, dst, _ = graph.edges()
    graph.delete_edges(src[::3], dst[::3])
    other: Any = (nx.DiGraph if directed else nx.Graph)()
    other.add_nodes_from(range(30))
    other.add_weighted_edges_from(zip(*(part.tolist() for part in graph.edges()), strict=True))
    ask = other.degree if not directed else other.out_degree if over == "out" else other.in_degree
    wanted = [number for _, number in ask(weight="weight" if weighted else None)]
    assert tracker.result.tolist() == wanted
    assert tracker.result.dtype == (np.float64 if weighted else np.int64)


def test_top_and_changed_name_the_vertices() -> None:
    graph = su.Graph(0, device="cpu", names=su.Names(), in_edges=True)
    fan_out = graph.track("degree")
    graph.insert_edges(["ann", "ann", "bob"], ["bob", "cy", "cy"])
    assert [row[2:] for row in fan_out.top(2)] == [("ann", 2), ("bob", 1)]
    fan_out.changed()
    graph.insert_edges(["bob"], ["ann"])
    assert [row[1:] for row in fan_out.changed()] == [("bob", 2, "changed")]


@pytest.mark.parametrize("over", ["out", "in"])
@pytest.mark.parametrize("directed", [True, False])
def test_replay_counts_edge_by_edge(over: str, directed: bool) -> None:
    rng = np.random.default_rng(2)
    src, dst = rng.integers(0, 6, (2, 80))
    inserted = rng.random(80) < 0.6
    graph = su.Graph(6, device="cpu", directed=directed, in_edges=True)
    found = su.replay(graph, (src, dst, inserted), graph.track("degree", over=over), at=np.arange(6))
    assert found.compiled == 80
    edges: set[tuple[int, int]] = set()
    for i, (u, v) in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
        arcs = {(u, v)} if directed else {(u, v), (v, u)}
        edges = edges | arcs if inserted[i] else edges - arcs
        assert found.answers[i].tolist() == [sum(arc[over == "in"] == v for arc in edges) for v in range(6)]


def test_what_is_refused() -> None:
    graph = su.Graph(3, device="cpu")
    with pytest.raises(ParameterError, match="degree: over must be 'out' or 'in'"):
        graph.compute("degree", over="both")
    with pytest.raises(ParameterError, match="degree: weighted must be"):
        graph.compute("degree", weighted=3)
    with pytest.raises(RequirementError, match="degree: weighted=True needs edge weights"):
        graph.compute("degree", weighted=True)
