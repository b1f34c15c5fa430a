"""``csr_baseline`` on the CPU: see ``kernels.py``; the loops are in ``loops.py``."""

from __future__ import annotations

from suricate.backends.csr_baseline import loops
from suricate.backends.csr_baseline.layout import Graph
from suricate.devices import Array
from suricate.primitives.located import LocatedBatch

DELETES_IN_PLACE = True


def locate(graph: Graph, batch: LocatedBatch, kind: int) -> None:
    """See :meth:`CsrKernels.locate`."""
    batch.most = loops.locate(graph.offsets, graph.dst, batch.keys, batch.kind, batch.slot, kind)


def insert(graph: Graph, target: Graph, batch: LocatedBatch, weight: Array, bound: int) -> None:
    """See :meth:`CsrKernels.insert`."""
    loops.merge(*graph, *target, batch.keys, batch.order, batch.kind, batch.slot, weight)


def delete(graph: Graph, target: Graph, batch: LocatedBatch, bound: int) -> None:
    """See :meth:`CsrKernels.delete`; ``target`` is ``graph``."""
    loops.remove(*graph, batch.keys, batch.kind, batch.slot)
