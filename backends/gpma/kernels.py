"""What ``gpma`` needs of a device: the protocol that ``cpu.py`` and ``cuda.py`` implement.

A *leaf* is 32 slots, some of them gaps; the *guard* of a vertex is the entry behind its edges.
"""

from __future__ import annotations

from typing import Any, Protocol

from suricate.backends.gpma.layout import Graph
from suricate.base.devices import Array
from suricate.primitives.located import LocatedBatch, Report


class GpmaKernels(Protocol):
    """The loops or kernels of one device, over the arrays ``graph`` of a store; none waits for the device.

    ``batch`` is a sorted batch, ``weight`` has its weights as bits in the order before sorting; ``report`` receives
    status and old weight of each of its edges. ``plan`` is the result of :meth:`plan`. ``new`` has larger or smaller
    arrays for the same entries; vertices and counters are those of ``graph``. Memory is allocated by ``locate``,
    ``find`` and ``plan``, on the CPU also by ``clear_edges``, on CUDA by what fills ``new``.
    """

    def locate(self, graph: Graph, batch: LocatedBatch, kind: int) -> None:
        """Fill in ``batch.kind`` and ``batch.slot``: of an absent edge the slot behind the last stored edge below it.

        Entries of ``kind`` are counted: on the CPU ``batch.most`` is their number; on CUDA, unless ``kind`` is
        ``LOOKUP``, ``batch.rank[i]`` counts those up to entry i.
        """

    def find(self, graph: Graph, src: Array, dst: Array, found: Array, weight: Array) -> None:
        """Look up edges (``src``, ``dst``): write ``found`` (bool[n]), and ``weight`` (bits) where they are stored."""

    def plan(self, graph: Graph, batch: LocatedBatch, *, deleting: bool, in_place: bool = True) -> Any:
        """Return the plan for :meth:`insert`, or if ``deleting`` for :meth:`delete`, of ``batch``.

        An insertion ``in_place``, for which the array does not grow, also plans the segments that must be rebalanced.
        """

    def insert(
        self, graph: Graph, new: Graph | None, plan: Any, batch: LocatedBatch, weight: Array, report: Report
    ) -> None:
        """Insert the absent entries of ``batch`` into ``graph``, replace weights, and write ``report``.

        If ``new`` is not None, all entries are merged into the arrays ``new`` instead.
        """

    def delete(self, graph: Graph, plan: Any, batch: LocatedBatch, report: Report) -> None:
        """Turn the present entries of ``batch`` into gaps, and write ``report``.

        Segments that are too empty then are rebalanced.
        """

    def clear_edges(self, graph: Graph, src: Array, dst: Array, guard: Array | None, report: Report) -> None:
        """Turn the edges (``src``, ``dst``), in any order, into gaps, and write ``report``; duplicates count once.

        Nothing changes if ``guard`` (uint32[1] or None) is not 0.
        """

    def rebuild(self, graph: Graph, new: Graph) -> None:
        """Spread the entries of ``graph`` evenly over the arrays ``new``."""

    def append_guards(self, graph: Graph, first: int, begin: int) -> None:
        """Put the guards of the vertices from ``first`` on into new leaves, from leaf ``begin`` on."""

    def drop_guards(self, graph: Graph, num_vertices: int) -> None:
        """Remove the guards of the vertices from ``num_vertices`` on, which have no edges."""

    def clear_rows(self, graph: Graph, vertices: Array) -> None:
        """Turn all edges of the distinct ``vertices`` (uint32[k]) into gaps."""

    def list_touched(self, graph: Graph) -> None:
        """List the leaves with edges inserted since the mark in ``graph.touched``, and set their counter."""
