"""Replayed answers against oracles that share no code with the package: dictionaries, a heap, sets of vertices."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from turns import few

import suricate as su
from suricate.replaying import pieces

SIZE, EVENTS = 60, 1500
INFINITE = float("inf")
Weights = dict[tuple[int, int], float]


def draw(seed: int, weighted: bool) -> tuple[np.ndarray, ...]:
    """Random events: a sparse graph, whose edges come and go."""
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, SIZE, (2, EVENTS))
    again = rng.integers(0, np.maximum(1, np.arange(EVENTS)))  # deletions are mostly of edges that were inserted
    inserted = rng.random(EVENTS) < 0.55
    src, dst = np.where(inserted, src, src[again]), np.where(inserted, dst, dst[again])
    return (src, dst, inserted, rng.integers(1, 9, EVENTS)) if weighted else (src, dst, inserted)


def edges_after_each(events: tuple[np.ndarray, ...], directed: bool) -> Iterator[Weights]:
    """All arcs with their weights after each event."""
    arcs: Weights = {}
    weight = events[3] if len(events) > 3 else np.ones(len(events[0]))
    for u, v, is_new, w in zip(*(part.tolist() for part in (*events[:3], weight)), strict=True):
        for arc in ((u, v),) if directed else ((u, v), (v, u)):
            if is_new:
                arcs[arc] = w
            else:
                arcs.pop(arc, None)
        yield arcs


def neighbours(arcs: Weights) -> dict[int, list[tuple[int, float]]]:
    """The neighbours of each vertex, with weights."""
    found: dict[int, list[tuple[int, float]]] = {v: [] for v in range(SIZE)}
    for (u, v), w in arcs.items():
        found[u].append((v, w))
    return found


def distances(arcs: Weights, source: int, unit: bool) -> list[float]:
    """Dijkstra's algorithm; with ``unit`` all weights are 1."""
    best, around = [INFINITE] * SIZE, neighbours(arcs)
    heap = [(0.0, source)]
    while heap:
        d, u = heapq.heappop(heap)
        if d < best[u]:
            best[u] = d
            for v, w in around[u]:
                heapq.heappush(heap, (d + (1 if unit else w), v))
    return best


def labels(arcs: Weights) -> list[int]:
    """The smallest vertex of each vertex's component."""
    label = list(range(SIZE))
    around = neighbours({**arcs, **{(v, u): w for (u, v), w in arcs.items()}})
    for start in range(SIZE):
        todo = [start] if label[start] == start else []
        while todo:
            u = todo.pop()
            fresh = [v for v, _ in around[u] if label[v] > start]
            for v in fresh:
                label[v] = start
            todo += fresh
    return label


@pytest.mark.compiled
@pytest.mark.parametrize("backend", few(["slabhash", "blocked", "csr_baseline", "gpma", "hornet_like"]))
@pytest.mark.parametrize("name", ["bfs", "sssp", "wcc"])
@pytest.mark.parametrize("directed", few([True, False]), ids=["directed", "undirected"])
def test_answers_are_right(backend: str, name: str, directed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", 97)  # many pieces
    events, dtype = draw(7, name == "sssp"), "float64" if name == "sssp" else None
    graph = su.Graph(SIZE, backend=backend, device="cpu", directed=directed, in_edges=directed, weight_dtype=dtype)
    tracker = graph.track(name, **({} if name == "wcc" else {"source": 5}))
    found = su.replay(graph, events, tracker, at=range(SIZE))
    got: Any = found.answers
    for i, arcs in enumerate(edges_after_each(events, directed)):
        if name == "wcc":
            right = labels(arcs)
            assert got.label[i].tolist() == right, i
            assert got.num_components[i] == len(set(right))
            continue
        right = distances(arcs, 5, name == "bfs")
        value = got.level[i] if name == "bfs" else got.distance[i]
        assert np.where(value < 0, np.inf, value).tolist() == right, i
        for v in np.flatnonzero(got.parent[i] >= 0):
            u = int(got.parent[i][v])
            assert u == v == 5 or right[u] + (1 if name == "bfs" else arcs[u, v]) == right[v]
    assert graph.num_edges == len(arcs if directed else {(min(arc), max(arc)) for arc in arcs})
    graph.check()
    if backend in ("slabhash", "blocked"):
        assert found.compiled == EVENTS
        assert found.most_work > 0
        assert 0 <= found.most_work_at < EVENTS
    else:
        assert sum(found.reasons.values()) == EVENTS


@pytest.mark.compiled
def test_components_that_become_deep_are_built_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", 64)
    n, rng = 400, np.random.default_rng(1)
    graph = su.Graph(n, directed=False, device="cpu")
    graph.insert_edges(np.arange(n - 1), np.arange(1, n))  # a path: climbs are long
    tracker = graph.track("wcc")
    cut = rng.integers(0, n - 1, 3000).repeat(2)
    inserted = np.tile([False, True], 3000)
    found = su.replay(graph, (cut, cut + 1, inserted), tracker, at=[0, n - 1])
    assert found.answers.num_components.tolist() == [2, 1] * 3000
    assert found.answers.label[:, 1].tolist() == [x for c in cut[::2].tolist() for x in (c + 1, 0)]
