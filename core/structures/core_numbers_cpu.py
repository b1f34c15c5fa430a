"""Core numbers on the CPU: a template over a cursor, and the specification of ``core_numbers.cu``.

``core`` and ``support`` are ``uint32[n]``: the numbers, and how many neighbours have at least the vertex's own number.
``left``, ``mark``, ``listed`` and the queues are ``uint32[n]``. ``kept[1]`` is the number of the last search.
"""

from __future__ import annotations

import numpy as np

from suricate.cursors.bindings import begin, buckets, degree, end, find, first, following, key
from suricate.jit import inner, kernel
from suricate.types import TOMBSTONE


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
def peel(g, core, support, pos, order, bins):
    """Compute all core numbers in linear time (Batagelj and Zaversnik, 2003), and the support of every vertex.

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
def lower(g, src, dst, status, wanted, size, core, support, stamp, epoch, queue):
    """Lower core numbers after deletions until every vertex has as much support as its number says.

    Everybody is in the queue at most once.
    """
    count = 0
    for i in range(size):
        u, v = src[i], dst[i]
        if counts(status, wanted, i, u, v) and support[v] < core[v] and stamp[v] != epoch:
            stamp[v] = epoch
            queue[count] = v
            count += 1
    while count > 0:
        count -= 1
        v = queue[count]
        before = core[v]
        core[v] = min(np.int64(before) - 1, np.int64(degree(g, v)))
        support[v] = recount(g, v, core)
        if support[v] < core[v]:
            queue[count] = v
            count += 1
        count = withdraw(g, v, before, core, support, queue, count)


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
    """Take away the candidates that cannot have more candidates and higher neighbours than their number says."""
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


@kernel
def raise_all(g, src, dst, status, wanted, size, core, support, left, mark, kept, listed, work, queue):
    """Raise core numbers after insertions: candidates rise by one, and so again until none does.

    ``mark[v]`` is the number of the search that last saw ``v``, plus 1 if it was a candidate, plus 2 if it rose.
    Returns whether looking at ``work`` arcs sufficed; else ``core`` and ``support`` are unspecified.
    """
    number, count = kept[1] + 3, 0
    for i in range(size):
        u, v = src[i], dst[i]
        if counts(status, wanted, i, u, v) and core[u] >= core[v] and support[v] > core[v] and mark[v] < number:
            mark[v] = number
            queue[count] = v
            count += 1
    while count > 0 and work >= 0:
        last, work = seek(g, core, support, mark, number, listed, work, queue, count)
        if work < 0:
            break
        sift(g, core, left, mark, number, listed, last, queue)
        count = 0
        for i in range(last):
            v = listed[i]
            if left[v] > core[v]:
                core[v] += 1
                mark[v] = number + 2
                listed[count] = v
                count += 1
        for i in range(count):
            give_support(g, listed[i], core, support, mark, number + 2)
        number += 3
        risen, count = count, 0
        for i in range(risen):
            v = listed[i]
            if support[v] > core[v]:
                mark[v] = number
                queue[count] = v
                count += 1
    kept[1] = number
    return work >= 0
