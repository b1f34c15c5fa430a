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
    """Write the out-degrees of ``vertices[low:high]`` to ``degrees[low:high]``.

    If ``vertices`` is empty, write those of the vertices from ``low`` to ``high`` of the view ``g``.
    """
    if len(vertices):
        for i in range(low, high):
            degrees[i] = degree(g, vertices[i])
    else:
        for u in range(low, high):
            degrees[u] = degree(g, u)


@kernel
def find_edges(g, src, dst, found, weights, low, high):
    """Look up the edges ``src[i]`` to ``dst[i]`` for i from ``low`` to ``high``, in the view ``g``.

    ``found[i]`` becomes whether the edge is stored, and ``weights[i]`` its weight if it is.
    """
    for i in range(low, high):
        slot = find(g, src[i], dst[i])
        found[i] = slot >= 0
        if slot >= 0 and len(weights):
            weights[i] = weight(g, slot)


@kernel
def locate(g, keys, kind, slot, low, high):
    """Write ``kind`` and ``slot`` (-1: not stored) of the entries ``low`` to ``high`` of a batch sorted by ``keys``.

    ``keys`` is ``uint64[m]``, ``src << 32 | dst``; the view ``g`` is searched. Of equal keys the last counts; the
    others get the kind ``DUPLICATE``.
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
    """Write the out-edges of ``vertices[low:high]`` in the view ``g`` to ``src``, ``dst`` and ``weights``.

    Those of ``vertices[i]`` begin at ``offsets[i]`` in each of the three arrays.
    """
    for i in range(low, high):
        u, at = vertices[i], offsets[i]
        for v, slot in neighbors(g, u):
            src[at], dst[at] = u, v
            if len(weights):
                weights[at] = weight(g, slot)
            at += 1
