"""Connected components of a whole graph on the CPU: a template over a cursor; ``afforest.cu`` is the CUDA twin."""

from __future__ import annotations

from suricate.base.types import TOMBSTONE
from suricate.cpu.jit import inner, kernel
from suricate.cursors.bindings import begin, buckets, end, first, following, key, neighbors
from suricate.state.union_find_cpu import unite_by


@inner
def unite_neighbors(g, v, parent, alone):
    """Unite ``v`` with all its neighbours in ``g``; changes ``parent`` in place; ``alone``: no other thread unites."""
    for w, _ in neighbors(g, v):
        unite_by(parent, v, w, alone)


@inner
def unite_first(g, v, parent, count, alone):
    """Unite ``v`` with the first ``count`` neighbours in its first bucket in ``g``; changes ``parent`` in place.

    ``alone``: no other thread unites.
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
    """Set ``parent`` to the root, in place, for the vertices from ``begin_place`` to ``end_place``.

    Parents have smaller ids and mostly come first.
    """
    for v in range(begin_place, end_place):
        root = parent[parent[v]]
        while parent[root] != root:
            root = parent[root]
        parent[v] = root


@kernel
def most_frequent(parent, sample, votes):
    """Return the label that most of ``len(sample)`` vertices, spread evenly, have; of equally frequent the smallest.

    ``parent`` holds the label of each vertex; ``sample`` and ``votes`` (a count per label) are scratch.
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
    """Unite each vertex from ``begin_place`` to ``end_place`` with ``count`` neighbours in ``g``.

    Changes ``parent`` in place; ``alone``: no other thread unites.
    """
    for v in range(begin_place, end_place):
        unite_first(g, v, parent, count, alone)


@kernel
def unite_rest(g, h, both, skips, parent, largest, alone, begin_place, end_place):
    """Unite the ends of all arcs of a range of vertices in ``g``, and with ``both`` in ``h``.

    With ``skips``, vertices in the set of ``largest`` are left out: even if one has joined it in this loop, its arcs
    are visited from their other ends. ``alone``: no other thread unites.
    """
    for v in range(begin_place, end_place):
        if skips and parent[v] == largest:
            continue
        unite_neighbors(g, v, parent, alone)
        if both:
            unite_neighbors(h, v, parent, alone)
