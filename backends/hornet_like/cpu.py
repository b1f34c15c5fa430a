"""``hornet_like`` on the CPU: see ``kernels.py``; the loops are in ``loops.py``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suricate import threads
from suricate.backends.hornet_like import loops
from suricate.backends.hornet_like.kernels import Plan
from suricate.backends.hornet_like.layout import CLASSES, Graph
from suricate.devices import Array
from suricate.primitives.cpu import rank, report_deletion, report_insertion, source_ranges
from suricate.primitives.located import ABSENT, LOOKUP, PRESENT, LocatedBatch, Report


@dataclass(slots=True)
class CpuPlan(Plan):
    """The blocks that migrations take; the loops work out again which vertices migrate."""

    blocks: np.ndarray
    may_shrink: bool = True
    unchecked: bool = False

    def need(self) -> np.ndarray:
        """See :meth:`Plan.need`."""
        return self.blocks


class HornetCpu:
    """The functions of :class:`HornetKernels`; ``ascending``: whether adjacencies are."""

    def __init__(self, *, ascending: bool) -> None:
        self._ascending = ascending

    def locate(self, graph: Graph, batch: LocatedBatch, kind: int, edges: int) -> None:
        """See :meth:`HornetKernels.locate`."""
        locate = loops.locate_sorted if self._ascending else loops.locate
        given, parts = (graph.begin, graph.end, graph.dst), source_ranges(batch.keys)
        threads.run(locate, [(*given, batch.keys[part], batch.kind[part], batch.slot[part]) for part in parts])
        if kind != LOOKUP:
            rank(batch, kind)

    def plan_insertion(self, graph: Graph, batch: LocatedBatch, edges: int) -> CpuPlan:
        """See :meth:`HornetKernels.plan_insertion`."""
        return _plan(graph, batch, ABSENT)

    def plan_deletion(self, graph: Graph, batch: LocatedBatch, edges: int, may_shrink: bool) -> CpuPlan:
        """See :meth:`HornetKernels.plan_deletion`."""
        return _plan(graph, batch, PRESENT) if may_shrink else CpuPlan(np.zeros(CLASSES, np.int64), False)

    def insert(self, graph: Graph, batch: LocatedBatch, plan: Plan | None, weight: Array, report: Report) -> bool:
        """See :meth:`HornetKernels.insert`."""
        report_insertion(batch, graph.weight, weight, report)
        if plan is not None:
            loops.apply_insert(graph, batch.keys, batch.order, batch.kind, weight, self._ascending)
        return True

    def delete(self, graph: Graph, batch: LocatedBatch, plan: Plan | None, report: Report) -> bool:
        """See :meth:`HornetKernels.delete`."""
        report_deletion(batch, graph.weight, report)
        if plan is not None:
            assert isinstance(plan, CpuPlan)
            loops.apply_delete(graph, batch.keys, batch.kind, batch.slot, plan.may_shrink, self._ascending)
        return True

    def free_vertices(self, graph: Graph, vertices: Array) -> None:
        """See :meth:`HornetKernels.free_vertices`."""
        loops.free_vertices(graph, vertices)


def _plan(graph: Graph, batch: LocatedBatch, changes: int) -> CpuPlan:
    parts, given = source_ranges(batch.keys), (graph.begin, graph.end, graph.klass)
    need = np.zeros((len(parts), CLASSES), np.int64)
    calls = [(*given, batch.keys[part], batch.kind[part], changes, own) for part, own in zip(parts, need, strict=True)]
    threads.run(loops.plan, calls)
    return CpuPlan(need.sum(axis=0))
