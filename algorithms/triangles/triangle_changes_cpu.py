"""The triangles that a batch takes away and brings, on the CPU: a template over a cursor.

One call handles one kind of changed arcs: deleted ones, which the graph no longer has, or new ones. ``arcs`` and
``others`` hold the arcs of this and of the other kind as ``source << 32 | destination`` (uint64), ascending, both
directions of an edge, without self-loops. A deleted triangle has no new edge, and a new one no deleted edge. Deleted
edges are not in the graph; new arcs must be hidden while deleted triangles are counted: they are ``others`` then, else
``others`` is empty.

The hub of an edge is the end with more neighbours. The changed edges of a hub are a group. The common neighbours of
both ends are those neighbours of the other end that are marked as neighbours of the hub, or that are looked up in its
adjacency, whichever takes less work.

``marks`` is ``uint8[n]``. In a group with the number ``step`` the mark ``step`` hides a vertex, ``step + 1`` stands for
neighbours of the hub by unchanged edges, ``step + 2`` for neighbours by changed edges; smaller marks stand for none of
these.
"""

from __future__ import annotations

import numpy as np

from suricate.base.types import TOMBSTONE
from suricate.cpu.scratch import WORDS, scratch
from suricate.cursors.contiguous import lower_bound
from suricate.kernels import buckets, common, copied, copies, find, first, following, inner, joins, kernel, neighbors

HALF = np.uint64(32)
MOST = WORDS - 64  #: keys in the scratch array before others are copied
LAST_STEP = 255
CLEARING = 12  #: binary logarithm of the vertices per mark that clearing them costs each group
JOIN = 2  #: marks that a look-up costs where the cursor has ``common``
FEW = 16  #: neighbours that are passed over in the time of a look-up


@kernel
def list_arcs(src, dst, status, wanted, size, change, arcs, degrees):
    """Write the arcs with the status ``wanted``, without self-loops, to ``arcs``, and return their number.

    Args:
        src: ``uint32[size]``, the sources.
        dst: ``uint32[size]``, the destinations.
        status: the status of each arc; if empty, all arcs are written.
        wanted: the status of the arcs to write.
        size: number of arcs.
        change: 1 or -1, added to the degree of the source of each arc written.
        arcs: ``uint64[size]``, output: ``source << 32 | destination``.
        degrees: ``int64[n]``, changed in place.
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
    """Return the edge of ``u`` and ``v`` as uint64, the smaller end in the upper half: such keys order edges."""
    return np.uint64(min(u, v)) << HALF | np.uint64(max(u, v))


@inner
def row_begin(arcs, u):
    """Return the index of the first of ``arcs`` whose source is ``u`` or a greater vertex."""
    return lower_bound(arcs, np.int64(0), np.int64(len(arcs)), np.uint64(u) << HALF)


@inner
def in_row(arcs, i, u):
    """Return whether ``arcs`` has an index ``i``, and the arc there has the source ``u``."""
    return i < len(arcs) and arcs[i] >> HALF == np.uint64(u)


@inner
def mark_keys(keys, count, marks, step):
    """Set ``marks`` to ``step`` at the vertices in ``keys[:count]``; entries from ``TOMBSTONE`` on are no vertices."""
    for i in range(np.uint64(count)):
        x = keys[i]
        if x < TOMBSTONE:
            marks[x] = step


@inner
def mark_row(g, hub, marks, step):
    """Set ``marks`` to ``step`` at the neighbours of ``hub`` in ``g``."""
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
    for x, _ in neighbors(g, hub):
        marks[x] = step


@inner
def mark_changed(arcs, i, others, hub, marks, step):
    """Set ``marks`` at neighbours of ``hub``: ``step + 2`` for an edge in ``arcs``, ``step`` for one in ``others``.

    ``hub`` itself also gets ``step``, which hides it. Its arcs in ``arcs`` begin at index ``i``.
    """
    j = row_begin(others, hub)
    while in_row(others, j, hub):
        marks[np.uint32(others[j])] = step
        j += 1
    while in_row(arcs, i, hub):
        marks[np.uint32(arcs[i])] = step + 2
        i += 1
    marks[hub] = step


@inner
def unmark_changed(arcs, i, others, hub, marks):
    """Set ``marks`` to 0 at ``hub`` and its neighbours by changed edges, which :func:`mark_changed` has marked.

    These edges are the arcs of ``hub`` in ``arcs``, from index ``i`` on, and in ``others``, the arcs of the other kind.
    """
    j = row_begin(others, hub)
    while in_row(others, j, hub):
        marks[np.uint32(others[j])] = 0
        j += 1
    while in_row(arcs, i, hub):
        marks[np.uint32(arcs[i])] = 0
        i += 1
    marks[hub] = 0


@inner
def list_marked(keys, count, marks, step, shared, found):
    """Append to ``shared[:found]`` the vertices in ``keys[:count]`` whose ``marks`` are above ``step``.

    Entries of ``keys`` from ``TOMBSTONE`` on are no vertices. Returns the new length of ``shared``.
    """
    for i in range(np.uint64(count)):
        x = keys[i]
        if x < TOMBSTONE:
            shared[found] = x
            found += np.uint64(marks[x] > step)
    return found


@inner
def members_marked(g, u, marks, step, shared, found):
    """Append to ``shared[:found]`` the neighbours of ``u`` whose ``marks`` are above ``step``; return the new length.

    No branch depends on marks.
    """
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
    for x, _ in neighbors(g, u):
        shared[found] = x
        found += np.uint64(marks[x] > step)
    return found


@inner
def members_found(g, hub, u, shared):
    """Write the common neighbours of ``hub`` and ``u`` in ``g`` to ``shared``; return their number.

    Each neighbour of ``u`` is looked up in the adjacency of ``hub``, unless the cursor can intersect both adjacencies.
    """
    if joins:
        return common(g, hub, u, shared)
    found = np.uint64(0)
    for x, _ in neighbors(g, u):
        shared[found] = x
        found += np.uint64(find(g, hub, x) >= 0)
    return found


@inner
def members_changed(g, arcs, start, stop, u, neighbors, marks, step, shared, found):
    """Append to ``shared[:found]`` the neighbours of ``u`` to which the hub has a deleted edge; return the new length.

    The hub is the other end of the edge to ``u`` whose triangles are counted. Its deleted arcs have the indices from
    ``start`` on, below ``stop``, in ``arcs``, and ``marks`` are ``step + 2`` at their destinations. ``neighbors`` is
    the number of neighbours of ``u``.
    """
    if (stop - start) * FEW < neighbors:
        for i in range(start, stop):
            x = np.uint32(arcs[i])
            if marks[x] == step + 2 and find(g, u, x) >= 0:
                shared[found] = x
                found += np.uint64(1)
        return found
    return members_marked(g, u, marks, step + 1, shared, found)


@inner
def meet_changed(g, arcs, i, hub, u, is_marked, edge, change, marks, step, triangles):
    """Count the triangles with ``edge``, from ``hub`` to ``u``, and another changed edge at ``u``; return their number.

    Adds ``change`` to ``triangles`` at the third corner, in place. A triangle is counted only if ``edge`` is the least
    of its changed edges. The arcs of ``u`` in ``arcs`` begin at index ``i``. With ``is_marked`` the neighbours of the
    hub have ``marks`` above ``step``, otherwise they are looked up.
    """
    found = 0
    while in_row(arcs, i, u):
        x = np.uint32(arcs[i])
        is_least = edge < edge_of(u, x) and (marks[x] != step + 2 or edge < edge_of(hub, x))
        if is_least and (marks[x] > step or (marks[x] < step and not is_marked and find(g, hub, x) >= 0)):
            triangles[x] += change
            found += 1
        i += 1
    return found


@inner
def hide(arcs, i, u, marks, step, held, count):
    """Set ``marks`` to ``step`` at the destinations of arcs of ``u``; append the previous marks to ``held[:count]``.

    The arcs of ``u`` in ``arcs`` begin at index ``i``. Returns the new length of ``held``.
    """
    while in_row(arcs, i, u):
        x = np.uint32(arcs[i])
        held[count], marks[x] = marks[x], step
        count += 1
        i += 1
    return count


@inner
def show(arcs, i, u, marks, held, count):
    """Restore the ``marks`` of the destinations of the arcs of ``u`` from ``held``, where :func:`hide` has stored them.

    They begin at index ``count`` of ``held``; the arcs of ``u`` begin at index ``i`` of ``arcs``.
    """
    while in_row(arcs, i, u):
        marks[np.uint32(arcs[i])] = held[count]
        count += 1
        i += 1


@inner
def meet(g, arcs, start, stop, others, present, i, is_marked, change, step, scratch, numbers):
    """Count the triangles of the changed edge at index ``i`` of ``arcs``, at their corners.

    Args:
        g: the view of the graph.
        arcs: the changed arcs, see the module.
        start: the index in ``arcs`` where the arcs of the hub begin.
        stop: the index where they end.
        others: the arcs of the other kind.
        present: whether the graph has ``arcs``: they are new ones.
        i: the index of an arc whose source is the hub.
        is_marked: whether the neighbours of the hub are marked; else they are looked up.
        change: 1 or -1, added per triangle.
        step: the mark that hides a vertex.
        scratch: a tuple of ``marks`` (see the module), ``shared`` (``uint32[n]``, common neighbours) and ``held``
            (previous marks of hidden vertices).
        numbers: ``degrees`` and ``triangles``; the latter is changed in place.
    """
    marks, shared, held = scratch
    degrees, triangles = numbers
    hub, u = np.uint32(arcs[i] >> HALF), np.uint32(arcs[i])
    edge, row, other = edge_of(hub, u), row_begin(arcs, u), row_begin(others, u)
    own, marks[u] = marks[u], step
    total = meet_changed(g, arcs, row, hub, u, is_marked, edge, change, marks, step, triangles)
    hidden = hide(others, other, u, marks, step, held, 0)
    if present:
        hide(arcs, row, u, marks, step, held, hidden)
    if is_marked:
        found = members_marked(g, u, marks, step, shared, np.uint64(0))
    else:
        found = members_found(g, hub, u, shared)
        if not present and stop - start > 1:
            found = members_changed(g, arcs, start, stop, u, degrees[u], marks, step, shared, found)
    for j in range(found):
        x = shared[j]
        if marks[x] != step and (marks[x] != step + 2 or edge < edge_of(hub, x)):
            triangles[x] += change
            total += 1
    if present:
        show(arcs, row, u, marks, held, hidden)
    show(others, other, u, marks, held, 0)
    marks[u] = own
    triangles[hub] += change * total
    triangles[u] += change * total


@inner
def is_hub(hub, neighbors, u, others):
    """Return whether ``hub`` is the hub of its edge to ``u``: it has more neighbours, or as many and the greater id.

    ``neighbors`` is the number of neighbours of ``hub``, ``others`` that of ``u``.
    """
    return neighbors > others or (neighbors == others and hub > u)


@kernel
def count_changes(g, arcs, others, present, search, change, marks, kept, shared, held, degrees, triangles):
    """Add ``change`` to ``triangles``, in place, at the corners of every triangle that has one of ``arcs``.

    Each edge is handled once, as the arc from its hub. The neighbours of a hub are either marked once for all its
    edges, or looked up for each edge, whichever costs less.

    Args:
        g: the view of the graph.
        arcs: ``uint64[k]``, the changed arcs, see the module.
        others: ``uint64[]``, the arcs of the other kind.
        present: whether the graph has ``arcs``: they are new ones.
        search: the cost of a look-up, in units of setting a mark.
        change: 1 or -1.
        marks: ``uint8[n]``, stored between calls.
        kept: ``int64[1]``, the largest mark used so far, changed in place.
        shared: scratch, ``uint32[n]``: common neighbours.
        held: scratch, one entry per arc of both kinds: marks of hidden vertices.
        degrees: ``int64[n]``, the degrees in the graph, without self-loops.
        triangles: ``int64[n]``, changed in place.
    """
    start, scratch, numbers = 0, (marks, shared, held), (degrees, triangles)
    while start < len(arcs):
        hub = np.uint32(arcs[start] >> HALF)
        stop, lookups, edges, neighbors = start, np.int64(0), 0, degrees[hub]
        while in_row(arcs, stop, hub):
            u = np.uint32(arcs[stop])
            if is_hub(hub, neighbors, u, degrees[u]):
                lookups += degrees[u]
                edges += 1
            stop += 1
        if edges:
            if kept[0] + 3 > LAST_STEP:
                marks[:], kept[0] = 0, 0
            step, cost = np.uint8(kept[0] + 1), JOIN if joins else min(search, neighbors)
            is_marked = neighbors + (len(marks) >> CLEARING) <= cost * lookups
            if is_marked:
                mark_row(g, hub, marks, step + 1)
                kept[0] += 3
            mark_changed(arcs, start, others, hub, marks, step)
            for i in range(start, stop):
                u = np.uint32(arcs[i])
                if is_hub(hub, neighbors, u, degrees[u]):
                    meet(g, arcs, start, stop, others, present, i, is_marked, change, step, scratch, numbers)
            if not is_marked:
                unmark_changed(arcs, start, others, hub, marks)
        start = stop
