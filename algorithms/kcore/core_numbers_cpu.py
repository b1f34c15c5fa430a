"""Core numbers on the CPU: a template over a cursor, and the specification of the CUDA kernels.

A *level* is the set of vertices with the same core number; the vertices of a level are ordered by their *places*.

Arrays per vertex, ``uint32[n]``: ``core``, the core numbers; ``support``, how many neighbours have at least the core
number of the vertex; ``place``, the place in the order of the level; ``later``, how many neighbours come after the
vertex: those on higher levels, and those on its own level at its place or a later one. ``numbers`` is the tuple ``core,
support, place, later``.

``left``, ``stamp``, ``mark``, ``listed`` and the queues are ``uint32[n]``, too. ``arcs`` is what ``plain_arcs``
returns: ``(src, dst, status, wanted, size)``.

``kept`` is ``int64[5]``: the epoch of the stamps; the number of the last search for candidates; the greatest place; the
number of arcs at the last peel; a lower bound of the places on levels above 0.
"""

from __future__ import annotations

import numpy as np

from suricate.algorithms.kcore.core_numbers import ORIGIN, PASSES
from suricate.kernels import degree, find, inner, kernel, neighbors

LAST = 0xFFFFFFFF  #: a place after all others


@inner
def take_away(g, v, core, pos, order, bins):
    """Remove ``v`` in a peel: neighbours with more remaining neighbours than ``v`` have one remaining neighbour less.

    ``core`` holds the numbers of remaining neighbours; ``order`` are the vertices sorted by these numbers, ``pos``
    is the index of each vertex in ``order``, ``bins`` the index in ``order`` of the first vertex with each number. All
    four are changed in place. Returns the number of neighbours that have at least
    as many remaining neighbours as ``v`` (the support of ``v``), and how many of these come after ``v`` in ``order``.
    """
    supporters, after, own = 0, 0, pos[v]
    for w, _ in neighbors(g, v):
        if core[w] < core[v] or w == v:
            continue
        supporters += 1
        after += pos[w] > own
        if core[w] > core[v]:
            has = core[w]
            start = bins[has]
            head, place = order[start], pos[w]
            if head != w:
                pos[w], order[place] = start, head
                pos[head], order[start] = place, w
            bins[has] += 1
            core[w] = has - 1
    return supporters, after


@kernel
def peel(g, loop, core, support, place, later, pos, order, bins):
    """Compute all core numbers, supports and places in linear time (Batagelj and Zaversnik, 2003).

    ``loop`` is the number of entries of a self-loop in the adjacency of its vertex. Writes ``core``, ``support``,
    ``place`` and ``later``, see the module. Scratch arrays: ``order`` (``uint32[n]``), the vertices sorted by the
    number of remaining neighbours; ``pos`` (``uint32[n]``), the index of each vertex in ``order``; ``bins`` (``int64[n
    + 1]``), the index in ``order`` of the first vertex with each number of remaining neighbours. Returns the number of
    arcs.
    """
    n, most, arcs = len(core), 0, 0
    for v in range(n):
        arcs += degree(g, v)
        has_loop = degree(g, v) > 0 and find(g, np.uint32(v), np.uint32(v)) >= 0
        core[v] = degree(g, v) - loop * has_loop
        most = max(most, int(core[v]))
    for has in range(most + 1):
        bins[has] = 0
    for v in range(n):
        bins[core[v]] += 1
    start = 0
    for has in range(most + 1):
        start, bins[has] = start + bins[has], start
    for v in range(n):
        pos[v] = bins[core[v]]
        order[pos[v]] = v
        bins[core[v]] += 1
    for has in range(most, 0, -1):
        bins[has] = bins[has - 1]
    bins[0] = 0
    for i in range(n):
        v = order[i]
        support[v], later[v] = take_away(g, v, core, pos, order, bins)
        place[v] = ORIGIN + i
    return arcs


@inner
def counts(status, wanted, i, u, v):
    """Return whether arc ``i``, from ``u`` to ``v``, is no self-loop and has the status ``wanted``.

    If ``status`` is empty, every arc has it.
    """
    return (len(status) == 0 or status[i] == wanted) and u != v


@inner
def recount(g, v, core):
    """Return how many other neighbours of ``v`` have at least its core number, and how many have a greater one."""
    found, higher, k = 0, 0, core[v]
    for w, _ in neighbors(g, v):
        if w != v:
            found += core[w] >= k
            higher += core[w] > k
    return found, higher


@kernel
def tally(src, dst, status, wanted, size, core, support, place, later, change):
    """Add ``change`` (1 or -1) to ``support`` and ``later`` of the destinations of arcs, in place.

    Args:
        src: ``uint32[size]``, the sources of the arcs; both directions of an edge are listed.
        dst: ``uint32[size]``, their destinations.
        status: the status of each arc; only arcs whose status is ``wanted`` count, all if it is empty.
        wanted: see ``status``.
        size: number of arcs.
        core: ``uint32[n]``, the core numbers; an arc from a lower to a higher number changes nothing.
        support: ``uint32[n]``, changed in place.
        place: ``uint32[n]``, the place of each vertex in the order of its level.
        later: ``uint32[n]``, changed in place if the source is on a higher level, or not before the destination.
        change: 1 for inserted arcs, -1 for deleted ones.
    """
    for i in range(size):
        u, v = src[i], dst[i]
        if counts(status, wanted, i, u, v) and core[u] >= core[v]:
            support[v] = np.int64(support[v]) + change
            if core[u] > core[v] or place[u] >= place[v]:
                later[v] = np.int64(later[v]) + change


@inner
def withdraw(g, v, before, at, core, support, place, later, queue, count):
    """Stop counting ``v``, which fell to a lower level, in ``support`` and ``later`` of its neighbours, in place.

    ``before`` and ``at`` are the core number and place of ``v`` before it fell; ``core`` and ``place`` hold the new
    ones. Appends neighbours whose support is now below their core number to ``queue[:count]``; returns the new length.
    """
    now = core[v]
    for w, _ in neighbors(g, v):
        if w != v and core[w] > now and core[w] <= before:
            if support[w] == core[w]:
                queue[count] = w
                count += 1
            support[w] -= 1
            if core[w] < before or place[w] <= at:
                later[w] -= 1
    return count


@kernel
def lower(g, arcs, numbers, stamp, kept, queue):
    """Lower core numbers after deletions until the support of every vertex is at least its core number.

    Changes ``numbers`` (``core, support, place, later``), ``stamp`` and ``kept`` in place, see the module. ``arcs`` are
    the deleted arcs, as from ``plain_arcs``; their ends are examined first. ``queue`` is scratch, ``uint32[n]``, and
    holds a vertex at most once. A vertex that is lowered gets the last place on its new level.
    """
    src, dst, status, wanted, size = arcs
    core, support, place, later = numbers
    count = 0
    kept[0] += 1
    for i in range(size):
        u, v = src[i], dst[i]
        if counts(status, wanted, i, u, v) and support[v] < core[v] and stamp[v] != kept[0]:
            stamp[v] = kept[0]
            queue[count] = v
            count += 1
    while count > 0:
        count -= 1
        v = queue[count]
        before, at = core[v], place[v]
        core[v] = min(np.int64(before) - 1, np.int64(degree(g, v)))
        kept[2] += 1
        place[v] = kept[2]
        support[v], later[v] = recount(g, v, core)
        if support[v] < core[v]:
            queue[count] = v
            count += 1
        count = withdraw(g, v, before, at, core, support, place, later, queue, count)


@inner
def comes_after(g, v, core, place, at):
    """Return how many neighbours of ``v`` are at or after place ``at`` of its level, and the least ``place`` of these.

    Neighbours on higher levels (see ``core``) are all counted. The least place is that of neighbours on the level of
    ``v``, or ``LAST`` if none of them is counted.
    """
    found, least, k = 0, np.int64(LAST), core[v]
    for w, _ in neighbors(g, v):
        if w != v and core[w] >= k:
            if core[w] > k:
                found += 1
            elif place[w] >= at:
                found += 1
                least = min(least, np.int64(place[w]))
    return found, least


@inner
def move_back(g, v, core, place):
    """Return the first place for ``v`` after which at most ``core[v]`` neighbours come, and how many come after it.

    The search begins at ``place[v]``; the place is ``LAST`` if there is none. Changes nothing.
    """
    at, k = np.int64(place[v]), core[v]
    found, least = comes_after(g, v, core, place, at)
    while found > k and least != LAST:
        at = least + 1
        found, least = comes_after(g, v, core, place, at)
    return at if found <= k else np.int64(LAST), found


@inner
def go_by(g, v, before, core, place, later, queue, count):
    """Add 1 to ``later`` of the neighbours that ``v`` has moved behind; queue those that then have too many after them.

    ``v`` moved from place ``before`` to ``place[v]`` on its level ``core[v]``. Changes ``later`` in place, and appends
    to ``queue[:count]``; returns the new length.
    """
    k, now = core[v], place[v]
    for w, _ in neighbors(g, v):
        if w != v and core[w] == k and place[w] > before and place[w] <= now:
            if later[w] == k:
                queue[count] = w
                count += 1
            later[w] += 1
    return count


@inner
def reorder(g, core, place, later, kept, queue, buffer, seeds, count, work):
    """Move vertices with too many neighbours after them back in the order of their level, until there are none.

    If no place is far enough back for a vertex, or it still moves after ``PASSES + 2 * core[v]`` rounds, it becomes a
    seed of the search for candidates.

    Args:
        core: ``uint32[n]``, the core numbers.
        place: changed in place.
        later: changed in place.
        kept: its entry ``kept[2]``, the greatest place, is changed.
        queue: the first ``count`` entries are the vertices to move; afterwards scratch.
        buffer: scratch, ``uint32[n]``, the queue of the next round.
        seeds: output, the seeds.
        count: number of vertices in ``queue``.
        work: number of arcs that may be visited.

    Returns:
        The number of seeds, and ``work`` less the arcs visited; below 0 if the search was given up.
    """
    num_seeds, passes = 0, 0
    while count > 0 and work >= 0:
        passes += 1
        queued = 0
        for i in range(count):
            v = queue[i]
            at, found = np.int64(LAST), 0
            if passes <= PASSES + 2 * np.int64(core[v]):
                work -= np.int64(degree(g, v))
                at, found = move_back(g, v, core, place)
            if at == LAST:
                seeds[num_seeds] = v
                num_seeds += 1
                continue
            before = place[v]
            place[v], later[v] = at, found
            kept[2] = max(kept[2], at)
            queued = go_by(g, v, before, core, place, later, buffer, queued)
        queue, buffer, count = buffer, queue, queued
    return num_seeds, work


@inner
def seek(g, core, place, later, listed, work, count):
    """Append to the seeds ``listed[:count]`` the other candidates: vertices whose number may rise if the seeds rise.

    Each candidate adds 1 to ``later``, in place, of its neighbours on the same level (see ``core``) at a later
    ``place``; a neighbour that then has too many neighbours after it is the next candidate. ``work`` is the number of
    arcs that may be visited. Returns the length of the list, and ``work`` less the arcs visited, below 0 if the search
    was given up.
    """
    i = 0
    while i < count and work >= 0:
        v = listed[i]
        k, at = core[v], place[v]
        i += 1
        work -= np.int64(degree(g, v))
        for w, _ in neighbors(g, v):
            if core[w] == k and place[w] > at:
                if later[w] == k:
                    listed[count] = w
                    count += 1
                later[w] += 1
    return count, work


@inner
def count_candidates(g, v, core, mark, number):
    """Return how many neighbours of ``v`` are on higher levels, or are candidates on the level of ``v``.

    ``core`` tells the level; ``mark`` is ``number``, the number of the current search, at candidates.
    """
    found, k = 0, core[v]
    for w, _ in neighbors(g, v):
        found += w != v and (core[w] > k or (core[w] == k and mark[w] == number))
    return found


@inner
def drop(g, v, core, left, mark, number, fewest, queue, count):
    """Subtract 1 from ``left``, in place, at the neighbours of ``v`` with its core number whose ``mark`` is ``number``.

    Appends those of them with exactly ``fewest`` left to ``queue[:count]``; returns the new length.
    """
    k = core[v]
    for w, _ in neighbors(g, v):
        if w != v and core[w] == k and mark[w] == number:
            left[w] -= 1
            if left[w] == fewest:
                queue[count] = w
                count += 1
    return count


@inner
def sift(g, core, place, later, left, mark, kept, listed, last, queue):
    """Drop candidates that cannot rise: at most ``core[v]`` of their neighbours are candidates or on higher levels.

    Dropped candidates get the last places on their level, in the order in which they are dropped. The candidates are
    ``listed[:last]``; ``kept[1]`` is the number of the search. Changes ``place``, ``later``, ``mark`` and ``kept[2]``
    in place. Writes ``left``, ``uint32[n]``: for each candidate the number of its neighbours on higher levels and among
    candidates that were not dropped. ``queue`` is scratch.
    """
    number, count = kept[1], 0
    for i in range(last):
        mark[listed[i]] = number
    for i in range(last):
        v = listed[i]
        left[v] = count_candidates(g, v, core, mark, number)
        if left[v] <= core[v]:
            queue[count] = v
            count += 1
    i = 0
    while i < count:
        v = queue[i]
        i += 1
        kept[2] += 1
        place[v], later[v] = kept[2], left[v]
        count = drop(g, v, core, left, mark, number, core[v], queue, count)


@inner
def support_above(g, v, core, support, mark, risen):
    """Add 1 to ``support`` of the neighbours on the level to which ``v`` rises, except those that rise as well.

    Changes ``support`` in place; ``core`` still holds the old numbers, ``mark`` is ``risen`` at vertices that rise.
    """
    for w, _ in neighbors(g, v):
        if core[w] == core[v] + 1 and mark[w] != risen:
            support[w] += 1


@inner
def rise(g, core, support, place, later, left, mark, kept, listed, last, queue, seeds):
    """Raise the remaining candidates by one; they get the first places on their new level, in the order of a peel.

    They are those of ``listed[:last]`` with ``left[v] > core[v]``; ``left`` is the output of :func:`sift`. Changes
    ``core``, ``support``, ``place``, ``later``, ``left``, ``mark``, ``kept[4]`` and ``listed`` in place; ``queue`` is
    scratch. Raised vertices that still have too many neighbours after them are written to ``seeds``. Returns their
    number.
    """
    risen, many = kept[1] + 1, 0
    for i in range(last):
        v = listed[i]
        if left[v] > core[v]:
            mark[v], support[v] = risen, left[v]
            listed[many] = v
            many += 1
    count, num_seeds, i = 0, 0, 0
    for j in range(many):
        v = listed[j]
        if left[v] == core[v] + 1:
            queue[count] = v
            count += 1
    kept[4] -= many + 1
    while i < count:
        v = queue[i]
        place[v], later[v] = kept[4] + i, left[v]
        i += 1
        count = drop(g, v, core, left, mark, risen, core[v] + 1, queue, count)
    for j in range(many):
        v = listed[j]
        if left[v] > core[v] + 1:
            place[v], later[v] = kept[4] + many, left[v]
            seeds[num_seeds] = v
            num_seeds += 1
        support_above(g, v, core, support, mark, risen)
    for j in range(many):
        core[listed[j]] += 1
    return num_seeds


@kernel
def raise_all(g, arcs, numbers, left, marks, listed, work, queue, buffer):
    """Raise core numbers after insertions: candidates rise by one, repeatedly, until none does.

    Args:
        arcs: the inserted arcs, as from ``plain_arcs``; their ends are examined first.
        numbers: ``core, support, place, later``, changed in place.
        left: scratch, ``uint32[n]``.
        marks: ``stamp, mark, kept``, changed in place; ``mark[v]`` is the number of the last search in which ``v`` was
            a candidate, plus 1 if it rose.
        listed: scratch, ``uint32[n]``, the candidates.
        work: the number of arcs that may be visited.
        queue: scratch, ``uint32[n]``.
        buffer: scratch, ``uint32[n]``.

    Returns:
        True if ``work`` arcs were enough; if False, the contents of ``numbers`` are unspecified.
    """
    src, dst, status, wanted, size = arcs
    core, support, place, later = numbers
    stamp, mark, kept = marks
    count = 0
    kept[0] += 1
    for i in range(size):
        u, v = src[i], dst[i]
        if counts(status, wanted, i, u, v) and later[v] > core[v] and stamp[v] != kept[0]:
            stamp[v] = kept[0]
            queue[count] = v
            count += 1
    while count > 0:
        seeds, work = reorder(g, core, place, later, kept, queue, buffer, listed, count, work)
        last, work = seek(g, core, place, later, listed, work, seeds)
        if work < 0 or kept[4] <= last:
            return False
        kept[1] += 2
        sift(g, core, place, later, left, mark, kept, listed, last, buffer)
        count = rise(g, core, support, place, later, left, mark, kept, listed, last, buffer, queue)
    return True
