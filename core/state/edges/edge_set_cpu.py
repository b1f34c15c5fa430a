"""The loops of :class:`suricate.state.edges.edge_set.EdgeSet` on the CPU.

``edge_set.cu`` and ``edge_rows.cu`` are their twins, and ``edge_set_cuda.py`` has the same functions for CUDA.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.devices import Array, Device
from suricate.base.types import EMPTY, NEW, REPLACED, UNCHANGED
from suricate.cpu.jit import inner, kernel
from suricate.intake.arrays import bits
from suricate.state.edges.edge_look_ups import home, key_of, place_of
from suricate.state.edges.edge_rows import home_of_source
from suricate.state.edges.edge_table import FIRST_ENTRY, NO_KEY, EdgeTable

_NONE, _FIRST_ENTRY, _UNSET = np.uint64(NO_KEY), np.uint32(FIRST_ENTRY), np.uint32(0xFFFFFFFF)
_NO_STATUS = np.empty(0, np.uint8)


@inner
def slot_of(table, at, key, free):
    """Return the slot of ``key``, searched from ``at`` on; insert the key if it is absent."""
    while table[at] != free and table[at] != key:
        at += np.uint64(1)
        if at == np.uint64(len(table)):
            at = np.uint64(0)
    table[at] = key
    return at


@inner
def slot_for_key(table_key, key):
    """Return the slot of ``key``, which is put into the table if it is not there."""
    return slot_of(table_key, home(key, np.uint64(len(table_key))), key, _NONE)


@kernel
def _fill_table(key, entry, src, dst, status, wanted, directed):
    """Put arcs into the empty table, each at most once; of an undirected edge the arc from the smaller id."""
    for i in range(len(src)):
        if len(status) and status[i] != wanted:
            continue
        if directed or src[i] <= dst[i]:
            entry[slot_for_key(key, key_of(src[i], dst[i], directed))] = _FIRST_ENTRY - np.uint32(i)


@kernel
def _fill_table_with_last(key, entry, src, dst, mark, directed):
    """Put edges into the empty table; of one that is there more than once the last counts, the others lose their mark.

    Undirected edges are there as both arcs, those from the smaller id first; a self-loop keeps the first of its marks.
    """
    half = len(src) if directed else len(src) // 2
    for i in range(half):
        if not directed and src[i] == dst[i]:
            mark[half + i] = 0
        at = slot_for_key(key, key_of(src[i], dst[i], directed))
        if entry[at] != _UNSET:
            loser = np.int64(_FIRST_ENTRY - entry[at])
            mark[loser] = 0
            if not directed:
                mark[half + loser] = 0
        entry[at] = _FIRST_ENTRY - np.uint32(i)


@inner
def slot_of_source(source, u):
    """Return the slot of source ``u``, which is put into the table if it is not there."""
    return slot_of(source, home_of_source(u, np.uint64(len(source))), u, EMPTY)


@kernel
def _fill_rows(source, row, rows, src, status, wanted):
    """Write the rows by source. ``source`` and ``row`` have all bits set at first: a count of arcs, less one."""
    one = np.uint32(1)
    for i in range(len(src)):
        if not len(status) or status[i] == wanted:
            row[slot_of_source(source, src[i])] += one
    begin = np.uint32(0)
    for s in range(len(source)):
        if source[s] != EMPTY:
            length = row[s] + one
            rows[begin], row[s] = 0, begin
            begin += length + one
    for i in range(len(src)):
        if not len(status) or status[i] == wanted:
            begin = row[slot_of_source(source, src[i])]
            rows[begin] += one
            rows[begin + rows[begin]] = i


@kernel
def _net_change(table, removed_status, removed_old, src, dst, status, weight, old):
    """Mark arcs that were both removed and inserted ``UNCHANGED`` in both lists; ``REPLACED`` if the weight differs.

    ``table`` maps removed arcs to their places in ``removed_status`` and ``removed_old``; the other arrays describe the
    inserted arcs. Weights are bit patterns; ``weight`` is empty on an unweighted graph.
    """
    for i in range(len(src)):
        if status[i] != NEW:
            continue
        place = place_of(table, src[i], dst[i])
        if place < 0:
            continue
        removed_status[place] = status[i] = UNCHANGED
        if len(weight):
            old[i] = removed_old[place]
            if old[i] != weight[i]:
                status[i] = REPLACED


def all_bits_set(device: Device, words: int) -> Array:
    """Return ``uint32[words]`` with all bits set."""
    return np.full(words, 0xFFFFFFFF, np.uint32)


def ones(device: Device, size: int) -> Array:
    """Return ``uint8[size]`` of ones."""
    return np.ones(size, np.uint8)


def fill_table(
    device: Device, table: EdgeTable, src: Array, dst: Array, status: Array | None, wanted: int, mark: Array | None
) -> None:
    """Put arcs into the empty table; with ``mark``, of several equal ones the last."""
    if mark is None:
        _fill_table(table.key, table.entry, src, dst, _given(status), wanted, table.directed)
    else:
        _fill_table_with_last(table.key, table.entry, src, dst, mark, table.directed)


def net_change(
    device: Device, table: EdgeTable, removed: tuple[Array, Array | None], src: Array, dst: Array, status: Array,
    weight: Array | None, old: Array | None,
) -> None:  # fmt: skip
    """Mark arcs that were deleted and inserted again in both halves of a batch; ``table`` has the deleted ones.

    ``removed`` has their statuses and old weights; ``old`` are the weights that the insertion replaced.
    """
    removed_status, *weights = (*removed, weight, old)
    removed_old, new, before = (_NO_STATUS if part is None else bits(part) for part in weights)
    _net_change(table, removed_status, removed_old, src, dst, status, new, before)


def fill_rows(
    device: Device, table: Array, slots: int, rows: Array, src: Array, status: Array | None, wanted: int
) -> None:
    """Group the arcs by source in ``rows``; fill ``table`` (two parts of ``slots``: sources, their rows).

    All bits of both are set before.
    """
    _fill_rows(table[:slots], table[slots : 2 * slots], rows, src, _given(status), wanted)


def _given(status: Any) -> Array:
    return _NO_STATUS if status is None else status
