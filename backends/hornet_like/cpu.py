"""``hornet_like`` on the CPU: locate, plan, reserve, apply; the specification of ``hornet.cu``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from suricate.backends.hornet_like.layout import (
    BLOCKS,
    CLASSES,
    EDGES,
    FREE,
    GRAIN,
    GROW,
    MIN_CLASS,
    NONE,
    USED,
)
from suricate.devices import Array
from suricate.primitives import bit_pattern, sort_batch
from suricate.types import NEW, REMOVED, REPLACED, TOMBSTONE, Outcome

if TYPE_CHECKING:
    from suricate.backends.hornet_like.store import HornetStore

ABSENT, SHADOWED = -1, -2  #: not stored; a later duplicate follows. Else: index in the adjacency
STEP = 64  #: destinations compared at once (vector instructions) before looking whether one was equal
TABLE_FROM = 12  #: batch edges of one vertex from which a hash table of them beats a scan for each
KEEP = 254  #: the block stays


@njit(cache=True, nogil=True)
def class_of(degree):
    """Return the smallest class whose blocks hold ``degree`` edges."""
    k = MIN_CLASS
    while (1 << k) < degree:
        k += 1
    return k


@njit(cache=True, nogil=True)
def grown(degree, k):
    """Return the class that a vertex of class ``k`` needs for ``degree`` edges, or ``KEEP`` if its block holds them."""
    return class_of(degree) if k == NONE or degree > (1 << k) else KEEP


@njit(cache=True, nogil=True)
def shrunk(degree, k):
    """Return the class for the ``degree`` edges left: ``NONE``, ``KEEP``, or a smaller one.

    Down at a quarter of the block or less, into one that is at most half full: between two migrations at the same
    border a fixed share of the block has to change.
    """
    if degree == 0:
        return NONE
    return class_of(2 * degree) if k > MIN_CLASS and 4 * degree <= (1 << k) else KEEP


@njit(cache=True, nogil=True)
def scan(dst, lo, hi, v):
    """Return the index (from ``lo``) of ``v`` in slots ``[lo, hi)``, or ``ABSENT``."""
    at = lo
    while at + STEP <= hi:
        hits = np.uint32(0)
        for i in range(STEP):
            hits |= np.uint32(dst[at + i] == v)
        if hits:
            break
        at += STEP
    for i in range(at, min(hi, at + STEP)):
        if dst[i] == v:
            return i - lo
    return np.int64(ABSENT)


@njit(cache=True, nogil=True)
def source(key):
    """Return the source of a key as a signed integer."""
    return np.int64(key >> np.uint64(32))


@njit(cache=True, nogil=True)
def run_end(keys, i):
    """Return one past the last key with the source of key ``i``."""
    j = i + 1
    while j < len(keys) and (keys[j] >> np.uint64(32)) == (keys[i] >> np.uint64(32)):
        j += 1
    return j


@njit(cache=True, nogil=True)
def match_table(dst, lo, hi, keys, first, last, found, table):
    """Fill ``found[first:last]`` by a hash table of the batch edges and one pass over the adjacency."""
    bits = 1
    while (1 << bits) < 2 * (last - first):
        bits += 1
    mask, shift = (1 << bits) - 1, np.uint64(32 - bits)
    table[: mask + 1] = -1
    for i in range(first, last):
        if found[i] == ABSENT:
            h = np.int64(((keys[i] * np.uint64(0x9E3779B1)) & np.uint64(0xFFFFFFFF)) >> shift)
            while table[h] >= 0:
                h = (h + 1) & mask
            table[h] = i
    for slot in range(lo, hi):
        h = np.int64(((np.uint64(dst[slot]) * np.uint64(0x9E3779B1)) & np.uint64(0xFFFFFFFF)) >> shift)
        while table[h] >= 0:
            if np.uint32(keys[table[h]]) == dst[slot]:
                found[table[h]] = slot - lo
                break
            h = (h + 1) & mask


@njit(cache=True, nogil=True)
def locate(begin, end, dst, keys):
    """Return ``found`` (int64[m]) of a sorted batch: ``SHADOWED``, ``ABSENT`` or the index in the adjacency."""
    m = len(keys)
    found = np.full(m, ABSENT, np.int64)
    table = np.empty(0, np.int64)
    first = 0
    while first < m:
        last, u = run_end(keys, first), source(keys[first])
        for i in range(first, last - 1):
            if keys[i] == keys[i + 1]:
                found[i] = SHADOWED
        if last - first < TABLE_FROM:
            for i in range(first, last):
                if found[i] == ABSENT:
                    found[i] = scan(dst, begin[u], end[u], np.uint32(keys[i]))
        elif begin[u] < end[u]:
            if len(table) < 4 * (last - first):
                table = np.empty(4 * (last - first), np.int64)
            match_table(dst, begin[u], end[u], keys, first, last, found, table)
        first = last
    return found


@njit(cache=True, nogil=True)
def plan(begin, end, klass, keys, found, stored):
    """Return how many edges change, and per class how many blocks the migrations take.

    ``stored`` says which edges change: those that are there (deletion) or are not (insertion).
    """
    need = np.zeros(CLASSES, np.int64)
    total, first = 0, 0
    while first < len(keys):
        last, u, changed = run_end(keys, first), source(keys[first]), 0
        for i in range(first, last):
            changed += found[i] >= 0 if stored else found[i] == ABSENT
        if changed:
            degree = end[u] - begin[u]
            target = shrunk(degree - changed, klass[u]) if stored else grown(degree + changed, klass[u])
            if target < CLASSES:
                need[target] += 1
        total += changed
        first = last
    return total, need


class Pool(NamedTuple):
    """The arrays of a store, weights as bit patterns (``uint8[0]`` if there are none)."""

    begin: Array
    end: Array
    klass: Array
    dst: Array
    weight: Array
    counters: Array
    stacks: Array
    stack_begin: Array


@njit(cache=True, nogil=True)
def push(g, k, block):
    """Put a block on the stack of its class."""
    g.stacks[g.stack_begin[k] + g.counters[FREE + k]] = block // GRAIN
    g.counters[FREE + k] += 1


@njit(cache=True, nogil=True)
def take(g, k):
    """Return a block of class ``k``: a free one, else one carved from the pool."""
    if g.counters[FREE + k]:
        g.counters[FREE + k] -= 1
        return np.int64(g.stacks[g.stack_begin[k] + g.counters[FREE + k]]) * GRAIN
    block = g.counters[USED]
    g.counters[USED] += 1 << k
    g.counters[BLOCKS + k] += 1
    return block


@njit(cache=True, nogil=True)
def migrate(g, u, target, degree):
    """Move the first ``degree`` edges of ``u`` into a block of class ``target`` (``NONE``: it has no edges left)."""
    old, k = g.begin[u], g.klass[u]
    fresh = np.int64(0) if target == NONE else take(g, target)
    for i in range(degree):
        g.dst[fresh + i] = g.dst[old + i]
    if len(g.weight):
        for i in range(degree):
            g.weight[fresh + i] = g.weight[old + i]
    if k != NONE:
        push(g, k, old)
    g.begin[u], g.end[u], g.klass[u] = fresh, fresh + degree, target


@njit(cache=True, nogil=True)
def apply_insert(g, keys, order, found, batch_weight, status, before):
    """Replace weights, migrate what overflows, append the new edges in order of destination."""
    first = 0
    while first < len(keys):
        last, u, fresh = run_end(keys, first), source(keys[first]), 0
        for i in range(first, last):
            fresh += found[i] == ABSENT
            if found[i] >= 0 and len(g.weight):
                at, item = g.begin[u] + found[i], order[i]
                before[item] = g.weight[at]
                if g.weight[at] != batch_weight[item]:
                    g.weight[at] = batch_weight[item]
                    status[item] = REPLACED
        degree = g.end[u] - g.begin[u]
        target = grown(degree + fresh, g.klass[u]) if fresh else KEEP
        if target != KEEP:
            migrate(g, u, target, degree)
        for i in range(first, last):
            if found[i] == ABSENT:
                at, item = g.end[u], order[i]
                g.dst[at] = np.uint32(keys[i])
                if len(g.weight):
                    g.weight[at] = batch_weight[item]
                status[item] = NEW
                g.end[u] += 1
        g.counters[EDGES] += fresh
        first = last


@njit(cache=True, nogil=True)
def apply_delete(g, keys, order, found, may_shrink, status, before):
    """Mark the deleted edges, fill the holes from the tail of the adjacency, migrate what became small."""
    first = 0
    while first < len(keys):
        last, u, removed = run_end(keys, first), source(keys[first]), 0
        for i in range(first, last):
            if found[i] >= 0:
                at, item = g.begin[u] + found[i], order[i]
                if len(g.weight):
                    before[item] = g.weight[at]
                g.dst[at] = np.uint32(TOMBSTONE)
                status[item] = REMOVED
                removed += 1
        if removed:
            tail = g.end[u] - removed
            survivor = tail
            for i in range(first, last):
                at = g.begin[u] + found[i]
                if found[i] >= 0 and at < tail:
                    while g.dst[survivor] == np.uint32(TOMBSTONE):
                        survivor += 1
                    g.dst[at] = g.dst[survivor]
                    if len(g.weight):
                        g.weight[at] = g.weight[survivor]
                    survivor += 1
            g.end[u] = tail
            degree = tail - g.begin[u]
            target = shrunk(degree, g.klass[u])
            if target == NONE or (target != KEEP and may_shrink):
                migrate(g, u, target, degree)
            g.counters[EDGES] -= removed
        first = last


@njit(cache=True, nogil=True)
def free_vertices(g, vertices):
    """Free the blocks of ``vertices``."""
    for u in vertices:
        if g.klass[u] != NONE:
            push(g, g.klass[u], g.begin[u])
            g.counters[EDGES] -= g.end[u] - g.begin[u]
            g.begin[u], g.end[u], g.klass[u] = 0, 0, NONE


@njit(cache=True, nogil=True)
def answer(begin, weight, keys, order, located, found, result):
    """Report located queries; all duplicates of an edge get the result of the last."""
    at = np.int64(ABSENT)
    for i in range(len(keys) - 1, -1, -1):
        at = at if located[i] == SHADOWED else located[i]
        found[order[i]] = at >= 0
        if at >= 0 and len(weight):
            result[order[i]] = weight[begin[source(keys[i])] + at]


def _outcome(store: HornetStore, size: int) -> Outcome:
    before = None if store.weight_dtype is None else np.zeros(size, store.weight_dtype)
    return Outcome(np.zeros(size, np.uint8), before)


def _reserve(store: HornetStore, need: np.ndarray) -> None:
    """Make room for ``need`` blocks per class; raises ``CapacityError``."""
    carved = np.maximum(0, need - store.counters[FREE:GROW])
    store.ensure_pool(int(store.counters[USED] + (carved << np.arange(CLASSES)).sum()))
    store.ensure_stacks(store.counters[BLOCKS:FREE] + carved)


def _pool(store: HornetStore) -> Pool:
    stored = bit_pattern(store.weight, store.dst)
    return Pool(
        store.begin, store.end, store.klass, store.dst, stored, store.counters, store.stacks, store.stack_begin
    )  # fmt: skip


def insert(store: HornetStore, src: Array, dst: Array, weight: Array | None, guard: Array | None) -> Outcome:
    """Insert a batch."""
    outcome = _outcome(store, len(src))
    if not len(src) or (guard is not None and guard[0]):
        return outcome
    keys, order = sort_batch(store.device, src, dst, store.num_vertices)
    found = locate(store.begin, store.end, store.dst, keys)
    _, need = plan(store.begin, store.end, store.klass, keys, found, False)
    _reserve(store, need)
    batch, before = bit_pattern(weight, dst), bit_pattern(outcome.weight, dst)
    apply_insert(_pool(store), keys, order, found, batch, outcome.status, before)
    return outcome


def delete(store: HornetStore, src: Array, dst: Array, guard: Array | None) -> Outcome:
    """Delete a batch; where there is no room to migrate down, blocks stay as large as they are."""
    outcome = _outcome(store, len(src))
    if not len(src) or (guard is not None and guard[0]):
        return outcome
    keys, order = sort_batch(store.device, src, dst, store.num_vertices)
    found = locate(store.begin, store.end, store.dst, keys)
    removed, need = plan(store.begin, store.end, store.klass, keys, found, True)
    if removed:
        may_shrink = store.room_to_shrink(lambda: _reserve(store, need))
        store.ensure_all_blocks_fit_stacks()
        before = bit_pattern(outcome.weight, dst)
        apply_delete(_pool(store), keys, order, found, may_shrink, outcome.status, before)
    return outcome


def delete_vertices(store: HornetStore, vertices: Array) -> None:
    """Free the out-adjacency of ``vertices``."""
    store.ensure_all_blocks_fit_stacks()
    free_vertices(_pool(store), vertices)


def find(store: HornetStore, src: Array, dst: Array) -> tuple[Array, Array | None]:
    """Look a batch up: sorted, so that a long adjacency is read once however many edges of it are asked for."""
    found = np.zeros(len(src), bool)
    weight = None if store.weight_dtype is None else np.zeros(len(src), store.weight_dtype)
    stored, result = (bit_pattern(part, store.dst) for part in (store.weight, weight))
    keys, order = sort_batch(store.device, src, dst, store.num_vertices)
    located = locate(store.begin, store.end, store.dst, keys)
    answer(store.begin, stored, keys, order, located, found, result)
    return found, weight
