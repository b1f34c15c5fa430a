"""Cursor over stores that keep each adjacency in one contiguous range without holes (CSR, blocks, snapshots).

``g`` is a :class:`ContiguousView`. A *span* is a run of slots, found by an int64 ``c``, its cursor: here its vertex.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from suricate.base.devices import Array
from suricate.base.types import EdgeList, StoreView, edge_keys
from suricate.cpu.jit import inner
from suricate.cpu.plain import int64, uint64
from suricate.cpu.prefetch import prefetch
from suricate.cpu.vector import choose, match8
from suricate.cursors import LATER

GAPLESS = True  # every slot of a span holds an edge
HEADER = Path(__file__).with_suffix(".cuh")
BLOCK = 32  # keys that are passed over, or compared, at once
SPARSE = 256  # an adjacency more than this times as long as the keys that are looked up is searched by halves


class ContiguousView(NamedTuple):
    """The data of a view in which the edges of ``u`` are in the slots ``begin[u]`` to ``end[u]`` (exclusive).

    ``begin`` and ``end`` are int64[num_vertices]; by slot, ``dst`` is uint32 and ``weight`` has the weight dtype
    (uint8[0] if unweighted). ``ascending`` is 1 if every adjacency is sorted by destination (an edge query is then a
    binary search).
    """

    begin: Array
    end: Array
    dst: Array
    weight: Array
    ascending: int


def contiguous_view(
    begin: Array, end: Array, dst: Array, weight: Array | None, *, ascending: bool = False
) -> StoreView:
    """Return a :class:`StoreView` over the given arrays, which are not copied.

    The parameters are the fields of :class:`ContiguousView`, except that ``weight`` is None for an unweighted view and
    ``ascending`` a bool.
    """
    absent = dst[:0].view(np.uint8) if weight is None else weight
    return StoreView(
        data=ContiguousView(begin, end, dst, absent, int(ascending)),
        cursor=__name__,
        header=HEADER,
        num_vertices=len(begin),
        weight_dtype=None if weight is None else weight.dtype,
        ascending=ascending,
        find="sorted" if ascending else "linear",
    )


def view_of_edges(edges: EdgeList, num_vertices: int, xp: Any) -> StoreView:
    """Return a contiguous view over a copy of ``edges``, sorted by source, then destination."""
    order = xp.argsort(edge_keys(edges.src, edges.dst), kind="stable")
    src, dst, weight = (None if part is None else part[order] for part in edges)
    offsets = xp.searchsorted(src, xp.arange(num_vertices + 1, dtype=np.uint32)).astype(np.int64)
    return contiguous_view(offsets[:-1], offsets[1:], dst, weight, ascending=True)


@inner
def degree(g, u):
    """Return the number of out-edges of vertex ``u``."""
    return g.end[u] - g.begin[u]


@inner
def ahead(g, u):
    """Prefetch destinations and weights of the first out-edges of vertex ``u``."""
    prefetch(g.dst, g.begin[u])
    if len(g.weight):
        prefetch(g.weight, g.begin[u])


@inner
def buckets(g, u):
    """Return 1: the whole adjacency of vertex ``u`` in the view ``g`` is one bucket."""
    return 1


@inner
def first(g, u, k):
    """Return the cursor of the first span of bucket ``k`` (0) of vertex ``u``: the vertex itself, as int64."""
    return int64(u)


@inner
def begin(g, c):
    """Return the first slot of the span at cursor ``c``."""
    return g.begin[c]


@inner
def end(g, c):
    """Return one past the last slot of the span at cursor ``c``."""
    return g.end[c]


@inner
def following(g, c):
    """Return -1: no span follows the one at cursor ``c``, as a vertex has only one."""
    return int64(-1)


@inner
def key(g, i):
    """Return the destination of the edge in slot ``i``."""
    return g.dst[uint64(i)]


@inner
def later(g, i):
    """Return the destination in the slot ``LATER`` places after slot ``i``, or in the last slot if there is none."""
    return g.dst[uint64(min(i + LATER, len(g.dst) - 1))]


@inner
def weight(g, i):
    """Return the weight of the edge in slot ``i``."""
    return g.weight[uint64(i)]


@inner
def lower_bound(dst, lo, hi, v):
    """Return the first slot in ``[lo, hi)`` with ``dst[slot] >= v``, or ``hi``, by a branch-free binary search."""
    size = hi - lo
    while size > 0:
        half = (size + 1) >> 1
        lo = choose(dst[uint64(lo + half - 1)] < v, lo + half, lo)
        size -= half
    return lo


@inner
def find(g, u, v):
    """Return the slot of edge ``(u, v)`` (int64), or -1 if it is not stored."""
    lo, hi = g.begin[u], g.end[u]
    if g.ascending:
        at = lower_bound(g.dst, lo, hi, v)
        return at if at < hi and g.dst[at] == v else int64(-1)
    for i in range(lo, hi):
        if g.dst[i] == v:
            return int64(i)
    return int64(-1)


@inner
def common(g, u, v, into):
    """Write the common neighbours of ``u`` and ``v`` to ``into``, ascending; return their number (uint64).

    Both adjacencies must be ascending. Each neighbour of ``v`` is searched for among those of ``u``. ``into`` must have
    as many entries as ``v`` has neighbours; the entry after the last result may be overwritten.
    """
    at, stop, found = int64(g.begin[u]), int64(g.end[u]), uint64(0)
    halves = degree(g, u) > SPARSE * degree(g, v)
    for i in range(g.begin[v], g.end[v]):
        x = key(g, i)
        into[found] = x
        while not halves and at + BLOCK <= stop and key(g, at + BLOCK - 1) < x:
            at += BLOCK
        if halves or at + BLOCK > stop:
            at = lower_bound(g.dst, at, stop, x)
            found += uint64(at < stop and key(g, at) == x)
        else:
            low = match8(g.dst, at, x) | match8(g.dst, at + 8, x)
            found += uint64(low | match8(g.dst, at + 16, x) | match8(g.dst, at + 24, x) != 0)
    return found
