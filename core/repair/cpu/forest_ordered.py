"""CPU template of the dependence forest: pushes in the order of the first key.

In this order few vertices push more than once, however different the keys are from which a repair starts. As in
delta-stepping, vertices wait in buckets by their first key, and the lowest bucket is emptied first. If all offers of a
step have the same keys, as in breadth-first search, two queues suffice.

``g`` is the view of out-edges, ``tree`` the words by vertex, changed in place. ``waiting`` is a :class:`Waiting`, the
buckets; bucket ``k`` has the first keys from ``origin + k / inverse`` on. ``violated``, ``uint32[1]``, becomes 1 if the
keys of an offer do not grow; ``args`` are those of the user's functions.
"""

from __future__ import annotations

import numpy as np

from suricate.base.types import EMPTY
from suricate.cpu.jit import inner, kernel
from suricate.repair.cpu.forest import AHEAD, above, push_from
from suricate.repair.cpu.forest_bindings import (
    ahead,
    degree,
    edge,
    first_key,
    less_word,
    load_word,
    neighbors,
    parent_of,
    same_keys,
    store_word,
    weight,
)
from suricate.repair.cpu.waiting import (
    CHUNK,
    LEFT,
    WINDOW,
    bucket_of,
    detach,
    empty_buckets,
    give_back,
    open_buckets,
    put_off,
    take_out,
)


@inner
def least_key(tree, queue, count):
    """Return the smallest first key of the vertices ``queue[:count]``; infinity if ``count`` is 0."""
    least = np.inf
    for i in range(count):
        least = min(least, np.float64(first_key(load_word(tree, queue[i]))))
    return least


@inner
def put_off_all(tree, queue, count, origin, inverse, waiting):
    """Put the vertices ``queue[:count]`` into the buckets of their first keys."""
    for i in range(count):
        v = queue[i]
        put_off(waiting, v, bucket_of(first_key(load_word(tree, v)), origin, inverse))


@inner
def push_in_order(g, tree, u, origin, inverse, waiting, violated, *args):
    """Offer words to the out-neighbours of ``u``; those whose keys change go to the buckets of their first keys."""
    own = load_word(tree, u)
    if parent_of(own) == EMPTY:
        return
    for v, slot in neighbors(g, u):
        old = load_word(tree, v)
        value = edge(u, v, weight(g, slot), *args)
        if not above(value, own):
            violated[0] = 1
        elif less_word(value, old):
            store_word(tree, v, value)
            if not same_keys(value, old):
                put_off(waiting, v, bucket_of(first_key(value), origin, inverse))


@kernel
def propagate_in_order(g, queue, count, tree, inverse, share, waiting, violated, *args):
    """Push from the ``count`` vertices in ``queue`` until nothing changes, the lowest bucket first.

    A bucket is 1 / ``inverse`` wide. After more than ``share`` edges it ends early and writes the waiting vertices to
    ``queue``, so that several threads can continue. Returns the number of buckets that were emptied, of vertices that
    pushed, and of vertices in ``queue``.
    """
    where, who, rest = waiting.where, waiting.who, waiting.rest
    steps, pushed, edges = 0, 0, np.int64(0)
    while count > 0 and edges <= share:
        origin, at, crowded = least_key(tree, queue, count), 0, False
        open_buckets(waiting)
        put_off_all(tree, queue, count, origin, inverse, waiting)
        count = 0
        while at < WINDOW and edges <= share and not crowded:
            if waiting.firsts[at] < 0:
                at += 1
                continue
            steps += 1
            c, stop = detach(waiting, at)
            while c >= 0:  # to its end: what is taken out is skipped
                last = CHUNK if rest[c] >= 0 else stop - c * CHUNK
                for i in range(last):
                    if i + AHEAD < last:
                        ahead(g, who[np.uint64(c * CHUNK + i + AHEAD)])
                    u = who[np.uint64(c * CHUNK + i)]
                    if where[u] != at + 1:
                        continue
                    arcs = np.int64(degree(g, u))
                    crowded = waiting.supply[LEFT] < arcs // CHUNK + WINDOW + 2
                    if crowded or edges > share:
                        count = take_out(waiting, c, i, stop, at, queue, count)
                        break
                    where[u] = 0
                    pushed, edges = pushed + 1, edges + arcs
                    push_in_order(g, tree, u, origin, inverse, waiting, violated, *args)
                following = rest[c]
                give_back(waiting, c)
                c = following
        count = empty_buckets(waiting, queue, count)
    return steps, pushed, count


@inner
def sink(tree, heap, place, count):
    """Move the vertex at ``place`` of ``heap[:count]`` down until no child has a smaller first key in ``tree``."""
    v = heap[place]
    key, below = first_key(load_word(tree, v)), 2 * place + 1
    while below < count:
        least = first_key(load_word(tree, heap[below]))
        if below + 1 < count:
            other = first_key(load_word(tree, heap[below + 1]))
            if other < least:
                least, below = other, below + 1
        if not least < key:
            break
        heap[place] = heap[below]
        place, below = below, 2 * below + 1
    heap[place] = v


@kernel
def propagate_by_level(g, heap, count, tree, stamp, step, queue, buffer, violated, *args):
    """Push from the first ``count`` vertices of ``queue``, which are distinct, until nothing changes.

    Each waits in a heap for the step whose vertices have its first key; if its keys change meanwhile, the next step
    takes it as well. ``queue``, ``buffer``, ``heap``, ``uint32[num_vertices]``, are overwritten. A queued vertex gets
    the stamp of its step in ``stamp``; stamps are used from ``step + 1`` on. Returns the number of steps, of vertices
    that pushed, and the next unused stamp.
    """
    for i in range(count):
        heap[i] = queue[i]
    for i in range(count // 2 - 1, -1, -1):
        sink(tree, heap, i, count)
    steps, pushed, queued = 0, 0, 0
    while queued > 0 or count > 0:
        level = first_key(load_word(tree, queue[0] if queued > 0 else heap[0]))
        while count > 0 and first_key(load_word(tree, heap[0])) <= level:
            if stamp[heap[0]] != step:
                queue[queued] = heap[0]
                queued += 1
            count -= 1
            heap[0] = heap[count]
            sink(tree, heap, 0, count)
        steps += 1
        pushed += queued
        step += 1
        left = 0
        for i in range(queued):
            if i + AHEAD < queued:
                ahead(g, queue[i + AHEAD])
            left = push_from(g, tree, queue[i], stamp, step, buffer, left, violated, *args)
        queue, buffer = buffer, queue
        queued = left
    return steps, pushed, step + 1
