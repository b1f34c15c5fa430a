"""CPU template of a dependence forest from scratch where the offers of a step differ in the parent only.

That is breadth-first search: a vertex is final after the step that reaches it first, and of the parents of that step
the smallest wins. Steps of few edges compare words. In the others a vertex is one bit in sets that stay in the cache:
``reached``, the vertices of earlier steps, and ``frontier``, those that make offers in this one.

A large step is a push or a pull, by any number of threads that take blocks in ascending order from ``counter``. In a
push each has a set ``seen`` of its own, and of the offers that it makes to a vertex only the first counts, as those
behind it come from larger parents. In a pull a vertex looks for its smallest neighbour in the frontier (Beamer et al.,
"Direction-optimizing breadth-first search", SC 2012), which is the first one that it finds if rows ascend.

Other parameters are those of ``forest.py``.
"""

from __future__ import annotations

import numpy as np

from suricate.base.types import EMPTY, TOMBSTONE
from suricate.cpu.atomics import add
from suricate.cpu.bitmap import ONE, ZERO, holds, include, member, without_lowest
from suricate.cpu.jit import inner, kernel
from suricate.cpu.scratch import WORDS, scratch
from suricate.cpu.vector import one_bits
from suricate.operators.cpu.measuring import edges_of
from suricate.repair.cpu.forest import AHEAD, above, take
from suricate.repair.cpu.forest_bindings import (
    ahead,
    begin,
    buckets,
    copied,
    copies,
    degree,
    edge,
    end,
    first,
    following,
    identity_word,
    key,
    load_word,
    neighbors,
    parent_of,
)
from suricate.repair.cpu.forest_parts import improve

MOST = WORDS - 64  #: keys that are copied before they are looked up
PULLED = np.int64(16)  #: words of a block of a pull: cache lines that no other thread writes


@inner
def offer_of(tree, u, violated, *args):
    """Return the word that ``u``, which has edges, offers all its neighbours; the largest word if it offers nothing.

    ``tree`` has the words by vertex; ``violated[0]`` becomes 1 if the keys of the offer do not grow.
    """
    own = load_word(tree, u)
    if parent_of(own) == EMPTY:
        return identity_word
    value = edge(u, u, 1, *args)
    if above(value, own):
        return value
    violated[0] = 1
    return identity_word


@inner
def give(alone, tree, v, value):
    """Replace the word of ``v`` in ``tree`` by ``value`` if that is better; return whether its keys changed.

    Unless ``alone``, other threads may do so, too, and words are exchanged by compare-and-swap.
    """
    return take(tree, v, value) if alone else improve(tree, v, value)


@kernel
def push_few(g, num_vertices, queue, buffer, count, most, tree, reached, violated, *args):
    """Push step by step from the ``count`` vertices in ``queue``, until none is left or a step exceeds ``most`` edges.

    Vertices reached are added to the set ``reached``. ``queue`` and ``buffer`` are ``uint32[n]``; ``tree`` and
    ``violated`` are those of ``forest.py``.

    Returns:
        The number of steps, of vertices that pushed, of their edges, and of vertices left; these are in ``buffer``
        after an odd number of steps, else in ``queue``.
    """
    steps, pushed, edges = 0, 0, np.int64(0)
    while count > 0:
        more = edges_of(g, g, num_vertices, queue, False, count, most)
        if more > most:
            break
        steps, pushed, edges = steps + 1, pushed + count, edges + more
        queued = 0
        for i in range(count):
            if i + AHEAD < count:
                ahead(g, queue[i + AHEAD])
            u = queue[i]
            include(reached, u)
            if degree(g, u) == 0:
                continue
            value = offer_of(tree, u, violated, *args)
            if parent_of(value) == EMPTY:
                continue
            for v, _ in neighbors(g, u):
                if take(tree, v, value):
                    buffer[queued] = v
                    queued += 1
        queue, buffer, count = buffer, queue, queued
    return steps, pushed, edges, count


@kernel
def list_members(queue, count, reached, seen):
    """Set the bitmap ``seen`` to the union of the bitmap ``reached`` and the first ``count`` vertices of ``queue``."""
    for i in range(len(reached)):
        seen[i] = reached[i]
    for i in range(count):
        include(seen, queue[i])


@inner
def offer_to(keys, count, alone, tree, seen, value):
    """Offer ``value`` to those of the first ``count`` of ``keys`` that are not in ``seen``, and add them to it.

    Args:
        keys: vertices, possibly invalid ones, which get no offer; overwritten.
        count: how many of them.
        alone: no other thread makes offers.
        tree: words of the forest, by vertex.
        seen: a bitmap of vertices, ``uint64[]``.
        value: the word offered.
    """
    last, size = np.uint64(len(seen) - 1), ZERO
    for i in range(np.uint64(count)):  # lists them first, without a branch that depends on them
        v = keys[i]
        word = seen[min(np.uint64(v) >> np.uint64(6), last)]  # of what is no vertex: any
        keys[size] = v
        size += (~word >> (np.uint64(v) & np.uint64(63))) & np.uint64(v < TOMBSTONE)
    for i in range(size):
        v = keys[i]
        include(seen, v)
        give(alone, tree, v, value)


@inner
def offer_copied(g, u, alone, tree, seen, value):
    """Offer ``value`` to those neighbours of ``u`` in ``g`` that are not in the bitmap ``seen``, and add them to it.

    It works on copies of the row of ``u``; ``alone`` and ``tree`` are those of :func:`offer_to`.
    """
    keys, count = scratch(), 0
    for k in range(buckets(g, u)):
        c = first(g, u, k)
        while c >= 0:
            count = copied(g, c, keys, count)
            if count > MOST:
                offer_to(keys, count, alone, tree, seen, value)
                count = 0
            c = following(g, c)
    offer_to(keys, count, alone, tree, seen, value)


@kernel
def push(g, queue, count, counter, size, alone, tree, reached, seen, violated, *args):
    """Push from blocks of ``size`` of the ``count`` vertices in ``queue``, as one of the threads of a step.

    Args:
        counter: ``int64[1]``: the first place in ``queue`` that no thread has taken; increased.
        alone: whether no other thread makes offers.
        tree: the words by vertex; neighbours in ``g`` take better ones.
        reached, seen: bitmaps, ``uint64[]``: ``seen`` becomes ``reached`` plus the vertices that get an offer.
        violated: ``uint32[1]``, becomes 1 if the keys of an offer do not grow.
    """
    for i in range(len(reached)):
        seen[i] = reached[i]
    while True:
        place = add(counter, 0, size)
        if place >= count:
            return
        for i in range(place, min(count, place + size)):
            if i + AHEAD < count:
                ahead(g, queue[i + AHEAD])
            u = queue[i]
            if degree(g, u) == 0:
                continue
            value = offer_of(tree, u, violated, *args)
            if parent_of(value) == EMPTY:
                continue
            if copies:
                offer_copied(g, u, alone, tree, seen, value)
                continue
            for v, _ in neighbors(g, u):
                if holds(seen, v):
                    continue
                include(seen, v)
                give(alone, tree, v, value)


@inner
def first_held(back, v, frontier):
    """Return the first neighbour of ``v`` in ``back`` that the bitmap ``frontier`` holds, else TOMBSTONE."""
    for k in range(buckets(back, v)):
        c = first(back, v, k)
        while c >= 0:
            for slot in range(begin(back, c), end(back, c)):
                u = key(back, slot)
                if u < TOMBSTONE and holds(frontier, u):
                    return u
            c = following(back, c)
    return np.uint32(TOMBSTONE)


@inner
def least_of(keys, count, frontier, best):
    """Return the smallest of ``best`` and those of ``keys[:count]`` that the bitmap ``frontier`` holds.

    No branch depends on the keys.
    """
    last = np.uint64(len(frontier) - 1)
    for i in range(np.uint64(count)):
        u = keys[i]
        word = frontier[min(np.uint64(u) >> np.uint64(6), last)]  # of what is no vertex: any
        outside = np.uint32(((word >> (np.uint64(u) & np.uint64(63))) & np.uint64(1)) - np.uint64(1))
        best = min(best, u | outside)
    return best


@inner
def least_held(back, v, frontier):
    """Return the smallest neighbour of ``v`` in ``back`` that the bitmap ``frontier`` holds, else TOMBSTONE."""
    best, keys, count = np.uint32(TOMBSTONE), scratch(), 0
    for k in range(buckets(back, v)):
        c = first(back, v, k)
        while c >= 0:
            if copies:
                count = copied(back, c, keys, count)
                if count > MOST:
                    best, count = least_of(keys, count, frontier, best), 0
            else:
                for slot in range(begin(back, c), end(back, c)):
                    u = key(back, slot)
                    if u < best and holds(frontier, u):
                        best = u
            c = following(back, c)
    return least_of(keys, count, frontier, best) if copies else best


@inner
def smallest(back, v, ascending, frontier):
    """Return the smallest neighbour of ``v`` in ``back`` that the bitmap ``frontier`` holds, else TOMBSTONE.

    With ``ascending`` rows are sorted, so that the first one found is the smallest.
    """
    return first_held(back, v, frontier) if ascending else least_held(back, v, frontier)


@inner
def list_rest(back, num_vertices, reached, i, asked, at):
    """Write the unreached vertices of word ``i`` that have edges in ``back`` to ``asked[at:]``; prefetch their edges.

    A word of the bitmap ``reached`` holds 64 vertices. Those without edges are added to ``reached``, so that no later
    pull visits them. No branch depends on degrees. Returns the index behind the list.
    """
    done, size = reached[i], at
    left = ~done
    while left != ZERO:
        v, rest = member(i, left), without_lowest(left)
        if v >= num_vertices:
            break
        without = np.uint64(degree(back, v) == 0)
        done |= (left ^ rest) & (ZERO - without)
        asked[size], size, left = v, size + ONE - without, rest
    reached[i] = done
    for j in range(at, size):
        ahead(back, asked[j])
    return size


@inner
def take_least(back, ascending, asked, low, high, tree, frontier, violated, *args):
    """Search parents for the vertices in ``asked[low:high]``, all of one word of a bitmap; return those that find one.

    They are returned as a ``uint64`` in which bit ``v % 64`` stands for vertex ``v``. The parent is the smallest
    neighbour in ``back`` that is in the bitmap ``frontier``, the first one found if rows are ``ascending``. The vertex
    takes its offer in ``tree``. ``asked[low:high]`` is overwritten; ``violated[0]`` becomes 1 if the keys of an offer
    do not grow.
    """
    parents, count, found = scratch(), np.uint64(0), ZERO
    for j in range(low, high):
        v = asked[j]
        u = smallest(back, v, ascending, frontier)
        asked[low + count], parents[count] = v, u
        count += np.uint64(u < TOMBSTONE)
    for j in range(count):
        v = asked[low + j]
        value = offer_of(tree, parents[j], violated, *args)
        if parent_of(value) != EMPTY:
            take(tree, v, value)
            found |= ONE << (np.uint64(v) & np.uint64(63))
    return found


@kernel
def pull(back, num_vertices, counter, ascending, tree, reached, frontier, seen, violated, *args):
    """Pull for the unreached vertices of blocks of words that threads take from ``counter``, until none is left.

    The vertices of a word are listed, and their edges prefetched, while those of the word before search for parents.

    Args:
        back, ascending: the view of in-edges; whether its rows are sorted.
        counter: ``int64[1]``: the first word that no thread has taken; increased.
        tree: the words by vertex; a vertex takes the offer of its smallest neighbour in ``frontier``.
        reached, frontier, seen: bitmaps, ``uint64[]``: vertices reached before; those that make offers; written: those
            reached before or now. Vertices without edges are added to ``reached``.
        violated: ``uint32[1]``, becomes 1 if the keys of an offer do not grow.
    """
    asked, last = scratch(), np.int64(len(reached))
    while True:
        place = add(counter, 0, PULLED)
        if place >= last:
            return
        stop, low, high = min(last, place + PULLED), ZERO, list_rest(back, num_vertices, reached, place, asked, ZERO)
        for i in range(place, stop):
            other = np.uint64(64) - low
            more = list_rest(back, num_vertices, reached, i + 1, asked, other) if i + 1 < stop else other
            found = take_least(back, ascending, asked, low, high, tree, frontier, violated, *args)
            seen[i], low, high = reached[i] | found, other, more


@kernel
def gather(g, first_word, last_word, seen, reached, frontier, queue):
    """Make the next frontier in a range of words: vertices in one of the sets ``seen`` that were not reached before.

    The bitmaps ``reached`` and ``frontier`` are overwritten from ``first_word`` to ``last_word`` (exclusive); ``seen``
    has a row per thread. The frontier is also written to ``queue``, ascending, from index ``64 * first_word`` on.
    Returns the index behind it, its number of edges in ``g``, and the number of vertices of these words reached so far.
    """
    at, edges, members = first_word * 64, np.int64(0), np.int64(0)
    for i in range(first_word, last_word):
        word = seen[0, i]
        for part in range(1, len(seen)):
            word |= seen[part, i]
        left = word & ~reached[i]
        reached[i], frontier[i] = word, left
        members += one_bits(np.int64(word))
        while left != ZERO:
            v = member(i, left)
            left = without_lowest(left)
            queue[at] = v
            at += 1
            edges += np.int64(degree(g, v))
    return at, edges, members
