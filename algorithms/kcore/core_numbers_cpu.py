"""Core numbers on the CPU: a template over a cursor, and the specification of ``core_numbers.cu``.

``core``, ``support``, ``place`` and ``later`` are ``uint32[n]``: the numbers, how many neighbours have at least the
vertex's own, its place in the order of its level, and how many neighbours come after it, or at its place: those of
higher levels among them. ``left``, ``stamp``, ``mark``, ``listed`` and the queues are ``uint32[n]``.
``numbers`` are ``core, support, place, later``, and ``arcs`` what ``plain_arcs`` returns. ``kept`` is ``int64[5]``:
epoch of the stamps, number of the last search, greatest place, arcs at the last peel, and a number up to which every
place is greater.
"""

from __future__ import annotations

import numpy as np

from suricate.algorithms.kcore.core_numbers import ORIGIN, PASSES
from suricate.cpu.jit import inner, kernel
from suricate.cursors.bindings import degree, find, neighbors

LAST = 0xFFFFFFFF  #: a place after all others


@inner
def take_away(g, v, core, pos, order, bins):
    """Move each neighbour of ``v`` with more remaining neighbours than ``v`` to the next lower bin.

    ``pos``, ``order`` and ``bins`` are those of :func:`peel`; ``core`` holds remaining neighbours. Returns the support
    of ``v``, and how many of its neighbours come after it.
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
def peel(g, core, support, place, later, pos, order, bins):
    """Compute all core numbers, supports and places in linear time (Batagelj and Zaversnik, 2003).

    ``pos`` and ``order`` are scratch, ``uint32[n]``; ``bins``, ``int64[n + 1]``: where the vertices with each number
    of remaining neighbours begin. Returns the number of arcs.
    """
    n, most, arcs = len(core), 0, 0
    for v in range(n):
        arcs += degree(g, v)
        loop = degree(g, v) > 0 and find(g, np.uint32(v), np.uint32(v)) >= 0
        core[v] = degree(g, v) - loop
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
    """Return whether arc ``i``, from ``u`` to ``v``, has the wanted status and is no self-loop."""
    return (len(status) == 0 or status[i] == wanted) and u != v


@inner
def recount(g, v, core):
    """Return how many neighbours of ``v``, besides itself, have at least its number, and how many a greater one."""
    found, higher, k = 0, 0, core[v]
    for w, _ in neighbors(g, v):
        if w != v:
            found += core[w] >= k
            higher += core[w] > k
    return found, higher


@kernel
def tally(src, dst, status, wanted, size, core, support, place, later, change):
    """Add ``change`` to the support of the ends of arcs, and to ``later``, the neighbours that come after them."""
    for i in range(size):
        u, v = src[i], dst[i]
        if counts(status, wanted, i, u, v) and core[u] >= core[v]:
            support[v] = np.int64(support[v]) + change
            if core[u] > core[v] or place[u] >= place[v]:
                later[v] = np.int64(later[v]) + change


@inner
def withdraw(g, v, before, at, core, support, place, later, queue, count):
    """Lower the support of neighbours that ``v`` supported at number ``before`` and place ``at``, and does not now.

    Queues those that lack support; returns the new length of the queue.
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
    """Lower core numbers after deletions until every vertex has as much support as its number says.

    A vertex is in the queue at most once. One that is lowered gets the last place on its new level.
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
    """Return how many neighbours of ``v`` are at or after place ``at`` of its level, and the least place of these.

    Neighbours on higher levels are all counted; if none on its own level is, the least place is ``LAST``.
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
    """Return the first place from its own on where at most ``core[v]`` neighbours come after ``v``; and their number.

    Returns ``LAST`` if there is no such place.
    """
    at, k = np.int64(place[v]), core[v]
    found, least = comes_after(g, v, core, place, at)
    while found > k and least != LAST:
        at = least + 1
        found, least = comes_after(g, v, core, place, at)
    return at if found <= k else np.int64(LAST), found


@inner
def go_by(g, v, before, core, place, later, queue, count):
    """Count ``v`` for the neighbours that it passes, from place ``before`` on; queue those with too many after them."""
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
    """Move the vertices in ``queue``, which have too many neighbours after them, back until none has.

    Vertices for which there is no place, or that still move after ``PASSES`` rounds plus two per number, become the
    seeds of a search. Returns their number, and the rest of ``work``, a number of arcs to visit, below 0 if exceeded.
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
    """Append to the ``count`` seeds in ``listed`` all other candidates: vertices whose number may rise with theirs.

    Returns the length of the list, and ``work`` less the degrees visited (negative: given up).
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
    """Return how many neighbours of ``v`` have a higher number, or the same and are candidates."""
    found, k = 0, core[v]
    for w, _ in neighbors(g, v):
        found += w != v and (core[w] > k or (core[w] == k and mark[w] == number))
    return found


@inner
def drop(g, v, core, left, mark, number, fewest, queue, count):
    """Subtract ``v`` from the marked neighbours of its level; queue those with ``fewest`` left. Returns the count."""
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
    """Remove the ``listed`` candidates with at most their core number of candidate and higher neighbours (``left``).

    They get the last places on their level, in the order in which they are removed.
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
    """Count ``v`` for the neighbours on the level to which it rises, except those that rise as well."""
    for w, _ in neighbors(g, v):
        if core[w] == core[v] + 1 and mark[w] != risen:
            support[w] += 1


@inner
def rise(g, core, support, place, later, left, mark, kept, listed, last, queue, seeds):
    """Raise the remaining candidates by one. They get the first places on their new level, in the order of a peel.

    Those that then still have too many after them are written to ``seeds``. Returns their number. ``left`` is the
    number of candidate and higher neighbours; see the module for other arrays.
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

    ``arcs`` are the inserted ones, ``numbers`` are changed; ``listed``, ``queue``, ``buffer`` and ``left`` are
    scratch.
    ``marks`` are ``stamp``, ``mark`` and ``kept``; ``mark[v]`` is the number of the last search in which ``v`` was a
    candidate, plus 1 if it rose. Returns whether ``work`` visited arcs were enough; if not, the numbers are
    unspecified.
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
