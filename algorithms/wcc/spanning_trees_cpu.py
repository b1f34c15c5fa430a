"""The trees of a spanning forest on the CPU, independent of the backend: tree edges, numbers, labels, sides of a cut.

Labels are the smallest members of components. They are written when they are read, and only those that may have
changed: those of renumbered vertices, which are listed, and those of components that got or lost their smallest member,
which are listed as stale.

``state`` is a ``spanning_forest.State``; ``node`` is ``state.node``, whose columns the constants below name.
"""

from __future__ import annotations

import numpy as np

from suricate.base.types import EMPTY
from suricate.cpu.prefetch import prefetch
from suricate.kernels import inner, kernel

#: places of rows of ``state.node``
PARENT, COMPONENT, MARK, ARCS, LINKS, CHILD, NEXT, BEFORE = 0, 1, 2, 3, 4, 5, 6, 7
ROW = 8
SIZE, SMALLEST, MEMBER, LISTED = 0, 1, 2, 3  #: places of rows of ``state.part``
EPOCH, FREE, COMPONENTS, WORK, TAIL, CLIMBED, CHANGED, STALE = 0, 1, 2, 3, 4, 6, 7, 8  #: places of ``state.counts``
LOWER, UPPER = 0, 1  #: the sides of a cut: the subtree, and what has the root
NO_VERTEX = np.uint32(EMPTY)
LAST_CUT = (1 << 30) - 1
AHEAD = 16  # places ahead at which rows are prefetched


# -- trees -------------------------------------------------------------------------------------------------------------


@inner
def link(node, v, above):
    """Make ``v``, which has no parent, the first child of ``above``; changes rows of ``node`` in place."""
    after = node[above, CHILD]
    node[v, PARENT], node[v, NEXT], node[v, BEFORE] = above, after, NO_VERTEX
    if after != NO_VERTEX:
        node[after, BEFORE] = v
    node[above, CHILD] = v
    node[v, LINKS] += np.uint32(1)
    node[above, LINKS] += np.uint32(1)


@inner
def unlink(node, v):
    """Detach ``v`` from its parent in its tree; changes rows of ``node`` in place."""
    above, before, after = node[v, PARENT], node[v, BEFORE], node[v, NEXT]
    if before == NO_VERTEX:
        node[above, CHILD] = after
    else:
        node[before, NEXT] = after
    if after != NO_VERTEX:
        node[after, BEFORE] = before
    node[v, PARENT] = NO_VERTEX
    node[v, LINKS] -= np.uint32(1)
    node[above, LINKS] -= np.uint32(1)


@inner
def reroot(node, v, above):
    """Make ``v`` the root of its tree, then a child of ``above`` in another tree; changes ``node`` in place."""
    while v != NO_VERTEX:
        after = node[v, PARENT]
        if after != NO_VERTEX:
            unlink(node, v)
        link(node, v, above)
        above, v = v, after


@inner
def ask_for_child(node, v):
    """Prefetch the row of the first child of ``v`` in ``node``, if it has one."""
    child = node[v, CHILD]
    if child != NO_VERTEX:
        prefetch(node, np.int64(child) * ROW)


@inner
def queue_children(node, x, queue, tail):
    """Append the children of ``x`` to ``queue[:tail]``; return the new length."""
    w = node[x, CHILD]
    while w != NO_VERTEX:
        ask_for_child(node, w)
        queue[tail] = w
        tail += 1
        w = node[w, NEXT]
    return tail


@inner
def make_single(state, v, number):
    """Make ``v`` a tree without edges, in component ``number``, or in no component if that is ``NO_VERTEX``."""
    node = state.node
    node[v, PARENT], node[v, COMPONENT], node[v, MARK], node[v, ARCS] = NO_VERTEX, number, 0, 0
    node[v, LINKS], node[v, CHILD], node[v, NEXT], node[v, BEFORE] = 0, NO_VERTEX, NO_VERTEX, NO_VERTEX


@kernel
def grow(state, start):
    """Make each vertex from ``start`` on a component of its own; changes ``state`` in place."""
    for v in range(start, len(state.node)):
        make_single(state, v, np.uint32(v))
        state.part[v, SIZE], state.part[v, SMALLEST], state.part[v, MEMBER], state.part[v, LISTED] = 1, v, v, 0
        state.label[v] = v


# -- labels ------------------------------------------------------------------------------------------------------------


@inner
def list_members(state, c):
    """Write the members of component ``c`` to ``state.lower``; return their number, and the smallest member."""
    node, queue = state.node, state.lower
    v = state.part[c, MEMBER]
    while node[v, PARENT] != NO_VERTEX:
        v = node[v, PARENT]
    queue[0] = v
    i, tail, lowest = 0, 1, v
    while i < tail:
        lowest = min(lowest, queue[i])
        tail = queue_children(node, queue[i], queue, tail)
        i += 1
    return tail, lowest


@inner
def smallest_of(state, c):
    """Return the smallest vertex of component ``c``, and store it as the lower bound in ``state.part``.

    The search visits all members, or the vertices from the lower bound on, whichever are likely to be fewer.
    ``state.lower`` is scratch.
    """
    v, size = state.part[c, SMALLEST], np.int64(state.part[c, SIZE])
    if state.node[v, COMPONENT] != c and size * size < len(state.node):
        v = list_members(state, c)[1]
    while state.node[v, COMPONENT] != c:
        v += np.uint32(1)
    state.part[c, SMALLEST] = v
    return v


@inner
def renumber(state, x, number):
    """Move ``x`` to component ``number``, and append it to ``state.changed``.

    If that list is full, only its length in ``state.counts`` is raised, so that the overflow can be seen.
    """
    state.node[x, COMPONENT] = number
    count = state.counts[CHANGED]
    if count < len(state.changed):
        state.changed[count] = x
    state.counts[CHANGED] = count + 1


@inner
def list_stale(state, c):
    """Append component ``c`` to ``state.stale``, unless it is there already or the list is full."""
    count = state.counts[STALE]
    if state.part[c, LISTED] == 0 and count < len(state.stale):
        state.part[c, LISTED] = 1
        state.stale[count] = c
        state.counts[STALE] = count + 1


@inner
def write_all(state, n):
    """Write the labels of all ``n`` vertices to ``state.label``, and clear the list of stale components.

    The first vertex of each component in ascending order is its smallest member.
    """
    part, node = state.part, state.node
    for c in range(len(part)):
        part[c, LISTED] = 0
        if part[c, SIZE] > 0:
            part[c, SMALLEST] = NO_VERTEX
    for v in range(len(node)):
        prefetch(part, np.int64(node[min(v + AHEAD, n - 1), COMPONENT]) * 4)
        c = node[v, COMPONENT]
        if part[c, SMALLEST] == NO_VERTEX:
            part[c, SMALLEST] = v
        state.label[v] = part[c, SMALLEST]


@kernel
def write_labels(state):
    """Write to ``state.label`` the labels that may have changed: the smallest member of each vertex's component.

    These are the labels of vertices in ``state.changed``, and of all members of the components in ``state.stale``; if
    they are many, all labels are written. Empties both lists.
    """
    node, part, counts, n = state.node, state.part, state.counts, len(state.node)
    work = counts[CHANGED]
    for i in range(counts[STALE]):
        work += 2 * np.int64(part[state.stale[i], SIZE])
    if counts[CHANGED] > len(state.changed) or counts[STALE] == len(state.stale) or work > n // 2:
        write_all(state, n)
    else:
        for i in range(counts[STALE]):
            c = state.stale[i]
            part[c, LISTED] = 0
            size = 0
            if part[c, SIZE] > 0:
                size, part[c, SMALLEST] = list_members(state, c)
            for k in range(size):
                state.label[state.lower[k]] = part[c, SMALLEST]
        last = counts[CHANGED] - 1
        for i in range(counts[CHANGED]):
            prefetch(node, np.int64(state.changed[min(i + AHEAD, last)]) * ROW)
            prefetch(state.label, np.int64(state.changed[min(i + AHEAD, last)]))
            prefetch(part, np.int64(node[state.changed[min(i + AHEAD // 2, last)], COMPONENT]) * 4)
            x = state.changed[i]
            state.label[x] = part[node[x, COMPONENT], SMALLEST]
    counts[CHANGED] = counts[STALE] = 0


# -- joining and cutting ---------------------------------------------------------------------------------------------


@kernel
def join(state, u, v, counting):
    """Join the components of ``u`` and ``v`` by an edge, renumbering the smaller one; return how many labels change.

    Changes ``state`` in place. With ``counting`` the returned number is exact; without, it may be wrong, because only
    lower bounds of the smallest vertices are compared, which takes less time.
    """
    node, part, queue = state.node, state.part, state.lower
    if part[node[u, COMPONENT], SIZE] > part[node[v, COMPONENT], SIZE]:
        u, v = v, u
    old, new = node[u, COMPONENT], node[v, COMPONENT]
    if counting:
        smallest_of(state, old)
        smallest_of(state, new)
    changed = part[old, SIZE]
    if part[old, SMALLEST] < part[new, SMALLEST]:
        changed = part[new, SIZE]
        part[new, SMALLEST] = part[old, SMALLEST]
        list_stale(state, new)
    reroot(node, u, v)
    queue[0] = u
    i, tail = 0, 1
    while i < tail:
        renumber(state, queue[i], new)
        tail = queue_children(node, queue[i], queue, tail)
        i += 1
    state.counts[WORK] += tail
    part[new, SIZE] += part[old, SIZE]
    part[old, SIZE], part[old, SMALLEST] = 0, state.counts[FREE]
    state.counts[FREE] = old
    state.counts[COMPONENTS] -= 1
    return np.int64(changed)


@inner
def next_base(state):
    """Return the smallest mark of the next cut, and raise the number of the cut in ``state.counts``.

    A cut uses four consecutive marks of 32 bits: for the lower side one for visited ancestors and one for queued
    vertices, then the same for the upper side. If no marks are left, all marks are reset to 0.
    """
    if state.counts[EPOCH] == LAST_CUT:
        state.counts[EPOCH] = 0
        for v in range(len(state.node)):
            state.node[v, MARK] = 0
    state.counts[EPOCH] += 1
    return state.counts[EPOCH] * 4


@inner
def side_of(state, w, base):
    """Return the side, ``LOWER`` or ``UPPER``, of ``w``, which has no mark of this cut; mark it and its ancestors.

    ``base`` is the smallest mark of this cut. The number of steps to ancestors is added to ``state.counts``.
    """
    node = state.node
    v = w
    while node[v, MARK] < base and node[v, PARENT] != NO_VERTEX:
        v = node[v, PARENT]
    side = np.int64(UPPER) if node[v, MARK] < base else (node[v, MARK] - base) >> 1
    v, steps = w, 0
    while node[v, MARK] < base:
        node[v, MARK] = base + 2 * side
        steps += 1
        if node[v, PARENT] == NO_VERTEX:
            break
        v = node[v, PARENT]
    state.counts[WORK] += steps
    state.counts[CLIMBED] += steps
    return side


@inner
def split(state, queue, count, other):
    """Move the vertices ``queue[:count]`` of a component to a new one; ``other`` is a vertex that stays in the old one.

    Changes ``state`` in place; returns how many labels change.
    """
    part = state.part
    old, new = state.node[other, COMPONENT], state.counts[FREE]
    label = part[old, SMALLEST]
    state.counts[FREE] = np.int64(part[new, SMALLEST])
    lowest = queue[0]
    for i in range(count):
        renumber(state, queue[i], new)
        lowest = min(lowest, queue[i])
    part[new, SIZE], part[new, SMALLEST], part[new, MEMBER] = count, lowest, queue[0]
    part[old, SIZE] -= np.uint32(count)
    part[old, MEMBER] = other
    if state.node[part[old, SMALLEST], COMPONENT] != old:
        list_stale(state, old)
    state.counts[COMPONENTS] += 1
    return np.int64(part[old, SIZE]) if lowest == label else np.int64(count)
