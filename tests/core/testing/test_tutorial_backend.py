"""The tutorial backend keeps its promise: at most 100 lines, three methods, and everything works on it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import suricate_tutorial
from suricate_tutorial import TutorialStore

import suricate as su
from suricate import plugins
from suricate.testing import AlgorithmConformance, StoreConformance


class TestTutorialStore(StoreConformance):
    backend = TutorialStore
    memory_limited = False
    cuda_marks = (pytest.mark.gpu, pytest.mark.slow)


@pytest.mark.plain
class OnTutorialStore(AlgorithmConformance):
    backends = (TutorialStore,)
    examples = 5
    cuda_marks = (pytest.mark.gpu,)


class TestBFS(OnTutorialStore):
    algorithm = plugins.algorithm("bfs")
    params = ({}, {"source": 7})


class TestPageRank(OnTutorialStore):
    algorithm = plugins.algorithm("pagerank")
    params = ({"tol": 1e-12, "max_iter": 1000}, {"alpha": 0.5, "tol": 1e-12})


BUILT_IN = {plugin.name for plugin in plugins.installed() if plugin.source == "suricate"} & set(plugins.algorithms())


@pytest.mark.plain
@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_every_built_in_algorithm_runs_on_it(name: str) -> None:
    algorithm, rng = plugins.algorithm(name), np.random.default_rng(5)
    needs, params = algorithm.requires, algorithm.sample_params(30, 0)
    options = {"directed": not needs.undirected, "weight_dtype": "float32" if needs.weighted else None}
    graph = su.Graph(30, backend=TutorialStore, device="cpu", in_edges=needs.in_edges, **options)
    tracker = graph.track(name, **params)
    for _ in range(3):
        src, dst = rng.integers(0, 30, (2, 60))
        graph.insert_edges(src, dst, None if graph.weight_dtype is None else np.ones(60))
        graph.delete_edges(src[:10], dst[:10])
        right = algorithm.reference(*graph.store("out").edges(), 30, graph.directed, **params)
        assert algorithm.mismatch(tracker.result, right, **params) is None


def test_is_at_most_100_lines() -> None:
    assert len(Path(suricate_tutorial.__file__).read_text().splitlines()) <= 100


def test_brings_only_what_is_required() -> None:
    native = {name for name, kind in TutorialStore.capabilities().items() if kind == "native"}
    assert native == {"insert", "delete", "edges"}
