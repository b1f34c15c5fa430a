"""The steps of random walks in time."""

from __future__ import annotations

import math

import numpy as np

from suricate.algorithms.time.limits import TRIES
from suricate.cpu.jit import inner, kernel
from suricate.edgefn.runtime import mixed_bits

UNIFORM, LINEAR = range(2)  #: kinds of bias; others are exponential
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


@inner
def below(bits, n):
    """Return ``bits * n >> 64``, which is uniform below ``n`` if the 64 ``bits`` are random; all ``uint64``."""
    high, low = bits >> _HALF, bits & _LOW
    above, under = n >> _HALF, n & _LOW
    cross = high * under + (low * under >> _HALF)
    middle = low * above + (cross & _LOW)
    return high * above + (cross >> _HALF) + (middle >> _HALF)


@inner
def drawn(bits, c, kind, thresholds):
    """Return a rank below ``c``, drawn with 64 random ``bits`` by the bias ``kind``; see ``temporal_walks``."""
    if kind == UNIFORM:
        return np.int64(below(bits, np.uint64(c)))
    if kind == LINEAR:
        x = np.int64(below(bits, np.uint64(c * (c + 1) // 2)))
        j = np.int64(math.sqrt(2.0 * x + 0.25) - 0.5)
        while j * (j + 1) // 2 > x:
            j -= 1
        while (j + 1) * (j + 2) // 2 <= x:
            j += 1
        return c - 1 - j
    x, i = below(bits, thresholds[min(c, len(thresholds)) - 1]), 0
    while thresholds[i] <= x:
        i += 1
    return np.int64(i)


@inner
def place_of(rows, slot, first):
    """Return the number of the event in a ``slot`` less that of the oldest one, ``first``; slots have the low bits."""
    return (np.int64(rows.number[slot]) - first) & 0xFFFFFFFF


@inner
def first_later(rows, v, time, first, now, through):
    """Return the first slot in the row of ``v`` of an event later than ``now``; ``through``: or as late."""
    low, high, mask = rows.begin[v], rows.end[v], len(time) - 1
    while low < high:
        middle = (low + high) >> 1
        at = time[(first + place_of(rows, middle, first)) & mask]
        if at < now or (at == now and not through):
            low = middle + 1
        else:
            high = middle
    return low


@inner
def chosen(rows, low, count, first, last, key, step, kind, thresholds):
    """Return the slot drawn of ``count`` slots from ``low`` on, of which one may have the event ``last``; -1: none.

    ``last`` is the number less ``first`` of the event of the step before, which is not taken again.
    """
    for attempt in range(TRIES):
        slot = low + drawn(np.uint64(mixed_bits(key, step, attempt)), count, kind, thresholds)
        if place_of(rows, slot, first) != last:
            return slot
        if count == 1:
            return np.int64(-1)
    return slot + 1 if slot + 1 < low + count else slot - 1


@kernel
def walk(rows, time, first, keys, kind, through, thresholds, vertex, event, when):
    """Walk from the vertices ``vertex[:, 0]``.

    Args:
        rows: the events that vertices send, ``Rows``.
        time: int64[2^k], the times of a log, event n at ``n & (2^k - 1)``.
        first: the number of the oldest event.
        keys: int64[walks], hashes of the walks: step s draws with ``su.mixed(key, s, attempt)``.
        kind, thresholds: the bias.
        through: whether a step can take another event of the same time.
        vertex, event, when: the ``Walks``, written up to the ends of walks.
    """
    mask = len(time) - 1
    for i in range(len(keys)):
        last = np.int64(-1)
        for step in range(event.shape[1]):
            v = vertex[i, step]
            low = rows.begin[v] if step == 0 else first_later(rows, v, time, first, when[i, step - 1], through)
            if low == rows.end[v]:
                break
            slot = chosen(rows, low, rows.end[v] - low, first, last, keys[i], step, kind, thresholds)
            if slot < 0:
                break
            last = place_of(rows, slot, first)
            vertex[i, step + 1], event[i, step], when[i, step] = (
                rows.other[slot],
                first + last,
                time[(first + last) & mask],
            )
