"""Streams of batches on one thread and on several leave the same graph and report the same, on every backend."""

from __future__ import annotations

import numpy as np
import pytest

import suricate as su
from suricate.cpu import threads

N = 3000
COUNTS = (1, 2, 3)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "GRAIN", 300)


def edges(rng, size: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a batch: spread, skewed, of one hub, with many duplicates, or ascending."""
    src, dst = rng.integers(0, N, (2, size))
    if kind == "skewed":
        src = (N * rng.random(size) ** 5).astype(np.int64)
    elif kind == "hub":
        src[:] = 7
    elif kind == "duplicates":
        src, dst = src % 40, dst % 40
    elif kind == "ascending":
        order = np.lexsort((dst, src))
        src, dst = src[order], dst[order]
    return src, dst


def stream(seed: int):
    """Yield (method, src, dst, weights) of a random stream, which starts with a bulk build and ends with nothing."""
    rng = np.random.default_rng(seed)
    kinds = ["spread", "skewed", "hub", "duplicates", "ascending"]
    yield "insert", *edges(rng, 40_000, "spread"), rng.random(40_000)
    for turn in range(5):
        kind, size = rng.choice(kinds), int(rng.integers(1, 9000))
        yield "insert", *edges(rng, size, kind), rng.integers(0, 3, size) / 2
        kind, size = rng.choice(kinds), int(rng.integers(1, 9000))
        yield "delete", *edges(rng, size, kind), None
        yield "find", *edges(rng, 5000, rng.choice(kinds)), None
        if turn == 2:
            yield "compact", None, None, None
    yield "delete", *np.divmod(np.arange(N * 50), 50), None
    yield "all", None, None, None


def answers(graph: su.Graph, method: str, src, dst, weight) -> list[np.ndarray]:
    """Make one step; return what it reports and the edges that are left."""
    if method == "all":
        every = graph.edges()
        method, src, dst = "delete", every.src.copy(), every.dst.copy()
    if method == "find":
        found = graph.has_edges(src, dst)
        return [found] if graph.weight_dtype is None else [found, graph.edge_weights(src, dst, default=-1)]
    lists = []
    if method == "compact":
        graph.compact()
    elif method == "delete":
        delta = graph.delete_edges(src, dst)
        lists = [delta.deleted]
    else:
        delta = graph.insert_edges(src, dst, weight if graph.weight_dtype is not None else None)
        lists = [delta.inserted, delta.replaced]
    graph.check()
    kept = graph.edges()
    if graph.directed:
        listed = graph.adjacency(np.arange(graph.num_vertices))
        assert all(np.array_equal(part, whole) for part, whole in zip(listed[1:], kept[1:], strict=True))
    order = np.lexsort((kept.dst, kept.src))
    return [part for edges in lists for part in edges if part is not None] + [
        part[order] for part in kept if part is not None
    ]


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"weight_dtype": "float32", "in_edges": True}, {"directed": False}])
@pytest.mark.parametrize("backend", ["slabhash", "hornet_like", "csr_baseline", "blocked", "gpma"])
def test_streams(backend, options):
    graphs = [su.Graph(N, backend=backend, device="cpu", threads=count, **options) for count in COUNTS]
    before = threads.shared
    for step in stream(len(options)):
        first, *others = (answers(graph, *step) for graph in graphs)
        for other in others:
            for a, b in zip(first, other, strict=True):
                np.testing.assert_array_equal(a, b)
    assert threads.shared > before


@pytest.mark.parametrize("backend", ["slabhash", "hornet_like", "csr_baseline", "blocked", "gpma"])
def test_small_batches_stay_on_one_thread(backend, monkeypatch):
    monkeypatch.setattr(threads, "GRAIN", 1 << 15)
    graph = su.Graph(N, backend=backend, device="cpu", threads=3)
    before = threads.shared
    for step in stream(1):
        answers(graph, *step) if step[1] is not None and len(step[1]) < 10_000 else None
    assert threads.shared == before
