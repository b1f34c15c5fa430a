"""What ``blocked`` needs of a device: the protocol that ``cpu.py`` and ``cuda.py`` implement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

from suricate.backends.blocked.layout import Graph, Packet
from suricate.base.devices import Array
from suricate.primitives.located import LocatedBatch, Report


class Plan(ABC):
    """Which blocks an insertion takes, made before anything changes. Each device has a plan of its own."""

    @abstractmethod
    def need(self) -> int:
        """Return how many blocks the insertion takes; on CUDA waits."""


class BlockedKernels(Protocol):
    """The loops or kernels of one device, over the arrays of a graph; those that take a batch need scratch memory.

    Arguments called ``edges`` are an upper bound of the number of edges stored. A *marked* block or vertex is one whose
    flag in ``block_mark`` or ``vertex_mark`` is set: it has changed since the mirror was last up to date.
    """

    small: Any  #: the module ``small.py``, of loops that insert, delete or find a small batch; CPU only

    def locate(self, graph: Graph, batch: LocatedBatch, kind: int, edges: int) -> None:
        """Fill in ``batch.kind`` and ``batch.slot`` (-1: not stored) of a sorted batch in place.

        Unless ``kind`` is ``LOOKUP`` the batch is ranked, too. ``edges`` is an upper bound of the edges in ``graph``.
        """

    def plan_insertion(self, graph: Graph, batch: LocatedBatch, edges: int) -> Plan:
        """Return the :class:`Plan` of the blocks that inserting ``batch`` into ``graph`` takes.

        ``edges`` is an upper bound of the edges in ``graph``.
        """

    def insert(self, graph: Graph, batch: LocatedBatch, plan: Plan | None, weight: Array, report: Report) -> None:
        """Append the absent edges of a batch, replace the weights of the present ones, and write the report.

        ``weight``: bit patterns in the order of the batch; ``plan``: the blocks needed, None if no edge is absent
        (CPU).
        """

    def delete(self, graph: Graph, batch: LocatedBatch, report: Report, edges: int) -> None:
        """Delete the edges of ``batch`` that are present from ``graph``, and write ``report``.

        The last edges of a vertex move to the slots of its deleted ones. ``edges`` is an upper bound of the edges in
        ``graph``.
        """

    def free_vertices(self, graph: Graph, vertices: Array) -> None:
        """Free the chains of distinct ``vertices`` (uint32[k])."""

    def repack(self, graph: Graph, fresh: Graph, first: Array) -> None:
        """Copy the chain of each vertex u into consecutive blocks of ``fresh``, from ``first[u]`` (uint32[n]) on."""

    def count_marked(self, graph: Graph) -> tuple[int, int]:
        """Return how many blocks and how many vertices are marked as changed; on CUDA waits."""

    def list_marked(self, graph: Graph, packet: Packet) -> None:
        """Write the numbers of the blocks and vertices marked as changed to ``packet``, which has the right size."""

    def pack(self, graph: Graph, packet: Packet) -> None:
        """Copy the blocks and vertices that ``packet`` lists from ``graph`` into it, and clear their flags in place."""

    def unpack(self, graph: Graph, packet: Packet) -> None:
        """Copy the blocks and vertices in ``packet`` to their places in ``graph``."""
