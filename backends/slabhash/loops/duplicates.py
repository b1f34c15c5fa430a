"""Duplicates within a batch on the CPU: the last one carries the status, and its weight wins."""

from __future__ import annotations

import numpy as np

from suricate.backends.slabhash.cursor import KEY_EMPTY
from suricate.backends.slabhash.loops import FAR
from suricate.base.types import NEW, REPLACED, UNCHANGED
from suricate.cpu.jit import inner, kernel
from suricate.cpu.prefetch import prefetch


@inner
def edge_hash(u, v):
    """Return a 32-bit hash of edge ``(u, v)``."""
    h = ((np.int64(u) * 0x9E3779B1) ^ (np.int64(v) * 0x85EBCA77)) & 0xFFFFFFFF
    h = ((h ^ h >> 15) * 0x2C1B3C6D) & 0xFFFFFFFF
    return h ^ h >> 13


@inner
def place_of(src, dst, i, table, mask):
    """Return where edge ``i`` of a batch is, or belongs, in a hash table of the batch's edges with linear probing.

    ``table`` (uint32[mask + 1]) holds indices of edges, EMPTY where there is none. The place returned holds the index
    of an equal edge, or EMPTY. ``src`` and ``dst`` are the edges of the batch.
    """
    at = edge_hash(src[i], dst[i]) & mask
    while True:
        other = table[at]
        if other == KEY_EMPTY or (src[other] == src[i] and dst[other] == dst[i]):
            return at
        at = (at + 1) & mask


@kernel
def merge_duplicates(src, dst, weights, size, existing, table, last, status, before):
    """Give the last duplicate of each edge of an inserted batch the status of the edge as a whole; others UNCHANGED.

    The loop that inserted the batch treated each entry as an edge of its own.

    Args:
        src, dst, weights: the batch; weights are 32-bit words, ``size`` for each, and compared bit by bit.
        existing: indices of the entries whose edge was in the store when they were inserted, ascending.
        table, last: ``uint32``, of the same length, a power of two above ``len(existing)``; scratch, ``table`` filled
            with EMPTY. A hash table of edges: the index of the first and of the last entry of each.
        status, before: of each entry, its status and the words of the weight before it was inserted; changed in place.
    """
    mask = len(table) - 1
    for k in range(len(existing)):
        if k + FAR < len(existing):
            ahead = edge_hash(src[existing[k + FAR]], dst[existing[k + FAR]]) & mask
            prefetch(table, ahead)
            prefetch(last, ahead)
        i = np.int64(existing[k])
        at = place_of(src, dst, i, table, mask)
        if table[at] == KEY_EMPTY:
            table[at] = i
        last[at] = i
    for j in range(len(src)):
        if j + FAR < len(src):
            prefetch(table, edge_hash(src[j + FAR], dst[j + FAR]) & mask)
        if status[j] == NEW:
            at = place_of(src, dst, j, table, mask)
            if table[at] != KEY_EMPTY:
                table[at] = j
    for k in range(len(existing)):
        i = np.int64(existing[k])
        at = place_of(src, dst, i, table, mask)
        head = np.int64(table[at])
        if last[at] != i:
            if head != i:
                status[i] = UNCHANGED
            continue
        if head == i:
            continue
        same = True
        for t in range(size):
            before[i * size + t] = before[head * size + t]
            same &= before[i * size + t] == weights[i * size + t]
        status[i] = NEW if status[head] == NEW else (UNCHANGED if same else REPLACED)
        status[head] = UNCHANGED
