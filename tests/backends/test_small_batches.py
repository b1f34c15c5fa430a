"""What small batches and questions cost on the CPU follows them, not the graph; traced by the memory that they take."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import suricate as su

N = 1 << 16
BATCHES, SIZE = 12, 100
BACKENDS = ("slabhash", "hornet_like", "blocked", "gpma")  #: those whose batches need not move all edges


def graph_of(backend: str) -> tuple[su.Graph, np.ndarray]:
    """Return a graph of three out-edges and in-edges per vertex, and its vertices."""
    graph = su.Graph(N, device="cpu", backend=backend, in_edges=True)
    ids = np.arange(N - 4, dtype=np.uint32)
    graph.insert_edges(np.tile(ids, 3), np.concatenate([ids, ids + 1, ids + 2]))
    return graph, ids


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("deletes", [True, False])
def test_few_batches_make_arrays_as_long_as_the_graph(backend: str, deletes: bool) -> None:
    """None but those that compile, and those that find the storage full and let it grow."""
    graph, ids = graph_of(backend)
    long = 0
    for first in range(0, BATCHES * SIZE, SIZE):
        some = ids[first : first + SIZE]
        tracemalloc.start()
        graph.apply(su.Batch(insert=(some + 3, some), delete=(some, some) if deletes else None))
        long += tracemalloc.get_traced_memory()[1] >= N // 2  # a byte per vertex would be twice as much
        tracemalloc.stop()
    assert long <= BATCHES // 3
    graph.check()


@pytest.mark.parametrize("backend", [*BACKENDS, "csr_baseline"])
def test_neighbors_of_a_vertex_take_no_array_as_long_as_the_graph(backend: str) -> None:
    graph, _ = graph_of(backend)
    peaks = []
    for vertex in range(4, 7):  # the first one compiles
        tracemalloc.start()
        assert sorted(graph.neighbors(vertex).tolist()) == [vertex, vertex + 1, vertex + 2]
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert min(peaks) < N // 2
