"""Trimming on the CPU: storage that deletions have left behind is freed, a range of the pool at a time.

A hand goes round the pool, as far as deletions have paid for (see ``Ledger.trimming``). A vertex is looked at when the
hand passes its first head: without edges it gives up its storage, with few for its buckets it gets fewer, and its
chains are closed up.
"""

from __future__ import annotations

import numpy as np

from suricate.backends.slabhash import loops
from suricate.backends.slabhash.cursor import (
    KEY_EMPTY,
    bucket_count,
    bucket_of,
    decode,
    degree_place,
    first_slab,
    following,
    head_place,
    head_word,
)
from suricate.backends.slabhash.layout import BUMP, REHASH_GROWTH, SHRINK_AT
from suricate.cpu.jit import inner, kernel
from suricate.cpu.prefetch import prefetch
from suricate.cpu.vector import one_bits, trailing_zeros


@inner
def held_slots(g, slab):
    """Return the mask of the key slots of slab ``slab`` that hold a key."""
    return loops.match_free(g, slab * g.words) ^ ((1 << g.keys) - 1)


@inner
def with_free_slot(g, slab):
    """Return the first slab with a free slot in the chain from ``slab`` on, or a new slab put at the chain's end."""
    while loops.match_free(g, slab * g.words) == 0:
        after = following(g, slab)
        slab = loops.extend(g, slab) if after < 0 else after
    return slab


@inner
def move_key(g, slab, slot, into):
    """Copy the key at index ``slot`` of ``g.pool``, which is in slab ``slab``, to the first free slot of slab ``into``.

    Its weight, and whether it was inserted since the mark, go with it. The old slot is left as it is.
    """
    j, place = trailing_zeros(loops.match_free(g, into * g.words)), slot - slab * g.words
    at = into * g.words + j
    g.pool[at] = g.pool[slot]
    for t in range(g.weight_words):
        g.pool[loops.weight_of(g, at) + t] = g.pool[loops.weight_of(g, slot) + t]
    if g.marked:
        if loops.fresh_slots(g, slab) >> place & 1:
            loops.mark_slot(g, at)
        else:
            g.fresh[into] = np.int64(g.fresh[into]) & ~(1 << j)  # of a key that was deleted


@inner
def close_up(g, head):
    """Move the keys of the chain from slab ``head`` on to its first slabs, and free the others; allocate nothing."""
    if following(g, head) < 0:
        return
    live, length, slab = 0, 0, head
    while slab >= 0:
        live, length, slab = live + one_bits(held_slots(g, slab)), length + 1, following(g, slab)
    kept = max(1, (live + g.keys - 1) // g.keys)
    if kept == length:
        return
    last, into = head, head
    for _ in range(kept - 1):
        last = following(g, last)
    slab = rest = following(g, last)
    while slab >= 0:
        held = held_slots(g, slab)
        while held:
            into = with_free_slot(g, into)
            move_key(g, slab, slab * g.words + trailing_zeros(held), into)
            held &= held - 1
        slab = following(g, slab)
    g.pool[last * g.words + g.keys] = KEY_EMPTY
    while rest >= 0:
        slab, rest = rest, following(g, rest)
        loops.release(g, slab)


@inner
def merge_buckets(g, v, head, count, code):
    """Reduce the ``count`` buckets of ``v`` in place to the first ``decode(code)``; ``head`` is its first head slab.

    A key moves to an earlier bucket, whose own keys have moved already, or stays where it is.
    """
    kept = decode(code)
    for k in range(count):
        slab = head + k
        while slab >= 0:
            held = held_slots(g, slab)
            while held:
                slot = slab * g.words + trailing_zeros(held)
                held &= held - 1
                bucket = bucket_of(g.pool[slot], kept)
                if bucket != k:
                    move_key(g, slab, slot, with_free_slot(g, head + bucket))
                    g.pool[slot] = loops.KEY_TOMBSTONE
            slab = following(g, slab)
    loops.release_chains(g, head + kept, count - kept)
    loops.set_head(g, v, head, code)


@kernel
def trim(g, per_bucket, quota, begin, end):
    """Trim the vertices whose first head slab is in ``[begin, end)``, in place.

    A vertex without edges loses its storage; one with too many buckets (``per_bucket``: edges that a bucket is sized
    for) gets fewer, whose chains take at most ``quota`` new slabs; every chain moves to as few slabs as hold it.
    """
    bump = np.int64(g.counters[BUMP])
    for head in range(begin, end):
        if head + loops.FAR < bump and g.owner[head + loops.FAR] != KEY_EMPTY:
            prefetch(g.vertex, head_place(g.owner[head + loops.FAR]))
        if head + loops.NEAR < bump:
            after = following(g, head + loops.NEAR)
            loops.fetch_slab(g, head + loops.NEAR if after < 0 else after)
        v = g.owner[head]
        if v == KEY_EMPTY or first_slab(head_word(g, v)) != head:
            continue
        degree, count = np.int64(g.vertex[degree_place(v)]), bucket_count(g, v)
        if degree == 0:
            loops.release_chains(g, np.int64(head), count)
            loops.set_head(g, v, KEY_EMPTY, 0)
            continue
        if count > 1:
            code = loops.encode(np.int64(np.ceil(degree * REHASH_GROWTH / per_bucket)))
            if decode(code) * SHRINK_AT <= count and degree // g.keys <= quota:
                quota -= degree // g.keys
                merge_buckets(g, v, np.int64(head), count, code)
                count = decode(code)
        for k in range(count):
            close_up(g, np.int64(head) + k)
