"""Connected components of a whole graph on the CPU: a template over a cursor; ``afforest.cu`` is the CUDA twin."""

from __future__ import annotations

import numpy as np

from suricate.base.types import TOMBSTONE
from suricate.cpu.jit import inner, kernel
from suricate.cursors.bindings import begin, buckets, end, first, following, key, neighbors
from suricate.state.union_find_cpu import unite


@inner
def unite_neighbors(g, v, parent):
    """Unite ``v`` with all its neighbours in ``g``."""
    for w, _ in neighbors(g, v):
        unite(parent, v, w)


@inner
def some_neighbor(g, v, place):
    """Return the neighbour of ``v`` at ``place``, from 0, in the first bucket; its first neighbour if it has fewer."""
    if buckets(g, v) == 0:
        return np.uint32(v)
    found, seen = np.uint32(v), 0
    c = first(g, v, 0)
    while c >= 0:
        for slot in range(begin(g, c), end(g, c)):
            w = key(g, slot)
            if w < TOMBSTONE:
                if seen == place:
                    return w
                found = found if seen else w
                seen += 1
        c = following(g, c)
    return found


@kernel
def flatten(parent, begin_place, end_place):
    """Make the root of every element of a range its parent: parents have smaller ids and mostly come first."""
    for v in range(begin_place, end_place):
        root = parent[parent[v]]
        while parent[root] != root:
            root = parent[root]
        parent[v] = root


@kernel
def most_frequent(parent, sample, votes):
    """Return the label that most of ``len(sample)`` vertices, spread evenly, have; of equally frequent the smallest."""
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
def unite_some(g, parent, place, begin_place, end_place):
    """Unite each vertex of a range with its neighbour at ``place``."""
    for v in range(begin_place, end_place):
        unite(parent, v, some_neighbor(g, v, place))


@kernel
def unite_rest(g, h, both, skips, parent, largest, begin_place, end_place):
    """Unite the ends of all arcs of the vertices of a range, but with ``skips`` of those in the set of ``largest``.

    A vertex in that set may have joined it in this loop: all the same its arcs are seen from their other ends.
    """
    for v in range(begin_place, end_place):
        if skips and parent[v] == largest:
            continue
        unite_neighbors(g, v, parent)
        if both:
            unite_neighbors(h, v, parent)
