"""Searches of the forest on the CPU: small and large steps, pushes and pulls, any number of threads, one answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate.algorithms.bfs import BFS, one_further, unreached
from suricate.base.types import EMPTY
from suricate.cpu import threads
from suricate.cpu.plain import PLAIN
from suricate.repair.cpu import search as forest_search
from suricate.state.frontier import Frontier

N = 325 if PLAIN else 700  #: not a multiple of the bits of a word
KINDS: list[dict[str, Any]] = [{}, {"in_edges": True}, {"directed": False}]
LIMITS = "FEW", "LARGE", "OFFER", "COPIED"
STEPS = {"small": (N, 1, 3, 1), "pushes": (0, N, 0, 0), "pulls": (0, N, 10**9, 10**9), "all kinds": (0, 8, 3, 1)}


def rmat() -> tuple[np.ndarray, np.ndarray]:
    arcs = su.generate.rmat(8 if PLAIN else 9, 8, seed=5)
    return arcs.src, arcs.dst


def grid() -> tuple[np.ndarray, np.ndarray]:
    at = np.arange(N)
    right, down = at[at % 25 < 24], at[:-25]
    return np.concatenate((right, down)), np.concatenate((right + 1, down + 25))


def double_star() -> tuple[np.ndarray, np.ndarray]:
    """Two hubs, of which the larger is found first by the order of rows, share all their neighbours."""
    spokes = np.arange(3, N)
    return (
        np.concatenate(([0, 0], np.full(N - 3, 2), np.full(N - 3, 1), spokes)),
        np.concatenate(([2, 1], spokes, spokes, spokes)),
    )


FAMILIES = (rmat, grid, double_star)


def graph_of(family: Any, **options: Any) -> su.Graph:
    graph = su.Graph(N, device="cpu", **options)
    src, dst = family()
    order = np.random.default_rng(0).permutation(len(src))
    for part in np.array_split(order, 7):  # rows of unordered backends are then in no order
        graph.insert_edges(src[part], dst[part])
    if family is rmat:
        graph.delete_edges(src[::5], dst[::5])  # gaps
    return graph


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("options", KINDS, ids=str)
def test_levels_and_parents(backend: str, options: dict[str, Any], family: Any, steps: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(threads, "GRAIN", 16)
    for name, value in zip(LIMITS, STEPS[steps], strict=True):
        monkeypatch.setattr(forest_search, name, value)
    graph = graph_of(family, backend=backend, **options)
    src, dst, _ = su.arcs(graph)
    right = BFS.reference(src, dst, None, N, graph.directed, source=0)
    outcomes = set()
    for count in (1, 2, 5):
        forest = graph.forest(
            graph.words(keys={"level": "uint32"}, payload={"parent": "uint32"}),
            one_further, unreached, args=(0,), uniform=True,
        )  # fmt: skip
        with threads.Limited(count):
            done = forest.compute(graph, Frontier._of(graph.device, np.zeros(1, np.uint32)))
        outcomes.add((done.steps, done.touched))
        np.testing.assert_array_equal(forest.words.level.view(np.int32), right.level)
        np.testing.assert_array_equal(forest.words.parent, np.where(right.parent < 0, EMPTY, right.parent))
        assert not forest.violated[0]
    assert outcomes == {(right.level.max() + 1, (right.level >= 0).sum())}


def not_further(u, v, w, words):
    return words.level[u], u


def first_two(v, words):
    if v < 2:
        return v, v
    return EMPTY, EMPTY


@pytest.mark.parametrize("steps", STEPS)
def test_offers_that_are_not_above_are_noted(steps: str, monkeypatch: Any) -> None:
    for name, value in zip(LIMITS, STEPS[steps], strict=True):
        monkeypatch.setattr(forest_search, name, value)
    graph = graph_of(grid, in_edges=True)
    words = graph.words(keys={"level": "uint32"}, payload={"parent": "uint32"})
    forest = graph.forest(words, not_further, first_two, uniform=True)
    forest.compute(graph, Frontier._of(graph.device, np.zeros(1, np.uint32)))
    assert forest.violated[0]
    assert words.parent.tolist() == [0, 1, *[EMPTY] * (N - 2)]


def further(u, v, w, words):
    return words.level[u] + 1, u


def two_roots(v, words):
    if v < 2:
        return 2 * v, v
    return EMPTY, EMPTY


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("family", FAMILIES)
def test_roots_may_have_different_keys(family: Any, steps: str, monkeypatch: Any) -> None:
    for name, value in zip(LIMITS, STEPS[steps], strict=True):
        monkeypatch.setattr(forest_search, name, value)
    graph = graph_of(family, in_edges=True)
    found = []
    for uniform in (True, False):
        words = graph.words(keys={"level": "uint32"}, payload={"parent": "uint32"})
        forest = graph.forest(words, further, two_roots, uniform=uniform)
        forest.compute(graph, Frontier._of(graph.device, np.arange(2, dtype=np.uint32)))
        found.append([words.level.tolist(), words.parent.tolist()])
    assert found[0] == found[1]
