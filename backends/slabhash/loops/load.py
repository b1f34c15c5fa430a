"""Bulk loads on the CPU: the first edges of a store, sorted, go row by row into buckets that were sized for them.

Nothing is stored yet, so nothing is searched for: of duplicates the last one counts, and every bucket of the row at
hand has a place that is next. Threads load ranges of rows.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from suricate.backends.slabhash.cursor import bucket_count, bucket_of, degree_place, first_slab, head_word
from suricate.backends.slabhash.layout import Slabs
from suricate.backends.slabhash.loops import allocate, mark_slot, weight_of
from suricate.base.types import EMPTY, NEW, UNCHANGED
from suricate.cpu import threads
from suricate.cpu.jit import kernel
from suricate.intake.arrays import fill
from suricate.primitives.sorting import sort_batch

NO_ROW = np.uint64(EMPTY)  # no key has this source


class Load(NamedTuple):
    """A sorted batch for an empty store: ``keys[i]`` is source and destination of edge ``order[i]`` of the batch.

    ``src`` (the sources of the batch) and ``vertex`` (the store's array of that name, with planned buckets) tell which
    batch and store the load was made for. ``parts`` are ranges of keys, whole rows, a thread each;
    ``places`` has a row of scratch for each part, with an entry per bucket of a vertex.
    """

    src: np.ndarray
    vertex: np.ndarray
    keys: np.ndarray
    order: np.ndarray
    parts: list[threads.Range]
    places: np.ndarray

    @classmethod
    def of(cls, slabs: Slabs, src: np.ndarray, dst: np.ndarray, bits: int) -> Load:
        """Return the load of a batch (``src``, ``dst``) for the empty store ``slabs``, whose ids have ``bits`` bits.

        The batch is sorted, so :func:`suricate.primitives.sorting.can_sort` must hold, and cut into a part per thread.
        """
        keys, order = sort_batch(src, dst, bits)
        inner = [begin for begin, _ in threads.ranges(len(keys), threads.parts(len(keys)))[1:]]
        cuts = np.searchsorted(keys, keys[inner] >> np.uint64(32) << np.uint64(32)).tolist()
        parts = [part for part in pairwise([0, *cuts, len(keys)]) if part[0] < part[1]]
        most = int(bucket_count(slabs, int(np.argmax(slabs.buckets))))
        return cls(src, slabs.vertex, keys, order, parts, np.empty((len(parts), most), np.int64))

    def count_slabs(self, slabs: Slabs) -> int:
        """Return how many slabs of the store ``slabs`` the load needs besides the head slabs."""
        calls = [(slabs, self.keys, *part, own) for part, own in zip(self.parts, self.places, strict=True)]
        return sum(threads.run(_count_slabs, calls))

    def place(self, slabs: Slabs, words: np.ndarray, status: np.ndarray) -> None:
        """Insert all edges into the store ``slabs``, and write their ``status`` (uint8 per edge of the batch).

        ``words`` are the weights in the order of the batch, as 32-bit words.
        """
        fill(status, NEW)  # but for duplicates
        given = slabs, self.keys, self.order, words, status
        threads.run(_place, [(*given, *part, own) for part, own in zip(self.parts, self.places, strict=True)])


@kernel
def _count_slabs(g, keys, begin, end, used):
    """Return how many slabs the edges ``keys[begin:end]``, whole rows, need besides head slabs.

    ``keys`` are sorted: source in the upper 32 bits, destination in the lower. ``used`` (int64, an entry per bucket of
    any vertex) is scratch: the filled slots in the last slab of each bucket of a row.
    """
    row, count, total, last = NO_ROW, np.int64(0), 0, np.uint64(len(keys) - 1)
    for i in range(np.uint64(begin), np.uint64(end)):
        key = keys[i]
        if key >> np.uint64(32) != row:
            row = key >> np.uint64(32)
            count = bucket_count(g, row)
            used[:count] = 0
        if i == last or keys[i + np.uint64(1)] != key:
            k = np.uint64(bucket_of(np.uint32(key), count))
            full = used[k] == g.keys
            total += full
            used[k] = 1 if full else used[k] + 1
    return total


@kernel
def _place(g, keys, order, weights, status, begin, end, slots):
    """Insert the edges ``keys[begin:end]``, whole rows, into the planned, empty buckets of ``g``.

    Args:
        keys: sorted, source in the upper 32 bits, destination in the lower.
        order: the index of each key's edge in the batch.
        weights: of the batch, 32-bit words.
        status: of the batch; set to UNCHANGED for all but the last duplicate of an edge.
        slots: int64, an entry per bucket of any vertex; scratch: the index in ``g.pool`` where the next key of a bucket
            goes. If the last slab of the bucket is full, that is the word that links it to the next slab.
    """
    row, count, degree, last, size = NO_ROW, np.int64(0), np.uint32(0), np.uint64(len(keys) - 1), g.weight_words
    for i in range(np.uint64(begin), np.uint64(end)):
        key = keys[i]
        if key >> np.uint64(32) != row:
            if row != NO_ROW:
                g.vertex[degree_place(row)] = degree
            row, degree = key >> np.uint64(32), np.uint32(0)
            count, head = bucket_count(g, row), first_slab(head_word(g, row))
            for j in range(count):
                slots[j] = (head + j) * g.words
        if i != last and keys[i + np.uint64(1)] == key:
            status[order[i]] = UNCHANGED
            continue
        k = np.uint64(bucket_of(np.uint32(key), count))
        slot = slots[k]
        if slot & (g.words - 1) == g.keys:
            slab = allocate(g, row)
            g.pool[slot] = slab
            slot = slab * g.words
        slots[k] = slot + 1
        degree += np.uint32(1)
        g.pool[slot] = np.uint32(key)
        for t in range(size):
            g.pool[weight_of(g, slot) + t] = weights[np.int64(order[i]) * size + t]
        if g.marked:
            mark_slot(g, slot)
    if row != NO_ROW:
        g.vertex[degree_place(row)] = degree
