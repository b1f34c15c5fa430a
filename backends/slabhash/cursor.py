"""Cursor of ``slabhash`` for Numba: units are buckets, spans are slabs, slots are words of the pool."""

from __future__ import annotations

import numpy as np
from numba import njit

from suricate.backends.slabhash.vector import match8, prefetch, trailing_zeros
from suricate.store import EMPTY

KEY_EMPTY = np.uint32(EMPTY)
AHEAD = 8  # buckets ahead at which the second slab is prefetched


@njit(inline="always")
def decode(code):
    """Return the bucket count that a 16-bit code stands for."""
    code = np.int64(code)
    return (code & 0x7FF) << ((code >> 11) & 15)


@njit(inline="always")
def bucket_of(v, count):
    """Return the bucket, below ``count``, of destination ``v``: multiply, mix, scale."""
    h = (np.int64(v) * 0x9E3779B1) & 0xFFFFFFFF
    h ^= h >> 15
    h = (h * 0x85EBCA77) & 0xFFFFFFFF
    h ^= h >> 13
    return (h * count) >> 32


@njit(inline="always")
def match_words(g, base, v):
    """Return a mask whose low ``g.keys`` bits are the key slots that hold ``v``, of the slab with first word ``base``.

    Slabs of 8 and 16 words are compared more than once instead of by way of a branch: between ``g.pool`` and its use
    in the same basic block Numba does not count references.
    """
    second = (g.words >> 1 | g.words >> 2) & 8
    third = g.words >> 1 & 16
    low = match8(g.pool, base, v) | match8(g.pool, base + second, v) << 8
    return low | match8(g.pool, base + third, v) << 16 | match8(g.pool, base + third + (third >> 1), v) << 24


@njit(inline="always")
def degree(g, u):
    """Return the number of out-edges of ``u``."""
    return np.int64(g.degree[u])


@njit(inline="always")
def units(g, u):
    """Return the number of buckets; 0 for a vertex without storage."""
    return np.int64(0) if g.first_slab[u] == KEY_EMPTY else decode(g.buckets[u])


@njit(inline="always")
def first(g, u, k):
    """Return the cursor at the head slab of bucket ``k``.

    Asks for slabs of the buckets behind it: heads are read in order of their addresses, second slabs are anywhere.
    """
    head = np.int64(g.first_slab[u]) + k
    last, half = len(g.owner) - 1, g.words >> 1
    far = min(head + 2 * AHEAD, last) * g.words
    after = np.int32(g.pool[np.uint64(min(head + AHEAD, last) * g.words + g.keys)])
    second = max(np.int64(after), np.int64(0)) * g.words  # slab 0 if there is none, which costs less than a branch
    prefetch(g.pool, far)
    prefetch(g.pool, far + half)
    prefetch(g.pool, second)
    prefetch(g.pool, second + half)
    return head


@njit(inline="always")
def begin(g, c):
    """Return the first key slot of slab ``c``."""
    return c * g.words


@njit(inline="always")
def end(g, c):
    """Return one past the last used key slot of slab ``c``: EMPTY is at the tail only."""
    base = c * g.words
    return base + trailing_zeros(match_words(g, base, KEY_EMPTY) | (1 << g.keys))


@njit(inline="always")
def following(g, c):
    """Return the next slab of the bucket, or -1."""
    after = g.pool[np.uint64(c * g.words + g.keys)]
    return np.int64(-1) if after == KEY_EMPTY else np.int64(after)


@njit(inline="always")
def key(g, i):
    """Return the word in slot ``i``."""
    return g.pool[np.uint64(i)]


@njit(inline="always")
def weight(g, i):
    """Return the weight of slot ``i``."""
    wide = g.weight.itemsize >> 3
    return g.weight[np.uint64((i + (i & (g.words - 1)) * wide + g.weight_offset) >> wide)]


@njit
def find(g, u, v):
    """Return the slot of edge ``(u, v)``, or -1."""
    head = g.first_slab[u]
    if head == KEY_EMPTY:
        return np.int64(-1)
    s = np.int64(head) + bucket_of(v, decode(g.buckets[u]))
    while True:
        hits = match_words(g, s * g.words, np.uint32(v)) & ((1 << g.keys) - 1)
        if hits:
            return s * g.words + trailing_zeros(hits)
        after = g.pool[s * g.words + g.keys]
        if after == KEY_EMPTY:
            return np.int64(-1)
        s = np.int64(after)
