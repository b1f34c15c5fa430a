"""What ``hornet_like`` needs of a device: the protocol that ``cpu.py`` and ``cuda.py`` implement.

A block of class k has 2^k slots. A vertex *migrates* when its edges move to a block of another class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np

from suricate.backends.hornet_like.layout import PlacedGraph
from suricate.base.devices import Array
from suricate.primitives.located import LocatedBatch, Report


class Plan(ABC):
    """Which vertices an update moves to blocks of another class, determined before anything changes.

    Each device has its own subclass, and its kernels accept only that.
    """

    unchecked: bool  #: whether the pool may be too small for it: the kernel that carries it out may then refuse

    @abstractmethod
    def need(self) -> np.ndarray:
        """Return how many blocks of each class the migrations take, ``int64[CLASSES]``; on CUDA waits."""


class HornetKernels(Protocol):
    """The loops or kernels of one device, over the arrays ``graph`` of a store.

    ``batch`` is a sorted batch; ``edges`` is an upper bound of the number of edges stored. ``weight`` has the weights
    of the batch as bits, in the order before sorting; ``report`` receives status and old weight of each of its edges.
    ``locate`` and ``plan`` allocate memory, for ascending rows on CUDA instead the first launch of a batch. Only with
    ``plan.unchecked`` set a method waits for the device.
    """

    def locate(self, graph: PlacedGraph, batch: LocatedBatch, kind: int, edges: int) -> None:
        """Fill in ``batch.kind`` and ``batch.slot``, and count the entries of ``kind``, unless that is ``LOOKUP``.

        The count is ``batch.most`` on the CPU; on CUDA ``batch.rank[i]`` counts those up to entry i. With ascending
        rows on CUDA nothing is done: the launch that applies the batch locates it.
        """

    def plan(
        self, graph: PlacedGraph, batch: LocatedBatch, edges: int, *, deleting: bool, may_shrink: bool = True
    ) -> Plan:
        """Return which vertices the insertion, or if ``deleting`` the deletion, of ``batch`` moves to other blocks.

        Unless it ``may_shrink``, a deletion leaves blocks with edges as large as they are.
        """

    def insert(self, graph: PlacedGraph, batch: LocatedBatch, plan: Plan | None, weight: Array, report: Report) -> bool:
        """Insert the absent edges of ``batch``, replace the weights of the present ones, and write ``report``.

        ``plan`` is the result of :meth:`plan`; None, on the CPU, if no edge is absent. Return False, with nothing
        changed, if ``plan.unchecked`` is set and the pool turns out too small; else True.
        """

    def delete(self, graph: PlacedGraph, batch: LocatedBatch, plan: Plan | None, report: Report) -> bool:
        """Delete the present edges of ``batch``, move vertices to smaller blocks as planned, and write ``report``.

        ``plan`` is the result of :meth:`plan`; None, on the CPU, if no edge is present. Return False, with nothing
        changed, if ``plan.unchecked`` is set and the pool turns out too small; else True.
        """

    def free_vertices(self, graph: PlacedGraph, vertices: Array) -> None:
        """Free the blocks of distinct ``vertices`` (uint32[k]), and delete their edges with them."""
