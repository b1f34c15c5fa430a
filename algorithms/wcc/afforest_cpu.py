"""Connected components of a whole graph on the CPU: a template over a cursor; ``afforest.cu`` is the CUDA twin."""

from __future__ import annotations

from suricate.base.types import TOMBSTONE
from suricate.kernels import begin, buckets, end, first, following, inner, kernel, key, neighbors
from suricate.state.union_find_cpu import unite_by


@inner
def unite_neighbors(g, v, parent, alone):
    """Unite ``v`` with all its neighbours in ``g``, in the union-find array ``parent``, in place.

    ``alone``: True if no other thread unites at the same time, so that plain writes suffice.
    """
    for w, _ in neighbors(g, v):
        unite_by(parent, v, w, alone)


@inner
def unite_first(g, v, parent, count, alone):
    """Unite ``v`` with the first ``count`` neighbours in its first bucket in ``g``; changes ``parent`` in place.

    ``alone``: True if no other thread unites at the same time.
    """
    if buckets(g, v) == 0:
        return
    c = first(g, v, 0)
    while c >= 0 and count > 0:
        for slot in range(begin(g, c), end(g, c)):
            w = key(g, slot)
            if w < TOMBSTONE:
                unite_by(parent, v, w, alone)
                count -= 1
                if count == 0:
                    break
        c = following(g, c)


@kernel
def flatten(parent, begin_place, end_place):
    """Set ``parent[v]`` to the root of ``v``, in place, for each ``v`` from ``begin_place`` on, below ``end_place``."""
    for v in range(begin_place, end_place):
        root = parent[parent[v]]
        while parent[root] != root:
            root = parent[root]
        parent[v] = root


@kernel
def most_frequent(parent, sample, votes):
    """Return the most frequent label in a sample of ``len(sample)`` vertices, evenly spread.

    Of equally frequent labels it is the smallest. ``parent`` holds the label of each vertex; ``sample`` and ``votes``
    (``uint32[n]``, a count per label) are scratch.
    """
    size = len(sample)
    best, most = parent[0], -1
    for i in range(size):
        sample[i] = parent[i * len(parent) // size]
        votes[sample[i]] = 0
    for i in range(size):
        label = sample[i]
        votes[label] += 1
        if votes[label] > most or (votes[label] == most and label < best):
            best, most = label, votes[label]
    return best


@kernel
def unite_some(g, parent, count, alone, begin_place, end_place):
    """Unite each vertex from ``begin_place`` on, below ``end_place``, with its first ``count`` neighbours in ``g``.

    Changes ``parent``, the union-find array, in place. ``alone``: True if no other thread unites at the same time.
    """
    for v in range(begin_place, end_place):
        unite_first(g, v, parent, count, alone)


@kernel
def unite_rest(g, h, both, skips, parent, largest, alone, begin_place, end_place):
    """Unite each vertex from ``begin_place`` on, below ``end_place``, with all its neighbours in ``g``.

    With ``both`` also with those in ``h``: ``g`` and ``h`` are the views of the out-edges and the in-edges. Changes
    ``parent``, the union-find array, in place. With ``skips``, vertices whose entry in ``parent`` is ``largest`` (the
    root of the largest set) are left out: even if one has joined that set during this loop, its arcs are visited from
    their other ends. ``alone``: True if no other thread unites.
    """
    for v in range(begin_place, end_place):
        if skips and parent[v] == largest:
            continue
        unite_neighbors(g, v, parent, alone)
        if both:
            unite_neighbors(h, v, parent, alone)
