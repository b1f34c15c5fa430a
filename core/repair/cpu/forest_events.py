"""CPU template of the dependence forest: repairs after single edges, for the compiled loop of ``suricate.replay``.

The functions ``step`` and ``record`` are those of ``suricate.plugins.step``. The repair is that of ``forest.py`` for
one edge, except for the order: vertices whose keys changed push in the order of their words, from a heap, so that each
pushes once per event, as in Dijkstra's algorithm. The words before the event are kept, to count changes, and to restore
them if the event is refused: if the keys of an offer are not greater than those of the vertex that makes it, or if a
tree edge is lost and there are no in-edges.

``state`` is a ``suricate.repair.cpu.event_step.State``; ``g`` the view of out-edges; ``args`` are those of the user's
functions.
"""

from __future__ import annotations

import numpy as np

from suricate.base.types import EMPTY
from suricate.cpu.jit import inner, kernel
from suricate.plugins.step import HEAVIER, INSERTED
from suricate.repair.cpu.forest import above, best_offer, explained, offer, suspect_below
from suricate.repair.cpu.forest_bindings import (
    commit,
    degree,
    edge,
    first_key,
    less_word,
    load_word,
    neighbors,
    parent_of,
    same_keys,
    store_word,
    uniform,
    weight,
)

EPOCH, STAMP, TOUCHED, HEAP, WORK = 0, 1, 2, 3, 4  #: places of ``state.counts``


@inner
def touch(state, v):
    """Save the word of ``v`` to ``state.before``, unless this event has saved it already."""
    counts = state.counts
    if state.seen[v] != counts[EPOCH]:
        state.seen[v] = counts[EPOCH]
        t = counts[TOUCHED]
        state.touched[t] = v
        store_word(state.before, t, load_word(state.tree, v))
        counts[TOUCHED] = t + 1


# -- the heap: vertices by word; state.place[v] is 1 + the place of v, 0 outside ---------------------------------------


@inner
def rise(state, place):
    """Move the vertex at index ``place`` of the heap up until the vertex above it has no larger word."""
    heap, tree = state.heap, state.tree
    v = heap[place]
    word = load_word(tree, v)
    while place > 0:
        up = (place - 1) >> 1
        other = heap[up]
        if not less_word(word, load_word(tree, other)):
            break
        heap[place] = other
        state.place[other] = place + 1
        place = up
    heap[place] = v
    state.place[v] = place + 1


@inner
def put(state, v):
    """Put ``v``, whose word has become smaller, into the heap; if it is there, move it up."""
    place = np.int64(state.place[v]) - 1
    if place < 0:
        place = state.counts[HEAP]
        state.heap[place] = v
        state.counts[HEAP] = place + 1
    rise(state, place)


@inner
def take_first(state):
    """Remove the vertex with the smallest word from the heap, which is not empty, and return the vertex."""
    heap, tree, count = state.heap, state.tree, state.counts[HEAP] - 1
    best, v = heap[0], heap[count]
    state.counts[HEAP], state.place[best] = count, 0
    if count == 0:
        return best
    word, place = load_word(tree, v), np.int64(0)
    while True:
        below = 2 * place + 1
        if below >= count:
            break
        if below + 1 < count and less_word(load_word(tree, heap[below + 1]), load_word(tree, heap[below])):
            below += 1
        other = heap[below]
        if not less_word(load_word(tree, other), word):
            break
        heap[place] = other
        state.place[other] = place + 1
        place = below
    heap[place] = v
    state.place[v] = place + 1
    return best


# -- repairs -----------------------------------------------------------------------------------------------------------


@inner
def improve(state, v, value):
    """Replace the word of ``v`` by ``value`` if that is smaller; if its keys changed, put ``v`` into the heap."""
    old = load_word(state.tree, v)
    if less_word(value, old):
        touch(state, v)
        store_word(state.tree, v, value)
        if not same_keys(value, old):
            put(state, v)


@inner
def push_all(g, state, u, *args):
    """Offer words to all out-neighbours of ``u``; those whose keys change are put into the heap."""
    tree = state.tree
    own = load_word(tree, u)
    value = edge(u, u, 1, *args) if uniform else identity_offer(own)
    state.counts[WORK] += degree(g, u)
    for v, slot in neighbors(g, u):
        if not uniform:
            value = edge(u, v, weight(g, slot), *args)
        if not above(value, own):
            state.violated[0] = 1
        else:
            improve(state, v, value)


@inner
def identity_offer(word):
    """Return ``word``; the call gives a variable its type before the loop over edges assigns it."""
    return word


@kernel
def propagate_heap(g, state, *args):
    """Push from the vertices in the heap, the smallest word first, until it is empty or ``state.violated``."""
    while state.counts[HEAP] > 0 and state.violated[0] == 0:
        push_all(g, state, take_first(state), *args)


@kernel
def detach(graph, state, v, *args):
    """Repair the subtree of ``v``, which lost its parent, in ``state.tree``; ``graph`` is a ``Walked`` with in-edges.

    A vertex whose word an in-neighbour explains takes that neighbour's offer. The others are invalid: they restart, and
    take the best offer of their in-neighbours; those that took one are put into the heap.
    """
    g, back, tree, counts = graph.out, graph.into, state.tree, state.counts
    queue, buffer, invalid, stamp = state.queue, state.buffer, state.invalid, state.stamp
    queue[0] = v
    count, found = 1, 0
    while count > 0:
        before = found
        for i in range(count):
            x = queue[i]
            word = load_word(tree, x)
            if parent_of(word) == EMPTY:
                continue
            counts[WORK] += degree(back, x)
            best = explained(back, tree, x, word, state.violated, *args)
            touch(state, x)
            if parent_of(best) != EMPTY:
                store_word(tree, x, best)
            else:
                store_word(tree, x, commit(x, *args))
                invalid[found] = x
                found += 1
        count = 0
        counts[STAMP] += 1
        for i in range(before, found):
            counts[WORK] += degree(g, invalid[i])
            count = suspect_below(g, tree, invalid[i], stamp, counts[STAMP], buffer, count)
        queue, buffer = buffer, queue
    for i in range(found):
        x = invalid[i]
        counts[WORK] += degree(back, x)
        improve(state, x, best_offer(back, tree, x, state.violated, *args))


@inner
def follow(graph, state, change, u, v, w, *args):
    """Repair the forest after a change of the arc ``u -> v``, now of weight ``w``; return False to refuse the change.

    ``change`` is ``INSERTED``, ``DELETED``, ``HEAVIER`` or ``LIGHTER``, see ``suricate.plugins.step``. Vertices whose
    keys change are put into the heap. A change is refused if a tree edge is deleted, or its offer gets worse, and
    ``graph``, a ``Walked``, has no in-edges.
    """
    tree = state.tree
    if u == v:
        return True
    state.counts[WORK] += 1
    if change == INSERTED or change >= HEAVIER:
        value = offer(tree, u, v, w, state.violated, *args)
        if change != HEAVIER:
            improve(state, v, value)
            return True
        word = load_word(tree, v)
        if parent_of(word) != u or not (parent_of(value) == EMPTY or above(value, word)):
            return True
    elif parent_of(load_word(tree, v)) != u:
        return True
    if not graph.has_in:
        return False
    detach(graph, state, v, *args)
    return True


@kernel
def restore(state):
    """Restore the words that ``state.tree`` had before the event, and empty the heap."""
    for t in range(state.counts[TOUCHED]):
        store_word(state.tree, state.touched[t], load_word(state.before, t))
    for i in range(state.counts[HEAP]):
        state.place[state.heap[i]] = 0
    state.counts[HEAP] = 0
    state.violated[0] = 0


@inner
def differing(state):
    """Return how many vertices have another first key or parent than before the event."""
    count = 0
    for t in range(state.counts[TOUCHED]):
        old, new = load_word(state.before, t), load_word(state.tree, state.touched[t])
        count += first_key(old) != first_key(new) or parent_of(old) != parent_of(new)
    return count


@inner
def step(graph, state, change, u, v, w, counting):
    """Repair the forest after one edge ``u -> v`` of weight ``w`` changed; return (work, changed vertices).

    The work is a number of arcs, or -1 if the event is refused, and then no word has changed. With ``counting`` the
    second number counts the vertices with another first key or parent, else it is 0. ``change`` is as in
    :func:`follow`, ``graph`` a ``Walked``.
    """
    counts = state.counts
    counts[EPOCH] += 1
    counts[TOUCHED], counts[WORK] = 0, 0
    fits = follow(graph, state, change, u, v, w, *state.values)
    if graph.undirected and fits:
        fits = follow(graph, state, change, v, u, w, *state.values)
    if counts[HEAP] > 0:
        propagate_heap(graph.out, state, *state.values)
    if not fits or state.violated[0] != 0:
        restore(state)
        return np.int64(-1), 0
    return counts[WORK], differing(state) if counting else 0


@inner
def record(graph, state, at, recorded, i):
    """Write the words of the vertices in ``at`` (int64) after event ``i`` to row ``i`` of ``recorded[0]``."""
    for j in range(len(at)):
        store_word(recorded[0][i], j, load_word(state.tree, at[j]))
