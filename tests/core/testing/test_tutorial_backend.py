"""The tutorial backend keeps its promise: at most 100 lines, three methods, and everything works on it."""

from __future__ import annotations

from pathlib import Path

import pytest
import tutorial_backend
from tutorial_backend import TutorialStore

from suricate import plugins
from suricate.testing import AlgorithmConformance, StoreConformance


class TestTutorialStore(StoreConformance):
    backend = TutorialStore
    memory_limited = False
    cuda_marks = (pytest.mark.gpu,)


class OnTutorialStore(AlgorithmConformance):
    backends = (TutorialStore,)
    examples = 5
    cuda_marks = (pytest.mark.gpu,)


class TestBFS(OnTutorialStore):
    algorithm = plugins.algorithm("bfs")
    params = ({}, {"source": 7})


class TestPageRank(OnTutorialStore):
    algorithm = plugins.algorithm("pagerank")
    params = ({"tolerance": 1e-12, "max_iterations": 1000}, {"damping": 0.5, "tolerance": 1e-12})


def test_every_built_in_algorithm_runs_on_it() -> None:
    tested = {kit.algorithm.name for kit in (TestBFS, TestPageRank)}
    built_in = {plugin.name for plugin in plugins.installed() if plugin.source == "suricate"}
    assert tested == set(plugins.algorithms()) & built_in


def test_is_at_most_100_lines() -> None:
    assert len(Path(tutorial_backend.__file__).read_text().splitlines()) <= 100


def test_brings_only_what_is_required() -> None:
    native = {name for name, kind in TutorialStore.capabilities().items() if kind == "native"}
    assert native == {"insert", "delete", "edges"}
