"""The tutorial backend keeps its promise: at most 100 lines, three methods, and everything works on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import tutorial_backend
from tutorial_backend import TutorialStore

from suricate import plugins
from suricate.testing import AlgorithmConformance, StoreConformance


class TestTutorialStore(StoreConformance):
    backend = TutorialStore
    memory_limited = False
    cuda_marks = (pytest.mark.gpu,)


def digraph(num_vertices: int, src: np.ndarray, dst: np.ndarray) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(num_vertices))
    graph.add_edges_from(zip(src.tolist(), dst.tolist(), strict=True))
    return graph


class TestBFS(AlgorithmConformance):
    algorithm = plugins.algorithm("bfs")
    backends = (TutorialStore,)
    params = ({}, {"source": 7})
    examples = 5
    cuda_marks = (pytest.mark.gpu,)

    def verify(self, result: Any, num_vertices: int, src: Any, dst: Any, weight: Any, **params: Any) -> None:
        source, graph = params.get("source", 0), digraph(num_vertices, src, dst)
        levels = nx.single_source_shortest_path_length(graph, source)
        assert result.level.tolist() == [levels.get(v, -1) for v in range(num_vertices)]
        for v, parent in enumerate(result.parent.tolist()):
            if v == source or v not in levels:
                assert parent == (source if v == source else -1)
            else:
                assert graph.has_edge(parent, v)
                assert levels[parent] == levels[v] - 1


class TestPageRank(AlgorithmConformance):
    algorithm = plugins.algorithm("pagerank")
    backends = (TutorialStore,)
    params = ({"tolerance": 1e-12, "max_iterations": 1000}, {"damping": 0.5, "tolerance": 1e-12})
    rtol = 1e-8
    examples = 5
    cuda_marks = (pytest.mark.gpu,)

    def oracle(self, num_vertices: int, src: Any, dst: Any, weight: Any, **params: Any) -> np.ndarray:
        graph = digraph(num_vertices, src, dst)
        ranks = nx.pagerank(graph, params.get("damping", 0.85), tol=1e-14, max_iter=1000)
        return np.array([ranks[v] for v in range(num_vertices)])


def test_every_built_in_algorithm_runs_on_it() -> None:
    tested = {kit.algorithm.name for kit in (TestBFS, TestPageRank)}
    built_in = {plugin.name for plugin in plugins.installed() if plugin.source == "suricate"}
    assert tested == set(plugins.algorithms()) & built_in


def test_is_at_most_100_lines() -> None:
    assert len(Path(tutorial_backend.__file__).read_text().splitlines()) <= 100


def test_brings_only_what_is_required() -> None:
    native = {name for name, kind in TutorialStore.capabilities().items() if kind == "native"}
    assert native == {"insert", "delete", "edges"}
