"""The cursor of ``keys``: the edges of ``u`` are the keys from ``u << 32`` up to ``(u + 1) << 32``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suricate.base.devices import Array
from suricate.kernels import inner


class KeyView(NamedTuple):
    """``keys``: uint64, ascending; ``weight``: parallel to them (``uint8[0]`` for none); ``size``: number of keys."""

    keys: Array
    weight: Array
    size: int


@inner
def bound(g, key):
    """Return the number of keys below ``key``."""
    lo, hi = np.int64(0), np.int64(g.size)
    while lo < hi:
        mid = (lo + hi) >> 1
        if g.keys[mid] < key:
            lo = mid + 1
        else:
            hi = mid
    return lo


@inner
def begin(g, c):
    """Return the first slot of vertex ``c``."""
    return bound(g, np.uint64(c) << np.uint64(32))


@inner
def end(g, c):
    """Return one past the last slot of vertex ``c``."""
    return bound(g, np.uint64(c + 1) << np.uint64(32))


@inner
def degree(g, u):
    """Return the number of out-edges of ``u``."""
    return end(g, np.int64(u)) - begin(g, np.int64(u))


@inner
def buckets(g, u):
    """Return 1: the slots of a vertex are one range."""
    return 1


@inner
def first(g, u, k):
    """Return the cursor of the range, which is the vertex."""
    return np.int64(u)


@inner
def following(g, c):
    """Return -1: there is one range."""
    return np.int64(-1)


@inner
def key(g, i):
    """Return the destination in slot ``i``."""
    return np.uint32(g.keys[i])


@inner
def weight(g, i):
    """Return the weight in slot ``i``."""
    return g.weight[i]


@inner
def find(g, u, v):
    """Return the slot of edge ``(u, v)``, or -1."""
    wanted = (np.uint64(u) << np.uint64(32)) | np.uint64(v)
    slot = bound(g, wanted)
    return slot if slot < g.size and g.keys[slot] == wanted else np.int64(-1)
