"""Truss numbers on the CPU: supports, peeling, and repair after deletions, over rows in one array.

An edge has a number ``e``, its ends ``low[e] < high[e]``. The row of ``u`` is ``targets[offsets[u] : offsets[u + 1]]``,
ascending; ``edge`` has the numbers of its edges. A triangle of ``e`` is found by a walk through the row of the end with
fewer neighbours, each of which is looked up in the row of the other one by halves.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner, kernel


@inner
def shorter_first(offsets, low, high, e):
    """Return the ends of edge ``e``, that with the shorter row first."""
    u, v = low[e], high[e]
    return (u, v) if offsets[u + 1] - offsets[u] <= offsets[v + 1] - offsets[v] else (v, u)


@inner
def slot_from(targets, begin, end, x):
    """Return the first slot from ``begin`` to ``end`` (exclusive) with a target of at least ``x``."""
    while begin < end:
        middle = (begin + end) >> 1
        if targets[middle] < x:
            begin = middle + 1
        else:
            end = middle
    return begin


@kernel
def count_supports(offsets, targets, edge, marks, support, begin, end):
    """Add to ``support``, ``int32[m]``, 1 for each triangle at all its edges; the middle corner is in a range.

    Corners are ordered by id; ``marks`` is scratch, ``int64[n]``: 0, as it is left.
    """
    for v in range(begin, end):
        first, stop = np.int64(offsets[v]), np.int64(offsets[v + 1])
        middle = slot_from(targets, first, stop, v)
        if middle in (first, stop):
            continue
        for j in range(middle, stop):
            marks[targets[j]] = edge[j] + 1
        for j in range(first, middle):
            u, e = targets[j], edge[j]
            for i in range(slot_from(targets, np.int64(offsets[u]), np.int64(offsets[u + 1]), v + 1), offsets[u + 1]):
                f = marks[targets[i]]
                if f:
                    support[e] += 1
                    support[f - 1] += 1
                    support[edge[i]] += 1
        for j in range(middle, stop):
            marks[targets[j]] = 0


@kernel
def peel(offsets, targets, edge, low, high, support, order, place, start):
    """Replace each ``support`` by the truss number, 2 or more; edges of least support are taken away first.

    ``order`` and ``place``, ``int32[m]``, and ``start``, ``int64[largest support + 2]`` of zeros, are scratch: the
    edges by ascending support, the place of each in that order, and where each support begins.
    """
    m = len(support)
    for e in range(m):
        start[support[e] + 1] += 1
    for s in range(len(start) - 1):
        start[s + 1] += start[s]
    for e in range(m):
        place[e] = start[support[e]]
        order[place[e]] = e
        start[support[e]] += 1
    for s in range(len(start) - 1, 0, -1):
        start[s] = start[s - 1]
    start[0] = 0
    for at in range(m):
        e = order[at]
        least = support[e]
        u, v = shorter_first(offsets, low, high, e)
        j, stop = np.int64(offsets[v]), np.int64(offsets[v + 1])
        for i in range(offsets[u], offsets[u + 1]):
            f, x = edge[i], targets[i]
            if place[f] <= at:
                continue
            j = slot_from(targets, j, stop, x)
            if j == stop:
                break
            if targets[j] != x or place[edge[j]] <= at:
                continue
            for other in (f, edge[j]):
                held = support[other]
                if held > least:  # swapped with the first edge of its support, which then begins one later
                    first = start[held]
                    moved = order[first]
                    order[place[other]], order[first] = moved, other
                    place[moved], place[other] = place[other], first
                    start[held] = first + 1
                    support[other] = held - 1
    for e in range(m):
        support[e] += 2


@kernel
def take_away(offsets, targets, edge, low, high, gone, truss, queue, queued):
    """Set ``truss`` to 0 at the edges ``gone``; queue those that lose a triangle which counted (see :func:`lower`)."""
    m, size = len(truss), 0
    for at in range(len(gone)):
        e = gone[at]
        u, v = shorter_first(offsets, low, high, e)
        j, stop = np.int64(offsets[v]), np.int64(offsets[v + 1])
        for i in range(offsets[u], offsets[u + 1]):
            j = slot_from(targets, j, stop, targets[i])
            if j == stop:
                break
            if targets[j] == targets[i]:
                for other in (edge[i], edge[j]):
                    if truss[other] <= truss[e] and not queued[other]:
                        queue[size], queued[other] = other, True
                        size += 1
        truss[e] = 0
    queue[m] = size


@kernel
def lower(offsets, targets, edge, low, high, truss, counts, queue, queued, most):
    """Lower ``truss``, upper bounds of the truss numbers, until they are these; return the number of edges examined.

    Edges of number 0 are not there. The loop gives up, and returns -1, when more than ``most`` were examined.

    An edge examined takes the largest ``k`` such that in ``k - 2`` of its triangles the others have at least ``k``.
    ``queue`` is ``int32[m + 1]``: the edges to begin with, whose number is ``queue[m]``; ``queued`` is ``bool[m]``,
    true at these, false afterwards; ``counts``, ``int64``, is longer than any truss number.
    """
    m = len(truss)
    head, size, examined = 0, queue[m], 0
    while size:
        e = queue[head]
        head, size, examined = (head + 1) % m, size - 1, examined + 1
        if examined > most:
            return -1
        queued[e] = False
        before = truss[e]
        counts[: before + 1] = 0
        for again in range(2):
            u, v = shorter_first(offsets, low, high, e)
            j, stop = np.int64(offsets[v]), np.int64(offsets[v + 1])
            for i in range(offsets[u], offsets[u + 1]):
                x = targets[i]
                j = slot_from(targets, j, stop, x)
                if j == stop:
                    break
                if targets[j] == x:
                    f, g = edge[i], edge[j]
                    if not again:
                        counts[min(before, min(truss[f], truss[g]))] += 1
                        continue
                    if min(truss[f], truss[g]) > truss[e]:
                        for other in (f, g):
                            if truss[other] <= before and not queued[other]:
                                queue[(head + size) % m] = other
                                queued[other], size = True, size + 1
            if not again:
                k, above = before, counts[before]
                while k > 2 and above < k - 2:
                    k -= 1
                    above += counts[k]
                truss[e] = k
                if k == before:
                    break
    return examined
