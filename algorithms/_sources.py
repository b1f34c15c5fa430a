"""The parameters ``k`` and ``seed`` of algorithms that search from every vertex, or from a sample."""

from __future__ import annotations

import random
from typing import Any

from suricate.parameters import integer


class Sample:
    """The vertices to search from: all, or ``k`` of them, drawn as NetworkX draws them with an integer ``seed``."""

    def __init__(self, label: str, k: Any, seed: Any) -> None:
        self.k = None if k is None else integer(f"{label}: k", k, low=1)
        self.seed = integer(f"{label}: seed", seed)

    def is_all(self, num_vertices: int) -> bool:
        """Return whether every vertex is searched from."""
        return self.k is None or self.k >= num_vertices

    def drawn(self, num_vertices: int) -> list[int]:
        """Return the vertices."""
        if self.k is None or self.k >= num_vertices:
            return list(range(num_vertices))
        return random.Random(self.seed).sample(range(num_vertices), self.k)


def search_bytes(pushes: int, visits: int) -> int:
    """Return the least bytes of breadth-first searches that follow this many edges and reach this many vertices in all.

    A push reads the id of a neighbour; a vertex reads its offset, and reads and writes its level.
    """
    return pushes * 4 + visits * (8 + 2 * 4)
