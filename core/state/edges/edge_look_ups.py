"""Lookups in the hash table of an edge set (``edge_hash``) by loops on the CPU; ``edge_hash.cuh`` is the CUDA twin.

In all functions ``table`` is an ``EdgeTable``.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner
from suricate.state.edges.edge_hash import FIRST_ENTRY, KEY_FACTOR, NO_KEY

_KEY_FACTOR, _HALF, _NONE = np.uint64(KEY_FACTOR), np.uint64(32), np.uint64(NO_KEY)
_FIRST_ENTRY = np.uint32(FIRST_ENTRY)


@inner
def home(key, capacity):
    """Return the first slot to probe for ``key`` in a hash table of ``capacity`` slots."""
    hashed = (key ^ (key >> _HALF)) * _KEY_FACTOR >> _HALF
    return hashed * np.uint64(capacity) >> _HALF


@inner
def key_of(u, x, directed):
    """Return the key of edge ``(u, x)``, ``uint64``; with ``directed == 0`` the smaller id comes first."""
    first, second = np.uint64(u), np.uint64(x)
    if directed == 0 and first > second:
        first, second = second, first
    return first << _HALF | second


@inner
def place_of(table, u, x):
    """Return the position of edge ``(u, x)`` in the arrays of the set whose hash table is ``table``, or -1."""
    key, capacity = key_of(u, x, table.directed), np.uint64(len(table.key))
    at = home(key, capacity)
    while table.key[at] != _NONE:
        if table.key[at] == key:
            return np.int64(_FIRST_ENTRY - table.entry[at])
        at += np.uint64(1)
        if at == capacity:
            at = np.uint64(0)
    return np.int64(-1)


@inner
def contains(table, u, x):
    """Return whether edge ``(u, x)`` is in the set whose hash table is ``table``."""
    return place_of(table, u, x) >= 0


@inner
def degree_of(table, u):
    """Return the degree of vertex ``u``; only for the table of ``Answers``."""
    return table.value[u]


@inner
def value_of(table, u, x, default):
    """Return the value of edge ``(u, x)``, of the values' dtype; ``default`` if the edge is absent."""
    place = place_of(table, u, x)
    return table.value[place] if place >= 0 else table.value.dtype.type(default)
