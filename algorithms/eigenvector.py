"""Eigenvector centrality kept current: the score of a vertex is proportional to the sum over its in-neighbours.

``lambda x = A^T x`` for the largest eigenvalue (Bonacich, *Power and centrality*, 1987), by power iteration over
``A^T + I``, whose shift keeps bipartite graphs from oscillating: one pull over in-edges per step, O(n + m) each. After
a change the iteration restarts from the previous vector, mixed with a little of the uniform one.

An approximation by design, like NetworkX's: it stops when a step changes less than ``n * tol`` in the L1 norm. If the
largest eigenvalue has several eigenvectors (components that are alike), the start decides which one is found.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate import hookimpl
from suricate.algorithms._fixed_point import FixedPoint, divided
from suricate.algorithms._matrices import adjacency, largest_eigenvalue
from suricate.operators import vertex_map
from suricate.structures.scalar import Scalar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from suricate.algorithm import Algorithm
    from suricate.devices import Array
    from suricate.graph import Graph

TOLERANCE, MAX_ITERATIONS = 1e-6, 100
SLACK = 10  #: by which a further step may change more than the last one, for matrices that are not normal


def shift(v, x, out, square):
    """Add the identity's share to the sum over the in-neighbours; sum the squares, to NaN if a score is negative."""
    total = out[v] + x[v]
    square.add(total * total if out[v] >= 0 else math.nan)
    out[v] = total


def scale(v, x, out, square, change):
    """Divide by the L2 norm."""
    length = math.sqrt(square.value)
    after = out[v] / length if 0 < length < math.inf else length - length  # 0, or NaN
    change.add(abs(after - x[v]))
    x[v] = after
    out[v] = 0.0


class Eigenvector(FixedPoint):
    """Eigenvector centrality of all vertices, ``float64[num_vertices]`` with an L2 norm of 1; in-edges count.

    Args:
        max_iter: upper bound on the number of steps.
        tol: the iteration stops when a step changes less than ``num_vertices * tol`` in the L1 norm.
        nstart: where to start: a dict (others: 0), or an array with an entry per vertex, numbers of at least 0; None:
            the same everywhere.
        weighted: True uses edge weights, which must not be negative; False ignores them; None uses them if there are.

    Raises:
        ParameterError: a parameter is of the wrong type or out of range.
        RequirementError: ``weighted=True`` on a graph without weights.
        ShapeError, VertexRangeError: ``nstart`` does not fit the graph.
        WeightError: negative weights make a score negative, or a sum overflows; it may come with a batch as well.
        ConvergenceError: the result was read, and the last iteration did not converge.
    """

    name = "eigenvector"

    def __init__(
        self,
        max_iter: int = MAX_ITERATIONS,
        tol: float = TOLERANCE,
        nstart: Mapping[int, float] | Array | None = None,
        weighted: bool | None = None,
    ) -> None:
        super().__init__(max_iter, tol, nstart, weighted)

    def scaled(self, xp: Any, x: Array) -> Array:
        """Return ``x`` with an L2 norm of 1."""
        return divided(xp, x, xp.sqrt((x * x).sum()))

    def _iterate(self, graph: Graph) -> None:
        self._square = Scalar("sum", "float64", graph)
        super()._iterate(graph)

    def step(self, graph: Graph, x: Array, out: Array, change: Scalar) -> None:
        """Set ``x = (A^T + I) x``, scaled."""
        self.weighting.sum_over_in(graph, x, out)
        vertex_map(graph, None, shift, args=(x, out, self._square))
        vertex_map(graph, None, scale, args=(x, out, self._square, change))

    @property
    def result(self) -> Array:
        """The current centralities in a new array."""
        self._demand_convergence()
        return self._x.copy()

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
        **_: Any,
    ) -> Any:
        """Return ``A^T`` as a SciPy matrix, by which :meth:`mismatch` checks an answer."""
        return adjacency(src, dst, weight, num_vertices, weighted).T.tocsr()

    @classmethod
    def mismatch(cls, result: Any, reference: Any, *, tol: float = TOLERANCE, **_: Any) -> str | None:
        """Apply the matrix: the vector must keep its direction, and grow by about the largest eigenvalue."""
        n = reference.shape[0]
        if result.shape != (n,):
            return f"result has shape {result.shape} instead of {(n,)}"
        if n == 0:
            return None
        if not abs(np.linalg.norm(result) - 1) < 1e-9 or result.min() < 0:
            return "the centralities are negative, or their L2 norm is not 1"
        after = reference @ result + result
        change = float(np.abs(after / np.linalg.norm(after) - result).sum())
        if not change <= SLACK * n * tol:
            return f"a further step changes {change:.2e} in the L1 norm, the bound is {SLACK * n * tol:.2e}"
        growth, largest = float(result @ (reference @ result)), largest_eigenvalue(reference)
        if growth < 0.75 * largest - 0.25:  # a chain of components with one eigenvalue converges slowly
            return f"the vector grows by {growth:.4g} a step, the largest eigenvalue is {largest:.4g}"
        return None

    @classmethod
    def sample_params(cls, num_vertices: int, centre: int) -> dict[str, Any]:
        """Allow enough steps for small gaps between eigenvalues."""
        return {"max_iter": 2000}


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Offer eigenvector centrality."""
    return [Eigenvector]
