"""The rows of an edge set by source, as a cursor (see ``suricate.cursors``): the Numba functions, and the view.

A hash table of the sources says where in ``rows`` the row of a vertex begins: with its length, then the positions of
its arcs in the arrays of the set. So no array has the size of the graph. In the functions ``g`` is an
:class:`EdgeRows`, ``c`` where a row begins in ``rows``, and a slot ``i`` an index of ``rows``. ``edge_rows.cuh`` is the
CUDA twin.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from suricate.base.devices import Array
from suricate.base.types import EMPTY, StoreView
from suricate.cpu.jit import inner
from suricate.state.edges.edge_hash import DECLARATIONS, SOURCE_FACTOR, EdgeTable
from suricate.state.edges.edge_look_ups import contains

BUCKET = 512  #: arcs of a bucket on CUDA; splits heavy vertices into parts of equal work
_HEADER, _CONSTANTS = Path(__file__).with_suffix(".cuh"), {"EDGE_ROWS_BUCKET": BUCKET}
_FACTOR, _HALF, _LOW = np.uint64(SOURCE_FACTOR), np.uint64(32), np.uint64(0xFFFFFFFF)


class EdgeRows(NamedTuple):
    """The arrays of the view, and their sizes: ``slots`` and ``capacity`` of the hash tables, ``size`` of the arc list.

    Attributes:
        source: uint32[slots], the keys of a hash table of sources, ``EMPTY`` if free.
        row: uint32[slots]: where in ``rows`` the row of that source begins.
        rows: uint32, all rows.
        src, dst, weight, status, wanted, size: the arc list; ``status`` is uint8[0] if all entries count.
        key, entry, directed: the hash table of edges, of ``capacity`` slots; see ``EdgeTable``.
        filtered: 1 if only entries with the status ``wanted`` count.
    """

    source: Array
    row: Array
    rows: Array
    src: Array
    dst: Array
    weight: Array
    status: Array
    key: Array
    entry: Array
    slots: int
    capacity: int
    size: int
    wanted: int
    filtered: int
    directed: int


def rows_view(data: EdgeRows, num_vertices: int, value_dtype: np.dtype | None) -> StoreView:
    """Return the view by which operators walk the rows ``data``; ``value_dtype``: dtype of the weights, or None."""
    return StoreView(
        data=data,
        cursor=__name__,
        header=_HEADER,
        num_vertices=num_vertices,
        weight_dtype=value_dtype,
        constants=_CONSTANTS,
        declarations=DECLARATIONS,
        can_scan=True,
        find="hash",
        owner_per="slot",
    )


@inner
def home_of_source(u, slots):
    """Return the first slot to probe for source ``u`` in a hash table of ``slots`` slots."""
    return (np.uint64(u) * _FACTOR & _LOW) * np.uint64(slots) >> _HALF


@inner
def row_of(g, u):
    """Return where in ``g.rows`` the row of ``u`` begins, or -1 if ``u`` has no arcs."""
    at, slots = home_of_source(u, g.slots), np.uint64(g.slots)
    while g.source[at] != EMPTY:
        if g.source[at] == u:
            return np.int64(g.row[at])
        at += np.uint64(1)
        if at == slots:
            at = np.uint64(0)
    return np.int64(-1)


@inner
def degree(g, u):
    """Return the number of arcs from ``u``."""
    row = row_of(g, u)
    return np.int64(g.rows[row]) if row >= 0 else np.int64(0)


@inner
def buckets(g, u):
    """Return 1: the whole row of a vertex is one bucket."""
    return 1


@inner
def first(g, u, k):
    """Return the cursor of the only span of bucket ``k`` of ``u``: where its row begins, or -1 if it has none."""
    return row_of(g, u)


@inner
def begin(g, c):
    """Return the first slot of the span of cursor ``c``."""
    return c + 1


@inner
def end(g, c):
    """Return one past the last slot of the span of cursor ``c``."""
    return c + 1 + np.int64(g.rows[c])


@inner
def following(g, c):
    """Return -1, no cursor: a row has only one span."""
    return np.int64(-1)


@inner
def key(g, i):
    """Return the destination in slot ``i``."""
    return g.dst[np.uint64(g.rows[np.uint64(i)])]


@inner
def weight(g, i):
    """Return the weight in slot ``i``."""
    return g.weight[np.uint64(g.rows[np.uint64(i)])]


@inner
def find(g, u, v):
    """Return the slot of arc ``(u, v)``, or -1 if the hash table of edges does not have it."""
    if not contains(EdgeTable(g.key, g.entry, g.weight, g.directed), u, v):
        return np.int64(-1)
    row = row_of(g, u)
    for i in range(row + 1, row + 1 + np.int64(g.rows[row])):
        if key(g, i) == v:
            return np.int64(i)
    return np.int64(-1)
