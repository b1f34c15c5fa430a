"""Core numbers on the CPU: a template over a cursor, and the specification of ``core_numbers.cu``.

``core`` is ``uint32[n]``; ``left``, ``mark``, ``listed`` and the queues are ``int32[n]`` or ``uint32[n]`` scratch. What
is kept between calls is ``kept``, ``int64[1]``: the number of the last search, as ``mark`` has them.
"""

from __future__ import annotations

import numpy as np

from suricate.cursors.bindings import begin, buckets, degree, end, find, first, following, key
from suricate.jit import inner, kernel
from suricate.types import TOMBSTONE


@inner
def take_away(g, v, core, pos, order, bins):
    """Move the neighbours of ``v`` that have more neighbours left than ``v`` one bin down."""
    for b in range(buckets(g, v)):
        c = first(g, v, b)
        while c >= 0:
            for slot in range(begin(g, c), end(g, c)):
                w = key(g, slot)
                if w < TOMBSTONE and core[w] > core[v]:
                    has = core[w]
                    start = bins[has]
                    head, place = order[start], pos[w]
                    if head != w:
                        pos[w], order[place] = start, head
                        pos[head], order[start] = place, w
                    bins[has] += 1
                    core[w] = has - 1
            c = following(g, c)


@kernel
def peel(g, core, pos, order, bins):
    """Compute all core numbers in linear time (Batagelj and Zaversnik, 2003).

    ``pos`` and ``order`` are ``uint32[n]``; ``bins``, ``int64[n + 1]``: where those with so many neighbours left begin.
    """
    n, most = len(core), 0
    for v in range(n):
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
        take_away(g, order[i], core, pos, order, bins)


@inner
def has_at_least(g, v, enough, least, core):
    """Return whether ``enough`` neighbours of ``v``, besides itself, have a number of at least ``least``."""
    found = 0
    for b in range(buckets(g, v)):
        c = first(g, v, b)
        while c >= 0:
            for slot in range(begin(g, c), end(g, c)):
                w = key(g, slot)
                if w < TOMBSTONE and core[w] >= least and w != v:
                    found += 1
                    if found >= enough:
                        return True
            c = following(g, c)
    return found >= enough


@inner
def queue_levels(g, v, above, most, core, stamp, epoch, queue, count):
    """Queue the neighbours of ``v`` whose numbers are above ``above`` and at most ``most``; return the new count."""
    for b in range(buckets(g, v)):
        c = first(g, v, b)
        while c >= 0:
            for slot in range(begin(g, c), end(g, c)):
                w = key(g, slot)
                if w < TOMBSTONE and core[w] > above and core[w] <= most and stamp[w] != epoch:
                    stamp[w] = epoch
                    queue[count] = w
                    count += 1
            c = following(g, c)
    return count


@kernel
def lower(g, src, dst, status, wanted, size, core, stamp, epoch, queue, spare):
    """Lower core numbers after deletions until every vertex has as many supporters as its number says.

    Returns the last epoch of ``stamp``.
    """
    count = 0
    epoch += 1
    for i in range(size):
        u, v = src[i], dst[i]
        if (len(status) == 0 or status[i] == wanted) and u != v and core[u] >= core[v] and stamp[v] != epoch:
            stamp[v] = epoch
            queue[count] = v
            count += 1
    while count > 0:
        epoch += 1
        queued = 0
        for i in range(count):
            v = queue[i]
            k = np.int64(core[v])
            if k == 0 or has_at_least(g, v, k, k, core):
                continue
            now = min(k - 1, np.int64(degree(g, v)))
            core[v] = now
            if stamp[v] != epoch:
                stamp[v] = epoch
                spare[queued] = v
                queued += 1
            queued = queue_levels(g, v, now, k, core, stamp, epoch, spare, queued)
        queue, spare, count = spare, queue, queued
    return epoch


@inner
def count_candidates(g, v, core, mark, number):
    """Return how many neighbours of ``v`` have a higher number, or the same and are candidates."""
    found, k = 0, core[v]
    for b in range(buckets(g, v)):
        c = first(g, v, b)
        while c >= 0:
            for slot in range(begin(g, c), end(g, c)):
                w = key(g, slot)
                if w < TOMBSTONE and w != v and (core[w] > k or (core[w] == k and mark[w] == number + 1)):
                    found += 1
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
                    if left[w] == np.int64(k) + 1:
                        queue[count] = w
                        count += 1
                    left[w] -= 1
            c = following(g, c)
    return count


@inner
def seek(g, core, mark, number, listed, done, limit, queue, count):
    """List the candidates that the ``count`` seeds in ``queue`` lead to, from ``done`` on; return one past the last.

    A result above ``limit`` means that there are too many.
    """
    end_ = done
    i = 0
    while i < count:
        v = queue[i]
        i += 1
        k = np.int64(core[v])
        if not has_at_least(g, v, k + 1, k, core):
            continue
        if end_ >= limit:
            return limit + 1
        mark[v] = number + 1
        listed[end_] = v
        end_ += 1
        count = queue_unseen(g, v, core, mark, number, queue, count)
    return end_


@inner
def queue_unseen(g, v, core, mark, number, queue, count):
    """Queue the neighbours of ``v`` that have its number and were not seen in this search; return the new count."""
    k = core[v]
    for b in range(buckets(g, v)):
        c = first(g, v, b)
        while c >= 0:
            for slot in range(begin(g, c), end(g, c)):
                w = key(g, slot)
                if w < TOMBSTONE and core[w] == k and mark[w] < number:
                    mark[w] = number
                    queue[count] = w
                    count += 1
            c = following(g, c)
    return count


@kernel
def raise_all(g, src, dst, status, wanted, size, core, left, mark, kept, listed, limit, queue):
    """Raise core numbers after insertions: candidates rise by one, and so again until none does.

    Returns whether that could be done with at most ``limit`` candidates; else ``core`` is unspecified.
    """
    number, done, count = kept[0] + 2, 0, 0
    for i in range(size):
        u, v = src[i], dst[i]
        if (len(status) == 0 or status[i] == wanted) and u != v and core[u] >= core[v] and mark[v] < number:
            mark[v] = number
            queue[count] = v
            count += 1
    within = True
    while count > 0:
        last = seek(g, core, mark, number, listed, done, limit, queue, count)
        within = last <= limit
        if not within:
            break
        count = 0
        for i in range(done, last):
            v = listed[i]
            left[v] = count_candidates(g, v, core, mark, number)
            if left[v] <= core[v]:
                queue[count] = v
                count += 1
        i = 0
        while i < count:
            count = drop(g, queue[i], core, left, mark, number, queue, count)
            i += 1
        count = 0
        for i in range(done, last):
            v = listed[i]
            if left[v] > core[v]:
                core[v] += 1
                mark[v] = number + 2
                queue[count] = v
                count += 1
        done = last
        number += 2
    kept[0] = number + 2
    return within
