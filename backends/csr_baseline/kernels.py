"""What ``csr_baseline`` needs of a device: the protocol that ``cpu.py`` and ``cuda.py`` implement."""

from __future__ import annotations

from typing import Protocol

from suricate.backends.csr_baseline.layout import Graph, Rebuild
from suricate.base.devices import Array
from suricate.primitives.located import LocatedBatch, Report


class CsrKernels(Protocol):
    """The loops or kernels of one device, over the arrays ``graph`` of a store; none waits for the device.

    ``batch`` is a sorted batch, ``weight`` has its weights as bits in the order before sorting; ``report`` receives
    status and old weight of each of its edges. ``rebuild`` has the arrays for the changed graph; None if only weights
    change, and for a deletion on the CPU, which is done in place.
    """

    def insert(self, graph: Graph, rebuild: Rebuild | None, batch: LocatedBatch, weight: Array, report: Report) -> None:
        """Merge ``graph`` and the absent entries of ``batch`` into ``rebuild.target``, and write ``report``.

        The weights of present entries are replaced.
        """

    def delete(self, graph: Graph, rebuild: Rebuild | None, batch: LocatedBatch, report: Report) -> None:
        """Copy ``graph`` without the present entries of ``batch`` to ``rebuild.target``, and write ``report``."""


class CpuKernels(CsrKernels, Protocol):
    """The loops of the CPU. On CUDA a merge locates its batch, and the cursor looks edges up."""

    def locate(self, graph: Graph, batch: LocatedBatch, kind: int) -> None:
        """Fill in ``batch.kind`` and ``batch.slot``, and set ``batch.most`` to how many are of the given ``kind``.

        The slot is that of the first stored edge not below the entry.
        """

    def find(self, graph: Graph, src: Array, dst: Array, found: Array, weight: Array) -> None:
        """Look up edges (``src``, ``dst``): write ``found`` (bool[n]), and ``weight`` (bits) where they are stored."""
