"""The loops of ``slabhash`` on the CPU: slabs, chains, rehashing and batches; the CUDA kernels as an executable text.

Edges are taken in order. The memory of an edge is prefetched three times, so that many cache misses overlap: the words
of its vertex ``FAR`` edges ahead, its head slab ``MIDWAY``, and the slab behind that ``NEAR``.

``g`` are the arrays of a store, :class:`Slabs`. Arrays with an entry per edge of a batch: ``src`` and ``dst``
(``uint32``), ``status`` (``uint8``) and ``found``; ``weights``, ``result`` and ``before`` (what was replaced or
deleted) have the 32-bit words of each weight, one after the other. ``existing`` (uint32[n + 1], weighted stores) gets
the indices of the edges that are stored already, and their number as the last entry. ``heads`` (int64[RING]) is scratch
of :func:`fetch`. A thread takes ``ahead`` new slabs at a time. ``policy`` has the number of slabs that rehashing may
use (negative: do not rehash), whether the store hashes, and the number of edges that a bucket is sized for.
"""

from __future__ import annotations

import numpy as np

from suricate.backends.slabhash import layout
from suricate.backends.slabhash.cursor import (
    KEY_EMPTY,
    LEADING_ONE,
    bucket_count,
    bucket_of,
    decode,
    degree_place,
    first_slab,
    following,
    head_place,
    head_word,
    put_head,
)
from suricate.base.types import EMPTY, NEW, REMOVED, REPLACED, TOMBSTONE, UNCHANGED
from suricate.cpu.atomics import add, exchange
from suricate.cpu.jit import inner, kernel
from suricate.cpu.plain import int64
from suricate.cpu.prefetch import prefetch
from suricate.cpu.vector import choose, match8, reach8, trailing_zeros

FAR, MIDWAY, NEAR = 80, 50, 20  # edges ahead at which a vertex, its head slab and the next slab are prefetched
RING = 64  # heads of the edges ahead that are remembered: a power of two, more than MIDWAY
KEY_TOMBSTONE = np.uint32(TOMBSTONE)


# -- slabs -------------------------------------------------------------------------------------------------------------


@inner
def encode(count):
    """Return the code of the smallest representable bucket count that is not below ``count``."""
    exponent = 0
    while count >= 2 * LEADING_ONE:
        count = (count + 1) >> 1
        exponent += 1
    return count if count < LEADING_ONE else (exponent + 1) << layout.MANTISSA_BITS | count & (LEADING_ONE - 1)


@inner
def compare(g, base, v, compare8):
    """Return a mask of the key slots that match ``v`` (uint32); ``base``: index of the slab's first word in the pool.

    ``compare8`` is ``match8`` (equal) or ``reach8`` (not below).
    """
    hits = compare8(g.pool, base, v)
    if g.keys > 7:
        hits |= compare8(g.pool, base + 8, v) << 8
        if g.keys > 15:
            hits |= compare8(g.pool, base + 16, v) << 16
            hits |= compare8(g.pool, base + 24, v) << 24
    return hits & ((1 << g.keys) - 1)


@inner
def match(g, base, v):
    """Return a mask of the key slots that hold ``v`` (uint32); ``base``: index of the slab's first word in the pool."""
    return compare(g, base, v, match8)


@inner
def match_free(g, base):
    """Return a mask of the key slots without a key; ``base``: index of the slab's first word in the pool."""
    return compare(g, base, KEY_TOMBSTONE, reach8)


@inner
def head_of(g, u, v):
    """Return the head slab of the bucket for edge ``(u, v)``; -1 if ``u`` has no storage."""
    word, bucket = int64(head_word(g, u)), bucket_of(v, decode(g.buckets[u]))  # bucket 0 of none, too
    head = choose(word & layout.SEVERAL != 0, word - layout.SEVERAL + bucket, word)
    return choose(word == EMPTY, int64(-1), head)


@inner
def set_head(g, u, slab, code):
    """Record in ``g`` that the head slabs of ``u`` begin at ``slab``; ``code`` encodes the number of its buckets."""
    put_head(g, u, slab | layout.SEVERAL if code > 1 else slab)
    g.buckets[u] = code


@inner
def weight_of(g, slot):
    """Return the index in ``g.pool`` of the first word of the weight whose key is at index ``slot``."""
    j = slot & (g.words - 1)
    return slot - j + g.weight_offset + j * g.weight_words


@inner
def allocate(g, owner):
    """Return an empty slab for vertex ``owner``, from the free list or new; the host has reserved it.

    Concurrent threads may count more slabs as taken than the list has; ``cpu.py`` corrects that.
    """
    slab = np.int64(-1)
    if g.counters[layout.TAKEN] < g.counters[layout.LISTED]:
        taken = np.int64(add(g.counters, layout.TAKEN, np.uint32(1)))
        if taken < g.counters[layout.LISTED]:
            slab = np.int64(g.free_list[taken])
    if slab < 0:
        slab = np.int64(add(g.counters, layout.BUMP, np.uint32(1)))
    g.owner[slab] = owner
    return slab


@inner
def take(g, owner, begin, end, ahead):
    """Take an empty slab for vertex ``owner``; return it and the new ``begin`` and ``end``.

    ``[begin, end)`` is the thread's own range of new slabs. When it is empty, the thread takes ``ahead`` slabs at once
    from the counter that all threads share, because they wait for each other there.
    """
    if begin == end:
        if ahead < 2 or g.counters[layout.TAKEN] < g.counters[layout.LISTED]:
            return allocate(g, owner), begin, end
        begin = np.int64(add(g.counters, layout.BUMP, np.uint32(ahead)))
        end = begin + ahead
    g.owner[begin] = owner
    return begin, begin + 1, end


@inner
def release(g, slab):
    """Empty a slab in place and count it as free. It stays in the list ``g.touched``, but no slot counts as new."""
    base = slab * g.words
    for j in range(g.words):
        g.pool[base + j] = KEY_EMPTY
    g.owner[slab] = KEY_EMPTY
    if g.marked:
        g.fresh[slab] = np.int64(g.fresh[slab]) & layout.LISTED_BIT
    add(g.counters, layout.FREED, np.uint32(1))


@inner
def release_chains(g, head, count):
    """Free the chains of the ``count`` buckets whose head slabs are ``head``, ``head + 1``, and so on."""
    for k in range(count):
        slab = head + k
        while slab >= 0:
            after = following(g, slab)
            release(g, slab)
            slab = after


@inner
def mark_slot(g, slot):
    """Record in ``g.fresh`` and ``g.touched`` that the key at index ``slot`` in the pool is new since the mark."""
    slab = slot >> trailing_zeros(g.words)
    before = np.int64(g.fresh[slab])
    if before & layout.LISTED_BIT == 0:
        g.touched[add(g.counters, layout.TOUCHED, np.uint32(1))] = slab
    g.fresh[slab] = before | layout.LISTED_BIT | 1 << (slot & (g.words - 1))


@inner
def fresh_slots(g, slab):
    """Return the mask of the key slots of ``slab`` that were inserted into since the mark."""
    return np.int64(g.fresh[slab]) & (layout.LISTED_BIT - 1) if g.marked else np.int64(0)


@inner
def extend(g, slab):
    """Put a new slab behind ``slab``, the last of its chain, and return the new slab."""
    after = allocate(g, g.owner[slab])
    g.pool[slab * g.words + g.keys] = after
    return after


@inner
def append(g, slab, v, weights, word, fresh):
    """Add key ``v``, with the weight at ``weights[word:]``, to the chain of head slab ``slab``, which lacks ``v``.

    Weights are 32-bit words. With ``fresh`` the edge counts as inserted since the mark. The chain has no tombstones,
    since nothing was deleted from it.
    """
    slot = np.int64(-1)
    while slot < 0:
        empty = match(g, slab * g.words, KEY_EMPTY)
        if empty:
            slot = slab * g.words + trailing_zeros(empty)
            break
        after = following(g, slab)
        if after < 0:
            after = extend(g, slab)
            slot = after * g.words
        slab = after
    g.pool[slot] = v
    for t in range(g.weight_words):
        g.pool[weight_of(g, slot) + t] = weights[word + t]
    if fresh:
        mark_slot(g, slot)


@inner
def move_slab(old, slab, g, head, count):
    """Copy the edges in slab ``slab`` of the arrays ``old`` to arrays ``g``, with weights and bits of ``fresh``.

    They go to the ``count`` buckets whose head slabs begin at ``head`` in ``g``.
    """
    base, fresh = slab * old.words, fresh_slots(old, slab)
    for j in range(old.keys):
        v = old.pool[base + j]
        if v < KEY_TOMBSTONE:
            append(g, head + bucket_of(v, count), v, old.pool, weight_of(old, base + j), fresh >> j & 1)


# -- rehashing ---------------------------------------------------------------------------------------------------------


@inner
def carve(g, count):
    """Take ``count`` consecutive slabs that were never used; return the first one, or -1 if the pool has fewer."""
    first = g.counters[layout.BUMP]
    while np.int64(first) + count <= g.capacity:
        if exchange(g.counters, layout.BUMP, first, np.uint32(np.int64(first) + count)):
            return np.int64(first)
        first = g.counters[layout.BUMP]
    return np.int64(-1)


@kernel
def rehash(g, v, per_bucket, quota):
    """Move vertex ``v`` to more buckets in place; return the number of slabs spent, or -1 if that is above ``quota``.

    ``per_bucket`` is the number of edges that a bucket is sized for. Spent are the new head slabs, and as many slabs as
    the vertex had: all its old slots may have been reserved for edges of the batch that are still to come.
    """
    head, count = first_slab(head_word(g, v)), bucket_count(g, v)
    degree = np.int64(g.vertex[degree_place(v)])
    code = encode(np.int64(np.ceil(degree * layout.REHASH_GROWTH / per_bucket)))
    heads = decode(code)
    need = heads
    for k in range(count):
        slab = head + k
        while slab >= 0:
            need += 1
            slab = following(g, slab)
    target = carve(g, heads) if need <= quota else np.int64(-1)
    if target < 0:
        add(g.counters, layout.DENIED, np.uint32(need))
        return np.int64(-1)
    g.owner[target : target + heads] = v
    for k in range(count):
        slab = head + k
        while slab >= 0:
            move_slab(g, slab, g, target, heads)
            slab = following(g, slab)
    release_chains(g, head, count)
    set_head(g, v, target, code)
    return need


@inner
def has_outgrown(g, v, per_bucket):
    """Return whether ``v`` is to be rehashed: it has over ``REHASH_AT`` times ``per_bucket`` edges per bucket."""
    return g.vertex[degree_place(v)] > layout.REHASH_AT * bucket_count(g, v) * per_bucket


# -- batches -----------------------------------------------------------------------------------------------------------


@inner
def fetch_slab(g, slab):
    """Prefetch a slab, which is in one or two cache lines of 64 bytes."""
    prefetch(g.pool, slab * g.words)
    if g.words > 16:
        prefetch(g.pool, slab * g.words + 16)


@inner
def fetch(g, src, dst, start, heads, i):
    """Prefetch the memory that the edges ``FAR``, ``MIDWAY`` and ``NEAR`` places after the i-th will read first.

    Call it for every ``i`` from ``start - FAR`` on, so that the edges from ``start`` on are prefetched as well.
    ``heads`` (int64[RING], changed in place) is a ring buffer: entry ``i % RING`` is the head slab of the chain of edge
    i (-1: no storage).
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
            after = following(g, slab)
            fetch_slab(g, slab if after < 0 else after)  # again, which costs less than a branch


@inner
def survey(g, slab, v):
    """Walk the chain from ``slab`` on; return the slot of key ``v``, the first free slot, the last slab, and a length.

    The length is the number of slabs. A slot is an index in ``g.pool``, -1 if there is none. If the key is found the
    walk ends, and only its slot is meaningful.
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
        slab = following(g, slab)
    return np.int64(-1), free, last, length


@kernel
def insert_edges(g, src, dst, weights, existing, start, ahead, policy, heads, status, before):
    """Insert edges from index ``start`` on, and rehash vertices within ``policy``'s quota; return the index reached.

    The parameters are described above, at the top of the module. The index is short of the end if a vertex has outgrown
    its buckets and the quota is used up. A new key goes to the first free slot of its chain. Slabs that were taken
    ahead and not used are freed.
    """
    quota, hashing, per_bucket = policy
    size, left, end = g.weight_words, np.int64(0), np.int64(0)
    for i in range(start - FAR, len(src)):
        fetch(g, src, dst, start, heads, i)
        if i < start:
            continue
        u, v = src[i], dst[i]
        head = heads[i & (RING - 1)]
        if head < 0:
            head = head_of(g, u, v)  # an edge since then may have been the first of its vertex
        if head < 0:
            head, left, end = take(g, u, left, end, ahead)
            put_head(g, u, head)
        slot, free, last, length = survey(g, head, v)
        if slot >= 0:
            at, same = weight_of(g, slot), True
            for t in range(size):
                before[i * size + t] = g.pool[at + t]
                same &= g.pool[at + t] == weights[i * size + t]
                g.pool[at + t] = weights[i * size + t]
            status[i] = UNCHANGED if same else REPLACED
            if size > 0:
                existing[existing[len(src)]] = i
                existing[len(src)] += np.uint32(1)
            continue
        slot = free
        if free < 0:
            slab, left, end = take(g, u, left, end, ahead)
            g.pool[last * g.words + g.keys] = slab
            slot = slab * g.words
        g.pool[slot] = v
        for t in range(size):
            g.pool[weight_of(g, slot) + t] = weights[i * size + t]
        g.vertex[degree_place(u)] += np.uint32(1)
        status[i] = NEW
        if g.marked:
            mark_slot(g, slot)
        grown = free < 0 and length + 1 >= layout.REHASH_CHAIN
        if grown and hashing and quota >= 0 and has_outgrown(g, u, per_bucket):
            used = rehash(g, u, per_bucket, quota)
            if used < 0:
                add(g.counters, layout.FREED, np.uint32(end - left))
                return i + 1
            quota -= used
            for j in range(i + 1, min(i + MIDWAY + 1, len(src))):
                heads[j & (RING - 1)] = head_of(g, src[j], dst[j])
    add(g.counters, layout.FREED, np.uint32(end - left))
    return len(src)


@inner
def locate(g, slab, v):
    """Return the slot of key ``v`` in the chain from slab ``slab`` on (-1: no chain); -1 if the key is not there."""
    while slab >= 0:
        hits = match(g, slab * g.words, v)
        if hits:
            return slab * g.words + trailing_zeros(hits)
        slab = following(g, slab)
    return np.int64(-1)


@kernel
def delete_edges(g, src, dst, heads, status, before):
    """Turn the keys of the edges into tombstones; write ``status`` of the deleted ones and their weights to ``before``.

    The status of an edge that is not stored is left as it is.
    """
    size = g.weight_words
    for i in range(-FAR, len(src)):
        fetch(g, src, dst, np.int64(0), heads, i)
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
def find_edges(g, src, dst, heads, found, result, first, last):
    """Look up edges with indices ``[first, last)``; write ``found[i]``, and weights of stored edges to ``result``."""
    size = g.weight_words
    for i in range(first - FAR, last):
        fetch(g, src, dst, first, heads, i)
        if i < first:
            continue
        slot = locate(g, heads[i & (RING - 1)], dst[i])
        found[i] = slot >= 0
        if slot >= 0:
            for t in range(size):
                result[i * size + t] = g.pool[weight_of(g, slot) + t]
