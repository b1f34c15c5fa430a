"""Sampled neighbours on the CPU: a template. What it imports from ``suricate.kernels`` is taken from a cursor."""

from __future__ import annotations

import numpy as np

from suricate.edgefn.runtime import next_bits
from suricate.kernels import kernel, neighbors


@kernel
def smallest(g, vertices, keys, ends, hashes, found, low, high):
    """Write the neighbours with the smallest hashes of ``vertices[low:high]`` to ``found``, in that order.

    Args:
        g: the view.
        vertices, keys: ``uint32[n]`` and ``uint64[n]``; a neighbour's hash follows from the key and its id.
        ends: ``int64[n]``: where the list of each vertex ends in ``found``; it begins where the one before it ends, and
            has no more places than the vertex has neighbours.
        hashes, found: ``uint64`` and ``uint32``, written.
        low, high: the range of vertices.
    """
    for i in range(low, high):
        u = vertices[i]
        start = ends[i - 1] if i else np.int64(0)
        place = start
        for v, _ in neighbors(g, u):
            bits = next_bits(keys[i] ^ np.uint64(v))
            if place < ends[i] or bits < hashes[place - 1]:
                at = place if place < ends[i] else place - 1
                while at > start and hashes[at - 1] > bits:
                    hashes[at], found[at] = hashes[at - 1], found[at - 1]
                    at -= 1
                hashes[at], found[at] = bits, v
                place = min(place + 1, ends[i])
