"""Graphs with in-edges validate and apply a batch in one launch per store; an invalid one changes neither."""

from __future__ import annotations

import numpy as np
import pytest

import suricate as su
from suricate.errors import VertexRangeError, WeightError
from suricate.testing.costs import measure

pytestmark = pytest.mark.gpu

N = 400


def random_edges(xp, size, seed, *, weighted):
    rng = np.random.default_rng(seed)
    src, dst = xp.asarray(rng.integers(0, N, (2, size)))
    return (src, dst, xp.asarray(rng.integers(1, 5, size).astype(np.float32))) if weighted else (src, dst)


@pytest.fixture(params=[True, False], ids=["weighted", "unweighted"])
def weighted(request):
    return request.param


@pytest.fixture(params=["eager", "deferred"])
def graph(request, weighted):
    graph = su.Graph(N, backend="slabhash", device="cuda", in_edges=True, checks=request.param,
        weight_dtype="float32" if weighted else None,
    )  # fmt: skip
    graph.reserve(100_000)
    graph.insert_edges(*random_edges(graph.device.xp, 2000, 0, weighted=weighted))
    graph.synchronize()
    return graph


def edges_of(graph):
    src, dst, weight = (None if part is None else part.get().tolist() for part in graph.edges())
    return dict(zip(zip(src, dst, strict=True), weight or [None] * len(src), strict=True))


@pytest.mark.parametrize("size", [1, 300, 50_000])
def test_both_stores_follow(graph, weighted, size):
    xp, model = graph.device.xp, edges_of(graph)
    for seed in range(1, 4):
        insert = random_edges(xp, size, seed, weighted=weighted)
        graph.insert_edges(*insert)
        columns = [part.get().tolist() for part in insert]
        for u, v, *w in zip(*columns, strict=True):
            model[u, v] = w[0] if w else None
        graph.check()
        assert edges_of(graph) == model
        gone = random_edges(xp, size // 2 + 1, seed + 10, weighted=False)
        graph.delete_edges(*gone)
        for pair in zip(*(part.get().tolist() for part in gone), strict=True):
            model.pop(pair, None)
        graph.check()
        assert edges_of(graph) == model


def test_a_batch_takes_one_launch_per_store(graph, weighted):
    insert = random_edges(graph.device.xp, 300, 5, weighted=weighted)
    for _ in range(2):
        graph.insert_edges(*insert)
        graph.delete_edges(*insert[:2])
    assert measure(lambda: graph.insert_edges(*insert), graph.device).launches == 2
    assert measure(lambda: graph.delete_edges(*insert[:2]), graph.device).launches == 2


def attempt(graph, change, batch):
    """Change the graph, and wait, so that deferred errors are raised."""
    change(*batch)
    graph.synchronize()


@pytest.mark.parametrize("size", [1, 300, 50_000])
def test_an_invalid_batch_changes_neither_store(graph, weighted, size):
    xp, before = graph.device.xp, edges_of(graph)
    insert = random_edges(xp, size, 7, weighted=weighted)
    insert[1][size // 2] = N
    with pytest.raises(VertexRangeError, match=rf"dst\[{size // 2}\]"):
        attempt(graph, graph.insert_edges, insert)
    graph.check()
    assert edges_of(graph) == before
    with pytest.raises(VertexRangeError, match=rf"dst\[{size // 2}\]"):
        attempt(graph, graph.delete_edges, insert[:2])
    graph.check()
    assert edges_of(graph) == before
    if weighted:
        insert[1][size // 2], insert[2][0] = 0, np.nan
        with pytest.raises(WeightError, match=r"weight\[0\]"):
            attempt(graph, graph.insert_edges, insert)
        graph.check()
        assert edges_of(graph) == before


def test_a_batch_behind_an_invalid_one_is_applied():
    xp = su.Graph(1, device="cuda").device.xp
    graph = su.Graph(N, backend="slabhash", device="cuda", in_edges=True, checks="deferred")
    graph.reserve(10_000)
    graph.insert_edges(xp.array([1, 2]), xp.array([N, 3]))
    delta = graph.insert_edges(xp.array([4]), xp.array([5]))
    graph.insert_edges(xp.array([-1]), xp.array([3]))
    with pytest.raises(VertexRangeError, match="given at version 0"):
        graph.synchronize()
    graph.check()
    assert edges_of(graph) == {(4, 5): None}
    assert delta.edge_set("inserted").arcs().read().src.tolist() == [4]
