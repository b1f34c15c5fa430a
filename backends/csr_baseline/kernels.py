"""What ``csr_baseline`` needs of a device: the protocol that ``cpu.py`` and ``cuda.py`` implement."""

from __future__ import annotations

from typing import Protocol

from suricate.backends.csr_baseline.layout import Graph, Rebuild
from suricate.base.devices import Array
from suricate.primitives.located import LocatedBatch, Report


class CsrKernels(Protocol):
    """The loops or kernels of one device, over the arrays of a graph; weights are bit patterns. None waits.

    Arguments called ``rebuild`` are None if only weights change, and for a deletion on the CPU, which is done in
    place.
    """

    def insert(self, graph: Graph, rebuild: Rebuild | None, batch: LocatedBatch, weight: Array, report: Report) -> None:
        """Merge ``graph`` and the absent entries into the target, replace weights, and report."""

    def delete(self, graph: Graph, rebuild: Rebuild | None, batch: LocatedBatch, report: Report) -> None:
        """Copy ``graph`` without the entries that are present to the target, and report."""


class CpuKernels(CsrKernels, Protocol):
    """The loops of the CPU. On CUDA a merge locates its batch, and the cursor looks edges up."""

    def locate(self, graph: Graph, batch: LocatedBatch, kind: int) -> None:
        """Fill in ``batch.kind`` and ``batch.slot`` (of the first stored edge not below the entry); count a kind."""

    def find(self, graph: Graph, src: Array, dst: Array, found: Array, weight: Array) -> None:
        """Look up edges in the order given; ``weight`` is written where they are stored."""
