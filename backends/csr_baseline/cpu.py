"""``csr_baseline`` on the CPU: a stable radix sort of the batch, a binary search per edge, one linear merge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from suricate.devices import Array
from suricate.primitives import bit_pattern, sort_batch
from suricate.types import NEW, REMOVED, REPLACED, EdgeList, Outcome

if TYPE_CHECKING:
    from suricate.backends.csr_baseline.store import CsrStore

SHADOWED, ABSENT, PRESENT = 0, 1, 2  #: a later duplicate follows; not stored; stored


@njit(cache=True, nogil=True)
def lower_bound(dst, lo, hi, v):
    """Return the first slot in ``[lo, hi)`` whose destination is not below ``v``, else ``hi``; no data branches."""
    size = hi - lo
    while size > 0:
        half = (size + 1) >> 1
        lo += half if dst[lo + half - 1] < v else 0
        size -= half
    return lo


@njit(cache=True, nogil=True)
def locate(offsets, dst, keys, wanted):
    """Return per sorted edge its kind and slot (the first not below it), and the number of kind ``wanted``."""
    m = len(keys)
    kind, slot = np.zeros(m, np.uint8), np.empty(m, np.int64)
    count, at = 0, np.int64(0)
    for i in range(m):
        u, v = np.int64(keys[i] >> np.uint64(32)), np.uint32(keys[i])
        end = offsets[u + 1]
        at = lower_bound(dst, max(at, offsets[u]), end, v)  # keys ascend, so the slots do
        slot[i] = at
        if i + 1 == m or keys[i + 1] != keys[i]:
            kind[i] = PRESENT if at < end and dst[at] == v else ABSENT
            count += kind[i] == wanted
    return kind, slot, count


@njit(cache=True, nogil=True)
def copy_slots(old, old_weight, new, new_weight, begin, end, shift):
    """Copy slots ``[begin, end)`` of the old arrays to the new ones, ``shift`` places up; weights if there are any."""
    for e in range(begin, end):
        new[e + shift] = old[e]
    if len(old_weight):
        for e in range(begin, end):
            new_weight[e + shift] = old_weight[e]


@njit(cache=True, nogil=True)
def replace_weights(keys, order, kind, slot, batch_weight, weight, status, before):
    """Give the edges that are there their new weights, in place."""
    for i in range(len(keys)):
        if kind[i] == PRESENT:
            at, item = slot[i], order[i]
            before[item] = weight[at]
            if weight[at] != batch_weight[item]:
                weight[at] = batch_weight[item]
                status[item] = REPLACED


@njit(cache=True, nogil=True)
def merge(offsets, old, old_weight, keys, order, kind, slot, batch_weight, new_offsets, new, new_weight, status):
    """Merge the absent edges of a sorted batch with the old arrays into the new ones."""
    copied, shift, vertex = np.int64(0), np.int64(0), 0
    for i in range(len(keys)):
        if kind[i] != ABSENT:
            continue
        u, item = np.int64(keys[i] >> np.uint64(32)), order[i]
        while vertex <= u:
            new_offsets[vertex] = offsets[vertex] + shift
            vertex += 1
        copy_slots(old, old_weight, new, new_weight, copied, slot[i], shift)
        copied = slot[i]
        new[copied + shift] = np.uint32(keys[i])
        if len(new_weight):
            new_weight[copied + shift] = batch_weight[item]
        status[item] = NEW
        shift += 1
    while vertex < len(offsets):
        new_offsets[vertex] = offsets[vertex] + shift
        vertex += 1
    copy_slots(old, old_weight, new, new_weight, copied, offsets[-1], shift)


@njit(cache=True, nogil=True)
def remove(offsets, dst, weight, keys, order, kind, slot, status, before):
    """Delete the edges that are there, in place: what lies between two of them moves down."""
    kept, removed, vertex = np.int64(-1), np.int64(0), 0
    count = offsets[-1]
    for i in range(len(keys)):
        if kind[i] != PRESENT:
            continue
        u, item = np.int64(keys[i] >> np.uint64(32)), order[i]
        status[item] = REMOVED
        if len(weight):
            before[item] = weight[slot[i]]
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


@njit(cache=True, nogil=True)
def find_edges(offsets, dst, weight, query_src, query_dst, found, result):
    """Look every edge up; copy the weight of those that are there."""
    for i in range(len(query_src)):
        u, v = query_src[i], query_dst[i]
        end = offsets[u + 1]
        at = lower_bound(dst, offsets[u], end, v)
        found[i] = at < end and dst[at] == v
        if found[i] and len(weight):
            result[i] = weight[at]


def _outcome(store: CsrStore, size: int) -> Outcome:
    before = None if store.weight_dtype is None else np.zeros(size, store.weight_dtype)
    return Outcome(np.zeros(size, np.uint8), before)


def insert(store: CsrStore, src: Array, dst: Array, weight: Array | None, guard: Array | None) -> Outcome:
    """Insert a batch."""
    outcome = _outcome(store, len(src))
    if not len(src) or (guard is not None and guard[0]):
        return outcome
    keys, order = sort_batch(store.device, src, dst, store.num_vertices)
    kind, slot, fresh = locate(store.offsets, store.dst, keys, ABSENT)
    edges = store.target(store.num_edges + fresh) if fresh else EdgeList(store.dst[:0], store.dst, store.weight)
    offsets = np.empty_like(store.offsets)
    old, new, batch = (bit_pattern(part, store.dst) for part in (store.weight, edges.weight, weight))
    if weight is not None:
        replace_weights(keys, order, kind, slot, batch, old, outcome.status, bit_pattern(outcome.weight, store.dst))
    if fresh:
        merge(store.offsets, store.dst, old, keys, order, kind, slot, batch, offsets, edges.dst, new, outcome.status)
        store.replace(offsets, edges)
    return outcome


def delete(store: CsrStore, src: Array, dst: Array, guard: Array | None) -> Outcome:
    """Delete a batch, in place."""
    outcome = _outcome(store, len(src))
    if not len(src) or (guard is not None and guard[0]):
        return outcome
    keys, order = sort_batch(store.device, src, dst, store.num_vertices)
    kind, slot, present = locate(store.offsets, store.dst, keys, PRESENT)
    if present:
        weights = (bit_pattern(part, store.dst) for part in (store.weight, outcome.weight))
        stored, before = weights
        remove(store.offsets, store.dst, stored, keys, order, kind, slot, outcome.status, before)
    return outcome


def find(store: CsrStore, src: Array, dst: Array) -> tuple[Array, Array | None]:
    """Look a batch up."""
    found = np.zeros(len(src), bool)
    weight = None if store.weight_dtype is None else np.zeros(len(src), store.weight_dtype)
    stored, result = (bit_pattern(part, store.dst) for part in (store.weight, weight))
    find_edges(store.offsets, store.dst, stored, src, dst, found, result)
    return found, weight
