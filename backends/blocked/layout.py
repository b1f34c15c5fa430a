"""Layout of ``blocked``: its arrays, and the constants and structs that Python and C++ share.

Each adjacency is a chain of blocks of 2^shift slots, linked in both directions. The edges of a vertex fill its chain
without gaps: all blocks but the last are full. Slots without an edge, and all slots of free blocks, hold ``EMPTY``.
``back`` of the first block of a chain is its last block, so that appending and removing at the end take no walk.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suricate.base.devices import Array
from suricate.cuda.structs import Struct
from suricate.store.array_manager import WEIGHT, Layout

BLOCK_EDGES = (2, 4, 8, 16, 32, 64, 128)  #: capacities of a block
MAX_BLOCKS = 0xFFFFFFFE  #: numbers of blocks are below ``EMPTY``

# The counters: one int64 array, the same on both devices.
USED = 0  #: blocks carved from the pool so far
EDGES = 1  #: edges stored
FREE = 2  #: free blocks among those carved: height of their stack
LOWEST = 3  #: its lowest height since the other side of a mirror was last the same
BLOCKS, VERTICES = 4, 5  #: lengths of the lists of marked blocks and vertices (CPU only)
COUNTERS = 6

HOST, STORE = "host", "store"  #: the sides of a mirror
SMALL = 128  #: edges that one loop on the CPU inserts, deletes or finds at most

LAYOUT: Layout = {
    "vertices": {"head": np.uint32, "degree": np.uint32, "run": np.uint32},
    "blocks": {"link": np.uint32, "back": np.uint32, "owner": np.uint32, "free": np.uint32},
    "edges": {"dst": np.uint32, "weight": WEIGHT},
    "counters": {"counters": np.int64},
    "marks of blocks": {"block_mark": np.uint8},
    "marks of vertices": {"vertex_mark": np.uint8},
    "marked blocks": {"block_list": np.uint32},
    "marked vertices": {"vertex_list": np.uint32},
}

LOCATES, PLANS, INSERTS, DELETES = range(4)  #: what the launch of a batch does
SCANNED = 128  #: a batch of more than 1 / SCANNED of the stored edges is located by a pass over the pool (CUDA)
UPDATE_BLOCK = 512  #: threads of a block of the launch that applies a batch
CONSTANTS = {
    "USED": USED, "EDGES": EDGES, "FREE": FREE, "LOWEST": LOWEST, "COUNTERS": COUNTERS,
    "UPDATE_BLOCK": UPDATE_BLOCK, "LOCATES": LOCATES, "PLANS": PLANS, "INSERTS": INSERTS, "DELETES": DELETES,
    "PIECE_BLOCK_BITS": 5, "PIECE_SLOT_BITS": 9,  # one warp searches so much of a chain at most (see `pieces`)
}  # fmt: skip


class Graph(NamedTuple):
    """The arrays that kernels work on.

    Attributes:
        head: per vertex: the complement of its first block, so that 0 is ``EMPTY``, without edges.
        degree: per vertex.
        run: per vertex: how many of its blocks, from the first on, are consecutive in memory (at least).
        link: per block: the next block, or ``EMPTY``.
        back: per block: the block before; for a first block the last one.
        owner: per block: its vertex, ``EMPTY`` for free blocks.
        free: its first ``counters[FREE]`` entries are the free blocks.
        dst, weight: per slot; ``weight`` are bit patterns, of length 0 if there are none.
        counters: int64[COUNTERS], see the constants ``USED`` to ``VERTICES``.
        block_mark, vertex_mark: in a store with a copy on the host: 1 where the two differ; else empty.
        block_list, vertex_list: on the CPU: the first ``counters[BLOCKS]`` and ``counters[VERTICES]`` entries are the
            blocks and vertices whose flag in ``block_mark`` and ``vertex_mark`` is 1.
        shift: a block has 2^shift slots.
        blocks: length of the arrays per block.
    """

    head: Array
    degree: Array
    run: Array
    link: Array
    back: Array
    owner: Array
    free: Array
    dst: Array
    weight: Array
    counters: Array
    block_mark: Array
    vertex_mark: Array
    block_list: Array
    vertex_list: Array
    shift: int
    blocks: int


GRAPH = Struct("Graph", {
    "head": "uint32_t*", "degree": "uint32_t*", "run": "uint32_t*", "link": "uint32_t*", "back": "uint32_t*",
    "owner": "uint32_t*", "free": "uint32_t*", "dst": "uint32_t*", "weight": "bits_t*", "counters": "long long*",
    "block_mark": "uint8_t*", "vertex_mark": "uint8_t*", "block_list": "uint32_t*", "vertex_list": "uint32_t*",
    "shift": "long long", "blocks": "long long",
})  # fmt: skip
assert tuple(GRAPH.fields) == Graph._fields


class Packet(NamedTuple):
    """The changes that a store sends to its mirror on the host, or the mirror to the store.

    ``link``, ``back``, ``owner``, ``dst`` and ``weight`` are those of the changed blocks ``block``, ``head``,
    ``degree`` and ``run`` those of the changed vertices ``vertex``; ``free`` is the stack of free blocks from entry
    ``lowest`` on.
    """

    block: Array
    link: Array
    back: Array
    owner: Array
    dst: Array
    weight: Array
    vertex: Array
    head: Array
    degree: Array
    run: Array
    free: Array
    counters: Array
    lowest: int


PACKET = Struct("Packet", {
    "block": "uint32_t*", "link": "uint32_t*", "back": "uint32_t*", "owner": "uint32_t*", "dst": "uint32_t*",
    "weight": "bits_t*", "vertex": "uint32_t*", "head": "uint32_t*", "degree": "uint32_t*", "run": "uint32_t*",
    "free": "uint32_t*", "counters": "long long*", "blocks": "long long", "vertices": "long long", "frees": "long long",
    "lowest": "long long",
})  # fmt: skip
assert tuple(PACKET.fields)[:12] == Packet._fields[:12]


def pieces(size: int, blocks: int, shift: int) -> int:
    """Return the most pieces into which the kernels cut the chains of a batch's vertices, to search each by one warp.

    The batch has ``size`` edges, the graph ``blocks`` blocks of 2^shift slots.
    """
    return size + (blocks >> min(CONSTANTS["PIECE_BLOCK_BITS"], CONSTANTS["PIECE_SLOT_BITS"] - shift))


#: a batch that one launch applies: besides the located batch what it does, and scratch arrays of the size of the batch
UPDATE = Struct("Update", {
    "rank": "int*", "ends": "int*",  # inclusive sums of the entries that change the graph, of the blocks that they take
    "tail": "uint32_t*",  # insertion: the last block of a vertex; deletion: those that hold its last edges
    "last": "long long*", "pairs": "long long*", "sums": "long long*", "holes": "long long*", "survivors": "long long*",
    "totals": "long long*",  # [2 * blocks of threads]
    "pieces": "uint32_t*",  # [4 * pieces]: those of the chains that are searched, or null
    "first": "uint32_t*",  # [vertices], or null: batches that are located by a pass over the pool
    "vertices": "long long",
    "batch_weight": "const bits_t*", "status": "uint8_t*", "before": "bits_t*",  # in the caller's order
    "arrived": "uint32_t*", "expected": "uint32_t",  # of the barrier; see grid_barrier.cuh
    "work": "uint32_t",
})  # fmt: skip


class BlockedView(NamedTuple):
    """The arrays of the view; see :class:`Graph`. ``weight`` has the weight dtype (uint8[0] if unweighted)."""

    head: Array
    degree: Array
    run: Array
    link: Array
    owner: Array
    dst: Array
    weight: Array
    counters: Array
    shift: int
    blocks: int  # length of the arrays per block
