"""``slabhash`` on the CPU: the kernels of the CUDA side as plain loops.

Edges are taken in order. The memory of an edge is asked for three times ahead of time, so that many cache misses
overlap: the words of its vertex ``FAR`` edges ahead, its head slab ``MIDWAY``, and the slab behind that ``NEAR``.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from suricate.backends.slabhash.cursor import (
    KEY_EMPTY,
    LEADING_ONE,
    bucket_count,
    bucket_of,
    decode,
    degree_place,
    first_slab,
    head_place,
)
from suricate.backends.slabhash.layout import (
    BUMP,
    FLAG_CHAIN,
    FREED,
    GROWTH,
    GROWTH_ROOM,
    LISTED,
    LISTED_BIT,
    MANTISSA_BITS,
    SEVERAL,
    TAKEN,
    TOUCHED,
    WANTED,
    Slabs,
)
from suricate.backends.slabhash.vector import kernel, match8, one_bits, prefetch, reach8, trailing_zeros
from suricate.devices import Array
from suricate.types import EMPTY, NEW, REMOVED, REPLACED, TOMBSTONE, UNCHANGED

if TYPE_CHECKING:
    from suricate.backends.slabhash.store import Grant

FAR, MIDWAY, NEAR = 80, 50, 20  # edges ahead at which a vertex, its head slab and the next slab are prefetched
RING = 64  # heads of the edges ahead that are remembered: a power of two, more than MIDWAY
KEY_TOMBSTONE = np.uint32(TOMBSTONE)
NO_WORDS = np.zeros(0, np.uint32)


# -- slabs -------------------------------------------------------------------------------------------------------------


@kernel
def encode(count):
    """Return the code of the smallest representable bucket count that is not below ``count``."""
    exponent = 0
    while count >= 2 * LEADING_ONE:
        count = (count + 1) >> 1
        exponent += 1
    return count if count < LEADING_ONE else (exponent + 1) << MANTISSA_BITS | count & (LEADING_ONE - 1)


@njit(inline="always")
def compare(g, base, v, compare8):
    """Return the mask of the key slots that compare with ``v`` (uint32), of the slab whose first word is ``base``.

    ``compare8`` is ``match8`` (they equal it) or ``reach8`` (they are not below it).
    """
    hits = compare8(g.pool, base, v)
    if g.keys > 7:
        hits |= compare8(g.pool, base + 8, v) << 8
        if g.keys > 15:
            hits |= compare8(g.pool, base + 16, v) << 16
            hits |= compare8(g.pool, base + 24, v) << 24
    return hits & ((1 << g.keys) - 1)


@njit(inline="always")
def match(g, base, v):
    """Return the mask of the key slots of a slab that hold ``v``."""
    return compare(g, base, v, match8)


@njit(inline="always")
def match_free(g, base):
    """Return the mask of the key slots of a slab that hold no key."""
    return compare(g, base, KEY_TOMBSTONE, reach8)


@njit(inline="always")
def head_of(g, u, v):
    """Return the head slab of the bucket for edge ``(u, v)``; -1 if ``u`` has no storage."""
    word = np.int64(g.vertex[head_place(u)])
    if word & SEVERAL == 0:
        return word
    if word == EMPTY:
        return np.int64(-1)
    return word - SEVERAL + bucket_of(v, bucket_count(g, u))


@njit(inline="always")
def set_head(g, u, slab, code):
    """Let ``code`` buckets (encoded) from ``slab`` on be those of ``u``."""
    g.vertex[head_place(u)] = slab | SEVERAL if code > 1 else slab
    g.buckets[u] = code


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
    """Clean a slab and mark it as free; where it is in the list of touched ones, it stays there, without slots."""
    base = slab * g.words
    for j in range(g.words):
        g.pool[base + j] = KEY_EMPTY
    g.owner[slab] = KEY_EMPTY
    if g.marked:
        g.fresh[slab] = np.int64(g.fresh[slab]) & LISTED_BIT
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
def mark_slot(g, slot):
    """Remember that the key in word ``slot`` of the pool was inserted since the mark."""
    slab = slot >> trailing_zeros(g.words)
    before = np.int64(g.fresh[slab])
    if before & LISTED_BIT == 0:
        g.touched[g.counters[TOUCHED]] = slab
        g.counters[TOUCHED] += np.uint32(1)
    g.fresh[slab] = before | LISTED_BIT | 1 << (slot & (g.words - 1))


@kernel
def fresh_slots(g, slab):
    """Return the mask of the key slots of ``slab`` that were inserted into since the mark."""
    return np.int64(g.fresh[slab]) & (LISTED_BIT - 1) if g.marked else np.int64(0)


@kernel
def extend(g, slab):
    """Put a new slab behind ``slab``, the last of its chain; return it."""
    after = allocate(g, g.owner[slab])
    g.pool[slab * g.words + g.keys] = after
    return after


@kernel
def append(g, slab, v, weights, word, fresh):
    """Add a key that is not in the chain from ``slab`` on, with the weight at ``weights[word:]``.

    There are no tombstones in this chain: where moves go to, nothing was deleted.
    """
    slot = np.int64(-1)
    while slot < 0:
        empty = match(g, slab * g.words, KEY_EMPTY)
        if empty:
            slot = slab * g.words + trailing_zeros(empty)
            break
        after = next_slab(g, slab)
        if after < 0:
            after = extend(g, slab)
            slot = after * g.words
        slab = after
    g.pool[slot] = v
    for t in range(g.weight_words):
        g.pool[weight_of(g, slot) + t] = weights[word + t]
    if fresh:
        mark_slot(g, slot)


@kernel
def move_slab(old, slab, g, head, count):
    """Copy the keys of a slab of ``old``, with what is known of them, to the ``count`` buckets from ``head`` on."""
    base, fresh = slab * old.words, fresh_slots(old, slab)
    for j in range(old.keys):
        v = old.pool[base + j]
        if v < KEY_TOMBSTONE:
            append(g, head + bucket_of(v, count), v, old.pool, weight_of(old, base + j), fresh >> j & 1)


# -- re-bucketing ------------------------------------------------------------------------------------------------------


@kernel
def chain_length(g, slab):
    """Return the number of slabs of the chain from ``slab`` on."""
    length = 0
    while slab >= 0:
        length += 1
        slab = next_slab(g, slab)
    return length


@kernel
def rebucket(g, v, per_bucket, quota):
    """Move vertex ``v``, which grew, to buckets with room to grow; return the slabs spent, -1 if ``quota`` forbids it.

    Spent are the new heads, and as many slabs as it has: its old slots, free ones included, may be all that was planned
    for the edges of the batch that are still to come, whatever bucket these go to.
    """
    head, count = first_slab(g.vertex[head_place(v)]), bucket_count(g, v)
    degree = np.int64(g.vertex[degree_place(v)])
    code = encode(np.int64(np.ceil(degree * GROWTH_ROOM / per_bucket)))
    wanted, target = decode(code), np.int64(g.counters[BUMP])
    need = wanted
    for k in range(count):
        need += chain_length(g, head + k)
    if need > quota or target + wanted > g.capacity:
        g.counters[WANTED] += np.uint32(need)
        return np.int64(-1)
    g.counters[BUMP] = target + wanted
    g.owner[target : target + wanted] = v
    for k in range(count):
        slab = head + k
        while slab >= 0:
            move_slab(g, slab, g, target, wanted)
            slab = next_slab(g, slab)
    release_chains(g, head, count)
    set_head(g, v, target, code)
    return need


@kernel
def should_rebucket(g, v, per_bucket):
    """Return whether ``v`` has outgrown its buckets."""
    return g.vertex[degree_place(v)] > GROWTH * bucket_count(g, v) * per_bucket


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
def fetch_slab(g, slab):
    """Prefetch the keys of a slab, its next pointer, and its weights unless they are wide."""
    prefetch(g.pool, slab * g.words)
    if g.words > 16:
        prefetch(g.pool, slab * g.words + 16)


@njit(inline="always")
def fetch(g, src, dst, start, heads, i):
    """Prefetch what the edges ``FAR``, ``MIDWAY`` and ``NEAR`` places behind the i-th will touch first.

    Called for every ``i`` from ``start - FAR`` on, so that the first edges, from ``start`` on, are prefetched as well.
    ``heads`` (int64[RING]) remembers where the chains of the next edges begin (-1: nowhere yet).
    """
    if i + FAR < len(src):
        prefetch(g.vertex, head_place(src[i + FAR]))
        prefetch(g.buckets, np.int64(src[i + FAR]))
    if start <= i + MIDWAY < len(src):
        slab = head_of(g, src[i + MIDWAY], dst[i + MIDWAY])
        heads[(i + MIDWAY) & (RING - 1)] = slab
        if slab >= 0:
            fetch_slab(g, slab)
    if start <= i + NEAR < len(src):
        slab = heads[(i + NEAR) & (RING - 1)]
        if slab >= 0:
            after = next_slab(g, slab)
            fetch_slab(g, slab if after < 0 else after)  # again, which costs less than a branch


@kernel
def survey(g, slab, v):
    """Walk the chain from ``slab`` on; return the slot of key ``v``, its first free slot, its last slab and its length.

    Slots are -1 if there are none; where there is the key, the walk ends, and only its slot is meaningful.
    """
    free, last, length = np.int64(-1), slab, 0
    while slab >= 0:
        base = slab * g.words
        hits = match(g, base, v)
        if hits:
            return base + trailing_zeros(hits), free, last, length
        holes = match_free(g, base)
        if holes and free < 0:
            free = base + trailing_zeros(holes)
        last, length = slab, length + 1
        slab = next_slab(g, slab)
    return np.int64(-1), free, last, length


@kernel
def insert_edges(g, src, dst, weights, met, start, quota, hashing, per_bucket, heads, status, before):
    """Insert edges from index ``start`` on; return the index reached, short of the end only to ask for more slabs.

    A new key goes to the first free slot of its chain. ``weights`` are words. Weighted stores write the indices of the
    edges that are there already to ``met``; its last word counts them. ``quota`` are the slabs that re-buckets may use
    (negative: do not re-bucket).
    """
    size = g.weight_words
    for i in range(start - FAR, len(src)):
        fetch(g, src, dst, start, heads, i)
        if i < start:
            continue
        u, v = src[i], dst[i]
        head = heads[i & (RING - 1)]
        if head < 0:
            head = head_of(g, u, v)  # an edge since then may have been the first of its vertex
        if head < 0:
            head = allocate(g, u)
            g.vertex[head_place(u)] = head
        slot, free, last, length = survey(g, head, v)
        if slot >= 0:
            at, same = weight_of(g, slot), True
            for t in range(size):
                before[i * size + t] = g.pool[at + t]
                same &= g.pool[at + t] == weights[i * size + t]
                g.pool[at + t] = weights[i * size + t]
            status[i] = UNCHANGED if same else REPLACED
            if size > 0:
                met[met[len(src)]] = i
                met[len(src)] += np.uint32(1)
            continue
        slot = free if free >= 0 else extend(g, last) * g.words
        g.pool[slot] = v
        for t in range(size):
            g.pool[weight_of(g, slot) + t] = weights[i * size + t]
        g.vertex[degree_place(u)] += np.uint32(1)
        status[i] = NEW
        if g.marked:
            mark_slot(g, slot)
        grown = free < 0 and length + 1 >= FLAG_CHAIN
        if grown and hashing and quota >= 0 and should_rebucket(g, u, per_bucket):
            used = rebucket(g, u, per_bucket, quota)
            if used < 0:
                return i + 1
            quota -= used
            for j in range(i + 1, min(i + MIDWAY + 1, len(src))):
                heads[j & (RING - 1)] = head_of(g, src[j], dst[j])
    return len(src)


@njit(inline="always")
def locate(g, slab, v):
    """Return the slot of key ``v`` in the chain from ``slab`` on (-1: no chain); -1 if it is not there."""
    slot = np.int64(-1)
    while slab >= 0:
        hits = match(g, slab * g.words, v)
        if hits:
            slot = slab * g.words + trailing_zeros(hits)
            break
        slab = next_slab(g, slab)
    return slot


@kernel
def delete_edges(g, src, dst, heads, status, before):
    """Turn the keys of the edges into tombstones; note their weights."""
    size = g.weight_words
    for i in range(-FAR, len(src)):
        fetch(g, src, dst, 0, heads, i)
        if i < 0:
            continue
        slot = locate(g, heads[i & (RING - 1)], dst[i])
        if slot >= 0:
            g.pool[slot] = KEY_TOMBSTONE
            g.vertex[degree_place(src[i])] -= np.uint32(1)
            status[i] = REMOVED
            for t in range(size):
                before[i * size + t] = g.pool[weight_of(g, slot) + t]


@kernel
def find_edges(g, src, dst, heads, found, result):
    """Look edges up; copy their weights."""
    size = g.weight_words
    for i in range(-FAR, len(src)):
        fetch(g, src, dst, 0, heads, i)
        if i < 0:
            continue
        slot = locate(g, heads[i & (RING - 1)], dst[i])
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
        code = encode(max(np.int64(1), count)) if expected[v] > 0 else 1
        codes[v] = code
        heads[v] = decode(code) if expected[v] > 0 else 0


@njit(inline="always")
def chain_at(g, bump, u, v):
    """Return the place among ``bump`` heads and then all vertices for the chain that edge ``(u, v)`` goes to."""
    head = head_of(g, u, v)
    return head if head >= 0 else bump + np.int64(u)


@kernel
def free_slots(g, slab):
    """Return the number of key slots of the chain from ``slab`` on that hold no key; at most 254."""
    free = np.int64(0)
    while slab >= 0:
        free += one_bits(match_free(g, slab * g.words))
        slab = next_slab(g, slab)
    return min(free, np.int64(254))


@kernel
def count_slabs(g, bump, src, dst, heads, left, fresh):
    """Return how many slabs an insertion needs at most.

    ``left``, zeroed uint8[bump + vertices], is set to one more than the slots that are left of a chain. With ``fresh``
    all heads are known to be empty, and the pool is not looked at. ``heads`` is as for ``fetch``.
    """
    need = np.int64(0)
    for i in range(-FAR, len(src)):
        if i + FAR < len(src):
            prefetch(g.vertex, head_place(src[i + FAR]))
        if 0 <= i + MIDWAY < len(src):
            ahead = chain_at(g, bump, src[i + MIDWAY], dst[i + MIDWAY])
            heads[(i + MIDWAY) & (RING - 1)] = ahead
            prefetch(left, ahead)
            if not fresh and ahead < bump:
                fetch_slab(g, ahead)
        if not fresh and 0 <= i + NEAR < len(src):
            ahead = heads[(i + NEAR) & (RING - 1)]
            if ahead < bump:
                after = next_slab(g, ahead)
                fetch_slab(g, ahead if after < 0 else after)
        if i < 0:
            continue
        at = heads[i & (RING - 1)]
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
    """Copy all edges of ``old`` to the empty buckets of ``g``."""
    for slab in range(np.int64(old.counters[BUMP])):
        v = old.owner[slab]
        if v != KEY_EMPTY:
            move_slab(old, slab, g, first_slab(g.vertex[head_place(v)]), bucket_count(g, v))


@kernel
def free_vertices(g, vertices):
    """Free the storage of vertices."""
    for v in vertices:
        if g.vertex[head_place(v)] != KEY_EMPTY:
            release_chains(g, first_slab(g.vertex[head_place(v)]), bucket_count(g, v))
            set_head(g, v, KEY_EMPTY, 1)
            g.vertex[degree_place(v)] = 0


@kernel
def list_free(g, found):
    """Write the indices of the free slabs that were in use before."""
    at = 0
    for slab in range(np.int64(g.counters[BUMP])):
        if g.owner[slab] == KEY_EMPTY:
            found[at] = slab
            at += 1


@kernel
def copy_slab(g, slab, slots, dst, weights, at):
    """Append the edges in the key slots of a mask; return the new end."""
    base = slab * g.words
    slots &= match_free(g, base) ^ ((1 << g.keys) - 1)
    while slots:
        slot = base + trailing_zeros(slots)
        slots &= slots - 1
        dst[at] = g.pool[slot]
        for t in range(g.weight_words):
            weights[at * g.weight_words + t] = g.pool[weight_of(g, slot) + t]
        at += 1
    return at


@kernel
def gather(g, vertices, offsets, dst, weights):
    """Write the edges of the i-th vertex from ``offsets[i]`` on."""
    for i in range(len(vertices)):
        if i + FAR < len(vertices):
            prefetch(g.vertex, head_place(vertices[i + FAR]))
        if i + NEAR < len(vertices):
            ahead = g.vertex[head_place(vertices[i + NEAR])]
            if ahead != KEY_EMPTY:
                fetch_slab(g, first_slab(ahead))
        v, at = np.int64(vertices[i]), offsets[i]
        if g.vertex[head_place(v)] != KEY_EMPTY:
            for k in range(bucket_count(g, v)):
                slab = first_slab(g.vertex[head_place(v)]) + k
                while slab >= 0:
                    at = copy_slab(g, slab, -1, dst, weights, at)
                    slab = next_slab(g, slab)


@kernel
def gather_touched(g, src, dst, weights):
    """Write the edges inserted since the mark, slab by slab in the order of their first change; return their number."""
    at = 0
    for t in range(g.counters[TOUCHED]):
        slab = np.int64(g.touched[t])
        end = copy_slab(g, slab, fresh_slots(g, slab), dst, weights, at)
        src[at:end] = g.owner[slab]
        at = end
    return at


@kernel
def forget_touched(g):
    """Empty the list of touched slabs, and their masks."""
    for t in range(g.counters[TOUCHED]):
        g.fresh[g.touched[t]] = 0
    g.counters[TOUCHED] = 0


# -- what the store calls ----------------------------------------------------------------------------------------------


def ring() -> Array:
    """Return scratch space for the heads of the edges ahead."""
    return np.empty(RING, np.int64)


def batch_words(weight: Array | None) -> Array:
    """Return weights as words of 4 bytes."""
    return NO_WORDS if weight is None else weight.view(np.uint32)


class CpuKernels:
    """The operations of a store on NumPy arrays; ``suricate.backends.slabhash.cuda.CudaKernels`` is the CUDA twin."""

    def __init__(self, store: Any) -> None:
        self._store = weakref.ref(store)  # which holds this: in a cycle its memory would outlive it

    @property
    def store(self) -> Any:
        """The store that these are the kernels of."""
        return self._store()

    def slabs_ahead(self, edges: int) -> tuple[int, int]:
        """Return how many slabs to keep for re-buckets in a batch: none, as they are asked for within the batch."""
        return 0, 0

    def insert(
        self,
        src: Array,
        dst: Array,
        weight: Array | None,
        guard: Array | None,
        grant: Grant,
        status: Array,
        before: Array | None,
    ) -> None:
        """Insert a batch with the slabs that are granted to it; re-buckets ask for more."""
        store, weighted = self.store, self.store.weight_dtype is not None
        with store.reserving():
            met = np.empty(len(src) + 1 if weighted else 0, np.uint32)
            tables = np.empty((2, 1 << (2 * len(src)).bit_length() if weighted else 0), np.uint32)
        met[-1:] = 0
        words, old = batch_words(weight), batch_words(before)
        at, quota, need = 0, grant.quota, grant.least - grant.quota  # with what is promised to later batches
        while at < len(src):
            at = insert_edges(
                store.slabs, src, dst, words, met, at, quota, store.hashing, store.per_bucket, ring(), status, old
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
        delete_edges(self.store.slabs, src, dst, ring(), status, batch_words(before))

    def find(self, src: Array, dst: Array, found: Array, weight: Array | None) -> None:
        """Look a batch up."""
        find_edges(self.store.slabs, src, dst, ring(), found, batch_words(weight))

    def count_sources(self, src: Array, guard: Array | None, counts: Array) -> None:
        """Add the edges per source to ``counts`` (uint32 per vertex)."""
        count_keys(src, counts)

    def plan(self, expected: Array, room: float) -> tuple[Array, Array]:
        """Return encoded (uint16) and plain (int64, 0 without edges) bucket counts per vertex.

        They are for ``room`` times as many edges as ``expected`` (uint32).
        """
        codes, heads = np.empty(len(expected), np.uint16), np.empty(len(expected), np.int64)
        plan_buckets(expected, self.store.per_bucket / room, self.store.hashing, codes, heads)
        return codes, heads

    def write_tables(self, codes: Array, heads: Array, ends: Array, old: Array, vertex: Array, buckets: Array) -> None:
        """Fill the words and the bucket codes of all vertices as planned, with the degrees of the words ``old``."""
        first = ends - heads + SEVERAL * (heads > 1)
        vertex[0::2], vertex[1::2], buckets[:] = EMPTY, old[1::2], 1
        vertex[: 2 * len(heads) : 2][heads > 0] = first[heads > 0]
        buckets[: len(codes)] = codes

    def place_heads(self, owner: Array, heads: Array, ends: Array, total: int) -> None:
        """Write the owners of the first ``total`` slabs; ``ends`` are the running sums of ``heads``."""
        owner[:total] = np.repeat(np.arange(len(heads), dtype=np.uint32), heads)

    def count_slabs(self, slabs: Slabs, bump: int, src: Array, dst: Array, guard: Array | None, fresh: bool) -> int:
        """Return how many slabs inserting the batch needs at most."""
        left = np.zeros(bump + len(slabs.buckets), np.uint8)
        return int(count_slabs(slabs, bump, src, dst, ring(), left, fresh))

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

    def forget_touched(self) -> None:
        """Forget which edges were inserted since the mark."""
        forget_touched(self.store.slabs)
