"""The vertices of a repair that wait, in buckets by how many widths their first keys are above an origin.

A bucket is a list of vertices in the order in which they came. ``where[v]``, ``uint8[num_vertices]``, is 1 more than
the bucket that ``v`` waits in, and 0 if it waits nowhere: a vertex that moves to another bucket is only appended there,
and its entry in the old one no longer counts. So a vertex has one entry that counts, and lists are written and read in
a row. The last bucket holds what is beyond the others.

A list consists of chunks of ``who``, ``uint32[chunks * CHUNK]``. ``rest[c]`` is the chunk behind chunk ``c``, -1 if
there is none; ``firsts[j]`` is the first chunk of bucket ``j``, -1 if it is empty, and ``ends[j]`` the place behind its
last entry. Chunks that were used and are free are linked from ``supply[FREED]``; those from ``supply[UNUSED]`` on never
were used; ``supply[LEFT]`` is the number of both. All of these are int64.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner

WINDOW = 64  #: buckets, but for the last
CHUNK = 64  #: vertices of a chunk
FREED, UNUSED, LEFT = 0, 1, 2


def chunks_for(num_vertices: int) -> int:
    """Return how many chunks suffice for all vertices, and for what one of them may add."""
    return 2 * (num_vertices // CHUNK + WINDOW + 2)


@inner
def bucket_of(value, origin, inverse):
    """Return the bucket of a first key; ``inverse`` is 1 / width."""
    place = (np.float64(value) - origin) * inverse
    return np.int64(place) if place < WINDOW else np.int64(WINDOW)


@inner
def open_buckets(who, firsts, ends, supply):
    """Make all buckets empty."""
    firsts[:] = -1
    ends[:] = 0
    supply[FREED], supply[UNUSED], supply[LEFT] = -1, 0, len(who) // CHUNK


@inner
def chunk_behind(j, who, rest, firsts, ends, supply):
    """Append a chunk to bucket ``j``; return its first place."""
    c = supply[FREED]
    if c >= 0:
        supply[FREED] = rest[c]
    else:
        c = supply[UNUSED]
        supply[UNUSED] = c + 1
    supply[LEFT] -= 1
    if firsts[j] < 0:
        firsts[j] = c
    else:
        rest[ends[j] // CHUNK - 1] = c
    rest[c] = -1
    return c * CHUNK


@inner
def put_off(v, j, where, who, rest, firsts, ends, supply):
    """Let ``v`` wait in bucket ``j``, and in no other."""
    if where[v] == j + 1:
        return
    where[v] = j + 1
    at = ends[j]
    if at % CHUNK == 0:
        at = chunk_behind(j, who, rest, firsts, ends, supply)
    who[np.uint64(at)] = v
    ends[j] = at + 1


@inner
def detach(j, firsts, ends):
    """Make bucket ``j`` empty; return its first chunk and the place behind its last entry."""
    first, stop = firsts[j], ends[j]
    firsts[j], ends[j] = -1, 0
    return first, stop


@inner
def give_back(c, rest, supply):
    """Add chunk ``c`` to the free ones."""
    rest[c], supply[FREED] = supply[FREED], c
    supply[LEFT] += 1


@inner
def take_out(c, i, stop, j, where, who, rest, queue, count):
    """Take out what waits in a detached list of bucket ``j`` from entry ``i`` of chunk ``c`` on, and queue it.

    Returns the queue's length.
    """
    while c >= 0:
        last = CHUNK if rest[c] >= 0 else stop - c * CHUNK
        while i < last:
            v = who[c * CHUNK + i]
            if where[v] == j + 1:
                where[v] = 0
                queue[count] = v
                count += 1
            i += 1
        c, i = rest[c], 0
    return count


@inner
def empty_buckets(where, who, rest, firsts, ends, queue, count):
    """Take out all vertices that wait, and queue them; return the queue's length."""
    for j in range(WINDOW + 1):
        count = take_out(firsts[j], 0, ends[j], j, where, who, rest, queue, count)
    return count
