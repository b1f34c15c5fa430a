"""Cursor of ``blocked`` for Numba: spans and segments are blocks."""

from __future__ import annotations

import numpy as np

from suricate.backends.blocked.loops import NO_BLOCK, degree, first_block  # noqa: F401 - of this cursor, too
from suricate.backends.blocked.loops import scan as find  # noqa: F401
from suricate.cpu.jit import inner
from suricate.cpu.prefetch import prefetch
from suricate.cursors.contiguous import key, later, weight  # noqa: F401 - of this cursor, too


@inner
def ahead(g, u):
    """Prefetch the first block of ``u``."""
    prefetch(g.dst, min(np.int64(first_block(g, u)) << g.shift, len(g.dst) - 1))


@inner
def buckets(g, u):
    """Return 1 if ``u`` has edges: its whole chain is one bucket; else 0."""
    return 1 if g.head[u] else 0


@inner
def first(g, u, k):
    """Return the cursor at the first block of ``u``, -1 without edges; ``k``, the bucket, is always 0."""
    c = first_block(g, u)
    return np.int64(-1) if c == NO_BLOCK else np.int64(c)


@inner
def begin(g, c):
    """Return the first slot of block ``c``."""
    return c << g.shift


@inner
def end(g, c):
    """Return one past the last slot of block ``c`` that holds an edge; all blocks of a chain but the last are full."""
    if g.link[np.uint64(c)] != NO_BLOCK:
        return (c + 1) << g.shift
    rest = np.int64(g.degree[g.owner[np.uint64(c)]]) - 1
    return (c << g.shift) + (rest & ((np.int64(1) << g.shift) - 1)) + 1


@inner
def following(g, c):
    """Return the block behind block ``c`` in its chain, or -1."""
    after = g.link[np.uint64(c)]
    return np.int64(-1) if after == NO_BLOCK else np.int64(after)


@inner
def segment_owner(g, c):
    """Return the vertex whose edges block ``c`` holds; EMPTY if it is free."""
    return g.owner[np.uint64(c)]
