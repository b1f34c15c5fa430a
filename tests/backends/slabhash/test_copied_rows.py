"""Loops over copied rows: long ones, with deleted edges, in slabs of every size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate.algorithms.bfs import BFS
from suricate.backends.slabhash import cursor
from suricate.base.devices import CPU
from suricate.cpu.jit import kernel
from suricate.cursors import contiguous
from suricate.graph import row_copies
from suricate.repair.cpu import search as forest_search
from suricate.store import fallbacks


def number(u, v, w):
    """Return a number that tells which vertices it was made of."""
    return u * 7 + v


def graph_with_hubs(n: int, **options: Any) -> su.Graph:
    """Return a graph of ``n`` vertices of which four have 900 to 5,000 edges; 0.4 of all edges were deleted again."""
    rng = np.random.default_rng(1)
    hubs = np.repeat(np.arange(4), [5_000, 1_100, 1_024, 900])
    src = np.concatenate((hubs, rng.integers(4, n, 20_000)))
    dst = np.concatenate(
        (*(rng.permutation(n)[:count] for count in (5_000, 1_100, 1_024, 900)), rng.integers(0, n, 20_000))
    )
    graph = su.Graph(n, backend="slabhash", device="cpu", **options)
    graph.insert_edges(src, dst, *([rng.integers(1, 100, len(src))] if "weight_dtype" in options else []))
    gone = rng.random(len(src)) < 0.4
    graph.delete_edges(src[gone], dst[gone])
    return graph


@pytest.mark.parametrize("slab_bytes", [16, 32, 64, 128])
@pytest.mark.parametrize("hashing", [True, False])
def test_sums_over_rows_of_all_lengths(slab_bytes: int, hashing: bool) -> None:
    n = 6_000
    graph = graph_with_hubs(n, slab_bytes=slab_bytes, hashing=hashing)
    left = np.unique(np.stack(graph.edges()[:2]).astype(np.int64), axis=1)
    expected = np.zeros(n, np.int64)
    np.add.at(expected, left[0], left[0] * 7 + left[1])
    for dtype in ("int64", "float64"):  # floats are added up in four parts
        np.testing.assert_array_equal(su.neighbor_reduce(graph, None, number, reduce="sum", dtype=dtype), expected)
    least = np.full(n, np.iinfo(np.int64).max)
    np.minimum.at(least, left[0], left[0] * 7 + left[1])
    np.testing.assert_array_equal(su.neighbor_reduce(graph, None, number, reduce="min", dtype="int64"), least)


@pytest.mark.parametrize("copied", [0, 10**9], ids=["pushes", "pulls"])
@pytest.mark.parametrize("slab_bytes", [16, 64])
def test_searches_over_rows_of_all_lengths(slab_bytes: int, copied: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"FEW": 0, "LARGE": 1 << 20, "COPIED": copied}.items():
        monkeypatch.setattr(forest_search, name, value)
    graph = graph_with_hubs(6_000, slab_bytes=slab_bytes, directed=False)
    src, dst, _ = su.arcs(graph)
    result, right = graph.compute("bfs", source=9), BFS.reference(src, dst, None, 6_000, False, source=9)
    np.testing.assert_array_equal(result.level, right.level)
    np.testing.assert_array_equal(result.parent, right.parent)


@pytest.mark.parametrize("weight_dtype", ["int32", "float64"])
@pytest.mark.parametrize("slab_bytes", [32, 64, 128])
def test_weights_of_copied_rows(slab_bytes: int, weight_dtype: str) -> None:
    graph = graph_with_hubs(6_000, slab_bytes=slab_bytes, weight_dtype=weight_dtype)
    copy = row_copies.rows_of(graph.view())
    assert copy.cursor == contiguous.__name__
    (offsets, stored), (others, copied) = (fallbacks.edges_of(view, CPU) for view in (graph.view(), copy))
    np.testing.assert_array_equal(others, offsets)
    for part, other in zip(stored, copied, strict=True):
        np.testing.assert_array_equal(other, part)


@kernel
def write_runs(g, starts):
    """Write where the edges of each vertex begin if they are in consecutive slots, else -1."""
    for u in range(len(starts)):
        starts[u] = cursor.run(g, np.uint32(u))


@pytest.mark.parametrize("slab_bytes", [16, 32])
@pytest.mark.parametrize("weight_dtype", [None, "float32"])
def test_a_run_is_all_of_a_row(slab_bytes: int, weight_dtype: str | None) -> None:
    """Rows of one slab without deleted edges, and no others, are walked as consecutive slots."""
    rng, n = np.random.default_rng(3), 400
    graph = su.Graph(n, backend="slabhash", device="cpu", slab_bytes=slab_bytes, weight_dtype=weight_dtype)
    src, dst = rng.integers(0, n, (2, 1_500))
    graph.insert_edges(src, dst, *([] if weight_dtype is None else [rng.random(1_500)]))
    graph.delete_edges(src[::5], dst[::5])
    slabs, starts = graph.view("out").data, np.zeros(n, np.int64)
    write_runs(slabs, starts)
    for u in np.flatnonzero(starts >= 0):
        expected = sorted(graph.neighbors(int(u)).tolist())
        assert sorted(slabs.pool[starts[u] : starts[u] + len(expected)].tolist()) == expected
    assert n / 20 < (starts >= 0).sum() < n
