"""Cursor over stores that keep each adjacency in one contiguous range without holes (CSR, blocks, snapshots)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from suricate.devices import Array
from suricate.types import EdgeList, StoreView, edge_keys


class ContiguousView(NamedTuple):
    """Arrays of the view: the edges of ``u`` lie in slots ``begin[u]`` to ``end[u]``.

    ``begin`` and ``end`` are int64[num_vertices], ``dst`` uint32, ``weight`` the weight dtype (uint8[0] if unweighted);
    ``ascending`` is 1 where every adjacency is ordered by destination (edge queries are then binary searches).
    """

    begin: Array
    end: Array
    dst: Array
    weight: Array
    ascending: int


def contiguous_view(
    begin: Array, end: Array, dst: Array, weight: Array | None, *, ascending: bool = False
) -> StoreView:
    """Return a :class:`StoreView` over the arrays of a :class:`ContiguousView`."""
    absent = dst[:0].view(np.uint8) if weight is None else weight
    return StoreView(
        data=ContiguousView(begin, end, dst, absent, int(ascending)),
        cursor=__name__,
        header=Path(__file__).with_suffix(".cuh"),
        num_vertices=len(begin),
        weight_dtype=None if weight is None else weight.dtype,
        ascending=ascending,
        find="sorted" if ascending else "linear",
    )


def view_of_edges(edges: EdgeList, num_vertices: int, xp: Any) -> StoreView:
    """Return a view over a copy of ``edges`` (in any order), sorted by source and destination."""
    order = xp.argsort(edge_keys(edges.src, edges.dst), kind="stable")
    src, dst, weight = (None if part is None else part[order] for part in edges)
    offsets = xp.searchsorted(src, xp.arange(num_vertices + 1)).astype(np.int64)
    return contiguous_view(offsets[:-1], offsets[1:], dst, weight, ascending=True)


@njit(inline="always")
def degree(g, u):
    """Return the number of out-edges of ``u``."""
    return g.end[u] - g.begin[u]


@njit(inline="always")
def units(g, u):
    """Return 1: the whole adjacency is one unit."""
    return 1


@njit(inline="always")
def first(g, u, k):
    """Return the cursor of the only span: the vertex itself."""
    return np.int64(u)


@njit(inline="always")
def begin(g, c):
    """Return the first slot."""
    return g.begin[c]


@njit(inline="always")
def end(g, c):
    """Return one past the last slot."""
    return g.end[c]


@njit(inline="always")
def following(g, c):
    """Return -1: there is one span."""
    return np.int64(-1)


@njit(inline="always")
def key(g, i):
    """Return the destination in slot ``i``; an unsigned index spares Numba's test for negative ones."""
    return g.dst[np.uint64(i)]


@njit(inline="always")
def weight(g, i):
    """Return the weight in slot ``i``."""
    return g.weight[np.uint64(i)]


@njit
def find(g, u, v):
    """Return the slot of edge ``(u, v)``, or -1."""
    lo, hi = g.begin[u], g.end[u]
    if not g.ascending:
        for i in range(lo, hi):
            if g.dst[i] == v:
                return i
        return np.int64(-1)
    while lo < hi:
        mid = (lo + hi) >> 1
        if g.dst[mid] < v:
            lo = mid + 1
        else:
            hi = mid
    return lo if lo < g.end[u] and g.dst[lo] == v else np.int64(-1)
