"""Operators on graphs of their own, called from several threads at once: caches of the module are shared."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import suricate as su

pytestmark = pytest.mark.compiled

THREADS, ROUNDS = 4, 3


def scaled(factor):
    """Return a new closure: one translation per factor, one code object for all."""
    return lambda u, v, w, x: x[v] * factor


@pytest.mark.slow
def test_one_edge_function_and_many_graphs(device):
    start = threading.Barrier(THREADS)

    def work(number):
        n = 50 + number
        graph = su.Graph(n, backend="csr_baseline", device=device)
        src, dst = np.random.default_rng(number).integers(0, n, (2, 400))
        keys = np.unique(src * n + dst)
        src, dst = keys // n, keys % n
        graph.insert_edges(src, dst)
        x = np.arange(n)
        start.wait()
        for factor in range(number, number + ROUNDS):
            found = su.neighbor_reduce(graph, None, scaled(factor), args=(device.xp.asarray(x),), reduce="sum")
            expected = np.bincount(src, x[dst] * factor, n)
            np.testing.assert_array_equal(device.to_numpy(found), expected)
            level = device.xp.full(n, 10**6)
            level[src[0]] = 0
            su.propagate(graph, [src[0]], lambda u, v, w, level: level[u] + 1, out=level, args=(level,), reduce="min")
            assert int(level[dst[0]]) == int(src[0] != dst[0])
        return number

    with ThreadPoolExecutor(THREADS) as pool:
        assert sorted(pool.map(work, range(THREADS))) == list(range(THREADS))
