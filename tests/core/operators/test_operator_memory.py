"""What operators keep: scratch arrays bounded per vertex and reported, none of the graph's size made by a call."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import suricate as su

pytestmark = pytest.mark.compiled

N = 20_000


def hop(u, v, w, level):
    return level[u] + 1


def join(v, step, level):
    return True


def stop(v, value, level):
    return 0


def calls(graph):
    """Yield calls of every kind of push, from one vertex whose neighbours have no edges."""
    xp = graph.device.xp
    level = xp.full(N, 100, np.int64)
    level[0] = 0
    start = graph.frontier([0])
    edges = graph.edge_set([0], [5])
    yield lambda: su.advance(graph, start, hop, out=level, args=(level,), reduce="min", then=join)
    yield lambda: su.propagate(graph, (start, edges), hop, out=level, args=(level,), reduce="min")
    yield lambda: su.propagate(graph, edges, hop, out=level, args=(level,), reduce="min", then=join)
    yield lambda: su.propagate(graph, start, hop, out=level, args=(level,), reduce="min", once=True)
    yield lambda: su.converge(
        graph, start, hop, args=(level,), reduce="sum", then=lambda v, value, level: 0, over="out"
    )


@pytest.fixture
def graph(backend, device):
    graph = su.Graph(N, backend=backend, device=device, in_edges=True)
    graph.insert_edges([0, 0], [1, 2])
    return graph


def test_scratch_is_bounded_and_reported(graph):
    for call in calls(graph):
        call()
    assert 0 < graph.memory_usage().workspace <= 32 * N


def test_small_calls_allocate_little(graph):
    if graph.device.is_cuda:
        pytest.skip("memory of the host is traced")
    for call in calls(graph):
        call()  # scratch arrays are made once
        tracemalloc.start()
        call()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < N  # bytes
