"""What a small batch costs on the CPU follows the batch, not the graph; traced by the memory that it takes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import suricate as su

N = 1 << 16
BATCHES, SIZE = 12, 100


@pytest.mark.parametrize("backend", ["slabhash", "hornet_like", "blocked", "gpma"])
@pytest.mark.parametrize("deletes", [True, False])
def test_few_batches_make_arrays_as_long_as_the_graph(backend: str, deletes: bool) -> None:
    """None but those that compile, and those that find the storage full and let it grow."""
    graph = su.Graph(N, backend=backend, in_edges=True)
    ids = np.arange(N - 4, dtype=np.uint32)
    graph.insert_edges(np.tile(ids, 3), np.concatenate([ids, ids + 1, ids + 2]))
    long = 0
    for first in range(0, BATCHES * SIZE, SIZE):
        some = ids[first : first + SIZE]
        tracemalloc.start()
        graph.apply(su.Batch(insert=(some + 3, some), delete=(some, some) if deletes else None))
        long += tracemalloc.get_traced_memory()[1] >= N // 2  # a byte per vertex would be twice as much
        tracemalloc.stop()
    assert long <= BATCHES // 3
    graph.check()
