"""The hash table in which edge functions look up edges: ``(u, x) in batch`` and ``batch.get(u, x, default)``.

The table of ``Answers`` (a graph of several processes) is of the same kind; its values are degrees by vertex.

Open addressing with linear probing. A key is ``src << 32 | dst``; for undirected edges the smaller id comes first, so
that either order finds the edge. An entry gives the position of the edge in the arrays of the set. Loops on the CPU
look edges up by ``edge_look_ups``, kernels by ``edge_hash.cuh``, which needs the struct and constants in
:data:`DECLARATIONS`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from suricate.base.devices import Array
from suricate.cuda.structs import Struct, constants

NO_KEY = 0xFFFFFFFFFFFFFFFF  #: no edge has this key
FIRST_ENTRY = 0xFFFFFFFE  #: of place 0; entries fall as places rise, so that the last of several is the smallest
KEY_FACTOR = 0x9E3779B97F4A7C15  #: 2**64 by the golden ratio; odd
SOURCE_FACTOR = 0x9E3779B1  #: the same for 32 bits

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
#: What ``edge_hash.cuh`` needs before it; may be there more than once.
DECLARATIONS = "\n".join(
    ["#ifndef EDGE_TABLE_DECLARED", "#define EDGE_TABLE_DECLARED", _CONSTANTS, STRUCT.declaration, "#endif"]
)


class EdgeTable(NamedTuple):
    """The arrays of the hash table.

    Attributes:
        key: ``uint64[capacity]``, ``NO_KEY`` in free slots, of which there are always some, so that searches end.
        entry: ``uint32[capacity]``: ``FIRST_ENTRY`` less the position of the edge in the arrays of the set.
        value: the values of the set, by position; ``uint8[0]`` if there are none.
        directed: 0 if keys have the smaller id first, else 1.
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
