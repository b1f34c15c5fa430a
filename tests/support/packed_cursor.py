"""A cursor whose segments have many owners: all edges in one array in order, with gaps, cut into segments of 8 slots.

It is read only: :func:`packed_view` lays edges out, as a packed memory array would, for tests of what walks cursors.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit

from suricate.base.types import EMPTY, EdgeList, StoreView

SEGMENT = 8  #: slots of a segment


class PackedView(NamedTuple):
    """Arrays per vertex (``begin``, ``end``, ``count``) and per slot; ``touched``: segments with inserted edges."""

    begin: np.ndarray
    end: np.ndarray
    count: np.ndarray
    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray
    fresh: np.ndarray
    touched: np.ndarray
    num_touched: int
    segments: int


def packed_view(edges: EdgeList, num_vertices: int, inserted: np.ndarray) -> StoreView:
    """Return a view over ``edges`` (ordered by source) with every third slot a gap; ``inserted``: bool per edge."""
    places = np.arange(len(edges.src)) + np.arange(len(edges.src)) // 2
    slots = -(-(int(places[-1]) + 1 if len(places) else 0) // SEGMENT) * SEGMENT

    def spread(values: np.ndarray, fill: int) -> np.ndarray:
        array = np.full(slots, fill, values.dtype)
        array[places] = values
        return array

    count = np.bincount(edges.src, minlength=num_vertices).astype(np.int64)
    last = np.cumsum(count)
    begin = np.append(places, slots)[last - count]
    end = np.where(count > 0, np.append(places, slots)[np.maximum(last, 1) - 1] + 1, begin)
    fresh = spread(inserted.astype(np.uint8), 0)
    touched = np.flatnonzero(fresh.reshape(-1, SEGMENT).any(axis=1))
    data = PackedView(
        begin=begin.astype(np.int64),
        end=end.astype(np.int64),
        count=count,
        src=spread(edges.src, EMPTY),
        dst=spread(edges.dst, EMPTY),
        weight=spread(edges.weight if edges.weight is not None else np.zeros(len(edges.src), np.uint8), 0),
        fresh=fresh,
        touched=touched,
        num_touched=len(touched),
        segments=slots // SEGMENT,
    )
    return StoreView(
        data=data,
        cursor=__name__,
        header=Path(__file__).with_suffix(".cuh"),
        num_vertices=num_vertices,
        weight_dtype=None if edges.weight is None else edges.weight.dtype,
        constants={"SEGMENT": SEGMENT},
        can_scan=True,
        has_updated=True,
        owner_per="slot",
    )


@njit
def degree(g, u):
    """Return the number of out-edges of ``u``."""
    return g.count[u]


@njit
def buckets(g, u):
    """Return 1: the slots of a vertex lie in one range."""
    return 1


@njit
def first(g, u, k):
    """Return the cursor of the range: vertices come after the segments."""
    return np.int64(len(g.dst) // SEGMENT + u)


@njit
def begin(g, c):
    """Return the first slot of a segment or of a vertex."""
    all_segments = len(g.dst) // SEGMENT
    return np.int64(c * SEGMENT) if c < all_segments else g.begin[c - all_segments]


@njit
def end(g, c):
    """Return one past the last slot of a segment or of a vertex."""
    all_segments = len(g.dst) // SEGMENT
    return np.int64((c + 1) * SEGMENT) if c < all_segments else g.end[c - all_segments]


@njit
def following(g, c):
    """Return -1: there is one range."""
    return np.int64(-1)


@njit
def key(g, i):
    """Return the destination in slot ``i``; EMPTY in a gap."""
    return g.dst[i]


@njit
def weight(g, i):
    """Return the weight in slot ``i``."""
    return g.weight[i]


@njit
def find(g, u, v):
    """Return the slot of edge ``(u, v)``, or -1."""
    for i in range(g.begin[u], g.end[u]):
        if g.dst[i] == v:
            return np.int64(i)
    return np.int64(-1)


@njit
def updated_count(g):
    """Return the number of segments with inserted edges."""
    return len(g.touched)


@njit
def updated_segment(g, i):
    """Return the ``i``-th segment with inserted edges."""
    return g.touched[i]


@njit
def slot_owner(g, i):
    """Return the source of the edge in slot ``i``."""
    return g.src[i]


@njit
def is_fresh(g, i):
    """Return whether the edge in slot ``i`` was inserted since the mark."""
    return g.fresh[i] == 1
