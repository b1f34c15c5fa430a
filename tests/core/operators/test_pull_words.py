"""Pulls of words: the smallest of the neighbours', on both devices, against plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate.state.words import make_words


def nearest(u, v, w, x):
    return x[u] + 0.5, u


def nearest_hops(u, v, w, x):
    return x[u] + 0.5, v, u


def keep(v, key, parent, x, best):
    best[v] = parent
    return key < 2.0


def random_graph(device: su.Device, backend: str, **options: Any) -> tuple[su.Graph, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    graph = su.Graph(300, backend=backend, device=str(device), in_edges=True, **options)
    src, dst = rng.integers(0, 250, 1500), rng.integers(0, 300, 1500)
    src[:200], dst[200:400] = 7, 9
    graph.insert_edges(src, dst)
    src, dst, _ = (None if part is None else device.to_numpy(part) for part in su.arcs(graph))
    return graph, src, dst


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("scheme", ["auto", "vertex", "bucket"])
def test_the_smallest_word_of_the_neighbours(device: su.Device, backend: str, scheme: str, wide: bool) -> None:
    graph, src, dst = random_graph(device, backend)
    x = np.random.default_rng(1).integers(0, 9, 300).astype(np.float64)
    keys = {"key": "float64", "hops": "uint32"} if wide else {"key": "float32"}
    best = graph.words(keys=keys, payload={"parent": "uint32"})
    fn = nearest_hops if wide else nearest
    su.neighbor_reduce(
        graph, None, fn, args=(device.xp.asarray(x),), reduce="argmin", over="in", out=best, scheme=scheme
    )
    key, parent = device.to_numpy(best.key), device.to_numpy(best.parent)
    for v in range(300):
        offers = [(x[u] + 0.5, u) for u in src[dst == v]]
        right = min(offers, default=(np.inf, 2**32 - 1))
        assert (key[v], parent[v]) == right, v


def test_the_epilogue_takes_the_fields(device: su.Device, backend: str) -> None:
    graph, src, dst = random_graph(device, backend)
    x = np.random.default_rng(1).integers(0, 9, 300).astype(np.float64)
    layout = make_words(1, keys={"key": "float32"}, payload={"parent": "uint32"}, device=str(device))
    best = device.xp.zeros(300, np.uint32)

    def offer(u, v, w, x, best):
        return x[u] + 0.5, u

    found = su.neighbor_reduce(
        graph, None, offer, args=(device.xp.asarray(x), best), reduce="argmin", over="in", dtype=layout, then=keep
    )
    right = [min(((x[u] + 0.5, u) for u in src[dst == v]), default=(np.inf, 2**32 - 1)) for v in range(300)]
    assert device.to_numpy(best).tolist() == [parent for _, parent in right]
    assert sorted(device.to_numpy(found.vertices).tolist()) == [v for v in range(300) if right[v][0] < 2.0]
