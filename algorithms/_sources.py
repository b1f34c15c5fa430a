"""The parameters ``k`` and ``seed`` of algorithms that search from every vertex, or from a sample."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.parameters import integer

if TYPE_CHECKING:
    from suricate.graph import Graph


class Sample:
    """The vertices to search from: all live ones, or ``k`` of them.

    They are those that NetworkX draws with an integer ``seed`` from the graph without deleted vertices, in ascending
    order.
    """

    def __init__(self, label: str, k: Any, seed: Any) -> None:
        self.k = None if k is None else integer(f"{label}: k", k, low=1)
        self.seed = integer(f"{label}: seed", seed)

    def of(self, graph: Graph) -> list[int]:
        """Return the vertices; waits if any may be deleted."""
        return self.drawn(graph.num_vertices, graph.device.to_numpy(graph.live) if graph.most_deleted else None)

    def drawn(self, num_vertices: int, live: np.ndarray | None = None) -> list[int]:
        """Return the vertices by the mask of live ones, None if all are live."""
        ids: Sequence[int] = range(num_vertices) if live is None else np.flatnonzero(live).tolist()
        return list(ids) if self.k is None or self.k >= len(ids) else random.Random(self.seed).sample(ids, self.k)


def search_bytes(pushes: int, visits: int) -> int:
    """Return the least bytes of breadth-first searches that follow this many edges and reach this many vertices in all.

    A push reads the id of a neighbour; a vertex reads its offset, and reads and writes its level.
    """
    return pushes * 4 + visits * (8 + 2 * 4)
