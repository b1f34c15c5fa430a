"""PageRank kept current: power iteration, warm-started after every batch.

Follows Meerkat (Concessao et al.): damping 0.85, stop when the L1 norm of a step is below 1e-5, at most 100 steps. With
in-edges a step pulls (one write per vertex, no atomics); without, it pushes along the out-edges.

Edge weights, personalisation and dangling vertices are treated as by NetworkX: a vertex shares its rank among its
out-edges in proportion to their weights, a vertex whose out-edges weigh nothing gives it to all vertices, and both
that and the jumps go to the vertices in proportion to ``personalization``.

An approximation by design: at the stop the L1 distance to the exact ranks is at most
``tolerance * damping / (1 - damping)``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate import hookimpl
from suricate.algorithm import Algorithm, pull_bytes
from suricate.arrays import as_array
from suricate.errors import ParameterError, RequirementError, ShapeError, VertexRangeError, WeightError
from suricate.operators import advance, neighbor_reduce
from suricate.parameters import dtype as one_dtype
from suricate.parameters import flag, integer, real

if TYPE_CHECKING:
    from suricate.delta import Delta
    from suricate.devices import Array
    from suricate.graph import Graph

DAMPING, TOLERANCE, MAX_ITERATIONS = 0.85, 1e-5, 100
EXACT_TOLERANCE, EXACT_ITERATIONS = 1e-14, 10_000  #: of the reference


def share(u, v, w, shares):
    """Return what ``u`` gives to each of its out-neighbours."""
    return shares[u]


def weighted_share(u, v, w, shares):
    """Return what ``u`` gives to ``v`` by the weight of the edge; minus infinity shows that a weight is negative."""
    return w * shares[u] if w >= 0 else -math.inf


class PageRank(Algorithm):
    """Ranks that sum to 1.

    Args:
        damping: probability of following an edge, in [0, 1).
        tolerance: L1 norm of the last step's change at which the iteration stops, above 0.
        max_iterations: upper bound on the number of steps, at least 1.
        dtype: ``"float64"`` or ``"float32"``.
        weighted: True uses edge weights, False ignores them; None uses them if the graph has any.
        personalization: where jumps go, in any scale: a dict from vertex to a number (others: 0), or an array with an
            entry per vertex; None: everywhere alike. Vertices that are added to the graph later count as 0.

    Raises:
        ParameterError: a parameter is of the wrong type or out of range.
        RequirementError: ``weighted=True`` on a graph without weights.
        ShapeError, VertexRangeError: ``personalization`` does not fit the graph.
        WeightError: the graph has negative weights, or the weights of a vertex have no finite sum.
    """

    name = "pagerank"
    suites = ("algorithms", "demo")
    update_kind = "warm"

    def __init__(
        self,
        damping: float = DAMPING,
        tolerance: float = TOLERANCE,
        max_iterations: int = MAX_ITERATIONS,
        dtype: str = "float64",
        weighted: bool | None = None,
        personalization: Mapping[int, float] | Array | None = None,
    ) -> None:
        self.damping = real("pagerank: damping", damping, low=0, high=1)
        self.tolerance = real("pagerank: tolerance", tolerance, low=0, include_low=False)
        self.max_iterations = integer("pagerank: max_iterations", max_iterations, low=1)
        self.dtype = one_dtype("pagerank: dtype", dtype, ("float64", "float32"))
        self.weighted = None if weighted is None else flag("pagerank: weighted", weighted)
        self.personalization = None if personalization is None else _checked_personalization(personalization)
        self.iterations: int = 0
        self._ranks: Array = None
        self._jumps: Array | float = 0.0  # where jumps go: an array, or one number for all vertices

    def compute(self, graph: Graph) -> None:
        """Iterate from the uniform vector."""
        if self.weighted and graph.weight_dtype is None:
            raise RequirementError(
                "pagerank: weighted=True needs edge weights: build the graph with Graph(..., weight_dtype='float32')"
            )
        n = graph.num_vertices
        _check_fit(self.personalization, n, grown=self._ranks is not None)
        self._set_jumps(graph)
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
            self._set_jumps(graph)
        self._iterate(graph)

    @property
    def result(self) -> Array:
        """The current ranks in a new array, ``dtype[num_vertices]``."""
        return self._ranks.copy()

    def uses_weights(self, graph: Graph) -> bool:
        """Return whether ranks are shared by weight."""
        return graph.weight_dtype is not None and self.weighted is not False

    def _set_jumps(self, graph: Graph) -> None:
        n = graph.num_vertices
        if self.personalization is None:
            self._jumps = 1 / max(n, 1)
        else:
            self._jumps = graph.device.xp.asarray(_distribution(self.personalization, n).astype(self.dtype))

    def _iterate(self, graph: Graph) -> None:
        self.iterations = 0
        n, xp = graph.num_vertices, graph.device.xp
        if n == 0:
            return
        gather, degrees = share, graph.degrees()
        if self.uses_weights(graph):
            gather, degrees = weighted_share, self._weighted_degrees(graph)
        dangling = (self.damping * (degrees == 0)).astype(self.dtype)
        per_weight = (self.damping / xp.where(degrees == 0, 1, degrees)).astype(self.dtype)
        gathered, change = xp.empty(n, self.dtype), math.inf
        while change >= self.tolerance and self.iterations < self.max_iterations:
            self._gather(graph, gather, self._ranks * per_weight, gathered)
            ranks = gathered + ((self._ranks * dangling).sum() + (1 - self.damping)) * self._jumps
            change = float(abs(ranks - self._ranks).sum())
            self._ranks = ranks.astype(self.dtype, copy=False)
            self.iterations += 1

    def _weighted_degrees(self, graph: Graph) -> Array:
        """Return the sum of the weights of every vertex's out-edges, float64[num_vertices]."""
        xp = graph.device.xp
        sums = neighbor_reduce(graph, weighted_share, args=(xp.ones(graph.num_vertices),), dtype="float64")
        usable = (sums == 0) | ((sums >= np.finfo(self.dtype).tiny) & (sums < math.inf))
        if not bool(usable.all()):
            raise WeightError(
                "pagerank: a vertex has a negative weight, or weights whose sum is too large or too small"
            )
        return sums

    def _gather(self, graph: Graph, gather: Any, shares: Array, out: Array) -> None:
        if graph.has_in_edges:
            neighbor_reduce(graph, gather, args=(shares,), over="in", out=out)
        else:
            out.fill(0)
            advance(graph, None, gather, out, args=(shares,), reduce="sum")

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
        damping: float = DAMPING,
        weighted: bool | None = None,
        personalization: Any = None,
        **_: Any,
    ) -> np.ndarray:
        """Push over a SciPy matrix in float64, far beyond the tolerance."""
        from scipy import sparse

        values = np.ones(len(src)) if weight is None or weighted is False else weight.astype(np.float64)
        matrix = sparse.csr_array((values, (src, dst)), shape=(num_vertices, num_vertices))
        return power_iteration(matrix, damping, EXACT_TOLERANCE, EXACT_ITERATIONS, personalization)

    @classmethod
    def mismatch(cls, result: Any, reference: Any, **params: Any) -> str | None:
        """Compare the L1 distance with the stated bound; if the steps ran out, with what they guarantee."""
        damping, tolerance = params.get("damping", DAMPING), params.get("tolerance", TOLERANCE)
        steps = params.get("max_iterations", MAX_ITERATIONS)
        rounding = 100 * np.finfo(result.dtype).eps
        bound = max(tolerance * damping / (1 - damping), 2 * damping**steps) + rounding / (1 - damping)
        distance = float(np.abs(result - reference).sum()) if len(result) == len(reference) else math.inf
        if distance <= bound:  # False for NaN
            return None
        return f"the L1 distance to the exact ranks is {distance:.2e}, the bound is {bound:.2e}"

    @classmethod
    def sample_params(cls, num_vertices: int, centre: int) -> dict[str, Any]:
        """Iterate until the steps are below 1e-6."""
        return {"tolerance": 1e-6, "max_iterations": 200}

    @classmethod
    def peer(
        cls,
        matrix: Any,
        damping: float = DAMPING,
        tolerance: float = TOLERANCE,
        max_iterations: int = MAX_ITERATIONS,
        personalization: Any = None,
        **_: Any,
    ) -> np.ndarray:
        """Power iteration over the matrix, as far as the algorithm goes."""
        return power_iteration(matrix, damping, tolerance, max_iterations, personalization)

    def traffic(self, graph: Graph) -> int:
        """Return the bytes of one pull per iteration."""
        weight_bytes = graph.weight_dtype.itemsize if self.uses_weights(graph) and graph.weight_dtype else 0
        one = pull_bytes(graph.num_vertices, graph.num_edges, self.dtype.itemsize, weight_bytes)
        return self.iterations * one


# -- personalisation ---------------------------------------------------------------------------------------------------


def _checked_personalization(values: Any) -> dict[int, float] | np.ndarray:
    """Return a copy on the host of what the user gave: non-negative finite numbers, not all of them 0."""
    label = "pagerank: personalization"
    if isinstance(values, Mapping):
        given = {integer(f"{label}: a vertex", v): values[v] for v in values}
        if min(given, default=0) < 0:
            raise VertexRangeError(f"{label}: vertex {min(given)} is negative")
        checked: Any = {v: real(f"{label}[{v}]", number, low=0) for v, number in given.items()}
        numbers = np.array([*checked.values()], np.float64)
    else:
        array = as_array(values, label)
        if array.ndim != 1 or array.dtype.kind not in "iuf":
            raise ParameterError(f"{label} must be a dict, or a one-dimensional array of numbers")
        numbers = checked = np.array(array.get() if hasattr(array, "get") else array, np.float64)
        if not np.all((numbers >= 0) & (numbers < math.inf)):
            raise ParameterError(f"{label} must hold finite numbers of at least 0")
    with np.errstate(over="ignore"):
        total = numbers.sum()
    if not 0 < total < math.inf:
        raise ParameterError(f"{label} must have a finite sum above 0")
    return checked


def _check_fit(values: dict[int, float] | np.ndarray | None, num_vertices: int, *, grown: bool) -> None:
    """Raise unless the personalisation names vertices of the graph, or has an entry for each of them.

    A graph that may have ``grown`` since may have more vertices than there are entries.
    """
    if isinstance(values, dict) and max(values) >= num_vertices:
        raise VertexRangeError(f"pagerank: personalization: vertex {max(values)} is not in [0, {num_vertices})")
    if isinstance(values, np.ndarray) and (len(values) > num_vertices or (len(values) < num_vertices and not grown)):
        raise ShapeError(f"pagerank: personalization has {len(values)} entries, the graph {num_vertices} vertices")


def _distribution(values: Any, num_vertices: int) -> np.ndarray:
    """Return the personalisation as float64[num_vertices] that sum to 1; vertices that it does not name have 0."""
    spread = np.zeros(num_vertices)
    if isinstance(values, Mapping):
        spread[list(values)] = list(values.values())
    else:
        spread[: len(values)] = values
    return spread / spread.sum()


def power_iteration(
    matrix: Any, damping: float, tolerance: float, max_iterations: int, personalization: Any = None
) -> np.ndarray:
    """Return the ranks by pushing along the rows of a SciPy CSR matrix, whose values are the weights."""
    from scipy import sparse

    n = matrix.shape[0]
    degree = np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel()
    dangling = degree == 0
    per_row = np.repeat(1 / np.where(dangling, 1, degree), np.diff(matrix.indptr))
    push = sparse.csr_array((matrix.data * per_row, matrix.indices, matrix.indptr), shape=matrix.shape).T
    jumps = 1 / max(n, 1) if personalization is None else _distribution(personalization, n)
    rank = np.full(n, 1 / max(n, 1))
    for _ in range(max_iterations):
        after = damping * (push @ rank) + (damping * rank[dangling].sum() + 1 - damping) * jumps
        change, rank = np.abs(after - rank).sum(), after
        if change < tolerance:
            break
    return rank


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Offer PageRank."""
    return [PageRank]
