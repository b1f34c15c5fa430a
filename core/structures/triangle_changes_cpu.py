"""The triangles that a batch takes away and brings, on the CPU: a template over a cursor.

One call is about one kind of changed arcs: deleted ones, which the graph no longer has, or new ones. ``arcs`` and
``others`` hold the arcs of this and of the other kind as ``source << 32 | destination``, ascending, both directions of
an edge, without self-loops. A deleted triangle has no new edge, and a new one no deleted edge: the latter are not in
the graph, so that only the new arcs have to be hidden (``others``, where ``arcs`` are deleted; else it is empty).

``marks`` is ``uint32[n]``: within a group of pairs that share their larger adjacency, that of the hub, ``step`` marks
its unchanged neighbours, ``step + 1`` those by changed edges, and less all other vertices.
"""

from __future__ import annotations

import numpy as np

from suricate.cursors.bindings import begin, buckets, copied, copies, degree, end, find, first, following, key
from suricate.cursors.contiguous import lower_bound
from suricate.jit import inner, kernel
from suricate.scratch import WORDS, scratch
from suricate.types import TOMBSTONE

HALF = np.uint64(32)
MOST = WORDS - 64  #: keys in the scratch array before others are copied
LAST_STEP = (1 << 32) - 2


@kernel
def list_arcs(src, dst, status, wanted, size, change, arcs, degrees):
    """Write the arcs that count to ``arcs``, self-loops left out, and return their number.

    Adds ``change`` to the degrees of their sources.
    """
    listed = 0
    for i in range(size):
        if (len(status) == 0 or status[i] == wanted) and src[i] != dst[i]:
            arcs[listed] = np.uint64(src[i]) << HALF | np.uint64(dst[i])
            listed += 1
            degrees[src[i]] += change
    return listed


@inner
def edge_of(u, v):
    """Return a number by which edges are ordered."""
    return np.uint64(min(u, v)) << HALF | np.uint64(max(u, v))


@inner
def row_begin(arcs, u):
    """Return the place of the first of ``arcs`` whose source is ``u`` or a greater one."""
    return lower_bound(arcs, np.int64(0), np.int64(len(arcs)), np.uint64(u) << HALF)


@inner
def in_row(arcs, i, u):
    """Return whether place ``i`` of ``arcs`` has an arc from ``u``."""
    return i < len(arcs) and arcs[i] >> HALF == np.uint64(u)


@inner
def mark_keys(keys, count, marks, step):
    """Mark the first ``count`` of ``keys``."""
    for i in range(np.uint64(count)):
        x = keys[i]
        if x < TOMBSTONE:
            marks[x] = step


@inner
def mark_row(g, hub, marks, step):
    """Mark the neighbours of ``hub``."""
    if copies:
        keys, count = scratch(), 0
        for k in range(buckets(g, hub)):
            c = first(g, hub, k)
            while c >= 0:
                count = copied(g, c, keys, count)
                c = following(g, c)
                if count > MOST:
                    mark_keys(keys, count, marks, step)
                    count = 0
        mark_keys(keys, count, marks, step)
        return
    for k in range(buckets(g, hub)):
        c = first(g, hub, k)
        while c >= 0:
            for slot in range(begin(g, c), end(g, c)):
                x = key(g, slot)
                if x < TOMBSTONE:
                    marks[x] = step
            c = following(g, c)


@inner
def mark_found(g, hub, u, arcs, marks, step):
    """Mark the neighbours of ``hub`` among those of ``u``, those by deleted edges included; each is looked up."""
    for k in range(buckets(g, u)):
        c = first(g, u, k)
        while c >= 0:
            for slot in range(begin(g, c), end(g, c)):
                x = key(g, slot)
                if x < TOMBSTONE and marks[x] != step and find(g, hub, x) >= 0:
                    marks[x] = step
            c = following(g, c)
    i = row_begin(arcs, u)
    while in_row(arcs, i, u):
        x = np.uint32(arcs[i])
        if marks[x] != step and find(g, hub, x) >= 0:
            marks[x] = step
        i += 1


@inner
def mark_changed(arcs, i, others, hub, marks, step):
    """Mark the neighbours of ``hub`` by changed edges, from place ``i`` of ``arcs`` on; hide those by ``others``."""
    j = row_begin(others, hub)
    while in_row(others, j, hub):
        marks[np.uint32(others[j])] = 0
        j += 1
    while in_row(arcs, i, hub):
        marks[np.uint32(arcs[i])] = step + 1
        i += 1
    marks[hub] = 0


@inner
def list_marked(keys, count, marks, step, shared, found):
    """List those of the first ``count`` of ``keys`` that are marked; return their number."""
    for i in range(np.uint64(count)):
        x = keys[i]
        if x < TOMBSTONE:
            shared[found] = x
            found += np.uint64(marks[x] >= step)
    return found


@inner
def members_marked(g, u, marks, step, shared):
    """List the neighbours of ``u`` that are marked; return their number. No branch depends on marks."""
    found = np.uint64(0)
    if copies:
        keys, count = scratch(), 0
        for k in range(buckets(g, u)):
            c = first(g, u, k)
            while c >= 0:
                count = copied(g, c, keys, count)
                c = following(g, c)
                if count > MOST:
                    found, count = list_marked(keys, count, marks, step, shared, found), 0
        return list_marked(keys, count, marks, step, shared, found)
    for k in range(buckets(g, u)):
        c = first(g, u, k)
        while c >= 0:
            for slot in range(begin(g, c), end(g, c)):
                x = key(g, slot)
                if x < TOMBSTONE:
                    shared[found] = x
                    found += np.uint64(marks[x] >= step)
            c = following(g, c)
    return found


@inner
def meet_changed(arcs, i, hub, u, edge, change, marks, step, triangles):
    """Count the triangles of ``edge``, from ``hub`` to ``u``, and of another changed edge at ``u``.

    A triangle counts at the least of its changed edges. Returns the number of those that count. The row of ``u`` in
    ``arcs`` begins at place ``i``.
    """
    found = 0
    while in_row(arcs, i, u):
        x = np.uint32(arcs[i])
        if marks[x] >= step and edge < edge_of(u, x) and (marks[x] == step or edge < edge_of(hub, x)):
            triangles[x] += change
            found += 1
        i += 1
    return found


@inner
def hide(arcs, i, u, marks, held, count):
    """Take the marks off the destinations of ``u``, whose row begins at place ``i``, and keep them behind ``count``
    others; return how many are kept.
    """
    while in_row(arcs, i, u):
        x = np.uint32(arcs[i])
        held[count], marks[x] = marks[x], 0
        count += 1
        i += 1
    return count


@inner
def show(arcs, i, u, marks, held, count):
    """Put back what :func:`hide` took."""
    while in_row(arcs, i, u):
        marks[np.uint32(arcs[i])] = held[count]
        count += 1
        i += 1


@inner
def meet(g, arcs, others, present, hub, u, change, marks, step, shared, held, triangles):
    """Count the triangles of the changed edge from ``hub``, whose neighbours are marked, to ``u``."""
    edge, row, other = edge_of(hub, u), row_begin(arcs, u), row_begin(others, u)
    own, marks[u] = marks[u], 0
    found = meet_changed(arcs, row, hub, u, edge, change, marks, step, triangles)
    hidden = hide(others, other, u, marks, held, 0)
    if present:
        hide(arcs, row, u, marks, held, hidden)
    for j in range(members_marked(g, u, marks, step, shared)):
        x = shared[j]
        if marks[x] == step or edge < edge_of(hub, x):
            triangles[x] += change
            found += 1
    if present:
        show(arcs, row, u, marks, held, hidden)
    show(others, other, u, marks, held, 0)
    marks[u] = own
    triangles[hub] += change * found
    triangles[u] += change * found


@inner
def is_hub(hub, neighbors, u, others):
    """Return whether ``hub`` has more neighbours than ``u``, or as many and the greater id."""
    return neighbors > others or (neighbors == others and hub > u)


@kernel
def count_changes(g, arcs, others, present, search, change, marks, kept, shared, held, triangles):
    """Add ``change`` at the corners of all triangles with one of ``arcs``, which the graph has if ``present``.

    Each edge is met as the arc from its hub, the end with more neighbours. Those of a hub share its marks, unless it
    takes less to look up what they ask for: a look-up costs as much as ``search`` marks. ``kept`` is ``int64[1]``, the
    last mark; ``shared`` is ``uint32[n]``, ``held`` has as many places as there are arcs of both kinds.
    """
    if kept[0] + 2 * len(arcs) > LAST_STEP:
        marks[:], kept[0] = 0, 0
    start = 0
    while start < len(arcs):
        hub = np.uint32(arcs[start] >> HALF)
        stop, lookups, edges, neighbors = start, np.int64(0), 0, degree(g, hub)
        while in_row(arcs, stop, hub):
            u = np.uint32(arcs[stop])
            if is_hub(hub, neighbors, u, degree(g, u)):
                lookups += degree(g, u)
                edges += 1
            stop += 1
        if edges:
            step = np.uint32(kept[0] + 1)
            kept[0] += 2
            is_marked = neighbors <= search * lookups
            if is_marked:
                mark_row(g, hub, marks, step)
            for i in range(start, stop if not is_marked else start):
                u = np.uint32(arcs[i])
                if is_hub(hub, neighbors, u, degree(g, u)):
                    mark_found(g, hub, u, arcs, marks, step)
            mark_changed(arcs, start, others, hub, marks, step)
            for i in range(start, stop):
                u = np.uint32(arcs[i])
                if is_hub(hub, neighbors, u, degree(g, u)):
                    meet(g, arcs, others, present, hub, u, change, marks, step, shared, held, triangles)
        start = stop
