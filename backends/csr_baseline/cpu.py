"""``csr_baseline`` on the CPU: see ``kernels.py``; the loops are in ``loops.py``."""

from __future__ import annotations

from suricate.backends.csr_baseline import loops
from suricate.backends.csr_baseline.layout import Graph, Rebuild
from suricate.devices import Array
from suricate.primitives.cpu import report_deletion, report_insertion
from suricate.primitives.located import LocatedBatch, Report

DELETES_IN_PLACE = True


def locate(graph: Graph, batch: LocatedBatch, kind: int) -> None:
    """See :meth:`CsrKernels.locate`."""
    batch.most = loops.locate(graph.offsets, graph.dst, batch.keys, batch.kind, batch.slot, kind)


def insert(graph: Graph, rebuild: Rebuild | None, batch: LocatedBatch, weight: Array, report: Report) -> None:
    """See :meth:`CsrKernels.insert`."""
    report_insertion(batch, graph.weight, weight, report)
    if rebuild is not None:
        loops.merge(*graph, *rebuild.target, batch.keys, batch.order, batch.kind, batch.slot, weight)


def delete(graph: Graph, rebuild: Rebuild | None, batch: LocatedBatch, report: Report) -> None:
    """See :meth:`CsrKernels.delete`."""
    report_deletion(batch, graph.weight, report)
    if batch.most:
        loops.remove(*graph, batch.keys, batch.kind, batch.slot)


def find(graph: Graph, src: Array, dst: Array, found: Array, weight: Array) -> None:
    """See :meth:`CsrKernels.find`."""
    loops.find_edges(*graph, src, dst, found, weight)
