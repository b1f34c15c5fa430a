"""Loops of ``csr_baseline`` on the CPU: a binary search per edge, a linear merge; the specification of ``merge.cu``.

``keys`` (uint64, source in the upper half), ``order``, ``kind`` and ``slot`` are those of a
:class:`~suricate.primitives.located.LocatedBatch`. ``part`` is a tuple of
:func:`~suricate.backends.csr_baseline.cpu._parts`; parts run at the same time.
"""

from __future__ import annotations

import numpy as np

from suricate.cursors.contiguous import lower_bound
from suricate.kernels import inner, kernel
from suricate.primitives.located import ABSENT, PRESENT


@kernel
def cut_merge(slot, places, cuts):
    """Write to ``cuts[i]`` how many of the first ``places[i]`` edges of the merged graph come from the batch.

    ``slot`` (ascending) is the number of old edges before each entry of the batch.
    """
    for i in range(len(places)):
        low, high = 0, len(slot)
        while low < high:
            middle = (low + high) >> 1
            if slot[middle] + middle < places[i]:
                low = middle + 1
            else:
                high = middle
        cuts[i] = low


@inner
def copy_slots(old, old_weight, new, new_weight, begin, end, shift):
    """Copy slots ``[begin, end)`` of the old arrays to the new ones, ``shift`` places up; weights if there are any."""
    for e in range(begin, end):
        new[e + shift] = old[e]
    if len(old_weight):
        for e in range(begin, end):
            new_weight[e + shift] = old_weight[e]


@kernel
def merge(graph, target, keys, order, kind, slot, batch_weight, part):
    """Merge a part of the batch's absent edges with the rows of ``graph`` there, into the arrays ``target``.

    ``batch_weight`` (bits) is in the order before sorting. The offsets of the part's vertices are written, too.
    """
    offsets, old, old_weight = graph
    new_offsets, new, new_weight = target
    first, last, copied, end, shift, vertex, last_vertex = part
    for i in range(first, last):
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
    while vertex < last_vertex:
        new_offsets[vertex] = offsets[vertex] + shift
        vertex += 1
    copy_slots(old, old_weight, new, new_weight, copied, end, shift)


@kernel
def remove(graph, keys, kind, slot, part):
    """Delete a part of the batch's present edges from ``graph`` in place; return the number of edges left in the part.

    Later edges move down within the part; the offsets of its vertices include the deletions of earlier parts.
    """
    offsets, dst, weight = graph
    first, last, begin, end, removed, vertex, last_vertex = part
    kept, gap = begin, np.int64(0)
    for i in range(first, last):
        if kind[i] != PRESENT:
            continue
        u = np.int64(keys[i] >> np.uint64(32))
        while vertex <= u:
            offsets[vertex] -= removed + gap
            vertex += 1
        if gap:
            copy_slots(dst, weight, dst, weight, kept, slot[i], -gap)
        kept = slot[i] + 1
        gap += 1
    while vertex < last_vertex:
        offsets[vertex] -= removed + gap
        vertex += 1
    if gap:
        copy_slots(dst, weight, dst, weight, kept, end, -gap)
    return end - begin - gap


@kernel
def find_edges(offsets, dst, weight, query_src, query_dst, found, result, first, last):
    """Look up the edges ``[first, last)`` of ``query_src`` and ``query_dst`` by binary search; write ``found``.

    The weights (bits) of those that are stored are written to ``result``. ``offsets``, ``dst`` and ``weight`` are the
    graph.
    """
    for i in range(first, last):
        u, v = query_src[i], query_dst[i]
        end = offsets[u + 1]
        at = lower_bound(dst, offsets[u], end, v)
        found[i] = at < end and dst[at] == v
        if found[i] and len(weight):
            result[i] = weight[at]
