"""CPU template of the dependence forest: find invalid vertices, give them offers of their neighbours, then push.

See ``suricate.repair.forest`` for the method. Parameters of many functions:

- ``g``, ``back``: views of out-edges and of in-edges; ``has_back``: whether there are in-edges;
- ``tree``: the words by vertex, changed in place;
- ``queue``, ``buffer``, ``invalid``: ``uint32[num_vertices]``, lists of vertices; ``queued``: the length of ``queue``;
- ``stamp``, ``step``: a vertex that is queued gets ``stamp[v] = step``, so that no step queues it twice;
- ``arcs``: a tuple ``src, dst, weights, status, wanted, size``; arc i counts if ``status`` is empty or ``status[i] ==
  wanted``;
- ``violated``: ``uint32[1]``, becomes 1 if the keys of an offer are not greater than those of the vertex that makes it;
- ``args``: arguments of the user's functions: ``edge`` makes an offer, ``commit`` gives the word of a restart.
"""

from __future__ import annotations

import numpy as np

from suricate.base.types import EMPTY
from suricate.cpu.jit import inner, kernel
from suricate.cpu.queues import queue_once
from suricate.operators.cpu.measuring import MANY, edges_of
from suricate.repair.cpu.forest_bindings import (
    ahead,
    arc_weight,
    commit,
    edge,
    identity_word,
    less_word,
    load_word,
    neighbors,
    parent_of,
    same_keys,
    store_word,
    uniform,
    weight,
)

AHEAD = 8  #: vertices ahead of the current one whose edges are prefetched


@inner
def above(a, b):
    """Return whether the keys of word ``a`` are greater, hence worse, than those of word ``b``."""
    return less_word(b, a) and not same_keys(a, b)


@inner
def take(tree, v, value):
    """Replace the word of ``v`` in ``tree`` by ``value`` if that is smaller; return whether the keys changed."""
    old = load_word(tree, v)
    if not less_word(value, old):
        return False
    store_word(tree, v, value)
    return not same_keys(value, old)


@inner
def offer(tree, u, v, w, violated, *args):
    """Return the word that ``u`` offers ``v`` by an edge of weight ``w``; the largest word if it offers nothing."""
    own = load_word(tree, u)
    if parent_of(own) == EMPTY:
        return identity_word
    value = edge(u, v, w, *args)
    if not above(value, own):
        violated[0] = 1
        return identity_word
    return value


@inner
def counts(src, dst, status, wanted, num_vertices, i):
    """Return whether arc ``i`` counts: by its status, if there are any, and by its ids."""
    return (len(status) == 0 or status[i] == wanted) and src[i] < num_vertices and dst[i] < num_vertices


@kernel
def restart_all(tree, first_place, last_place, *args):
    """Set the words in ``tree`` of the vertices ``first_place`` to ``last_place`` (exclusive) to ``commit(v)``."""
    for v in range(first_place, last_place):
        store_word(tree, v, commit(np.uint32(v), *args))


@kernel
def suspect_children(num_vertices, arcs, exists, tree, stamp, step, queue, queued, violated, *args):
    """Append suspects to ``queue``: children whose tree edge is in ``arcs`` and no longer explains their word.

    ``arcs`` has the deleted arcs, or with ``exists`` the arcs with a new weight, whose child is a suspect if the offer
    is now worse than its word. ``tree`` does not change. Returns the queue's length.
    """
    src, dst, weights, status, wanted, size = arcs
    for i in range(size):
        if not counts(src, dst, status, wanted, num_vertices, i):
            continue
        u, v = src[i], dst[i]
        word = load_word(tree, v)
        if u == v or parent_of(word) != u:
            continue
        if exists:
            value = offer(tree, u, v, arc_weight(weights, i), violated, *args)
            if parent_of(value) != EMPTY and not above(value, word):
                continue
        queued = queue_once(v, stamp, step, queue, queued)
    return queued


@inner
def explained(back, tree, v, word, violated, *args):
    """Return the smallest word with the keys of ``word`` that an in-neighbour offers ``v``, else the largest word."""
    best = identity_word
    for x, slot in neighbors(back, v):
        value = offer(tree, x, v, weight(back, slot), violated, *args)
        if same_keys(value, word) and less_word(value, best):
            best = value
    return best


@inner
def best_offer(back, tree, v, violated, *args):
    """Return the smallest word that an in-neighbour offers ``v``; the largest word if none offers any."""
    best = identity_word
    for x, slot in neighbors(back, v):
        value = offer(tree, x, v, weight(back, slot), violated, *args)
        if less_word(value, best):
            best = value
    return best


@inner
def suspect_below(g, tree, v, stamp, step, queue, queued):
    """Append the children of ``v``, out-neighbours whose parent it is, to ``queue``; return the queue's length."""
    for x, _ in neighbors(g, v):
        if x != v and parent_of(load_word(tree, x)) == v:
            queued = queue_once(x, stamp, step, queue, queued)
    return queued


@kernel
def invalidate(g, back, has_back, tree, stamp, step, count, queue, buffer, invalid, violated, *args):
    """Find all invalid vertices, starting from the ``count`` suspects in ``queue``, and reset their words.

    If there are in-edges and an in-neighbour explains the word of a suspect, the suspect takes this neighbour's offer.
    Otherwise it is invalid: it gets the word ``commit(v)``, and its children are suspects of the next round. ``queue``
    and ``buffer`` are overwritten. Every round has its own stamp, from ``step`` on. Invalid vertices are listed in
    ``invalid``; returns their number, and the next unused stamp.
    """
    found = 0
    while count > 0:
        before = found
        for i in range(count):
            v = queue[i]
            word = load_word(tree, v)
            if parent_of(word) == EMPTY:
                continue
            best = explained(back, tree, v, word, violated, *args) if has_back else identity_word
            if parent_of(best) != EMPTY:
                store_word(tree, v, best)
            else:
                store_word(tree, v, commit(v, *args))
                invalid[found] = v
                found += 1
        count = 0
        for i in range(before, found):
            count = suspect_below(g, tree, invalid[i], stamp, step, buffer, count)
        queue, buffer = buffer, queue
        step += 1
    return found, step


@kernel
def pull_offers(back, tree, invalid, found, stamp, step, queue, queued, violated, *args):
    """Give each of ``invalid[:found]`` its best offer; queue those whose keys change, and return the queue's length."""
    for i in range(found):
        v = invalid[i]
        if take(tree, v, best_offer(back, tree, v, violated, *args)):
            queued = queue_once(v, stamp, step, queue, queued)
    return queued


@kernel
def push_offers(num_vertices, arcs, tree, stamp, step, queue, queued, violated, *args):
    """Make the offers along ``arcs``; queue ends whose keys change, and return the queue's length."""
    src, dst, weights, status, wanted, size = arcs
    for i in range(size):
        if not counts(src, dst, status, wanted, num_vertices, i):
            continue
        v = dst[i]
        value = offer(tree, src[i], v, arc_weight(weights, i), violated, *args)
        if take(tree, v, value):
            queued = queue_once(v, stamp, step, queue, queued)
    return queued


@inner
def push_from(g, tree, u, stamp, step, queue, queued, violated, *args):
    """Offer words to the out-neighbours of ``u``; queue those whose keys change, and return the queue's length."""
    own = load_word(tree, u)
    if parent_of(own) == EMPTY:
        return queued
    value = edge(u, u, 1, *args) if uniform else identity_word
    for v, slot in neighbors(g, u):
        old = load_word(tree, v)
        if not uniform:
            value = edge(u, v, weight(g, slot), *args)
        if not above(value, own):
            violated[0] = 1
        elif less_word(value, old):
            store_word(tree, v, value)
            if not same_keys(value, old):
                queued = queue_once(v, stamp, step, queue, queued)
    return queued


@kernel
def propagate(g, num_vertices, everything, count, max_steps, share, tree, stamp, step, queue, buffer, violated, *args):
    """Push step by step from ``queue[:count]``, or from all vertices below ``count`` if ``everything``.

    It ends when nothing changes, after ``max_steps`` steps, or before a step with more than ``share`` edges (``MANY``:
    no limit), which several threads then make. Every step has its own stamp, from ``step`` on. Returns the number of
    steps, of vertices that pushed and of vertices that have yet to push, and the next unused stamp. The latter vertices
    are in ``buffer`` after an odd number of steps, else in ``queue``.
    """
    steps, pushed = 0, 0
    while count > 0 and steps < max_steps:
        if share < MANY and edges_of(g, g, num_vertices, queue, everything, count, share) > share:
            break
        steps += 1
        pushed += count
        queued = 0
        for i in range(count):
            if not everything and i + AHEAD < count:
                ahead(g, queue[i + AHEAD])
            u = np.uint32(i) if everything else queue[i]
            queued = push_from(g, tree, u, stamp, step, buffer, queued, violated, *args)
        queue, buffer = buffer, queue
        count, everything = queued, False
        step += 1
    return steps, pushed, count, step
