"""Single edges on the CPU: functions that are inlined into loops over events; see ``suricate.store.single``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suricate.backends.slabhash import loops
from suricate.backends.slabhash.cursor import degree_place, head_place, put_head
from suricate.backends.slabhash.layout import BUMP, DENIED, LISTED, REHASH_CHAIN, TAKEN, Slabs
from suricate.base.types import NEW, REMOVED, REPLACED, UNCHANGED
from suricate.cpu.jit import inner
from suricate.cpu.prefetch import prefetch


class Edges(NamedTuple):
    """The arrays of a store and its policy of rehashing, for functions that insert or delete one edge.

    Without ``hashing`` no vertex is rehashed. A bucket is sized for ``per_bucket`` edges. Rehashing leaves at least
    ``kept`` slabs free.
    """

    slabs: Slabs
    hashing: bool
    per_bucket: float
    kept: int


@inner
def has_space(s, u, v, both):
    """Return whether a slab is free to insert edge ``(u, v)``; if ``both`` is true, another one for its reverse arc.

    False as well if the rehashing of a vertex was denied slabs, so that the host gets more of them.
    """
    counters = s.slabs.counters
    free = s.slabs.capacity - np.int64(counters[BUMP]) + np.int64(counters[LISTED]) - np.int64(counters[TAKEN])
    return free >= 1 + both and counters[DENIED] == 0


@inner
def insert_edge(s, u, v, weights, before, i):
    """Insert edge ``(u, v)``, or replace its weight; return the status, NEW, REPLACED or UNCHANGED.

    The weight is entry ``i`` of ``weights``; one that it replaces is written to entry ``i`` of ``before``. Both are
    arrays of 32-bit words, with the words of one weight after the other.
    """
    g, size = s.slabs, s.slabs.weight_words
    head = loops.head_of(g, u, v)
    if head < 0:
        head = loops.allocate(g, u)
        put_head(g, u, head)
    slot, free, last, length = loops.survey(g, head, v)
    if slot >= 0:
        at, same = loops.weight_of(g, slot), True
        for t in range(size):
            before[i * size + t] = g.pool[at + t]
            same &= g.pool[at + t] == weights[i * size + t]
            g.pool[at + t] = weights[i * size + t]
        return UNCHANGED if same else REPLACED
    slot = free if free >= 0 else loops.extend(g, last) * g.words
    g.pool[slot] = v
    for t in range(size):
        g.pool[loops.weight_of(g, slot) + t] = weights[i * size + t]
    g.vertex[degree_place(u)] += np.uint32(1)
    if g.marked:
        loops.mark_slot(g, slot)
    if free < 0 and s.hashing and length + 1 >= REHASH_CHAIN and loops.has_outgrown(g, u, s.per_bucket):
        loops.rehash(g, u, s.per_bucket, g.capacity - np.int64(g.counters[BUMP]) - s.kept)
    return NEW


@inner
def delete_edge(s, u, v, before, i):
    """Delete edge ``(u, v)`` and write its weight to entry ``i`` of ``before``; return REMOVED or UNCHANGED.

    ``before`` has the 32-bit words of the weights, one weight after the other.
    """
    g, size = s.slabs, s.slabs.weight_words
    slot = loops.locate(g, loops.head_of(g, u, v), v)
    if slot < 0:
        return UNCHANGED
    g.pool[slot] = loops.KEY_TOMBSTONE
    g.vertex[degree_place(u)] -= np.uint32(1)
    for t in range(size):
        before[i * size + t] = g.pool[loops.weight_of(g, slot) + t]
    return REMOVED


@inner
def fetch_far(s, u):
    """Prefetch the head word, the degree and the bucket code of vertex ``u``."""
    prefetch(s.slabs.vertex, head_place(u))
    prefetch(s.slabs.buckets, np.int64(u))


@inner
def fetch(s, u, v):
    """Prefetch the first slab of the bucket of edge ``(u, v)``."""
    head = loops.head_of(s.slabs, u, v)
    if head >= 0:
        loops.fetch_slab(s.slabs, head)
