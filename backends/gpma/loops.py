"""Loops of ``gpma`` on the CPU: locate, plan, merge, rebuild; the specification of ``gpma.cu``."""

from __future__ import annotations

import numpy as np

from suricate.backends.gpma.layout import (
    DENSE,
    EDGES,
    GUARD,
    GUARDS,
    LEAF,
    LEAF_BITS,
    LEAF_LEAST,
    LEAF_MOST,
    MOVED,
    ROOT_LEAST,
    ROOT_MOST,
    TOUCHED,
)
from suricate.jit import inner, kernel
from suricate.primitives.located import ABSENT, DUPLICATE, PRESENT
from suricate.types import EMPTY, REMOVED

GAP, LAST = np.uint32(EMPTY), np.uint32(GUARD)


# -- densities -------------------------------------------------------------------------------------------------------


@inner
def height_of(leaves):
    """Return the level of the segment that is the whole array; at least 1, so that one leaf is no special case."""
    height = 1
    while (1 << height) < leaves:
        height += 1
    return height


@inner
def most_in(slots, level, height):
    """Return the most entries that a segment of this size and level may hold after it was rebalanced."""
    return slots * (ROOT_MOST * height + (LEAF_MOST - ROOT_MOST) * (height - level)) // (DENSE * height)


@inner
def least_in(slots, level, height):
    """Return the fewest entries that strict deletion leaves in a segment of this size and level."""
    return slots * (ROOT_LEAST * height - (ROOT_LEAST - LEAF_LEAST) * (height - level)) // (DENSE * height)


# -- where edges are, and where they would go ------------------------------------------------------------------------


@inner
def leaf_of(head, low, high, v):
    """Return the leaf of ``low`` to ``high``, which a row covers, in which destination ``v`` of the row belongs."""
    while low < high:
        middle = (low + high + 1) >> 1
        if head[np.uint64(middle)] <= v:
            low = middle
        else:
            high = middle - 1
    return low


@inner
def search(g, u, v):
    """Return the slot of edge ``(u, v)``, or -1, and the slot behind the last edge below it in its leaf."""
    begin, end = g.guard[u] + 1, g.guard[u + 1]
    leaf = leaf_of(g.head, begin >> LEAF_BITS, end >> LEAF_BITS, v)
    place = max(begin, leaf << LEAF_BITS)
    for slot in range(place, min(end, (leaf + 1) << LEAF_BITS)):
        w = g.dst[np.uint64(slot)]
        if w < v:
            place = slot + 1
        elif w != GAP:
            return np.int64(slot) if w == v else np.int64(-1), place
    return np.int64(-1), place


@kernel
def locate(g, keys, kind, slot, wanted):
    """Fill in kind and slot (where it is, or the place it goes to) of each sorted edge; count those of a kind."""
    count = 0
    for i in range(len(keys)):
        kind[i], slot[i] = DUPLICATE, -1
        if i + 1 == len(keys) or keys[i + 1] != keys[i]:
            at, place = search(g, np.int64(keys[i] >> np.uint64(32)), np.uint32(keys[i]))
            kind[i] = PRESENT if at >= 0 else ABSENT
            slot[i] = at if at >= 0 else place
            count += kind[i] == wanted
    return count


@kernel
def list_changes(kind, slot, wanted, entries, places):
    """List the entries of a kind and their slots."""
    count = 0
    for i in range(len(kind)):
        if kind[i] == wanted:
            entries[count], places[count] = i, slot[i]
            count += 1


@kernel
def find_edges(g, src, dst, found, result):
    """Look every edge up; copy the weight of those that are there."""
    for i in range(len(src)):
        at, _ = search(g, np.int64(src[i]), dst[i])
        found[i] = at >= 0
        if found[i] and len(g.weight):
            result[i] = g.weight[at]


# -- which segments are rebalanced -----------------------------------------------------------------------------------


@inner
def entries_in(count, begin, end):
    """Return the number of entries in leaves ``[begin, end)``."""
    total = np.int64(0)
    for leaf in range(begin, end):
        total += count[np.uint64(leaf)]
    return total


@inner
def first_from(places, slot):
    """Return the number of places below a slot; they are ascending."""
    low, high = 0, len(places)
    while low < high:
        middle = (low + high) >> 1
        if places[middle] < slot:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def plan(g, places, inserts, begins, levels):
    """List the segments that an update rebalances, in order; return their number.

    ``places`` are the slots of the changed entries. An insertion, whose entries are still to come, takes for each the
    lowest segment around its leaf that is not too full then; a deletion (``inserts`` is 0), whose entries are gone, the
    lowest that is not too empty. Of segments within each other the largest is taken.
    """
    height, planned = height_of(g.leaves), 0
    for i in range(len(places)):
        leaf = places[i] >> LEAF_BITS
        if planned and leaf < np.int64(begins[planned - 1]) + (1 << np.int64(levels[planned - 1])):
            continue
        level = 0
        while level < height:
            begin = leaf >> level << level
            end = min(begin + (1 << level), g.leaves)
            slots = (end - begin) << LEAF_BITS
            entries = entries_in(g.count, begin, end)
            if inserts:
                added = first_from(places, end << LEAF_BITS) - first_from(places, begin << LEAF_BITS)
                if entries + added <= most_in(slots, level, height):
                    break
            elif entries >= least_in(slots, level, height):
                break
            level += 1
        if level == 0 and not inserts:
            continue
        begin = leaf >> level << level
        while planned and begins[planned - 1] >= begin:
            planned -= 1
        begins[planned], levels[planned] = begin, level
        planned += 1
    return planned


# -- moving entries --------------------------------------------------------------------------------------------------


@inner
def carry(g, source, slot):
    """Move the entry of one slot, and whether it is fresh, to another; the first is a gap then."""
    if source == slot:
        return
    g.dst[slot] = g.dst[source]
    g.dst[source] = GAP
    if len(g.weight):
        g.weight[slot] = g.weight[source]
    if len(g.fresh):
        set_fresh(g, slot, is_set(g.fresh, source))
        set_fresh(g, source, False)


@inner
def is_set(masks, slot):
    """Return whether the bit of a slot is set in its leaf's mask."""
    return (masks[slot >> LEAF_BITS] >> np.uint32(slot & (LEAF - 1))) & np.uint32(1) == 1


@inner
def set_fresh(g, slot, value):
    """Set or clear the bit of a slot."""
    bit = np.uint32(1) << np.uint32(slot & (LEAF - 1))
    if value:
        g.fresh[slot >> LEAF_BITS] |= bit
    else:
        g.fresh[slot >> LEAF_BITS] &= ~bit


@inner
def finish_leaves(g, begin, end, owner):
    """Bring what is kept of leaves ``[begin, end)`` and of their guards up to date; ``owner`` is that of the first."""
    for leaf in range(begin, end):
        first, guards, count, head = leaf << LEAF_BITS, np.uint32(0), 0, LAST
        g.owner[leaf] = owner
        for k in range(LEAF):
            v = g.dst[first + k]
            if v == GAP:
                continue
            if count == 0:
                head = v
            count += 1
            if v == LAST:
                owner += 1
                guards |= np.uint32(1) << np.uint32(k)
                g.guard[owner] = first + k
        g.guards[leaf], g.head[leaf], g.count[leaf] = guards, head, count
    for leaf in range(end - 2, begin - 1, -1):
        if g.count[leaf] == 0:
            g.head[leaf] = g.head[leaf + 1]  # the entry behind it
    return owner


@inner
def pack(g, begin, end, places, low, high):
    """Move the entries of a segment to its beginning; of each new one note how many old ones come before it."""
    at, k = begin << LEAF_BITS, low
    for slot in range(begin << LEAF_BITS, end << LEAF_BITS):
        while k < high and places[k] <= slot:
            places[k] = at
            k += 1
        if g.dst[slot] != GAP:
            carry(g, slot, at)
            at += 1
    while k < high:
        places[k] = at
        k += 1
    return at - (begin << LEAF_BITS)


@inner
def spread(g, begin, end, held, places, entries, low, high, keys, order, weight):
    """Spread the packed entries of a segment evenly over its leaves, and the new ones among them, from the back."""
    leaves, total = end - begin, held + high - low
    base = begin << LEAF_BITS
    old, k, rank = base + held - 1, high - 1, total
    for i in range(leaves - 1, -1, -1):
        first = total * i // leaves
        leaf = (begin + i) << LEAF_BITS
        while rank > first:
            rank -= 1
            slot = leaf + rank - first
            if k >= low and places[k] > old:
                item = entries[k]
                g.dst[slot] = np.uint32(keys[item])
                if len(g.weight):
                    g.weight[slot] = weight[order[item]]
                if len(g.fresh):
                    set_fresh(g, slot, True)
                k -= 1
            else:
                carry(g, old, slot)
                old -= 1


@kernel
def merge(g, begins, levels, places, entries, keys, order, weight):
    """Rebalance the planned segments, and put the new entries in."""
    for j in range(len(begins)):
        begin = np.int64(begins[j])
        end = min(begin + (1 << np.int64(levels[j])), g.leaves)
        low, high = first_from(places, begin << LEAF_BITS), first_from(places, end << LEAF_BITS)
        owner = g.owner[begin]
        held = pack(g, begin, end, places, low, high)
        spread(g, begin, end, held, places, entries, low, high, keys, order, weight)
        finish_leaves(g, begin, end, owner)
        g.counters[MOVED] += held


@kernel
def count_inserted(g, entries, keys):
    """Count the new edges."""
    for item in entries:
        g.degree[keys[item] >> np.uint64(32)] += np.uint32(1)
    g.counters[EDGES] += len(entries)


@kernel
def rebuild(g, new, places, entries, keys, order, weight):
    """Merge the entries of ``g`` and new ones into empty arrays, spread evenly; vertices and counters are shared."""
    held = entries_in(g.count, 0, g.leaves)
    total = held + len(places)
    rank, read, k = np.int64(0), np.int64(0), 0
    for leaf in range(new.leaves):
        slot, stop = leaf << LEAF_BITS, total * (leaf + 1) // new.leaves
        while rank < stop:
            fresh = False
            if k < len(places) and places[k] <= read:
                item = entries[k]
                new.dst[slot] = np.uint32(keys[item])
                if len(new.weight):
                    new.weight[slot] = weight[order[item]]
                fresh = True
                k += 1
            elif g.dst[read] == GAP:
                read += 1
                continue
            else:
                new.dst[slot] = g.dst[read]
                if len(new.weight):
                    new.weight[slot] = g.weight[read]
                if len(new.fresh):
                    fresh = is_set(g.fresh, read)
                read += 1
            if len(new.fresh) and fresh:
                set_fresh(new, slot, True)
            slot += 1
            rank += 1
    finish_leaves(new, 0, new.leaves, 0)
    g.counters[MOVED] += held


# -- deletion, vertices ----------------------------------------------------------------------------------------------


@inner
def clear_slot(g, u, slot):
    """Turn the slot of an edge of ``u`` into a gap."""
    g.dst[slot] = GAP
    g.count[slot >> LEAF_BITS] -= np.uint8(1)
    g.degree[u] -= np.uint32(1)
    if len(g.fresh):
        set_fresh(g, slot, False)


@kernel
def clear(g, keys, entries, places):
    """Turn the slots of the entries listed into gaps; nothing moves."""
    for i in range(len(entries)):
        clear_slot(g, np.int64(keys[entries[i]] >> np.uint64(32)), places[i])
    g.counters[EDGES] -= len(entries)


@kernel
def clear_edges(g, src, dst, status, before):
    """Turn edges into gaps, and report those that were there; a duplicate is not any more."""
    for i in range(len(src)):
        slot, _ = search(g, np.int64(src[i]), dst[i])
        if slot >= 0:
            clear_slot(g, np.int64(src[i]), slot)
            g.counters[EDGES] -= 1
            status[i] = REMOVED
            if len(before):
                before[i] = g.weight[slot]


@kernel
def clear_rows(g, vertices):
    """Turn all edges of the vertices into gaps."""
    for i in range(len(vertices)):
        u = np.int64(vertices[i])
        g.counters[EDGES] -= g.degree[u]
        for slot in range(g.guard[u] + 1, g.guard[u + 1]):
            if g.dst[slot] != GAP:
                clear_slot(g, u, slot)


@kernel
def append_guards(g, first, begin):
    """Put the guards of the vertices from ``first`` on into the leaves from ``begin`` on, which are not in use."""
    u, num_vertices = first, len(g.degree)
    for leaf in range(begin, g.leaves):
        slot = leaf << LEAF_BITS
        for k in range(LEAF):
            g.dst[slot + k] = GAP
        for k in range(min(GUARDS, num_vertices - u)):
            g.dst[slot + k] = LAST
        u = min(u + GUARDS, num_vertices)
    finish_leaves(g, begin, g.leaves, first)


@kernel
def drop_guards(g, num_vertices):
    """Remove the guards of the vertices from ``num_vertices`` on, which have no edges."""
    behind = g.guard[num_vertices] + 1
    begin = behind >> LEAF_BITS
    for slot in range(behind, g.leaves << LEAF_BITS):
        g.dst[slot] = GAP
    if begin < g.leaves:
        finish_leaves(g, begin, g.leaves, g.owner[begin])


@kernel
def list_touched(g):
    """List the leaves with edges that were inserted since the mark."""
    count = 0
    for leaf in range(g.leaves):
        if g.fresh[leaf]:
            g.touched[count] = leaf
            count += 1
    g.counters[TOUCHED] = count
