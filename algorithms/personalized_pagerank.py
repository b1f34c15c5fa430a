"""PageRank from the view of each of several vertices, kept current: all of them in one pass over the edges per step.

The ranks of a source sum to 1: at each step a walk follows an edge with probability ``alpha``, else it jumps back to
its source, as it does from vertices without out-edges (Page et al., 1999, with one vertex as personalisation;
NetworkX's ``pagerank(personalization={source: 1})``). Ranks are *columns*, so that a step reads the rows of neighbours
as they lie in memory (``suricate.operators``): O((n + m) k) per step. What is iterated is ``x = alpha P^T x +
(1 - alpha) e``, of which the ranks are a multiple, since jumps and vertices without out-edges lead to the same place.

An approximation by design: it stops when a step changes all ranks, of all sources together, by at most ``tol`` in the
L1 norm, and is then within ``tol * alpha / (1 - alpha)`` of the solution. After a change it goes on from there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate import hookimpl
from suricate.algorithms.shared.convergence import tolerance
from suricate.algorithms.shared.matrices import adjacency
from suricate.algorithms.shared.sums import Weighting
from suricate.algorithms.shared.vertices import Vertices
from suricate.base.html import result_html
from suricate.base.parameters import integer, real
from suricate.errors import WeightError
from suricate.graph.row_copies import copied_rows
from suricate.operators import Stop, converge, neighbor_reduce
from suricate.plugins.algorithm import Algorithm, Requirements, pull_bytes

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.graph import Graph
    from suricate.graph.delta import Delta

ALPHA, TOLERANCE = 0.85, 1e-6
EXACT = 1e-14  #: change of a step at which the reference stops


class PersonalizedRanks(NamedTuple):
    """The ranks that several sources give.

    Attributes:
        rank: ``float64[num_vertices, k]``: the ranks of source ``j`` are column ``j``, and sum to 1.
        source: ``uint32[k]``, the sources.
    """

    rank: Array
    source: Array

    def _repr_html_(self) -> str:
        return result_html(self)


def share(u, v, w, j, x, after, out, source, moved, alpha, weighted):
    """Return what ``u`` gives to ``v`` in column ``j``: ``x[u, j]``, its rank per unit of out-weight, times ``w``."""
    return w * x[u, j] if weighted else x[u, j]


def jump(v, value, j, x, after, out, source, moved, alpha, weighted):
    """Set ``after[v, j]`` to the new rank of ``v`` per unit of out-weight; add the change of the rank to ``moved``."""
    rank = alpha * value + (1 - alpha if v == source[j] else 0.0)
    after[v, j] = rank / out[v]
    moved.add(abs(rank - x[v, j] * out[v]))


def weight_of(u, v, w):
    """Return the weight of an edge."""
    return float(w)


class PersonalizedPageRank(Algorithm):
    """PageRank with all jumps to one vertex, of several ``sources`` at once: a :class:`PersonalizedRanks`.

    Args:
        sources: ids of the vertices, each once or more often.
        alpha: probability of following an edge, in [0, 1).
        tol: L1 norm of a step's change, of all sources together, at which the iteration stops.
        max_iter: upper bound on the number of steps; None: until ``tol`` is reached.
        weighted: True uses edge weights, False ignores them; None uses them if the graph has any.

    Raises:
        ParameterError: a parameter is of the wrong type or out of range, or there are no sources.
        DTypeError, ShapeError: ``sources`` are not ids.
        VertexRangeError: a source is not a vertex of the graph, or deleted. If it is deleted later, reading a
            tracker's result raises until the vertex is live again.
        RequirementError: ``weighted=True`` on a graph without weights, or a directed graph without in-edges.
        WeightError: the graph has negative weights, or the weights of a vertex have no finite sum.

    Example:
        >>> g = su.Graph.from_coo([0, 1, 2], [1, 2, 0], in_edges=True, device="cpu")
        >>> g.compute("personalized_pagerank", sources=[0]).rank.round(3).tolist()
        [[0.389], [0.33], [0.281]]
    """

    name = "personalized_pagerank"
    scale_free = True
    requires = Requirements(in_edges=True)
    update_kind = "warm"
    recompute_share = 0.2

    def __init__(
        self,
        sources: Any,
        alpha: float = ALPHA,
        tol: float = TOLERANCE,
        max_iter: int | None = None,
        weighted: bool | None = None,
    ) -> None:
        self.sources = Vertices(f"{self.name}: sources", sources)
        self.alpha = real(f"{self.name}: alpha", alpha, low=0, high=1)
        self.tol = tolerance(f"{self.name}: tol", tol)
        self.max_iter = None if max_iter is None else integer(f"{self.name}: max_iter", max_iter, low=1)
        self.weighting = Weighting(self.name, weighted)
        self.iterations: int = 0
        self._x: Array = None  # float64[n, k], ranks per unit of out-weight
        self._out: Array = None  # float64[n], the out-weight, 1 where there is none
        self._source: Array = None

    def compute(self, graph: Graph) -> None:
        """Iterate from all rank at the sources."""
        self.weighting.demand(graph)
        self.sources.demand(graph)
        self._begin(graph)

    def _begin(self, graph: Graph) -> None:
        xp, ids = graph.device.xp, self.sources.given.astype(np.int64)
        self._source, self._out = xp.asarray(ids.astype(np.uint32)), self._out_weights(graph)
        self._x = xp.zeros((graph.num_vertices, len(ids)))
        self._x[self._source, xp.arange(len(ids))] = 1 / self._out[self._source]
        self._iterate(graph)

    def update(self, graph: Graph, delta: Delta) -> None:
        """Iterate from the previous ranks; after large batches compute from scratch."""
        if self.should_recompute(graph, delta.edge_set("deleted"), delta.edge_set("inserted")):
            self.recomputes()
            self._begin(graph)
            return
        xp, before, out = graph.device.xp, self._x, self._out_weights(graph)
        self._x = xp.zeros((graph.num_vertices, before.shape[1]))
        self._x[: len(before)] = before * (self._out / out[: len(before)])[:, None]
        self._out = out
        self._iterate(graph)

    def _out_weights(self, graph: Graph) -> Array:
        xp, n = graph.device.xp, graph.num_vertices
        if not self.weighting.applies(graph):
            return xp.maximum(graph.degrees(), 1).astype(np.float64)
        least = neighbor_reduce(graph, None, weight_of, reduce="min")
        out = xp.zeros(n)
        self.weighting.sum_over_out(graph, xp.ones(n), out)
        if n and not bool((xp.isfinite(out) & (least >= 0)).all()):
            raise WeightError(f"{self.name}: weights must not be negative, and their sums finite")
        return xp.where(out > 0, out, 1.0)

    def _iterate(self, graph: Graph) -> None:
        self.sources.note(graph)
        moved, x, after = graph.scalar("sum", "float64"), self._x, graph.device.xp.empty_like(self._x)
        args = (x, after, self._out, self._source, moved, self.alpha, self.weighting.applies(graph))
        with copied_rows(graph):
            done = converge(
                graph, None, share, args=args, reduce="sum", over="in", then=jump, wake=None, dtype="float64",
                swap=[(x, after)], max_steps=self.max_iter or self._most(), stop=Stop(until=(moved, self.tol)),
            )  # fmt: skip
        self.iterations = int(done.steps)

    def _most(self) -> int:
        """Return after how many steps one changes less than ``tol``: ``alpha`` times what the one before did."""
        if self.alpha == 0:
            return 2
        return 2 + math.ceil(math.log(self.tol / (2 * len(self.sources.given))) / math.log(self.alpha))

    @property
    def result(self) -> PersonalizedRanks:
        """The current ranks, in new arrays."""
        self.sources.demand_noted()
        rank = self._x * self._out[:, None]
        total = rank.sum(axis=0)
        return PersonalizedRanks(rank / total, self._source.copy())

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
        sources: Any = (),
        alpha: float = ALPHA,
        weighted: bool | None = None,
        live: np.ndarray | None = None,
        **_: Any,
    ) -> np.ndarray:
        """Return the ranks, ``float64[n, k]``, by SciPy's product of matrices, with the rank of dead ends led back."""
        matrix = adjacency(src, dst, weight, num_vertices, weighted).tocsr()
        out = np.asarray(matrix.sum(axis=1)).ravel()
        ids, shares = np.atleast_1d(np.asarray(sources)).astype(np.int64), np.divide(1, out, where=out > 0, out=0 * out)
        jumps = np.zeros((num_vertices, len(ids)))
        jumps[ids, np.arange(len(ids))] = 1
        rank, change, steps = jumps, 1.0, 0
        while change > EXACT and alpha**steps > EXACT**2:
            steps += 1
            after = alpha * (matrix.T @ (rank * shares[:, None])) + jumps * (
                1 - alpha + alpha * rank[out <= 0].sum(axis=0)
            )
            rank, change = after / after.sum(axis=0), float(np.abs(after - rank).sum(axis=0).max(initial=0))
        return rank

    @classmethod
    def mismatch(
        cls, result: Any, reference: Any, *, alpha: float = ALPHA, tol: float = TOLERANCE, **_: Any
    ) -> str | None:
        """Return a text that says what is wrong with ``result``, or None.

        The L1 distance of a column to the reference must be at most ``2 * tol * alpha / (1 - alpha) ** 2``: ranks are
        scaled by at most ``1 / (1 - alpha)`` to sum to 1, which their sum, with its own error, decides.
        """
        if result.rank.shape != reference.shape:
            return f"ranks of shape {result.rank.shape}, not {reference.shape}"
        distance = float(np.abs(result.rank - reference).sum(axis=0).max(initial=0))
        bound = 2 * tol * alpha / (1 - alpha) ** 2 + 1e-12
        return (
            None if distance <= bound else f"the L1 distance to the ranks is {distance:.2e}, the bound is {bound:.2e}"
        )

    @classmethod
    def sample_params(cls, num_vertices: int, centre: int) -> dict[str, Any]:
        """Return parameters for the benchmark: eight sources, the ``centre`` first, others in half of all vertices."""
        few, size = min(8, max(num_vertices, 1)), max(num_vertices, 1)
        return {"sources": [(centre + i * max(size // (2 * few), 1)) % size for i in range(few)]}

    def traffic(self, graph: Graph) -> int:
        """Return how many bytes the pulls of all steps move at least."""
        row = 8 * len(self.sources.given)
        return self.iterations * pull_bytes(
            graph.num_vertices, graph.num_edges, row, self.weighting.bytes_per_edge(graph)
        )


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Return the algorithm of this module, :class:`PersonalizedPageRank`, which registers it as a plugin."""
    return [PersonalizedPageRank]
