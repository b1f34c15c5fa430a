"""Layout of ``gpma``: its arrays, and the constants and structs that Python and C++ share.

All edges lie in one array of slots, ordered by (source, destination), with gaps between them. Behind the edges of each
vertex comes its *guard*, an entry whose destination is infinite; ``guard`` knows its slot, so the edges of ``u`` are
between the guards of ``u - 1`` and ``u``. The array is cut into *leaves* of 32 slots. Sources are not stored: a leaf
knows the source of its first entry and which of its slots hold guards, and the source of any entry is the first one
plus the number of guards before it in the leaf.

A store that keeps some rows has guards of the vertices from the first to the last of these. Where others have none
``guard`` is 0, so that their rows end before they begin, which reads as empty.

A *segment* of level l is a run of 2^l leaves that begins at a multiple of 2^l; the last one of a level may be shorter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suricate.base.devices import Array
from suricate.base.types import TOMBSTONE
from suricate.cuda.structs import Struct
from suricate.store.array_manager import WEIGHT, Layout

LEAF_BITS = 5
LEAF = 1 << LEAF_BITS  #: slots of a leaf
GUARD = TOMBSTONE  #: the destination of a guard; EMPTY marks a gap
GUARDS = 20  #: guards that are put into a new leaf behind all others

# Densities, in parts of DENSE. A leaf may be full; the array as a whole is at most ROOT_MOST full. Between them the
# most that a segment may hold after it was rebalanced goes down level by level, and the least (strict deletion) up.
DENSE, ROOT_MOST = 1024, 900
ROOT_LEAST, LEAF_LEAST = 320, 96

# The counters: one int64 array, the same on both devices.
EDGES = 0  #: edges stored
MOVED = 1  #: entries that were written to another place, guards included, since the store was made
TOUCHED = 2  #: leaves with edges that were inserted since the mark, as listed
LOW, HIGH = 3, 4  #: the vertices that have guards, a range
COUNTERS = 5

LAYOUT: Layout = {
    "slots": {"dst": np.uint32, "weight": WEIGHT},
    "leaves": {"owner": np.uint32, "guards": np.uint32, "head": np.uint32, "count": np.uint8},
    "rows": {"guard": np.int64},
    "vertices": {"degree": np.uint32},
    "counters": {"counters": np.int64},
    "fresh": {"fresh": np.uint32, "touched": np.uint32},
    "pages": {"planned": np.uint32},
    "work": {"work": np.uint32},
}

# On CUDA a warp plans and rebalances the segments of a *page*, a segment of PAGE_LEVEL, in shared memory. What needs a
# larger one waits for the rest of the batch. Segments up to BY_BLOCK are then left to blocks if there are many (FEW).
PAGE_LEVEL = 5
PAGE = 1 << PAGE_LEVEL  #: leaves of a page
BY_BLOCK, FEW = 8, 8
RESIDENT = 4  #: blocks of an update on a multiprocessor
LISTED = 32  #: changes of a page that its warp keeps in shared memory
MOST_WALKED = 4096  #: entries of a batch in one page, duplicates included, that a warp goes through alone
WAITS, UNWALKED = 1 << 31, 1 << 30  #: of ``planned``: the page waits; its warp has not gone through its entries


class Graph(NamedTuple):
    """The arrays that kernels work on.

    Attributes:
        dst: per slot: the destination, ``GUARD`` or ``EMPTY``.
        weight: per slot: bit patterns; length 0 if there are none.
        owner: per leaf: the source of its first entry (of an empty leaf: of the next entry), which is the number of
            guards in the leaves before, and ``LOW``.
        guards: per leaf: a bit for each slot that holds a guard.
        head: per leaf: a destination that divides the row of its owner: smaller ones are in leaves before.
        count: per leaf: the number of its entries.
        guard: int64[n + 1], the slots of the guards: the row of ``u`` is ``guard[u] + 1`` to ``guard[u + 1]``; that
            of ``LOW`` is -1. 0 without a guard: the row then ends before it begins.
        degree: per vertex: the number of its edges.
        counters: int64[COUNTERS], at the places ``EDGES`` to ``HIGH``, constants of this module.
        fresh: per leaf: a bit for each edge that was inserted since the mark; length 0 without a mark.
        touched: the leaves that have such edges, as last listed; length 0 without a mark.
        planned: CUDA only: per page, a segment of level ``PAGE_LEVEL``: a bit for the level of each larger segment
            that begins there and will be rebalanced, and the flags ``WAITS`` and ``UNWALKED``; zero between batches.
        work: CUDA only: state shared by the blocks of an update: the struct ``Work``.
        leaves: number of leaves in use; the arrays may be longer.
    """

    dst: Array
    weight: Array
    owner: Array
    guards: Array
    head: Array
    count: Array
    guard: Array
    degree: Array
    counters: Array
    fresh: Array
    touched: Array
    planned: Array
    work: Array
    leaves: int


#: what the blocks of an update share; all but the first, a word for barriers, is zero between batches
WORK = Struct("Work", dict.fromkeys(("laps", "waiting", "top", "by_block", "by_grid"), "uint32_t"))

GRAPH = Struct("Graph", {
    "dst": "uint32_t*", "weight": "bits_t*", "owner": "uint32_t*", "guards": "uint32_t*", "head": "uint32_t*",
    "count": "uint8_t*", "guard": "long long*", "degree": "uint32_t*", "counters": "long long*", "fresh": "uint32_t*",
    "touched": "uint32_t*", "planned": "uint32_t*", "work": "Work*", "leaves": "long long", "num_vertices": "long long",
})  # fmt: skip
assert tuple(GRAPH.fields) == (*Graph._fields, "num_vertices")

#: a sorted batch, and its changes: the entries that change the graph
UPDATE = Struct("Update", {
    "keys": "const uint64_t*", "order": "const uint32_t*", "guard": "const uint32_t*", "size": "long long",
    "batch_weight": "const bits_t*", "status": "uint8_t*", "before": "bits_t*",  # in the caller's order
    "slot": "long long*", "kind": "uint8_t*",  # [size], of every entry: where it is or would go
    "places": "long long*", "items": "uint32_t*",  # [size], of changes, in order: their slots, their entries
    "level": "uint8_t*", "lists": "uint32_t*",  # [size], of changes that wait: the segment, and who rebalances it
    "sums": "long long*",  # [2 * blocks]: what the blocks tell each other
    "arrived": "uint32_t*", "expected": "uint32_t",  # of the barrier; see grid_barrier.cuh
    "deleting": "uint32_t",
})  # fmt: skip

#: the entries of an insertion into new arrays: their places, and their numbers in the batch
CHANGES = Struct("Changes", {"places": "long long*", "items": "uint32_t*"})

#: what a launch over an unvalidated batch writes besides its copies
TAKING = Struct("Taking", {
    "status": "uint8_t*", "before": "bits_t*",  # of a deletion
    "found": "bool*", "result": "bits_t*",  # of queries
    "arrived": "uint32_t*", "expected": "uint32_t",  # of the barrier; see grid_barrier.cuh
})  # fmt: skip

CONSTANTS = {
    "LEAF_BITS": LEAF_BITS, "LEAF": LEAF, "GUARD": GUARD, "GUARDS": GUARDS, "DENSE": DENSE,
    "ROOT_MOST": ROOT_MOST, "ROOT_LEAST": ROOT_LEAST, "LEAF_LEAST": LEAF_LEAST, "EDGES": EDGES, "MOVED": MOVED,
    "TOUCHED": TOUCHED, "LOW": LOW, "HIGH": HIGH, "PAGE_LEVEL": PAGE_LEVEL, "PAGE": PAGE, "BY_BLOCK": BY_BLOCK,
    "FEW": FEW, "RESIDENT": RESIDENT, "LISTED": LISTED, "MOST_WALKED": MOST_WALKED, "WAITS": WAITS,
    "UNWALKED": UNWALKED,
}  # fmt: skip
