"""The loops of :class:`suricate.state.union_find.UnionFind` on the CPU; ``union_find.cu`` is the CUDA twin.

Several threads may unite at once: a root is hooked by compare-and-swap, and what else is written are ancestors.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.atomics import exchange
from suricate.cpu.jit import inner, kernel


@inner
def root_of(parent, x):
    """Return the root of ``x``; halves the path to it, in place."""
    above = parent[x]
    while above != x:
        higher = parent[above]
        parent[x] = higher
        x, above = higher, parent[higher]
    return x


@inner
def unite(parent, u, v):
    """Unite the sets of ``u`` and ``v`` in ``parent``, in place, by hooking the larger root under the smaller.

    Returns whether these were two sets. If both have the same parent, no path is followed.
    """
    return unite_by(parent, u, v, False)


@inner
def unite_by(parent, u, v, alone):
    """Unite the sets of ``u`` and ``v`` in ``parent``, in place; return whether these were two sets.

    ``alone``: no other thread unites meanwhile, so compare-and-swap is not needed.
    """
    if parent[u] == parent[v]:
        return False
    a, b = root_of(parent, np.uint32(u)), root_of(parent, np.uint32(v))
    while a != b:
        low, high = min(a, b), max(a, b)
        if alone:
            parent[high] = low
            return True
        if exchange(parent, high, high, low):
            return True
        a, b = root_of(parent, low), root_of(parent, high)  # somebody else has hooked the larger one
    return False


@kernel
def unite_pairs(parent, src, dst, status, wanted, begin, end):
    """Unite in ``parent``, in place, the sets of ``src[i]`` and ``dst[i]`` for all ``begin <= i < end``.

    Only pairs whose ``status[i]`` is ``wanted`` count, or all if ``status`` is empty. Returns the decrease of the
    number of sets.
    """
    united = 0
    for i in range(begin, end):
        if len(status) == 0 or status[i] == wanted:
            united += unite(parent, src[i], dst[i])
    return united


@kernel
def compress(parent, label, begin, end):
    """Set ``parent[i]`` to the root of ``i``, and ``label[i]`` too, for ``i`` from ``begin`` to ``end`` (exclusive).

    If ``label`` is empty, it is left out. Returns the number of roots. Parents have smaller ids, so most of them are
    compressed already.
    """
    roots = 0
    for i in range(begin, end):
        root = parent[parent[i]]
        while parent[root] != root:
            root = parent[root]
        parent[i] = root
        roots += root == i
        if len(label):
            label[i] = root
    return roots


@kernel
def roots_of(parent, vertices, roots, begin, end):
    """Set ``roots[i]`` to the root of ``vertices[i]``, for ``i`` from ``begin`` to ``end`` (exclusive).

    This halves paths in ``parent``, in place.
    """
    for i in range(begin, end):
        roots[i] = root_of(parent, np.uint32(vertices[i]))


@kernel
def same_component(parent, a, b, same, begin, end):
    """Set ``same[i]`` to whether ``a[i]`` and ``b[i]`` have one root, for ``i`` from ``begin`` to ``end`` (exclusive).

    This halves paths in ``parent``, in place.
    """
    for i in range(begin, end):
        same[i] = root_of(parent, a[i]) == root_of(parent, b[i])
