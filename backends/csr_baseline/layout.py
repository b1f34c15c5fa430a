"""Layout of ``csr_baseline``: its arrays, and the constants that Python and C++ share.

The edges of ``u`` lie in slots ``offsets[u]`` to ``offsets[u + 1]`` of ``dst`` and ``weight``, ascending, without
repeats. These arrays may be longer than ``offsets[n]``. A second pair takes a rebuilt graph; it is kept only after
``reserve``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suricate.base.devices import Array
from suricate.kernels import Struct
from suricate.primitives.located import CHANGE_BLOCK, CHANGING
from suricate.store.array_manager import WEIGHT, Layout

LAYOUT: Layout = {
    "offsets": {"offsets": np.int64},
    "edges": {"dst": np.uint32, "weight": WEIGHT},
    "reserve": {"reserve_dst": np.uint32, "reserve_weight": WEIGHT},
}

ADDS, REMOVES, ADDS_AGAIN = 0, 1, 2  #: what a change does; again: an edge that the batch removes
CONSTANTS = {
    "CHANGE_BLOCK": CHANGE_BLOCK,
    "MERGE_ITEMS": 8,  # edges that a thread moves at a time
    "MERGE_WINDOW": 2048,  # changes that a block keeps in shared memory
    "ADDS": ADDS, "REMOVES": REMOVES, "ADDS_AGAIN": ADDS_AGAIN,
}  # fmt: skip

#: a merge: the changes of the old graph, whose arrays of first and last slots are the offsets, and the new one
MERGE = Struct("Merge", {
    "vertices": "long long", "new_offsets": "long long*", "new_dst": "uint32_t*", "new_weight": "bits_t*",
    "changed_source": "uint32_t*",  # of the changes, in order
}, base=CHANGING)  # fmt: skip

#: a deletion and an insertion at once, in one batch: its first edges are those to be deleted
MERGE_BOTH = Struct("MergeBoth", {
    "deletes": "uint32_t",  # how many
    "net": "int*",  # of every entry: edges that the changes of its block up to it add, less those that they remove
    "net_totals": "int*",  # the same per block
    "changed_net": "int*",  # of the changes, in order: the same from the first on, times 4; and what the change does
}, base=MERGE)  # fmt: skip
MOST_BOTH = 1 << 28  #: entries of such a batch


class Graph(NamedTuple):
    """The arrays that kernels work on.

    Attributes:
        offsets: int64[n + 1]: the edges of ``u`` are in slots ``offsets[u]`` to ``offsets[u + 1]``, exclusive.
        dst, weight: per slot; ``weight`` holds bit patterns, and has length 0 if there are none.
    """

    offsets: Array
    dst: Array
    weight: Array


class Rebuild(NamedTuple):
    """Memory for a rebuild: ``target``, the new arrays, and ``bound``, an upper bound of the edges of the old graph."""

    target: Graph
    bound: int
