"""Product of the adjacency matrix and a vector, kept current: an update recomputes only the rows of changed edges.

``y = A x`` with ``A[u, v]`` the weight of the edge ``u -> v`` (1 without weights), ``y = A^T x`` over in-edges. One
pass over the edges, O(n + m); an update costs the degrees of the vertices whose edges changed. This is the experiment
``update_spmv`` of Marrow-Graph (Neves).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from suricate import hookimpl
from suricate.algorithms.shared.fixed_point import of_own
from suricate.algorithms.shared.matrices import adjacency
from suricate.algorithms.shared.sums import Weighting
from suricate.algorithms.shared.vertex_values import VertexValues, resized
from suricate.base.parameters import shown
from suricate.errors import ParameterError
from suricate.operators import converge, neighbor_reduce
from suricate.plugins.algorithm import Algorithm, pull_bytes
from suricate.state.owned import owned, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from suricate.base.devices import Array, ReturnedArray
    from suricate.graph import Graph
    from suricate.graph.delta import Delta


def product_out(u, v, w, x, y, weighted):
    """Return what out-neighbour ``v`` adds to row ``u`` of ``y``: ``x[v]``, times ``w`` if ``weighted``."""
    return w * float(x[v]) if weighted else float(x[v])


def product_in(u, v, w, x, y, weighted):
    """Return what in-neighbour ``u`` adds to row ``v`` of ``y``: ``x[u]``, times ``w`` if ``weighted``."""
    return w * float(x[u]) if weighted else float(x[u])


def store(v, total, x, y, weighted):
    """Write ``total``, the sum of row ``v``, to ``y[v]``; return 0: no further round is needed.

    ``x`` and ``weighted`` are not read.
    """
    y[v] = total
    return 0


class SpMV(Algorithm):
    """``y[u]``, the sum of ``w * x[v]`` over the out-edges ``u -> v``; ``float64[num_vertices]``.

    With ``over="in"`` it is ``y[v]``, the sum of ``w * x[u]``; on a directed graph without in-edges every update is
    then one pass over all edges.

    Args:
        x: the vector: one number for all vertices, a dict from vertex to number (others: 0), or an array with an entry
            per vertex. Vertices that are added later get 0, or the one number.
        over: ``"out"`` (``A x``) or ``"in"`` (``A^T x``).
        weighted: True uses edge weights, False ignores them; None uses them if the graph has any.

    Raises:
        ParameterError: a parameter is of the wrong type or not finite.
        RequirementError: ``weighted=True`` on a graph without weights.
        ShapeError, VertexRangeError: ``x`` does not fit the graph.

    Example:
        >>> g = su.Graph.from_coo([0, 0, 1], [1, 2, 2], device="cpu")
        >>> g.compute("spmv", x=[1.0, 10.0, 100.0]).tolist()
        [110.0, 100.0, 0.0]
    """

    name = "spmv"
    update_kind = "dynamic"
    recompute_share, learns = 0.01, True

    def __init__(
        self,
        x: float | Mapping[int, float] | Array = 1.0,
        over: Literal["out", "in"] = "out",
        weighted: bool | None = None,
    ) -> None:
        self.x = VertexValues(f"{self.name}: x", x)
        if not isinstance(over, str) or over not in ("out", "in"):
            raise ParameterError(f"{self.name}: over must be 'out' or 'in', got {shown(over)}")
        self.over = over
        self.weighting = Weighting(self.name, weighted)
        self._x: Array = None
        self._y: Array = None  # of several processes that pull each has the rows of its own vertices
        self._graph: Graph = None  # type: ignore[assignment]

    def compute(self, graph: Graph) -> None:
        """Compute all entries of the product."""
        self.weighting.demand(graph)
        self._x = self.x.on_device(graph, grown=self._y is not None, shared=True)
        self._graph = graph
        self._y = owned(graph, "float64") if self._pulls(graph) else graph.device.xp.zeros(graph.num_vertices)
        self._multiply(graph)

    def update(self, graph: Graph, delta: Delta) -> None:
        """Recompute the entries of both ends of edges that were inserted, deleted, or given another weight."""
        xp = graph.device.xp
        if graph.num_vertices > len(self._y):
            self._x = self.x.on_device(graph, grown=True, shared=True)
            y = resized(xp, whole(graph, self._y), graph.num_vertices, 0)
            self._y = of_own(graph, y) if self._pulls(graph) else y
        weighted = self.weighting.applies(graph)
        changed = tuple(
            map(delta.edge_set, ("deleted", "inserted", "replaced") if weighted else ("deleted", "inserted"))
        )
        if (self.over == "in" and not graph.has_in_edges) or self.should_recompute(graph, *changed[:2]):
            self.recomputes("the graph keeps no in-edges" if self.over == "in" and not graph.has_in_edges else None)
            if not self._pulls(graph):
                self._y[:] = 0
            self._multiply(graph)
            return
        fn = product_out if self.over == "out" else product_in
        converge(
            graph, changed, fn, args=(self._x, self._y, weighted), reduce="sum", over=self.over, then=store, max_steps=1
        )

    @property
    def result(self) -> ReturnedArray:
        """The product in a new array."""
        y = whole(self._graph, self._y)
        return y.copy() if self.is_kept and y is self._y else y

    def _pulls(self, graph: Graph) -> bool:
        return self.over == "out" or graph.has_in_edges

    def _multiply(self, graph: Graph) -> None:
        if graph.partition is not None and self._pulls(graph):  # only the owner of a vertex reads its row
            args = self._x, self._y, self.weighting.applies(graph)
            fn = product_out if self.over == "out" else product_in
            neighbor_reduce(graph, None, fn, args=args, reduce="sum", over=self.over, then=store, dtype="float64")
            return
        multiply = self.weighting.sum_over_out if self.over == "out" else self.weighting.sum_over_in
        multiply(graph, self._x, self._y)

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
        x: Any = 1.0,
        over: str = "out",
        weighted: bool | None = None,
        live: np.ndarray | None = None,
        **_: Any,
    ) -> np.ndarray:
        """Return the product with the SciPy matrix of the arcs."""
        matrix = adjacency(src, dst, weight, num_vertices, weighted)
        vector = VertexValues("x", x).on_host(num_vertices, grown=True)
        return matrix @ vector if over == "out" else matrix.T @ vector

    @classmethod
    def sample_params(cls, num_vertices: int, centre: int) -> dict[str, Any]:
        """Return parameters for the benchmark: a vector of seven numbers by turns; ``centre`` is not read."""
        return {"x": np.arange(num_vertices) % 7 + 0.5}

    def traffic(self, graph: Graph) -> int:
        """Return how many bytes one pull moves at least."""
        return pull_bytes(graph.num_vertices, graph.num_edges, 8, self.weighting.bytes_per_edge(graph))


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Return the algorithm of this module, :class:`SpMV`, which registers it as a plugin."""
    return [SpMV]
