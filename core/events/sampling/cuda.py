"""Trees of sampled events on CUDA: a launch for their roots (``start.cu``), and two launches per hop (``sample.cu``).

They are the trees of the loops of ``cpu.py``, bit for bit. Small trees take one launch: see ``small_trees.py``.

Where fan-outs bound the sizes, arrays are made for the bounds, all hops are queued, and the host waits once, for the
sizes at the end. Where a bound is too large, or there is none, the host waits in each hop for the number of its edges.
"""

from __future__ import annotations

from functools import cache
from itertools import accumulate, pairwise
from operator import mul
from pathlib import Path
from typing import Any

import numpy as np

from suricate.base.devices import Array, Device
from suricate.base.errors import CapacityError
from suricate.cuda.launch import multiprocessors
from suricate.cuda.program import Program
from suricate.cuda.structs import Struct, constants
from suricate.events.record import LOW
from suricate.events.sampling import small_trees
from suricate.events.sampling.starting import STARTING, Asked, starting
from suricate.events.sampling.trees import Drawn, Plan, Trees
from suricate.primitives import cuda, out_of_memory
from suricate.state.workspace import Workspace

HERE = Path(__file__).parent
THREADS, MOST_RESIDENT = 256, 4  #: threads of a block; blocks per multiprocessor, more make barriers slower
START_THREADS, MOST_BLOCKS = 128, 1 << 12
BARRIERS = 3  #: of the grid in a hop with a table
MOST_AHEAD = 1 << 22  #: edges for which memory is taken before their number is known
SPARSENESS = 2  #: entries of a table per node and edge, at least
SAMPLING = Struct("Sampling", {
    "begin": "const long long*", "end": "const long long*",  # the rows of an index
    "other": "const uint32_t*", "number": "const uint32_t*",
    "time": "const long long*",  # of the log: of event n at n & mask
    "root": "const uint32_t*", "tree_key": "const uint64_t*",  # [trees]: see Trees
    "tree_cut": "const uint32_t*", "tree_low": "const uint32_t*",
    "node": "uint32_t*", "batch": "long long*", "node_cut": "uint32_t*",  # by node; the cuts with ``back`` only
    "row": "long long*", "col": "long long*", "event": "long long*", "time_of_edge": "long long*",  # by edge
    "stop": "long long*", "size": "long long*", "offset": "long long*",  # by node that is expanded; see count_hop
    "counts": "long long*", "new_counts": "long long*",  # [blocks]: edges of a hop, and those that lead to new nodes
    "ends": "long long*", "edge_ends": "long long*",  # [hops + 1]
    "arrived": "uint32_t*",  # of the barrier
    "keys": "uint64_t*", "places": "uint32_t*",  # the table
    "mask_of_table": "long long",
    "mask": "long long", "first": "long long", "next": "long long",  # of the log
    "trees": "long long", "fan": "long long",
    "low": "uint32_t", "hop": "uint32_t",  # the low bits of ``first``
    "recent": "uint32_t", "back": "uint32_t", "replace": "uint32_t", "through": "uint32_t", "is_last": "uint32_t",
    "expected": "uint32_t",  # of the barrier, before the launch
})  # fmt: skip
STARTED = Struct("Started", {  # [trees]: written, see Trees; low_of is its ``low``
    "root": "uint32_t*", "key": "uint64_t*", "cut": "uint32_t*", "low_of": "uint32_t*",
    "fault": "uint32_t*",  # set to 1: a root is no vertex, or a time is not final
}, base=STARTING)  # fmt: skip
PROGRAM = Program(
    HERE / "sample.cu", f"{constants({'SAMPLE_BLOCK': THREADS})}\n{SAMPLING.declaration}",
    include=(HERE.parent, cuda.HERE), cooperative=True,
)  # fmt: skip
START = Program(HERE / "start.cu", f"{STARTING.declaration}\n{STARTED.declaration}", include=(cuda.HERE,))


def programs() -> list[Program]:
    """Return the CUDA programs of samples."""
    return [START, PROGRAM, small_trees.PROGRAM]


def draw(rows: Any, record: Any, workspace: Workspace, plan: Plan, asked: Asked) -> tuple[Drawn, Array] | None:
    """Return what the loops draw, and of which trees events have left; None if a root or a time is invalid.

    Args:
        rows: the ``Rows`` of an index of the log.
        record: the record of the log.
        workspace: that of the log.
        plan: how many events to draw in each hop, and which.
        asked: the trees.

    Raises:
        CapacityError: too little memory, or too many nodes.
    """
    bounds = small_trees.bounds_of(plan.fan)
    if bounds is not None and bounds.edges * len(asked.vertices) <= MOST_AHEAD:
        return workspace.state(small_trees.SmallTrees).drawn(rows, record, plan, asked)
    sampling = Sampling(rows, record, plan, len(asked.vertices))
    trees, has_left = sampling.start(asked)
    drawn = sampling.drawn(trees)
    return None if drawn is None else (drawn, has_left)


@cache
def _blocks_on(device: Device) -> int:
    resident = min(PROGRAM.kernel(name).resident(THREADS) for name in ("count_hop", "draw_hop"))
    return multiprocessors(device) * min(resident, MOST_RESIDENT)


class Sampling:
    """A sample: its arrays, and how many entries of them are in use at most.

    Args:
        rows: the ``Rows`` of an index of the log.
        record: the record of the log.
        plan: how many events to draw in each hop, and which.
        count: number of trees.
    """

    def __init__(self, rows: Any, record: Any, plan: Plan, count: int) -> None:
        self.rows, self.record, self.plan, self.trees = rows, record, plan, count
        self.device, self.xp, self.blocks = record.device, record.device.xp, _blocks_on(record.device)
        # Edges by block, new nodes by block, ends of nodes, ends of edges; the barrier's counter; 1 if one is invalid.
        hops = len(plan.fan)
        self.places = [*accumulate((self.blocks, self.blocks, hops + 1, hops + 1, 1), initial=0)]
        self.nodes, self.edges = count, 0
        bounds = [*accumulate(plan.fan, mul, initial=count)][1:]
        self.is_bounded = min(plan.fan) > 0 and sum(bounds) <= MOST_AHEAD
        with out_of_memory("events"):
            self.counts = self.xp.zeros(self.places[-1] + 1, np.int64)
            self.of_nodes, self.of_edges = self._new(0, np.uint32, np.int64, np.uint32), self._new(0, *4 * [np.int64])
            self._provide(sum(bounds) if self.is_bounded else 0)

    def _new(self, size: int, *dtypes: Any) -> list[Array]:
        return [self.xp.empty(size, dtype) for dtype in dtypes]

    def _provide(self, more: int) -> None:
        """Make arrays long enough for ``more`` edges, and as many nodes; keep what is in them."""
        if self.nodes + more > LOW:
            raise CapacityError(
                f"a sample may have {self.nodes + more} nodes, 2^32 or more: take fewer roots at a time"
            )
        for arrays, held in ((self.of_nodes, self.nodes), (self.of_edges, self.edges)):
            for at, old in enumerate(arrays):
                if len(old) < held + more and (arrays is self.of_edges or at < 2 or self.plan.back):
                    arrays[at] = self.xp.empty(held + more, old.dtype)
                    kept = min(held, len(old))
                    arrays[at][:kept] = old[:kept]

    def start(self, asked: Asked) -> tuple[Trees, Array]:
        """Return the trees, and of which of them events have left; does not wait. The kernel checks roots and times."""
        asked = asked.compiled()
        with out_of_memory("events"):
            made = self._new(self.trees, np.uint32, np.uint64, np.uint32, np.uint32, bool)
        *trees, has_left = made
        given = STARTED.packed(
            *starting(self.record, asked, has_left.data.ptr, through=self.plan.through),
            *(array.data.ptr for array in trees), self.counts.data.ptr + 8 * self.places[-1],
        )  # fmt: skip
        if self.trees:
            blocks = min(-(-32 * self.trees // START_THREADS), MOST_BLOCKS)
            START.kernel("start_trees")((blocks,), (START_THREADS,), (given,))
        return Trees(*trees), has_left

    def drawn(self, trees: Trees) -> Drawn | None:
        """Queue all hops, wait, and return what they wrote; None if roots or times are invalid.

        Raises:
            CapacityError: too little memory, or too many nodes.
        """
        with out_of_memory("events"):
            self._queue(trees)
        host, hops = self.device.to_numpy(self.counts), len(self.plan.fan)
        if host[-1]:
            return None
        ends, edge_ends = (host[start : start + hops + 1].tolist() for start in self.places[2:4])
        node, batch, _ = (part[: ends[-1]] for part in self.of_nodes)
        row, col, event, time = (part[: edge_ends[-1]] for part in self.of_edges)
        nodes_per_hop = [ends[0], *(b - a for a, b in pairwise(ends))]
        return Drawn(node, row, col, event, time, batch, nodes_per_hop, [b - a for a, b in pairwise(edge_ends)])

    def _queue(self, trees: Trees) -> None:
        frontier = self.nodes
        given = tuple(array.data.ptr for array in (*self.rows, self.record.time, *trees))
        for hop, fan in enumerate(self.plan.fan):
            of_frontier, more = self.xp.empty((3, frontier), np.int64), frontier * fan
            self._launch("count_hop", hop, given, of_frontier, None)
            if not self.is_bounded:
                host = self.device.to_numpy(self.counts)
                more = int(host[: self.blocks].sum())
                self.nodes = int(host[self.places[2] + hop]) if hop else self.nodes
                self._provide(more)
            table = None if self.plan.back else self._new_table(self.nodes + more)
            self._launch("draw_hop", hop, given, of_frontier, table)
            self.nodes, self.edges, frontier = self.nodes + more, self.edges + more, more

    def _new_table(self, entries: int) -> Array:
        """Return a free table: keys of 64 bits, then places of 32, all of ones."""
        slots = 1 << max(SPARSENESS * entries - 1, 1).bit_length()
        table = self.xp.empty(3 * slots, np.uint32)
        table.data.memset_async(0xFF, table.nbytes)
        return table

    def _launch(self, name: str, hop: int, given: tuple[int, ...], of_frontier: Array, table: Array | None) -> None:
        record, plan, counts = self.record, self.plan, self.counts.data.ptr
        slots, keys = (0, 0) if table is None else (len(table) // 3, table.data.ptr)
        by_frontier = (of_frontier.data.ptr + 8 * k * of_frontier.shape[1] for k in range(3))
        packed = SAMPLING.packed(
            *given, *(array.data.ptr for array in (*self.of_nodes, *self.of_edges)), *by_frontier,
            *(counts + 8 * place for place in self.places[:-1]), keys, keys + 8 * slots, slots - 1,
            len(record.time) - 1, record.first, record.next, self.trees, plan.fan[hop], record.first & LOW, hop,
            plan.recent, plan.back, plan.replace, plan.through, hop + 1 == len(plan.fan),
            self.blocks * BARRIERS * hop & LOW,
        )  # fmt: skip
        PROGRAM.kernel(name)((self.blocks,), (THREADS,), (packed,))
