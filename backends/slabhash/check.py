"""The invariants of ``slabhash``, verified on the CPU over the arrays of a store."""

from __future__ import annotations

import numpy as np

from suricate.backends.slabhash import layout
from suricate.backends.slabhash.cursor import KEY_EMPTY, bucket_count, bucket_of, degree_place, first_slab, head_word
from suricate.backends.slabhash.layout import BUMP, FREED, LISTED, LISTED_BIT, SEVERAL, TAKEN, TOUCHED, Slabs
from suricate.backends.slabhash.loops import KEY_TOMBSTONE
from suricate.base.types import EMPTY
from suricate.cpu.jit import allocating_kernel
from suricate.errors import require
from suricate.store.own_rows import ALL, Rows, without

CHAIN_INVARIANTS = (
    "",
    "heads and next pointers are slabs below the bump counter",
    "every slab is reachable once",
    "every slab knows its owner",
    "empty slots are at the tail of a chain only",
    "every destination is below num_vertices",
    "every key is in the bucket of its hash",
    "every edge is stored once",
    "degrees are exact",
    "a vertex without storage has no edges and one bucket",
    "a head word says whether there are several buckets",
)


@allocating_kernel
def check_chains(g, num_vertices, reached):
    """Walk all chains; return ``(i, v)`` if invariant i of ``CHAIN_INVARIANTS`` is broken at vertex v, else ``(0, 0)``.

    ``g``: arrays of a store of ``num_vertices`` vertices. ``reached`` (bool per slab, False before): set for slabs
    visited.
    """
    bump = np.int64(g.counters[BUMP])
    holder = np.zeros(num_vertices, np.int64)  # the last source, plus 1, that had this destination
    for v in range(num_vertices):
        edges = 0
        head, degree, count = head_word(g, v), g.vertex[degree_place(v)], bucket_count(g, v)
        if head == KEY_EMPTY:
            if degree != 0 or count != 1:
                return 9, v
            continue
        if (head & SEVERAL != 0) != (count > 1):
            return 10, v
        for k in range(count):
            slab, tail = first_slab(head) + k, False
            while slab >= 0:
                if slab >= bump:
                    return 1, v
                if reached[slab]:
                    return 2, v
                reached[slab] = True
                if g.owner[slab] != v:
                    return 3, v
                for slot in range(g.keys):
                    word = g.pool[slab * g.words + slot]
                    if word == KEY_EMPTY:
                        tail = True
                        continue
                    if tail:
                        return 4, v
                    if word == KEY_TOMBSTONE:
                        continue
                    if word >= num_vertices:
                        return 5, v
                    if bucket_of(word, count) != k:
                        return 6, v
                    if holder[word] == v + 1:
                        return 7, v
                    holder[word] = v + 1
                    edges += 1
                after = g.pool[slab * g.words + g.keys]
                if after != KEY_EMPTY and tail:
                    return 4, v
                slab = np.int64(-1) if after == KEY_EMPTY else np.int64(after)
        if edges != degree:
            return 8, v
    return 0, 0


def verify(slabs: Slabs, num_vertices: int, rows: Rows) -> None:
    """Raise ``CheckFailed`` if an invariant of a store does not hold; its arrays ``slabs`` are on the CPU."""
    counters = slabs.counters.astype(np.int64)
    bump, listed, taken, freed = (int(counters[at]) for at in (BUMP, LISTED, TAKEN, FREED))
    require(bump <= slabs.capacity, "the bump counter is within the pool")
    require(len(slabs.pool) == slabs.capacity * slabs.words, "the pool holds the slabs it is said to")
    require(len(slabs.vertex) == 2 * len(slabs.buckets), "there are a head word, a degree and a bucket code per vertex")
    require(len(slabs.buckets) >= num_vertices, "there are words for every vertex")
    require(slabs.capacity == 0 or slabs.pool.ctypes.data % 128 == 0, "the pool is aligned to 128 bytes")
    barriers = set(counters[[layout.ARRIVED, layout.ENDED]])
    require(barriers <= {0, layout.BARRIER_FLAG}, "no thread waits at a barrier between batches")
    require(not counters[list(layout.BATCH_COUNTERS)].any(), "an insertion leaves its own counters at zero")
    require(not (slabs.buckets & layout.QUEUED_FLAG).any(), "no vertex is queued between batches")
    for begin, end in without(ALL.clip(0, num_vertices), rows.kept).tolist():
        require(not slabs.vertex[2 * begin : 2 * end].any(), "rows that are not kept are empty")
        require(not slabs.buckets[begin:end].any(), "rows that are not kept have no buckets")
    reached = np.zeros(slabs.capacity, bool)
    broken, vertex = check_chains(slabs, num_vertices, reached)
    require(broken == 0, f"{CHAIN_INVARIANTS[broken]} (vertex {vertex})")
    _verify_free(slabs, reached, bump, max(0, listed - taken), freed)
    left = slabs.free_list[min(taken, listed) : listed]
    require(len(np.unique(left)) == len(left), "no slab is in the free list twice")
    require(not reached[left].any() and (not len(left) or left.max() < bump), "the free list holds free slabs")
    if slabs.marked:
        _verify_marks(slabs, int(counters[TOUCHED]))


def _verify_free(slabs: Slabs, reached: np.ndarray, bump: int, listed: int, freed: int) -> None:
    require(not (reached & (slabs.owner == KEY_EMPTY)).any(), "a slab in use has an owner")
    require(bool((slabs.owner[~reached] == KEY_EMPTY).all()), "every slab with an owner is reachable")
    free = slabs.pool.reshape(-1, slabs.words)[~reached]
    require(bool((free == KEY_EMPTY).all()), "free slabs are clean")
    require(int((~reached[:bump]).sum()) == listed + freed, "the counters know the number of free slabs")


def _verify_marks(slabs: Slabs, touched: int) -> None:
    require(len(slabs.fresh) == len(slabs.touched) == slabs.capacity, "there is a mask of marks for every slab")
    listed = np.flatnonzero(slabs.fresh & LISTED_BIT)
    require(
        np.array_equal(np.sort(slabs.touched[:touched]), listed), "touched slabs are those whose mask says so, once"
    )
    keys = slabs.pool.reshape(-1, slabs.words)[:, : slabs.keys]
    filled = (keys != EMPTY) @ (1 << np.arange(slabs.keys))
    fresh = slabs.fresh.astype(np.int64)
    require(not (fresh & ~filled & ~LISTED_BIT).any(), "marks are on slots that were filled only")
    require(bool((fresh[fresh > 0] & LISTED_BIT).all()), "a slab with marks is in the list")
