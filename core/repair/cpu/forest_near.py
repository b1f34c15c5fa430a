"""CPU template of the dependence forest: pushes in the order of the first key by several threads.

A vertex is pending if it has yet to push. A round takes the pending vertices whose keys are less than ``reach`` buckets
above ``origin``, the least key of all. Each thread starts from a range of them, its part, and continues from the
vertices that it changes, the lowest of its own buckets first, until none of them is within reach or it has visited
enough edges. Vertices that it leaves, or changes beyond reach, get the stamp ``step``, by which the next round finds
them. Threads change the same words by compare-and-swap: a thread that is ahead of another may make offers in vain, but
the result is the same. Threads that continue without waiting for others are the bucket fusion of Zhang et al.
("Optimizing ordered graph algorithms with GraphIt", CGO 2020), across buckets here.

A part keeps the vertices of its buckets in a pool: ``who`` (uint32) and ``words``, the word of the vertex at that time.
An entry is skipped if the keys have changed since, as another entry then has the vertex. ``after`` links the entries of
bucket ``j`` from ``firsts[j]`` to ``lasts[j]``, and the free entries from ``state[0]`` on; entries from ``state[1]`` on
were never used.
"""

from __future__ import annotations

import numpy as np

from suricate.base.types import EMPTY, TOMBSTONE
from suricate.cpu.jit import inner, kernel
from suricate.repair.cpu.forest import above
from suricate.repair.cpu.forest_bindings import (
    ahead,
    begin,
    buckets,
    degree,
    edge,
    end,
    first,
    first_key,
    following,
    key,
    load_whole,
    load_word,
    parent_of,
    same_keys,
    store_word,
    weight,
)
from suricate.repair.cpu.forest_parts import improve

PLACES = 1024  #: buckets of a part


@inner
def place_of(word, origin, inverse, lowest):
    """Return the bucket of the first key in ``word``, from ``lowest`` to ``PLACES``, which is that of larger keys."""
    place = (np.float64(first_key(word)) - origin) * inverse
    return np.int64(min(place, np.float64(PLACES))) if place > lowest else np.int64(lowest)


@inner
def keep(v, word, j, who, words, after, firsts, lasts, state):
    """Append ``v`` with its ``word`` to bucket ``j``; return False, with nothing changed, if the pool is full."""
    entry = state[0]
    if entry >= 0:
        state[0] = after[entry]
    elif state[1] < len(who):
        entry = state[1]
        state[1] += 1
    else:
        return False
    who[entry], after[entry] = v, -1
    store_word(words, entry, word)
    if firsts[j] < 0:
        firsts[j] = entry
    else:
        after[lasts[j]] = entry
    lasts[j] = entry
    return True


@kernel
def push_near(g, queue, first_place, last_place, tree, near, most, pool, stamp, step, violated, *args):
    """Push from the vertices ``queue[first_place:last_place]`` and then from vertices whose keys change.

    Args:
        g, tree: the view of out-edges; the words by vertex, changed in place.
        near: first key at which bucket 0 begins, 1 / width of a bucket, and number of buckets whose vertices push.
        most: how many edges are visited at most, beyond those of the first vertices.
        pool: the arrays of the pool, see the module, as a tuple in the order in which :func:`keep` takes them.
        stamp, step: vertices left to later rounds get the stamp ``step``.
        violated: ``uint32[1]``, becomes 1 if the keys of an offer do not grow.
        args: arguments of the user's functions.

    Returns:
        The number of vertices that pushed, of edges, of vertices left to later rounds, and the least first key of
        these.
    """
    origin, inverse, reach = near
    who, words, after, firsts, lasts, state = pool
    pushed, edges, left, least = 0, 0, 0, np.inf
    state[0], state[1] = -1, 0
    firsts[:] = -1
    for i in range(first_place, last_place):
        v = queue[i]
        word = load_whole(tree, v)
        most += np.int64(degree(g, v))
        place = min(place_of(word, origin, inverse, 0), reach - 1)
        if not keep(v, word, place, who, words, after, firsts, lasts, state):
            stamp[v] = step
            left, least = left + 1, min(least, np.float64(first_key(word)))
    for j in range(reach):
        while firsts[j] >= 0:
            entry = firsts[j]
            u, kept = who[entry], load_word(words, entry)
            firsts[j], after[entry], state[0] = after[entry], state[0], entry
            if firsts[j] >= 0:
                ahead(g, who[firsts[j]])
            own = load_whole(tree, u)
            if not same_keys(own, kept) or parent_of(own) == EMPTY:
                continue
            if edges > most:
                stamp[u] = step
                left, least = left + 1, min(least, np.float64(first_key(own)))
                continue
            pushed += 1
            for k in range(buckets(g, u)):
                c = first(g, u, k)
                while c >= 0:
                    edges += end(g, c) - begin(g, c)
                    for slot in range(begin(g, c), end(g, c)):
                        v = key(g, slot)
                        if v >= TOMBSTONE:
                            continue
                        value = edge(u, v, weight(g, slot), *args)
                        if not above(value, own):
                            own = load_whole(tree, u)  # after the offer: no larger than what that was made of
                        if not above(value, own):
                            violated[0] = 1
                        elif improve(tree, v, value):
                            place = place_of(value, origin, inverse, j)
                            if place < reach and keep(v, value, place, who, words, after, firsts, lasts, state):
                                continue
                            stamp[v] = step
                            left, least = left + 1, min(least, np.float64(first_key(value)))
                    c = following(g, c)
    return pushed, edges, left, least


@kernel
def gather_near(begin_place, end_place, tree, stamp, step, limit, queue):
    """Write the stamped vertices of a range whose first keys are at most ``limit`` to ``queue[begin_place:]``.

    The range is ``begin_place`` to ``end_place`` (exclusive); a stamped vertex has the stamp ``step``; ``tree`` has the
    words. Vertices that are written lose their stamp; the others keep it for a later call. Returns the index after the
    last one written, the number of the others, and their least first key, infinity if there are none.
    """
    size = begin_place
    for v in range(begin_place, end_place):  # without branches, which would be foretold badly
        queue[size] = v
        size += stamp[v] == step
    at, least = begin_place, np.inf
    for i in range(begin_place, size):
        v = queue[i]
        lowest = np.float64(first_key(load_word(tree, v)))
        taken = not lowest > limit
        queue[at] = v
        stamp[v] -= taken
        at += taken
        least = min(least, np.inf if taken else lowest)
    return at, size - at, least
