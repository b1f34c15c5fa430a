"""Layout of ``blocked``: its arrays, and the constants and structs that Python and C++ share.

Each adjacency is a chain of blocks of 2^shift slots, linked in both directions. The edges of a vertex fill its chain
without gaps: all blocks but the last are full. Slots without an edge, and all slots of free blocks, hold ``EMPTY``.
``back`` of the first block of a chain is its last block, so that appending and removing at the end take no walk.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suricate.array_manager import WEIGHT, Layout
from suricate.cuda.structs import Struct
from suricate.devices import Array

BLOCK_EDGES = (2, 4, 8, 16, 32, 64, 128)  #: capacities of a block
MAX_BLOCKS = 0xFFFFFFFE  #: numbers of blocks are below ``EMPTY``

# The counters: one int64 array, the same on both devices.
USED = 0  #: blocks carved from the pool so far
EDGES = 1  #: edges stored
FREE = 2  #: free blocks among those carved: height of their stack
COUNTERS = 3

LAYOUT: Layout = {
    "vertices": {"head": np.uint32, "degree": np.uint32},
    "blocks": {"link": np.uint32, "back": np.uint32, "owner": np.uint32, "free": np.uint32},
    "edges": {"dst": np.uint32, "weight": WEIGHT},
    "counters": {"counters": np.int64},
}

CONSTANTS = {"USED": USED, "EDGES": EDGES, "FREE": FREE}


class Graph(NamedTuple):
    """The arrays that kernels work on; ``weight`` holds bit patterns, and has length 0 if there are none.

    ``head`` (first block, ``EMPTY`` without edges) and ``degree`` are per vertex; ``link`` (next block or ``EMPTY``),
    ``back`` (block before; of a first block the last) and ``owner`` (``EMPTY``: the block is free) per block; the first
    ``counters[FREE]`` entries of ``free`` are the free blocks; ``dst`` and ``weight`` are per slot.
    """

    head: Array
    degree: Array
    link: Array
    back: Array
    owner: Array
    free: Array
    dst: Array
    weight: Array
    counters: Array
    shift: int


GRAPH = Struct("Graph", {
    "head": "uint32_t*", "degree": "uint32_t*", "link": "uint32_t*", "back": "uint32_t*", "owner": "uint32_t*",
    "free": "uint32_t*", "dst": "uint32_t*", "weight": "bits_t*", "counters": "long long*", "shift": "long long",
})  # fmt: skip
assert tuple(GRAPH.fields) == Graph._fields


class BlockedView(NamedTuple):
    """The arrays of the view; see :class:`Graph`. ``weight`` has the weight dtype (uint8[0] if unweighted)."""

    head: Array
    degree: Array
    link: Array
    owner: Array
    dst: Array
    weight: Array
    counters: Array
    shift: int
    blocks: int  # length of the arrays per block
