"""Katz centrality kept current: a vertex counts the walks that end in it; longer walks count less.

``x = alpha A^T x + beta`` (Katz, *A new status index derived from sociometric analysis*, 1953), solved by iteration:
one pull over in-edges per step, O(n + m) each. It converges if ``alpha`` is below the reciprocal of the largest
eigenvalue of ``A``. After a change the same iteration restarts from the previous values.

An approximation by design, like NetworkX's: it stops with ``|x - alpha A^T x - beta|_1 <= tol * |beta|_1``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate import hookimpl
from suricate.algorithms.shared.fixed_point import FixedPoint, divided, length_of, of_live, of_own
from suricate.algorithms.shared.matrices import adjacency
from suricate.algorithms.shared.vertex_values import VertexValues
from suricate.base.parameters import flag, real
from suricate.operators import vertex_map
from suricate.state.owned import whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from suricate.base.devices import Array, ReturnedArray
    from suricate.graph import Graph
    from suricate.graph.delta import Delta
    from suricate.plugins.algorithm import Algorithm
    from suricate.state.scalar import Scalar

ALPHA, TOLERANCE, MAX_ITERATIONS = 0.1, 1e-6, 1000
SMALL, CLOSE = 4096, 0.9  #: vertices up to which, and rate above which, the reference is an LU decomposition
EXACT = 1e-12  #: its relative error otherwise


def attenuate(v, x, kept, out, beta, alpha, change):
    """Set ``x[v]`` to ``alpha * out[v] + beta[v]``; add the absolute change to the scalar ``change``.

    ``out[v]``, the sum over the in-neighbours, becomes 0, and ``kept[v]`` the old ``x[v]``; all in place.
    """
    after = alpha * out[v] + beta[v]
    change.add(abs(after - x[v]))
    kept[v] = x[v]
    x[v] = after
    out[v] = 0.0


class Exact(NamedTuple):
    """The exact solution, and two numbers from which :meth:`Katz.mismatch` computes a bound of the error.

    Attributes:
        x: ``float64[n]``, the solution.
        rate: an upper bound of the factor by which a step changes the error, in the L1 norm; useful if below 1.
        beta: the L1 norm of ``beta``.
    """

    x: np.ndarray
    rate: float
    beta: float


class Katz(FixedPoint):
    """Katz centrality of all vertices, ``float64[num_vertices]``.

    Args:
        alpha: attenuation of a walk per edge, above 0.
        beta: the constant term: one number, a dict (others: 0), or an array with an entry per vertex.
        max_iter: upper bound on the number of steps; None: as long as steps become smaller.
        tol: the iteration stops when a step changes at most ``tol * |beta|`` in the L1 norm.
        nstart: where to start: a dict (others: 0), or an array with an entry per vertex; None: 0 at all vertices.
        normalized: scale the result to an L2 norm of 1.
        weighted: True uses edge weights, False ignores them; None uses them if the graph has any.

    Raises:
        ParameterError: a parameter is of the wrong type or out of range.
        RequirementError: ``weighted=True`` on a graph without weights.
        ShapeError, VertexRangeError: ``beta`` or ``nstart`` does not fit the graph.
        ConvergenceError: the result was read, and the last iteration did not converge.

    Example:
        >>> g = su.Graph.from_coo([0, 1], [2, 2], in_edges=True, device="cpu")
        >>> int(g.compute("katz").argmax())
        2
    """

    name = "katz"
    recompute_share, recompute_share_on_cpu = 0.05, 0.1
    fresh = 0.0
    nonnegative = False
    remedy = ": alpha must be below the reciprocal of the largest eigenvalue"

    def __init__(
        self,
        alpha: float = ALPHA,
        beta: float | Mapping[int, float] | Array = 1.0,
        max_iter: int | None = MAX_ITERATIONS,
        tol: float = TOLERANCE,
        nstart: Mapping[int, float] | Array | None = None,
        normalized: bool = True,
        weighted: bool | None = None,
    ) -> None:
        super().__init__(max_iter, tol, nstart if nstart is not None else 0.0, weighted)
        self.alpha = real("katz: alpha", alpha, low=0, include_low=False)
        self.beta = VertexValues("katz: beta", beta)
        self.normalized = flag("katz: normalized", normalized)
        self._beta: Array = None

    def compute(self, graph: Graph) -> None:
        """Iterate from ``nstart``."""
        self._set_beta(graph)
        super().compute(graph)

    def update(self, graph: Graph, delta: Delta) -> None:
        """Iterate from the previous values."""
        if delta.live_may_differ or graph.num_vertices > len(self._x):
            self._set_beta(graph)
        super().update(graph, delta)

    def _set_beta(self, graph: Graph) -> None:
        self._beta = of_own(graph, of_live(graph, self.beta.on_device(graph, grown=self._x is not None)))

    def bound(self, graph: Graph) -> float:
        """Return ``tol`` times the L1 norm of ``beta``, the size of a step at which the iteration stops; waits."""
        length = float(abs(whole(graph, self._beta)).sum())
        return self.tol * (length if length > 0 else max(1, graph.num_live))

    def scaled(self, xp: Any, x: Array) -> Array:
        """Return ``x`` unchanged: its scale is given by ``beta``."""
        return x

    def step(self, graph: Graph, x: Array, kept: Array, out: Array, change: Scalar) -> None:
        """Make one step: ``x`` becomes ``alpha A^T x + beta``, in place.

        Copies the former ``x`` to ``kept``, and adds the L1 norm of the change to ``change``. ``out`` is scratch, zero
        before and afterwards.
        """
        self.weighting.sum_over_in(graph, x, out)
        vertex_map(graph, None, attenuate, args=(x, kept, out, self._beta, self.alpha, change))

    @property
    def result(self) -> ReturnedArray:
        """The current centralities in a new array."""
        if not self.normalized:
            return self._demand_convergence(self._values())
        x = whole(self._graph, self._x)
        return self._demand_convergence(divided(self._xp, x, length_of(self._xp, x)))

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
        alpha: float = ALPHA,
        beta: Any = 1.0,
        weighted: bool | None = None,
        live: np.ndarray | None = None,
        **_: Any,
    ) -> Exact:
        """Return the solution of the linear system by SciPy's sparse LU decomposition, or if large by iteration."""
        from scipy import sparse
        from scipy.sparse import linalg

        matrix = alpha * adjacency(src, dst, weight, num_vertices, weighted)
        system = sparse.eye_array(num_vertices, format="csc") - matrix.T.tocsc()
        right = VertexValues("beta", beta).on_host(num_vertices, grown=True) * (1.0 if live is None else live)
        rate, beta = float(abs(matrix).sum(axis=1).max(initial=0)), float(np.abs(right).sum())
        x, error = right, right
        if num_vertices > SMALL and rate <= CLOSE:  # a step leaves this part of the error, in the L1 norm
            while np.abs(error).sum() > (1 - rate) * EXACT * np.abs(x).sum():
                error = right - system @ x
                x = x + error
        elif num_vertices:
            x = linalg.spsolve(system, right)
        return Exact(x, rate, beta)

    @classmethod
    def mismatch(
        cls, result: Any, reference: Any, *, tol: float = TOLERANCE, normalized: bool = True, **_: Any
    ) -> str | None:
        """Return a text that says what is wrong with ``result``, or None; ``reference`` is an :class:`Exact`.

        The L1 distance of ``result`` to the solution must be at most ``tol * beta / (1 - rate)``, with ``beta`` and
        ``rate`` of ``reference``, or 1e-3 of the solution's norm if ``rate`` is not below 1; twice that if
        ``normalized``: then ``result`` has an L2 norm of 1, and is scaled to the L1 norm of the solution first.
        """
        x, rate, beta = reference
        size = float(np.abs(x).sum())
        bound = tol * beta / (1 - rate) if rate < 1 else 1e-3 * size
        if len(result) != len(x):
            return f"{len(result)} centralities for {len(x)} vertices"
        if normalized and size:
            length = float(np.linalg.norm(result))
            if not abs(length - 1) <= 1e-9:
                return f"the L2 norm is {length}, not 1"
            result, bound = result * (size / np.abs(result).sum()), 2 * bound  # so much further from it at most
        distance = float(np.abs(result - x).sum())
        if distance <= bound + 1e-12 * size:  # False for NaN
            return None
        return f"the L1 distance to the exact centralities is {distance:.2e}, the bound is {bound:.2e}"

    @classmethod
    def sample_params(cls, num_vertices: int, centre: int) -> dict[str, Any]:
        """Return parameters for the benchmark; with this ``alpha`` the iteration converges if weights are at most 1."""
        return {"alpha": 0.9 / max(num_vertices, 1), "tol": 1e-9}


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Return the algorithm of this module, :class:`Katz`, which registers it as a plugin."""
    return [Katz]
