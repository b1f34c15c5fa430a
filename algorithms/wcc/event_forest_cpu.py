"""Components after single edges: a spanning forest with a smaller-side search; a template over a cursor.

Every vertex holds the number of its component and its parent in a spanning tree of it; each number has the size of the
component and a lower bound of its smallest vertex. An inserted edge that joins two components renumbers the smaller.
A deleted tree edge cuts a subtree off: both sides are searched in turns, along all edges, so that neither does more
work than the other needs, until an edge leads from one side to the other, which becomes a tree edge, or one side is
searched through, which is a component of its own then and gets a number. To which side a vertex belongs its ancestors
tell, which are marked so that no path is walked twice.

``state`` is an ``event_forest.State``; ``graph`` a ``suricate.plugins.step.Walked``.
"""

from __future__ import annotations

import numpy as np

from suricate.base.types import EMPTY
from suricate.cpu.jit import inner, kernel
from suricate.cursors.bindings import degree, find, neighbors
from suricate.plugins.step import DELETED, INSERTED

EPOCH, FREE, COMPONENTS, WORK, TAIL, CLIMBED = 0, 1, 2, 3, 4, 6  #: places of ``state.counts``
LOWER, UPPER = 0, 1  #: the sides of a cut: the subtree, and what has the root
NO_VERTEX = np.uint32(EMPTY)


@inner
def smallest_of(state, c):
    """Return the smallest vertex of component ``c``."""
    v = state.smallest[c]
    while state.component[v] != c:
        v += np.uint32(1)
    state.smallest[c] = v
    return v


@inner
def reroot(state, v, above):
    """Make ``v`` the root of its tree, and ``above`` its parent."""
    while v != NO_VERTEX:
        after = state.parent[v]
        state.parent[v] = above
        above, v = v, after


@inner
def degree_of(graph, v):
    """Return the number of arcs at ``v``."""
    arcs = degree(graph.out, v)
    return arcs if graph.undirected else arcs + degree(graph.into, v)


# -- joining -----------------------------------------------------------------------------------------------------------


@inner
def renumber_neighbors(g, state, x, old, new, tail):
    """Give the neighbours of ``x`` in ``g`` the number ``new`` in place of ``old``, and queue them."""
    for w, _ in neighbors(g, x):
        if state.component[w] == old:
            state.component[w] = new
            state.lower[tail] = w
            tail += 1
    return tail


@kernel
def join(graph, state, u, v):
    """Join the component of ``u`` to that of ``v``, which is not smaller, by an edge; return the changed labels."""
    old, new = state.component[u], state.component[v]
    below, above = smallest_of(state, old), smallest_of(state, new)
    changed = state.size[old] if above < below else state.size[new]
    reroot(state, u, v)
    state.component[u] = new
    state.lower[0] = u
    i, tail = 0, 1
    while i < tail:
        x = state.lower[i]
        state.counts[WORK] += degree_of(graph, x)
        tail = renumber_neighbors(graph.out, state, x, old, new, tail)
        if not graph.undirected:
            tail = renumber_neighbors(graph.into, state, x, old, new, tail)
        i += 1
    state.size[new] += state.size[old]
    state.smallest[new] = min(below, above)
    state.free[state.counts[FREE]] = old
    state.counts[FREE] += 1
    state.counts[COMPONENTS] -= 1
    return changed


# -- cutting -----------------------------------------------------------------------------------------------------------


@inner
def side_of(state, w, base):
    """Return the side of ``w``, which is not marked, and mark it and its ancestors."""
    parent, mark = state.parent, state.mark
    v = w
    while mark[v] < base and parent[v] != NO_VERTEX:
        v = parent[v]
    side = np.int64(UPPER) if mark[v] < base else (mark[v] - base) >> 1
    v, steps = w, 0
    while mark[v] < base:
        mark[v] = base + 2 * side
        steps += 1
        if parent[v] == NO_VERTEX:
            break
        v = parent[v]
    state.counts[WORK] += steps
    state.counts[CLIMBED] += steps
    return side


@inner
def search_neighbors(g, state, x, side, queue, base):
    """Queue the neighbours of ``x`` in ``g`` that are on its side; return one on the other side, or EMPTY."""
    mark, parent = state.mark, state.parent
    tail = state.counts[TAIL + side]
    for w, _ in neighbors(g, x):
        if w == x:
            continue
        if mark[w] >= base:
            its = (mark[w] - base) >> 1
        elif parent[w] == x or parent[x] == w:
            its = side
        else:
            its = side_of(state, w, base)
        if its != side:
            state.counts[TAIL + side] = tail
            return w
        if mark[w] < base or mark[w] & 1 == 0:
            mark[w] = base + 2 * side + 1
            queue[tail] = w
            tail += 1
    state.counts[TAIL + side] = tail
    return NO_VERTEX


@inner
def search(graph, state, x, side, queue, base):
    """Search from ``x`` on ``side``; return a neighbour on the other side, or EMPTY."""
    found = search_neighbors(graph.out, state, x, side, queue, base)
    if found == NO_VERTEX and not graph.undirected:
        found = search_neighbors(graph.into, state, x, side, queue, base)
    return found


@kernel
def cut(graph, state, child, above):
    """Take the edge from ``above`` to ``child`` out of the tree; return how many labels change."""
    counts, lower, upper = state.counts, state.lower, state.upper
    counts[EPOCH] += 1
    base = counts[EPOCH] * 4
    state.parent[child] = NO_VERTEX
    state.mark[child], state.mark[above] = base + 2 * LOWER + 1, base + 2 * UPPER + 1
    lower[0], upper[0] = child, above
    counts[TAIL + LOWER], counts[TAIL + UPPER] = 1, 1
    low, up = 0, 0  # places in the queues
    low_work, up_work = degree_of(graph, child), degree_of(graph, above)  # that of the next vertex included
    while True:
        if low_work <= up_work:
            x = lower[low]
            found = search(graph, state, x, np.int64(LOWER), lower, base)
            if found != NO_VERTEX:
                reroot(state, x, found)
                break
            low += 1
            if low == counts[TAIL + LOWER]:
                counts[WORK] += low_work + up_work
                return split(state, lower, low, np.int64(LOWER), base)
            low_work += degree_of(graph, lower[low])
        else:
            x = upper[up]
            found = search(graph, state, x, np.int64(UPPER), upper, base)
            if found != NO_VERTEX:
                reroot(state, found, x)
                break
            up += 1
            if up == counts[TAIL + UPPER]:
                counts[WORK] += low_work + up_work
                return split(state, upper, up, np.int64(UPPER), base)
            up_work += degree_of(graph, upper[up])
    counts[WORK] += low_work + up_work
    return np.int64(0)


@inner
def split(state, queue, count, side, base):
    """Make the ``count`` vertices in ``queue`` a component of their own; return how many labels change."""
    old = state.component[queue[0]]
    label = smallest_of(state, old)
    state.counts[FREE] -= 1
    new = state.free[state.counts[FREE]]
    lowest = queue[0]
    for i in range(count):
        state.component[queue[i]] = new
        lowest = min(lowest, queue[i])
    state.size[new] = count
    state.size[old] -= count
    state.smallest[new] = lowest
    state.counts[COMPONENTS] += 1
    return np.int64(state.size[old]) if lowest == label else np.int64(count)


# -- steps -------------------------------------------------------------------------------------------------------------


@inner
def step(graph, state, change, u, v, w, counting):
    """Follow one edge; see ``suricate.plugins.step``."""
    counts, component, changed = state.counts, state.component, np.int64(0)
    counts[WORK] = 1
    if change == INSERTED:
        a, b = component[u], component[v]
        if a != b:
            changed = join(graph, state, u, v) if state.size[a] <= state.size[b] else join(graph, state, v, u)
    elif change == DELETED and u != v and (state.parent[u] == v or state.parent[v] == u):
        is_gone = graph.undirected or find(graph.out, v, u) < 0
        if is_gone:
            changed = cut(graph, state, v, u) if state.parent[v] == u else cut(graph, state, u, v)
    return counts[WORK], changed


@inner
def record(graph, state, at, recorded, i):
    """Write the labels, and the number of components."""
    for j in range(len(at)):
        recorded[0][i, j] = smallest_of(state, state.component[at[j]])
    recorded[1][i] = state.counts[COMPONENTS]


@kernel
def follow(graph, state, change, u, v):
    """Follow one edge outside a replay."""
    step(graph, state, change, u, v, 1, False)


@kernel
def grow(state, start):
    """Make the vertices from ``start`` on components of their own."""
    for v in range(start, len(state.parent)):
        state.parent[v], state.component[v], state.size[v], state.smallest[v] = NO_VERTEX, v, 1, v
        state.mark[v] = 0
    state.counts[COMPONENTS] += len(state.parent) - start


@inner
def adopt_neighbors(g, state, x, number, tail):
    """Make the neighbours of ``x`` in ``g`` that have no component its children, and queue them."""
    for w, _ in neighbors(g, x):
        if state.component[w] == NO_VERTEX:
            state.component[w], state.parent[w] = number, x
            state.lower[tail] = w
            tail += 1
    return tail


@kernel
def build(graph, state):
    """Find all components by breadth-first searches; each gets its smallest vertex as number."""
    n, counts = len(state.parent), state.counts
    counts[FREE], counts[COMPONENTS], counts[CLIMBED] = 0, 0, 0
    for v in range(n):
        state.component[v], state.mark[v] = NO_VERTEX, 0
    for v in range(n):
        if state.component[v] != NO_VERTEX:
            state.free[counts[FREE]] = v
            counts[FREE] += 1
            continue
        state.component[v], state.parent[v] = v, NO_VERTEX
        state.lower[0] = v
        i, tail = 0, 1
        while i < tail:
            x = state.lower[i]
            tail = adopt_neighbors(graph.out, state, x, v, tail)
            if not graph.undirected:
                tail = adopt_neighbors(graph.into, state, x, v, tail)
            i += 1
        state.size[v], state.smallest[v] = tail, v
        counts[COMPONENTS] += 1


@kernel
def write_labels(state, label):
    """Write the smallest member of each vertex's component."""
    for v in range(len(label)):
        label[v] = smallest_of(state, state.component[v])
