"""Cursor of ``slabhash`` for Numba: units are buckets, spans are slabs, slots are words of the pool."""

from __future__ import annotations

import numpy as np
from numba import njit

from suricate.backends.slabhash.vector import match8, trailing_zeros
from suricate.store import EMPTY

KEY_EMPTY = np.uint32(EMPTY)


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
def match(pool, base, keys, v):
    """Return the mask of the key slots, of the slab whose first word is ``base``, that hold ``v`` (uint32)."""
    hits = match8(pool, base, v)
    if keys > 7:
        hits |= match8(pool, base + 8, v) << 8
        if keys > 15:
            hits |= match8(pool, base + 16, v) << 16
            hits |= match8(pool, base + 24, v) << 24
    return hits & ((1 << keys) - 1)


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
    """Return the cursor at the head slab of bucket ``k``."""
    return np.int64(g.first_slab[u]) + k


@njit(inline="always")
def begin(g, c):
    """Return the first key slot of slab ``c``."""
    return c * g.words


@njit(inline="always")
def end(g, c):
    """Return one past the last key slot of slab ``c``."""
    return c * g.words + g.keys


@njit(inline="always")
def following(g, c):
    """Return the next slab of the bucket, or -1."""
    after = g.pool[c * g.words + g.keys]
    return np.int64(-1) if after == KEY_EMPTY else np.int64(after)


@njit(inline="always")
def key(g, i):
    """Return the word in slot ``i``."""
    return g.pool[i]


@njit(inline="always")
def weight(g, i):
    """Return the weight of slot ``i``."""
    j = i & (g.words - 1)
    base = i - j + g.weight_offset
    return g.weight[(base >> 1 if g.weight.itemsize == 8 else base) + j]


@njit
def find(g, u, v):
    """Return the slot of edge ``(u, v)``, or -1."""
    head = g.first_slab[u]
    if head == KEY_EMPTY:
        return np.int64(-1)
    s = np.int64(head) + bucket_of(v, decode(g.buckets[u]))
    while True:
        hits = match(g.pool, s * g.words, g.keys, np.uint32(v))
        if hits:
            return s * g.words + trailing_zeros(hits)
        after = g.pool[s * g.words + g.keys]
        if after == KEY_EMPTY:
            return np.int64(-1)
        s = np.int64(after)
