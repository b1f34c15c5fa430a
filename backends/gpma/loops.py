"""Loops of ``gpma`` on the CPU: locate, plan, merge, rebuild; the specification of ``gpma.cu``.

A *leaf* is 32 slots, a *segment* of level l at most 2^l leaves, the whole array one of level ``height``; the *guard* of
a vertex is the entry behind its edges (see ``layout.py``). A *fresh* edge was inserted since the mark. Loops whose last
parameters are a range, its end exclusive, do a part of the work, and parts may run at the same time: they write to
leaves and vertices of their own, and return what they count.

``keys`` (uint64, source in the upper half), ``order``, ``kind`` and ``slot`` are those of a
:class:`~suricate.primitives.located.LocatedBatch`. ``entries`` are the indices of its entries that change the graph,
``places`` their slots. ``weight`` has the bits of the weights by position in the batch before sorting; it is not read
on an unweighted graph.
"""

from __future__ import annotations

import numpy as np

from suricate.backends.gpma.layout import DENSE, EDGES, GUARDS, HIGH, LEAF, LEAF_BITS, LEAF_LEAST, ROOT_LEAST, ROOT_MOST
from suricate.base.types import EMPTY, REMOVED, TOMBSTONE
from suricate.cpu.jit import inner, kernel
from suricate.cursors.contiguous import lower_bound
from suricate.primitives.located import ABSENT, DUPLICATE, PRESENT

GAP, LAST = np.uint32(EMPTY), np.uint32(TOMBSTONE)  #: what slots hold without an entry, and of a guard (``GUARD``)


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
    """Return the most entries that a segment of ``slots`` slots and this ``level`` may hold once it is rebalanced."""
    return slots * (ROOT_MOST * height + (DENSE - ROOT_MOST) * (height - level)) // (DENSE * height)


@inner
def least_in(slots, level, height):
    """Return the fewest entries that strict deletion leaves in a segment of ``slots`` slots and this ``level``."""
    return slots * (ROOT_LEAST * height - (ROOT_LEAST - LEAF_LEAST) * (height - level)) // (DENSE * height)


# -- where edges are, and where they would go ------------------------------------------------------------------------


@inner
def leaf_of(head, low, high, v):
    """Return the leaf for destination ``v`` of a row in leaves ``low`` to ``high``; ``head`` is that of ``Graph``."""
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
def locate(g, keys, kind, slot, wanted, begin, end):
    """Fill in kind and slot of the sorted entries ``[begin, end)``; return how many are of kind ``wanted``.

    The slot is that of a stored edge, the place that an absent one goes to, or -1 for a duplicate that is not the last.
    """
    count, last = 0, np.uint64(len(keys) - 1)
    for i in range(np.uint64(begin), np.uint64(end)):
        here, found = DUPLICATE, np.int64(-1)
        if i == last or keys[i + np.uint64(1)] != keys[i]:
            at, place = search(g, np.int64(keys[i] >> np.uint64(32)), np.uint32(keys[i]))
            here, found = (PRESENT, at) if at >= 0 else (ABSENT, place)
        kind[i], slot[i] = here, found
        count += here == wanted
    return count


@kernel
def list_changes(kind, slot, wanted, entries, places, listed, begin, end):
    """List the entries ``[begin, end)`` of a batch that have the kind ``wanted``, and their slots.

    They are written to ``entries`` and ``places``, from index ``listed`` on.
    """
    at = np.uint64(listed)
    for i in range(np.uint64(begin), np.uint64(end)):
        if kind[i] == wanted:
            entries[at], places[at] = i, slot[i]
            at += np.uint64(1)


@kernel
def find_edges(g, src, dst, found, result, begin, end):
    """Look up the edges ``[begin, end)``: write ``found``, and the weights (bits) of stored ones to ``result``."""
    for i in range(begin, end):
        at, _ = search(g, np.int64(src[i]), dst[i])
        found[i] = at >= 0
        if found[i] and len(g.weight):
            result[i] = g.weight[at]


# -- which segments are rebalanced -----------------------------------------------------------------------------------


@inner
def entries_in(count, begin, end):
    """Return the number of entries in leaves ``[begin, end)``; ``count`` has that of each leaf."""
    total = np.int64(0)
    for leaf in range(begin, end):
        total += count[np.uint64(leaf)]
    return total


count_entries = kernel(entries_in)  #: for Python


@inner
def first_from(places, slot):
    """Return how many of ``places``, which ascend, are below ``slot``."""
    return lower_bound(places, 0, len(places), slot)


@kernel
def plan(g, places, inserts, begins, levels, first, last):
    """List the segments to rebalance for the changes ``first`` to ``last``; return the index behind the last one.

    ``places`` are the slots of the changes. ``begins`` and ``levels`` receive first leaf and level of each segment,
    from index ``first`` on. Before an insertion (``inserts``) these are, for each change, the smallest segment around
    its leaf that will not be too full; after a deletion the smallest that is not too empty. Of nested segments only the
    largest is listed.
    """
    height, planned = height_of(g.leaves), first
    for i in range(first, last):
        leaf = places[i] >> LEAF_BITS
        if planned > first and leaf < np.int64(begins[planned - 1]) + (1 << np.int64(levels[planned - 1])):
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
        while planned > first and begins[planned - 1] >= begin:
            planned -= 1
        begins[planned], levels[planned] = begin, level
        planned += 1
    return planned


# -- moving entries --------------------------------------------------------------------------------------------------


@inner
def carry(g, source, slot):
    """Move an entry from slot ``source`` to slot ``slot``, with its weight and fresh bit; ``source`` becomes a gap."""
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
    """Return whether the bit of ``slot`` is set in ``masks``, which has a word of 32 bits per leaf."""
    return (masks[slot >> LEAF_BITS] >> np.uint32(slot & (LEAF - 1))) & np.uint32(1) == 1


@inner
def set_fresh(g, slot, value):
    """Record in ``g.fresh`` whether the edge in ``slot`` was inserted since the mark (``value``)."""
    bit = np.uint32(1) << np.uint32(slot & (LEAF - 1))
    if value:
        g.fresh[slot >> LEAF_BITS] |= bit
    else:
        g.fresh[slot >> LEAF_BITS] &= ~bit


@inner
def finish_leaves(g, begin, end, owner):
    """Update the arrays per leaf of ``[begin, end)``, and the slots of the guards there, to what ``g.dst`` holds.

    ``owner`` is the source of the first entry there; the source of the next entry behind these leaves is returned.
    """
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
    """Move the entries of leaves ``[begin, end)`` to the first slots there, without gaps; return their number.

    ``places[low:high]``, the slots before which new entries go, are changed in place to those after the move.
    """
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
    """Spread the packed entries of leaves ``[begin, end)``, and new ones among them, evenly over these, from the back.

    ``held`` is the number of packed entries. The new ones are ``entries[low:high]``, with their slots in ``places``.
    """
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
def merge(g, begins, levels, places, entries, keys, order, weight, first, last):
    """Rebalance the segments ``[first, last)`` of a plan, inserting new entries; return how many old ones they held.

    ``begins`` and ``levels`` are first leaf and level of each segment. ``places``, the slots of
    new entries, is scratch: changed in place as by :func:`pack`.
    """
    moved = np.int64(0)
    for j in range(first, last):
        begin = np.int64(begins[j])
        end = min(begin + (1 << np.int64(levels[j])), g.leaves)
        low, high = first_from(places, begin << LEAF_BITS), first_from(places, end << LEAF_BITS)
        owner = g.owner[begin]
        held = pack(g, begin, end, places, low, high)
        spread(g, begin, end, held, places, entries, low, high, keys, order, weight)
        finish_leaves(g, begin, end, owner)
        moved += held
    return moved


@kernel
def count_changes(g, entries, keys, by, first, last):
    """Add ``by`` (1 or -1) to the degree of the source of each change ``entries[first:last]``, in place."""
    for i in range(first, last):
        g.degree[keys[entries[i]] >> np.uint64(32)] += np.uint32(by)


@inner
def owner_of(g, slot):
    """Return the vertex of the row that ``slot`` is in: the guards before its leaf plus those before it in the leaf."""
    leaf = np.uint64(slot) >> np.uint64(LEAF_BITS)
    guards = g.guards[leaf] & ((np.uint32(1) << np.uint32(slot & (LEAF - 1))) - np.uint32(1))
    owner = g.owner[leaf]
    while guards:
        guards &= guards - np.uint32(1)
        owner += np.uint32(1)
    return owner


@inner
def passed(g, places, leaf, before, rank):
    """Return the slot of ``g`` and the number of new entries at which merging goes on after ``rank`` merged entries.

    New entries are merged before the old ones at their ``places``. Counting begins at ``leaf``, which ``before`` merged
    entries precede.
    """
    k = first_from(places, leaf << LEAF_BITS)
    while leaf + 1 < g.leaves:
        following = k
        while following < len(places) and places[following] < (leaf + 1) << LEAF_BITS:
            following += 1
        count = np.int64(g.count[leaf]) + following - k
        if before + count > rank:
            break
        before, leaf, k = before + count, leaf + 1, following
    read = leaf << LEAF_BITS
    while before < rank:
        if k < len(places) and places[k] <= read:
            before, k = before + 1, k + 1
        else:
            before += g.dst[read] != GAP
            read += 1
    return read, k


@kernel
def rebuild(g, new, start, before, total, places, entries, keys, order, weight, first, last):
    """Merge entries of ``g`` and new ones into leaves ``[first, last)`` of the empty arrays ``new``, spread evenly.

    ``g`` is read from leaf ``start`` on, which ``before`` of the ``total`` merged entries precede. The new ones are
    ``entries``, with their slots in ``g`` in ``places``. Vertices and counters of ``new`` are those of ``g``.
    """
    rank = total * first // new.leaves
    read, k = passed(g, places, start, before, rank)
    owner = np.int64(owner_of(g, read))
    for leaf in range(first, last):
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
    finish_leaves(new, first, last, owner)


# -- deletion, vertices ----------------------------------------------------------------------------------------------


@inner
def clear_slot(g, slot):
    """Turn the slot of an edge into a gap, and update the count and the fresh bits of its leaf."""
    g.dst[slot] = GAP
    g.count[slot >> LEAF_BITS] -= np.uint8(1)
    if len(g.fresh):
        set_fresh(g, slot, False)


@kernel
def clear(g, places, first, last):
    """Make the slots ``places[first:last]`` gaps; no other entry moves."""
    for i in range(first, last):
        clear_slot(g, places[i])


@kernel
def clear_edges(g, src, dst, status, before):
    """Turn the edges (``src``, ``dst``) into gaps; write ``status`` and ``before`` (bits) of those that were stored.

    Of duplicates the first is reported. ``before`` has length 0 without weights.
    """
    for i in range(len(src)):
        slot, _ = search(g, np.int64(src[i]), dst[i])
        if slot >= 0:
            clear_slot(g, slot)
            g.degree[src[i]] -= np.uint32(1)
            g.counters[EDGES] -= 1
            status[i] = REMOVED
            if len(before):
                before[i] = g.weight[slot]


@kernel
def clear_rows(g, vertices):
    """Turn all edges of ``vertices`` (array of ids) into gaps, and set their degrees to 0."""
    for i in range(len(vertices)):
        u = np.int64(vertices[i])
        g.counters[EDGES] -= g.degree[u]
        g.degree[u] = 0
        for slot in range(g.guard[u] + 1, g.guard[u + 1]):
            if g.dst[slot] != GAP:
                clear_slot(g, slot)


@kernel
def append_guards(g, first, begin, end):
    """Put the guards of the vertices from ``first`` on into leaves ``[begin, end)``, which are not in use yet."""
    u, num_vertices = first, g.counters[HIGH]
    for leaf in range(begin, end):
        slot = leaf << LEAF_BITS
        for k in range(LEAF):
            g.dst[slot + k] = GAP
        for k in range(min(GUARDS, num_vertices - u)):
            g.dst[slot + k] = LAST
        u = min(u + GUARDS, num_vertices)
    finish_leaves(g, begin, end, first)


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
def list_touched(g, begin, end):
    """List the leaves in ``[begin, end)`` with edges inserted since the mark in ``g.touched``, from index ``begin`` on.

    Return the index behind the last one listed.
    """
    listed = begin
    for leaf in range(begin, end):
        if g.fresh[leaf]:
            g.touched[listed] = leaf
            listed += 1
    return listed
