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


@kernel
def unite(parent, src, dst):
    """Hook the larger root of each pair under the smaller."""
    for i in range(len(src)):
        a, b = root_of(parent, src[i]), root_of(parent, dst[i])
        if a < b:
            parent[b] = a
        else:
            parent[a] = b


@kernel
def compress(parent, label, n):
    """Give each of the first ``n`` elements its root as parent and label; parents have smaller ids and come first."""
    for i in range(n):
        parent[i] = parent[parent[i]]
        label[i] = parent[i]


@kernel
def same_component(parent, a, b, same):
    """Set ``same[i]`` to whether ``a[i]`` and ``b[i]`` have one root."""
    for i in range(len(a)):
        same[i] = root_of(parent, a[i]) == root_of(parent, b[i])
