"""Small batches on the CPU in one loop: sort, locate, count, apply, which ``loops.py`` does in steps.

A batch that needs more blocks than there is space for, or that has many edges of one vertex, is declined: then nothing
has changed. ``keys``, ``order`` and ``slot`` are scratch for the sorted batch. All other arrays have an entry per edge,
in the order of the batch: ``batch_weight`` (new weights), ``weight`` (those found) and ``before`` (replaced or deleted
ones) as bits.
"""

from __future__ import annotations

import numpy as np

from suricate.backends.blocked.layout import EDGES, FREE, USED
from suricate.backends.blocked.loops import append, blocks_of_runs, delete_runs, scan, touch
from suricate.backends.blocked.single_loops import fetch, fetch_far
from suricate.base.types import NEW, REMOVED, REPLACED
from suricate.cpu.jit import inner, kernel
from suricate.store.locating import source, table_size


@inner
def located(g, src, dst, keys, order, slot):
    """Sort a batch and look its edges up; return False, with ``slot`` not written, if many edges share a source.

    ``keys`` (uint64, source in the upper half) and ``order`` (their positions in the batch) are written. A slot is -1
    if the edge is not stored, -2 for a duplicate that is not the last. The vertices of all keys, then their first
    blocks, are prefetched, since reading them one by one would take longest.
    """
    count = len(src)
    for i in range(count):
        key = (np.uint64(src[i]) << np.uint64(32)) | np.uint64(dst[i])
        at = i
        while at > 0 and keys[at - 1] > key:
            keys[at], order[at] = keys[at - 1], order[at - 1]
            at -= 1
        keys[at], order[at] = key, i
    if table_size(keys):
        return False
    for i in range(count):
        fetch_far(g, source(keys[i]))
    for i in range(count):
        fetch(g, source(keys[i]), np.uint32(keys[i]))
    for i in range(count):
        if i + 1 < count and keys[i + 1] == keys[i]:
            slot[i] = -2
        else:
            slot[i] = scan(g, source(keys[i]), np.uint32(keys[i]))
    return True


@kernel
def find(g, src, dst, found, weight, keys, order, slot):
    """Look up a batch: write ``found`` and ``weight``; return False, with nothing written, if many share a source."""
    keys = keys[: len(src)]
    if not located(g, src, dst, keys, order, slot):
        return False
    for i in range(len(src) - 1, -1, -1):
        at = slot[i] if slot[i] != -2 else slot[i + 1]
        slot[i], found[order[i]] = at, at >= 0
        if at >= 0 and len(weight):
            weight[order[i]] = g.weight[at]
    return True


@kernel
def insert(g, src, dst, batch_weight, status, before, keys, order, slot):
    """Insert a batch; return False, with nothing changed, if many edges share a source or blocks are lacking."""
    keys = keys[: len(src)]
    if not located(g, src, dst, keys, order, slot):
        return False
    if blocks_of_runs(g, keys, slot, -1, 1) > len(g.link) - g.counters[USED] + g.counters[FREE]:
        return False
    for i in range(len(src)):
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
    """Delete a batch; return False, with nothing changed, if many edges share a source."""
    keys = keys[: len(src)]
    if not located(g, src, dst, keys, order, slot):
        return False
    for i in range(len(src)):
        if slot[i] >= 0:
            status[order[i]] = REMOVED
            if len(g.weight):
                before[order[i]] = g.weight[slot[i]]
    delete_runs(g, keys, slot)
    return True
