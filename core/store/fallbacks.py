"""Generic implementations of a store's operations, derived from the cursor of its view.

The work is proportional to the result, on both devices: Numba loops (``cursors/queries.py``) and CUDA kernels
(``cursors/queries.cu``) call the functions of the cursor. For a backend without a cursor every call first copies and
sorts all edges of ``Store.edges``. Parameters of many functions: ``view`` of the store, and its ``device``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from suricate.base.devices import Array, Device
from suricate.base.errors import require
from suricate.base.types import Adjacency, EdgeList, StoreView, edge_keys
from suricate.cpu import threads
from suricate.cuda.program import Program
from suricate.intake.arrays import on_host
from suricate.kernels.walking import loops_over, walk_of
from suricate.primitives import copy_segments
from suricate.primitives.located import LocatedBatch

CURSORS = Path(__file__).parents[1] / "cursors"
PRIMITIVES = CURSORS.with_name("primitives")
LOOPS = {name: CURSORS / f"{name}.py" for name in ("queries", "updated_loops")}
CONTIGUOUS = "suricate.cursors.contiguous"  #: the cursor whose adjacencies are copied as ranges
BLOCK = 256
MOST_THREADS = 1 << 21  #: of a grid-stride loop: more than any device runs at once
#: rows are listed by at most ``TEAMS`` teams in all, if there are several per row, and at most ``MOST_PARTS`` per row
TEAMS, MOST_PARTS = 1 << 21, 256


def snapshot(edges: EdgeList, num_vertices: int, device: Device) -> StoreView:
    """Return a view of a contiguous, sorted copy of ``edges``, which may be in any order."""
    from suricate.cursors.contiguous import view_of_edges

    return view_of_edges(edges, num_vertices, device.xp)


def degrees(view: StoreView, device: Device, vertices: Array | None = None) -> Array:
    """Return the out-degrees of ``vertices``, ``uint32[k]``; on CUDA those of all are computed first."""
    if device.is_cuda:
        result = device.xp.empty(view.num_vertices, np.uint32)
        _launch(view, "list_degrees", len(result), np.int64(len(result)), result)
        return result if vertices is None else result[vertices]
    result = np.empty(view.num_vertices if vertices is None else len(vertices), np.uint32)
    some = np.empty(0, np.uint32) if vertices is None else vertices
    threads.over(len(result), _loops(view, "queries").list_degrees, view.data, some, result)
    return result


def find(view: StoreView, device: Device, src: Array, dst: Array) -> tuple[Array, Array | None]:
    """Return which edges are stored, ``bool[n]``, and their weights, 0 if not stored, or None."""
    xp, count = device.xp, len(src)
    found = xp.empty(count, bool)
    weight = None if view.weight_dtype is None else xp.zeros(count, view.weight_dtype)
    if device.is_cuda:
        _launch(view, "find_edges", count, np.int64(count), src, dst, found, weight)
    else:
        threads.over(count, _loops(view, "queries").find_edges, view.data, src, dst, found, _or_none(weight))
    return found, weight


def locate(view: StoreView, device: Device, batch: LocatedBatch) -> None:
    """Look up the edges of the sorted ``batch``; write their kinds and slots to it, slot -1 for an absent edge."""
    if device.is_cuda:
        from suricate.primitives.cuda import packed_batch

        _launch(view, "locate", len(batch), packed_batch(batch))
    else:
        threads.over(len(batch), _loops(view, "queries").locate, view.data, batch.keys, batch.kind, batch.slot)


def adjacency(view: StoreView, device: Device, vertices: Array) -> Adjacency:
    """Return the out-edges of ``vertices`` (``uint32[k]``, repeats allowed); on CUDA waits for the device."""
    offsets, edges = edges_of(view, device, vertices)
    return Adjacency(offsets, edges.dst, edges.weight)


def edges_of(view: StoreView, device: Device, vertices: Array | None = None) -> tuple[Array, EdgeList]:
    """Return (offsets, edges): the out-edges of ``vertices`` (None: of all vertices, in order).

    Those of the i-th vertex are at ``offsets[i]`` to ``offsets[i + 1]``, in any order; ``offsets`` is ``int64[k + 1]``.
    On CUDA waits for the device.
    """
    xp, lengths = device.xp, degrees(view, device, vertices)
    offsets = xp.zeros(len(lengths) + 1, np.int64)
    xp.cumsum(lengths.astype(np.int64), out=offsets[1:])
    edges = _empty_edges(view, xp, int(offsets[-1]))
    if view.cursor == CONTIGUOUS and not view.by_row:  # the latter reads weights elsewhere
        _copy_ranges(view, device, vertices, offsets, edges)
        return offsets, edges
    if vertices is None:
        vertices = xp.arange(view.num_vertices, dtype=np.uint32)
    if device.is_cuda:
        count = len(vertices)
        parts = max(1, min(MOST_PARTS, TEAMS // max(1, count)))
        threads_each = 32 if parts == 1 else 8 * parts
        places = np.int64(count), np.uint32(parts), vertices, offsets.copy()
        _launch(view, "list_edges", threads_each * count, *places, *edges)
    else:
        given = (view.data, vertices, offsets, edges.src, edges.dst, _or_none(edges.weight))
        threads.run(_loops(view, "queries").list_edges, [(*given, *part) for part in parts_of(offsets)])
    return offsets, edges


def parts_of(offsets: np.ndarray) -> list[threads.Range]:
    """Divide vertices into ranges with about equally many edges, for threads; return one range if edges are few."""
    size = len(offsets) - 1
    number = threads.parts(size + int(offsets[-1]))
    if number == 1:
        return [(0, size)]
    marks = offsets[-1] * np.arange(1, number) // number
    cuts = np.searchsorted(offsets[:-1], marks).tolist()
    return list(pairwise([0, *cuts, size]))


def slices_of(lengths: Array, most: int) -> Iterator[tuple[int, int]]:
    """Yield begin and end of slices of rows of these ``lengths``: each has at most ``most`` in all, or is one row."""
    ends, begin = np.cumsum(on_host(lengths), dtype=np.int64), 0
    while begin < len(ends):
        before = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + most, side="right")))
        yield begin, end
        begin = end


def _copy_ranges(view: StoreView, device: Device, vertices: Array | None, offsets: Array, edges: EdgeList) -> None:
    """Copy the adjacencies of ``vertices`` (None: of all) to ``edges``; each is one range of slots of the view."""
    begin, _, dst, weight, _ = view.data
    if vertices is not None:
        begin = begin[vertices]
    stored = EdgeList(dst[:0], dst, None if edges.weight is None else weight)
    copy_segments(device, offsets, begin, offsets[:-1], len(edges.dst), stored, edges)
    if vertices is not None:
        edges.src[:] = vertices[edges.src]  # from the number of the range


def updated(view: StoreView, device: Device) -> EdgeList:
    """Return the edges inserted since the mark by the cursor's iterator, in any order; waits for a CUDA device."""
    xp, count = device.xp, 0
    edges = _empty_edges(view, xp, 0)
    for _ in range(2):  # count, then list
        edges = _empty_edges(view, xp, count)
        if device.is_cuda:
            listed = xp.zeros(1, np.uint64)
            _launch(view, "list_updated", MOST_THREADS, np.uint32(view.num_vertices), listed, np.uint64(count), *edges)
            count = int(listed[0])
        else:
            loops = _loops(view, "updated_loops")
            count = loops.list_updated(view.data, view.num_vertices, edges.src, edges.dst, _or_none(edges.weight))
    return edges


def inserted_since(edges: EdgeList, marked: Array, xp: Any) -> EdgeList:
    """Return the ``edges`` whose keys, ``src << 32 | dst``, are not in ``marked``, those at the mark."""
    fresh = ~xp.isin(edge_keys(edges.src, edges.dst), marked)
    return EdgeList(edges.src[fresh], edges.dst[fresh], None if edges.weight is None else edges.weight[fresh])


def check_edges(edges: EdgeList, degrees: Array, device: Device) -> None:
    """Verify properties that hold for every store: order of edges, no duplicates, valid ids, degrees."""
    src, dst, degrees = (device.to_numpy(part) for part in (edges.src, edges.dst, degrees))
    require(bool(np.all(src[:-1] <= src[1:])), "edges() is ordered by source")
    keys = np.sort(edge_keys(src, dst))  # np.unique would take ten times as long
    require(bool(np.all(keys[:-1] < keys[1:])), "every edge is stored once")
    require(not len(src) or max(src.max(), dst.max()) < len(degrees), "every id is below num_vertices")
    require(np.array_equal(degrees, np.bincount(src, minlength=len(degrees))), "degrees() counts the edges")


def program(view: StoreView) -> Program:
    """Return the CUDA program of ``cursors/queries.cu`` over the cursor of ``view``; assembling it needs no GPU."""
    from suricate.cuda.program import Program
    from suricate.cuda.structs import view_prelude
    from suricate.primitives.located import PRELUDE

    prelude, include = f"{PRELUDE}\n{view_prelude(view)}", (view.header.parent, PRIMITIVES)
    return Program(CURSORS / "queries.cu", prelude, defines=(("WEIGHT_BITS", 0),), include=include)


_programs: dict[tuple, Program] = {}


def _launch(view: StoreView, kernel: str, size: int, *args: Any) -> None:
    """Launch ``kernel`` of ``queries.cu`` over ``view`` for ``size`` items; without items launch nothing."""
    if size:
        walk = walk_of(view)
        key = view.header, walk.prelude
        code = _programs.get(key) or _programs.setdefault(key, program(view))
        grid = (min(size, MOST_THREADS) + BLOCK - 1) // BLOCK
        values = tuple(np.uint64(0) if arg is None else arg for arg in args)
        code.kernel(kernel)((grid,), (BLOCK,), (walk.packed, *values))


def _loops(view: StoreView, template: str) -> ModuleType:
    """Return the Numba module made from ``cursors/<template>.py`` and the cursor of ``view``."""
    return loops_over(view, LOOPS[template])


def _or_none(weight: Array | None) -> Array:
    """Return the weights as the compiled loops take them: ``uint8[0]`` in place of None."""
    return np.empty(0, np.uint8) if weight is None else weight


def _empty_edges(view: StoreView, xp: Any, size: int) -> EdgeList:
    weight = None if view.weight_dtype is None else xp.empty(size, view.weight_dtype)
    return EdgeList(xp.empty(size, np.uint32), xp.empty(size, np.uint32), weight)
