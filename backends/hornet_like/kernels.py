"""What ``hornet_like`` needs of a device: the protocol that ``cpu.py`` and ``cuda.py`` implement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np

from suricate.backends.hornet_like.layout import PlacedGraph
from suricate.base.devices import Array
from suricate.primitives.located import LocatedBatch, Report


class Plan(ABC):
    """Which vertices an update moves to other blocks; made before anything changes.

    Each device has its own subclass, and its kernels accept only that.
    """

    unchecked: bool  #: whether the pool may be too small for it: the kernel that carries it out may then refuse

    @abstractmethod
    def need(self) -> np.ndarray:
        """Return how many blocks of each class the migrations take, ``int64[CLASSES]``; on CUDA waits."""


class HornetKernels(Protocol):
    """The loops or kernels of one device, over the arrays of a graph.

    Only ``locate`` and the methods that return plans allocate memory; none waits for the device. Arguments called
    ``edges`` are an upper bound of the number of edges stored.
    """

    def locate(self, graph: PlacedGraph, batch: LocatedBatch, kind: int, edges: int) -> None:
        """Fill in ``batch.kind`` and ``batch.slot`` of a sorted batch in place; unless ``kind`` is ``LOOKUP`` rank it.

        ``edges`` is an upper bound of the edges in ``graph``.
        """

    def plan_insertion(self, graph: PlacedGraph, batch: LocatedBatch, edges: int) -> Plan:
        """Return the :class:`Plan` of inserting ``batch``; ``edges`` is an upper bound of the edges in ``graph``."""

    def plan_deletion(self, graph: PlacedGraph, batch: LocatedBatch, edges: int, may_shrink: bool) -> Plan:
        """Return the :class:`Plan` of deleting ``batch``; ``edges`` is an upper bound of the edges in ``graph``.

        Unless it ``may_shrink``, blocks with edges stay as large as they are.
        """

    def insert(self, graph: PlacedGraph, batch: LocatedBatch, plan: Plan | None, weight: Array, report: Report) -> bool:
        """Insert the absent edges of a batch, replace the weights of the present ones, and write the report.

        Args:
            graph: the arrays of the store.
            batch: the located batch.
            plan: which vertices move to larger blocks; None (CPU only) if no edge is absent.
            weight: bit patterns of the weights, in the order of the batch.
            report: where status and old weights are written.

        Returns:
            False, with nothing changed, if ``plan.unchecked`` is set and the pool turns out too small; else True.
        """

    def delete(self, graph: PlacedGraph, batch: LocatedBatch, plan: Plan | None, report: Report) -> bool:
        """Delete the ``PRESENT`` entries of ``batch``, move vertices to smaller blocks as planned, write ``report``.

        Return False, with nothing changed, if ``plan.unchecked`` is set and the pool turns out too small; else True.
        """

    def free_vertices(self, graph: PlacedGraph, vertices: Array) -> None:
        """Free the blocks of distinct ``vertices`` (uint32[k])."""
