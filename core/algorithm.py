"""What an algorithm implements: :meth:`Algorithm.compute` from scratch, :meth:`Algorithm.update` after a batch.

An algorithm is written against the operators (``suricate.operators``) and never names a backend. It keeps its state in
itself; ``graph.track(name, **params)`` makes an instance, computes it, and calls :meth:`Algorithm.update` after every
batch that changed something (see ``suricate.tracker``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from suricate.errors import RequirementError

if TYPE_CHECKING:
    from suricate.delta import Delta
    from suricate.graph import Graph


@dataclass(frozen=True)
class Requirements:
    """What a graph must have: True: required, False: forbidden (``weighted`` and ``undirected``), None: either."""

    in_edges: bool = False
    weighted: bool | None = None
    undirected: bool | None = None

    def missing(self, graph: Graph) -> str | None:
        """Return None if ``graph`` has all of it, else the reason in words, with the way to build one that has."""
        if self.in_edges and not graph.has_in_edges:
            return "it needs in-edges: build the graph with Graph(..., in_edges=True) or directed=False"
        if self.weighted is True and graph.weight_dtype is None:
            return "it needs edge weights: build the graph with Graph(..., weight_dtype='float32')"
        if self.weighted is False and graph.weight_dtype is not None:
            return "it is for unweighted graphs: build the graph without weight_dtype"
        if self.undirected is True and graph.directed:
            return "it needs an undirected graph: build it with Graph(..., directed=False)"
        if self.undirected is False and not graph.directed:
            return "it needs a directed graph: build it with Graph(..., directed=True)"
        return None


class Algorithm(ABC):
    """Base class of all algorithms; parameters are keyword arguments of ``__init__``."""

    name: ClassVar[str]
    requires: ClassVar[Requirements] = Requirements()

    @abstractmethod
    def compute(self, graph: Graph) -> None:
        """Compute the result on ``graph`` from scratch."""

    def update(self, graph: Graph, delta: Delta) -> None:
        """Bring the result up to date; ``graph`` already holds ``delta``. The default computes from scratch."""
        self.compute(graph)

    @property
    @abstractmethod
    def result(self) -> Any:
        """The current result: an array on the graph's device, one entry per vertex, or a NamedTuple of such."""

    @classmethod
    def demand(cls, graph: Graph) -> None:
        """Raise ``RequirementError`` if ``graph`` lacks what the algorithm needs."""
        reason = cls.requires.missing(graph)
        if reason is not None:
            raise RequirementError(f"{cls.name} cannot run on this graph: {reason}")
