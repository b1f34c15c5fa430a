"""``blocked`` on the CPU: see ``kernels.py``; the loops are in ``loops.py``."""

from __future__ import annotations

from dataclasses import dataclass

from suricate.backends.blocked import loops, small
from suricate.backends.blocked.kernels import Plan
from suricate.backends.blocked.layout import BLOCKS, VERTICES, Graph, Packet
from suricate.devices import Array
from suricate.primitives.cpu import rank, report_deletion, report_insertion
from suricate.primitives.located import LOOKUP, LocatedBatch, Report


@dataclass(slots=True)
class CpuPlan(Plan):
    """How many blocks an insertion takes; which they are is found when they are taken."""

    blocks: int

    def need(self) -> int:
        """See :meth:`Plan.need`."""
        return self.blocks


def locate(graph: Graph, batch: LocatedBatch, kind: int, edges: int) -> None:
    """See :meth:`BlockedKernels.locate`."""
    loops.locate(graph, batch.keys, batch.kind, batch.slot)
    if kind != LOOKUP:
        rank(batch, kind)


def plan_insertion(graph: Graph, batch: LocatedBatch) -> CpuPlan:
    """See :meth:`BlockedKernels.plan_insertion`."""
    return CpuPlan(loops.need(graph, batch.keys, batch.kind))


def insert(graph: Graph, batch: LocatedBatch, plan: Plan | None, weight: Array, report: Report) -> None:
    """See :meth:`BlockedKernels.insert`."""
    report_insertion(batch, graph.weight, weight, report)
    loops.apply_insert(graph, batch.keys, batch.order, batch.kind, batch.slot, weight, report.status)


def delete(graph: Graph, batch: LocatedBatch, report: Report) -> None:
    """See :meth:`BlockedKernels.delete`."""
    report_deletion(batch, graph.weight, report)
    loops.apply_delete(graph, batch.keys, batch.slot)


insert_small, delete_small = small.insert, small.delete


def free_vertices(graph: Graph, vertices: Array) -> None:
    """See :meth:`BlockedKernels.free_vertices`."""
    loops.free_vertices(graph, vertices)


def repack(graph: Graph, fresh: Graph, first: Array) -> None:
    """See :meth:`BlockedKernels.repack`."""
    loops.repack(graph, fresh, first)


def count_marked(graph: Graph) -> tuple[int, int]:
    """See :meth:`BlockedKernels.count_marked`."""
    return int(graph.counters[BLOCKS]), int(graph.counters[VERTICES])


def list_marked(graph: Graph, packet: Packet) -> None:
    """See :meth:`BlockedKernels.list_marked`."""
    packet.block[:] = graph.block_list[: len(packet.block)]
    packet.vertex[:] = graph.vertex_list[: len(packet.vertex)]


def pack(graph: Graph, packet: Packet) -> None:
    """See :meth:`BlockedKernels.pack`."""
    loops.pack(graph, packet)


def unpack(graph: Graph, packet: Packet) -> None:
    """See :meth:`BlockedKernels.unpack`."""
    loops.unpack(graph, packet)
