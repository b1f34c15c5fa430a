"""The pending vertices of a repair, in buckets by their first key: bucket k begins k widths above an origin.

A bucket is a list of vertices in order of arrival. A vertex that moves to another bucket is only appended there, and
its entry in the old bucket becomes invalid. So a vertex has one valid entry, and lists are written and read
sequentially. The last bucket has all keys above the others. A list consists of chunks of ``CHUNK`` entries. In the
functions ``w`` is a :class:`Waiting`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suricate.cpu.jit import inner

WINDOW = 64  #: buckets, but for the last
CHUNK = 64  #: vertices of a chunk
FREED, UNUSED, LEFT = 0, 1, 2


class Waiting(NamedTuple):
    """The arrays of all buckets; int64 unless said otherwise. An index of ``who`` is called a place.

    Attributes:
        where: ``uint8[num_vertices]``: 1 more than the bucket that a vertex waits in, 0 if it waits in none.
        who: ``uint32[chunks * CHUNK]``: the entries of all chunks, vertices.
        rest: by chunk: the next chunk of its list, -1 if there is none.
        firsts: by bucket: its first chunk, -1 if it is empty.
        ends: by bucket: the place after its last entry.
        supply: ``supply[FREED]``: the first freed chunk, linked to others by ``rest``; ``supply[UNUSED]``: the first
            chunk never used; ``supply[LEFT]``: the number of free chunks of both kinds.
    """

    where: np.ndarray
    who: np.ndarray
    rest: np.ndarray
    firsts: np.ndarray
    ends: np.ndarray
    supply: np.ndarray


def chunks_for(num_vertices: int) -> int:
    """Return how many chunks suffice for an entry per vertex, and for the entries that one vertex's push can add."""
    return 2 * (num_vertices // CHUNK + WINDOW + 2)


@inner
def bucket_of(value, origin, inverse):
    """Return the bucket of the first key ``value``: the last one that begins at or below it."""
    place = (np.float64(value) - origin) * inverse
    return np.int64(place) if place < WINDOW else np.int64(WINDOW)


@inner
def open_buckets(w):
    """Make all buckets of ``w`` empty and all chunks free."""
    w.firsts[:] = -1
    w.ends[:] = 0
    w.supply[FREED], w.supply[UNUSED], w.supply[LEFT] = -1, 0, len(w.who) // CHUNK


@inner
def chunk_behind(w, j):
    """Append a free chunk to the list of bucket ``j``; return the place of its first entry in ``w.who``."""
    c = w.supply[FREED]
    if c >= 0:
        w.supply[FREED] = w.rest[c]
    else:
        c = w.supply[UNUSED]
        w.supply[UNUSED] = c + 1
    w.supply[LEFT] -= 1
    if w.firsts[j] < 0:
        w.firsts[j] = c
    else:
        w.rest[w.ends[j] // CHUNK - 1] = c
    w.rest[c] = -1
    return c * CHUNK


@inner
def put_off(w, v, j):
    """Move ``v`` to bucket ``j``: append an entry there; an older entry in another bucket becomes invalid."""
    if w.where[v] == j + 1:
        return
    w.where[v] = j + 1
    at = w.ends[j]
    if at % CHUNK == 0:
        at = chunk_behind(w, j)
    w.who[np.uint64(at)] = v
    w.ends[j] = at + 1


@inner
def detach(w, j):
    """Detach the list of bucket ``j``, leaving it empty; return its first chunk and the place after its last entry."""
    first, stop = w.firsts[j], w.ends[j]
    w.firsts[j], w.ends[j] = -1, 0
    return first, stop


@inner
def give_back(w, c):
    """Add chunk ``c`` to the free chunks of ``w``."""
    w.rest[c], w.supply[FREED] = w.supply[FREED], c
    w.supply[LEFT] += 1


@inner
def take_out(w, c, i, stop, j, queue, count):
    """Append the vertices of a detached list of bucket ``j`` to ``queue``, from entry ``i`` of chunk ``c`` on.

    ``stop`` is the place after the last entry of the list. Invalid entries are skipped. The vertices no longer wait.
    ``count`` is the length of ``queue`` before; returns its length afterwards.
    """
    while c >= 0:
        last = CHUNK if w.rest[c] >= 0 else stop - c * CHUNK
        while i < last:
            v = w.who[c * CHUNK + i]
            if w.where[v] == j + 1:
                w.where[v] = 0
                queue[count] = v
                count += 1
            i += 1
        c, i = w.rest[c], 0
    return count


@inner
def empty_buckets(w, queue, count):
    """Append all waiting vertices to ``queue`` and return its length; the lists need :func:`open_buckets` then."""
    for j in range(WINDOW + 1):
        count = take_out(w, w.firsts[j], 0, w.ends[j], j, queue, count)
    return count
