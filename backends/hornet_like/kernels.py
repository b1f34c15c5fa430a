"""What ``hornet_like`` needs of a device: the protocol that ``cpu.py`` and ``cuda.py`` implement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np

from suricate.backends.hornet_like.layout import PlacedGraph
from suricate.base.devices import Array
from suricate.primitives.located import LocatedBatch, Report


class Plan(ABC):
    """Which vertices migrate in an update, and what else its kernels need; made before anything changes.

    Each device has a plan of its own, and takes no other.
    """

    unchecked: bool  #: whether the pool may be too small for it: the kernel that carries it out may then refuse

    @abstractmethod
    def need(self) -> np.ndarray:
        """Return how many blocks of each class the migrations take, ``int64[CLASSES]``; on CUDA waits."""


class HornetKernels(Protocol):
    """Functions over the arrays of a graph. Only ``locate`` and the plans allocate; none waits for the device.

    ``edges`` is an upper bound of the number of edges stored.
    """

    def locate(self, graph: PlacedGraph, batch: LocatedBatch, kind: int, edges: int) -> None:
        """Fill in kinds and slots, and the ranks of a ``kind`` unless that is ``LOOKUP``."""

    def plan_insertion(self, graph: PlacedGraph, batch: LocatedBatch, edges: int) -> Plan:
        """Return the :class:`Plan` of an insertion."""

    def plan_deletion(self, graph: PlacedGraph, batch: LocatedBatch, edges: int, may_shrink: bool) -> Plan:
        """Return the :class:`Plan` of a deletion; unless it ``may_shrink``, blocks stay as large as they are."""

    def insert(self, graph: PlacedGraph, batch: LocatedBatch, plan: Plan | None, weight: Array, report: Report) -> bool:
        """Migrate what overflows, append the absent entries, replace weights, and report.

        ``weight``: bit patterns in the order of the batch; ``plan``: None if no entry is absent (CPU). Returns False,
        with nothing changed, if the plan is unchecked and the pool is too small.
        """

    def delete(self, graph: PlacedGraph, batch: LocatedBatch, plan: Plan | None, report: Report) -> bool:
        """Delete the entries that are present, migrate what became small, and report; see :meth:`insert`."""

    def free_vertices(self, graph: PlacedGraph, vertices: Array) -> None:
        """Free the blocks of distinct ``vertices`` (uint32[k])."""
