"""The loops of :class:`suricate.structures.union_find.UnionFind` on the CPU; ``union_find.cu`` is the CUDA twin."""

from __future__ import annotations

from suricate.jit import inner, kernel


@inner
def root_of(parent, x):
    """Return the root of ``x``, halving the path."""
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


@inner
def unite(parent, u, v):
    """Unite the sets of ``u`` and ``v``: hook the larger root under the smaller. Equal parents need no walk."""
    if parent[u] == parent[v]:
        return
    a, b = root_of(parent, u), root_of(parent, v)
    if a < b:
        parent[b] = a
    else:
        parent[a] = b


@kernel
def unite_pairs(parent, src, dst, status, wanted, n):
    """Unite the first ``n`` pairs whose ``status`` is ``wanted`` (an empty ``status``: all of them)."""
    for i in range(n):
        if len(status) == 0 or status[i] == wanted:
            unite(parent, src[i], dst[i])


@kernel
def compress(parent, label, n):
    """Make the root of each of the first ``n`` elements its parent, and its label unless ``label`` is empty.

    Returns the number of roots. Parents have smaller ids, and so come first.
    """
    roots = 0
    for i in range(n):
        root = parent[parent[i]]
        parent[i] = root
        roots += root == i
        if len(label):
            label[i] = root
    return roots


@kernel
def same_component(parent, a, b, same):
    """Set ``same[i]`` to whether ``a[i]`` and ``b[i]`` have one root."""
    for i in range(len(a)):
        same[i] = root_of(parent, a[i]) == root_of(parent, b[i])
