"""CPU template of a dependence forest from scratch, if the offers of a step differ in the parent only.

This is breadth-first search: a vertex is final after the step that reaches it first, and of the parents of that step
the smallest wins. Steps of few edges compare words. In other steps a vertex is one bit in bitmaps, ``uint64[]``, that
stay in the cache: ``reached``, the vertices of earlier steps, and ``frontier``, those that make offers in this step.

A large step is a push or a pull. Any number of threads take blocks in ascending order from ``counter``. In a push each
thread has its own bitmap ``seen``, and only its first offer to a vertex counts, as later ones come from larger parents.
In a pull a vertex looks for its smallest neighbour in the frontier (Beamer et al., "Direction-optimizing breadth-first
search", SC 2012), which is the first one that it finds if rows ascend.

``g`` and ``back`` are the views of out-edges and of in-edges, ``tree`` the words by vertex, changed in place;
``violated``, ``uint32[1]``, becomes 1 if the keys of an offer do not grow; ``args`` are those of the user's functions.
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
    """Return the word that ``u``, which has edges, offers all its neighbours; the largest word if it offers nothing."""
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
    """Make ``value`` the word of ``v`` if it is smaller, unless ``alone`` by exchange; return whether keys changed."""
    return take(tree, v, value) if alone else improve(tree, v, value)


@kernel
def push_few(g, num_vertices, queue, buffer, count, most, tree, reached, violated, *args):
    """Push step by step from the ``count`` vertices in ``queue`` while a step has at most ``most`` edges.

    It ends before a step with more edges, or when no vertex is left to push. Vertices that push are added to
    ``reached``. ``queue`` and ``buffer`` are ``uint32[num_vertices]``.

    Returns:
        The number of steps, of vertices that pushed, of their edges, and of vertices that have yet to push; these are
        in ``buffer`` after an odd number of steps, else in ``queue``.
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
    """Set the bitmap ``seen`` to the union of the bitmap ``reached`` and the vertices ``queue[:count]``."""
    for i in range(len(reached)):
        seen[i] = reached[i]
    for i in range(count):
        include(seen, queue[i])


@inner
def offer_to(keys, count, alone, tree, seen, value):
    """Offer the word ``value`` to those of ``keys[:count]`` not yet in the bitmap ``seen``; add these to ``seen``.

    ``keys``, overwritten, has vertices, and values that are no vertices and get no offer. ``alone``: no other
    thread makes offers.
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
    """Offer the word ``value`` to those neighbours of ``u`` not yet in the bitmap ``seen``; add these to ``seen``.

    The row of ``u`` is copied to scratch memory first. ``alone``: no other thread makes offers.
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
    """Push from the ``count`` vertices in ``queue``, in blocks of ``size``, as one of the threads of a step.

    Out-neighbours take smaller words. ``counter``, ``int64[1]``: the first index in ``queue`` that no thread has taken;
    increased. ``alone``: no other thread makes offers. ``seen``, this thread's bitmap, becomes ``reached`` plus the
    vertices that get an offer.
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
    """Return the first in-neighbour of ``v`` that is in the bitmap ``frontier``; ``TOMBSTONE`` if there is none."""
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
    """Return the least of ``best`` and ``keys[:count]`` in the bitmap ``frontier``; no branch depends on keys."""
    last = np.uint64(len(frontier) - 1)
    for i in range(np.uint64(count)):
        u = keys[i]
        word = frontier[min(np.uint64(u) >> np.uint64(6), last)]  # of what is no vertex: any
        outside = np.uint32(((word >> (np.uint64(u) & np.uint64(63))) & np.uint64(1)) - np.uint64(1))
        best = min(best, u | outside)
    return best


@inner
def least_held(back, v, frontier):
    """Return the smallest in-neighbour of ``v`` that is in the bitmap ``frontier``; ``TOMBSTONE`` if there is none."""
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
    """Return the smallest in-neighbour of ``v`` in ``frontier``, the first one if rows ascend, or ``TOMBSTONE``."""
    return first_held(back, v, frontier) if ascending else least_held(back, v, frontier)


@inner
def list_rest(back, num_vertices, reached, i, asked, at):
    """Write to ``asked[at:]`` the unreached vertices of word ``i`` that have in-edges, and prefetch these edges.

    Word ``i`` of the bitmap ``reached`` holds 64 vertices. Those without in-edges are added to ``reached``, so that no
    later pull visits them; bits from ``num_vertices`` on stand for no vertex. No branch depends on degrees. Returns the
    index after the last vertex in ``asked``.
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
    """Find parents for the vertices in ``asked[low:high]``, all of one word of a bitmap; return those that got one.

    They are returned as a ``uint64`` in which bit ``v % 64`` stands for vertex ``v``. The parent is the smallest
    in-neighbour in the bitmap ``frontier``; if rows are ``ascending``, it is the first one found. The vertex takes the
    parent's offer. ``asked[low:high]`` is overwritten.
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
    """Pull for all unreached vertices, as one of the threads of a step, which take blocks of words in turn.

    ``counter``, ``int64[1]``: the first word of the bitmaps that no thread has taken; increased. A vertex takes the
    offer of its smallest in-neighbour in ``frontier``; ``ascending``: rows are sorted. ``seen`` becomes ``reached``
    plus the vertices that found a parent; vertices without in-edges are added to ``reached``. While the vertices of one
    word search for parents, those of the next word are listed and their edges prefetched.
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
    """Compute the next frontier in a range of words: the vertices in the bitmaps ``seen`` that are not in ``reached``.

    From ``first_word`` to ``last_word`` (exclusive) ``frontier`` is overwritten, and the vertices are added to
    ``reached``; ``seen`` has a row per thread. The vertices are also written to ``queue``, ascending, from index ``64 *
    first_word`` on. Returns the index after the last one in ``queue``, their number of out-edges, and the number of
    reached vertices in the range.
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
