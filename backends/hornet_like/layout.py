"""Layout of ``hornet_like``: its arrays, and the constants and structs that Python and C++ share.

Each adjacency lies in one block of 2^class slots, ``begin[u]`` to ``end[u]``, in no order or ascending. Blocks are
carved from one pool (``dst``, ``weight``); a stack per class holds the free ones.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from suricate.base.devices import Array
from suricate.cuda.launch import address
from suricate.cuda.structs import Struct
from suricate.primitives.located import CHANGE_BLOCK, CHANGING
from suricate.store.array_manager import WEIGHT, Layout

MIN_CLASS = 2  #: the smallest block holds 4 edges: 16 bytes of destinations
MAX_CLASS = 32
CLASSES = MAX_CLASS + 1  #: a block of class k has 2^k slots
NONE = 0  #: class of a vertex without edges: it owns no block
GRAIN = 1 << MIN_CLASS  #: blocks begin at multiples of this; free stacks hold begin / GRAIN as uint32
MAX_SLOTS = GRAIN << 32  #: slots that such an entry can address

# The counters: one int64 array, the same on both devices.
USED = 0  #: slots of the pool carved into blocks so far
EDGES = 1  #: edges stored
BLOCKS = 2  #: blocks of each class, free ones included
FREE = BLOCKS + CLASSES  #: free blocks of each class: height of its stack
GROW = FREE + CLASSES  #: pressure to migrate up, by ratio (see ``pressure``)
RATIOS = 40
SHRINK = GROW + RATIOS  #: pressure to migrate down
COUNTERS = SHRINK + RATIOS

LAYOUT: Layout = {
    "index": {"begin": np.int64, "end": np.int64, "klass": np.uint8},
    "blocks": {"dst": np.uint32, "weight": WEIGHT},
    "free stacks": {"stacks": np.uint32},
    "stack limits": {"stack_begin": np.int64},
    "counters": {"counters": np.int64},
}

# What becomes of the block of a vertex, besides the class it migrates to and NONE.
KEEP = 254  #: the block stays
IDLE = 253  #: its adjacency does not change; or an entry that is not the first of its vertex

CONSTANTS = {
    "MIN_CLASS": MIN_CLASS, "CLASSES": CLASSES, "NONE": NONE, "KEEP": KEEP, "IDLE": IDLE,
    "USED": USED, "EDGES": EDGES, "BLOCKS": BLOCKS, "FREE": FREE, "GROW": GROW, "RATIOS": RATIOS,
    "LANES": 8,  # threads that share one adjacency
    "LONG_DEGREE": 256,  # longer adjacencies are scanned in parts by warps
    "SCAN_PART": 512,  # slots of such a part
    "LONG_MOVE": 4096,  # longer adjacencies are moved in parts of this many edges by blocks
}  # fmt: skip

# Ascending adjacencies: counts of an update on CUDA, zero between launches.
NEED = 0  #: blocks of each class that migrations take
FREED = NEED + CLASSES  #: blocks of each class that they free
COUNTS = FREED + CLASSES
MOVE_ITEMS = 8  #: edges that a thread moves at a time
MOVE_CHUNK = CHANGE_BLOCK * MOVE_ITEMS  #: edges that a block moves at a time
SORTED_CONSTANTS = {
    "CHANGE_BLOCK": CHANGE_BLOCK, "MOVE_ITEMS": MOVE_ITEMS, "MOVE_CHUNK": MOVE_CHUNK, "NEED": NEED, "FREED": FREED,
    "COUNTS": COUNTS,
}  # fmt: skip


class Graph(NamedTuple):
    """The arrays that kernels work on.

    Attributes:
        begin, end: int64 per vertex: its edges are in slots ``begin[u]`` to ``end[u]``, exclusive.
        klass: uint8 per vertex: the class of its block, ``NONE`` without edges.
        dst, weight: per slot; ``weight`` holds bit patterns, and has length 0 if there are none.
        counters: int64[COUNTERS]; the constants ``USED`` to ``SHRINK`` of this module are the places in it.
        stacks: the free blocks of all classes, each as its first slot divided by ``GRAIN``.
        stack_begin: int64[CLASSES + 1]: where the stack of each class begins in ``stacks``.
    """

    begin: Array
    end: Array
    klass: Array
    dst: Array
    weight: Array
    counters: Array
    stacks: Array
    stack_begin: Array


class PlacedGraph(Graph):
    """A :class:`Graph` that also keeps the addresses of its arrays on a CUDA device."""

    @cached_property
    def places(self) -> tuple[int, ...]:
        """The addresses of the arrays on a CUDA device, in their order; kernels take these."""
        return tuple(map(address, self))


GRAPH = Struct("Graph", {
    "begin": "long long*", "end": "long long*", "klass": "uint8_t*", "dst": "uint32_t*", "weight": "bits_t*",
    "counters": "long long*", "stacks": "uint32_t*", "stack_begin": "long long*",
})  # fmt: skip
assert tuple(GRAPH.fields) == Graph._fields

#: an update of ascending adjacencies: its changes, and scratch arrays (of the size of the batch where nothing is said)
UPDATE = Struct("Update", {
    "changed_key": "uint64_t*", "changed_item": "uint32_t*",
    "head": "uint32_t*",  # the first change of the same vertex, which stands for it
    "heads": "uint32_t*",  # those of a thread block, from its first change on
    "moved": "long long*",  # edges to be moved that lie before the change, from those of the block's own heads on
    "place": "long long*",  # edges to be moved that lie before the change, of all vertices
    "delta": "long long*", "run": "uint32_t*", "row": "uint32_t*", "ticket": "uint32_t*", "freed": "uint32_t*",
    "target": "uint8_t*",  # from delta on: of heads
    "row_start": "long long*", "row_from": "long long*", "row_to": "long long*",  # [rows + 1], of vertices that move
    "row_head": "uint32_t*",
    "chunk_row": "uint32_t*", "chunk_change": "uint32_t*", "chunk_read": "uint32_t*",  # [chunks + 1]
    "block_moved": "long long*", "block_rows": "uint32_t*",  # [blocks]
    "tickets": "long long*",  # [blocks * (COUNTS + 1)], of a launch that is to be resumed
    "counts": "long long*", "planned": "long long*",  # [COUNTS], of this launch and of the last one that planned
    "laps": "uint32_t*",  # of the barriers behind the plan
    "slots": "long long",  # of the pool
    "answer": "uint64_t*",  # in host memory, or null: receives the ticket, and whether the pool is large enough
    "ticket_of_call": "uint32_t", "may_shrink": "uint32_t", "only_plans": "uint32_t",
    "resumed": "uint32_t",  # behind the plan of a launch that was refused, or only planned
}, base=CHANGING)  # fmt: skip

#: per entry of a batch, filled in for the first of each vertex: the class its block migrates to (or KEEP, NONE, IDLE),
#: its number among the migrations to that class, and its new block
MIGRATIONS = Struct("Migrations", {"target": "uint8_t*", "ticket": "uint32_t*", "place": "long long*"})
