"""What ``csr_baseline`` needs of a device: the protocol that ``cpu.py`` and ``cuda.py`` implement."""

from __future__ import annotations

from typing import Protocol

from suricate.backends.csr_baseline.layout import Graph
from suricate.devices import Array
from suricate.primitives.located import LocatedBatch


class CsrKernels(Protocol):
    """Functions over the arrays of a graph. They allocate scratch memory only, and never wait for the device."""

    DELETES_IN_PLACE: bool  #: whether the target of a deletion may be the graph itself

    def locate(self, graph: Graph, batch: LocatedBatch, kind: int) -> None:
        """Fill in kinds, slots and ranks: the slot is the first in order that is not below the edge."""

    def insert(self, graph: Graph, target: Graph, batch: LocatedBatch, weight: Array, bound: int) -> None:
        """Merge ``graph`` and the absent entries into ``target``.

        ``weight``: bit patterns in the order of the batch; ``bound``: at least the number of edges of ``graph``.
        """

    def delete(self, graph: Graph, target: Graph, batch: LocatedBatch, bound: int) -> None:
        """Copy ``graph`` without the entries that are present to ``target``."""
