"""What processes of one graph say to each other: the protocol, and the communication of a process that is alone.

Every method is *collective*: all ranks call it, in the same order. What is gathered comes back in rank order and is the
same on every rank, so that what is computed from it is, too.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.parallel.partition import Partition

if TYPE_CHECKING:
    from suricate.base.devices import Array

PACKAGE = str(Path(__file__).parents[1])


class Comm(ABC):
    """Communication among ``size`` ranks, of which this is number ``rank``.

    Pass it to ``Graph(..., comm=comm)``. An engine implements :meth:`gather` and :meth:`abort`.
    """

    rank: int = 0
    size: int = 1

    @abstractmethod
    def gather(self, name: str, value: Any) -> list[Any]:
        """Return what every rank passed, in rank order.

        Args:
            name: what is gathered; ranks that differ in it, or in where they call from, have gone different ways.
            value: something small, or an array. What other ranks get is a copy.

        Raises:
            CommunicationError: ranks differ, one has ended, or one does not come.
        """

    @abstractmethod
    def abort(self, reason: str) -> None:
        """End the job: every rank that waits, or will wait, raises ``CommunicationError`` with ``reason``."""

    def allgather(self, value: Any) -> list[Any]:
        """Return a small Python value of every rank, in rank order."""
        return self.gather("allgather", value)

    def allgatherv(self, array: Array) -> list[Array]:
        """Return an array of every rank, in rank order; lengths may differ, the dtype may not."""
        return self.gather(f"allgatherv of {array.dtype}", array)

    def agree(self, value: Any) -> Any:
        """Return the value of rank 0."""
        return self.gather("agree", value)[0]

    def barrier(self) -> None:
        """Wait for all ranks."""
        self.gather("barrier", None)

    def partition(self, graph: Any, options: Any, stores: tuple[Any, ...]) -> Partition | None:
        """Return how ``graph``, whose options and (empty) local stores these are, is divided among the ranks."""
        return Partition(graph, self, options, stores)


class SelfComm(Comm):
    """A job of one rank."""

    def gather(self, name: str, value: Any) -> list[Any]:
        """Return a copy of what was passed."""
        return [value.copy() if isinstance(value, np.ndarray) else value]

    def abort(self, reason: str) -> None:
        """There is nobody to tell."""

    def partition(self, graph: Any, options: Any, stores: tuple[Any, ...]) -> None:
        """Divide nothing."""


def call_site() -> str:
    """Return where the innermost call from outside of the package is: ``file:line``."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
