"""The hash table of an edge set, as functions ask it: ``(u, x) in batch`` and ``batch.get(u, x, default)``.

Answers of a graph of several processes are such a table, whose values are degrees by vertex.

Open addressing with linear probing. A key is ``src << 32 | dst``, of an undirected edge with the smaller id first, so
that either order finds it; an entry is the place of the edge in the arrays of the set. ``edge_table.cuh`` is the CUDA
twin: the struct and the constants that it needs are :data:`DECLARATIONS`, made from what is used here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from suricate.base.devices import Array
from suricate.cpu.jit import inner
from suricate.cuda.structs import Struct, constants

NO_KEY = 0xFFFFFFFFFFFFFFFF  #: no edge has this key
FIRST_ENTRY = 0xFFFFFFFE  #: of place 0; entries fall as places rise, so that the last of several is the smallest
KEY_FACTOR = 0x9E3779B97F4A7C15  #: 2**64 by the golden ratio; odd
SOURCE_FACTOR = 0x9E3779B1  #: the same for 32 bits
_KEY_FACTOR, _HALF, _NONE = np.uint64(KEY_FACTOR), np.uint64(32), np.uint64(NO_KEY)
_FIRST_ENTRY = np.uint32(FIRST_ENTRY)

STRUCT = Struct("EdgeTable", {
    "key": "const unsigned long long*",  # [capacity]; NO_KEY: free
    "entry": "const uint32_t*",  # [capacity]; FIRST_ENTRY - entry is the place of the edge in the arrays of the set
    "value": "const void*",  # one per place, or null; of answers uint32_t, one per vertex
    "capacity": "uint32_t",
    "directed": "uint32_t",  # 0: keys have the smaller id first
})  # fmt: skip
_CONSTANTS = constants(
    {"NO_KEY": NO_KEY, "FIRST_ENTRY": FIRST_ENTRY, "KEY_FACTOR": KEY_FACTOR, "SOURCE_FACTOR": SOURCE_FACTOR}
)
#: What ``edge_table.cuh`` needs before it; may be there more than once.
DECLARATIONS = "\n".join(
    ["#ifndef EDGE_TABLE_DECLARED", "#define EDGE_TABLE_DECLARED", _CONSTANTS, STRUCT.declaration, "#endif"]
)


class EdgeTable(NamedTuple):
    """The arrays of the hash table.

    Attributes:
        key: ``uint64[capacity]``, of which more than one is always free, so that every search ends.
        entry: ``uint32[capacity]``: the place of the edge in the arrays of the set.
        value: the values of the set; ``uint8[0]`` if there are none.
        directed: 0 if keys have the smaller id first.
    """

    key: Array
    entry: Array
    value: Array
    directed: int


def packed(table: EdgeTable) -> Any:
    """Return the struct ``EdgeTable`` to pass to a kernel (``np.void``)."""
    key, entry, value, directed = table
    words = (key.data.ptr, entry.data.ptr, value.data.ptr, len(key), directed)
    return np.array(words, STRUCT.dtype)[()]


@inner
def home(key, capacity):
    """Return the place where the search for ``key`` begins: the upper half of its hash, scaled to the capacity."""
    hashed = (key ^ (key >> _HALF)) * _KEY_FACTOR >> _HALF
    return hashed * np.uint64(capacity) >> _HALF


@inner
def key_of(u, x, directed):
    """Return the key of an edge."""
    first, second = np.uint64(u), np.uint64(x)
    if directed == 0 and first > second:
        first, second = second, first
    return first << _HALF | second


@inner
def place_of(table, u, x):
    """Return the place of the edge in the arrays of the set, or -1."""
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
    """Return whether the edge is in the set."""
    return place_of(table, u, x) >= 0


@inner
def degree_of(table, u):
    """Return the degree of a vertex; for a table made of ``Answers``."""
    return table.value[u]


@inner
def value_of(table, u, x, default):
    """Return the value of the edge, ``default`` if it is not in the set; of the dtype of the values."""
    place = place_of(table, u, x)
    return table.value[place] if place >= 0 else table.value.dtype.type(default)
