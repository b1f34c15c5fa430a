"""A view over the out-edges and the in-edges of a directed graph together, for loops of the CPU over a cursor.

The adjacency of a vertex is that of the undirected graph with an edge for each arc: two arcs between the same vertices
are two entries, a self-loop is two, too. Cursors of the in-edges are odd, their slots begin at ``SECOND``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate.base.types import ArcList, StoreView
from suricate.kernels import without_weights
from suricate.kernels.generated import load_module

if TYPE_CHECKING:
    from suricate.graph import Graph

SECOND = 1 << 48  #: more than any slot
CURSOR = """
import {cursor} as cursor
from suricate.cpu.jit import inner
from suricate.cpu.plain import int64

_buckets, _first, _begin, _end = cursor.buckets, cursor.first, cursor.begin, cursor.end
_following, _key, _degree, _find = cursor.following, cursor.key, cursor.degree, cursor.find


@inner
def degree(g, u):
    return int64(_degree(g.out, u)) + int64(_degree(g.into, u))


@inner
def buckets(g, u):
    return int64(_buckets(g.out, u)) + int64(_buckets(g.into, u))


@inner
def first(g, u, k):
    count = int64(_buckets(g.out, u))
    return int64(_first(g.out, u, k)) << 1 if k < count else int64(_first(g.into, u, k - count)) << 1 | 1


@inner
def begin(g, c):
    return int64(_begin(g.into, c >> 1)) + {second} if c & 1 else int64(_begin(g.out, c >> 1))


@inner
def end(g, c):
    return int64(_end(g.into, c >> 1)) + {second} if c & 1 else int64(_end(g.out, c >> 1))


@inner
def following(g, c):
    after = int64(_following(g.into, c >> 1)) if c & 1 else int64(_following(g.out, c >> 1))
    return after << 1 | c & 1 if after >= 0 else int64(-1)


@inner
def key(g, i):
    return _key(g.out, i) if i < {second} else _key(g.into, i - {second})


@inner
def find(g, u, v):
    return _find(g.out, u, v)
"""


class BothData(NamedTuple):
    """The data of the views over out-edges and over in-edges, without weights."""

    out: Any
    into: Any


def view_of_both(graph: Graph) -> StoreView:
    """Return a view over both directions of ``graph``, a directed graph on the CPU with in-edges."""
    out, into = graph.view("out"), graph.view("in")
    text = CURSOR.format(cursor=out.cursor, second=SECOND)
    name = load_module(f"both_{out.cursor.split('.')[-2]}", text).__name__
    data = BothData(without_weights(out), without_weights(into))
    return replace(out, data=data, cursor=name, weight_dtype=None, can_scan=False, has_updated=False, ascending=False)


def both_ways(arcs: ArcList) -> ArcList:
    """Return ``arcs``, on the host, followed by the same arcs in the other direction."""
    src, dst, _ = arcs.read()
    return ArcList(np.concatenate((src, dst)), np.concatenate((dst, src)), None, None, 0, 2 * len(src))
