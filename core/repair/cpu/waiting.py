"""The vertices of a repair that wait, in buckets by the multiple of the width that their first keys are below.

Every bucket is a ring of vertices, linked in both directions, so that a vertex moves at once when its value changes.
Vertex ``v`` is entry ``v + 1`` of ``after`` and ``before``, ``uint32[num_vertices + WINDOW + 2]``: 0 if it waits
nowhere. Bucket ``j`` is entry ``num_vertices + 1 + j``; it holds the vertices of multiple ``base + j``, the last one
those beyond.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner
from suricate.repair.cpu.forest_bindings import first_key, load_word

WINDOW = 64  #: buckets, but for the last
FAR = np.int64(1) << np.int64(61)  #: the multiple of everything that is beyond it


@inner
def multiple_of(value, delta):
    """Return the number of the least multiple of ``delta`` that is not below ``value``, within -FAR and FAR."""
    if np.float64(value) >= np.float64(FAR) * np.float64(delta):
        return FAR
    if np.float64(value) <= -np.float64(FAR) * np.float64(delta):
        return -FAR
    whole = np.floor_divide(value, delta)
    return np.int64(whole) + (1 if whole * delta < value else 0)


@inner
def open_buckets(num_vertices, after, before):
    """Make all buckets empty rings."""
    for j in range(WINDOW + 1):
        entry = num_vertices + 1 + j
        after[entry] = before[entry] = entry


@inner
def take_out(v, after, before):
    """Take ``v`` out of its bucket, if it waits."""
    entry = np.int64(v) + 1
    if after[entry]:
        following, preceding = after[entry], before[entry]
        before[following], after[preceding] = preceding, following
        after[entry] = 0


@inner
def put_off(v, multiple, base, num_vertices, after, before):
    """Put ``v`` at the end of the bucket of ``multiple``."""
    take_out(v, after, before)
    j = multiple - base
    ring = num_vertices + 1 + (WINDOW if j >= WINDOW or j < 0 else j)
    entry, last = np.int64(v) + 1, before[ring]
    after[last], before[entry] = entry, last
    after[entry], before[ring] = ring, entry


@inner
def move_window(tree, delta, num_vertices, after, before):
    """Begin the window at the first multiple of those beyond, all other buckets being empty; return it, FAR if none."""
    ring = num_vertices + 1 + WINDOW
    least, entry = FAR, np.int64(after[ring])
    while entry != ring:
        least = min(least, multiple_of(first_key(load_word(tree, np.uint32(entry - 1))), delta))
        entry = np.int64(after[entry])
    entry = np.int64(after[ring])
    while entry != ring:
        following, v = np.int64(after[entry]), np.uint32(entry - 1)
        multiple = multiple_of(first_key(load_word(tree, v)), delta)
        if multiple - least < WINDOW:
            put_off(v, multiple, least, num_vertices, after, before)
        entry = following
    return least


@inner
def empty_buckets(num_vertices, after, before, queue):
    """Take out all vertices that wait, and write them to ``queue``; return how many there were."""
    count = 0
    for j in range(WINDOW + 1):
        ring = np.int64(num_vertices + 1 + j)
        entry = np.int64(after[ring])
        while entry != ring:
            queue[count] = entry - 1
            following = np.int64(after[entry])
            after[entry] = 0
            entry, count = following, count + 1
    return count
