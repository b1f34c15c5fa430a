"""Store operations on the CPU that work over any cursor: a template, and the specification of ``queries.cu``.

``suricate.store.fallbacks`` makes an instance for each cursor (see ``bindings``). ``g`` is the data of the view.
``weights`` is empty if the store has none. Each call does a part of the work: the entries ``low`` to ``high``
(exclusive).
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import kernel
from suricate.cursors.bindings import degree, find, neighbors, weight
from suricate.primitives.located import ABSENT, DUPLICATE, PRESENT


@kernel
def list_degrees(g, vertices, degrees, low, high):
    """Write the out-degrees of ``vertices[low:high]``, of all in order if it is empty, to ``degrees``."""
    if len(vertices):
        for i in range(low, high):
            degrees[i] = degree(g, vertices[i])
    else:
        for u in range(low, high):
            degrees[u] = degree(g, u)


@kernel
def find_edges(g, src, dst, found, weights, low, high):
    """Write whether ``src[i] -> dst[i]`` is stored to ``found[i]``, and its weight to ``weights[i]``."""
    for i in range(low, high):
        slot = find(g, src[i], dst[i])
        found[i] = slot >= 0
        if slot >= 0 and len(weights):
            weights[i] = weight(g, slot)


@kernel
def locate(g, keys, kind, slot, low, high):
    """Look up the entries ``low`` to ``high`` (exclusive) of a sorted batch; write ``kind`` and ``slot`` of each.

    ``keys`` is ``uint64[m]``, ``src << 32 | dst``, ascending. ``kind[i]`` is set to ``PRESENT``, ``ABSENT``, or
    ``DUPLICATE`` if the next key is equal; ``slot[i]`` to the slot of a stored edge, else -1.
    """
    for i in range(low, high):
        slot[i] = -1
        if i + 1 < len(keys) and keys[i + 1] == keys[i]:
            kind[i] = DUPLICATE
        else:
            slot[i] = find(g, np.uint32(keys[i] >> np.uint64(32)), np.uint32(keys[i]))
            kind[i] = PRESENT if slot[i] >= 0 else ABSENT


@kernel
def list_edges(g, vertices, offsets, src, dst, weights, low, high):
    """Write the out-edges of ``vertices[low:high]`` to three arrays; ``offsets`` says where each begins."""
    for i in range(low, high):
        u, at = vertices[i], offsets[i]
        for v, slot in neighbors(g, u):
            src[at], dst[at] = u, v
            if len(weights):
                weights[at] = weight(g, slot)
            at += 1
