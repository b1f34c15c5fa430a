"""The forest of components on the CPU: a template over a cursor, and the specification of ``component_forest.cu``.

``g`` is the view of the out-edges, ``h`` that of the in-edges, used if ``both``. ``at`` is the layout of a word
(``component_forest.Layout``). Queues are ``uint32[n]``; ``kept`` is ``int64[2]``: the epoch of the stamps, and the
greatest distance so far. ``stamp[v]`` is the epoch of the round that v was last queued for.
"""

from __future__ import annotations

import numpy as np

from suricate.algorithms.wcc.component_words import UNREACHED
from suricate.algorithms.wcc.component_words_cpu import length, root_word
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
def offer(u, given, v, nearer, word, parent, at, kept, stamp, queue, count):
    """Offer ``v`` the word of ``u``, plus its length: taken by a vertex without a root or with a worse one.

    With ``nearer`` it is also taken by one that comes nearer to the root it has. Returns the new count of the queue.
    """
    held, given = word[v], given + length(v, at)
    if given >= held or not (nearer or held == UNREACHED or not same_root(given, held, at)):
        return count
    word[v], parent[v] = given, u
    kept[1] = max(kept[1], given & ((1 << at.root_shift) - 1))
    return enqueue(v, stamp, kept[0], queue, count)


@inner
def offer_neighbors(g, u, nearer, word, parent, at, kept, stamp, queue, count):
    """Make the offers of ``u`` along its arcs in ``g``; return the new count of the queue."""
    given = word[u]
    for v, _ in neighbors(g, u):
        count = offer(u, given, v, nearer, word, parent, at, kept, stamp, queue, count)
    return count


@kernel
def spread(g, h, both, nearer, word, parent, at, kept, stamp, queue, buffer, count):
    """Let the vertices in ``queue`` make offers, then those that took one, until nobody does."""
    while count > 0:
        kept[0] += 1
        queued = 0
        for i in range(count):
            u = queue[i]
            queued = offer_neighbors(g, u, nearer, word, parent, at, kept, stamp, buffer, queued)
            if both:
                queued = offer_neighbors(h, u, nearer, word, parent, at, kept, stamp, buffer, queued)
        queue, buffer, count = buffer, queue, queued


@kernel
def build(walk, label, largest, best, forest, queues, stamp, kept):
    """Build the forest from scratch: the vertex with most neighbours is the root of its component.

    ``label`` is one element of the component of each vertex, ``largest`` that of the largest, or -1.
    """
    g, h, both = walk
    word, parent, at = forest
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
    spread(g, h, both, True, word, parent, at, kept, stamp, queue, buffer, count)


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


@inner
def adopt(g, v, word, parent, at, kept, stamp, queue, count):
    """Let ``v``, which was cut off, take the best offer of its neighbours in ``g``; return the new count."""
    best, from_ = np.int64(UNREACHED), np.int64(0)
    for u, _ in neighbors(g, v):
        if word[u] < best:
            best, from_ = word[u], np.int64(u)
    if best == UNREACHED:
        return count
    return offer(from_, best, v, True, word, parent, at, kept, stamp, queue, count)


@kernel
def cut_off(walk, arcs, forest, detached, queues, stamp, kept):
    """Detach the vertices that deleted arcs leave without support, round by round; return their number."""
    g, h, both = walk
    src, dst, status, wanted, size = arcs
    word, parent, at = forest
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
            word[v], parent[v] = UNREACHED, EMPTY
            detached[cut] = v
            cut += 1
            queued = queue_supported(g, v, own, word, at, stamp, kept[0], buffer, queued)
            if both:
                queued = queue_supported(h, v, own, word, at, stamp, kept[0], buffer, queued)
        queue, buffer, count = buffer, queue, queued
    return cut


@kernel
def cut_all(word, parent, detached, kept):
    """Detach every vertex, as the distances have come near their limit; return their number."""
    kept[1] = 0
    for v in range(len(word)):
        word[v], parent[v], detached[v] = UNREACHED, EMPTY, v
    return len(word)


@kernel
def attach(walk, arcs, forest, detached, cut, queues, stamp, kept):
    """Attach ``cut`` detached vertices, and offer across inserted arcs; what stays detached becomes roots."""
    g, h, both = walk
    src, dst, status, wanted, size = arcs
    word, parent, at = forest
    queue, buffer = queues
    count = 0
    kept[0] += 1
    for i in range(cut):
        count = adopt(g, detached[i], word, parent, at, kept, stamp, queue, count)
        if both:
            count = adopt(h, detached[i], word, parent, at, kept, stamp, queue, count)
    for i in range(size):
        if len(status) == 0 or status[i] == wanted:
            u, v = src[i], dst[i]
            if word[u] != UNREACHED:
                count = offer(u, word[u], v, False, word, parent, at, kept, stamp, queue, count)
            if both and word[v] != UNREACHED:
                count = offer(v, word[v], u, False, word, parent, at, kept, stamp, queue, count)
    spread(g, h, both, False, word, parent, at, kept, stamp, queue, buffer, count)
    count = 0
    kept[0] += 1
    for i in range(cut):
        v = detached[i]
        if word[v] == UNREACHED:
            word[v] = root_word(v, rank_of(degree(g, v), at), at)
            count = enqueue(v, stamp, kept[0], queue, count)
    spread(g, h, both, False, word, parent, at, kept, stamp, queue, buffer, count)
