"""The loops of :class:`suricate.state.edges.edge_set.EdgeSet` on the CPU.

``edge_set.cu`` and ``edge_rows.cu`` are the CUDA twins of the loops; ``edge_set_cuda.py`` has functions of the same
names, hence the parameter ``device``, which is the CPU here and not used. ``src`` and ``dst`` are the ends of arcs,
``uint32[]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.devices import Array, Device
from suricate.base.types import EMPTY, NEW, REPLACED, UNCHANGED
from suricate.cpu.jit import inner, kernel
from suricate.intake.arrays import bits
from suricate.state.edges.edge_hash import FIRST_ENTRY, NO_KEY, EdgeTable
from suricate.state.edges.edge_look_ups import home, key_of, place_of
from suricate.state.edges.edge_rows import home_of_source

_NONE, _FIRST_ENTRY, _UNSET = np.uint64(NO_KEY), np.uint32(FIRST_ENTRY), np.uint32(0xFFFFFFFF)
_NO_STATUS = np.empty(0, np.uint8)


@inner
def slot_of(table, at, key, free):
    """Return the slot of ``key`` in ``table``, searched from ``at`` on; insert the key if it is absent."""
    while table[at] != free and table[at] != key:
        at += np.uint64(1)
        if at == np.uint64(len(table)):
            at = np.uint64(0)
    table[at] = key
    return at


@inner
def slot_for_key(table_key, key):
    """Return the slot of ``key`` in ``table_key``, the keys of a hash table; insert the key if it is absent."""
    return slot_of(table_key, home(key, np.uint64(len(table_key))), key, _NONE)


@kernel
def _fill_table(key, entry, src, dst, status, wanted, directed):
    """Enter the arcs that count into an empty hash table; of an undirected edge that from the smaller id."""
    for i in range(len(src)):
        if len(status) and status[i] != wanted:
            continue
        if directed or src[i] <= dst[i]:
            entry[slot_for_key(key, key_of(src[i], dst[i], directed))] = _FIRST_ENTRY - np.uint32(i)


@kernel
def _fill_table_with_last(key, entry, src, dst, mark, directed):
    """Enter edges into an empty hash table; of duplicates the last counts, others get ``mark`` 0, in both halves.

    If edges are undirected, the second half of the arcs has the reverse of each arc of the first.
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
    """Return the slot of source ``u`` in ``source``, the keys of a hash table; insert it if it is absent."""
    return slot_of(source, home_of_source(u, np.uint64(len(source))), u, EMPTY)


@kernel
def _fill_rows(source, row, rows, src, status, wanted):
    """Group by source the arcs with ``status[i] == wanted`` (``status`` empty: all); write the rows, in place.

    A row in ``rows`` is the number of arcs of a source, then their positions in ``src``. ``source`` and ``row``, all
    bits set at first, become a hash table: by slot a source, and the index in ``rows`` at which its row begins.
    """
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
    """Change statuses of arcs deleted and inserted again to ``UNCHANGED``, or ``REPLACED`` where they were inserted."""
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
    """Enter arcs (``status`` None: all; else those with ``status[i] == wanted``) into the empty hash table ``table``.

    Without ``mark`` each arc occurs at most once. With ``mark``, ``uint8`` and 1 for each arc, there may be duplicates,
    of which the last one counts: ``mark`` becomes 0 for the others, and for the second arc of a self-loop. ``status``
    is then None; if edges are undirected, the second half of the arcs has the reverse of each arc of the first half.
    """
    if mark is None:
        _fill_table(table.key, table.entry, src, dst, _given(status), wanted, table.directed)
    else:
        _fill_table_with_last(table.key, table.entry, src, dst, mark, table.directed)


def net_change(
    device: Device, table: EdgeTable, removed: tuple[Array, Array | None], src: Array, dst: Array, status: Array,
    weight: Array | None, old: Array | None,
) -> None:  # fmt: skip
    """Change the status of arcs that a batch deletes and inserts again, in its deletion and its insertion, in place.

    The status becomes ``UNCHANGED``; in the insertion it becomes ``REPLACED`` if the weight differs.

    Args:
        device: the CPU.
        table: hash table of the deleted arcs.
        removed: status and old weights (or None) of the deleted arcs.
        src, dst, status, weight: the inserted arcs; ``weight`` is None on an unweighted graph.
        old: receives the weights that these arcs had before the batch; None on an unweighted graph.
    """
    removed_status, *weights = (*removed, weight, old)
    removed_old, new, before = (_NO_STATUS if part is None else bits(part) for part in weights)
    _net_change(table, removed_status, removed_old, src, dst, status, new, before)


def fill_rows(
    device: Device, table: Array, slots: int, rows: Array, src: Array, status: Array | None, wanted: int
) -> None:
    """Group arcs with ``status[i] == wanted`` (``status`` None: all) by source; write ``rows`` and ``table`` in place.

    ``table``, all bits set at first, becomes a hash table: ``slots`` sources, then for each the index in ``rows`` at
    which its row begins. A row is the number of arcs, and then their positions in ``src``.
    """
    _fill_rows(table[:slots], table[slots : 2 * slots], rows, src, _given(status), wanted)


def _given(status: Any) -> Array:
    return _NO_STATUS if status is None else status
