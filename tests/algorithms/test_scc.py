"""Strongly connected components on every backend and device: the conformance kit, NetworkX, families."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

import suricate as su
from suricate.algorithms.scc import StronglyConnectedComponents
from suricate.errors import RequirementError
from suricate.testing import AlgorithmConformance


class TestSCC(AlgorithmConformance):
    algorithm = StronglyConnectedComponents
    examples = 2
    cuda_marks = (pytest.mark.gpu,)


def chain_of_cycles(count: int, size: int) -> Any:
    """Cycles of which each leads to the next one."""
    graph = nx.DiGraph()
    for i in range(count):
        nx.add_cycle(graph, range(i * size, (i + 1) * size))
    graph.add_edges_from((i * size, (i + 1) * size) for i in range(count - 1))
    return graph


FAMILIES = {
    "path": nx.path_graph(600, create_using=nx.DiGraph),
    "path backwards": nx.path_graph(600, create_using=nx.DiGraph).reverse(),
    "cycle": nx.cycle_graph(600, create_using=nx.DiGraph),
    "chain of pairs": chain_of_cycles(300, 2),
    "chain of cycles": chain_of_cycles(60, 10),
    "star": nx.star_graph(599).to_directed(),
    "complete": nx.complete_graph(60, create_using=nx.DiGraph),
    "pieces": nx.DiGraph([(0, 1), (1, 0), (2, 3), (3, 4), (4, 2), (5, 5), (6, 5), (599, 0)]),
    "sparse": nx.gnp_random_graph(600, 0.003, seed=1, directed=True),
    "dense": nx.gnp_random_graph(100, 0.3, seed=1, directed=True),
}


def canonical(graph: Any, num_vertices: int) -> np.ndarray:
    """NetworkX's components, named by their smallest members."""
    label = np.arange(num_vertices)
    for component in nx.strongly_connected_components(graph):
        label[list(component)] = min(component)
    return label


@pytest.mark.parametrize("few", [0, 1000])
def test_searches_by_levels_and_others_agree_on_the_cpu(monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr("suricate.algorithms.scc.FEW_ARCS", few)
    for family in ("chain of cycles", "sparse", "dense"):
        graph = su.Graph(600, device="cpu", in_edges=True)
        graph.insert_edges(*np.array(FAMILIES[family].edges).T)
        np.testing.assert_array_equal(graph.compute("scc").label, canonical(FAMILIES[family], 600))


@pytest.mark.parametrize("mean", [0.5, 1, 1.5, 3])
def test_one_search_finds_the_components_of_random_graphs(mean: float) -> None:
    for seed in range(12):
        src, dst = np.random.default_rng(seed).integers(0, 80, (2, int(80 * mean)))
        graph = su.Graph(80, device="cpu", in_edges=True, threads=1, self_loops="allow")
        graph.insert_edges(src, dst)
        other = nx.DiGraph(list(zip(src.tolist(), dst.tolist(), strict=True)))
        np.testing.assert_array_equal(graph.compute("scc").label, canonical(other, 80))


@pytest.mark.parametrize("family", FAMILIES)
def test_networkx_gives_the_same(device: su.devices.Device, backend: str, family: str) -> None:
    other = FAMILIES[family]
    graph = su.Graph(600, backend=backend, device=str(device), in_edges=True)
    graph.insert_edges(*np.array(other.edges).T)
    tracker = graph.track("scc")
    label, count = tracker.result
    np.testing.assert_array_equal(device.to_numpy(label), canonical(other, 600))
    assert count == nx.number_strongly_connected_components(other) + 600 - len(other)
    rng = np.random.default_rng(3)
    edges = np.array(other.edges)
    gone = edges[rng.permutation(len(edges))[: 1 + len(edges) // 10]]
    graph.delete_edges(*gone.T)
    np.testing.assert_array_equal(
        device.to_numpy(tracker.result.label),
        canonical(nx.DiGraph(set(other.edges) - set(map(tuple, gone.tolist()))), 600),
    )


def test_a_stream_joins_and_breaks_components_as_in_networkx(device: su.devices.Device, backend: str) -> None:
    rng, n = np.random.default_rng(9), 60
    graph = su.Graph(n, backend=backend, device=str(device), in_edges=True)
    tracker, other, counts = graph.track("scc"), nx.empty_graph(n, create_using=nx.DiGraph), set()
    for step in range(12):
        here = np.array(other.edges, np.int64).reshape(-1, 2)
        gone = here[rng.random(len(here)) < (0.4 if step % 3 == 2 else 0.05)]
        come = rng.integers(0, n, (40, 2))
        graph.apply(su.Batch(delete=tuple(gone.T), insert=tuple(come.T)))
        other.remove_edges_from(gone.tolist())
        other.add_edges_from(come.tolist())
        label, count = tracker.result
        np.testing.assert_array_equal(device.to_numpy(label), canonical(other, n))
        assert count == nx.number_strongly_connected_components(other)
        counts.add(count)
    assert len(counts) > 4


def test_what_is_said_of_graphs_without_in_edges() -> None:
    with pytest.raises(RequirementError, match=r"scc .*in-edges: build the graph with"):
        su.Graph(3, device="cpu").compute("scc")


def test_no_vertices(device: su.devices.Device) -> None:
    assert su.Graph(0, device=str(device), in_edges=True).compute("scc")[0].tolist() == []


def test_traffic_is_a_pass_in_each_direction() -> None:
    graph = su.Graph(4, device="cpu", in_edges=True)
    graph.insert_edges([0, 1], [1, 2])
    tracker = graph.track("scc")
    assert tracker.algorithm.traffic(graph) == 2 * (2 * 4 + 5 * 8 + 2 * 4 * 4)
