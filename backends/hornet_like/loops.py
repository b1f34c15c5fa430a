"""Loops of ``hornet_like`` on the CPU: locate, plan, apply; the specification of ``hornet.cu``.

They are called for parts of a batch at the same time; a part has all entries of its vertices. Blocks are taken from the
stacks and the pool of ``free`` and freed in those of ``g``: the same graph where there is one part, else one of its own
(see ``cpu.py``). A block of class k has 2^k slots.

``keys`` (uint64, source in the upper half), ``order``, ``kind`` and ``slot`` are those of a
:class:`~suricate.primitives.located.LocatedBatch`; ``batch_weight`` (bits) is in the order of the batch before sorting.
``ascending``: rows are ordered by destination.
"""

from __future__ import annotations

import numpy as np

from suricate.backends.hornet_like.layout import BLOCKS, EDGES, FREE, GRAIN, GROW, KEEP, MIN_CLASS, NONE, SHRINK, USED
from suricate.base.types import TOMBSTONE
from suricate.cpu.jit import allocating_kernel, inner, kernel
from suricate.primitives.located import ABSENT, PRESENT
from suricate.store.locating import locate_runs, match, run_end, source, table_size

STEP = 64  #: destinations compared at once (vector instructions) before looking whether one was equal


@inner
def ceil_log2(number):
    """Return the smallest k >= 0 with 2^k >= number."""
    k = 0
    while (1 << k) < number:
        k += 1
    return k


@inner
def class_of(degree):
    """Return the smallest class whose blocks hold ``degree`` edges."""
    return max(MIN_CLASS, ceil_log2(degree))


@inner
def grown(degree, k):
    """Return the class that a vertex of class ``k`` needs for ``degree`` edges, or ``KEEP`` if its block holds them."""
    return class_of(degree) if k == NONE or degree > (1 << k) else KEEP


@inner
def shrunk(degree, k):
    """Return the class for the ``degree`` edges left: ``NONE`` for 0, ``KEEP`` if the block stays, or a smaller one.

    A vertex shrinks when at most a quarter of its block is used, into a block that is at most half full, so that a
    fixed share of the block must change between two migrations.
    """
    if degree == 0:
        return NONE
    return class_of(2 * degree) if k > MIN_CLASS and 4 * degree <= (1 << k) else KEEP


@inner
def degree(g, u):
    """Return the number of edges of ``u``."""
    return g.end[u] - g.begin[u]


@inner
def scan(g, u, v):
    """Return the slot of edge ``(u, v)``, or -1."""
    at, hi = g.begin[u], g.end[u]
    while at + STEP <= hi:
        hits = np.uint32(0)
        for i in range(STEP):
            hits |= np.uint32(g.dst[at + i] == v)
        if hits:
            break
        at += STEP
    for i in range(at, min(hi, at + STEP)):
        if g.dst[i] == v:
            return i
    return np.int64(-1)


@inner
def match_row(g, u, keys, kind, slot, table):
    """Match every edge of ``u`` with the batch entries of ``u``, and fill in kind and slot of those found.

    ``table`` (int64) is the hash table of these entries that :func:`locate_runs` has filled.
    """
    for at in range(g.begin[u], g.end[u]):
        match(g.dst[at], at, keys, kind, slot, table)


@allocating_kernel
def locate(g, keys, kind, slot):
    """Fill in kind and slot (-1 if not stored) of the entries of a sorted batch, for rows that do not ascend."""
    locate_runs(g, keys, kind, slot, np.empty(table_size(keys), np.int64), degree, scan, match_row)


@kernel
def plan(begin, end, klass, keys, kind, changes, may_shrink, need, freed):
    """Add to ``need`` and ``freed`` how many blocks of each class a located batch takes and frees by moving vertices.

    ``begin``, ``end`` and ``klass`` are by vertex. ``changes`` is the kind of the entries that change the graph:
    ``ABSENT`` for an insertion, ``PRESENT`` for a deletion. A deletion always frees empty blocks; other shrinking
    depends on ``may_shrink``.
    """
    first = 0
    while first < len(keys):
        last, u, changed = run_end(keys, first), source(keys[first]), 0
        for i in range(first, last):
            changed += kind[i] == changes
        if changed:
            degree = end[u] - begin[u]
            grows = changes == ABSENT
            target = grown(degree + changed, klass[u]) if grows else shrunk(degree - changed, klass[u])
            if target == NONE or (target != KEEP and may_shrink):
                if target != NONE:
                    need[target] += 1
                if klass[u] != NONE:
                    freed[klass[u]] += 1
        first = last


@inner
def push(g, k, block):
    """Put a free block of class ``k``, whose first slot is ``block``, on the stack of its class."""
    g.stacks[g.stack_begin[k] + g.counters[FREE + k]] = block // GRAIN
    g.counters[FREE + k] += 1


@inner
def new_block(g, k):
    """Return the first slot of an unused block of class ``k``: a free block, else one carved from the pool."""
    if g.counters[FREE + k]:
        g.counters[FREE + k] -= 1
        return np.int64(g.stacks[g.stack_begin[k] + g.counters[FREE + k]]) * GRAIN
    block = g.counters[USED]
    g.counters[USED] += 1 << k
    g.counters[BLOCKS + k] += 1
    return block


@inner
def add_pressure(counters, degree, k, times):
    """Add ``times`` (1 or -1) the pressure of a vertex of this degree and class ``k`` to ``counters`` in place.

    :func:`ledger.pressure` says what that is: 2^n new slots after ``cost`` updates are added to entry
    n - ceil(log2(cost)) of ``GROW`` or ``SHRINK``.
    """
    if k != NONE:
        bits, stored = np.int64(k), np.int64(degree)
        counters[GROW + bits + 1 - ceil_log2((1 << bits) - stored + 1)] += times * (2 << bits)
        if bits > MIN_CLASS:
            cost = max(1, stored - (1 << (bits - 2)))
            counters[SHRINK + max(0, bits - 1 - ceil_log2(cost))] += times * (1 << (bits - 1))


@inner
def migrate(g, free, u, target, degree):
    """Move the first ``degree`` edges of ``u`` to a block of class ``target`` (``NONE``: it has no edges left).

    The new block is taken from the graph ``free``; the old one is freed in ``g``, whose index is changed.
    """
    old, k = g.begin[u], g.klass[u]
    fresh = np.int64(0) if target == NONE else new_block(free, target)
    for i in range(degree):
        g.dst[fresh + i] = g.dst[old + i]
    if len(g.weight):
        for i in range(degree):
            g.weight[fresh + i] = g.weight[old + i]
    if k != NONE:
        push(g, k, old)
    g.begin[u], g.end[u], g.klass[u] = fresh, fresh + degree, target


@inner
def move(g, read, write):
    """Copy an edge, with its weight, from slot ``read`` to slot ``write``."""
    g.dst[write] = g.dst[read]
    if len(g.weight):
        g.weight[write] = g.weight[read]


@kernel
def apply_insert(g, free, keys, order, kind, batch_weight, ascending):
    """Insert the ``ABSENT`` entries of a located batch, moving vertices that overflow to larger blocks.

    New edges are appended in order of destination, or, if rows are ``ascending``, merged into the row from its end.
    """
    first = 0
    while first < len(keys):
        last, u, fresh = run_end(keys, first), source(keys[first]), 0
        for i in range(first, last):
            fresh += kind[i] == ABSENT
        degree = g.end[u] - g.begin[u]
        add_pressure(g.counters, degree, g.klass[u], -1)
        target = grown(degree + fresh, g.klass[u]) if fresh else KEEP
        if target != KEEP:
            migrate(g, free, u, target, degree)
        read, write = g.end[u] - 1, g.end[u] + fresh - 1
        for i in range(last - 1, first - 1, -1):
            if kind[i] == ABSENT:
                while ascending and read >= g.begin[u] and g.dst[read] > np.uint32(keys[i]):
                    move(g, read, write)
                    read, write = read - 1, write - 1
                g.dst[write] = np.uint32(keys[i])
                if len(g.weight):
                    g.weight[write] = batch_weight[order[i]]
                write -= 1
        g.end[u] += fresh
        g.counters[EDGES] += fresh
        add_pressure(g.counters, degree + fresh, g.klass[u], 1)
        first = last


@inner
def fill_holes(g, kind, slot, first, last, tail):
    """Fill the deleted slots of a row below slot ``tail`` with the edges that are left in its slots from ``tail`` on.

    Deleted slots are ``slot[i]`` of the ``PRESENT`` entries i of ``[first, last)``; they hold tombstones.
    """
    survivor = tail
    for i in range(first, last):
        if kind[i] == PRESENT and slot[i] < tail:
            while g.dst[survivor] == np.uint32(TOMBSTONE):
                survivor += 1
            move(g, survivor, slot[i])
            survivor += 1


@inner
def close_up(g, begin, end):
    """Move the edges in slots ``[begin, end)``, but not the tombstones, down to ``begin``, in their order."""
    for read in range(begin, end):
        if g.dst[read] != np.uint32(TOMBSTONE):
            move(g, read, begin)
            begin += 1


@kernel
def apply_delete(g, free, keys, kind, slot, may_shrink, ascending):
    """Delete the ``PRESENT`` entries of a located batch, and move vertices to smaller blocks.

    Gaps are filled with edges from the end of the row, or, if rows are ``ascending``, closed in order. Unless it
    ``may_shrink``, only blocks without edges are given up.
    """
    first = 0
    while first < len(keys):
        last, u, removed, lowest = run_end(keys, first), source(keys[first]), 0, np.int64(-1)
        for i in range(first, last):
            if kind[i] == PRESENT:
                if not removed:
                    lowest = slot[i]
                g.dst[slot[i]] = np.uint32(TOMBSTONE)
                removed += 1
        if removed:
            add_pressure(g.counters, g.end[u] - g.begin[u], g.klass[u], -1)
            tail = g.end[u] - removed
            if ascending:
                close_up(g, lowest, g.end[u])
            else:
                fill_holes(g, kind, slot, first, last, tail)
            g.end[u] = tail
            degree = tail - g.begin[u]
            target = shrunk(degree, g.klass[u])
            if target == NONE or (target != KEEP and may_shrink):
                migrate(g, free, u, target, degree)
            g.counters[EDGES] -= removed
            add_pressure(g.counters, degree, g.klass[u], 1)
        first = last


@kernel
def free_vertices(g, vertices):
    """Free the blocks of ``vertices`` (array of ids), which have no edges afterwards."""
    for u in vertices:
        if g.klass[u] != NONE:
            push(g, g.klass[u], g.begin[u])
            g.counters[EDGES] -= g.end[u] - g.begin[u]
            add_pressure(g.counters, g.end[u] - g.begin[u], g.klass[u], -1)
            g.begin[u], g.end[u], g.klass[u] = 0, 0, NONE
