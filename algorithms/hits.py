"""Hubs and authorities kept current (Kleinberg, *Authoritative sources in a hyperlinked environment*, 1999).

A good hub points to good authorities: ``h = A a`` and ``a = A^T h`` up to scale, the principal singular vectors of the
adjacency matrix. Computed by power iteration: one pull over in-edges and one over out-edges per step, O(n + m). After a
change the iteration restarts from the previous hubs, mixed with a little of the uniform vector.

An approximation by design, like NetworkX's: it stops at hubs that a further step changes by at most ``tol`` in the L1
norm. If several pairs of vectors belong to the largest singular value, the start decides which one is found.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate import hookimpl
from suricate.algorithms.shared.fixed_point import FixedPoint, divided, of_own
from suricate.algorithms.shared.matrices import largest_singular_value
from suricate.base.html import result_html
from suricate.base.parameters import flag
from suricate.operators import vertex_map
from suricate.state.owned import whole
from suricate.state.scalar import Scalar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from suricate.base.devices import Array, ReturnedArray
    from suricate.graph import Graph
    from suricate.plugins.algorithm import Algorithm

TOLERANCE, MAX_ITERATIONS = 1e-8, 100
SLACK = 10  #: by which a further step may change the authorities more than the hubs
LEAST = 1e-200  #: hubs below do not count as growing


class HITSResult(NamedTuple):
    """Scores of all vertices: ``hubs`` and ``authorities``, each ``float64[num_vertices]``."""

    hubs: ReturnedArray
    authorities: ReturnedArray

    def _repr_html_(self) -> str:
        return result_html(self)


def count(v, authority, out, total):
    """Add the new hub score ``out[v]`` to the scalar ``total``, NaN if a score is negative.

    Set ``authority[v]`` to 0.
    """
    total.add(out[v] if out[v] >= 0 and authority[v] >= 0 else math.nan)
    authority[v] = 0.0


def scale(v, x, kept, out, total, change, slack):
    """Divide the new hub score ``out[v]`` by the sum of all, store it in ``x``, and add its change to ``change``.

    Args:
        v: a vertex.
        x: ``float64[n]``, the hub scores, changed in place.
        kept: ``float64[n]``, set to the hub scores before the step.
        out: ``float64[n]``, the new hub scores before they are divided; set to 0.
        total: scalar, the sum of ``out``.
        change: scalar; infinity is added if the hub score grows to more than ``slack`` times its former value.
        slack: see ``change``.
    """
    norm = total.value
    after = out[v] / norm if 0 < norm < math.inf else norm - norm  # 0, or NaN
    grows = out[v] > slack * norm * x[v] and after > LEAST
    change.add(math.inf if grows else abs(after - x[v]))
    if v == 0:
        total.add(norm)  # for the host, see magnitude()
    kept[v] = x[v]
    x[v] = after
    out[v] = 0.0


class HITS(FixedPoint):
    """Hub and authority scores of all vertices, ``float64[num_vertices]`` each; all are 0 if the graph has no edges.

    Args:
        max_iter: upper bound on the number of steps; None: as long as steps become smaller.
        tol: the iteration stops when a step changes the hubs (whose sum is 1) by at most this in the L1 norm.
        nstart: hubs to start from: a dict (others: 0), or an array with an entry per vertex, numbers of at least 0;
            None: the same everywhere.
        normalized: scale both results to a sum of 1; otherwise the authorities have an L2 norm of 1, and a hub is the
            sum of the (weighted) authorities that it leads to.
        weighted: True uses edge weights, which must not be negative; False ignores them; None uses them if there are.

    Raises:
        ParameterError: a parameter is of the wrong type or out of range.
        RequirementError: ``weighted=True`` on a graph without weights.
        ShapeError, VertexRangeError: ``nstart`` does not fit the graph.
        WeightError: negative weights make a score negative, or a sum overflows, now or after a later batch.
        ConvergenceError: the result was read, and the last iteration did not converge.

    Example:
        >>> g = su.Graph.from_coo([0, 1], [2, 2], in_edges=True, device="cpu")
        >>> g.compute("hits").authorities.round(3).tolist()
        [0.0, 0.0, 1.0]
    """

    name = "hits"
    scale_free = True
    recompute_share, recompute_share_on_cpu = 0.005, 0.1
    pulls = 2

    def __init__(
        self,
        max_iter: int | None = MAX_ITERATIONS,
        tol: float = TOLERANCE,
        nstart: Mapping[int, float] | Array | None = None,
        normalized: bool = True,
        weighted: bool | None = None,
    ) -> None:
        super().__init__(max_iter, tol, nstart, weighted)
        self.normalized = flag("hits: normalized", normalized)
        self._authorities: Array = None
        self._hubs: Array = None  # A times the authorities, unless ``normalized``

    def scaled(self, xp: Any, x: Array) -> Array:
        """Return ``x`` with a sum of 1."""
        return divided(xp, x, x.sum())

    def magnitude(self) -> float:
        """Return the sum of the new hub scores of the last step before they were scaled to a sum of 1; waits."""
        return float(self._total)

    def step(self, graph: Graph, x: Array, kept: Array, out: Array, change: Scalar) -> None:
        """Make one step: ``x``, the hub scores, becomes ``A A^T x``, scaled to a sum of 1, in place.

        Copies the former ``x`` to ``kept``, and adds the L1 norm of the change to ``change`` (infinity if a score grows
        too fast for an update to end, NaN if a score is negative). ``out`` is scratch, zero before and afterwards.
        """
        self.weighting.sum_over_in(graph, x, self._authorities)
        self.weighting.sum_over_out(graph, self._authorities, out)
        vertex_map(graph, None, count, args=(self._authorities, out, self._total))
        vertex_map(graph, None, scale, args=(x, kept, out, self._total, change, self.slack))

    def _iterate(self, graph: Graph) -> None:
        self._total = graph.scalar("sum", "float64")
        self._authorities = graph.device.xp.zeros(graph.num_vertices)
        super()._iterate(graph)
        self._authorities.fill(0)
        self.weighting.sum_over_in(graph, whole(graph, self._x), self._authorities)
        if not self.normalized:
            hubs = graph.device.xp.empty(graph.num_vertices)
            self.weighting.sum_over_out(graph, self._authorities, hubs)
            self._hubs = of_own(graph, hubs / self.weighting.scale)
        self._authorities = of_own(graph, self._authorities)

    @property
    def result(self) -> HITSResult:
        """The current scores in new arrays."""
        xp, authorities = self._xp, whole(self._graph, self._authorities)
        if self.normalized:
            found = HITSResult(self._values(), divided(xp, authorities, authorities.sum()))
        else:
            length = xp.sqrt((authorities * authorities).sum())
            found = HITSResult(divided(xp, whole(self._graph, self._hubs), length), divided(xp, authorities, length))
        return self._demand_convergence(found)

    # -- verification and benchmark ------------------------------------------------------------------------------------

    @classmethod
    def mismatch(
        cls, result: Any, reference: Any, *, tol: float = TOLERANCE, normalized: bool = True, **_: Any
    ) -> str | None:
        """Return a text that says what is wrong with the scores ``result``, or None.

        A further step with the adjacency matrix ``reference`` must change hubs and authorities, scaled to a sum of 1,
        by no more than ten times ``tol`` in the L1 norm, and multiply them by about the largest singular value.
        ``normalized``: both parts of ``result`` must have a sum of 1; else the authorities must have an L2 norm of 1,
        and the hubs be ``A`` times the authorities.
        """
        matrix, n = reference, reference.shape[0]
        if result[0].shape != (n,) or result[1].shape != (n,):
            return f"hubs and authorities have shapes {result[0].shape} and {result[1].shape} instead of {(n,)} twice"
        hubs, authorities = (np.asarray(part, np.float64) for part in result)
        if n == 0 or matrix.max() == 0:
            return "the scores of a graph without edges are not 0" if hubs.any() or authorities.any() else None
        if not (hubs.min() >= 0 and authorities.min() >= 0):
            return "a score is negative"
        lengths = np.array([hubs.sum(), authorities.sum()] if normalized else [1.0, np.linalg.norm(authorities)])
        if not np.allclose(lengths, 1, rtol=1e-9):
            return f"the scores are scaled to {lengths[0]:.6g} and {lengths[1]:.6g} instead of 1"
        bound = SLACK * tol + 1e-12
        if not normalized and not np.allclose(hubs, matrix @ authorities, rtol=1e-6, atol=100 * bound * hubs.max()):
            return "the hubs are not A times the authorities"
        h, a = hubs / hubs.sum(), authorities / authorities.sum()
        for name, got, after in (("hubs", h, matrix @ (matrix.T @ h)), ("authorities", a, matrix.T @ h)):
            change = float(np.abs(after / after.sum() - got).sum())
            if not change <= bound:
                return f"a further step changes {change:.2e} of the {name} in the L1 norm, the bound is {bound:.2e}"
        growth, largest = np.linalg.norm(matrix.T @ h) / np.linalg.norm(h), largest_singular_value(matrix)
        if growth < 0.999 * largest:
            return f"the hubs grow by {growth:.6g}, the largest singular value is {largest:.6g}"
        return None


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Return the algorithm of this module, :class:`HITS`, which registers it as a plugin."""
    return [HITS]
