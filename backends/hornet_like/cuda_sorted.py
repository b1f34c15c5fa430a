"""``hornet_like`` with ascending adjacencies on CUDA: a batch is one launch of ``sorted.cu``.

A block of class k has 2^k slots. A vertex *migrates* when its edges move to a block of another class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suricate.backends.hornet_like.cuda import free_vertices, sorted_program
from suricate.backends.hornet_like.kernels import Plan
from suricate.backends.hornet_like.layout import CLASSES, COUNTS, GRAPH, NEED, UPDATE, PlacedGraph
from suricate.backends.hornet_like.ledger import move_chunks
from suricate.base.devices import Array, Device
from suricate.cuda.launch import GridBarrier, StructKernel, multiprocessors
from suricate.cuda.pinned import PinnedCounters
from suricate.cuda.structs import joined
from suricate.primitives.cuda import weight_bits
from suricate.primitives.located import CHANGE_BLOCK, LocatedBatch, Report, Scratch, scratch_offsets, values

BARRIERS = 3  #: of the grid in an update that are counted on the host; 1 if it is resumed
LARGEST = (1 << 32) - 1
POLLS = 1 << 15  #: of the answer whether the pool is large enough, before the host waits for the end of the kernel
MORE_CHUNKS = 1 << 10  #: scratch memory is for a multiple of this number of chunks, so that its size seldom changes
ARGUMENTS = joined(UPDATE.packer, GRAPH.packer)


@dataclass(slots=True)
class SortedPlan(Plan):
    """An update that is yet to be applied: its batch, an upper bound of the edges in the graph, and its scratch memory.

    The launch that applies it also plans it; if that launch is refused, a second one continues from the plan.
    """

    kernels: HornetSorted
    graph: PlacedGraph
    batch: LocatedBatch
    edges: int
    deleting: bool
    may_shrink: bool
    unchecked: bool = False
    scratch: tuple[tuple[int, ...], Any] | None = None  # addresses and memory, from the first launch on

    def need(self) -> np.ndarray:
        """Return how many blocks of each class the migrations take, int64[CLASSES]; waits for the device."""
        return self.kernels.planned(self)


class HornetSorted:
    """The functions of :class:`HornetKernels` for one store with ascending rows.

    ``batch`` is a sorted batch, ``edges`` an upper bound of the number of edges in ``graph``. ``weight`` has the
    weights of the batch as bits, in the order before sorting; ``report`` receives status and old weight of each of its
    edges.
    """

    def __init__(self, device: Device, weight_dtype: np.dtype | None) -> None:
        self._device, self._bits = device, weight_bits(weight_dtype)
        self._barrier, self._scratch, self._laps = GridBarrier(device), Scratch(device), device.xp.zeros(1, np.uint32)
        self._counts, self._planned = device.xp.zeros(COUNTS, np.int64), device.xp.zeros(COUNTS, np.int64)
        self._kernel: StructKernel | None = None
        self._answers = PinnedCounters(device, 1)
        self._blocks, self._calls = 0, 0
        self._status = device.xp.empty(0, np.uint8)

    def locate(self, graph: PlacedGraph, batch: LocatedBatch, kind: int, edges: int) -> None:
        """Do nothing: the launch that applies the batch locates it."""

    def plan(
        self, graph: PlacedGraph, batch: LocatedBatch, edges: int, *, deleting: bool, may_shrink: bool = True
    ) -> SortedPlan:
        """Return the plan of inserting, or if ``deleting`` deleting, ``batch``; nothing is launched.

        Unless it ``may_shrink``, a deletion leaves blocks with edges as large as they are.
        """
        return SortedPlan(self, graph, batch, edges, deleting, may_shrink)

    def planned(self, plan: SortedPlan) -> np.ndarray:
        """Return how many blocks of each class the migrations of ``plan`` take, int64[CLASSES]; waits for the device.

        If the kernel has not planned them yet, it is launched for that only.
        """
        if plan.scratch is None:
            self._launch(plan.graph, plan, self._status, Report(self._status, self._status), only_plans=True)
        return self._planned.get()[NEED : NEED + CLASSES]

    def insert(self, graph: PlacedGraph, batch: LocatedBatch, plan: Plan | None, weight: Array, report: Report) -> bool:
        """Launch the insertion of a batch, planned as ``plan``; return whether it was applied.

        It is refused, with nothing changed, if ``plan.unchecked`` is set and the pool is too small.
        """
        assert isinstance(plan, SortedPlan)
        return self._launch(graph, plan, weight, report)

    def delete(self, graph: PlacedGraph, batch: LocatedBatch, plan: Plan | None, report: Report) -> bool:
        """Launch the deletion of a batch, planned as ``plan``; return whether it was applied, see :meth:`insert`."""
        assert isinstance(plan, SortedPlan)
        return self._launch(graph, plan, report.before, report)

    def _launch(
        self, graph: PlacedGraph, plan: SortedPlan, weight: Array, report: Report, *, only_plans: bool = False
    ) -> bool:
        """Launch the update of ``plan``, or with ``only_plans`` its planning; return False if the kernel refused it.

        Only an unchecked plan can be refused; the host waits for that answer. ``graph`` has the present arrays, which
        may be larger than when the plan was made.
        """
        kernel, batch = self._kernel, plan.batch
        if kernel is None:
            kernel = self._kernel = StructKernel(sorted_program(self._bits), "update_sorted", ARGUMENTS.size)
            self._blocks = multiprocessors(self._device) * kernel.resident(CHANGE_BLOCK)
        size, resumed = len(batch), plan.scratch is not None
        if plan.scratch is None:
            rows, chunks = min(size, len(graph.begin)) + 1, move_chunks(plan.edges) + 1 + MORE_CHUNKS & -MORE_CHUNKS
            plan.scratch = self._scratch((size, rows, chunks), lambda: self._offsets(size, rows, chunks))
        addresses = plan.scratch[0]
        begin, end, _, dst, bits, *_ = places = graph.places
        barrier, answers = self._barrier, self._answers
        self._calls = (self._calls + 1) & LARGEST
        ARGUMENTS.pack_into(
            kernel.buffer, 0, *values(batch, (begin, end, dst, bits), weight, report, addresses[:5]),
            barrier.address, barrier.expected(self._blocks, 1 if resumed else BARRIERS), plan.deleting, *addresses[5:],
            self._counts.data.ptr, self._planned.data.ptr, self._laps.data.ptr,
            len(graph.dst), answers.address if plan.unchecked else 0, self._calls, plan.may_shrink, only_plans, resumed,
            *places,
        )  # fmt: skip
        answers.busy = answers.busy or plan.unchecked
        kernel.launch(self._blocks, CHANGE_BLOCK)
        return not plan.unchecked or only_plans or self._was_applied()

    def _offsets(self, size: int, rows: int, chunks: int) -> tuple[int, ...]:
        """Return the offsets of the scratch arrays in bytes, in the order of ``Update``, and last the size of all.

        The batch has ``size`` entries; ``rows`` and ``chunks`` are the lengths of the arrays with an entry per vertex
        whose edges move, and per ``MOVE_CHUNK`` edges that move.
        """
        return scratch_offsets(
            size, self._blocks, 8 * size, *(4 * size,) * 3, *(8 * size,) * 3, *(4 * size,) * 4, size,
            8 * rows, 8 * rows, 8 * rows, 4 * rows, *(4 * chunks,) * 3, 8 * self._blocks, 4 * self._blocks,
            8 * (COUNTS + 1) * self._blocks,
        )  # fmt: skip

    def _was_applied(self) -> bool:
        """Return whether the kernel just launched found the pool large enough; wait for its answer."""
        words, applied = self._answers.words, self._calls << 1 | 1
        for _ in range(POLLS):
            if words[0] | 1 == applied:
                return bool(words[0] == applied)
        self._device.xp.cuda.get_current_stream().synchronize()
        return bool(words[0] == applied)

    free_vertices = staticmethod(free_vertices)
