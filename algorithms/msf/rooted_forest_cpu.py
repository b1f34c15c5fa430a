"""A minimum spanning forest on the CPU, as rooted trees that follow changes of edges; a template over a cursor.

Edges are compared by ``(weight, smaller end, larger end)``; those that weigh NaN are left out. The tree neighbours of a
vertex are those of its neighbours in the graph of which one is the other's parent. So the trees need no lists of
children: a search over a piece reads the rows that are read for the lightest edge that leaves it anyway.

``state`` is a ``rooted_forest.State``; ``g`` the data of a view.
"""

from __future__ import annotations

import numpy as np

from suricate.kernels import degree, inner, kernel, neighbors, weight

NONE = np.uint32(0xFFFFFFFF)
LOW, HIGH = np.uint64(0xFFFFFFFF), np.uint64(32)
WALKS, STEPS = 0, 1  # entries of ``counts``


@inner
def lighter(w, a, b, x, c, d):
    """Return whether the edge ``(a, b)`` of weight ``w`` is lighter than ``(c, d)`` of weight ``x``."""
    if w < x or x < w:
        return w < x
    first, second = min(a, b), min(c, d)
    return first < second or (first == second and max(a, b) < max(c, d))


@inner
def hang(state, v):
    """Make ``v`` the root of its tree: the path to the old root is turned."""
    below, above, w = v, state.parent[v], state.weight[v]
    state.parent[v] = NONE
    while above != NONE:
        further, x = state.parent[above], state.weight[above]
        state.parent[above], state.weight[above] = below, w
        below, above, w = above, further, x
        state.counts[STEPS] += 1


@inner
def link(state, u, v, w):
    """Join the trees of ``u``, whose root it becomes, and ``v`` by their edge of weight ``w``."""
    hang(state, u)
    state.parent[u], state.weight[u] = v, w


@inner
def meeting(state, u, v):
    """Return where the paths from ``u`` and ``v`` to their roots meet, by turns a step each; ``NONE``: nowhere."""
    parent, mark = state.parent, state.mark
    if u == v:
        return u
    state.counts[WALKS] += 2
    one = state.counts[WALKS]
    x, y = u, v
    mark[x], mark[y] = one, one + 1
    while parent[x] != NONE or parent[y] != NONE:
        state.counts[STEPS] += 1
        if parent[x] != NONE:
            x = parent[x]
            if mark[x] == one + 1:
                return x
            mark[x] = one
        if parent[y] != NONE:
            y = parent[y]
            if mark[y] == one:
                return y
            mark[y] = one + 1
    return NONE


@inner
def heaviest(state, v, top):
    """Return the vertex below the heaviest edge on the path from ``v`` up to ``top``; ``NONE`` if there is none."""
    found = NONE
    while v != top:
        above = state.parent[v]
        if found == NONE or lighter(state.weight[found], found, state.parent[found], state.weight[v], v, above):
            found = v
        v = above
    return found


@inner
def offer(state, u, v, w):
    """Take the edge if it joins two trees, or if it is lighter than the heaviest edge on the path between its ends."""
    if u == v or w != w:
        return
    top = meeting(state, u, v)
    if top == NONE:
        link(state, u, v, w)
        return
    low, high, parent, weights = heaviest(state, u, top), heaviest(state, v, top), state.parent, state.weight
    from_u = low != NONE
    if low != NONE and high != NONE:
        from_u = lighter(weights[high], high, parent[high], weights[low], low, parent[low])
    worst = low if from_u else high
    if lighter(w, u, v, weights[worst], worst, parent[worst]):
        parent[worst] = NONE
        if from_u:
            link(state, u, v, w)
        else:
            link(state, v, u, w)


@inner
def visit_row(g, state, queue, head, tail, number):
    """Queue the tree neighbours of ``queue[head]`` that do not have the mark ``number`` yet; return the new tail."""
    v = queue[head]
    for x, _ in neighbors(g, v):
        if state.mark[x] != number and (state.parent[x] == v or state.parent[v] == x):
            state.mark[x] = number
            queue[tail] = x
            tail += 1
    return tail


@inner
def smaller_piece(g, state, u, v):
    """Search the pieces of ``u`` and ``v`` by turns until one is complete; return its queue, size and mark."""
    state.counts[WALKS] += 2
    one = state.counts[WALKS]
    lower, upper = state.lower, state.upper
    lower[0], upper[0] = u, v
    state.mark[u], state.mark[v] = one, one + 1
    head, tail, work = 0, 1, np.int64(degree(g, u))
    other_head, other_tail, other_work = 0, 1, np.int64(degree(g, v))
    while True:
        if work <= other_work:
            if head == tail:
                return lower, tail, one
            tail = visit_row(g, state, lower, head, tail, one)
            head += 1
            work += 1 + (np.int64(degree(g, lower[head])) if head < tail else 0)
        else:
            if other_head == other_tail:
                return upper, other_tail, one + 1
            other_tail = visit_row(g, state, upper, other_head, other_tail, one + 1)
            other_head += 1
            other_work += 1 + (np.int64(degree(g, upper[other_head])) if other_head < other_tail else 0)


@inner
def is_new(new, u, v):
    """Return whether the edge is in ``new``, ascending keys of edges."""
    key = np.uint64(min(u, v)) << HIGH | np.uint64(max(u, v))
    at = np.searchsorted(new, key)
    return at < len(new) and new[at] == key


@inner
def reconnect(g, state, cut, at, new):
    """Join the pieces of the ends in row ``at`` of ``cut`` by edges of the graph that are not ``new``, if any do.

    A piece that no edge leaves is a tree of its own: its ends in later rows are replaced by the other end of this one,
    so that the pieces that it joined are joined by other ways.
    """
    while meeting(state, cut[at, 0], cut[at, 1]) == NONE:
        piece, size, number = smaller_piece(g, state, cut[at, 0], cut[at, 1])
        a, b, best = NONE, NONE, 0.0
        for i in range(size):
            x = piece[i]
            for y, slot in neighbors(g, x):
                w = np.float64(weight(g, slot))
                if state.mark[y] == number or w != w:
                    continue
                if (a == NONE or lighter(w, x, y, best, a, b)) and not is_new(new, x, y):
                    a, b, best = x, np.uint32(y), w
        if a == NONE:
            other = cut[at, 1] if state.mark[cut[at, 0]] == number else cut[at, 0]
            for row in range(at + 1, len(cut)):
                for side in range(2):
                    if state.mark[cut[row, side]] == number:
                        cut[row, side] = other
            return
        link(state, a, b, best)


@inner
def child_of(state, u, v):
    """Return the lower end of the edge if it is in the forest, else ``NONE``."""
    return u if state.parent[u] == v else v if state.parent[v] == u else NONE


@kernel
def follow(g, state, src, dst, added, to, weights, changed, changed_to, changed_weights, new, cut):
    """Follow a change that the view ``g`` holds already; each edge is listed once.

    Args:
        g, state: see the module.
        src, dst: the deleted edges.
        added, to, weights: the inserted edges.
        changed, changed_to, changed_weights: the edges with other weights, and these.
        new: the keys of the edges in both of these lists, ascending.
        cut: scratch, ``uint32[k, 2]``, with a row per deleted or changed edge.
    """
    count = 0
    for i in range(len(src)):
        below = child_of(state, src[i], dst[i])
        if below != NONE:
            cut[count, 0], cut[count, 1] = src[i], dst[i]
            count += 1
            state.parent[below] = NONE
    for i in range(len(changed)):
        below = child_of(state, changed[i], changed_to[i])
        if below != NONE:
            if changed_weights[i] <= state.weight[below]:
                state.weight[below] = changed_weights[i]
                continue
            cut[count, 0], cut[count, 1] = changed[i], changed_to[i]
            count += 1
            state.parent[below] = NONE
    for i in range(count):
        reconnect(g, state, cut[:count], i, new)
    for i in range(len(added)):
        offer(state, added[i], to[i], weights[i])
    for i in range(len(changed)):
        if child_of(state, changed[i], changed_to[i]) == NONE:
            offer(state, changed[i], changed_to[i], changed_weights[i])


@kernel
def root_trees(state, src, dst, weights, first, arcs):
    """Set parents and weights of the trees with the edges ``src`` to ``dst``, by breadth-first searches.

    ``first``: ``int64[n + 1]``, 0; ``arcs``: scratch, with two entries per edge.
    """
    for i in range(len(src)):
        first[src[i]] += 1
        first[dst[i]] += 1
    total = 0
    for v in range(len(first)):
        total, first[v] = total + first[v], total
    for i in range(len(src)):
        arcs[first[src[i]]], arcs[first[dst[i]]] = 2 * i, 2 * i + 1
        first[src[i]] += 1
        first[dst[i]] += 1
    for root in range(len(first) - 1):
        if state.mark[root] == 0:
            state.mark[root] = 1
            state.lower[0] = root
            head, tail = 0, 1
            while head < tail:
                v = state.lower[head]
                head += 1
                for at in range(first[v - 1] if v > 0 else 0, first[v]):
                    i = arcs[at] >> 1
                    x = src[i] if arcs[at] & 1 else dst[i]
                    if state.mark[x] == 0:
                        state.mark[x] = 1
                        state.parent[x], state.weight[x] = v, weights[i]
                        state.lower[tail] = x
                        tail += 1
    state.counts[WALKS], state.counts[STEPS] = 2, 0
