"""What a small batch costs on the CPU follows the batch, not the graph; traced by the memory that it takes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import suricate as su

N = 1 << 18


@pytest.mark.parametrize("backend", ["slabhash", "hornet_like", "blocked", "gpma"])
def test_a_batch_of_both_kinds_makes_no_array_as_long_as_the_graph(backend: str) -> None:
    graph = su.Graph(N, backend=backend, in_edges=True)
    ids = np.arange(20_000, dtype=np.uint32)
    graph.insert_edges(ids, ids)
    peaks = []
    for first in range(0, 60, 10):  # the first ones compile, and let the storage grow
        some = ids[first : first + 10]
        tracemalloc.start()
        graph.apply(su.Batch(insert=(some + 1, some), delete=(some, some)))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert min(peaks) < N // 4  # a byte per vertex would be four times as much
    graph.check()
