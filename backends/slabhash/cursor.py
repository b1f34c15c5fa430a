"""Cursor of ``slabhash`` for Numba: spans are slabs, slots are words of the pool."""

from __future__ import annotations

import numpy as np

from suricate.backends.slabhash import layout
from suricate.base.types import EMPTY, TOMBSTONE
from suricate.cpu.jit import inner
from suricate.cpu.plain import int64, uint64
from suricate.cpu.prefetch import prefetch
from suricate.cpu.scratch import scratch
from suricate.cpu.vector import copy8, match8, trailing_zeros

KEY_EMPTY = np.uint32(EMPTY)
LEADING_ONE = 1 << layout.MANTISSA_BITS
MOST = 128  # keys that are copied before they are looked up
AHEAD = 8  # buckets ahead at which the second slab is prefetched


@inner
def decode(code):
    """Return the bucket count that a code stands for."""
    exponent, mantissa = int64(code) >> layout.MANTISSA_BITS, int64(code) & (LEADING_ONE - 1)
    return (mantissa | LEADING_ONE) << (exponent - 1) if exponent else mantissa


@inner
def head_place(u):
    """Return the index in ``vertex`` of the head word of ``u``."""
    return uint64(2) * uint64(u)


@inner
def head_word(g, u):
    """Return the head word of ``u``, which is stored inverted: EMPTY, or its first slab with the flag SEVERAL."""
    return np.uint32(g.vertex[head_place(u)] ^ KEY_EMPTY)


@inner
def put_head(g, u, word):
    """Store the head word of ``u``."""
    g.vertex[head_place(u)] = np.uint32(word) ^ KEY_EMPTY


@inner
def degree_place(u):
    """Return the index in ``vertex`` of the degree of ``u``."""
    return uint64(2) * uint64(u) + uint64(1)


@inner
def first_slab(word):
    """Return the first slab of the head word ``word``, which is not EMPTY."""
    return int64(word) & (layout.SEVERAL - 1)


@inner
def bucket_count(g, u):
    """Return the number of buckets of ``u``; 1 without storage."""
    return max(decode(g.buckets[u]), int64(1))


@inner
def bucket_of(v, count):
    """Return the bucket of destination ``v`` in a vertex of ``count`` buckets: a hash of ``v`` below ``count``."""
    h = (int64(v) * layout.HASH_FACTOR) & 0xFFFFFFFF
    h ^= h >> layout.HASH_SHIFT
    h = (h * layout.MIX_FACTOR) & 0xFFFFFFFF
    h ^= h >> layout.MIX_SHIFT
    return (h * count) >> 32


@inner
def match_words(g, base, v):
    """Return a mask of the key slots that hold ``v``; ``base`` is the index of the slab's first word in the pool.

    Only the low ``g.keys`` bits of the mask count. Slabs of 4 and 8 words are compared twice with the same words, which
    costs less than another branch.
    """
    second = (g.words >> 1 | g.words >> 2) & 8
    mask = match8(g.pool, base, v) | match8(g.pool, base + second, v) << 8
    if g.words > 16:
        mask |= match8(g.pool, base + 16, v) << 16 | match8(g.pool, base + 24, v) << 24
    return mask


@inner
def degree(g, u):
    """Return the number of out-edges of ``u``."""
    return int64(g.vertex[degree_place(u)])


@inner
def buckets(g, u):
    """Return the number of buckets of ``u``; 0 if it has no storage. Its bucket code is read only if it has several."""
    word = head_word(g, u)
    if word < layout.SEVERAL:
        return int64(1)
    return int64(0) if word == KEY_EMPTY else bucket_count(g, u)


@inner
def first(g, u, k):
    """Return the cursor at bucket ``k`` of ``u``: the number of its head slab.

    If ``u`` has several buckets, it prefetches the second slab of the bucket ``AHEAD`` places later: head slabs are
    consecutive in memory, second slabs are not.
    """
    word = head_word(g, u)
    head = first_slab(word) + k
    if word >= layout.SEVERAL:
        after = np.int32(g.pool[uint64(min(head + AHEAD, len(g.owner) - 1) * g.words + g.keys)])
        second = max(int64(after), int64(0)) * g.words  # slab 0 if there is none, which costs less than a branch
        prefetch(g.pool, second)
        prefetch(g.pool, second + (g.words >> 1))
    return head


@inner
def ahead(g, u):
    """Prefetch the first head slab of ``u``; 256 bytes from there on if ``u`` has several buckets."""
    word = head_word(g, u)
    base = min(first_slab(word), len(g.owner) - 1) * g.words
    prefetch(g.pool, base)
    if word >= layout.SEVERAL:
        prefetch(g.pool, base + 16)
        prefetch(g.pool, base + 32)
        prefetch(g.pool, base + 48)


@inner
def begin(g, c):
    """Return the first key slot of slab ``c``."""
    return c * g.words


@inner
def end(g, c):
    """Return one past the last used key slot of slab ``c``: EMPTY slots are behind all others."""
    base = c * g.words
    return base + trailing_zeros(match_words(g, base, KEY_EMPTY) | (1 << g.keys))


@inner
def run(g, u):
    """Return the first slot of the edges of ``u`` if they are all that its only slab holds; else -1."""
    word, count = head_word(g, u), degree(g, u)
    if word >= layout.SEVERAL or count > g.keys:
        return int64(-1)
    base = int64(word) * g.words
    behind = g.pool[uint64(base + count)] & g.pool[uint64(base + g.keys)]  # EMPTY slots are behind all others
    return base if behind == KEY_EMPTY else int64(-1)


@inner
def copied(g, c, into, at):
    """Copy the keys of slab ``c`` to ``into[at:]``; return the index behind the last one.

    Words of ``into`` behind that index may change, too: up to 32 words from ``at`` on.
    """
    base = c * g.words
    second = (g.words >> 1 | g.words >> 2) & 8
    copy8(into, at, g.pool, base)
    copy8(into, at + second, g.pool, base + second)
    if g.words > 16:
        copy8(into, at + 16, g.pool, base + 16)
        copy8(into, at + 24, g.pool, base + 24)
    return at + end(g, c) - base


@inner
def copied_weights(g, c, into, at, count):
    """Copy the first ``count`` weights of slab ``c`` to ``into[at:]``; up to 7 places behind them may change, too."""
    base = c * g.words
    if g.words > 8 and g.weight.itemsize == 4:
        for i in range(0, count, 8):
            copy8(into, at + i, g.weight, base + g.weight_offset + i)
    else:
        for i in range(count):
            into[uint64(at + i)] = weight(g, base + i)


@inner
def following(g, c):
    """Return the slab behind slab ``c`` in its chain, or -1."""
    after = g.pool[uint64(c * g.words + g.keys)]
    return int64(-1) if after == KEY_EMPTY else int64(after)


@inner
def key(g, i):
    """Return the word in slot ``i``: a destination, EMPTY or TOMBSTONE."""
    return g.pool[uint64(i)]


@inner
def weight(g, i):
    """Return the weight of slot ``i``."""
    wide = g.weight.itemsize >> 3
    return g.weight[uint64((i + (i & (g.words - 1)) * wide + g.weight_offset) >> wide)]


@inner
def find(g, u, v):
    """Return the slot of edge ``(u, v)``, or -1."""
    s = int64(head_word(g, u))
    if s == EMPTY:
        return int64(-1)
    if s & layout.SEVERAL:
        s += bucket_of(v, bucket_count(g, u)) - layout.SEVERAL
    while True:
        hits = match_words(g, s * g.words, np.uint32(v)) & ((1 << g.keys) - 1)
        if hits:
            return s * g.words + trailing_zeros(hits)
        after = g.pool[uint64(s * g.words + g.keys)]
        if after == KEY_EMPTY:
            return int64(-1)
        s = int64(after)


@inner
def listed(g, u, keys, count, into, found):
    """Append those of ``keys[:count]`` that are neighbours of ``u`` to ``into``, which has ``found`` entries.

    Return the new number of entries. All head slabs are prefetched before the first one is read.
    """
    word, several, heads = int64(head_word(g, u)), bucket_count(g, u), scratch()
    head, several = word & (layout.SEVERAL - 1), several if word & layout.SEVERAL else 1
    for i in range(uint64(count)):
        heads[i] = head + bucket_of(keys[i], several)
        prefetch(g.pool, int64(heads[i]) * g.words)
    for i in range(uint64(count)):
        x, base = keys[i], int64(heads[i]) * g.words
        hits = match_words(g, base, x) & ((1 << g.keys) - 1)
        if x < TOMBSTONE:
            into[found] = x
            if g.pool[uint64(base + g.keys)] == KEY_EMPTY:
                found += uint64(hits != 0)
            else:
                found += uint64(hits != 0 or find(g, u, x) >= 0)
    return found


@inner
def common(g, u, v, into):
    """Write the neighbours of ``v`` that ``u`` has as well to ``into``; return the number of these."""
    keys, count, found = scratch(), 0, uint64(0)
    if head_word(g, u) == KEY_EMPTY:
        return found
    for k in range(buckets(g, v)):
        c = first(g, v, k)
        while c >= 0:
            count = copied(g, c, keys, count)
            c = following(g, c)
            if count > MOST:
                found, count = listed(g, u, keys, count, into, found), 0
    return listed(g, u, keys, count, into, found)


@inner
def updated_count(g):
    """Return the number of slabs that were inserted into since the mark."""
    return int64(g.counters[layout.TOUCHED])


@inner
def updated_segment(g, i):
    """Return the cursor at the ``i``-th slab that was inserted into since the mark."""
    return int64(g.touched[uint64(i)])


@inner
def segment_owner(g, c):
    """Return the vertex whose edges slab ``c`` holds; EMPTY if it is free."""
    return g.owner[uint64(c)]


@inner
def is_fresh(g, i):
    """Return whether the key in slot ``i`` was inserted since the mark."""
    slab = uint64(i) >> uint64(trailing_zeros(g.words))
    return (int64(g.fresh[slab]) >> (i & (g.words - 1))) & 1 == 1
