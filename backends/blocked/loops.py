"""Loops of ``blocked`` on the CPU: locate, count, apply; the specification of the kernels.

They are called for parts of a batch at the same time. A part has all entries of its vertices, and a graph ``g`` whose
``counters`` and ``free`` are its own (see ``cpu.py``). ``keys`` (uint64, source in the upper half), ``order``, ``kind``
and ``slot`` are those of a :class:`~suricate.primitives.located.LocatedBatch`; ``batch_weight`` (bits) and ``status``
are in the order of the batch before sorting.
"""

from __future__ import annotations

import numpy as np

from suricate.backends.blocked.layout import BLOCKS, EDGES, FREE, LOWEST, USED, VERTICES
from suricate.base.types import EMPTY, REPLACED, TOMBSTONE
from suricate.cpu.jit import allocating_kernel, inner, kernel
from suricate.primitives.located import ABSENT, PRESENT
from suricate.store.locating import locate_runs, match, run_end, source, table_size

NO_BLOCK = np.uint32(EMPTY)
DELETED = np.uint32(TOMBSTONE)

SCANNED_AT_ONCE = np.uint64(256)  #: slots that are compared before the result is looked at


@inner
def first_block(g, u):
    """Return the first block of ``u``, or ``NO_BLOCK``."""
    return np.uint32(g.head[u] ^ NO_BLOCK)


@inner
def degree(g, u):
    """Return the number of out-edges of ``u``."""
    return np.int64(g.degree[u])


@inner
def scan_range(g, first, end, v):
    """Return the slot from ``first`` to ``end - 1`` that holds ``v``, or -1; unused slots match no id."""
    hits = np.uint32(0)
    for i in range(first, end):
        hits |= np.uint32(g.dst[i] == v)
    if hits:
        for i in range(first, end):
            if g.dst[i] == v:
                return np.int64(i)
    return np.int64(-1)


@inner
def scan(g, u, v):
    """Return the slot of edge ``(u, v)``, or -1; consecutive blocks are read first, the others link by link."""
    c, size = first_block(g, u), np.uint64(1) << np.uint64(g.shift)
    if c == NO_BLOCK:
        return np.int64(-1)
    run = max(np.uint64(1), np.uint64(g.run[u]))
    at, end = np.uint64(c) * size, (np.uint64(c) + run) * size
    while at < end:
        stop = min(end, at + SCANNED_AT_ONCE)
        slot = scan_range(g, at, stop, v)
        if slot >= 0:
            return slot
        at = stop
    c = g.link[np.int64(np.uint64(c) + run) - 1]
    while c != NO_BLOCK:
        slot = scan_range(g, np.uint64(c) * size, (np.uint64(c) + np.uint64(1)) * size, v)
        if slot >= 0:
            return slot
        c = g.link[c]
    return np.int64(-1)


@inner
def match_chain(g, u, keys, kind, slot, table):
    """Match every edge of the chain of ``u`` with the batch entries of ``u``, and fill in kind and slot of those found.

    ``table`` (int64) is the hash table of these entries that :func:`locate_runs` has filled.
    """
    left, c = np.int64(g.degree[u]), first_block(g, u)
    while left > 0:
        at = np.int64(c) << g.shift
        for i in range(at, at + min(left, np.int64(1) << g.shift)):
            match(g.dst[i], i, keys, kind, slot, table)
        left -= np.int64(1) << g.shift
        c = g.link[c]


@allocating_kernel
def locate(g, keys, kind, slot):
    """Fill in kind and slot (-1 if not stored) of the entries of a sorted batch in place."""
    locate_runs(g, keys, kind, slot, np.empty(table_size(keys), np.int64), degree, scan, match_chain)


@inner
def blocks_of_runs(g, keys, kind, changes, sign):
    """Return how many blocks a located batch takes, if ``sign`` is 1, or frees, if it is -1 (a deletion).

    The entries with the kind ``changes`` are those that change the graph.
    """
    total, first, rest = 0, 0, (np.int64(1) << g.shift) - 1
    while first < len(keys):
        last, degree, changed = run_end(keys, first), np.int64(g.degree[source(keys[first])]), 0
        for i in range(first, last):
            changed += kind[i] == changes
        total += abs(((degree + sign * changed + rest) >> g.shift) - ((degree + rest) >> g.shift))
        first = last
    return total


count_blocks = kernel(blocks_of_runs)  #: for Python


@inner
def touch(g, c):
    """Flag block ``c`` as changed since the mirror copied it, and list it; do nothing without a mirror."""
    if len(g.block_mark) and not g.block_mark[c]:
        g.block_mark[c] = 1
        g.block_list[g.counters[BLOCKS]] = c
        g.counters[BLOCKS] += 1


@inner
def touch_vertex(g, u):
    """Flag vertex ``u`` as changed since the mirror copied it, and list it; do nothing without a mirror."""
    if len(g.vertex_mark) and not g.vertex_mark[u]:
        g.vertex_mark[u] = 1
        g.vertex_list[g.counters[VERTICES]] = u
        g.counters[VERTICES] += 1


@inner
def add_block(g, u):
    """Put an empty block at the end of the chain of ``u``: a free one, else one carved from the pool; return it."""
    if g.counters[FREE]:
        g.counters[FREE] -= 1
        g.counters[LOWEST] = min(g.counters[LOWEST], g.counters[FREE])
        c = g.free[g.counters[FREE]]
    else:
        c = np.uint32(g.counters[USED])
        g.counters[USED] += 1
        at = np.int64(c) << g.shift
        for i in range(at, at + (np.int64(1) << g.shift)):
            g.dst[i] = NO_BLOCK
    g.owner[c], g.link[c] = np.uint32(u), NO_BLOCK
    head = first_block(g, u)
    if head == NO_BLOCK:
        g.head[u] = c ^ NO_BLOCK
        g.back[c] = c
        g.run[u] = 1
    else:
        length = np.int64(g.degree[u]) >> g.shift
        if g.run[u] == length and np.int64(c) == np.int64(head) + length:
            g.run[u] += 1
        tail = g.back[head]
        g.link[tail], g.back[c], g.back[head] = c, tail, c
        touch(g, tail)
        touch(g, head)
    return c


@inner
def free_block(g, c):
    """Put block ``c``, whose slots are empty, on the stack of free blocks."""
    g.owner[c] = NO_BLOCK
    g.free[g.counters[FREE]] = c
    g.counters[FREE] += 1
    touch(g, c)


@inner
def last_slot(g, u):
    """Return the slot of the last edge of ``u``, which has edges."""
    tail = np.int64(g.back[first_block(g, u)])
    return (tail << g.shift) + ((np.int64(g.degree[u]) - 1) & ((np.int64(1) << g.shift) - 1))


@inner
def append(g, u, v):
    """Add edge ``(u, v)``, without a weight, at the end of the chain of ``u``; return its slot."""
    fill = np.int64(g.degree[u]) & ((np.int64(1) << g.shift) - 1)
    block = np.int64(add_block(g, u) if fill == 0 else g.back[first_block(g, u)])
    at = (block << g.shift) + fill
    g.dst[at] = v
    g.degree[u] += 1
    touch(g, block)
    touch_vertex(g, u)
    return at


@inner
def drop_last(g, u):
    """Remove the last edge of ``u``; if its block is empty then, free the block."""
    at = last_slot(g, u)
    g.dst[at] = NO_BLOCK
    g.degree[u] -= 1
    touch(g, at >> g.shift)
    touch_vertex(g, u)
    if at & ((np.int64(1) << g.shift) - 1):
        return
    head, tail = first_block(g, u), np.uint32(at >> g.shift)
    g.run[u] = min(np.int64(g.run[u]), np.int64(g.degree[u]) >> g.shift)
    if head == tail:
        g.head[u] = 0
    else:
        before = g.back[tail]
        g.link[before], g.back[head] = NO_BLOCK, before
        touch(g, before)
        touch(g, head)
    free_block(g, tail)


@kernel
def apply_insert(g, keys, order, kind, slot, batch_weight, status):
    """Append the ``ABSENT`` entries of a located batch, with their weights, in order of source and destination.

    Blocks in which a weight was replaced (``status`` is ``REPLACED``) are flagged as changed for a mirror.
    """
    for i in range(len(keys)):
        if kind[i] == PRESENT and status[order[i]] == REPLACED:
            touch(g, slot[i] >> g.shift)
        if kind[i] == ABSENT:
            at = append(g, source(keys[i]), np.uint32(keys[i]))
            if len(g.weight):
                g.weight[at] = batch_weight[order[i]]
            g.counters[EDGES] += 1


@inner
def take_out(g, u, slot, first, last):
    """Delete the edges of ``u`` in the slots ``slot[first:last]`` (negative: none); last edges of ``u`` fill the gaps.

    Deleted slots hold a tombstone at first, so that only edges that stay are moved.
    """
    for i in range(first, last):
        if slot[i] >= 0:
            g.dst[slot[i]] = DELETED
            g.counters[EDGES] -= 1
    for i in range(first, last):
        if slot[i] >= 0 and g.dst[slot[i]] == DELETED:
            while g.dst[last_slot(g, u)] == DELETED and last_slot(g, u) != slot[i]:
                drop_last(g, u)
            end = last_slot(g, u)
            if end != slot[i]:
                g.dst[slot[i]] = g.dst[end]
                touch(g, slot[i] >> g.shift)
                if len(g.weight):
                    g.weight[slot[i]] = g.weight[end]
            drop_last(g, u)


@inner
def delete_runs(g, keys, slot):
    """Delete the entries of a sorted batch that are stored: those whose ``slot`` is not negative."""
    first = 0
    while first < len(keys):
        last = run_end(keys, first)
        take_out(g, source(keys[first]), slot, first, last)
        first = last


apply_delete = kernel(delete_runs)  #: for Python


@kernel
def free_vertices(g, vertices):
    """Free all blocks of ``vertices``, and with them their out-edges."""
    for u in vertices:
        c = first_block(g, u)
        if c == NO_BLOCK:  # rows that are not kept take no memory: they are not written
            continue
        while c != NO_BLOCK:
            at = np.int64(c) << g.shift
            for i in range(at, at + (np.int64(1) << g.shift)):
                g.dst[i] = NO_BLOCK
            free_block(g, c)
            c = g.link[c]
        g.counters[EDGES] -= np.int64(g.degree[u])
        g.head[u], g.degree[u], g.run[u] = 0, 0, 0
        touch_vertex(g, u)


@inner
def carry_slots(to, i, g, c, size):
    """Copy the ``size`` slots of block ``c`` of ``g`` to those of block ``i`` of ``to``, with weights."""
    at, target = np.int64(c) * size, np.int64(i) * size
    for k in range(size):
        to.dst[target + k] = g.dst[at + k]
    if len(g.weight):
        for k in range(size):
            to.weight[target + k] = g.weight[at + k]


@kernel
def repack(g, fresh, vertex, first, begin, end):
    """Copy the chains of vertices ``vertex + i``, i in ``[begin, end)``, to blocks from ``first[i]`` on."""
    for i in range(begin, end):
        u, to = vertex + i, np.int64(first[i])
        c = first_block(g, u)
        while c != NO_BLOCK:
            carry_slots(fresh, to, g, c, np.int64(1) << g.shift)
            c = g.link[c]
            fresh.owner[to] = np.uint32(u)
            fresh.back[to] = np.uint32(to - 1)
            fresh.link[to] = NO_BLOCK if c == NO_BLOCK else np.uint32(to + 1)
            to += 1
        if g.degree[u]:
            fresh.back[first[i]] = np.uint32(to - 1)


@kernel
def pack(g, p):
    """Copy the blocks ``p.block`` and vertices ``p.vertex`` of ``g`` into the packet ``p``, and clear their flags.

    The counters, and the stack of free blocks from entry ``p.lowest`` on, are copied, too.
    """
    size = np.int64(1) << g.shift
    for i in range(len(p.block)):
        c = p.block[i]
        p.link[i], p.back[i], p.owner[i] = g.link[c], g.back[c], g.owner[c]
        carry_slots(p, i, g, c, size)
        g.block_mark[c] = 0
    for i in range(len(p.vertex)):
        u = p.vertex[i]
        p.head[i], p.degree[i], p.run[i] = g.head[u], g.degree[u], g.run[u]
        g.vertex_mark[u] = 0
    for i in range(len(p.free)):
        p.free[i] = g.free[p.lowest + i]
    g.counters[LOWEST] = g.counters[FREE]
    g.counters[BLOCKS], g.counters[VERTICES] = 0, 0
    for i in range(len(g.counters)):
        p.counters[i] = g.counters[i]


@kernel
def unpack(g, p):
    """Copy the blocks and vertices in the packet ``p``, the free blocks and the counters, to their places in ``g``."""
    size = np.int64(1) << g.shift
    for i in range(len(p.block)):
        c = p.block[i]
        g.link[c], g.back[c], g.owner[c] = p.link[i], p.back[i], p.owner[i]
        carry_slots(g, c, p, i, size)
    for i in range(len(p.vertex)):
        u = p.vertex[i]
        g.head[u], g.degree[u], g.run[u] = p.head[i], p.degree[i], p.run[i]
    for i in range(len(p.free)):
        g.free[p.lowest + i] = p.free[i]
    for i in range(len(g.counters)):
        g.counters[i] = p.counters[i]
