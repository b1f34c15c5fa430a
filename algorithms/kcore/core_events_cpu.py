"""Core numbers after single edges, on the CPU: a template over a cursor with the step of ``suricate.replay``.

Insertions are those of Zhang et al., "A fast order-based approach for core maintenance" (2017): vertices that may rise
are visited in the order of their level, from the earlier end of the edge on, and those that cannot rise after all go
behind the vertex that shows it. Deletions lower vertices as ``core_numbers_cpu.py`` does. A number changes by one at
most, and only on the lower level of both ends.

Here a level is a list of its vertices, and places are labels in it, which leave room between them (Dietz and Sleator,
"Two algorithms for maintaining order in a list", 1987).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suricate.base.types import EMPTY
from suricate.kernels import degree, inner, kernel, neighbors
from suricate.plugins.step import DELETED, INSERTED

SUPPORT, PLACE, LATER, RISES, STATUS, BEHIND, BEFORE = range(7)  #: columns of ``State.node``
LEAST, MIDDLE, MOST = 1 << 24, 1 << 29, 1 << 30  #: places
GAP = 1 << 12  #: between two places, if there is room
UNSEEN, WAITS, CANDIDATE = 0, 1, 2  #: statuses


class State(NamedTuple):
    """What the step works on.

    Attributes:
        core: ``uint32[n]``, the core numbers, apart, since walks over neighbours read little else.
        node: ``uint32[n, 8]``, half a line of the cache per vertex: support, place and later neighbours, see
            ``core_numbers_cpu.py`` (no two places of a level are equal); how many candidates come before the vertex,
            and its status, 0 between events; the next and the previous vertex of its level, or ``EMPTY``; a free one.
        first, last: ``uint32[n + 1]``, those of each level, or ``EMPTY``.
        held: ``int64[n + 1]``, the number of vertices on each level.
        heap, listed, queue: ``uint32[n]``, scratch.
        counts: ``int64[2]``: the largest number, the arcs visited for the event.
    """

    core: np.ndarray
    node: np.ndarray
    first: np.ndarray
    last: np.ndarray
    held: np.ndarray
    heap: np.ndarray
    listed: np.ndarray
    queue: np.ndarray
    counts: np.ndarray


# -- the lists ---------------------------------------------------------------------------------------------------------


@kernel
def list_levels(state, order):
    """Make the lists of all levels, and their places; ``order`` has the vertices by level, in the order of each."""
    node = state.node
    state.first[:], state.last[:], state.held[:] = EMPTY, EMPTY, 0
    for i in range(len(order)):
        v = order[i]
        level = state.core[v]
        tail = state.last[level]
        node[v, BEFORE], node[v, BEHIND], state.last[level] = tail, EMPTY, v
        if tail == EMPTY:
            state.first[level] = v
        else:
            node[tail, BEHIND] = v
        state.held[level] += 1
    for level in range(len(state.held)):
        if state.held[level]:
            spread(state, level)
            state.counts[0] = level


@inner
def spread(state, level):
    """Give the vertices of ``level`` places with equal gaps."""
    node = state.node
    count, v = np.int64(0), state.first[level]
    while v != EMPTY:
        count += 1
        v = node[v, BEHIND]
    gap = min(np.int64(GAP), (MOST - LEAST) // (2 * count + 2))
    at, v = MIDDLE - gap * (count // 2), state.first[level]
    while v != EMPTY:
        node[v, PLACE] = at
        at += gap
        v = node[v, BEHIND]


@kernel
def move_apart(state, v, level):
    """Move places behind ``v`` apart: of as few vertices as have a gap each that is larger than their number."""
    node = state.node
    start, count, x = np.int64(node[v, PLACE]), np.int64(1), node[v, BEHIND]
    while x != EMPTY and np.int64(node[x, PLACE]) - start <= count * count:
        x = node[x, BEHIND]
        count += 1
    stop = np.int64(node[x, PLACE]) if x != EMPTY else start + count * GAP
    if stop > MOST:
        spread(state, level)
        return
    x = node[v, BEHIND]
    for i in range(1, count):
        node[x, PLACE] = start + (stop - start) * i // count
        x = node[x, BEHIND]


@inner
def unlink(state, v, level):
    """Take ``v`` out of the list of ``level``."""
    node = state.node
    one, other = node[v, BEFORE], node[v, BEHIND]
    if one == EMPTY:
        state.first[level] = other
    else:
        node[one, BEHIND] = other
    if other == EMPTY:
        state.last[level] = one
    else:
        node[other, BEFORE] = one


@inner
def link(state, v, one, level):
    """Put ``v`` into the list of ``level``, behind ``one``; as the first one if that is ``EMPTY``."""
    node, other = state.node, state.first[level]
    if one != EMPTY:
        other = node[one, BEHIND]
        if other == EMPTY and np.int64(node[one, PLACE]) + GAP > MOST:
            spread(state, level)
        elif other != EMPTY and np.int64(node[other, PLACE]) - np.int64(node[one, PLACE]) < 2:
            move_apart(state, one, level)
        up = np.int64(node[one, PLACE]) + 2 * GAP if other == EMPTY else np.int64(node[other, PLACE])
        node[v, PLACE] = (np.int64(node[one, PLACE]) + up) >> 1
        node[one, BEHIND] = v
    else:
        if other != EMPTY and np.int64(node[other, PLACE]) - GAP < LEAST:
            spread(state, level)
        node[v, PLACE] = MIDDLE if other == EMPTY else np.int64(node[other, PLACE]) - GAP
        state.first[level] = v
    node[v, BEFORE], node[v, BEHIND] = one, other
    if other == EMPTY:
        state.last[level] = v
    else:
        node[other, BEFORE] = v


# -- vertices that wait, a heap by place -------------------------------------------------------------------------------


@inner
def wait(state, v, count):
    """Put ``v`` into the heap of ``count`` vertices; return the new number."""
    node, heap, at = state.node, state.heap, count
    while at > 0 and node[heap[(at - 1) >> 1], PLACE] > node[v, PLACE]:
        heap[at] = heap[(at - 1) >> 1]
        at = (at - 1) >> 1
    heap[at] = v
    node[v, STATUS] = WAITS
    return count + 1


@inner
def earliest(state, count):
    """Take the vertex with the least place out of the heap of ``count`` vertices, and return it."""
    node, heap = state.node, state.heap
    found, v, at = heap[0], heap[count - 1], np.int64(0)
    while True:
        below = 2 * at + 1
        if below + 1 < count - 1 and node[heap[below + 1], PLACE] < node[heap[below], PLACE]:
            below += 1
        if below >= count - 1 or node[heap[below], PLACE] >= node[v, PLACE]:
            break
        heap[at] = heap[below]
        at = below
    heap[at] = v
    node[found, STATUS] = UNSEEN
    return found


# -- insertions --------------------------------------------------------------------------------------------------------


@inner
def become_candidate(g, state, v, count):
    """Make ``v`` a candidate: neighbours behind it on its level wait, ``count`` of them now; return their number."""
    node = state.node
    core, k, at = state.core, state.core[v], node[v, PLACE]
    node[v, STATUS] = CANDIDATE
    for x, _ in neighbors(g, v):
        if core[x] == k and node[x, PLACE] > at:
            node[x, RISES] += 1
            if node[x, STATUS] == UNSEEN:
                count = wait(state, x, count)
    return count


@inner
def weaken(state, x, k, queued):
    """Queue the candidate ``x`` if it cannot rise above ``k`` any more; return the new length of the queue."""
    node = state.node
    if np.int64(node[x, RISES]) + np.int64(node[x, LATER]) == k:
        state.queue[queued] = x
        queued += 1
    return queued


@inner
def stay(g, state, v):
    """Keep ``v`` on its level, and the candidates that cannot rise without it, which go behind it."""
    node, core, k = state.node, state.core, np.int64(state.core[v])
    node[v, LATER] += node[v, RISES]
    node[v, RISES] = 0
    queued, i = np.int64(0), np.int64(0)
    for x, _ in neighbors(g, v):
        if core[x] == k and node[x, STATUS] == CANDIDATE:
            node[x, LATER] -= 1
            queued = weaken(state, x, k, queued)
    while i < queued:
        x = state.queue[i]
        i += 1
        node[x, LATER] += node[x, RISES]
        node[x, RISES], node[x, STATUS] = 0, UNSEEN
        state.counts[1] += degree(g, x)
        for y, _ in neighbors(g, x):
            if core[y] != k or (node[y, STATUS] != CANDIDATE and node[y, RISES] == 0):
                continue
            if node[y, PLACE] > node[x, PLACE]:
                node[y, RISES] -= 1
            else:
                node[y, LATER] -= 1
            if node[y, STATUS] == CANDIDATE:
                queued = weaken(state, y, k, queued)
        unlink(state, x, k)
        link(state, x, v, k)
        v = x


@inner
def rise(g, state, many):
    """Raise those of ``listed[:many]`` that are still candidates by one; return how many did."""
    node, core, risen = state.node, state.core, np.int64(0)
    for i in range(many):
        v = state.listed[many - 1 - i]
        if node[v, STATUS] != CANDIDATE:
            continue
        unlink(state, v, core[v])
        core[v] += 1
        link(state, v, np.uint32(EMPTY), core[v])
        node[v, SUPPORT] = node[v, LATER] + node[v, RISES]  # behind it, and the candidates before it
        node[v, RISES], node[v, STATUS] = 0, UNSEEN
        state.queue[risen] = v
        risen += 1
    if risen == 0 or state.held[core[state.queue[0]]] == 0:  # nobody was on the new level
        return risen
    k, last = core[state.queue[0]], node[state.queue[0], PLACE]
    for i in range(risen):
        v = state.queue[i]
        for x, _ in neighbors(g, v):
            if core[x] == k and node[x, PLACE] > last:
                node[x, SUPPORT] += 1
    return risen


@kernel
def raise_from(g, state, u):
    """Raise what can rise after an insertion by which ``u`` has too many neighbours behind it; return how many did."""
    node = state.node
    k, many, count = np.int64(state.core[u]), np.int64(0), wait(state, u, np.int64(0))
    while count > 0:
        v = earliest(state, count)
        count -= 1
        if node[v, RISES] == 0 and v != u:
            continue
        state.counts[1] += degree(g, v)
        if np.int64(node[v, RISES]) + np.int64(node[v, LATER]) > k:
            count = become_candidate(g, state, v, count)
            state.listed[many] = v
            many += 1
        else:
            stay(g, state, v)
    return rise(g, state, many)


# -- deletions ---------------------------------------------------------------------------------------------------------


@inner
def fall(g, state, v, count):
    """Lower ``v`` by one, to the end of its new level; queue neighbours that have too few supporters without it.

    ``count`` are queued; returns their new number.
    """
    node, core = state.node, state.core
    k, at, found, higher = core[v], node[v, PLACE], np.int64(0), np.int64(0)
    for x, _ in neighbors(g, v):
        if core[x] < k - 1 or x == v:
            continue
        found += 1
        higher += core[x] >= k
        if core[x] == k:
            if node[x, SUPPORT] == k:
                state.queue[count] = x
                count += 1
            node[x, SUPPORT] -= 1
            node[x, LATER] -= node[x, PLACE] < at
    unlink(state, v, k)
    core[v], node[v, SUPPORT], node[v, LATER] = k - 1, found, higher
    link(state, v, state.last[k - 1], k - 1)
    return count


@kernel
def lower_from(g, state, u, v):
    """Lower what must fall after the edge between ``u`` and ``v`` was deleted; return the number of vertices.

    First in, first out: vertices that wait lose more neighbours, and searches soon end at those with few behind them.
    Last in, first out, most keep just as many as they may have, and an insertion makes the whole level candidates.
    """
    node, core = state.node, state.core
    count, lowered = np.int64(0), np.int64(0)
    for x in (u, v):
        if node[x, SUPPORT] < core[x]:
            state.queue[count] = x
            count += 1
    while lowered < count:
        x = state.queue[lowered]
        state.counts[1] += degree(g, x)
        count = fall(g, state, x, count)
        lowered += 1
    return lowered


# -- events ------------------------------------------------------------------------------------------------------------


@inner
def step(graph, state, change, u, v, w, counts):
    """Update core numbers after an edge was inserted or deleted; return (arcs visited, vertices that changed)."""
    if u == v or (change != INSERTED and change != DELETED):
        return np.int64(0), np.int64(0)
    node, core = state.node, state.core
    by, level = np.int64(1 if change == INSERTED else -1), np.int64(min(core[u], core[v]))
    state.counts[1] = 2
    for x, y in ((u, v), (v, u)):
        node[x, SUPPORT] = np.int64(node[x, SUPPORT]) + by * (core[y] >= core[x])
    if core[v] < core[u] or (core[u] == core[v] and node[v, PLACE] < node[u, PLACE]):
        u, v = v, u
    node[u, LATER] = np.int64(node[u, LATER]) + by
    changed = np.int64(0)
    if by > 0:
        if node[u, LATER] > core[u]:
            changed = raise_from(graph.out, state, u)
    elif node[u, SUPPORT] < core[u] or node[v, SUPPORT] < core[v]:
        changed = lower_from(graph.out, state, u, v)
    if changed:
        state.held[level] -= changed
        state.held[level + by] += changed
        largest = max(state.counts[0], level + by)
        while largest > 0 and state.held[largest] == 0:
            largest -= 1
        state.counts[0] = largest
    return state.counts[1], changed


@inner
def record(graph, state, at, recorded, i):
    """Write the core numbers of the vertices ``at``, and the largest of all, to row ``i`` of ``recorded``."""
    for j in range(len(at)):
        recorded[0][i, j] = state.core[at[j]]
    recorded[1][i] = state.counts[0]
