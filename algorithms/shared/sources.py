"""The parameters ``k``, ``seed`` and ``sources`` of algorithms that search from every vertex, or from some."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.algorithms.shared.vertices import optional_vertices
from suricate.base.parameters import integer
from suricate.errors import ParameterError

if TYPE_CHECKING:
    from suricate.graph import Graph


class Sample:
    """The vertices to search from: all live ones, ``k`` of them, or ``sources``.

    The ``k`` are those that NetworkX would draw, with the same integer ``seed``, from the live vertices in ascending
    order.

    Raises:
        ParameterError: ``k`` or ``seed`` is invalid, ``sources`` is empty, or both ``k`` and ``sources`` are given.
        DTypeError, ShapeError, VertexRangeError: ``sources`` are not ids.
    """

    def __init__(self, label: str, k: Any, seed: Any, sources: Any = None) -> None:
        self.k = None if k is None else integer(f"{label}: k", k, low=1)
        self.seed = integer(f"{label}: seed", seed)
        self.sources = optional_vertices(f"{label}: sources", sources)
        if self.sources is not None and k is not None:
            raise ParameterError(f"{label}: give k or sources, not both")

    def of(self, graph: Graph) -> list[int]:
        """Return the ids of the vertices to search from; waits if any may be deleted.

        Raises:
            VertexRangeError: one of ``sources`` is not a live vertex of the graph.
        """
        if self.sources is not None:
            self.sources.demand(graph)
        return self.drawn(graph.num_vertices, graph.device.to_numpy(graph.live) if graph.most_deleted else None)

    def drawn(self, num_vertices: int, live: np.ndarray | None = None) -> list[int]:
        """Return the ids to search from: ``sources``, or a sample of the mask ``live`` (None: all ``num_vertices``)."""
        if self.sources is not None:
            return self.sources.ids.tolist()
        ids: Sequence[int] = range(num_vertices) if live is None else np.flatnonzero(live).tolist()
        return list(ids) if self.k is None or self.k >= len(ids) else random.Random(self.seed).sample(ids, self.k)


def search_bytes(pushes: int, visits: int) -> int:
    """Return the least number of bytes that searches move that follow ``pushes`` edges and reach ``visits`` vertices.

    Per edge they read the id of a neighbour; per vertex they read an offset, and read and write a level.
    """
    return pushes * 4 + visits * (8 + 2 * 4)
