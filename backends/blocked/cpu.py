"""``blocked`` on the CPU: see ``kernels.py``; the loops are in ``loops.py``."""

from __future__ import annotations

from suricate.backends.blocked import loops
from suricate.backends.blocked.layout import Graph
from suricate.devices import Array
from suricate.primitives.cpu import rank, report_deletion, report_insertion
from suricate.primitives.located import LOOKUP, LocatedBatch, Report


def locate(graph: Graph, batch: LocatedBatch, kind: int) -> None:
    """See :meth:`BlockedKernels.locate`."""
    loops.locate(graph, batch.keys, batch.kind, batch.slot)
    if kind != LOOKUP:
        rank(batch, kind)


def need(graph: Graph, batch: LocatedBatch) -> int:
    """See :meth:`BlockedKernels.need`."""
    return loops.need(graph, batch.keys, batch.kind)


def insert(graph: Graph, batch: LocatedBatch, weight: Array, report: Report) -> None:
    """See :meth:`BlockedKernels.insert`."""
    report_insertion(batch, graph.weight, weight, report)
    loops.apply_insert(graph, batch.keys, batch.order, batch.kind, weight)


def delete(graph: Graph, batch: LocatedBatch, report: Report) -> None:
    """See :meth:`BlockedKernels.delete`."""
    report_deletion(batch, graph.weight, report)
    loops.apply_delete(graph, batch.keys, batch.kind, batch.slot)


def free_vertices(graph: Graph, vertices: Array) -> None:
    """See :meth:`BlockedKernels.free_vertices`."""
    loops.free_vertices(graph, vertices)


def repack(graph: Graph, fresh: Graph, first: Array) -> None:
    """See :meth:`BlockedKernels.repack`."""
    loops.repack(graph, fresh, first)
