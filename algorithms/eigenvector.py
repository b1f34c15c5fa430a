"""Eigenvector centrality kept current: the score of a vertex is proportional to the sum over its in-neighbours.

``lambda x = A^T x`` for the largest eigenvalue (Bonacich, *Power and centrality*, 1987), by power iteration over
``A^T + s``, whose shift, an eighth of ``|A^T x| / |x|``, keeps bipartite graphs from oscillating: one pull over
in-edges per step, O(n + m) each. After a change the iteration restarts from the previous vector, mixed with a little of
the uniform one.

An approximation by design, like NetworkX's: it stops with ``|A^T x - lambda x| <= tol * lambda`` in the L2 norm, where
``lambda = |A^T x|`` and ``|x| = 1``, whatever the number of vertices and the scale of the weights. If the largest
eigenvalue has several eigenvectors (components that are alike), the start decides which one is found.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate import hookimpl
from suricate.algorithms.shared.fixed_point import FixedPoint, divided, length_of
from suricate.algorithms.shared.matrices import largest_eigenvalue
from suricate.operators import vertex_map
from suricate.state.owned import whole
from suricate.state.scalar import Scalar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from suricate.base.devices import Array, ReturnedArray
    from suricate.graph import Graph
    from suricate.plugins.algorithm import Algorithm

TOLERANCE, MAX_ITERATIONS = 1e-6, 1000
SHIFT = 0.125  #: of the spectrum, relative to the growth of the vector
LEAST = 1e-200  #: values below do not count as growing


def measure(v, x, out, square, size):
    """Add to the scalars ``square`` and ``size`` the squares of ``out[v]`` and ``x[v]``; ``out`` is ``A^T x``.

    ``square`` becomes NaN if a score is negative.
    """
    square.add(out[v] * out[v] if out[v] >= 0 else math.nan)
    size.add(x[v] * x[v])


def advance(v, x, kept, out, square, size, change, slack):
    """Set ``x[v]`` to ``(A^T + s) x`` at ``v``, scaled.

    Add the square of its relative residual to the scalar ``change``.

    Args:
        v: a vertex.
        x: ``float64[n]``, the vector, changed in place.
        kept: ``float64[n]``, set to ``x`` before the step.
        out: ``float64[n]``, ``A^T x``; set to 0.
        square: scalar, the sum of the squares of ``out``.
        size: scalar, the sum of the squares of ``x``.
        change: scalar; infinity is added if the value grows by more than ``slack`` times the growth of the vector.
        slack: see ``change``.
    """
    growth = math.sqrt(square.value / size.value)
    inverse = 1 / math.sqrt(square.value)  # once in a loop on the CPU, unlike a division by it
    usable = 0 < square.value < math.inf
    rest = inverse * (out[v] - growth * x[v])
    grows = out[v] > slack * growth * x[v] and out[v] > LEAST * growth
    change.add(math.inf if grows else rest * rest if usable else square.value - square.value)  # 0 or NaN
    if v == 0:
        square.add(square.value)  # for the host, see magnitude()
    kept[v] = x[v]
    if usable:
        x[v] = (out[v] + SHIFT * growth * x[v]) * (inverse / (1 + SHIFT))
    out[v] = 0.0


class Eigenvector(FixedPoint):
    """Eigenvector centrality of all vertices by in-edges, ``float64[num_vertices]`` with an L2 norm of 1.

    Args:
        max_iter: upper bound on the number of steps; None: as long as the residual falls.
        tol: bound of the residual, relative to the eigenvalue.
        nstart: where to start: a dict (others: 0), or an array with an entry per vertex, numbers of at least 0; None:
            the same everywhere.
        weighted: True uses edge weights, which must not be negative; False ignores them; None uses them if there are.

    Raises:
        ParameterError: a parameter is of the wrong type or out of range.
        RequirementError: ``weighted=True`` on a graph without weights.
        ShapeError, VertexRangeError: ``nstart`` does not fit the graph.
        WeightError: negative weights make a score negative, or a sum overflows, now or after a later batch.
        ConvergenceError: the result was read, and the last iteration did not converge.

    Example:
        >>> g = su.Graph.from_coo([0, 1, 2], [1, 2, 0], directed=False, device="cpu")
        >>> g.compute("eigenvector").round(3).tolist()
        [0.577, 0.577, 0.577]
    """

    name = "eigenvector"
    scale_free = True

    def __init__(
        self,
        max_iter: int | None = MAX_ITERATIONS,
        tol: float = TOLERANCE,
        nstart: Mapping[int, float] | Array | None = None,
        weighted: bool | None = None,
    ) -> None:
        super().__init__(max_iter, tol, nstart, weighted)

    def scaled(self, xp: Any, x: Array) -> Array:
        """Return ``x`` with an L2 norm of 1."""
        return divided(xp, x, length_of(xp, x))

    def bound(self, graph: Graph) -> float:
        """Return the square of ``tol``, since :meth:`step` adds up squares of residuals."""
        return self.tol * self.tol

    def magnitude(self) -> float:
        """Return the square of the L2 norm of ``A^T x``, as computed in the last step; waits for the device."""
        return float(self._square)

    def _iterate(self, graph: Graph) -> None:
        self._square, self._size = graph.scalar("sum", "float64"), graph.scalar("sum", "float64")
        super()._iterate(graph)
        self._change = math.sqrt(self._change)

    def step(self, graph: Graph, x: Array, kept: Array, out: Array, change: Scalar) -> None:
        """Make one step: ``x`` becomes ``(A^T + s) x``, scaled to an L2 norm of at most 1, in place.

        Copies the former ``x`` to ``kept``, and adds the squares of the relative residuals to ``change`` (infinity if a
        score grows too fast for an update to end). ``out`` is scratch, zero before and afterwards.
        """
        self.weighting.sum_over_in(graph, x, out)
        vertex_map(graph, None, measure, args=(x, out, self._square, self._size))
        vertex_map(graph, None, advance, args=(x, kept, out, self._square, self._size, change, self.slack))

    @property
    def result(self) -> ReturnedArray:
        """The current centralities in a new array."""
        return self._demand_convergence(self.scaled(self._xp, whole(self._graph, self._x)))

    # -- verification and benchmark ------------------------------------------------------------------------------------

    @classmethod
    def mismatch(cls, result: Any, reference: Any, *, tol: float = TOLERANCE, **_: Any) -> str | None:
        """Return a text that says what is wrong with the vector ``result``, or None.

        The transpose of the matrix ``reference`` must multiply the vector by roughly its largest eigenvalue, with a
        residual of at most ``tol`` relative to that.
        """
        matrix, n = reference.T.tocsr(), reference.shape[0]
        if result.shape != (n,):
            return f"result has shape {result.shape} instead of {(n,)}"
        if n == 0:
            return None
        if not abs(np.linalg.norm(result) - 1) < 1e-9 or result.min() < 0:
            return "the centralities are negative, or their L2 norm is not 1"
        after = matrix @ result
        rest, bound = np.linalg.norm(after - np.linalg.norm(after) * result), tol * np.linalg.norm(after) + 1e-12
        if not rest <= 1.01 * bound:
            return f"the residual is {rest:.2e} in the L2 norm, the bound is {bound:.2e}"
        growth, largest = float(result @ after), largest_eigenvalue(matrix)
        if growth < 0.75 * largest - 0.25:  # a chain of components with one eigenvalue converges slowly
            return f"the vector grows by {growth:.4g} a step, the largest eigenvalue is {largest:.4g}"
        return None


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Return the algorithm of this module, :class:`Eigenvector`, which registers it as a plugin."""
    return [Eigenvector]
