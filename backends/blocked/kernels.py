"""What ``blocked`` needs of a device: the protocol that ``cpu.py`` and ``cuda.py`` implement."""

from __future__ import annotations

from typing import Protocol

from suricate.backends.blocked.layout import Graph
from suricate.devices import Array
from suricate.primitives.located import LocatedBatch, Report


class BlockedKernels(Protocol):
    """Functions over the arrays of a graph. Only ``locate`` allocates; none but ``need`` waits for the device."""

    def locate(self, graph: Graph, batch: LocatedBatch, kind: int) -> None:
        """Fill in kinds and slots (-1 for what is not stored), and the ranks of a ``kind`` unless it is ``LOOKUP``."""

    def need(self, graph: Graph, batch: LocatedBatch) -> int:
        """Return how many blocks a located insertion takes; on CUDA waits."""

    def insert(self, graph: Graph, batch: LocatedBatch, weight: Array, report: Report) -> None:
        """Append the absent entries, replace weights, and report; ``weight``: bit patterns in the batch's order."""

    def delete(self, graph: Graph, batch: LocatedBatch, report: Report) -> None:
        """Delete the entries that are present, the last edges of a vertex taking their slots, and report."""

    def free_vertices(self, graph: Graph, vertices: Array) -> None:
        """Free the chains of distinct ``vertices`` (uint32[k])."""

    def repack(self, graph: Graph, fresh: Graph, first: Array) -> None:
        """Copy the chain of each vertex into consecutive blocks of ``fresh``, from ``first`` (uint32[n]) on.

        The arrays per vertex and the counters of ``fresh`` are those of ``graph``.
        """
