"""Betweenness centrality: the share of shortest paths that pass through a vertex. Computed from scratch after a change.

Brandes, *A faster algorithm for betweenness centrality* (2001): a breadth-first search from a source counts the
shortest paths to every vertex, level by level. Then each level, the deepest first, collects the *credits* of the level
below it: of a vertex, on how many shortest paths from the source it lies, each counted as its share of all paths to the
same end. O(m) per source, O(n m) for all sources. With ``k`` sources the result is an estimate, scaled as NetworkX
scales it (*Centrality estimation in large networks*, 2007). Weights are not used, unless ``weighted`` asks for it
(``suricate.algorithms.shared.weighted_paths``). The numbers of paths are float64; a source from which one of them
overflows is repeated with factors and powers of 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate import hookimpl
from suricate.algorithms.shared.live import deleted_among
from suricate.algorithms.shared.matrices import adjacency
from suricate.algorithms.shared.sources import Sample, search_bytes
from suricate.algorithms.shared.weighted_paths import credits, demand_weights, reference_credits
from suricate.base.parameters import flag
from suricate.graph.row_copies import copied_rows
from suricate.operators import advance, neighbor_reduce, propagate, vertex_map
from suricate.plugins.algorithm import Algorithm

if TYPE_CHECKING:
    from suricate.base.devices import Array, ReturnedArray
    from suricate.graph import Graph
    from suricate.operators.results import Layers

UNREACHED = 0xFFFFFFFF
PATH_BYTES = 8


def paths_through(u, v, w, paths, level):
    """Return ``paths[u]``, the number of shortest paths that reach ``v`` over ``u``; 0 if ``v`` has a level already.

    ``level[v]`` is ``UNREACHED`` before the step that reaches ``v``.
    """
    return paths[u] if level[v] == UNREACHED else 0.0


def reached(v, step, paths, level):
    """Set ``level[v]`` to ``step``; return True: the search continues from ``v``. ``paths`` is not read."""
    level[v] = step
    return True


def credit_from(u, v, w, paths, level, credit):
    """Return the credit of ``u`` for the shortest paths that continue to ``v``; NaN if their number overflows.

    ``paths`` (``float64[n]``) are numbers of shortest paths, ``level`` (``uint32[n]``) steps from the source; the
    credit is 0 if ``v`` is not one level below ``u``.
    """
    return paths[u] / paths[v] * (1 + credit[v]) + 0.0 * paths[v] if level[v] == level[u] + 1 else 0.0


def collect(v, level, credit, count, total, overflows, source):
    """Add the results of the search from ``source`` at ``v`` to the sums over all sources, in place.

    Args:
        v: a vertex.
        level: ``uint32[n]``, steps from the source, or ``UNREACHED``.
        credit: ``float64[n]``; NaN at the source if a number of paths overflowed.
        count: ``int64[n]``, raised by 1 if ``v`` was reached.
        total: ``float64[n]``, to which the credit is added, except at the source and after an overflow.
        overflows: ``uint32[n]``, set to 1 at the source after an overflow.
        source: the source of the search.
    """
    if level[v] != UNREACHED:
        count[v] = count[v] + 1
    if credit[source] == credit[source]:
        if v != source:
            total[v] = total[v] + credit[v]
    elif v == source:
        overflows[v] = 1


def collect_on_host(
    level: np.ndarray, credit: np.ndarray, count: np.ndarray, total: np.ndarray, overflows: np.ndarray, source: int
) -> None:
    """Add the results of the search from ``source`` at all vertices to the sums over all sources, in place.

    This is :func:`collect` for all vertices at once. Adds 1 to ``count`` where ``level`` (steps from the source) is
    not ``UNREACHED``, and ``credit``, set to 0 at the source before, to ``total``. If the credit of the source is NaN,
    which tells that a number of paths overflowed, it sets ``overflows[source]`` to 1 instead of adding credits.
    """
    count += level != UNREACHED
    if math.isnan(credit[source]):
        overflows[source] = 1
        return
    credit[source] = 0
    total += credit


# Numbers of paths as part[v] * 2 ** power[v], for sources from which they overflow.


def power_of(u, v, w, part, power, level):
    """Return ``power[u]``, the exponent of the number of paths to ``u``, if ``v`` is one ``level`` below ``u``.

    Returns -inf otherwise. The largest exponent offered becomes ``power[v]``. ``part`` is not read.
    """
    return power[u] if level[v] == level[u] + 1 else -math.inf


def part_of(u, v, w, part, power, level):
    """Return the number of shortest paths that reach ``v`` over ``u``, divided by ``2 ** power[v]``.

    The number is ``part[u] * 2 ** power[u]``, or 0 if ``v`` is not one ``level`` below ``u``.
    """
    return part[u] * math.exp2(power[u] - power[v]) if level[v] == level[u] + 1 else 0.0


def normalise(v, part, power):
    """Scale the factor ``part[v]`` by a power of 2 into [1, 2), and add the exponent to ``power[v]``, both in place."""
    more = math.floor(math.log2(part[v]))
    part[v] = part[v] * math.exp2(-1.0 * more)
    power[v] = power[v] + more


def scaled_credit_from(u, v, w, part, power, level, credit):
    """Return the credit of ``u`` for the shortest paths that continue to ``v``; 0 if ``v`` is not a level below ``u``.

    As :func:`credit_from`, but the number of shortest paths to a vertex is ``part[v] * 2 ** power[v]``, which cannot
    overflow. ``level`` (``uint32[n]``) are steps from the source, ``credit[v]`` is the credit of ``v``.
    """
    if level[v] != level[u] + 1:
        return 0.0
    return part[u] / part[v] * math.exp2(power[u] - power[v]) * (1 + credit[v])


class Betweenness(Algorithm):
    """Betweenness of all vertices, ``float64[num_vertices]``; parameters and scaling are NetworkX's.

    Args:
        k: number of sources to sample, at least 1; None, or as many as there are live vertices: exact. With one source
            and without endpoints the betweenness of the source itself is undefined: NaN.
        normalized: divide by the number of pairs.
        endpoints: count a path at its two ends as well.
        seed: of the sample; NetworkX draws the same sample with it.
        sources: ids of the sample, in place of ``k`` and ``seed``.
        weighted: shortest paths are those by weight; then all weights must be above 0.

    Raises:
        ParameterError: a parameter is of the wrong type or out of range, or both ``k`` and ``sources`` are given.
        RequirementError: ``weighted`` on a graph without weights.
        WeightError: ``weighted``, and a weight is 0 or negative; with a tracker also when such a weight is inserted.
        DTypeError, ShapeError, VertexRangeError: ``sources`` are not ids of live vertices. If one is deleted later,
            reading a tracker's result raises until the vertex is live again.

    Example:
        >>> g = su.Graph.from_coo([0, 1], [1, 2], directed=False, device="cpu")
        >>> g.compute("betweenness", normalized=False).tolist()
        [0.0, 1.0, 0.0]
    """

    name = "betweenness"
    scale_free = True
    uses_weights = False

    def __init__(
        self,
        k: int | None = None,
        normalized: bool = True,
        endpoints: bool = False,
        seed: int = 0,
        sources: Any = None,
        weighted: bool = False,
    ) -> None:
        self.sample = Sample("betweenness", k, seed, sources)
        self.normalized = flag("betweenness: normalized", normalized)
        self.endpoints = flag("betweenness: endpoints", endpoints)
        self.weighted = flag("betweenness: weighted", weighted)
        self._betweenness: Array = None
        self._count: Array = None  # of the sources that reach a vertex

    def compute(self, graph: Graph) -> None:
        """Search from every source, and add up the credits of all searches."""
        if self.weighted:
            demand_weights(graph, "betweenness", positive=True)
        n, xp = graph.num_vertices, graph.device.xp
        total, self._count = xp.zeros(n), xp.zeros(n, np.int64)
        overflows = xp.zeros(n, np.uint32)
        sources = self.sample.of(graph)
        with copied_rows(graph):
            for source in sources:
                level, credit = self._credits(graph, source)
                if graph.device.is_cuda:
                    vertex_map(graph, None, collect, args=(level, credit, self._count, total, overflows, source))
                else:
                    collect_on_host(level, credit, self._count, total, overflows, source)
                if self.endpoints:
                    reached = level != UNREACHED
                    reached[source] = False
                    total += reached
                    total[source] += reached.sum()
            for source in xp.flatnonzero(overflows).tolist():
                _, credit = self._credits(graph, source, overflows=True)
                credit[source] = 0
                total += credit
        total *= scales(xp, n, graph.num_live, sources, graph.directed, self.normalized, self.endpoints)
        self._betweenness = total

    def _credits(self, graph: Graph, source: int, *, overflows: bool = False) -> tuple[Array, Array]:
        """Return the level of every vertex (``uint32[n]``), and its credit for paths from ``source`` (``float64[n]``).

        If paths are weighted, the level is 0 at all reached vertices. If a number of paths overflows, the credits of
        vertices on these paths are NaN, that of the source included; with ``overflows`` factors and powers of 2 avoid
        that.
        """
        if self.weighted:
            distance, credit, _ = credits(graph, source, overflows=overflows)
            xp = graph.device.xp
            return xp.where(distance < math.inf, np.uint32(0), np.uint32(UNREACHED)), credit
        level, credit, _ = searched(graph, source, overflows=overflows)
        return level, credit

    @property
    def result(self) -> ReturnedArray:
        """The betweenness of every vertex in a new array."""
        return self._betweenness.copy()

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
        """Return the betweenness by products of SciPy's matrix and vectors.

        If weighted, it is computed by SciPy's Dijkstra and plain loops.
        """
        asked, total = cls(**params), np.zeros(num_vertices)
        sources = asked.sample.drawn(num_vertices, live)
        for source, reached, credit in _reference_credits(
            src, dst, weight if asked.weighted else None, num_vertices, sources
        ):
            others = reached & (np.arange(num_vertices) != source)
            total += credit + asked.endpoints * others
            total[source] += asked.endpoints * others.sum()
        num_live = num_vertices - deleted_among(live)
        return total * scales(np, num_vertices, num_live, sources, directed, asked.normalized, asked.endpoints)

    @classmethod
    def mismatch(cls, result: Any, reference: Any, **params: Any) -> str | None:
        """Return a text that says where ``result`` differs from ``reference``, or None if both agree up to rounding.

        NaN agrees with NaN only.
        """
        if result.shape == reference.shape and np.array_equal(np.isnan(result), np.isnan(reference)):
            return super().mismatch(np.nan_to_num(result), np.nan_to_num(reference), **params)
        return f"result has another shape than {reference.shape}, or NaN elsewhere than the reference"

    @classmethod
    def sample_params(cls, num_vertices: int, centre: int) -> dict[str, Any]:
        """Return parameters for the benchmark, for every graph the same: 16 sources."""
        return {"k": 16}

    def traffic(self, graph: Graph) -> int:
        """Return how many bytes all searches and adding up credits move at least, numbers of paths included."""
        pushes, visits = int((self._count * graph.degrees()).sum()), int(self._count.sum())
        return 2 * search_bytes(pushes, visits) + 4 * visits * PATH_BYTES


def searched(graph: Graph, source: int, *, overflows: bool) -> tuple[Array, Array, tuple[Array, Array | None]]:
    """Return levels and credits, as :meth:`Betweenness._credits`, and the numbers of shortest paths, ``float64[n]``.

    The latter are factors and exponents of 2 with ``overflows``, else numbers and None.
    """
    n, xp = graph.num_vertices, graph.device.xp
    level, paths, credit = xp.full(n, UNREACHED, np.uint32), xp.zeros(n), xp.zeros(n)
    level[source], paths[source] = 0, 1
    state = (paths, level)
    found = propagate(graph, [source], paths_through, out=paths, args=state, reduce="sum", then=reached, layers=True)
    assert found.layers is not None
    back = found.layers.reversed
    if overflows:
        part, power = _scaled_paths(graph, found.layers, level)
        neighbor_reduce(graph, back, scaled_credit_from, args=(part, power, level, credit), reduce="sum", out=credit)
        return level, credit, (part, power)
    neighbor_reduce(graph, back, credit_from, args=(*state, credit), reduce="sum", out=credit)
    return level, credit, (paths, None)


def _reference_credits(
    src: np.ndarray, dst: np.ndarray, weight: np.ndarray | None, num_vertices: int, sources: list[int]
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield each of ``sources``, the mask of the vertices it reaches, and the credits of all vertices, ``float64[n]``.

    ``src`` and ``dst`` are the ends of the arcs. Shortest paths are those by ``weight``, or if it is None by the number
    of edges.
    """
    from scipy.sparse import csgraph

    matrix = adjacency(src, dst, weight, num_vertices)
    transposed = matrix.T.tocsr()
    for source in sources:
        if weight is not None:
            distance = csgraph.dijkstra(matrix, indices=source)
            arcs = (src, dst, weight.astype(np.float64))
            yield source, np.isfinite(distance), reference_credits(arcs, distance, source)
            continue
        paths = np.zeros(num_vertices)
        paths[source] = 1
        layers = [paths.copy()]
        while layers[-1].any():
            reached = transposed @ layers[-1]
            reached[paths > 0] = 0
            paths += reached
            layers.append(reached)
        credit = np.zeros(num_vertices)
        for above, below in zip(layers[-2::-1], layers[:0:-1], strict=True):
            share = np.where(below > 0, (1 + credit) / np.where(below > 0, below, 1), 0)
            credit += above * (matrix @ share)
        credit[source] = 0
        yield source, paths > 0, credit


def _scaled_paths(graph: Graph, layers: Layers, level: Array) -> tuple[Array, Array]:
    """Return the numbers of shortest paths as factors ``part`` and exponents ``power`` of 2, both ``float64[n]``.

    ``layers`` are the layers of the search in ``graph``, ``level`` the number of the layer of each vertex. Waits once
    per layer.
    """
    xp, n = graph.device.xp, graph.num_vertices
    part, power = xp.zeros(n), xp.full(n, -math.inf)
    first = layers[0].astype(np.int64)
    part[first], power[first] = 1, 0
    for step in range(len(layers) - 1):
        args = (part, power, level)
        above, below = (graph.frontier(layers[at]) for at in (step, step + 1))
        advance(graph, above, power_of, out=power, args=args, reduce="max")
        advance(graph, above, part_of, out=part, args=args, reduce="sum")
        vertex_map(graph, below, normalise, args=(part, power))
    return part, power


def scales(
    xp: Any, num_vertices: int, num_live: int, sources: list[int], directed: bool, normalized: bool, endpoints: bool
) -> Array | float:
    """Return the factors by which NetworkX scales sums of credits, ``float64[num_vertices]`` or one number.

    ``num_live`` is the number of live vertices, ``sources`` the ids that were searched from, ``directed`` that of the
    graph; ``normalized``: divide by the number of pairs; ``endpoints``: paths were counted at their two ends as well.
    Without ``endpoints`` a sampled vertex has a factor of its own, as its own search contributes nothing to it.
    """
    others = num_live if endpoints else num_live - 1
    if others < 2:
        return 1.0
    is_sample = len(sources) < num_live
    counted = xp.full(num_vertices, len(sources) if is_sample else others, np.float64)
    if is_sample and not endpoints:
        counted[xp.asarray(sources, np.int64)] = len(sources) - 1 or math.nan
    return 1 / (counted * (others - 1)) if normalized else others / (counted * (1 if directed else 2))


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Return the algorithm of this module, :class:`Betweenness`, which registers it as a plugin."""
    return [Betweenness]
