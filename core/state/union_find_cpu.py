"""The loops of :class:`suricate.state.union_find.UnionFind` on the CPU; ``union_find.cu`` is the CUDA twin.

``parent`` is ``uint32[]``, the parent of each element. Several threads may unite at once: the parent of a root changes
by compare-and-swap, and other writes replace a parent by one of its ancestors.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.atomics import exchange
from suricate.cpu.jit import inner, kernel


@inner
def root_of(parent, x):
    """Return the root of ``x``, and halve the path to it in ``parent``, in place."""
    above = parent[x]
    while above != x:
        higher = parent[above]
        parent[x] = higher
        x, above = higher, parent[higher]
    return x


@inner
def unite(parent, u, v):
    """Unite the sets of ``u`` and ``v`` in ``parent``, in place; other threads may unite at the same time.

    The larger root gets the smaller one as parent. Returns whether ``u`` and ``v`` were in two sets.
    """
    return unite_by(parent, u, v, False)


@inner
def unite_by(parent, u, v, alone):
    """Unite the sets of ``u`` and ``v``, if ``alone`` without atomics; return whether they were in two sets."""
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

    Only pairs whose ``status[i]`` is ``wanted`` count, or all if ``status`` is empty. Returns by how much the number of
    sets decreased.
    """
    united = 0
    for i in range(begin, end):
        if len(status) == 0 or status[i] == wanted:
            united += unite(parent, src[i], dst[i])
    return united


@kernel
def compress(parent, label, begin, end):
    """Write roots to ``parent[begin:end]``, and to ``label`` unless it is empty; return how many roots are there."""
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
    """Write the roots of ``vertices[begin:end]`` to ``roots``; paths are halved in place."""
    for i in range(begin, end):
        roots[i] = root_of(parent, np.uint32(vertices[i]))


@kernel
def same_component(parent, a, b, same, begin, end):
    """Write whether ``a[i]`` and ``b[i]`` have one root to ``same``; paths are halved in place."""
    for i in range(begin, end):
        same[i] = root_of(parent, a[i]) == root_of(parent, b[i])
