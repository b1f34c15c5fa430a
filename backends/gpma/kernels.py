"""What ``gpma`` needs of a device: the protocol that ``cpu.py`` and ``cuda.py`` implement."""

from __future__ import annotations

from typing import Any, Protocol

from suricate.backends.gpma.layout import Graph
from suricate.base.devices import Array
from suricate.primitives.located import LocatedBatch, Report


class GpmaKernels(Protocol):
    """The loops or kernels of one device, over the arrays of a graph; weights are bit patterns. None waits.

    Arguments called ``new`` are the graph in larger or smaller arrays, with the vertices and counters of the old one;
    None if the arrays stay. Only ``locate``, ``find`` and the plans allocate memory.
    """

    def locate(self, graph: Graph, batch: LocatedBatch, kind: int) -> None:
        """Fill in kinds, slots and ranks: the slot of an absent edge is the place behind the last one below it."""

    def find(self, graph: Graph, src: Array, dst: Array, found: Array, weight: Array) -> None:
        """Look up edges in the order given; ``weight`` is written where they are stored."""

    def plan_insertion(self, graph: Graph, batch: LocatedBatch, *, in_place: bool) -> Any:
        """Return the plan for :meth:`insert`; for an insertion in place, the segments that must be rebalanced."""

    def plan_deletion(self, graph: Graph, batch: LocatedBatch) -> Any:
        """Return the plan for :meth:`delete`."""

    def insert(
        self, graph: Graph, new: Graph | None, plan: Any, batch: LocatedBatch, weight: Array, report: Report
    ) -> None:
        """Put the absent entries in, replace weights, and report."""

    def delete(self, graph: Graph, plan: Any, batch: LocatedBatch, report: Report) -> None:
        """Turn the present entries into gaps, rebalance the segments that became too empty, and report."""

    def clear_edges(self, graph: Graph, src: Array, dst: Array, guard: Array | None, report: Report) -> None:
        """Turn edges, in any order, into gaps; report each stored one once. Nothing changes if the guard is not 0."""

    def rebuild(self, graph: Graph, new: Graph) -> None:
        """Spread the entries of a graph evenly over new arrays."""

    def append_guards(self, graph: Graph, first: int, begin: int) -> None:
        """Put the guards of the vertices from ``first`` on into the leaves from ``begin`` on."""

    def drop_guards(self, graph: Graph, num_vertices: int) -> None:
        """Remove the guards of the vertices from ``num_vertices`` on, which have no edges."""

    def clear_rows(self, graph: Graph, vertices: Array) -> None:
        """Turn all edges of distinct vertices into gaps."""

    def list_touched(self, graph: Graph) -> None:
        """List the leaves with edges that were inserted since the mark."""
