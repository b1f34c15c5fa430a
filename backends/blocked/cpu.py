"""``blocked`` on the CPU: the functions of :class:`BlockedKernels`; the loops are in ``loops.py``.

``batch`` is a sorted batch, ``weight`` has its weights as bits in the order before sorting; ``report`` receives status
and old weight of each of its edges; ``edges`` is not used. A large batch is cut into parts for several threads. A part
has all entries of its vertices.
"""

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
    """The parts of a batch, and how many blocks each of them takes or frees; the loops choose the blocks."""

    parts: list[slice]
    blocks: list[int]

    def need(self) -> int:
        """Return how many blocks the insertion takes."""
        return sum(self.blocks)


def locate(graph: Graph, batch: LocatedBatch, kind: int, edges: int) -> None:
    """Fill in ``batch.kind`` and ``batch.slot`` (-1: not stored).

    Unless ``kind`` is ``LOOKUP``, set ``batch.most`` to the number of entries of this kind.
    """
    parts = source_ranges(batch.keys)
    threads.run(loops.locate, [(graph, batch.keys[part], batch.kind[part], batch.slot[part]) for part in parts])
    if kind != LOOKUP:
        rank(batch, kind)


def plan_insertion(graph: Graph, batch: LocatedBatch, edges: int) -> CpuPlan:
    """Return how many blocks each part of a located batch takes when it is inserted."""
    return _plan(graph, batch, ABSENT, 1)


def _plan(graph: Graph, batch: LocatedBatch, changes: int, sign: int) -> CpuPlan:
    """Return the parts of a located batch, and how many blocks each of them takes (``sign`` is 1) or frees (-1).

    ``changes`` is the kind of the entries that change the graph: ``ABSENT`` or ``PRESENT``.
    """
    parts = [slice(0, len(batch))] if len(graph.block_mark) else source_ranges(batch.keys)  # marks are for one thread
    calls = [(graph, batch.keys[part], batch.kind[part], changes, sign) for part in parts]
    return CpuPlan(parts, threads.run(loops.count_blocks, calls))


def insert(graph: Graph, batch: LocatedBatch, plan: Plan | None, weight: Array, report: Report) -> None:
    """Append the absent edges of a batch, replace the weights of the present ones, and write ``report``.

    ``plan`` is the result of :func:`plan_insertion`, or None if no edge is absent.
    """
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
    """Delete the present edges of a batch, fill their slots with the vertex's last edges, and write ``report``."""
    report_deletion(batch, graph.weight, report)
    plan = _plan(graph, batch, PRESENT, -1)
    owns = _give(graph, plan.blocks)
    calls = [(own, batch.keys[part], batch.slot[part]) for own, part in zip(owns, plan.parts, strict=True)]
    threads.run(loops.apply_delete, calls)
    _add_up(graph, owns)


# -- blocks of several threads -----------------------------------------------------------------------------------------


def _take(graph: Graph, blocks: list[int]) -> list[Graph]:
    """Return a graph for each part of an insertion; part i takes ``blocks[i]`` blocks from it, free ones first.

    The graph of a part has counters and a range of the stack of free blocks of its own, else the arrays of ``graph``,
    whose counters are changed in place to what they are after all parts. A single part gets ``graph`` itself,
    unchanged.
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
    """Return a graph for each part of a deletion; part i puts the ``blocks[i]`` blocks that it frees on its stack.

    The graph of a part has counters and a range of the stack of free blocks of its own, else the arrays of ``graph``,
    whose counter FREE is increased in place. A single part gets ``graph`` itself, unchanged.
    """
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
    """Add the edges that the parts ``owns`` have counted (their counter EDGES) to those of ``graph``, in place."""
    for own in owns:
        if own is not graph:
            graph.counters[EDGES] += own.counters[EDGES]


pack, unpack = loops.pack, loops.unpack


def free_vertices(graph: Graph, vertices: Array) -> None:
    """Free the chains of distinct ``vertices`` (uint32[k]); threads free ranges of them at the same time."""
    rest = (1 << graph.shift) - 1
    work = int(graph.degree[vertices].sum(dtype=np.int64)) + len(vertices)
    ranges = threads.ranges(len(vertices), 1 if len(graph.block_mark) else threads.parts(work))
    blocks = [int(((graph.degree[vertices[a:b]].astype(np.int64) + rest) >> graph.shift).sum()) for a, b in ranges]
    owns = _give(graph, blocks)
    threads.run(loops.free_vertices, [(own, vertices[a:b]) for own, (a, b) in zip(owns, ranges, strict=True)])
    _add_up(graph, owns)


def repack(graph: Graph, fresh: Graph, vertex: int, first: Array) -> None:
    """Copy the chains of vertices from ``vertex`` on into consecutive blocks, from ``first`` (uint32[k]) on."""
    parts = threads.parts(fresh.blocks << graph.shift)
    marks = (fresh.blocks * np.arange(1, parts) // parts).astype(first.dtype)
    cuts = [0, *np.searchsorted(first, marks).tolist(), len(first)]
    threads.run(loops.repack, [(graph, fresh, vertex, first, *part) for part in pairwise(cuts)])


def count_marked(graph: Graph) -> tuple[int, int]:
    """Return how many blocks and how many vertices are flagged as changed."""
    return int(graph.counters[BLOCKS]), int(graph.counters[VERTICES])


def list_marked(graph: Graph, packet: Packet) -> None:
    """Write the ids of all flagged blocks to ``packet.block``, and of all flagged vertices to ``packet.vertex``."""
    packet.block[:] = graph.block_list[: len(packet.block)]
    packet.vertex[:] = graph.vertex_list[: len(packet.vertex)]
