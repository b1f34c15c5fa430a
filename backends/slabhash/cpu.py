"""``slabhash`` on the CPU: the kernels of the CUDA side as plain loops.

Edges are taken in order. The memory of an edge is asked for twice ahead of time, so that many cache misses overlap:
the arrays of its vertex ``FAR`` edges ahead, its head slab ``NEAR`` edges ahead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from suricate.backends.slabhash.cursor import KEY_EMPTY, bucket_of, decode
from suricate.backends.slabhash.layout import (
    BUMP,
    FLAG_CHAIN,
    FREED,
    GROWTH,
    GROWTH_ROOM,
    LISTED,
    LONG_CHAIN,
    MANTISSA_BITS,
    TAKEN,
    TOUCHED,
    WANTED,
    Slabs,
)
from suricate.backends.slabhash.vector import kernel, match8, one_bits, prefetch, trailing_zeros
from suricate.devices import Array
from suricate.store import EMPTY, NEW, REMOVED, REPLACED, TOMBSTONE, UNCHANGED

FAR, NEAR = 24, 10  # edges ahead at which vertex arrays and head slabs are prefetched
KEY_TOMBSTONE = np.uint32(TOMBSTONE)
NO_WORDS = np.zeros(0, np.uint32)


# -- slabs -------------------------------------------------------------------------------------------------------------


@kernel
def encode(count):
    """Return the 16-bit code of the smallest representable bucket count that is not below ``count``."""
    exponent = 0
    while count >= 1 << MANTISSA_BITS:
        count = (count + 1) >> 1
        exponent += 1
    return exponent << MANTISSA_BITS | count


@njit(inline="always")
def match(g, base, v):
    """Return the mask of the key slots, of the slab whose first word is ``base``, that hold ``v`` (uint32)."""
    hits = match8(g.pool, base, v)
    if g.keys > 7:
        hits |= match8(g.pool, base + 8, v) << 8
        if g.keys > 15:
            hits |= match8(g.pool, base + 16, v) << 16
            hits |= match8(g.pool, base + 24, v) << 24
    return hits & ((1 << g.keys) - 1)


@njit(inline="always")
def head_of(g, u, v):
    """Return the head slab of the bucket for edge ``(u, v)``; -1 if ``u`` has no storage."""
    head = np.int64(g.first_slab[u])
    return np.int64(-1) if head == EMPTY else head + bucket_of(v, decode(g.buckets[u]))


@njit(inline="always")
def next_slab(g, slab):
    """Return the slab behind ``slab`` in its chain, -1 for none."""
    after = np.int64(g.pool[slab * g.words + g.keys])
    return np.int64(-1) if after == EMPTY else after


@njit(inline="always")
def weight_of(g, slot):
    """Return the word of the weight of an edge from the word of its key."""
    j = slot & (g.words - 1)
    return slot - j + g.weight_offset + j * g.weight_words


@kernel
def allocate(g, owner):
    """Return a clean slab for vertex ``owner``: one of the free list, else a new one. There is one: see the store."""
    taken = np.int64(g.counters[TAKEN])
    if taken < g.counters[LISTED]:
        slab = np.int64(g.free_list[taken])
        g.counters[TAKEN] = taken + 1
    else:
        slab = np.int64(g.counters[BUMP])
        g.counters[BUMP] = slab + 1
    g.owner[slab] = owner
    return slab


@kernel
def release(g, slab):
    """Clean a slab and mark it as free; a stamp of this epoch stays, without slots, as the slab stays in the list."""
    base = slab * g.words
    for j in range(g.words):
        g.pool[base + j] = KEY_EMPTY
    g.owner[slab] = KEY_EMPTY
    if g.epoch > 0 and np.int64(g.stamp[slab]) >> 5 == g.epoch:
        g.stamp[slab] = g.epoch << 5
    g.counters[FREED] += np.uint32(1)


@kernel
def release_chains(g, head, count):
    """Free the chains of ``count`` buckets."""
    for k in range(count):
        slab = head + k
        while slab >= 0:
            after = next_slab(g, slab)
            release(g, slab)
            slab = after


@kernel
def stamp_slot(g, slab, slot):
    """Remember that key slot ``slot`` of ``slab`` was inserted into since the mark."""
    before = np.int64(g.stamp[slab])
    if before >> 5 != g.epoch:
        g.touched[g.counters[TOUCHED]] = slab
        g.counters[TOUCHED] += np.uint32(1)
    g.stamp[slab] = max(before, g.epoch << 5 | (31 - slot))


@kernel
def fresh_from(g, slab):
    """Return the first key slot of ``slab`` inserted into since the mark; ``keys`` if there is none."""
    stamp = np.int64(g.stamp[slab])
    return min(31 - (stamp & 31), g.keys) if stamp >> 5 == g.epoch else g.keys


@kernel
def append(g, slab, v, weights, word, fresh):
    """Add a key that is not in the chain from ``slab`` on, with the weight at ``weights[word:]``."""
    slot = np.int64(-1)
    while slot < 0:
        empty = match(g, slab * g.words, KEY_EMPTY)
        if empty:
            slot = slab * g.words + trailing_zeros(empty)
            break
        after = next_slab(g, slab)
        if after < 0:
            after = allocate(g, g.owner[slab])
            g.pool[slab * g.words + g.keys] = after
            slot = after * g.words
        slab = after
    g.pool[slot] = v
    for t in range(g.weight_words):
        g.pool[weight_of(g, slot) + t] = weights[word + t]
    if fresh:
        stamp_slot(g, slab, slot & (g.words - 1))


@kernel
def dead_share(g, head):
    """Return whether a quarter of the slots of the full chain from ``head`` on are tombstones."""
    dead, slots, slab = np.int64(0), np.int64(0), head
    while slab >= 0:
        dead += one_bits(match(g, slab * g.words, KEY_TOMBSTONE))
        slots += g.keys
        slab = next_slab(g, slab)
    return 4 * dead >= slots


@kernel
def flush_chain(g, head):
    """Close the gaps of the tombstones in the chain from ``head`` on, keep the order, and free the slabs left over."""
    target, used, slab = head, 0, head
    while slab >= 0:
        split = fresh_from(g, slab) if g.epoch > 0 else g.keys
        if split < g.keys:
            g.stamp[slab] = g.epoch << 5  # in the list of touched slabs, without slots
        for j in range(g.keys):
            v = g.pool[slab * g.words + j]
            if v >= KEY_TOMBSTONE:
                continue
            if used == g.keys:
                target, used = next_slab(g, target), 0
            to, source = target * g.words + used, slab * g.words + j
            g.pool[to] = v
            for t in range(g.weight_words):
                g.pool[weight_of(g, to) + t] = g.pool[weight_of(g, source) + t]
            if j >= split:
                stamp_slot(g, target, used)
            used += 1
        slab = next_slab(g, slab)
    for j in range(used, g.keys):
        g.pool[target * g.words + j] = KEY_EMPTY
    slab = next_slab(g, target)
    g.pool[target * g.words + g.keys] = KEY_EMPTY
    while slab >= 0:
        after = next_slab(g, slab)
        release(g, slab)
        slab = after


@kernel
def move_slab(old, slab, begin, end, g, head, count, fresh):
    """Copy key slots ``[begin, end)`` of a slab of ``old`` to the buckets from ``head`` on of ``g``."""
    for slot in range(slab * old.words + begin, slab * old.words + end):
        v = old.pool[slot]
        if v < KEY_TOMBSTONE:
            append(g, head + bucket_of(v, count), v, old.pool, weight_of(old, slot), fresh)


# -- re-bucketing ------------------------------------------------------------------------------------------------------


@kernel
def wanted_buckets(degree, count, per_bucket):
    """Return the bucket count for a vertex to re-bucket: room to grow if it grew, else what its degree needs."""
    room = GROWTH_ROOM if degree > GROWTH * count * per_bucket else 1.0
    return max(np.int64(1), np.int64(np.ceil(degree * room / per_bucket)))


@kernel
def rebucket(g, v, per_bucket, quota):
    """Move vertex ``v`` to buckets that fit its degree; return the slabs used up, or -1 if ``quota`` forbids it."""
    head, count = np.int64(g.first_slab[v]), decode(g.buckets[v])
    degree = np.int64(g.degree[v])
    code = encode(wanted_buckets(degree, count, per_bucket))
    wanted = decode(code)
    target, taken = np.int64(g.counters[BUMP]), np.int64(g.counters[TAKEN])
    need = wanted + degree // g.keys
    if need > quota or target + wanted > g.capacity:
        g.counters[WANTED] += np.uint32(need)
        return np.int64(-1)
    g.counters[BUMP] = target + wanted
    g.owner[target : target + wanted] = v
    for fresh in range(1 + (g.epoch > 0)):  # what was inserted since the mark goes behind the rest
        for k in range(count):
            slab = head + k
            while slab >= 0:
                split = fresh_from(g, slab) if g.epoch > 0 else g.keys
                begin, end = (split, g.keys) if fresh else (0, split)
                move_slab(g, slab, begin, end, g, target, wanted, fresh == 1)
                slab = next_slab(g, slab)
    release_chains(g, head, count)
    g.first_slab[v] = target
    g.buckets[v] = code
    return np.int64(g.counters[BUMP]) - target + np.int64(g.counters[TAKEN]) - taken


@kernel
def should_rebucket(g, v, depth, per_bucket):
    """Return whether a chain of ``v`` that has grown to ``depth`` slabs is reason to re-bucket the vertex."""
    if depth * g.keys >= LONG_CHAIN * max(per_bucket, g.keys):
        return True
    return g.degree[v] > GROWTH * decode(g.buckets[v]) * per_bucket


# -- batches -----------------------------------------------------------------------------------------------------------


@njit(inline="always")
def edge_hash(u, v):
    """Return a hash of 32 bits of an edge."""
    h = ((np.int64(u) * 0x9E3779B1) ^ (np.int64(v) * 0x85EBCA77)) & 0xFFFFFFFF
    h = ((h ^ h >> 15) * 0x2C1B3C6D) & 0xFFFFFFFF
    return h ^ h >> 13


@kernel
def place_of(src, dst, i, table, mask):
    """Return the place in ``table`` of the edge with index ``i``: where an index of the same edge is, or EMPTY."""
    at = edge_hash(src[i], dst[i]) & mask
    while True:
        other = table[at]
        if other == KEY_EMPTY or (src[other] == src[i] and dst[other] == dst[i]):
            return at
        at = (at + 1) & mask


@kernel
def merge_duplicates(src, dst, weights, size, met, table, last, status, before):
    """Make the last duplicate of an edge the only one with a status, that of all of them together.

    The edges were inserted one by one. ``met`` are, in order, the indices of those that were there by then. ``table``
    (uint32, a power of two, more than ``met``, all EMPTY) is an open-addressing hash table of the first index of these
    edges, ``last`` as long, has the last one. ``size`` is the words of a weight.
    """
    mask = len(table) - 1
    for k in range(len(met)):
        if k + FAR < len(met):
            ahead = edge_hash(src[met[k + FAR]], dst[met[k + FAR]]) & mask
            prefetch(table, ahead)
            prefetch(last, ahead)
        i = np.int64(met[k])
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
    for k in range(len(met)):
        i = np.int64(met[k])
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


@njit(inline="always")
def fetch(g, src, dst, i):
    """Prefetch what the edges ``FAR`` and ``NEAR`` places behind the i-th will touch first."""
    if i + FAR < len(src):
        u = np.int64(src[i + FAR])
        prefetch(g.first_slab, u)
        prefetch(g.buckets, u)
        prefetch(g.degree, u)
    if i + NEAR < len(src):
        slab = head_of(g, src[i + NEAR], dst[i + NEAR])
        if slab >= 0:
            prefetch(g.pool, slab * g.words)
            if g.words > 16:
                prefetch(g.pool, slab * g.words + 16)


@kernel
def insert_edges(g, src, dst, weights, met, start, quota, hashing, per_bucket, status, before):
    """Insert edges from index ``start`` on; return the index reached, short of the end only to ask for more slabs.

    ``weights`` are words. Weighted stores write the indices of the edges that are there already to ``met``; its last
    word counts them. ``quota`` are the slabs that re-buckets may use (negative: do not re-bucket).
    """
    size = g.weight_words
    for i in range(start, len(src)):
        fetch(g, src, dst, i)
        u, v = src[i], dst[i]
        slab = head_of(g, u, v)
        if slab < 0:
            slab = allocate(g, u)
            g.first_slab[u] = slab
        head, slot, depth, grown = slab, np.int64(-1), 1, False
        while slot < 0:
            base = slab * g.words
            hits = match(g, base, v)
            if hits == 0:
                hits = match(g, base, KEY_EMPTY)
            if hits:
                slot = base + trailing_zeros(hits)
                break
            after = next_slab(g, slab)
            if after < 0 and dead_share(g, head):
                flush_chain(g, head)
                slab, depth = head, 1
                continue
            depth += 1
            if after < 0:
                after = allocate(g, u)
                g.pool[base + g.keys] = after
                slot, grown = after * g.words, True
            slab = after
        at = weight_of(g, slot)
        if g.pool[slot] == v:
            same = True
            for t in range(size):
                before[i * size + t] = g.pool[at + t]
                same &= g.pool[at + t] == weights[i * size + t]
                g.pool[at + t] = weights[i * size + t]
            status[i] = UNCHANGED if same else REPLACED
            if size > 0:
                met[met[len(src)]] = i
                met[len(src)] += np.uint32(1)
            continue
        g.pool[slot] = v
        for t in range(size):
            g.pool[at + t] = weights[i * size + t]
        g.degree[u] += np.uint32(1)
        status[i] = NEW
        if g.epoch > 0:
            stamp_slot(g, slab, slot & (g.words - 1))
        if grown and depth >= FLAG_CHAIN and hashing and quota >= 0 and should_rebucket(g, u, depth, per_bucket):
            used = rebucket(g, u, per_bucket, quota)
            if used < 0:
                return i + 1
            quota -= used
    return len(src)


@njit(inline="always")
def locate(g, u, v):
    """Return the slot of edge ``(u, v)``; -1 if it is not there."""
    slab, slot = head_of(g, u, v), np.int64(-1)
    while slab >= 0:
        hits = match(g, slab * g.words, v)
        if hits:
            slot = slab * g.words + trailing_zeros(hits)
            break
        slab = next_slab(g, slab)
    return slot


@kernel
def delete_edges(g, src, dst, status, before):
    """Turn the keys of the edges into tombstones; note their weights."""
    size = g.weight_words
    for i in range(len(src)):
        fetch(g, src, dst, i)
        slot = locate(g, src[i], dst[i])
        if slot >= 0:
            g.pool[slot] = KEY_TOMBSTONE
            g.degree[src[i]] -= np.uint32(1)
            status[i] = REMOVED
            for t in range(size):
                before[i * size + t] = g.pool[weight_of(g, slot) + t]


@kernel
def find_edges(g, src, dst, found, result):
    """Look edges up; copy their weights."""
    size = g.weight_words
    for i in range(len(src)):
        fetch(g, src, dst, i)
        slot = locate(g, src[i], dst[i])
        found[i] = slot >= 0
        if slot >= 0:
            for t in range(size):
                result[i * size + t] = g.pool[weight_of(g, slot) + t]


# -- maintenance -------------------------------------------------------------------------------------------------------


@kernel
def count_keys(src, counts):
    """Add the number of edges of each source to ``counts``."""
    for i in range(len(src)):
        if i + FAR < len(src):
            prefetch(counts, np.int64(src[i + FAR]))
        counts[src[i]] += np.uint32(1)


@kernel
def plan_buckets(expected, per_bucket, hashing, codes, heads):
    """Write the encoded and the plain bucket count for each expected degree (none: no buckets, code of one)."""
    for v in range(len(expected)):
        count = np.int64(np.ceil(expected[v] / per_bucket)) if hashing else np.int64(1)
        code = encode(max(np.int64(1), count))
        codes[v] = code
        heads[v] = decode(code) if expected[v] > 0 else 0


@njit(inline="always")
def chain_at(g, bump, u, v):
    """Return the place among ``bump`` heads and then all vertices for the chain that edge ``(u, v)`` goes to."""
    head = head_of(g, u, v)
    return head if head >= 0 else bump + np.int64(u)


@kernel
def free_slots(g, slab):
    """Return the number of EMPTY key slots of the chain from ``slab`` on."""
    after = next_slab(g, slab)
    while after >= 0:
        slab = after
        after = next_slab(g, slab)
    return one_bits(match(g, slab * g.words, KEY_EMPTY))


@kernel
def count_slabs(g, bump, src, dst, left, fresh):
    """Return how many slabs an insertion needs at most.

    ``left``, zeroed uint8[bump + vertices], is set to one more than the slots that are left of a chain. With ``fresh``
    all heads are known to be empty, and the pool is not looked at.
    """
    need = np.int64(0)
    for i in range(len(src)):
        if i + FAR < len(src):
            prefetch(g.first_slab, np.int64(src[i + FAR]))
            prefetch(g.buckets, np.int64(src[i + FAR]))
        if i + NEAR < len(src):
            ahead = chain_at(g, bump, src[i + NEAR], dst[i + NEAR])
            prefetch(left, ahead)
            if not fresh and ahead < bump:
                prefetch(g.pool, ahead * g.words)
        at = chain_at(g, bump, src[i], dst[i])
        slots = np.int64(left[at]) - 1
        if slots < 0:
            slots = np.int64(0) if at >= bump else np.int64(g.keys) if fresh else free_slots(g, at)
        if slots == 0:
            need += 1
            slots = np.int64(g.keys)
        left[at] = slots
    return need


@kernel
def move_edges(old, g):
    """Copy all edges of ``old`` to the empty buckets of ``g``, those inserted since the mark behind the rest."""
    for fresh in range(1 + (old.epoch > 0)):
        for slab in range(np.int64(old.counters[BUMP])):
            v = old.owner[slab]
            if v != KEY_EMPTY:
                split = fresh_from(old, slab) if old.epoch > 0 else old.keys
                begin, end = (split, old.keys) if fresh else (0, split)
                move_slab(old, slab, begin, end, g, np.int64(g.first_slab[v]), decode(g.buckets[v]), fresh == 1)


@kernel
def free_vertices(g, vertices):
    """Free the storage of vertices."""
    for v in vertices:
        if g.first_slab[v] != KEY_EMPTY:
            release_chains(g, np.int64(g.first_slab[v]), decode(g.buckets[v]))
            g.first_slab[v] = KEY_EMPTY
            g.buckets[v] = 1
            g.degree[v] = 0


@kernel
def list_free(g, found):
    """Write the indices of the free slabs that were in use before."""
    at = 0
    for slab in range(np.int64(g.counters[BUMP])):
        if g.owner[slab] == KEY_EMPTY:
            found[at] = slab
            at += 1


@kernel
def copy_slab(g, slab, begin, dst, weights, at):
    """Append the edges in key slots from ``begin`` on; return the new end."""
    for slot in range(slab * g.words + begin, slab * g.words + g.keys):
        v = g.pool[slot]
        if v < KEY_TOMBSTONE:
            dst[at] = v
            for t in range(g.weight_words):
                weights[at * g.weight_words + t] = g.pool[weight_of(g, slot) + t]
            at += 1
    return at


@kernel
def gather(g, vertices, offsets, dst, weights):
    """Write the edges of the i-th vertex from ``offsets[i]`` on."""
    for i in range(len(vertices)):
        v, at = vertices[i], offsets[i]
        if g.first_slab[v] != KEY_EMPTY:
            for k in range(decode(g.buckets[v])):
                slab = np.int64(g.first_slab[v]) + k
                while slab >= 0:
                    at = copy_slab(g, slab, 0, dst, weights, at)
                    slab = next_slab(g, slab)


@kernel
def gather_touched(g, src, dst, weights):
    """Write the edges inserted since the mark, slab by slab in the order of their first change; return their number."""
    at = 0
    for t in range(g.counters[TOUCHED]):
        slab = np.int64(g.touched[t])
        end = copy_slab(g, slab, fresh_from(g, slab), dst, weights, at)
        src[at:end] = g.owner[slab]
        at = end
    return at


# -- what the store calls ----------------------------------------------------------------------------------------------


def batch_words(weight: Array | None) -> Array:
    """Return weights as words of 4 bytes."""
    return NO_WORDS if weight is None else weight.view(np.uint32)


class CpuKernels:
    """The operations of a store on NumPy arrays; ``suricate.backends.slabhash.cuda.CudaKernels`` is the CUDA twin."""

    def __init__(self, store: Any) -> None:
        self.store = store

    def insert(
        self,
        src: Array,
        dst: Array,
        weight: Array | None,
        guard: Array | None,
        need: int,
        quota: int,
        status: Array,
        before: Array | None,
    ) -> None:
        """Insert a batch that ``need`` slabs suffice for; re-buckets may use ``quota`` more, and ask for more."""
        store, weighted = self.store, self.store.weight_dtype is not None
        with store.reserving():
            met = np.empty(len(src) + 1 if weighted else 0, np.uint32)
            tables = np.empty((2, 1 << (2 * len(src)).bit_length() if weighted else 0), np.uint32)
        met[-1:] = 0
        words, old = batch_words(weight), batch_words(before)
        at = 0
        while at < len(src):
            at = insert_edges(
                store.slabs, src, dst, words, met, at, quota, store.hashing, store.per_bucket, status, old
            )
            if at < len(src):
                quota, need = store.more_quota(len(src) - at, min(need, len(src) - at))
        if weighted and met[-1]:
            met = met[: met[-1]]
            table, last = tables[:, : 1 << (2 * len(met)).bit_length()]
            table[:] = EMPTY
            merge_duplicates(src, dst, words, store.geometry.weight_words, met, table, last, status, old)

    def delete(self, src: Array, dst: Array, guard: Array | None, status: Array, before: Any) -> None:
        """Delete a batch."""
        delete_edges(self.store.slabs, src, dst, status, batch_words(before))

    def find(self, src: Array, dst: Array, found: Array, weight: Array | None) -> None:
        """Look a batch up."""
        find_edges(self.store.slabs, src, dst, found, batch_words(weight))

    def count_sources(self, src: Array, guard: Array | None, counts: Array) -> None:
        """Add the edges per source to ``counts`` (uint32 per vertex)."""
        count_keys(src, counts)

    def plan(self, expected: Array) -> tuple[Array, Array]:
        """Return encoded (uint16) and plain (int64, 0 without edges) bucket counts for degrees (uint32 per vertex)."""
        codes, heads = np.empty(len(expected), np.uint16), np.empty(len(expected), np.int64)
        plan_buckets(expected, self.store.per_bucket, self.store.hashing, codes, heads)
        return codes, heads

    def place_heads(self, owner: Array, heads: Array, ends: Array, total: int) -> None:
        """Write the owners of the first ``total`` slabs; ``ends`` are the running sums of ``heads``."""
        owner[:total] = np.repeat(np.arange(len(heads), dtype=np.uint32), heads)

    def count_slabs(self, slabs: Slabs, bump: int, src: Array, dst: Array, guard: Array | None, fresh: bool) -> int:
        """Return how many slabs inserting the batch needs at most."""
        left = np.zeros(bump + len(slabs.first_slab), np.uint8)
        return int(count_slabs(slabs, bump, src, dst, left, fresh))

    def move_edges(self, old: Slabs, new: Slabs) -> None:
        """Copy all edges to empty buckets in another pool."""
        move_edges(old, new)

    def free_vertices(self, vertices: Array) -> None:
        """Free the storage of distinct vertices."""
        free_vertices(self.store.slabs, vertices)

    def list_free(self, found: Array) -> None:
        """Fill ``found`` with the free slabs below the bump counter; it has room for exactly them."""
        list_free(self.store.slabs, found)

    def gather(self, vertices: Array, offsets: Array, dst: Array, weight: Array | None) -> None:
        """Write the edges of the i-th vertex from ``offsets[i]`` on."""
        gather(self.store.slabs, vertices, offsets, dst, batch_words(weight))

    def gather_all(self, offsets: Array, src: Array, dst: Array, weight: Array | None) -> None:
        """Write all edges; those of vertex v from ``offsets[v]`` on."""
        vertices = np.arange(self.store.num_vertices, dtype=np.uint32)
        src[:] = np.repeat(vertices, offsets[1:] - offsets[:-1])
        gather(self.store.slabs, vertices, offsets, dst, batch_words(weight))

    def gather_touched(self, count: int, src: Array, dst: Array, weight: Array | None) -> int:
        """Write the edges inserted since the mark, from ``count`` slabs; return their number."""
        return int(gather_touched(self.store.slabs, src, dst, batch_words(weight)))
