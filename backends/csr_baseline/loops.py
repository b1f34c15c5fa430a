"""Loops of ``csr_baseline`` on the CPU: a binary search per edge, one linear merge; the specification of ``csr.cu``."""

from __future__ import annotations

import numpy as np

from suricate.cursors.contiguous import lower_bound
from suricate.jit import inner, kernel
from suricate.primitives.located import ABSENT, DUPLICATE, PRESENT


@kernel
def locate(offsets, dst, keys, kind, slot, wanted):
    """Fill in kind and slot (the first not below it) of each sorted edge; return the number of kind ``wanted``."""
    m = len(keys)
    count, at = 0, np.int64(0)
    for i in range(m):
        u, v = np.int64(keys[i] >> np.uint64(32)), np.uint32(keys[i])
        end = offsets[u + 1]
        at = lower_bound(dst, max(at, offsets[u]), end, v)  # keys ascend, so the slots do
        slot[i] = at
        kind[i] = DUPLICATE
        if i + 1 == m or keys[i + 1] != keys[i]:
            kind[i] = PRESENT if at < end and dst[at] == v else ABSENT
            count += kind[i] == wanted
    return count


@inner
def copy_slots(old, old_weight, new, new_weight, begin, end, shift):
    """Copy slots ``[begin, end)`` of the old arrays to the new ones, ``shift`` places up; weights if there are any."""
    for e in range(begin, end):
        new[e + shift] = old[e]
    if len(old_weight):
        for e in range(begin, end):
            new_weight[e + shift] = old_weight[e]


@kernel
def merge(offsets, old, old_weight, new_offsets, new, new_weight, keys, order, kind, slot, batch_weight):
    """Merge the absent edges of a sorted batch with the old arrays into the new ones."""
    copied, shift, vertex = np.int64(0), np.int64(0), 0
    for i in range(len(keys)):
        if kind[i] != ABSENT:
            continue
        u = np.int64(keys[i] >> np.uint64(32))
        while vertex <= u:
            new_offsets[vertex] = offsets[vertex] + shift
            vertex += 1
        copy_slots(old, old_weight, new, new_weight, copied, slot[i], shift)
        copied = slot[i]
        new[copied + shift] = np.uint32(keys[i])
        if len(new_weight):
            new_weight[copied + shift] = batch_weight[order[i]]
        shift += 1
    while vertex < len(offsets):
        new_offsets[vertex] = offsets[vertex] + shift
        vertex += 1
    copy_slots(old, old_weight, new, new_weight, copied, offsets[-1], shift)


@kernel
def remove(offsets, dst, weight, keys, kind, slot):
    """Delete the edges that are there, in place: what lies between two of them moves down."""
    kept, removed, vertex = np.int64(-1), np.int64(0), 0
    count = offsets[-1]
    for i in range(len(keys)):
        if kind[i] != PRESENT:
            continue
        u = np.int64(keys[i] >> np.uint64(32))
        while vertex <= u:
            offsets[vertex] -= removed
            vertex += 1
        if removed:
            copy_slots(dst, weight, dst, weight, kept, slot[i], -removed)
        kept = slot[i] + 1
        removed += 1
    while vertex < len(offsets):
        offsets[vertex] -= removed
        vertex += 1
    if removed:
        copy_slots(dst, weight, dst, weight, kept, count, -removed)


@kernel
def find_edges(offsets, dst, weight, query_src, query_dst, found, result):
    """Look every edge up; copy the weight of those that are there."""
    for i in range(len(query_src)):
        u, v = query_src[i], query_dst[i]
        end = offsets[u + 1]
        at = lower_bound(dst, offsets[u], end, v)
        found[i] = at < end and dst[at] == v
        if found[i] and len(weight):
            result[i] = weight[at]
