"""``hornet_like`` on the CPU: the functions of :class:`HornetKernels`; the loops are in ``loops.py``.

A block of class k has 2^k slots. A vertex *migrates* when its edges move to a block of another class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suricate.backends.hornet_like import loops
from suricate.backends.hornet_like.kernels import Plan
from suricate.backends.hornet_like.layout import BLOCKS, CLASSES, COUNTERS, EDGES, FREE, GROW, USED, Graph
from suricate.base.devices import Array
from suricate.cpu import threads
from suricate.primitives.cpu import rank, report_deletion, report_insertion, source_ranges
from suricate.primitives.located import ABSENT, LOOKUP, PRESENT, LocatedBatch, Report
from suricate.store.locating import locate_ascending


@dataclass(slots=True)
class CpuPlan(Plan):
    """How many blocks of each class the parts of a batch take and free; the loops find out which vertices move.

    ``taken`` and ``freed`` are int64[parts, CLASSES].
    """

    parts: list[slice]
    taken: np.ndarray
    freed: np.ndarray
    may_shrink: bool
    memory: list[tuple[np.ndarray, ...]]  # of each of several parts: counters, twice, and the free blocks it takes
    unchecked: bool = False

    def need(self) -> np.ndarray:
        """Return how many blocks of each class the migrations take, int64[CLASSES]."""
        return self.taken.sum(axis=0)


class HornetCpu:
    """The functions of :class:`HornetKernels`; threads work on parts of a batch, each with all entries of its vertices.

    ``batch`` is a sorted batch, ``weight`` has its weights as bits in the order before sorting; ``report`` receives
    status and old weight of each of its edges; ``edges`` is not used. ``ascending``: rows are ordered by destination.
    """

    def __init__(self, *, ascending: bool) -> None:
        self._ascending = ascending

    def locate(self, graph: Graph, batch: LocatedBatch, kind: int, edges: int) -> None:
        """Fill in ``batch.kind`` and ``batch.slot``.

        Unless ``kind`` is ``LOOKUP``, set ``batch.most`` to the number of entries of this kind.
        """
        if self._ascending:
            given = (graph.begin, graph.end, graph.dst, batch.keys, batch.kind, batch.slot, kind)
            batch.most = sum(threads.over(len(batch), locate_ascending, *given))
            return
        calls = [(graph, batch.keys[part], batch.kind[part], batch.slot[part]) for part in source_ranges(batch.keys)]
        threads.run(loops.locate, calls)
        if kind != LOOKUP:
            rank(batch, kind)

    def plan(
        self, graph: Graph, batch: LocatedBatch, edges: int, *, deleting: bool, may_shrink: bool = True
    ) -> CpuPlan:
        """Return how many blocks of each class inserting, or if ``deleting`` deleting, a batch takes and frees.

        Unless it ``may_shrink``, a deletion leaves blocks with edges as large as they are.
        """
        parts, given = source_ranges(batch.keys), (graph.begin, graph.end, graph.klass)
        taken, freed = (np.zeros((len(parts), CLASSES), np.int64) for _ in range(2))
        changes = PRESENT if deleting else ABSENT
        threads.run(loops.plan, [
            (*given, batch.keys[part], batch.kind[part], changes, may_shrink, taken[i], freed[i])
            for i, part in enumerate(parts)
        ])  # fmt: skip
        counts = taken.sum(axis=1).tolist() if len(parts) > 1 else []
        memory = [(*np.zeros((2, COUNTERS), np.int64), np.empty(count, np.uint32)) for count in counts]
        return CpuPlan(parts, taken, freed, may_shrink, memory)

    def insert(self, graph: Graph, batch: LocatedBatch, plan: Plan | None, weight: Array, report: Report) -> bool:
        """Insert the absent edges of a batch, replace weights of the present ones, and write ``report``.

        ``plan`` is the result of :meth:`plan`; None if no edge is absent. Return True: no batch is ever refused.
        """
        report_insertion(batch, graph.weight, weight, report)
        _carry_out(graph, plan, loops.apply_insert, (batch.keys, batch.order, batch.kind), weight, self._ascending)
        return True

    def delete(self, graph: Graph, batch: LocatedBatch, plan: Plan | None, report: Report) -> bool:
        """Delete the present edges of a batch, move vertices to smaller blocks, and write ``report``.

        ``plan`` is the result of :meth:`plan`; None if no edge is present. Return True: no batch is ever refused.
        """
        report_deletion(batch, graph.weight, report)
        more = isinstance(plan, CpuPlan) and plan.may_shrink, self._ascending
        _carry_out(graph, plan, loops.apply_delete, (batch.keys, batch.kind, batch.slot), *more)
        return True

    free_vertices = staticmethod(loops.free_vertices)


def _carry_out(graph: Graph, plan: Plan | None, loop: Any, entries: tuple[Array, ...], *more: Any) -> None:
    """Run ``loop`` over each part of a located batch, with the blocks that ``plan`` reserves; None: do nothing.

    ``loop`` is ``apply_insert`` or ``apply_delete`` of ``loops.py``. ``entries`` are arrays of the batch, of which each
    call gets its part; ``more`` are further arguments of the loop.
    The edges and pressures counted by the parts are added to the counters of ``graph`` in place.
    """
    if plan is None:
        return
    assert isinstance(plan, CpuPlan)
    shares = _shares(graph, plan)
    calls = zip(shares, plan.parts, strict=True)
    threads.run(loop, [(*share, *(array[part] for array in entries), *more) for share, part in calls])
    for gives, _ in shares:
        if gives is not graph:
            graph.counters[EDGES] += gives.counters[EDGES]
            graph.counters[GROW:] += gives.counters[GROW:]


def _shares(graph: Graph, plan: CpuPlan) -> list[tuple[Graph, Graph]]:
    """Return two graphs for each part of a batch: one in which the part frees blocks, one from which it takes blocks.

    ``plan`` says how many blocks of each class a part takes and frees. The counters of ``graph`` are changed in place
    to what they are after all parts. A part takes free blocks, copied to stacks of its own, while there are some, then
    slots of the pool behind those of earlier parts. The blocks that a part frees go on the stacks of ``graph``, above
    the blocks left there and those freed by earlier parts. A single part gets ``graph`` itself twice, unchanged.
    """
    if len(plan.parts) == 1:
        return [(graph, graph)]
    counters, takes, gives = graph.counters, [], []
    height = counters[FREE:GROW]
    for need, (own, _, stacks) in zip(plan.taken, plan.memory, strict=True):
        taken = np.minimum(need, height)
        own[USED], own[FREE:GROW] = counters[USED], taken
        begins = np.cumsum(taken) - taken
        for k in np.flatnonzero(taken):
            end = graph.stack_begin[k] + height[k]
            stacks[begins[k] : begins[k] + taken[k]] = graph.stacks[end - taken[k] : end]
        takes.append(graph._replace(counters=own, stacks=stacks, stack_begin=begins))
        height -= taken
        counters[BLOCKS:FREE] += need - taken
        counters[USED] += ((need - taken) << np.arange(CLASSES)).sum()
    for freed, (_, own, _) in zip(plan.freed, plan.memory, strict=True):
        own[FREE:GROW] = height
        gives.append(graph._replace(counters=own))
        height += freed
    return list(zip(gives, takes, strict=True))
