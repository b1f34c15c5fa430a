"""``blocked`` on the CPU: see ``kernels.py``; the loops are in ``loops.py``."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from suricate.backends.blocked import loops, small  # noqa: F401 - of these kernels, too
from suricate.backends.blocked.kernels import Plan
from suricate.backends.blocked.layout import BLOCKS, EDGES, FREE, LOWEST, USED, VERTICES, Graph, Packet
from suricate.base.devices import Array
from suricate.cpu import threads
from suricate.primitives.cpu import rank, report_deletion, report_insertion, source_ranges
from suricate.primitives.located import ABSENT, LOOKUP, PRESENT, LocatedBatch, Report

APART = [0] * 16  #: behind the counters of a part: those of others lie in other lines of the cache


@dataclass(slots=True)
class CpuPlan(Plan):
    """The number of blocks that each part of an insertion takes; the loops pick the blocks."""

    parts: list[slice]
    blocks: list[int]

    def need(self) -> int:
        """See :meth:`Plan.need`."""
        return sum(self.blocks)


def locate(graph: Graph, batch: LocatedBatch, kind: int, edges: int) -> None:
    """See :meth:`BlockedKernels.locate`."""
    parts = source_ranges(batch.keys)
    threads.run(loops.locate, [(graph, batch.keys[part], batch.kind[part], batch.slot[part]) for part in parts])
    if kind != LOOKUP:
        rank(batch, kind)


def plan_insertion(graph: Graph, batch: LocatedBatch, edges: int) -> CpuPlan:
    """See :meth:`BlockedKernels.plan_insertion`."""
    return _plan(graph, batch, ABSENT)


def _plan(graph: Graph, batch: LocatedBatch, changes: int) -> CpuPlan:
    """Return the parts of a batch, and how many blocks each takes, or gives back."""
    parts = [slice(0, len(batch))] if len(graph.block_mark) else source_ranges(batch.keys)  # marks are for one thread
    calls = [(graph, batch.keys[part], batch.kind[part], changes) for part in parts]
    return CpuPlan(parts, threads.run(loops.count_blocks, calls))


def insert(graph: Graph, batch: LocatedBatch, plan: Plan | None, weight: Array, report: Report) -> None:
    """See :meth:`BlockedKernels.insert`."""
    report_insertion(batch, graph.weight, weight, report)
    if plan is None:
        plan = CpuPlan([slice(0, len(batch))], [0])
    assert isinstance(plan, CpuPlan)
    parts, owns, reported = plan.parts, _take(graph, plan.blocks), (weight, report.status)
    threads.run(loops.apply_insert, [
        (own, batch.keys[part], batch.order[part], batch.kind[part], batch.slot[part], *reported)
        for own, part in zip(owns, parts, strict=True)
    ])  # fmt: skip
    _add_up(graph, owns)


def delete(graph: Graph, batch: LocatedBatch, report: Report, edges: int) -> None:
    """See :meth:`BlockedKernels.delete`."""
    report_deletion(batch, graph.weight, report)
    plan = _plan(graph, batch, PRESENT)
    owns = _give(graph, plan.blocks)
    calls = [(own, batch.keys[part], batch.slot[part]) for own, part in zip(owns, plan.parts, strict=True)]
    threads.run(loops.apply_delete, calls)
    _add_up(graph, owns)


# -- blocks of several threads -----------------------------------------------------------------------------------------


def _take(graph: Graph, blocks: list[int]) -> list[Graph]:
    """Return the graph as each part sees it; a part takes its number of blocks, free ones first, then new ones.

    Each has counters of its own, and its share of the stack of free blocks; both are gone from the graph's.
    """
    if len(blocks) == 1:
        return [graph]
    owns, counters = [], graph.counters
    for need in blocks:
        height = int(counters[FREE])
        free = min(need, height)
        owns.append(_own(graph, graph.free[height - free : height], free))
        counters[FREE] -= free
        counters[USED] += need - free
    counters[LOWEST] = min(counters[LOWEST], counters[FREE])
    return owns


def _give(graph: Graph, blocks: list[int]) -> list[Graph]:
    """Return the graph as each part sees it; a part puts the number of blocks that it frees on the graph's stack."""
    if len(blocks) == 1:
        return [graph]
    owns, counters = [], graph.counters
    for count in blocks:
        height = int(counters[FREE])
        owns.append(_own(graph, graph.free[height : height + count], 0))
        counters[FREE] += count
    return owns


def _own(graph: Graph, free: Array, height: int) -> Graph:
    counters = np.array([*graph.counters.tolist(), *APART])
    counters[EDGES], counters[FREE] = 0, height
    return graph._replace(free=free, counters=counters)


def _add_up(graph: Graph, owns: list[Graph]) -> None:
    """Add the edges that parts have counted to those of the graph."""
    for own in owns:
        if own is not graph:
            graph.counters[EDGES] += own.counters[EDGES]


pack, unpack = loops.pack, loops.unpack


def free_vertices(graph: Graph, vertices: Array) -> None:
    """See :meth:`BlockedKernels.free_vertices`."""
    rest = (1 << graph.shift) - 1
    work = int(graph.degree[vertices].sum(dtype=np.int64)) + len(vertices)
    ranges = threads.ranges(len(vertices), 1 if len(graph.block_mark) else threads.parts(work))
    blocks = [int(((graph.degree[vertices[a:b]].astype(np.int64) + rest) >> graph.shift).sum()) for a, b in ranges]
    owns = _give(graph, blocks)
    threads.run(loops.free_vertices, [(own, vertices[a:b]) for own, (a, b) in zip(owns, ranges, strict=True)])
    _add_up(graph, owns)


def repack(graph: Graph, fresh: Graph, first: Array) -> None:
    """See :meth:`BlockedKernels.repack`."""
    parts = threads.parts(fresh.blocks << graph.shift)
    marks = (fresh.blocks * np.arange(1, parts) // parts).astype(first.dtype)
    cuts = [0, *np.searchsorted(first, marks).tolist(), len(first)]
    threads.run(loops.repack, [(graph, fresh, first, *part) for part in pairwise(cuts)])


def count_marked(graph: Graph) -> tuple[int, int]:
    """See :meth:`BlockedKernels.count_marked`."""
    return int(graph.counters[BLOCKS]), int(graph.counters[VERTICES])


def list_marked(graph: Graph, packet: Packet) -> None:
    """See :meth:`BlockedKernels.list_marked`."""
    packet.block[:] = graph.block_list[: len(packet.block)]
    packet.vertex[:] = graph.vertex_list[: len(packet.vertex)]
