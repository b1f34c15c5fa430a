"""The layout of ``slabhash``, shared by both devices: the geometry of a slab, and the arrays of a store.

A slab is 4, 8, 16 or 32 words of 4 bytes: keys (destinations) first, the index of the next slab of the bucket behind
the last key, then the weights, aligned to their size. Without weights a slab is the concurrent set of the SlabHash
paper, with weights its map.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from suricate.base.devices import Array

SLAB_BYTES = (16, 32, 64, 128)

# Places in the array of counters, uint32[NUM_COUNTERS].
BUMP = 0  #: slabs below this index are or were in use
LISTED = 1  #: length of the list of free slabs
TAKEN = 2  #: how many of the list were taken again
FREED = 3  #: free slabs below BUMP that are not in the list (yet)
DENIED = 4  #: slabs whose allocation was denied during rehashing
TOUCHED = 5  #: length of the list of slabs that were inserted into since the mark
# CUDA, within one insertion; zero before and after it.
QUEUED = 6  #: vertices to rehash
DEFERRALS = 7  #: edges deferred until their vertex has more buckets
MOVES = 8  #: buckets to move
EXISTING = 9  #: edges that were there already
SPENT = 12  #: slabs that rehashing has reserved, 64 bits
HEADS = 14  #: heads among them
# CUDA, grid-wide barriers, apart from the others, as blocks poll them while they count; each with a word beside it.
ARRIVED = 32  #: the barriers inside an insertion or deletion
REJECTED = 33  #: number of the last call whose batch was rejected by the kernel that was to apply it
ENDED = 34  #: the barrier that ends an insertion
EPILOGUE = 35  #: whether the insertion needs its epilogue; zero between batches
NUM_COUNTERS = 64
BATCH_COUNTERS = (QUEUED, DEFERRALS, MOVES, EXISTING, SPENT, SPENT + 1, HEADS, EPILOGUE)  #: zero between batches
BARRIER_FLAG = 1 << 31  #: of the counter of a barrier: flips with every barrier

SEVERAL = 1 << 31  #: flag of a head word: the vertex has more than one bucket
MAX_SLABS = SEVERAL - 2
LISTED_BIT = 1 << 31  #: of a word of ``fresh``: the slab is in the list of touched ones

# A bucket code is a bucket count in 10 bits: exact below 64, then MANTISSA_BITS after the leading one, and an exponent.
MANTISSA_BITS = EXPONENT_BITS = 5
QUEUED_FLAG = 1 << 15  #: CUDA: of a code, while the vertex waits to be rehashed

# The bucket of a destination: multiply, shift and mix, multiply, shift and mix, scale.
HASH_FACTOR, HASH_SHIFT = 0x9E3779B1, 15
MIX_FACTOR, MIX_SHIFT = 0x85EBCA77, 13

REHASH_CHAIN = 3  #: length of a chain, in slabs, at which its vertex is checked,
LONG_CHAIN = 1.5  #: on CUDA: and holds this many times the keys that a bucket may grow to,
REHASH_AT = 1.7  #: and rehashed when it has this many times the edges that its buckets are sized for;
REHASH_GROWTH = 1.5  #: it gets buckets for this many times its edges,
SHRINK_AT = 2  #: also when it has this many times as many


@dataclass(frozen=True)
class Geometry:
    """A slab of ``words`` words of 32 bits: ``keys`` keys, the next slab, and weights from word ``weight_offset`` on.

    ``weight_words`` is the size of a weight in words (0: no weights). On CUDA a tile of ``lanes`` lanes loads the keys
    and the next pointer of a slab, ``lane_words`` words (1 or 4) each.
    """

    words: int
    keys: int
    weight_words: int
    weight_offset: int
    lanes: int
    lane_words: int


def geometry(slab_bytes: int, weight_dtype: np.dtype | None, *, warp: bool = False) -> Geometry:
    """Return the geometry of slabs of 16, 32, 64 or 128 bytes for weights of ``weight_dtype`` (None: no weights).

    With ``warp`` the 32 lanes of a warp serve a slab, 4 bytes each, as in the papers; else few lanes, 16 bytes each.
    """
    words = slab_bytes // 4
    weight_words = 0 if weight_dtype is None else weight_dtype.itemsize // 4
    keys = (words - 1) // (1 + weight_words)
    offset = keys + 1 + (keys + 1) % max(1, weight_words)
    lanes = 32 if warp else 1 << (math.ceil((keys + 1) / 4) - 1).bit_length()
    return Geometry(words, keys, weight_words, offset, lanes, 1 if warp else 4)


@cache
def macros(shape: Geometry) -> dict[str, int]:
    """Return the fields of a geometry as macros for CUDA sources: ``{name: value}``."""
    return {
        "SLAB_WORDS": shape.words,
        "SLAB_KEYS": shape.keys,
        "SLAB_LANES": shape.lanes,
        "LANE_WORDS": shape.lane_words,
        "WEIGHT_WORDS": shape.weight_words,
        "WEIGHT_OFFSET": shape.weight_offset,
    }


def fitting_slab(mean_degree: float, weight_dtype: np.dtype | None) -> int:
    """Return the slab size in bytes for vertices of degree ``mean_degree`` (0: unknown), weights of ``weight_dtype``.

    It is the smallest of 16 (only without weights), 32 and 64 bytes that holds all edges of such a vertex. If none
    does, or the degree is unknown, it is 128 with weights; without weights 64 up to the edges that fill eight slabs of
    64 bytes, else 128.
    """
    if weight_dtype is None and 0 < mean_degree <= geometry(16, None).keys:
        return 16
    if 0 < mean_degree <= geometry(32, weight_dtype).keys:
        return 32
    narrow = geometry(64, weight_dtype).keys * (8 if weight_dtype is None else 1)
    return 64 if mean_degree <= narrow and (mean_degree > 0 or weight_dtype is None) else 128


class Slabs(NamedTuple):
    """All arrays of a store, and the constants that kernels need to read them; the same on both devices.

    Attributes:
        pool: uint32[capacity * words], aligned to 128 bytes; unused words are EMPTY.
        owner: uint32[capacity]: the vertex of each slab, EMPTY for free slabs.
        vertex: uint32[2 * vertices]: at 2 v the head word, with all bits inverted: EMPTY (no storage yet) or the first
            slab of v, with the flag SEVERAL if it has more than one bucket; at 2 v + 1 the degree.
        buckets: uint16 per vertex: the encoded number of buckets; 0 as well as 1 is one bucket, or no storage. So zeros
            are a vertex without storage. Kernels read it only with SEVERAL.
        counters: uint32[64]; the constants ``BUMP`` to ``EPILOGUE`` of this module are the places in it.
        free_list: uint32: free slabs that are taken again before new ones.
        fresh, touched: uint32[capacity], empty until the first mark, which sets ``marked`` to 1: bit j of ``fresh[s]``:
            the key in slot j was inserted since the mark; LISTED_BIT: slab s is in ``touched``.
        capacity: number of slabs.
        words, keys, weight_words, weight_offset: as in :class:`Geometry`.
    """

    pool: Array
    owner: Array
    vertex: Array
    buckets: Array
    counters: Array
    free_list: Array
    fresh: Array
    touched: Array
    capacity: int
    marked: int
    words: int
    keys: int
    weight_words: int
    weight_offset: int


_NONE = np.zeros(0, np.uint32)
#: no arrays, of the dtypes that they have
NO_SLABS = Slabs(
    pool=_NONE, owner=_NONE, vertex=_NONE, buckets=np.zeros(0, np.uint16), counters=_NONE, free_list=_NONE,
    fresh=_NONE, touched=_NONE, capacity=0, marked=0, words=0, keys=0, weight_words=0, weight_offset=0,
)  # fmt: skip


class SlabView(NamedTuple):
    """The arrays of a store that cursors read, and three constants of :class:`Geometry`; see also :class:`Slabs`.

    ``weight`` is the pool in the weight dtype (uint32 if there are no weights); the slot of an edge is the index of its
    key in ``pool``. The first weight of a slab is at its word ``weight_offset``.
    """

    pool: Array
    weight: Array
    owner: Array
    vertex: Array
    buckets: Array
    counters: Array
    fresh: Array
    touched: Array
    words: int
    keys: int
    weight_offset: int
