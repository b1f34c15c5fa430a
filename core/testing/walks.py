"""Walks over the view of a store by every function of its cursor."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from suricate.base.types import TOMBSTONE, EdgeList, StoreView


def weight_function(view: StoreView) -> Callable[[Any, int], Any]:
    """Return the cursor's ``weight(g, slot)``, ``g`` the arrays of ``view``; if there are no weights, it returns 0."""
    from numba import njit

    @njit
    def no_weight(g: Any, i: int) -> int:
        return 0

    return no_weight if view.weight_dtype is None else importlib.import_module(view.cursor).weight


def walker(view: StoreView) -> Callable[..., tuple[int, int]]:
    """Return a compiled function (see ``walk``) that lists all edges of ``view`` by the functions of its cursor."""
    from suricate.cpu.jit import kernel

    cursor: ModuleType = importlib.import_module(view.cursor)
    degree, buckets, first, begin = cursor.degree, cursor.buckets, cursor.first, cursor.begin
    end, following, key, find = cursor.end, cursor.following, cursor.key, cursor.find

    weight = weight_function(view)

    @kernel
    def walk(g, num_vertices, degrees, src, dst, weights, absent_src, absent_dst):
        """Walk all edges; write the results in place, and return (edges seen, wrong answers of ``find``).

        Args:
            g: the arrays of the view.
            num_vertices: number of vertices of the view.
            degrees: ``int64[num_vertices]``, gets the degrees.
            src, dst, weights: ``[m]``, get the edges; those beyond the length are counted only.
            absent_src, absent_dst: ``uint32[k]``, edges that ``find`` must not find.
        """
        count, wrong = 0, 0
        for u in range(num_vertices):
            degrees[u] = degree(g, u)
            for k in range(buckets(g, u)):
                c = first(g, u, k)
                while c >= 0:
                    for i in range(begin(g, c), end(g, c)):
                        v = key(g, i)
                        if v < TOMBSTONE:
                            if count < len(src):
                                src[count], dst[count], weights[count] = u, v, weight(g, i)
                            count += 1
                            wrong += find(g, u, v) != i
                    c = following(g, c)
        for i in range(len(absent_src)):
            wrong += find(g, absent_src[i], absent_dst[i]) != -1
        return count, wrong

    return walk


def owner_function(view: StoreView) -> Callable[[Any, int, int], int]:
    """Return ``owner(g, c, i)``: the source of the edge in slot ``i`` of segment ``c``; ``g``: arrays of ``view``."""
    from numba import njit

    cursor = importlib.import_module(view.cursor)
    if view.owner_per == "slot":
        slot_owner = cursor.slot_owner
        return njit(lambda g, c, i: slot_owner(g, i))
    segment_owner = cursor.segment_owner
    return njit(lambda g, c, i: segment_owner(g, c))


def updated_walker(view: StoreView) -> Callable[..., int]:
    """Return a compiled function ``walk(g, num_vertices, src, dst, weights)`` that lists edges inserted since the mark.

    It uses the cursor of ``view``; ``g`` are the arrays of the view.
    """
    from suricate.cpu.jit import kernel

    cursor: ModuleType = importlib.import_module(view.cursor)
    begin, end, key, is_fresh = cursor.begin, cursor.end, cursor.key, cursor.is_fresh
    updated_count, updated_segment = cursor.updated_count, cursor.updated_segment
    owner, weight = owner_function(view), weight_function(view)

    @kernel
    def walk(g, num_vertices, src, dst, weights):
        """Write edges inserted since the mark to ``src``, ``dst``, ``weights`` in place; return their number.

        ``g``: the arrays of the view. Sources from ``num_vertices`` on are left out; edges beyond ``len(src)`` are
        counted only.
        """
        count = 0
        for i in range(updated_count(g)):
            c = updated_segment(g, i)
            for slot in range(begin(g, c), end(g, c)):
                u, v = owner(g, c, slot), key(g, slot)
                if u < num_vertices and v < TOMBSTONE and is_fresh(g, slot):
                    if count < len(src):
                        src[count], dst[count], weights[count] = u, v, weight(g, slot)
                    count += 1
        return count

    return walk


_walkers: dict[tuple[str, type, np.dtype | None], Callable[..., tuple[int, int]]] = {}
_updated_walkers: dict[tuple[str, type, np.dtype | None, str], Callable[..., int]] = {}


def walk_view(view: StoreView, num_edges: int, absent: tuple[np.ndarray, np.ndarray]) -> tuple[EdgeList, np.ndarray]:
    """Return the edges and ``int64`` degrees that the cursor of a CPU view yields.

    Asserts that it yields ``num_edges`` edges, and that ``find`` finds them and none of ``absent``, ``(src, dst)``.
    """
    which = (view.cursor, type(view.data), view.weight_dtype)
    if which not in _walkers:
        _walkers[which] = walker(view)
    degrees = np.zeros(view.num_vertices, np.int64)
    src, dst = np.zeros(num_edges, np.uint32), np.zeros(num_edges, np.uint32)
    weight = np.zeros(num_edges, view.weight_dtype or np.uint8)
    count, wrong = _walkers[which](view.data, view.num_vertices, degrees, src, dst, weight, *absent)
    assert count == num_edges, f"the cursor of the view meets {count} edges, the store has {num_edges}"
    assert wrong == 0, "find() of the cursor disagrees with the walk"
    return EdgeList(src, dst, None if view.weight_dtype is None else weight), degrees


def walk_updated(view: StoreView, num_edges: int) -> EdgeList:
    """Return the edges inserted since the mark, as the iterator of the cursor of a CPU view yields them.

    ``num_edges``: the number of edges in the store; the iterator must not yield more.
    """
    which = (view.cursor, type(view.data), view.weight_dtype, view.owner_per)
    if which not in _updated_walkers:
        _updated_walkers[which] = updated_walker(view)
    src, dst = np.zeros(num_edges, np.uint32), np.zeros(num_edges, np.uint32)
    weight = np.zeros(num_edges, view.weight_dtype or np.uint8)
    count = _updated_walkers[which](view.data, view.num_vertices, src, dst, weight)
    assert count <= num_edges, f"the updated-edges iterator meets {count} edges, the store has {num_edges}"
    return EdgeList(src[:count], dst[:count], None if view.weight_dtype is None else weight[:count])
