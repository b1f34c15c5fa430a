"""Contraction on CUDA by kernels of its own, for levels that are read and dropped: no sort of vertices, no store."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate.base.types import EMPTY
from suricate.cuda.program import Program, c_type
from suricate.primitives import sort_batch
from suricate.store import fallbacks

if TYPE_CHECKING:
    from suricate.base.devices import Array, Device
    from suricate.base.types import StoreView

BLOCK = 256
MOST_BLOCKS = 1 << 14  #: beyond that a thread serves several entries
NULL = np.uint64(0)


class Groups(NamedTuple):
    """Groups of vertices, and their rows.

    ``group``, ``uint32``, is by vertex, EMPTY where it has size 0. By group: ``label``, ``uint32``, the label of its
    members; ``size``, ``int64``, and ``strength``, ``float64``, their sums. ``rows`` is a view of ``float64`` weights.
    """

    group: Array
    label: Array
    size: Array
    strength: Array
    rows: StoreView


def grouped(
    view: StoreView, device: Device, labels: Array, size: Array, strength: Array, bound: int, unit: float
) -> Groups | None:
    """Return the groups of the vertices of ``view``, an undirected graph without negative weights on CUDA; waits.

    None: there are none, or as many as vertices.

    ``labels``, ``uint32``, are below ``bound``; ``size``, ``int64``, is 0 at vertices that are in no group;
    ``strength``, ``float64``. Weights are rounded to multiples of ``unit``, so that sums are exact in any order.
    """
    from suricate.cursors.contiguous import contiguous_view

    xp, n = device.xp, len(labels)
    code = _program(np.dtype(np.float64) if view.weight_dtype is None else view.weight_dtype)
    first, rank, group = xp.empty(bound, np.uint32), xp.empty(n, np.int32), xp.empty(n, np.uint32)
    first.fill(EMPTY)
    _launch(code, "note_first", n, labels, size, np.int64(n), first)
    _launch(code, "mark_first", n, labels, size, np.int64(n), first, rank)
    rank = rank.cumsum(dtype=np.int32)
    count = int(rank[-1]) if n else 0
    if count in (n, 0):
        return None
    label, sizes, strengths = xp.empty(count, np.uint32), xp.zeros(count, np.int64), xp.zeros(count)
    given = labels, size, strength, np.int64(n), first, rank
    _launch(code, "form_groups", n, *given, group, label, sizes, strengths)

    edges = fallbacks.edges_of(view, device)[1]
    m, none = len(edges.src), np.uint32(count)
    a, b = xp.empty(m, np.uint32), xp.empty(m, np.uint32)
    amount = NULL if edges.weight is None else xp.empty(m)
    weight = NULL if edges.weight is None else edges.weight
    ends = edges.src, edges.dst, weight, np.float64(unit), np.int64(m), group
    _launch(code, "group_arcs", m, *ends, none, a, b, amount)
    keys, order = sort_batch(device, a, b, count + 1)
    pair = xp.empty(m, np.int32)
    _launch(code, "mark_pairs", m, keys, np.int64(m), none, pair)
    pair = pair.cumsum(dtype=np.int32)
    pairs = int(pair[-1]) if m else 0
    dst, sums, (begin, end) = xp.empty(pairs, np.uint32), xp.zeros(pairs), xp.zeros((2, count), np.int64)
    _launch(code, "sum_pairs", m, keys, order, amount, np.int64(m), none, pair, dst, sums, begin, end)
    return Groups(group, label, sizes, strengths, contiguous_view(begin, end, dst, sums, ascending=True))


def programs() -> list[Program]:
    """Return the CUDA programs of contraction: for weights of ``float32`` and ``float64``."""
    return [_program(np.dtype(name)) for name in ("float32", "float64")]


@cache
def _program(dtype: np.dtype) -> Program:
    """Return the program of ``groups.cu`` for weights of ``dtype``."""
    return Program(Path(__file__).with_name("groups.cu"), f"typedef {c_type(dtype)} weight_t;")


def _launch(code: Program, name: str, size: int, *args: Any) -> None:
    """Launch kernel ``name`` for ``size`` entries; none if there are none."""
    if size:
        code.kernel(name)((min(MOST_BLOCKS, (size + BLOCK - 1) // BLOCK),), (BLOCK,), args)
