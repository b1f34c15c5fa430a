"""Small batches on the CPU in one loop: sort, locate, count, apply, which ``loops.py`` does in steps.

A batch that needs more blocks than there is space for, or that has many edges of one vertex, is declined: then nothing
has changed.

``keys``, ``order`` and ``slot`` are scratch for the sorted batch. All other arrays have an entry per edge, in the order
of the batch: ``batch_weight``, ``weight`` and ``before`` (what was replaced or deleted) as bits.
"""

from __future__ import annotations

import numpy as np

from suricate.backends.blocked.layout import EDGES, FREE, USED
from suricate.backends.blocked.loops import NO_BLOCK, append, scan, take_out, touch
from suricate.base.types import NEW, REMOVED, REPLACED
from suricate.cpu.jit import inner, kernel
from suricate.cpu.prefetch import prefetch
from suricate.store.locating import TABLE_FROM, source


@inner
def sort(src, dst, keys, order):
    """Sort a batch (stable); return the largest number of entries with the same source.

    ``keys`` (uint64, source in the upper half) and ``order`` (the entry of the batch at each key) are written.
    """
    for i in range(len(src)):
        key = (np.uint64(src[i]) << np.uint64(32)) | np.uint64(dst[i])
        at = i
        while at > 0 and keys[at - 1] > key:
            keys[at], order[at] = keys[at - 1], order[at - 1]
            at -= 1
        keys[at], order[at] = key, i
    longest, first = 0, 0
    while first < len(src):
        last = first + 1
        while last < len(src) and (keys[last] >> np.uint64(32)) == (keys[first] >> np.uint64(32)):
            last += 1
        longest, first = max(longest, last - first), last
    return longest


@inner
def locate(g, keys, count, slot):
    """Write the slot of each of the ``count`` sorted keys to ``slot``: -1 if not stored, -2 for a duplicate.

    The last duplicate of an edge gets the edge's slot. The vertices of all keys, then their first blocks, are
    prefetched, since reading them one by one would take longest.
    """
    for i in range(count):
        prefetch(g.head, source(keys[i]))
        prefetch(g.degree, source(keys[i]))
    for i in range(count):
        c = g.head[source(keys[i])]
        if c != NO_BLOCK:
            prefetch(g.dst, np.int64(c) << g.shift)
            prefetch(g.link, np.int64(c))
            prefetch(g.back, np.int64(c))
    for i in range(count):
        if i + 1 < count and keys[i + 1] == keys[i]:
            slot[i] = -2
        else:
            slot[i] = scan(g, source(keys[i]), np.uint32(keys[i]))


@kernel
def find(g, src, dst, found, weight, keys, order, slot):
    """Look up the edges of a batch; return False, with no result written, if many have the same source.

    ``found`` and ``weight`` (bits, empty if unweighted) are written in the order of the batch; ``keys``, ``order`` and
    ``slot`` are scratch.
    """
    if sort(src, dst, keys, order) >= TABLE_FROM:
        return False
    locate(g, keys, len(src), slot)
    for i in range(len(src) - 1, -1, -1):
        at = slot[i] if slot[i] != -2 else slot[i + 1]
        slot[i], found[order[i]] = at, at >= 0
        if at >= 0 and len(weight):
            weight[order[i]] = g.weight[at]
    return True


@kernel
def insert(g, src, dst, batch_weight, status, before, keys, order, slot):
    """Insert a batch; return False, with nothing changed, if many edges have the same source or blocks are lacking.

    ``status`` and ``before`` (bits of replaced weights) are written in the order of the batch, ``batch_weight`` has the
    new weights as bits; ``keys``, ``order`` and ``slot`` are scratch.
    """
    count, rest = len(src), (np.int64(1) << g.shift) - 1
    if sort(src, dst, keys, order) >= TABLE_FROM:
        return False
    locate(g, keys, count, slot)
    need, first = np.int64(0), 0
    while first < count:
        last, degree, fresh = first, np.int64(g.degree[source(keys[first])]), 0
        while last < count and source(keys[last]) == source(keys[first]):
            fresh += slot[last] == -1
            last += 1
        need += ((degree + fresh + rest) >> g.shift) - ((degree + rest) >> g.shift)
        first = last
    if need > len(g.link) - g.counters[USED] + g.counters[FREE]:
        return False
    for i in range(count):
        item, at = order[i], slot[i]
        if at == -1:
            at = append(g, source(keys[i]), np.uint32(keys[i]))
            if len(g.weight):
                g.weight[at] = batch_weight[item]
            g.counters[EDGES] += 1
            status[item] = NEW
        elif at >= 0 and len(g.weight):
            before[item] = g.weight[at]
            if g.weight[at] != batch_weight[item]:
                g.weight[at] = batch_weight[item]
                status[item] = REPLACED
                touch(g, at >> g.shift)
    return True


@kernel
def delete(g, src, dst, status, before, keys, order, slot):
    """Delete a batch; return False, with nothing changed, if many edges have the same source.

    ``status`` and ``before`` (bits of deleted weights) are written in the order of the batch; ``keys``, ``order`` and
    ``slot`` are scratch.
    """
    count = len(src)
    if sort(src, dst, keys, order) >= TABLE_FROM:
        return False
    locate(g, keys, count, slot)
    for i in range(count):
        if slot[i] >= 0:
            status[order[i]] = REMOVED
            if len(g.weight):
                before[order[i]] = g.weight[slot[i]]
    first = 0
    while first < count:
        last = first
        while last < count and source(keys[last]) == source(keys[first]):
            last += 1
        take_out(g, source(keys[first]), slot, first, last)
        first = last
    return True
