"""Base class of centralities that iterate to a fixed point and start from the previous one after a change."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from suricate.algorithm import Algorithm, pull_bytes
from suricate.algorithms._sums import Weighting
from suricate.algorithms._vertex_values import optional_values, resized
from suricate.errors import ConvergenceError, WeightError
from suricate.gathered import gathered_rows
from suricate.operators import iterate
from suricate.parameters import integer, real
from suricate.structures.scalar import Scalar

if TYPE_CHECKING:
    from suricate.delta import Delta
    from suricate.devices import Array
    from suricate.graph import Graph


class FixedPoint(Algorithm):
    """Parameters and loop: ``float64`` values per vertex, one or two pulls per step, stopped by the L1 norm of a step.

    Attributes:
        iterations: steps that the last computation or update took.
        converged: whether the last step was within the tolerance; reading :attr:`result` raises if not.
    """

    update_kind = "warm"
    recompute_share = 0.02
    pulls: ClassVar[int] = 1  #: over all edges, per step
    fresh: ClassVar[float] = 0.01  #: share of the uniform vector in a warm start, from which new centres can grow
    nonnegative: ClassVar[bool] = True  #: whether a negative score is an error
    remedy: ClassVar[str] = ": raise max_iter or tol"  #: end of the message that there is no convergence

    def __init__(self, max_iter: int, tol: float, nstart: Any, weighted: bool | None) -> None:
        self.max_iter = integer(f"{self.name}: max_iter", max_iter, low=1)
        self.tol = real(f"{self.name}: tol", tol, low=0, include_low=False)
        self.nstart = optional_values(f"{self.name}: nstart", nstart, low=0)
        self.weighting = Weighting(self.name, weighted)
        self.iterations: int = 0
        self.converged = False
        self._x: Array = None
        self._xp: Any = None

    def compute(self, graph: Graph) -> None:
        """Iterate from ``nstart``, by default from the same value everywhere."""
        self.weighting.demand(graph)
        xp, n = graph.device.xp, graph.num_vertices
        self._xp = xp
        start = xp.ones(n) if self.nstart is None else self.nstart.on_device(graph, grown=self._x is not None)
        self._x = self.scaled(xp, start)
        self._iterate(graph)

    def update(self, graph: Graph, delta: Delta) -> None:
        """Iterate from the previous values, mixed with a little of the uniform vector; large batches: from scratch."""
        if self.outweighs(graph, delta.edges("deleted"), delta.edges("inserted")):
            self.compute(graph)
            return
        xp, n = graph.device.xp, graph.num_vertices
        x = resized(xp, self._x, n, 0.0)
        x = xp.where(xp.isfinite(x), x, 1.0)
        self._x = self.scaled(xp, (1 - self.fresh) * x + self.fresh * self.scaled(xp, xp.ones(n)))
        self._iterate(graph)

    @abstractmethod
    def scaled(self, xp: Any, x: Array) -> Array:
        """Return ``x`` in the scale that the iteration keeps."""

    @abstractmethod
    def step(self, graph: Graph, x: Array, out: Array, change: Scalar) -> None:
        """Replace ``x`` by the values after it, adding the L1 norm of the difference to ``change``.

        It calls operators only: its calls are recorded and repeated. ``out`` is zero, and must be zero afterwards.
        ``change`` becomes NaN if a score is negative or infinite, except for algorithms that allow such scores.
        """

    def bound(self, graph: Graph) -> float:
        """Return the L1 norm of a step at which the iteration stops."""
        return self.tol * graph.num_vertices

    def _iterate(self, graph: Graph) -> None:
        self.iterations, self.converged = 0, graph.num_vertices == 0
        if self.converged:
            return
        change, bound = Scalar("sum", "float64", graph), self.bound(graph)
        body = partial(self.step, graph, self._x, graph.device.xp.zeros_like(self._x), change)
        with gathered_rows(graph):
            self.iterations = iterate(body, until=(change, bound), max_steps=self.max_iter)
        last = bound if self.iterations < self.max_iter else float(change)
        self.converged = last <= bound
        if self.nonnegative and math.isnan(last):
            raise WeightError(
                f"{self.name}: a score is negative or infinite: weights must not be negative, nor so large that their "
                "sums overflow"
            )

    def _demand_convergence(self) -> None:
        if not self.converged:
            raise ConvergenceError(
                f"{self.name}: no convergence to tol={self.tol:g} within {self.max_iter} steps{self.remedy}"
            )

    def traffic(self, graph: Graph) -> int:
        """Return the bytes of the pulls of all steps."""
        one = pull_bytes(graph.num_vertices, graph.num_edges, 8, self.weighting.bytes_per_edge(graph))
        return self.iterations * self.pulls * one


def divided(xp: Any, x: Array, by: Array) -> Array:
    """Return ``x / by``, or zeros where ``by`` (an array without dimensions) is 0."""
    return x * xp.where(by > 0, 1 / xp.where(by > 0, by, 1), 0.0)
