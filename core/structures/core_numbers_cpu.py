"""Core numbers on the CPU: a template over a cursor, and the specification of ``core_numbers.cu``.

``core``, ``support`` and ``place`` are ``uint32[n]``: the numbers, how many neighbours have at least the vertex's own,
and its place in the order of its level. ``left``, ``stamp``, ``mark``, ``listed`` and the queues are ``uint32[n]``.
``kept`` is ``int64[4]``: epoch of the stamps, number of the last search, greatest place, arcs at the last peel.
"""

from __future__ import annotations

import numpy as np

from suricate.cursors.bindings import begin, buckets, degree, end, find, first, following, key
from suricate.jit import inner, kernel
from suricate.structures.core_numbers import PASSES
from suricate.types import TOMBSTONE

LAST = 0xFFFFFFFF  #: a place after all others


@inner
def take_away(g, v, core, pos, order, bins):
    """Move the neighbours of ``v`` that have more neighbours left than ``v`` one bin down; return its support."""
    supporters = 0
    for b in range(buckets(g, v)):
        c = first(g, v, b)
        while c >= 0:
            for slot in range(begin(g, c), end(g, c)):
                w = key(g, slot)
                if w >= TOMBSTONE or core[w] < core[v] or w == v:
                    continue
                supporters += 1
                if core[w] > core[v]:
                    has = core[w]
                    start = bins[has]
                    head, place = order[start], pos[w]
                    if head != w:
                        pos[w], order[place] = start, head
                        pos[head], order[start] = place, w
                    bins[has] += 1
                    core[w] = has - 1
            c = following(g, c)
    return supporters


@kernel
def peel(g, core, support, place, pos, order, bins):
    """Compute all core numbers in linear time (Batagelj and Zaversnik, 2003), and support and place of every vertex.

    Returns the number of arcs.

    ``pos`` and ``order`` are ``uint32[n]``; ``bins``, ``int64[n + 1]``: where those with so many neighbours left begin.
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
        support[order[i]] = take_away(g, order[i], core, pos, order, bins)
        place[order[i]] = i
    return arcs


@inner
def counts(status, wanted, i, u, v):
    """Return whether arc ``i``, from ``u`` to ``v``, is in the list, and no self-loop."""
    return (len(status) == 0 or status[i] == wanted) and u != v


@inner
def recount(g, v, core):
    """Return how many neighbours of ``v``, besides itself, have at least its number."""
    found, k = 0, core[v]
    for b in range(buckets(g, v)):
        c = first(g, v, b)
        while c >= 0:
            for slot in range(begin(g, c), end(g, c)):
                w = key(g, slot)
                found += w < TOMBSTONE and w != v and core[w] >= k
            c = following(g, c)
    return found


@kernel
def tally(src, dst, status, wanted, size, core, support, change):
    """Add ``change`` to the support of the ends of arcs."""
    for i in range(size):
        u, v = src[i], dst[i]
        if counts(status, wanted, i, u, v) and core[u] >= core[v]:
            support[v] += change


@inner
def withdraw(g, v, before, core, support, queue, count):
    """Tell those that ``v``, once of number ``before``, supports no more; queue who lacks support; return the count."""
    now = core[v]
    for b in range(buckets(g, v)):
        c = first(g, v, b)
        while c >= 0:
            for slot in range(begin(g, c), end(g, c)):
                w = key(g, slot)
                if w < TOMBSTONE and w != v and core[w] > now and core[w] <= before:
                    if support[w] == core[w]:
                        queue[count] = w
                        count += 1
                    support[w] -= 1
            c = following(g, c)
    return count


@kernel
def lower(g, src, dst, status, wanted, size, core, support, place, stamp, kept, queue):
    """Lower core numbers after deletions until every vertex has as much support as their number says.

    Everybody is in the queue at most once. Who is lowered comes last on its new level.
    """
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
        before = core[v]
        core[v] = min(np.int64(before) - 1, np.int64(degree(g, v)))
        kept[2] += 1
        place[v] = kept[2]
        support[v] = recount(g, v, core)
        if support[v] < core[v]:
            queue[count] = v
            count += 1
        count = withdraw(g, v, before, core, support, queue, count)


@inner
def later_ones(g, v, core, place, at):
    """Return how many neighbours of ``v`` come after place ``at`` of its level, or at it, and the least place of them.

    All that are on higher levels come after it; without any on its own the least place is ``LAST``.
    """
    found, least, k = 0, np.int64(LAST), core[v]
    for b in range(buckets(g, v)):
        c = first(g, v, b)
        while c >= 0:
            for slot in range(begin(g, c), end(g, c)):
                w = key(g, slot)
                if w < TOMBSTONE and w != v and core[w] >= k:
                    if core[w] > k:
                        found += 1
                    elif place[w] >= at:
                        found += 1
                        least = min(least, np.int64(place[w]))
            c = following(g, c)
    return found, least


@inner
def queue_between(g, v, k, before, now, core, place, stamp, epoch, queue, count):
    """Queue the neighbours of ``v`` on level ``k`` at places above ``before``, up to ``now``; return the new count."""
    for b in range(buckets(g, v)):
        c = first(g, v, b)
        while c >= 0:
            for slot in range(begin(g, c), end(g, c)):
                w = key(g, slot)
                if w < TOMBSTONE and core[w] == k and place[w] > before and place[w] <= now and stamp[w] != epoch:
                    stamp[w] = epoch
                    queue[count] = w
                    count += 1
            c = following(g, c)
    return count


@inner
def move_back(g, v, core, place):
    """Return the first place, from its own on, where at most ``core[v]`` neighbours come after ``v``, or ``LAST``."""
    at, k = np.int64(place[v]), core[v]
    found, least = later_ones(g, v, core, place, at)
    while found > k and least != LAST:
        at = least + 1
        found, least = later_ones(g, v, core, place, at)
    return at if found <= k else np.int64(LAST)


@inner
def reorder(g, core, place, stamp, mark, number, kept, queue, spare, seeds, count, work):
    """Move vertices in ``queue`` back until no more neighbours come after them than their number says.

    Who is passed by that is queued. Those that no place suits, and those that still want to move after ``PASSES``
    rounds and two per number, are the seeds of a search. Returns how many they are, and what is left of ``work``.
    """
    num_seeds, passes = 0, 0
    while count > 0 and work >= 0:
        kept[0] += 1
        passes += 1
        queued = 0
        for i in range(count):
            v = queue[i]
            work -= np.int64(degree(g, v))
            before, now = np.int64(place[v]), move_back(g, v, core, place)
            if now == before:
                continue
            if now < LAST and passes <= PASSES + 2 * np.int64(core[v]):
                place[v] = now
                kept[2] = max(kept[2], now)
                queued = queue_between(g, v, core[v], before, now, core, place, stamp, kept[0], spare, queued)
            elif mark[v] < number:
                mark[v] = number
                seeds[num_seeds] = v
                num_seeds += 1
        queue, spare, count = spare, queue, queued
    return num_seeds, work


@inner
def queue_unseen(g, v, core, support, mark, number, queue, count):
    """Queue the neighbours on the level of ``v`` that have support to spare and are not seen yet; return the count."""
    k = core[v]
    for b in range(buckets(g, v)):
        c = first(g, v, b)
        while c >= 0:
            for slot in range(begin(g, c), end(g, c)):
                w = key(g, slot)
                if w < TOMBSTONE and core[w] == k and support[w] > k and mark[w] < number:
                    mark[w] = number
                    queue[count] = w
                    count += 1
            c = following(g, c)
    return count


@inner
def may_rise(g, v, core, support):
    """Return whether more neighbours than ``v``'s number says are higher, or as high with support to spare."""
    found, k = 0, core[v]
    for b in range(buckets(g, v)):
        c = first(g, v, b)
        while c >= 0:
            for slot in range(begin(g, c), end(g, c)):
                w = key(g, slot)
                found += w < TOMBSTONE and w != v and core[w] >= k and (core[w] > k or support[w] > k)
                if found > k:
                    return True
            c = following(g, c)
    return False


@inner
def seek(g, core, support, mark, number, listed, work, queue, count):
    """List the candidates that the seeds in ``queue`` lead to.

    Returns how many they are, and what is left of ``work``, a number of arcs: below 0 if there was too much.
    """
    i, done = 0, 0
    while i < count and work >= 0:
        v = queue[i]
        i += 1
        work -= np.int64(degree(g, v))
        if may_rise(g, v, core, support):
            mark[v] = number + 1
            listed[done] = v
            done += 1
            count = queue_unseen(g, v, core, support, mark, number, queue, count)
    return done, work


@inner
def count_candidates(g, v, core, mark, number):
    """Return how many neighbours of ``v`` have a higher number, or the same and are candidates."""
    found, k = 0, core[v]
    for b in range(buckets(g, v)):
        c = first(g, v, b)
        while c >= 0:
            for slot in range(begin(g, c), end(g, c)):
                w = key(g, slot)
                found += w < TOMBSTONE and w != v and (core[w] > k or (core[w] == k and mark[w] == number + 1))
            c = following(g, c)
    return found


@inner
def drop(g, v, core, left, mark, number, queue, count):
    """Tell the candidates next to ``v``, which is none any more; queue those that are none now; return the count."""
    k = core[v]
    for b in range(buckets(g, v)):
        c = first(g, v, b)
        while c >= 0:
            for slot in range(begin(g, c), end(g, c)):
                w = key(g, slot)
                if w < TOMBSTONE and w != v and core[w] == k and mark[w] == number + 1:
                    if left[w] == k + 1:
                        queue[count] = w
                        count += 1
                    left[w] -= 1
            c = following(g, c)
    return count


@inner
def sift(g, core, left, mark, number, listed, last, queue):
    """Take away the candidates that cannot have more candidates and higher neighbours than their number says.

    Returns how many they are; ``queue`` has them in the order in which they went.
    """
    count = 0
    for i in range(last):
        v = listed[i]
        left[v] = count_candidates(g, v, core, mark, number)
        if left[v] <= core[v]:
            queue[count] = v
            count += 1
    i = 0
    while i < count:
        count = drop(g, queue[i], core, left, mark, number, queue, count)
        i += 1
    return count


@inner
def give_support(g, v, core, support, mark, risen):
    """Count the support of ``v``, which has risen, and add it to that of those on its new level that have not."""
    found, k = 0, core[v]
    for b in range(buckets(g, v)):
        c = first(g, v, b)
        while c >= 0:
            for slot in range(begin(g, c), end(g, c)):
                w = key(g, slot)
                if w < TOMBSTONE and w != v and core[w] >= k:
                    found += 1
                    if core[w] == k and mark[w] != risen:
                        support[w] += 1
            c = following(g, c)
    support[v] = found


@inner
def rise(core, place, left, mark, number, listed, last):
    """Raise what is left of the candidates, first on its new level; return how many, now first in ``listed``."""
    risen = 0
    for i in range(last):
        v = listed[i]
        if left[v] > core[v]:
            left[v], place[v] = place[v], 0
            core[v] += 1
            mark[v] = number + 2
            listed[risen] = v
            risen += 1
    return risen


@inner
def move_last(vertices, count, wanted, place, left, mark, kept):
    """Move those of ``vertices`` with this mark to the end of their level; ``left`` keeps their old places."""
    for i in range(count):
        v = vertices[i]
        if mark[v] == wanted:
            kept[2] += 1
            left[v], place[v] = place[v], kept[2]


@inner
def queue_passed(g, vertices, count, wanted, core, place, left, mark, stamp, epoch, queue, queued):
    """Queue the neighbours that those of ``vertices`` with this mark passed by moving last; return the new count."""
    for i in range(count):
        v = vertices[i]
        if mark[v] == wanted:
            queued = queue_between(g, v, core[v], left[v], LAST, core, place, stamp, epoch, queue, queued)
    return queued


@inner
def queue_risen(g, vertices, count, core, place, left, stamp, epoch, queue, queued):
    """Queue those that rose, those that come after them now on their old level, and those at the same place of the new.

    Returns the new count.
    """
    for i in range(count):
        v = vertices[i]
        if stamp[v] != epoch:
            stamp[v] = epoch
            queue[queued] = v
            queued += 1
        queued = queue_between(g, v, core[v] - 1, left[v], LAST, core, place, stamp, epoch, queue, queued)
        queued = queue_between(g, v, core[v], np.int64(-1), 0, core, place, stamp, epoch, queue, queued)
    return queued


@kernel
def raise_all(g, src, dst, status, wanted, size, core, support, place, left, stamp, mark, kept, listed, work, queue,
              spare, more):  # fmt: skip
    """Raise core numbers after insertions: candidates rise by one, and so again until none does.

    ``mark[v]`` is the number of the search that last saw ``v``, plus 1 if it was a candidate, plus 2 if it rose.
    Returns whether looking at ``work`` arcs sufficed; else ``core``, ``support`` and ``place`` are unspecified.
    """
    count = 0
    kept[0] += 1
    for i in range(size):
        u, v = src[i], dst[i]
        after = core[u] > core[v] or (core[u] == core[v] and place[u] >= place[v])
        if counts(status, wanted, i, u, v) and after and stamp[v] != kept[0]:
            stamp[v] = kept[0]
            queue[count] = v
            count += 1
    while count > 0:
        kept[1] += 3
        number = kept[1]
        seeds, work = reorder(g, core, place, stamp, mark, number, kept, queue, spare, listed, count, work)
        for i in range(seeds):
            queue[i] = listed[i]
        last, work = seek(g, core, support, mark, number, listed, work, queue, seeds)
        if work < 0:
            return False
        gone = sift(g, core, left, mark, number, listed, last, spare)
        risen = rise(core, place, left, mark, number, listed, last)
        move_last(queue, seeds, number, place, left, mark, kept)
        move_last(spare, gone, number + 1, place, left, mark, kept)
        for i in range(risen):
            give_support(g, listed[i], core, support, mark, number + 2)
        kept[0] += 1
        count = queue_passed(g, queue, seeds, number, core, place, left, mark, stamp, kept[0], more, 0)
        count = queue_passed(g, spare, gone, number + 1, core, place, left, mark, stamp, kept[0], more, count)
        count = queue_risen(g, listed, risen, core, place, left, stamp, kept[0], more, count)
        queue, more = more, queue
    return True
