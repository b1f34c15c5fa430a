"""Cursor of ``gpma`` for Numba: of n vertices, ``c`` < n is the row of vertex c, slots with gaps; else leaf c - n."""

from __future__ import annotations

import numpy as np

from suricate.backends.gpma.layout import LEAF, LEAF_BITS, TOUCHED, Graph
from suricate.backends.gpma.loops import owner_of, search
from suricate.cpu.jit import inner
from suricate.cpu.prefetch import prefetch
from suricate.cursors.contiguous import buckets, first, following, key, later, weight  # noqa: F401 - of this cursor, too

GpmaView = Graph  #: the view is the graph, with weights of their own dtype


@inner
def degree(g, u):
    """Return the number of out-edges of ``u``."""
    return np.int64(g.degree[np.uint64(u)])


@inner
def ahead(g, u):
    """Prefetch the first edges of ``u``."""
    prefetch(g.dst, g.guard[np.uint64(u)] + 1)


@inner
def begin(g, c):
    """Return the first slot of segment ``c``: the row of vertex c, or, with n vertices, leaf c - n."""
    n = np.int64(len(g.degree))
    return g.guard[np.uint64(c)] + 1 if c < n else (c - n) << LEAF_BITS


@inner
def end(g, c):
    """Return one past the last slot of segment ``c``: the row of vertex c, or, with n vertices, leaf c - n."""
    n = np.int64(len(g.degree))
    return g.guard[np.uint64(c) + np.uint64(1)] if c < n else (c - n + 1) << LEAF_BITS


@inner
def find(g, u, v):
    """Return the slot of edge ``(u, v)``, or -1."""
    return search(g, np.int64(u), np.uint32(v))[0]


@inner
def updated_count(g):
    """Return the number of leaves with edges inserted since the mark."""
    return g.counters[TOUCHED]


@inner
def updated_segment(g, i):
    """Return the cursor of the ``i``-th leaf with edges inserted since the mark."""
    return np.int64(g.touched[np.uint64(i)]) + len(g.degree)


@inner
def slot_owner(g, i):
    """Return the source of the edge in slot ``i``."""
    return owner_of(g, i)


@inner
def is_fresh(g, i):
    """Return whether the edge in slot ``i`` was inserted since the mark."""
    mask = g.fresh[np.uint64(i) >> np.uint64(LEAF_BITS)]
    return mask >> np.uint32(i & (LEAF - 1)) & np.uint32(1) == np.uint32(1)
