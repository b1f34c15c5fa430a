"""The forest of components on the CPU: a template over a cursor.

To build it and to cut off is what ``component_forest.cu`` does with many threads. To attach is done one after the other
here: what is detached is walked once, and of two components that join the smaller one gets the root of the other.

``g`` is the view of the out-edges, ``h`` that of the in-edges, used if ``both``. ``at`` is the layout of a word
(``component_forest.Layout``). Queues are ``uint32[n]``; ``kept`` is ``int64[2]``: the epoch of the stamps, and the
greatest distance so far. ``stamp[v]`` is the epoch of the round that v was last queued for, ``size_of[v]`` the size of
the component whose root is v, else 0.
"""

from __future__ import annotations

import numpy as np

from suricate.algorithms.wcc.component_words import UNREACHED
from suricate.algorithms.wcc.component_words_cpu import length, root_of, root_word
from suricate.base.types import EMPTY
from suricate.cpu.jit import inner, kernel
from suricate.cursors.bindings import degree, neighbors


@inner
def rank_of(neighbors, at):
    """Return the class of a root by its degree: the more neighbours, the better (lower)."""
    bits = 0
    while neighbors:
        bits += 1
        neighbors >>= 1
    return at.last_rank - min(bits, at.last_rank - 1) if at.last_rank else 0


@inner
def same_root(a, b, at):
    """Return whether two words have one root."""
    return (a >> at.root_shift) == (b >> at.root_shift)


@inner
def enqueue(v, stamp, epoch, queue, count):
    """Queue ``v`` once; return the new count."""
    if stamp[v] == epoch:
        return count
    stamp[v] = epoch
    queue[count] = v
    return count + 1


@inner
def support(v, u, word, parent, at, kept):
    """Make ``u``, which has a root, the supporter of ``v``."""
    word[v], parent[v] = word[u] + length(v, at), u
    kept[1] = max(kept[1], word[v] & ((1 << at.root_shift) - 1))


@inner
def offer_neighbors(g, u, word, parent, at, kept, stamp, queue, count):
    """Offer the word of ``u`` along its arcs in ``g`` to vertices with worse ones; return the queue's new count."""
    for v, _ in neighbors(g, u):
        if word[u] + length(v, at) < word[v]:
            support(v, u, word, parent, at, kept)
            count = enqueue(v, stamp, kept[0], queue, count)
    return count


@inner
def spread(g, h, both, word, parent, at, kept, stamp, queue, buffer, count):
    """Let the vertices in ``queue`` make offers, then those that took one, until nobody does."""
    while count > 0:
        kept[0] += 1
        queued = 0
        for i in range(count):
            u = queue[i]
            queued = offer_neighbors(g, u, word, parent, at, kept, stamp, buffer, queued)
            if both:
                queued = offer_neighbors(h, u, word, parent, at, kept, stamp, buffer, queued)
        queue, buffer, count = buffer, queue, queued


@kernel
def build(walk, label, largest, best, forest, queues, stamp, kept):
    """Build the forest from scratch: the vertex with most neighbours is the root of its component.

    ``label`` is one element of the component of each vertex, ``largest`` that of the largest, or -1.
    """
    g, h, both = walk
    word, parent, size_of, at = forest
    queue, buffer = queues
    n, count = len(word), 0
    kept[0] += 1
    kept[1] = 0
    for v in range(n):
        word[v], parent[v], best[v] = UNREACHED, EMPTY, -1
    for v in range(n):
        c = label[v]
        if best[c] < 0 or degree(g, v) > degree(g, best[c]):
            best[c] = v
    for c in range(n):
        if best[c] >= 0:
            v = best[c]
            word[v] = root_word(v, 0 if c == largest else rank_of(degree(g, v), at), at)
            count = enqueue(v, stamp, kept[0], queue, count)
    spread(g, h, both, word, parent, at, kept, stamp, queue, buffer, count)
    size_of[:] = 0
    for v in range(n):
        size_of[root_of(word[v], at)] += 1


@inner
def suspect(u, v, word, parent, at, stamp, epoch, queue, count):
    """Queue ``v``, which lost the arc from ``u``, if that supported it and its parent does not; return the count."""
    own, above = word[v], word[u]
    if parent[v] == u:
        parent[v] = EMPTY  # the arc is gone
    if above >= own or not same_root(above, own, at):
        return count
    p = parent[v]
    if p != EMPTY and word[p] < own and same_root(word[p], own, at):
        return count
    return enqueue(v, stamp, epoch, queue, count)


@inner
def supporter(g, v, own, word, at):
    """Return a neighbour of ``v`` in ``g`` that has the same root and is nearer to it, or -1."""
    for u, _ in neighbors(g, v):
        if word[u] < own and same_root(word[u], own, at):
            return np.int64(u)
    return np.int64(-1)


@inner
def queue_supported(g, v, own, word, at, stamp, epoch, queue, count):
    """Queue all that ``v``, cut off now, may have supported; return the new count."""
    for w, _ in neighbors(g, v):
        if word[w] > own and same_root(word[w], own, at):
            count = enqueue(w, stamp, epoch, queue, count)
    return count


@kernel
def cut_off(walk, arcs, forest, detached, queues, stamp, kept):
    """Detach the vertices that deleted arcs leave without support, round by round; return their number."""
    g, h, both = walk
    src, dst, status, wanted, size = arcs
    word, parent, size_of, at = forest
    queue, buffer = queues
    count, cut = 0, 0
    kept[0] += 1
    for i in range(size):
        if len(status) == 0 or status[i] == wanted:
            count = suspect(src[i], dst[i], word, parent, at, stamp, kept[0], queue, count)
            if both:
                count = suspect(dst[i], src[i], word, parent, at, stamp, kept[0], queue, count)
    while count > 0:
        kept[0] += 1
        queued = 0
        for i in range(count):
            v = queue[i]
            own = word[v]
            if own == UNREACHED:
                continue
            u = supporter(g, v, own, word, at)
            if u < 0 and both:
                u = supporter(h, v, own, word, at)
            if u >= 0:
                parent[v] = u
                continue
            size_of[root_of(own, at)] -= 1
            word[v], parent[v] = UNREACHED, EMPTY
            detached[cut] = v
            cut += 1
            queued = queue_supported(g, v, own, word, at, stamp, kept[0], buffer, queued)
            if both:
                queued = queue_supported(h, v, own, word, at, stamp, kept[0], buffer, queued)
        queue, buffer, count = buffer, queue, queued
    return cut


@kernel
def cut_all(word, parent, size_of, detached, kept):
    """Detach every vertex, as the distances have come near their limit; return their number."""
    kept[1] = 0
    size_of[:] = 0
    for v in range(len(word)):
        word[v], parent[v], detached[v] = UNREACHED, EMPTY, v
    return len(word)


@inner
def best_neighbor(g, v, word, best):
    """Return which has the least word: ``best`` (-1: none) or a neighbour of ``v`` in ``g`` that has a root."""
    for u, _ in neighbors(g, v):
        if word[u] != UNREACHED and (best < 0 or word[u] < word[best]):
            best = np.int64(u)
    return best


@inner
def support_neighbors(g, u, forest, kept, queue, count):
    """Support the detached neighbours of ``u``; return the new count of the queue, and whether one has another root."""
    word, parent, size_of, at = forest
    own, root, is_border = word[u], root_of(word[u], at), False
    for v, _ in neighbors(g, u):
        if word[v] == UNREACHED:
            support(v, u, word, parent, at, kept)
            size_of[root] += 1
            queue[count] = v
            count += 1
        elif not same_root(word[v], own, at):
            is_border = True
    return count, is_border


@inner
def support_around(walk, forest, kept, queue, begin, count, borders, number):
    """Support what is detached around the vertices in ``queue`` from ``begin`` on, and around that.

    Vertices that have a neighbour with another root are noted in ``borders``. Returns both new counts.
    """
    g, h, both = walk
    while begin < count:
        u = queue[begin]
        count, is_border = support_neighbors(g, u, forest, kept, queue, count)
        if both:
            count, is_border_there = support_neighbors(h, u, forest, kept, queue, count)
            is_border = is_border or is_border_there
        if is_border:
            borders[number] = u
            number += 1
        begin += 1
    return count, number


@inner
def rename_neighbors(g, u, old, word, parent, at, kept, queue, count):
    """Give the neighbours of ``u`` in ``g`` that have the root of ``old`` that of ``u``; return the new count."""
    for v, _ in neighbors(g, u):
        if same_root(word[v], old, at):
            support(v, u, word, parent, at, kept)
            queue[count] = v
            count += 1
    return count


@inner
def join(walk, u, v, forest, kept, queue):
    """Join the components of the ends of an arc: the smaller one gets the root of the other."""
    g, h, both = walk
    word, parent, size_of, at = forest
    if same_root(word[u], word[v], at):
        return
    if size_of[root_of(word[u], at)] < size_of[root_of(word[v], at)]:
        u, v = v, u
    old = word[v]
    support(v, u, word, parent, at, kept)
    queue[0] = v
    begin, count = 0, 1
    while begin < count:
        x = queue[begin]
        count = rename_neighbors(g, x, old, word, parent, at, kept, queue, count)
        if both:
            count = rename_neighbors(h, x, old, word, parent, at, kept, queue, count)
        begin += 1
    size_of[root_of(old, at)] = 0
    size_of[root_of(word[u], at)] += count


@inner
def join_neighbors(walk, g, u, forest, kept, queue):
    """Join the component of ``u`` to those of its neighbours in ``g``."""
    for v, _ in neighbors(g, u):
        join(walk, u, v, forest, kept, queue)


@kernel
def attach(walk, arcs, forest, detached, cut, queues, kept):
    """Attach ``cut`` detached vertices to neighbours or to each other, and join components across inserted arcs."""
    g, h, both = walk
    src, dst, status, wanted, size = arcs
    word, parent, size_of, at = forest
    queue, borders = queues
    count, number = 0, 0
    for i in range(cut):
        v = detached[i]
        u = best_neighbor(g, v, word, np.int64(-1))
        if both:
            u = best_neighbor(h, v, word, u)
        if u >= 0:
            support(v, u, word, parent, at, kept)
            size_of[root_of(word[u], at)] += 1
            queue[count] = v
            count += 1
    done, number = support_around(walk, forest, kept, queue, 0, count, borders, number)
    for i in range(cut):
        v = detached[i]
        if word[v] == UNREACHED:
            word[v] = root_word(v, at.last_rank, at)
            size_of[v] = 1
            queue[done] = v
            done, number = support_around(walk, forest, kept, queue, done, done + 1, borders, number)
    for i in range(number):
        join_neighbors(walk, g, borders[i], forest, kept, queue)
        if both:
            join_neighbors(walk, h, borders[i], forest, kept, queue)
    for i in range(size):
        if len(status) == 0 or status[i] == wanted:
            join(walk, src[i], dst[i], forest, kept, queue)
