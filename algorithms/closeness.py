"""Closeness centrality: how near a vertex is to those that reach it. Computed from scratch after every change.

If ``r`` vertices (``u`` included) reach ``u``, and ``t`` is the sum of their distances to ``u``, closeness is
``(r - 1) / t * (r - 1) / (n - 1)`` of ``n`` live vertices; without ``wf_improved`` only the first factor (Freeman;
Wasserman and Faust).
Exact: one breadth-first search from every vertex, O(n m). From a sample of ``k`` sources, in O(k m): ``r`` and ``t``
are estimated as those of the sample times ``n / k`` (Eppstein and Wang, *Fast approximation of centrality*, 2004). The
estimate of the mean distance is off by more than ``e * diameter`` with probability at most ``2 exp(-2 k e^2)`` per
vertex that all sources reach.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate import hookimpl
from suricate.algorithms.shared.live import deleted_among
from suricate.algorithms.shared.matrices import adjacency
from suricate.algorithms.shared.sources import Sample, search_bytes
from suricate.algorithms.shared.weighted_paths import demand_weights, distances
from suricate.base.parameters import flag
from suricate.graph.row_copies import copied_rows
from suricate.operators import propagate
from suricate.plugins.algorithm import Algorithm

if TYPE_CHECKING:
    from suricate.base.devices import Array, ReturnedArray
    from suricate.graph import Graph

UNREACHED = 0xFFFFFFFF


def one_further(u, v, w, level, count, total):
    """Return the level that ``u`` offers to ``v``: ``level[u]`` plus 1; ``count`` and ``total`` are not read."""
    return level[u] + 1


def reached(v, step, level, count, total):
    """Count the source, which reaches ``v`` after ``step`` edges: add 1 to ``count[v]`` and ``step`` to ``total[v]``.

    Returns True: the search continues from ``v``. ``level`` is not read.
    """
    count[v] = count[v] + 1
    total[v] = total[v] + step
    return True


class Closeness(Algorithm):
    """Closeness of all vertices by the lengths of paths towards them, ``float64[num_vertices]``; 0 for deleted ones.

    Args:
        wf_improved: scale by the share of vertices that reach the vertex, as NetworkX does.
        k: number of sources to sample, at least 1; None, or as many as there are live vertices: exact.
        seed: of the sample.
        sources: ids of the sample, in place of ``k`` and ``seed``.
        weighted: the length of a path is the sum of its weights, which must be at least 0 (NetworkX: ``distance=``);
            False: its number of edges.

    Raises:
        ParameterError: a parameter is of the wrong type or out of range, or both ``k`` and ``sources`` are given.
        RequirementError: ``weighted`` on a graph without weights.
        WeightError: ``weighted``, and a weight is negative; with a tracker also when such a weight is inserted.
        DTypeError, ShapeError, VertexRangeError: ``sources`` are not ids of live vertices. If one is deleted later,
            reading a tracker's result raises until the vertex is live again.

    Example:
        >>> g = su.Graph.from_coo([0, 1], [1, 2], directed=False, device="cpu")
        >>> g.compute("closeness").round(3).tolist()
        [0.667, 1.0, 0.667]
    """

    name = "closeness"
    uses_weights = False

    def __init__(
        self,
        wf_improved: bool = True,
        k: int | None = None,
        seed: int = 0,
        sources: Any = None,
        weighted: bool = False,
    ) -> None:
        self.wf_improved = flag("closeness: wf_improved", wf_improved)
        self.sample = Sample("closeness", k, seed, sources)
        self.weighted = flag("closeness: weighted", weighted)
        self._closeness: Array = None
        self._count: Array = None  # of the sources that reach a vertex

    def compute(self, graph: Graph) -> None:
        """Search from every source; per vertex, count the sources that reach it and add up their distances."""
        n, xp = graph.num_vertices, graph.device.xp
        sources = self.sample.of(graph)
        total = xp.zeros(n, np.float64 if self.weighted else np.int64)
        if self.weighted:
            self._sum_distances(graph, sources, total)
        else:
            self._sum_levels(graph, sources, total)
        self._closeness = closeness(xp, self._count, total, len(sources), graph.num_live, self.wf_improved)

    def _sum_levels(self, graph: Graph, sources: list[int], total: Array) -> None:
        """Add to ``total[v]``, in place, the fewest edges on a path from each of ``sources`` that reaches ``v``."""
        n, xp = graph.num_vertices, graph.device.xp
        level = xp.empty(n, np.uint32)
        self._count = xp.bincount(xp.asarray(sources, np.int64), minlength=n)
        for source in sources:
            level.fill(UNREACHED)
            level[source] = 0
            arguments = (level, self._count, total)
            propagate(graph, [source], one_further, out=level, reduce="min", args=arguments, then=reached, once="equal")

    def _sum_distances(self, graph: Graph, sources: list[int], total: Array) -> None:
        """Add to ``total[v]``, in place, the distance by weight from each of ``sources`` that reaches ``v``."""
        demand_weights(graph, "closeness", positive=False)
        xp = graph.device.xp
        self._count = xp.zeros(graph.num_vertices, np.int64)
        with copied_rows(graph):
            for source in sources:
                distance = distances(graph, source)
                is_reached = distance < math.inf
                self._count += is_reached
                total += xp.where(is_reached, distance, 0)

    @property
    def result(self) -> ReturnedArray:
        """The closeness of every vertex in a new array."""
        return self._closeness.copy()

    # -- verification and benchmark ------------------------------------------------------------------------------------

    @classmethod
    def reference(
        cls,
        src: np.ndarray,
        dst: np.ndarray,
        weight: np.ndarray | None,
        num_vertices: int,
        directed: bool,
        *,
        live: np.ndarray | None = None,
        **params: Any,
    ) -> np.ndarray:
        """Return the closeness by SciPy's shortest paths from the same sources."""
        from scipy.sparse import csgraph

        asked = cls(**params)
        sources = asked.sample.drawn(num_vertices, live)
        matrix = adjacency(src, dst, weight, num_vertices, asked.weighted)
        count, total = np.zeros(num_vertices, np.int64), np.zeros(num_vertices)
        for source in sources:
            distance = csgraph.dijkstra(matrix, indices=source)
            reached = np.isfinite(distance)
            count += reached
            total[reached] += distance[reached]
        return closeness(np, count, total, len(sources), num_vertices - deleted_among(live), asked.wf_improved)

    @classmethod
    def sample_params(cls, num_vertices: int, centre: int) -> dict[str, Any]:
        """Return parameters for the benchmark, for every graph the same: 16 sources."""
        return {"k": 16}

    def traffic(self, graph: Graph) -> int:
        """Return how many bytes all searches move at least."""
        return search_bytes(int((self._count * graph.degrees()).sum()), int(self._count.sum()))


def closeness(xp: Any, count: Array, total: Array, num_sources: int, num_live: int, wf_improved: bool) -> Array:
    """Return the closeness of all vertices, ``float64[n]``.

    ``count`` is how many of the ``num_sources`` sources reach each vertex, ``total`` the sum of their distances to it,
    ``num_live`` the number of live vertices. If there are fewer sources, both are scaled up. ``wf_improved``: multiply
    by the share of live vertices that reach the vertex.
    """
    scale = num_live / max(num_sources, 1)
    with np.errstate(over="ignore"):
        others, distance = xp.maximum(count * scale - 1, 0), total * scale
    result = others / xp.where(total > 0, distance, 1) * (total > 0)
    return result * (others / max(num_live - 1, 1)) if wf_improved else result


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Return the algorithm of this module, :class:`Closeness`, which registers it as a plugin."""
    return [Closeness]
