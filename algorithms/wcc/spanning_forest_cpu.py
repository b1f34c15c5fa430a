"""Components on the CPU: a spanning forest with a smaller-side search; a template over a cursor.

Every vertex holds the number of its component, and its place in a spanning tree of it: its parent, its first child and
its siblings. Each component number has the size of the component, a lower bound of its smallest vertex, and a member.

An inserted edge that joins two components renumbers the smaller one. A deleted tree edge cuts a subtree off. Both sides
are then searched along the tree, by turns, so that neither does more work than the other needs. The search ends when an
edge outside the tree leads from one side to the other: it becomes a tree edge. Or it ends when all vertices of one side
were searched: this side becomes a component with a number of its own.

The edges of a vertex are not read from the graph if all of them are tree edges. On which side the other end of an edge
is follows from its ancestors, which are marked so that no path is walked twice. If the subtree is small, all its
vertices are marked first instead.

Inserted edges of a batch are handled before deleted ones. A deleted tree edge stays in its tree until it is handled,
although the graph no longer has it.

``state`` is a ``spanning_forest.State``; ``graph`` a ``suricate.plugins.step.Walked``.
"""

from __future__ import annotations

import numpy as np

from suricate.algorithms.wcc.spanning_trees_cpu import (
    ARCS,
    BEFORE,
    CHANGED,
    CHILD,
    CLIMBED,
    COMPONENT,
    COMPONENTS,
    FREE,
    LINKS,
    LISTED,
    LOWER,
    MARK,
    MEMBER,
    NEXT,
    NO_VERTEX,
    PARENT,
    ROW,
    SIZE,
    SMALLEST,
    STALE,
    TAIL,
    UPPER,
    WORK,
    ask_for_child,
    join,
    link,
    make_single,
    next_base,
    reroot,
    side_of,
    smallest_of,
    split,
    unlink,
)
from suricate.cpu.prefetch import prefetch
from suricate.kernels import ahead, find, inner, kernel, neighbors
from suricate.plugins.step import DELETED, INSERTED

FAR, NEAR = 40, 20  # places ahead at which rows of vertices, and what they point to, are prefetched
FEW = 512  # vertices below a deleted edge up to which they are found before any edge is looked at


@inner
def leaving(g, state, x, side, base):
    """Return a neighbour of ``x`` on the other side of a cut tree edge, ``NO_VERTEX`` if there is none.

    Args:
        g: the view of the edges to walk, in one direction.
        state: the forest; marks of visited ancestors are written to ``state.node``.
        x: a vertex.
        side: the side of ``x``, ``LOWER`` or ``UPPER``.
        base: the smallest mark of this cut.
    """
    node = state.node
    for w, _ in neighbors(g, x):
        if w == x or node[w, PARENT] == x or node[x, PARENT] == w:
            continue
        its = (node[w, MARK] - base) >> 1 if node[w, MARK] >= base else side_of(state, w, base)
        if its != side:
            return w
    return NO_VERTEX


@inner
def search(graph, state, x, side, queue, base):
    """Return a neighbour of ``x`` on the other side of a cut; if there is none, queue the tree neighbours of ``x``.

    Returns ``NO_VERTEX`` if there is none.

    Args:
        graph: the views of the graph.
        state: the forest; the length of the queue, ``state.counts[TAIL + side]``, and marks are changed in place.
        x: a vertex.
        side: the side of ``x``, ``LOWER`` or ``UPPER``.
        queue: the queue of that side, to which unvisited neighbours are appended.
        base: the smallest mark of this cut.
    """
    node, found = state.node, NO_VERTEX
    if node[x, ARCS] > node[x, LINKS]:
        found = leaving(graph.out, state, x, side, base)
        if found == NO_VERTEX and not graph.undirected:
            found = leaving(graph.into, state, x, side, base)
        if found != NO_VERTEX:
            return found
    queued, tail = base + 2 * side + 1, state.counts[TAIL + side]
    w, after = node[x, PARENT], node[x, CHILD]
    while True:
        if w != NO_VERTEX and node[w, MARK] != queued:
            node[w, MARK] = queued
            ask_for_child(node, w)
            queue[tail] = w
            tail += 1
        if after == NO_VERTEX:
            break
        w, after = after, node[after, NEXT]
    state.counts[TAIL + side] = tail
    return found


@inner
def queue_below(state, child, queued):
    """Write ``child`` and its descendants in the tree to ``state.lower``, at most :data:`FEW`.

    Sets their marks to ``queued``. Returns how many were written, and whether these are all.
    """
    node, queue = state.node, state.lower
    node[child, MARK] = queued
    queue[0] = child
    i, tail = 0, 1
    while i < tail and tail + np.int64(node[queue[i], LINKS]) <= FEW:
        w = node[queue[i], CHILD]
        while w != NO_VERTEX:
            node[w, MARK] = queued
            ask_for_child(node, w)
            queue[tail] = w
            tail += 1
            w = node[w, NEXT]
        i += 1
    return tail, i == tail


@inner
def unmarked(g, state, x, queued):
    """Return a neighbour of ``x`` in ``g`` whose mark is not ``queued``, or ``NO_VERTEX``."""
    for w, _ in neighbors(g, x):
        if state.node[w, MARK] != queued:
            return w
    return NO_VERTEX


@inner
def cut_off(graph, state, count, above, queued):
    """Reconnect the vertices below a cut edge by another edge, or make them a component of their own.

    They are the first ``count`` of ``state.lower``, and have the mark ``queued``; ``above`` is the upper end of the cut
    edge. Changes ``state`` in place; returns how many labels change.
    """
    node, lower = state.node, state.lower
    state.counts[WORK] += count
    for i in range(count):
        x = lower[i]
        if node[x, ARCS] > node[x, LINKS]:
            state.counts[WORK] += np.int64(node[x, ARCS])
            found = unmarked(graph.out, state, x, queued)
            if found == NO_VERTEX and not graph.undirected:
                found = unmarked(graph.into, state, x, queued)
            if found != NO_VERTEX:
                reroot(node, x, found)
                return np.int64(0)
    return split(state, lower, count, above)


@kernel
def cut(graph, state, child, above):
    """Remove the edge from ``above`` to ``child`` from its tree; reconnect both parts by another edge, or split them.

    ``graph`` no longer has the edge. Changes ``state`` in place; returns how many labels change, 0 if reconnected.
    """
    node, counts, lower, upper = state.node, state.counts, state.lower, state.upper
    base = next_base(state)
    unlink(node, child)
    counts[TAIL + LOWER], is_all = queue_below(state, child, base + 2 * LOWER + 1)
    if is_all:
        return cut_off(graph, state, counts[TAIL + LOWER], above, base + 2 * LOWER + 1)
    node[above, MARK] = base + 2 * UPPER + 1
    upper[0], counts[TAIL + UPPER] = above, 1
    low, up = 0, 0  # places in the queues
    low_work, up_work = np.int64(node[child, ARCS]), np.int64(node[above, ARCS])  # that of the next vertex included
    while True:
        if low_work <= up_work:
            x = lower[low]
            found = search(graph, state, x, np.int64(LOWER), lower, base)
            if found != NO_VERTEX:
                reroot(node, x, found)
                break
            low += 1
            if low == counts[TAIL + LOWER]:
                counts[WORK] += low_work + up_work
                return split(state, lower, low, above)
            low_work += np.int64(node[lower[low], ARCS])
        else:
            x = upper[up]
            found = search(graph, state, x, np.int64(UPPER), upper, base)
            if found != NO_VERTEX:
                reroot(node, found, x)
                break
            up += 1
            if up == counts[TAIL + UPPER]:
                counts[WORK] += low_work + up_work
                return split(state, upper, up, child)
            up_work += np.int64(node[upper[up], ARCS])
    counts[WORK] += low_work + up_work
    return np.int64(0)


# -- steps -------------------------------------------------------------------------------------------------------------


@inner
def add(state, u, v, counting):
    """Update the forest ``state``, in place, for the inserted edge of ``u`` and ``v``; return how many labels change.

    The edge may be a self-loop, or lie within one component. With ``counting`` the returned number is exact; without,
    it may be wrong, which takes less time.
    """
    node = state.node
    if u == v:
        return np.int64(0)
    node[u, ARCS] += np.uint32(1)
    node[v, ARCS] += np.uint32(1)
    if node[u, COMPONENT] == node[v, COMPONENT]:
        return np.int64(0)
    return join(state, u, v, counting)


@inner
def remove(graph, state, u, v, counting):
    """Update the forest ``state``, in place, for the edge of ``u`` and ``v``; return how many labels change.

    The edge is already deleted from ``graph``. Without ``counting`` the number may be wrong, as the smallest vertex is
    not determined.
    """
    node = state.node
    if u == v:
        return np.int64(0)
    node[u, ARCS] -= np.uint32(1)
    node[v, ARCS] -= np.uint32(1)
    is_child = node[v, PARENT] == u
    if not is_child and node[u, PARENT] != v:
        return np.int64(0)
    if not graph.undirected and find(graph.out, v, u) >= 0:
        return np.int64(0)
    if counting:
        smallest_of(state, node[u, COMPONENT])
    return cut(graph, state, v, u) if is_child else cut(graph, state, u, v)


@inner
def step(graph, state, change, u, v, w, counting):
    """Update the forest ``state``, in place, for one changed edge of ``u`` and ``v``.

    ``change`` is ``INSERTED`` or ``DELETED`` (others change nothing). Returns two numbers: the work in arcs, and how
    many labels change, which is exact only with ``counting``. ``suricate.plugins.step`` says how steps are used.
    """
    changed = np.int64(0)
    state.counts[WORK] = 1
    if change == INSERTED:
        changed = add(state, u, v, counting)
    elif change == DELETED:
        changed = remove(graph, state, u, v, counting)
    return state.counts[WORK], changed


@inner
def record(graph, state, at, recorded, i):
    """Write the labels of the vertices ``at``, and the number of components, as row ``i`` of ``recorded``.

    ``recorded`` holds two arrays: labels, a row per event and a column per vertex, and component counts, one per event.
    The lower bounds of smallest vertices in ``state`` are replaced by exact values where labels are written.
    """
    for j in range(len(at)):
        recorded[0][i, j] = smallest_of(state, state.node[at[j], COMPONENT])
    recorded[1][i] = state.counts[COMPONENTS]


@inner
def ask_for_ends(state, src, dst, i, size):
    """Prefetch the rows in ``state.node`` of both ends of the arc that is ``FAR`` arcs after arc ``i``.

    ``src`` and ``dst`` are the ends of ``size`` arcs; near the end of the list the last arc is taken.
    """
    i = min(i + FAR, size - 1)
    prefetch(state.node, np.int64(src[i]) * ROW)
    prefetch(state.node, np.int64(dst[i]) * ROW)


@inner
def ask_for_components(state, u, v):
    """Prefetch the rows in ``state.part`` of the components of ``u`` and ``v``, if these differ."""
    one, other = state.node[u, COMPONENT], state.node[v, COMPONENT]
    if one != other:
        prefetch(state.part, np.int64(one) * 4)
        prefetch(state.part, np.int64(other) * 4)


@inner
def ask_for_cut(graph, state, u, v):
    """Prefetch the memory that :func:`cut` reads, if the deleted arc from ``u`` to ``v`` is a tree edge.

    That is the siblings of the lower end in ``state.node``, and its edges in ``graph``.
    """
    node = state.node
    is_child = node[v, PARENT] == u
    if not is_child and node[u, PARENT] != v:
        return
    child = v if is_child else u
    for sibling in (node[child, NEXT], node[child, BEFORE]):
        if sibling != NO_VERTEX:
            prefetch(node, np.int64(sibling) * ROW)
    ahead(graph.out, child)
    if not graph.undirected:
        ahead(graph.out, v)
        ahead(graph.into, child)


@kernel
def follow(graph, state, inserted, deleted):
    """Update the forest ``state``, in place, for a batch; ``graph`` holds the change already.

    ``inserted`` and ``deleted`` are arcs as from ``plain_arcs``: ``(src, dst, status, wanted, size)``.
    """
    src, dst, status, wanted, size = inserted
    for i in range(size):
        ask_for_ends(state, src, dst, i, size)
        soon = min(i + NEAR, size - 1)
        ask_for_components(state, src[soon], dst[soon])
        if (len(status) == 0 or status[i] == wanted) and (src[i] < dst[i] or not graph.undirected):
            add(state, src[i], dst[i], False)
    src, dst, status, wanted, size = deleted
    for i in range(size):
        ask_for_ends(state, src, dst, i, size)
        soon = min(i + NEAR, size - 1)
        ask_for_cut(graph, state, src[soon], dst[soon])
        if (len(status) == 0 or status[i] == wanted) and (src[i] < dst[i] or not graph.undirected):
            remove(graph, state, src[i], dst[i], False)


@inner
def adopt_neighbors(g, state, x, number, tail):
    """Make the neighbours of ``x`` in ``g`` that have no component yet children of ``x``, in component ``number``.

    Appends them to ``state.lower[:tail]`` and returns the new length. Adds the number of arcs of ``x`` in ``g`` to its
    row ``state.node[x]``.
    """
    node, arcs = state.node, 0
    for w, _ in neighbors(g, x):
        if w == x:
            continue
        arcs += 1
        if node[w, COMPONENT] == NO_VERTEX:
            node[w, COMPONENT] = number
            link(node, w, x)
            state.lower[tail] = w
            tail += 1
    node[x, ARCS] += np.uint32(arcs)
    return tail


@kernel
def build(graph, state, n):
    """Build the forest of the first ``n`` vertices of ``graph`` in ``state`` by breadth-first searches.

    The number of each component is its smallest vertex.
    """
    counts, part, queue = state.counts, state.part, state.lower
    counts[COMPONENTS], counts[CLIMBED], counts[CHANGED], counts[STALE] = 0, 0, 0, 0
    counts[FREE] = np.int64(NO_VERTEX)
    for v in range(n):
        make_single(state, v, NO_VERTEX)
    for v in range(n):
        part[v, LISTED] = 0
        number = state.node[v, COMPONENT]
        if number != NO_VERTEX:
            part[v, SIZE], part[v, SMALLEST] = 0, counts[FREE]
            counts[FREE] = v
            state.label[v] = number
            continue
        number = np.uint32(v)
        state.node[v, COMPONENT] = number
        queue[0] = v
        i, tail = 0, 1
        while i < tail:
            x = queue[i]
            tail = adopt_neighbors(graph.out, state, x, number, tail)
            if not graph.undirected:
                tail = adopt_neighbors(graph.into, state, x, number, tail)
            i += 1
        part[v, SIZE], part[v, SMALLEST], part[v, MEMBER] = tail, v, v
        state.label[v] = v
        counts[COMPONENTS] += 1
