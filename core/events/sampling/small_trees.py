"""Samples of small trees on CUDA: one launch for all hops (``small_trees.cu``), and one wait, for the numbers of nodes.

What a tree may have follows from the fan-outs: a few hundred nodes at most, which a warp grows in shared memory. What
is larger takes the launches per hop of ``cuda.py``.
"""

from __future__ import annotations

from functools import cache
from itertools import accumulate
from operator import mul
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from suricate.base.devices import Array, Device
from suricate.cuda.launch import StructKernel, multiprocessors
from suricate.cuda.pinned import Answer
from suricate.cuda.program import Program
from suricate.cuda.structs import Struct, constants
from suricate.events.sampling.starting import STARTING, Asked, starting
from suricate.events.sampling.trees import Drawn, Plan
from suricate.primitives import cuda, out_of_memory

HERE = Path(__file__).parent
THREADS, TREES = 256, 4  #: of a block: threads; trees at least, while there are more multiprocessors
MOST_RESIDENT = 4  #: blocks per multiprocessor
MOST_HOPS, MOST_NODES, MOST_SLOTS = 4, 448, 512  #: of a tree; a table of them is 7/8 full at most
FOREST = Struct("Forest", {
    "begin": "const long long*", "end": "const long long*",  # the rows of an index
    "other": "const uint32_t*", "number": "const uint32_t*",
    "row": "long long*", "col": "long long*", "event": "long long*", "time_of_edge": "long long*",  # by edge: written
    "batch": "long long*", "node": "uint32_t*",  # by node: written
    "kept_node": "uint32_t*",  # by tree, then node
    "kept_event": "uint32_t*", "kept_ends": "uint32_t*",  # by tree, then edge: number, relative; row << 16 | col
    "counts": "uint32_t*",  # [2 * hops, trees]: new nodes of a hop, its edges, those of the next hop ...
    "totals": "uint32_t*",  # [2 * hops + 1, blocks]: of a block; trees that are invalid
    "arrived": "uint32_t*",  # of the barrier, 0 before and afterwards
    "answer": "unsigned long long*", "call": "unsigned long long",  # totals of all blocks
    "fans": "uint64_t",  # of each hop, by 16 bits
    "hops": "uint32_t", "nodes_of_tree": "uint32_t",  # the most nodes: one more than edges
    "slots": "uint32_t",  # of a table, a power of two above the most nodes
    "recent": "uint32_t", "back": "uint32_t", "replace": "uint32_t",
}, base=STARTING)  # fmt: skip
LIMITS = {"SMALL_BLOCK": THREADS, "MOST_HOPS": MOST_HOPS, "MOST_NODES": MOST_NODES, "MOST_SLOTS": MOST_SLOTS}
PROGRAM = Program(
    HERE / "small_trees.cu", "\n".join((constants(LIMITS), STARTING.declaration, FOREST.declaration)),
    include=(cuda.HERE,), cooperative=True,
)  # fmt: skip


class Bounds(NamedTuple):
    """What a tree may have."""

    edges: int
    slots: int  # of its table
    fans: int  # packed


@cache
def bounds_of(fan: tuple[int, ...]) -> Bounds | None:
    """Return the bounds of trees of these fan-outs; None if they are not small."""
    if min(fan) < 0 or len(fan) > MOST_HOPS:
        return None
    edges = sum(accumulate(fan, mul))
    if edges >= MOST_NODES:
        return None
    slots = 1 << (edges + 1 + edges // 8).bit_length()
    return Bounds(edges, slots, sum(count << 16 * hop for hop, count in enumerate(fan)))


class SmallTrees:
    """Samples on a device, in one stream at a time."""

    def __init__(self, device: Device) -> None:
        self._xp, self._answer = device.xp, Answer(device, 2 * MOST_HOPS + 1)
        self._kernel = StructKernel(PROGRAM, "sample_trees", FOREST.size)
        self._most = multiprocessors(device) * min(self._kernel.resident(THREADS), MOST_RESIDENT)
        self._arrived = device.xp.zeros(1, np.uint32)

    def drawn(self, rows: Any, record: Any, plan: Plan, asked: Asked) -> tuple[Drawn, Array] | None:
        """Return what the loops draw, and of which trees events have left; None if a root or a time is invalid.

        Raises:
            CapacityError: too little memory.
        """
        asked, bounds = asked.compiled(), bounds_of(plan.fan)
        assert bounds is not None
        trees, hops, per_tree = len(asked.vertices), len(plan.fan), bounds.edges
        blocks, edges = max(1, min(self._most, -(-trees // TREES))), trees * per_tree
        nodes, alloc = edges + trees, self._xp.cuda.alloc
        with out_of_memory("events"):
            # Four arrays of 8 bytes by edge; of nodes 8 bytes, then 4; a byte by tree.
            made = alloc(32 * edges + 12 * nodes + trees)
            kept = alloc(4 * (nodes + 2 * edges + 2 * hops * trees + (2 * hops + 1) * blocks))
        edge, node, scratch = made.ptr, made.ptr + 32 * edges, kept.ptr
        has_left, of_edges, counts = node + 12 * nodes, scratch + 4 * nodes, scratch + 4 * (nodes + 2 * edges)
        begin, end, other, number = rows
        FOREST.packer.pack_into(
            self._kernel.buffer, 0, *starting(record, asked, has_left, through=plan.through),
            begin.data.ptr, end.data.ptr, other.data.ptr, number.data.ptr,
            edge, edge + 8 * edges, edge + 16 * edges, edge + 24 * edges, node, node + 8 * nodes,
            scratch, of_edges, of_edges + 4 * edges, counts, counts + 8 * hops * trees,
            self._arrived.data.ptr, self._answer.address, self._answer.next(),
            bounds.fans, hops, per_tree + 1, bounds.slots, plan.recent, plan.back, plan.replace,
        )  # fmt: skip
        self._kernel.launch(blocks, THREADS)
        counted = self._answer.read()[: 2 * hops + 1].tolist()
        if counted[-1]:
            return None
        more, drawn = counted[:-1:2], counted[1::2]
        new, known, found = self._xp.ndarray, trees + sum(more), sum(drawn)
        row, col, event, time = (new((found,), np.int64, made + 8 * edges * part) for part in range(4))
        batch = new((known,), np.int64, made + 32 * edges)
        vertex = new((known,), np.uint32, made + (32 * edges + 8 * nodes))
        left = new((trees,), np.bool_, made + (32 * edges + 12 * nodes))
        return Drawn(vertex, row, col, event, time, batch, [trees, *more], drawn), left
