"""Generic operations over a cursor on the CPU: a template, and the specification of ``loops.cu``.

``suricate.store.fallbacks`` makes an instance for each cursor (see ``bindings``). ``weights`` is empty where there are
none. Each loop does a part of the work, from entry ``low`` to ``high``.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import kernel
from suricate.cursors.bindings import degree, find, neighbors, weight
from suricate.primitives.located import ABSENT, DUPLICATE, PRESENT


@kernel
def list_degrees(g, vertices, degrees, low, high):
    """Write the out-degrees of ``vertices``, if there are any, else of all."""
    if len(vertices):
        for i in range(low, high):
            degrees[i] = degree(g, vertices[i])
    else:
        for u in range(low, high):
            degrees[u] = degree(g, u)


@kernel
def find_edges(g, src, dst, found, weights, low, high):
    """Look up edges; write whether each is there, and its weight if it is."""
    for i in range(low, high):
        slot = find(g, src[i], dst[i])
        found[i] = slot >= 0
        if slot >= 0 and len(weights):
            weights[i] = weight(g, slot)


@kernel
def locate(g, keys, kind, slot, low, high):
    """Fill in kind and slot (-1 if it is not stored) of each entry of a sorted batch; the last of equal ones counts."""
    for i in range(low, high):
        slot[i] = -1
        if i + 1 < len(keys) and keys[i + 1] == keys[i]:
            kind[i] = DUPLICATE
        else:
            slot[i] = find(g, np.uint32(keys[i] >> np.uint64(32)), np.uint32(keys[i]))
            kind[i] = PRESENT if slot[i] >= 0 else ABSENT


@kernel
def list_edges(g, vertices, offsets, src, dst, weights, low, high):
    """Write the out-edges of ``vertices`` one after the other; those of the i-th begin at ``offsets[i]``."""
    for i in range(low, high):
        u, at = vertices[i], offsets[i]
        for v, slot in neighbors(g, u):
            src[at], dst[at] = u, v
            if len(weights):
                weights[at] = weight(g, slot)
            at += 1
