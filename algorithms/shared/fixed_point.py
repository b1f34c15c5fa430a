"""Base class of centralities that iterate to a fixed point and start from the previous one after a change."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from suricate.algorithms.shared.convergence import MORE_STEPS, MOST_STEPS, WarmStarts, tolerance
from suricate.algorithms.shared.matrices import adjacency
from suricate.algorithms.shared.sums import Weighting
from suricate.algorithms.shared.vertex_values import optional_values, resized
from suricate.base.parameters import integer
from suricate.errors import ConvergenceError, WeightError
from suricate.graph.row_copies import copied_rows
from suricate.operators import iterate
from suricate.plugins.algorithm import Algorithm, pull_bytes
from suricate.state.owned import owned, places, whole
from suricate.state.scalar import Scalar

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.graph import Graph
    from suricate.graph.delta import Delta


AT_ONCE = 1024  #: without max_iter, steps after which the first look is taken; then after twice as many, and so on
STALLED = 0.9  #: the size of steps must fall to that share between two looks
RESOLUTION = 2.0  #: divided by max_iter: by how much, relatively, growth may be faster somewhere when a warm start ends
TINY, HUGE = 1e-100, 1e100  #: sums beyond lose digits, or squares of them overflow


class FixedPoint(Algorithm):
    """Base class: one ``float64`` value per vertex, one or two pulls per step, until a step is small enough.

    The result is the vector that the last step began with, so that the size of that step is its residual.

    After a change a different part of the graph may have the largest values, although its previous values are almost 0.
    So an update starts with a little of the uniform vector added. It does not end while the values of any vertex grow
    much faster than those of all; the allowed difference is such that a computation from scratch would not have found
    that part of the graph within ``max_iter`` steps either. (By Collatz and Wielandt no eigenvalue is larger than the
    fastest growth.) If an update does not converge, the values are computed from scratch.

    Attributes:
        iterations: steps that the last computation or update took.
        converged: whether the last step was within the tolerance; reading :attr:`result` raises if not.
    """

    update_kind = "warm"
    recompute_share, recompute_share_on_cpu = 0.02, 0.06
    pulls: ClassVar[int] = 1  #: over all edges, per step
    fresh: ClassVar[float] = 0.01  #: share of the uniform vector in a warm start, from which new centres can grow
    nonnegative: ClassVar[bool] = True  #: whether a negative score is an error
    remedy: ClassVar[str] = ": raise max_iter or tol"  #: end of the message that there is no convergence

    def __init__(self, max_iter: int | None, tol: float, nstart: Any, weighted: bool | None) -> None:
        self.max_iter = None if max_iter is None else integer(f"{self.name}: max_iter", max_iter, low=1)
        self.tol = tolerance(f"{self.name}: tol", tol)
        self.nstart = optional_values(f"{self.name}: nstart", nstart, low=0)
        self.weighting = Weighting(self.name, weighted)
        self.iterations: int = 0
        self.converged = False
        self.slack = math.inf  #: by which factor the values of a vertex may grow faster than those of all
        self._change = math.nan  # the size of the last step
        self._starts = WarmStarts()
        self._x: Array = None  # of several processes each has the values of its own vertices
        self._xp: Any = None
        self._graph: Graph = None  # type: ignore[assignment] # the one computed on

    def compute(self, graph: Graph) -> None:
        """Iterate from ``nstart``, by default from the same value at every live vertex."""
        self.weighting.demand(graph)
        xp, n = graph.device.xp, graph.num_vertices
        self._xp, self.slack = xp, math.inf
        start = xp.ones(n) if self.nstart is None else self.nstart.on_device(graph, grown=self._x is not None)
        self._x = self.scaled(xp, of_live(graph, start))
        self._iterate(graph)
        self._starts.computed(self.iterations)

    def update(self, graph: Graph, delta: Delta) -> None:
        """Iterate from the previous values plus a little of the uniform vector.

        After large batches, compute from scratch.
        """
        changed = delta.edge_set("deleted"), delta.edge_set("inserted")
        size = changed[0].size + changed[1].size
        if not self.converged or self.should_recompute(graph, *changed):
            self.compute(graph)
            return
        if not graph.device.is_cuda and self._starts.lose(size):
            self.recomputes(MORE_STEPS)
            self.compute(graph)
            return
        xp, n = graph.device.xp, graph.num_vertices
        x = of_live(graph, resized(xp, whole(graph, self._x), n, 0.0))
        if self.fresh:
            x = (1 - self.fresh) * x + self.fresh * self.scaled(xp, of_live(graph, xp.ones(n)))
        self._x, self.slack = self.scaled(xp, x), 1 + RESOLUTION / min(self.max_iter or AT_ONCE, MOST_STEPS)
        self._iterate(graph)
        if not self.converged:
            steps = self.iterations
            self.compute(graph)
            self.iterations += steps
        self._starts.updated(size, self.iterations)

    @abstractmethod
    def scaled(self, xp: Any, x: Array) -> Array:
        """Return ``x`` scaled to the norm that vectors have between steps."""

    @abstractmethod
    def step(self, graph: Graph, x: Array, kept: Array, out: Array, change: Scalar) -> None:
        """Copy ``x`` to ``kept``, replace it by the values of the next step, and add the step's size to ``change``.

        The arrays and ``change`` are changed in place. The method only calls operators, which are recorded and
        repeated. ``out`` is scratch, zero before and afterwards. ``change`` becomes NaN if a score is negative or
        infinite, except for algorithms that allow such scores.
        """

    def bound(self, graph: Graph) -> float:
        """Return the size of a step at which the iteration stops, measured as in :meth:`step`."""
        return self.tol

    def magnitude(self) -> float:
        """Return how large the sums of the last step were, by a measure of the algorithm's own; waits.

        If they are extreme, the weights are scaled, and the steps are repeated.
        """
        return 1.0

    def _iterate(self, graph: Graph) -> None:
        self.iterations, self.converged, self._graph = 0, graph.num_vertices == 0, graph
        if self.converged:
            return
        start = self._x
        self._run(graph, start)
        if self.weighting.is_float(graph) and not TINY < self.magnitude() < HUGE and self.weighting.rescale(graph):
            self._run(graph, start)
        if self.nonnegative and math.isnan(self._change):
            raise WeightError(
                f"{self.name}: a score is negative or infinite: weights must not be negative, nor so large that their "
                "sums overflow"
            )

    def _run(self, graph: Graph, start: Array) -> None:
        """Make steps from ``start`` until one is small enough, at most ``max_iter``.

        If ``max_iter`` is None, there are more steps as long as they become smaller. Sets ``_x``, ``_change``,
        ``iterations`` and ``converged``.
        """
        xp, change, bound = graph.device.xp, graph.scalar("sum", "float64"), self.bound(graph)
        x, kept = start.copy(), owned(graph, start.dtype)
        body = partial(self.step, graph, x, kept, xp.zeros_like(x), change)
        limit, last, self.iterations = self.max_iter or AT_ONCE, math.inf, 0
        with copied_rows(graph):
            while True:
                self.iterations += iterate(body, until=(change, bound), max_steps=limit - self.iterations)
                self._change = float(change)
                if not self._change > bound or self.max_iter is not None or not self._change < STALLED * last:
                    break
                limit, last = 2 * limit, self._change
        self._x, self.converged = kept, self._change <= bound

    def _values(self) -> Array:
        """Return the values of all vertices, of a result that stays in a new array."""
        found = whole(self._graph, self._x)
        return found.copy() if self.is_kept and found is self._x else found

    def _demand_convergence(self, result: Any) -> Any:
        """Return ``result`` if the iteration has converged, else raise ``ConvergenceError``."""
        if self.converged:
            return result
        steps = "while steps became smaller" if self.max_iter is None else f"within {self.max_iter} steps"
        raise ConvergenceError(
            f"{self.name}: no convergence to tol={self.tol:g} {steps}{self.remedy}", result=result, change=self._change
        )

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
        weighted: bool | None = None,
        live: np.ndarray | None = None,
        **_: Any,
    ) -> Any:
        """Return SciPy's adjacency matrix of the arcs, with which ``mismatch`` checks a result."""
        return adjacency(src, dst, weight, num_vertices, weighted)

    @classmethod
    def sample_params(cls, num_vertices: int, centre: int) -> dict[str, Any]:
        """Return parameters for the benchmark, the same for all graphs: many steps, as eigenvalues may be close."""
        return {"max_iter": 2000}

    def traffic(self, graph: Graph) -> int:
        """Return how many bytes the pulls of all steps move at least."""
        one = pull_bytes(graph.num_vertices, graph.num_edges, 8, self.weighting.bytes_per_edge(graph))
        return self.iterations * self.pulls * one


def divided(xp: Any, x: Array, by: Array) -> Array:
    """Return ``x / by``, or zeros if ``by`` (an array without dimensions) is 0."""
    if xp is np and 0 < by < math.inf:
        return x / by
    with np.errstate(invalid="ignore"):  # where an iteration has diverged
        return x / xp.where(by > 0, by, math.inf)


def of_own(graph: Graph, x: Array) -> Array:
    """Return ``x``; of a graph of several processes an array with the values of this process's vertices only."""
    if graph.partition is None:
        return x
    found, at = owned(graph, x.dtype), places(graph)
    found[at] = x[at]
    return found


def of_live(graph: Graph, x: Array) -> Array:
    """Return ``x`` with the values of deleted vertices replaced by 0."""
    return x * graph.live_arrays.mask if graph.most_deleted else x


def length_of(xp: Any, x: Array) -> Array:
    """Return the L2 norm of ``x`` as an array without dimensions, computed without overflow of squares."""
    largest = xp.max(xp.abs(x)) if len(x) else xp.zeros(())
    unit = divided(xp, x, largest)
    return largest * xp.sqrt((unit * unit).sum())
