"""Components of a graph of several processes on CUDA, where most vertices are near a vertex of many neighbours.

In graphs with hubs the largest component lies around the vertex with the most neighbours. Its neighbours are reached
first. Then, in rounds, each process looks at some neighbours of those of its own vertices that were not reached: one
that was reached suffices (Slota, Rajamanickam and Madduri, 2014). A process has a bit per vertex; between two rounds
the processes combine their bits. The remaining vertices, which lie elsewhere or were not reached, are united along all
their arcs; the processes exchange these unions.

All launches are queued on the devices, and the host reads once, how many vertices remain. If these are too many, as in
grids, nothing was united, and Afforest finds the components.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.devices import Array
from suricate.cuda.pinned import Arriving
from suricate.kernels import Struct, assembled, enum, packed, program_over, resident_blocks

if TYPE_CHECKING:
    from suricate.base.types import StoreView
    from suricate.cuda.program import Program
    from suricate.graph import Graph
    from suricate.state.union_find import UnionFind

SOURCE = Path(__file__).with_name("divided.cu")
BLOCK, BLOCKS_PER_SM = 512, 3
ROUNDS = 3  #: after the neighbours of the hub
LEFT_OVER = 8  #: vertices left to unite are at most one in ``LEFT_OVER`` of those reached, and of a process's share,
LEAST = 64  #: or this number if the latter is smaller
HEAD, PAIR = 16, 8  #: bytes of a list of unions: in front of it, and of each
KERNELS = (
    "find_hub", "start_at_hub", "reach_further", "unite_reached", "unite_others", "list_unions", "take_unions",
)  # fmt: skip
PART = Struct(
    "Part",
    {
        "bits": "uint32_t*", "next": "uint32_t*", "num_vertices": "uint32_t", "low": "uint32_t", "high": "uint32_t",
        "rank": "uint32_t", "ranks": "uint32_t", "counts": "uint32_t",
    },
)  # fmt: skip
REACHED, LEFT, BY_RANK = 0, 1, 2  #: places of counts behind the bits
PRELUDE = "\n".join(
    [
        PART.declaration,
        enum("", {"CONNECT_BLOCK": BLOCK, "REACHED": REACHED, "LEFT": LEFT, "BY_RANK": BY_RANK, "UNIONS_HEAD": HEAD}),
    ]
)


def programs(view: StoreView) -> list[Program]:
    """Return the CUDA programs that read a graph through ``view``; CI compiles them without a GPU."""
    return [assembled(view, SOURCE, PRELUDE)]


def connect(graph: Graph, sets: UnionFind) -> Array | None:
    """Unite the ends of all edges of ``graph`` in ``sets``, where each vertex is a set of its own; collective.

    Returns:
        ``uint32[1]`` on the device, which the next call overwrites: a member of what is most likely the largest set;
        None if too many vertices are far from the hub: then nothing was united.
    """
    assert graph.partition is not None
    comm = graph.partition.comm
    with comm.alike():  # the last that may fail on one process
        run = _Run(graph, sets)
    run.find_hub()
    comm.add(run.counts(0), agreed=True)
    for number in range(ROUNDS + 1):
        run.reach(number)
        comm.add(run.exchanged(number + 1), agreed=True)
    reached, left = run.read()
    if left > min(reached // LEFT_OVER, run.most):
        return None
    size = run.unite(left)
    unions = run.unions[: size * comm.size]
    comm.share(unions, np.arange(comm.size + 1) * size, agreed=True)
    run.take(unions, size)
    sets.flatten()
    return run.largest


class _Run:
    """The launches by which one process takes part in finding the components.

    Attributes:
        unions: ``uint8[]``: the lists of unions of all processes, one after the other.
        most: the largest number of unreached vertices for which ``unions`` is long enough.
        largest: ``uint32[1]``, a member of what is most likely the largest set.
    """

    def __init__(self, graph: Graph, sets: UnionFind) -> None:
        part, n = graph.partition, graph.num_vertices
        assert part is not None
        self._comm, self._parent, local = part.comm, sets.parent, part.follow()
        out = local.view("out")
        self._views = packed(out), packed(local.view("in") if graph.directed else out), np.int32(graph.directed)
        self._program, self._blocks = _program(out), resident_blocks(graph.device.index, BLOCK, BLOCKS_PER_SM)
        for name in KERNELS:
            self._program.kernel(name)
        self._bits, counts = -(-n // 64), BY_RANK + part.comm.size
        width = self._bits + counts
        memory = local.workspace.array("connect.reached", (ROUNDS + 2) * width, np.uint64)
        self._all, self._buffers = memory, [memory[i * width : (i + 1) * width] for i in range(ROUNDS + 2)]
        self._fixed = n, part.ownership.low, part.ownership.high, part.comm.rank, part.comm.size, 2 * self._bits
        self.most = max(LEAST, n // (LEFT_OVER * part.comm.size))
        self.unions = local.workspace.array("connect.unions", part.comm.size * self._size(self.most), np.uint8)
        self.largest = local.workspace.array("connect.largest", 1, np.uint32)
        self._arriving = local.workspace.state(Arriving)

    def exchanged(self, number: int) -> Array:
        """Return the array that the processes add up, entry by entry, after launch ``number``; ``uint64[]``.

        Launch 0 is :meth:`find_hub`, launch ``i + 1`` is ``reach(i)``. The array begins with a bit per vertex, 1 if the
        vertex was reached; the numbers that :meth:`counts` returns follow.
        """
        return self._buffers[number]

    def counts(self, number: int) -> Array:
        """Return the counts after launch ``number``, ``uint64[2 + processes]``: the end of :meth:`exchanged`, a view.

        They are the number of reached vertices, the number of unreached ones with neighbours, and for each process a
        number that identifies its vertex with the most neighbours (launch 0) or a vertex that it reached.
        """
        return self._buffers[number][self._bits :]

    def find_hub(self) -> None:
        """Find the vertex with the most neighbours among those of this process, and write it to ``counts(0)``."""
        self._all.data.memset_async(0, self._all.nbytes)
        self._launch("find_hub", *self._views, self._part(0, 0))

    def reach(self, number: int) -> None:
        """Find vertices that are reached, and set their bits in ``exchanged(number + 1)``.

        For ``number`` 0 they are the hub, which has the most neighbours of all processes' vertices, and its neighbours.
        Later they are this process's vertices that were reached before, or have a reached vertex among their first
        neighbours.
        """
        name = "reach_further" if number else "start_at_hub"
        self._launch(name, *self._views, self._part(number, number + 1))

    def read(self) -> tuple[int, int]:
        """Return how many vertices all processes have reached, and how many with neighbours they have not; waits."""
        self._arriving.copy_from(self.counts(ROUNDS + 1)[:BY_RANK])
        self._comm.wait(self._arriving.has_arrived)
        reached, left = self._arriving.array[:BY_RANK].tolist()
        return reached, left

    def unite(self, left: int) -> int:
        """Unite the reached vertices, and this process's unreached vertices with their neighbours.

        ``left`` is the number of unreached vertices of all processes. Returns the bytes of each process's list of
        unions.
        """
        size = self._size(left)
        own, last = self.unions[self._comm.rank * size :], self._part(ROUNDS + 1, ROUNDS + 1)
        self._launch("unite_reached", last, self._parent, self.largest, own)
        self._launch("unite_others", *self._views, last, self._parent)
        self._launch("list_unions", last, self._parent, own)
        return size

    def take(self, unions: Array, size: int) -> None:
        """Apply the unions of the other processes; ``unions`` has one list per process, of ``size`` bytes each."""
        self._launch("take_unions", self._part(ROUNDS + 1, ROUNDS + 1), self._parent, unions, np.uint64(size))

    def _size(self, left: int) -> int:
        return -(-(HEAD + PAIR * (left + 1)) // HEAD) * HEAD

    def _part(self, bits: int, following: int) -> np.void:
        return PART.packed(self._buffers[bits].data.ptr, self._buffers[following].data.ptr, *self._fixed)

    def _launch(self, name: str, *arguments: Any) -> None:
        self._program.kernel(name)((self._blocks,), (BLOCK,), arguments)


def _program(view: StoreView) -> Program:
    """Return the program over ``view``, compiled without grid-wide barriers, which its launches do not need."""
    return _without_barriers(program_over(view, SOURCE, lambda _: PRELUDE))


@cache
def _without_barriers(program: Program) -> Program:
    return replace(program, cooperative=False)
