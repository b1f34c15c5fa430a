"""PageRank kept current: power iteration with the dangling mass spread evenly, warm-started after every batch.

Follows Meerkat (Concessao et al.): damping 0.85, stop when the L1 norm of a step is below 1e-5, at most 100 steps; a
vertex without out-edges gives its rank to all. With in-edges a step pulls (one write per vertex, no atomics); without,
it pushes along the out-edges. Edge weights are not used.

An approximation by design: at the stop the L1 distance to the exact ranks is at most
``tolerance * damping / (1 - damping)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suricate import hookimpl
from suricate.algorithm import Algorithm

if TYPE_CHECKING:
    from suricate.delta import Delta
    from suricate.devices import Array
    from suricate.graph import Graph


def share(u, v, w, shares):
    """Return what ``u`` gives to each of its out-neighbours."""
    return shares[u]


class PageRank(Algorithm):
    """Ranks that sum to 1.

    Args:
        damping: probability of following an edge, in [0, 1).
        tolerance: L1 norm of the last step's change at which the iteration stops, above 0.
        max_iterations: upper bound on the number of steps, at least 1.
        dtype: ``"float64"`` or ``"float32"``.
    """

    name = "pagerank"

    def __init__(
        self, damping: float = 0.85, tolerance: float = 1e-5, max_iterations: int = 100, dtype: str = "float64"
    ) -> None:
        if not 0 <= damping < 1:
            raise ValueError(f"pagerank: damping must be in [0, 1), got {damping}")
        if not tolerance > 0:
            raise ValueError(f"pagerank: tolerance must be above 0, got {tolerance}")
        if max_iterations < 1:
            raise ValueError(f"pagerank: max_iterations must be at least 1, got {max_iterations}")
        if np.dtype(dtype) not in (np.float32, np.float64):
            raise ValueError(f"pagerank: dtype must be float32 or float64, got {dtype}")
        self.damping, self.tolerance, self.max_iterations = damping, tolerance, max_iterations
        self.dtype = np.dtype(dtype)
        self.iterations = 0  #: steps that the last computation or update took
        self._ranks: Array = None

    def compute(self, graph: Graph) -> None:
        """Iterate from the uniform vector."""
        n = graph.num_vertices
        self._ranks = graph.device.xp.full(n, 1 / max(n, 1), self.dtype)
        self._iterate(graph)

    def update(self, graph: Graph, delta: Delta) -> None:
        """Iterate from the previous ranks; new vertices start with the mean rank."""
        n, known = graph.num_vertices, len(self._ranks)
        if n > known:
            xp = graph.device.xp
            grown = xp.full(n, 1 / n, self.dtype)
            grown[:known] = self._ranks * (known / n)
            self._ranks = grown
        self._iterate(graph)

    @property
    def result(self) -> Array:
        """The current ranks, ``dtype[num_vertices]``."""
        return self._ranks

    def _iterate(self, graph: Graph) -> None:
        self.iterations = 0
        n, xp = graph.num_vertices, graph.device.xp
        if n == 0:
            return
        degrees = graph.degrees()
        dangling = (degrees == 0).astype(self.dtype)
        per_edge = (1 / xp.maximum(degrees, 1)).astype(self.dtype)
        base, gathered = (1 - self.damping) / n, xp.empty(n, self.dtype)
        change = float("inf")
        while change >= self.tolerance and self.iterations < self.max_iterations:
            self._gather(graph, self._ranks * per_edge, gathered)
            ranks = (gathered + (self._ranks * dangling).sum() / n) * self.damping + base
            change = float(abs(ranks - self._ranks).sum())
            self._ranks = ranks.astype(self.dtype, copy=False)
            self.iterations += 1

    def _gather(self, graph: Graph, shares: Array, out: Array) -> None:
        from suricate.operators import advance, neighbor_reduce

        if graph.has_in_edges:
            neighbor_reduce(graph, share, args=(shares,), over="in", out=out)
        else:
            out.fill(0)
            advance(graph, None, share, out, args=(shares,), reduce="sum")


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Offer PageRank."""
    return [PageRank]
