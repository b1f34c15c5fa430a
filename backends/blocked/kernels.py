"""What ``blocked`` needs of a device: the protocol that ``cpu.py`` and ``cuda.py`` implement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

from suricate.backends.blocked.layout import Graph, Packet
from suricate.base.devices import Array
from suricate.primitives.located import LocatedBatch, Report


class Plan(ABC):
    """Which blocks an insertion takes, determined before anything changes; each device has a subclass of its own."""

    @abstractmethod
    def need(self) -> int:
        """Return how many blocks the insertion takes; on CUDA waits for the device."""


class BlockedKernels(Protocol):
    """The loops or kernels of one device, over the arrays ``graph`` of a store; the blocks of a vertex are its *chain*.

    ``batch`` is a sorted batch; ``edges`` is an upper bound of the number of edges in ``graph``. ``weight`` has the
    weights of the batch as bits, in the order before sorting; ``report`` receives status and old weight of each of its
    edges. A block or vertex is *flagged* if it has changed since the mirror, the copy of the arrays on the host, was up
    to date.
    """

    small: Any  #: the module ``small.py``, of loops that insert, delete or find a small batch; CPU only

    def locate(self, graph: Graph, batch: LocatedBatch, kind: int, edges: int) -> None:
        """Fill in ``batch.kind`` and ``batch.slot``, which is -1 if the edge is not stored.

        On CUDA only if ``kind`` is ``LOOKUP``. On the CPU, for another ``kind``, ``batch.most`` becomes the
        number of entries of this kind.
        """

    def plan_insertion(self, graph: Graph, batch: LocatedBatch, edges: int) -> Plan:
        """Return the plan for :meth:`insert`: the blocks that inserting ``batch`` takes."""

    def insert(self, graph: Graph, batch: LocatedBatch, plan: Plan | None, weight: Array, report: Report) -> None:
        """Append the absent edges of ``batch``, replace the weights of the present ones, and write ``report``.

        ``plan`` is the result of :meth:`plan_insertion`; None, on the CPU, if no edge is absent.
        """

    def delete(self, graph: Graph, batch: LocatedBatch, report: Report, edges: int) -> None:
        """Delete the present edges of ``batch``, fill their slots with a vertex's last edges, and write ``report``."""

    def free_vertices(self, graph: Graph, vertices: Array) -> None:
        """Free the chains of distinct ``vertices`` (uint32[k]), and delete their edges with them."""

    def repack(self, graph: Graph, fresh: Graph, vertex: int, first: Array) -> None:
        """Copy the chains of vertices from ``vertex`` on into consecutive blocks, from ``first`` (uint32[k]) on."""

    def count_marked(self, graph: Graph) -> tuple[int, int]:
        """Return how many blocks and how many vertices are flagged as changed; on CUDA waits."""

    def list_marked(self, graph: Graph, packet: Packet) -> None:
        """Write the ids of all flagged blocks to ``packet.block``, and of all flagged vertices to ``packet.vertex``."""

    def pack(self, graph: Graph, packet: Packet) -> None:
        """Copy the blocks and vertices that ``packet`` lists from ``graph`` into it, and clear their flags there."""

    def unpack(self, graph: Graph, packet: Packet) -> None:
        """Copy the blocks and vertices in ``packet`` to their places in ``graph``."""
