"""The layout of ``slabhash``, shared by both devices: the geometry of a slab, and the arrays of a store.

A slab is 8, 16 or 32 words of 4 bytes: keys (destinations) first, the index of the next slab of the bucket behind the
last key, then the weights, aligned to their size. Without weights a slab is the concurrent set of the SlabHash paper,
with weights its map.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from suricate.devices import Array

SLAB_BYTES = (32, 64, 128)

# Places in the array of counters (uint32[NUM_COUNTERS]); others belong to one insertion on CUDA: see slab_layout.cuh.
BUMP = 0  #: slabs below this index are or were in use
LISTED = 1  #: length of the list of free slabs
TAKEN = 2  #: how many of the list were taken again
FREED = 3  #: free slabs below BUMP that are not in the list (yet)
WANTED = 4  #: slabs that re-buckets asked for in vain
TOUCHED = 5  #: length of the list of slabs that were inserted into since the mark
ARRIVED = 32  #: CUDA: grid-wide barrier, apart from the others, as blocks poll it while they count
REFUSED = 33  #: CUDA: number of the last call whose batch was refused in the kernel that was to apply it
ENDED = 34  #: CUDA: the barrier that ends an insertion
UNDONE = 35  #: CUDA: whether an insertion has more to do behind it
NUM_COUNTERS = 64
OWN = [6, 7, 8, 9, 12, 13, 14, UNDONE]  #: CUDA: zero between batches

SEVERAL = 1 << 31  #: flag of a head word: the vertex has more than one bucket
MAX_SLABS = SEVERAL - 2

# A bucket code is a bucket count in 10 bits: exact up to 63, then 5 bits behind the leading one, and an exponent.
MANTISSA_BITS = 5
QUEUED_FLAG = 1 << 15  #: CUDA: of a code, while the vertex waits to be re-bucketed
GROWTH = 1.7  #: a vertex is re-bucketed when it has this many times the edges that its buckets are sized for ...
GROWTH_ROOM = 1.5  #: ... and gets buckets for this many times its edges
FLAG_CHAIN = 3  #: below this many slabs nothing is looked at
LISTED_BIT = 1 << 31  #: of a word of ``fresh``: the slab is in the list of touched ones


@dataclass(frozen=True)
class Geometry:
    """A slab of ``words`` words: keys in ``[0, keys)``, next slab at ``keys``, weights from ``weight_offset`` on.

    ``weight_words`` is the size of a weight in words (0: no weights). On CUDA a tile of ``lanes`` lanes, with
    ``lane_words`` words (1 or 4) each, loads the keys and the next pointer of a slab.
    """

    words: int
    keys: int
    weight_words: int
    weight_offset: int
    lanes: int
    lane_words: int


def geometry(slab_bytes: int, weight_dtype: np.dtype | None, *, warp: bool = False) -> Geometry:
    """Return the geometry of slabs of 32, 64 or 128 bytes for weights of ``weight_dtype`` (None: no weights).

    ``warp`` has a slab served by all 32 lanes of a warp with 4 bytes each, as in the papers, instead of as few as can
    be with 16 bytes each.
    """
    words = slab_bytes // 4
    weight_words = 0 if weight_dtype is None else weight_dtype.itemsize // 4
    keys = (words - 1) // (1 + weight_words)
    offset = keys + 1 + (keys + 1) % max(1, weight_words)
    lanes = 32 if warp else 1 << (math.ceil((keys + 1) / 4) - 1).bit_length()
    return Geometry(words, keys, weight_words, offset, lanes, 1 if warp else 4)


def macros(shape: Geometry) -> dict[str, int]:
    """Return a geometry as macros for CUDA sources."""
    return {
        "SLAB_WORDS": shape.words,
        "SLAB_KEYS": shape.keys,
        "SLAB_LANES": shape.lanes,
        "LANE_WORDS": shape.lane_words,
        "WEIGHT_WORDS": shape.weight_words,
        "WEIGHT_OFFSET": shape.weight_offset,
    }


def fitting_slab(mean_degree: float, weight_dtype: np.dtype | None, load_factor: float) -> int:
    """Return the slab width for an expected degree (0: unknown).

    One slab of 32 or 64 bytes if that holds the edges; else 64 bytes without weights, 128 for hubs only, and 128 with
    weights, so that there are 10 to 15 keys to a slab either way.
    """
    if 0 < mean_degree <= load_factor * geometry(32, weight_dtype).keys:
        return 32
    narrow = geometry(64, weight_dtype).keys * load_factor * (8 if weight_dtype is None else 1)
    return 64 if mean_degree <= narrow and (mean_degree > 0 or weight_dtype is None) else 128


class Slabs(NamedTuple):
    """All arrays of a store, and what kernels need to know about them; the same on both devices.

    ``pool`` uint32[capacity * words] (aligned to 128 bytes; what is unused is EMPTY); ``owner`` uint32[capacity], EMPTY
    for free slabs. ``vertex`` uint32[2 * vertices]: at 2 v the head word, which is EMPTY (no storage yet) or the first
    slab of v, with the flag SEVERAL if it has more than one bucket; at 2 v + 1 the degree. ``buckets`` uint16 per
    vertex (encoded; 1 without storage; read only with that flag). ``counters`` uint32[64]; ``free_list`` uint32.
    ``fresh`` and ``touched`` are uint32[capacity], empty until the first mark, which sets ``marked`` to 1: bit j of
    ``fresh[s]`` says that the key in slot j was inserted since the mark, LISTED_BIT that slab s is in ``touched``.
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


class SlabView(NamedTuple):
    """Arrays of the view; a part of :class:`Slabs`.

    ``weight`` is the pool in the weight dtype (uint32 if there are no weights); the slot of an edge is the index of its
    key in ``pool``. ``weight_offset`` is the word of the first weight of a slab.
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
