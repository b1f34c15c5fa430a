"""Locating sorted batches on the CPU: in rows that ascend, or in rows in any order, one source at a time.

``keys`` are those of the batch, ``uint64[m]``; ``kind`` and ``slot`` are arrays of its entries, as in ``LocatedBatch``.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner, kernel
from suricate.cursors.contiguous import lower_bound
from suricate.primitives.located import ABSENT, DUPLICATE, PRESENT

TABLE_FROM = 12  #: entries of one source from which a hash table of them beats a search for each


@inner
def source(key):
    """Return the source of a key (``src << 32 | dst``) as a signed integer."""
    return np.int64(key >> np.uint64(32))


@inner
def run_end(keys, i):
    """Return the index one past the last of the ascending ``keys`` that have the source of key ``i``."""
    j, end, above = np.uint64(i) + np.uint64(1), np.uint64(len(keys)), keys[i] | np.uint64(0xFFFFFFFF)
    while j < end and keys[j] <= above:
        j += np.uint64(1)
    return np.int64(j)


@kernel
def locate_ascending(begin, end, dst, keys, kind, slot, wanted, first, last):
    """Write kind and slot of the entries ``first`` to ``last`` (exclusive) of a sorted batch, for ascending rows.

    Of equal keys only the last entry counts, the others are ``DUPLICATE``. The slot of an absent edge is that of the
    first larger destination in its row. Returns the number of entries of kind ``wanted``.

    Args:
        begin, end: by vertex, the first slot of its row and one past the last.
        dst: by slot, the destination.
        keys: the batch, ``uint64[m]``: ``src << 32 | dst``, ascending.
        kind, slot: of the entries, written in place.
        wanted: the kind to count.
        first, last: the range of entries.
    """
    count, at, before = 0, np.int64(0), np.int64(-1)
    for i in range(first, last):
        u, v = source(keys[i]), np.uint32(keys[i])
        at = lower_bound(dst, at if u == before else begin[u], end[u], v)  # keys ascend, so the slots of a row do
        before = u
        slot[i] = at
        kind[i] = DUPLICATE
        if i + 1 == len(keys) or keys[i + 1] != keys[i]:
            kind[i] = PRESENT if at < end[u] and dst[at] == v else ABSENT
            count += kind[i] == wanted
    return count


@inner
def table_size(keys):
    """Return the length of the scratch array ``table`` that :func:`locate_runs` needs for ``keys``."""
    longest, first = np.int64(0), np.int64(0)
    while first < len(keys):
        last = run_end(keys, first)
        longest, first = max(longest, last - first), last
    return 4 * longest if longest >= TABLE_FROM else np.int64(0)


@inner
def locate_runs(g, keys, kind, slot, table, degree, scan, match_row):
    """Write kind and slot (-1 if absent) of the entries of a sorted batch, for rows in any order.

    Args:
        g: the view of the store.
        keys: the batch, ``uint64[m]``: ``src << 32 | dst``, ascending.
        kind, slot: of the entries, written in place.
        table: scratch, int64[:func:`table_size`].
        degree: ``degree(g, u)``, the length of a row.
        scan: ``scan(g, u, v)``, which returns the slot of an edge or -1.
        match_row: ``match_row(g, u, keys, kind, slot, table)``, which calls :func:`match` for every edge of ``u``.
    """
    first = 0
    while first < len(keys):
        last, u = run_end(keys, first), source(keys[first])
        for i in range(np.uint64(first), np.uint64(last - 1)):
            kind[i] = DUPLICATE if keys[i] == keys[i + np.uint64(1)] else ABSENT
            slot[i] = -1
        kind[last - 1], slot[last - 1] = ABSENT, -1
        if degree(g, u):
            if last - first < TABLE_FROM:
                for i in range(first, last):
                    if kind[i] == ABSENT:
                        slot[i] = scan(g, u, np.uint32(keys[i]))
                        if slot[i] >= 0:
                            kind[i] = PRESENT
            else:
                size = fill_table(keys, first, last, kind, table)
                match_row(g, u, keys, kind, slot, table[:size])
        first = last


@inner
def place_of(v, table):
    """Return the first slot to probe for destination ``v`` in a hash table whose length is a power of two."""
    return np.int64(
        ((np.uint64(v) * np.uint64(0x9E3779B1)) & np.uint64(0xFFFFFFFF)) * np.uint64(len(table)) >> np.uint64(32)
    )


@inner
def fill_table(keys, first, last, kind, table):
    """Enter the ``ABSENT`` entries from ``first`` to ``last`` (exclusive) into an empty hash table, by destination.

    The table consists of the first elements of ``table``, overwritten: indices of entries, or -1. Returns its length, a
    power of two.
    """
    size = 2
    while size < 2 * (last - first):
        size *= 2
    here = table[:size]
    here[:] = -1
    for i in range(first, last):
        if kind[i] == ABSENT:
            h = place_of(np.uint32(keys[i]), here)
            while here[h] >= 0:
                h = (h + 1) & (size - 1)
            here[h] = i
    return size


@inner
def match(v, at, keys, kind, slot, table):
    """If the batch has an entry for ``v``, which is stored in slot ``at``, make this entry ``PRESENT``."""
    h = place_of(v, table)
    while table[h] >= 0:
        i = table[h]
        if np.uint32(keys[i]) == v:
            kind[i], slot[i] = PRESENT, at
            break
        h = (h + 1) & (len(table) - 1)
