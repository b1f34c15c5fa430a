"""``hornet_like`` on the CPU: see ``kernels.py``; the loops are in ``loops.py``."""

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
    """The blocks of each class that migrations take and free, by parts; the loops find out who migrates."""

    parts: list[slice]
    taken: np.ndarray
    freed: np.ndarray
    may_shrink: bool
    memory: list[tuple[np.ndarray, ...]]  # of each of several parts: counters, twice, and the free blocks it takes
    unchecked: bool = False

    def need(self) -> np.ndarray:
        """See :meth:`Plan.need`."""
        return self.taken.sum(axis=0)


class HornetCpu:
    """The functions of :class:`HornetKernels`; ``ascending``: whether adjacencies are."""

    def __init__(self, *, ascending: bool) -> None:
        self._ascending = ascending

    def locate(self, graph: Graph, batch: LocatedBatch, kind: int, edges: int) -> None:
        """See :meth:`HornetKernels.locate`."""
        if self._ascending:
            given = (graph.begin, graph.end, graph.dst, batch.keys, batch.kind, batch.slot, kind)
            batch.most = sum(threads.over(len(batch), locate_ascending, *given))
            return
        calls = [(graph, batch.keys[part], batch.kind[part], batch.slot[part]) for part in source_ranges(batch.keys)]
        threads.run(loops.locate, calls)
        if kind != LOOKUP:
            rank(batch, kind)

    def plan_insertion(self, graph: Graph, batch: LocatedBatch, edges: int) -> CpuPlan:
        """See :meth:`HornetKernels.plan_insertion`."""
        return _plan(graph, batch, ABSENT)

    def plan_deletion(self, graph: Graph, batch: LocatedBatch, edges: int, may_shrink: bool) -> CpuPlan:
        """See :meth:`HornetKernels.plan_deletion`."""
        return _plan(graph, batch, PRESENT, may_shrink)

    def insert(self, graph: Graph, batch: LocatedBatch, plan: Plan | None, weight: Array, report: Report) -> bool:
        """See :meth:`HornetKernels.insert`."""
        report_insertion(batch, graph.weight, weight, report)
        _carry_out(graph, plan, loops.apply_insert, (batch.keys, batch.order, batch.kind), weight, self._ascending)
        return True

    def delete(self, graph: Graph, batch: LocatedBatch, plan: Plan | None, report: Report) -> bool:
        """See :meth:`HornetKernels.delete`."""
        report_deletion(batch, graph.weight, report)
        more = isinstance(plan, CpuPlan) and plan.may_shrink, self._ascending
        _carry_out(graph, plan, loops.apply_delete, (batch.keys, batch.kind, batch.slot), *more)
        return True

    free_vertices = staticmethod(loops.free_vertices)


def _plan(graph: Graph, batch: LocatedBatch, changes: int, may_shrink: bool = True) -> CpuPlan:
    parts, given = source_ranges(batch.keys), (graph.begin, graph.end, graph.klass)
    taken, freed = (np.zeros((len(parts), CLASSES), np.int64) for _ in range(2))
    threads.run(loops.plan, [
        (*given, batch.keys[part], batch.kind[part], changes, may_shrink, taken[i], freed[i])
        for i, part in enumerate(parts)
    ])  # fmt: skip
    counts = taken.sum(axis=1).tolist() if len(parts) > 1 else []
    memory = [(*np.zeros((2, COUNTERS), np.int64), np.empty(count, np.uint32)) for count in counts]
    return CpuPlan(parts, taken, freed, may_shrink, memory)


def _carry_out(graph: Graph, plan: Plan | None, loop: Any, entries: tuple[Array, ...], *more: Any) -> None:
    """Carry a plan out, if there is one, by a loop over each part of ``entries``; add up what they have counted."""
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
    """Return, per part, the graphs to free blocks in and to take them from; their counters are final already.

    A part takes copies of free blocks while there are some, then slots of the pool behind those of the parts before.
    What it frees goes on the stacks behind what is left there and what the parts before it free.
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
