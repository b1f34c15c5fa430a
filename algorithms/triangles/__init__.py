"""Triangles kept current: their number in all and per vertex, clustering coefficients and transitivity.

From scratch: the forward algorithm (Schank and Wagner, 2005) over edges from lower to higher degree, by ``intersect``;
the work is at most the number of edges times its square root.

An update visits only triangles with a changed edge, as in Meerkat (Concessao et al.), but counts each of them once
instead of by inclusion and exclusion. A new triangle is found at each of its new edges ``(u, v)`` as a common neighbour
``x``, and counted at the least of these edges, which are ordered by their smaller and then their larger end. Deleted
triangles are those of the graph before the batch: each of their other two edges is either still stored (and not new) or
deleted as well. A deleted edge is not in the graph, so a common neighbour of its ends is neither of them. The work per
changed edge is the smaller of the degrees of its ends. ``suricate.algorithms.triangles.triangle_changes`` does this, on
CUDA in one kernel. Backends on CUDA that find edges by a linear search use operators instead, and so do all with
``kernels=False`` (``suricate.algorithms.triangles.by_operators``). If the batch is large for the graph, counting from
scratch is less work; that is done by operators in any case.
"""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from suricate import hookimpl
from suricate.algorithms.triangles.by_operators import change
from suricate.algorithms.triangles.triangle_changes import TriangleChanges, change_on_host, programs
from suricate.base.html import result_html
from suricate.base.parameters import flag, shown
from suricate.errors import ParameterError, RequirementError
from suricate.kernels import loops_over
from suricate.operators import intersect, neighbor_reduce
from suricate.plugins.algorithm import ID_BYTES, LARGE, OFFSET_BYTES, Algorithm, Requirements
from suricate.plugins.step import Step

if TYPE_CHECKING:
    from suricate.base.devices import Array, ReturnedArray
    from suricate.base.types import StoreView
    from suricate.cuda.program import Program
    from suricate.graph import Graph
    from suricate.graph.delta import Delta

EVENTS = Path(__file__).with_name("triangle_events_cpu.py")
METHODS = ("auto", "dynamic", "static")
WEIGHTED = ("", "geometric", "barrat")
#: (a, b): counting from scratch is faster if the graph has less than ``a + b * arcs of the batch`` slots for edges; on
#: CUDA it takes several launches, an update only one, which is worth 1.4 million slots
SMALL_GRAPH = {"cpu": (80_000, 80), "cuda": (-1_400_000, 55)}
ABSENT: Any = None  #: arrays per vertex that are not wanted


class TrianglesResult(NamedTuple):
    """Numbers of triangles and derived values; a vertex with fewer than two neighbours has coefficient 0.

    With ``per_vertex=False`` only ``total`` is set: arrays are None, and ``transitivity`` is NaN.

    Attributes:
        total: number of triangles, an int.
        triangles: int64[n], the number at each vertex.
        clustering: float64[n], the share of the pairs of neighbours of each vertex that are neighbours themselves, or
            with ``weighted`` a mean over these pairs.
        transitivity: the share of all paths of length two that are closed, a float; 0 if there is none.
    """

    total: int
    triangles: ReturnedArray
    clustering: ReturnedArray
    transitivity: float

    def _repr_html_(self) -> str:
        return result_html(self)


def is_proper(u, v, w):
    """Return 1 for the edge from ``u`` to ``v``, 0 if it is a self-loop."""
    return 1 if u != v else 0


def root(i, u, v, x, a, b, weight):
    """Return the cubic root of the product of a triangle's weights, that of the edge ``u``-``v`` in ``weight[i]``."""
    return np.cbrt(float(a) * float(b) * weight[i]) if x != u and x != v else 0.0


def apart(i, u, v, x, weight):
    """Return the weight of the edge ``u``-``v`` of a triangle; 0 if a self-loop makes ``x`` one of both."""
    return weight[i] if x != u and x != v else 0.0


class Triangles(Algorithm):
    """Triangles of an undirected graph. Self-loops are ignored, and weights without ``weighted`` (as in NetworkX).

    An update takes one launch on CUDA, at most eight on backends that find edges by a linear search, and does not
    wait; reading the result is a pass over all vertices.

    Args:
        method: how updates are done: ``"dynamic"``, from the changed edges; ``"static"``, from scratch; ``"auto"``, by
            the sizes of batch and graph.
        kernels: False: by operators only, without the faster kernels of this algorithm.
        per_vertex: False: only the total is counted, which takes less time; the other fields of the result are None,
            and ``transitivity`` is NaN. The first update counts from scratch.
        weighted: ``"geometric"``: in ``clustering`` a triangle counts by the geometric mean of its weights, divided by
            the largest weight of the graph (Onnela et al., 2005; as in NetworkX). ``"barrat"``: by the mean of its two
            weights at the vertex, divided by the mean weight there (Barrat et al., 2004). Updates compute these
            coefficients from scratch.

    Raises:
        ParameterError: there is no such method or ``weighted``, or ``kernels`` or ``per_vertex`` is neither True nor
            False, or ``weighted`` without ``per_vertex``.
        RequirementError: ``weighted`` on a graph without weights.

    Example:
        >>> g = su.Graph.from_coo([0, 1, 2, 2], [1, 2, 0, 3], directed=False, device="cpu")
        >>> g.compute("triangles").triangles.tolist()
        [1, 1, 1, 0]
    """

    name = "triangles"
    uses_weights = False
    suites = ("algorithms", "ablations", "crossover")
    requires = Requirements(undirected=True)
    if_directed = "directed_triangles"
    update_kind = "dynamic"

    def __init__(
        self,
        method: Literal["auto", "dynamic", "static"] = "auto",
        kernels: bool = True,
        per_vertex: bool = True,
        weighted: Literal["", "geometric", "barrat"] = "",
    ) -> None:
        if not isinstance(weighted, str) or weighted not in WEIGHTED:
            raise ParameterError(
                f"triangles: weighted={shown(weighted)} is unknown: use one of {', '.join(map(repr, WEIGHTED))}"
            )
        if weighted and not per_vertex:
            raise ParameterError("triangles: weighted changes coefficients of vertices: leave per_vertex=False out")
        self.weighted = weighted
        if not isinstance(method, str) or method not in METHODS:
            raise ParameterError(
                f"triangles: method={shown(method)} is unknown: use one of {', '.join(map(repr, METHODS))}"
            )
        self.method, self.kernels = method, flag("kernels", kernels)
        self.per_vertex = flag("per_vertex", per_vertex)
        self._counted: Array = None  # int64[1], the number of triangles that ``_triangles`` does not have
        self._totals: tuple[int, int] | None = (
            None  # sums of triangles and of pairs of neighbours, read once per change
        )
        self._triangles: Array = None  # int64[n]
        self._degrees: Array = None  # int64[n], without self-loops
        self._shares: Array = None  # float64[n], weighted coefficients
        self._xp: Any = np
        self._changes: TriangleChanges | None = None  # with these arrays

    def compute(self, graph: Graph) -> None:
        """Count all triangles from scratch."""
        self._weigh(graph)
        self._totals = None
        self._xp = graph.device.xp
        if not self.per_vertex:
            self._triangles = self._degrees = None
            self._counted = intersect(graph, oriented="degree")
            return
        self._triangles = self._xp.empty(graph.num_vertices, np.int64)
        intersect(graph, oriented="degree", out=self._triangles)
        self._degrees = neighbor_reduce(graph, None, is_proper, reduce="sum", dtype="int64")

    def update(self, graph: Graph, delta: Delta) -> None:
        """Subtract the deleted triangles and add the new ones."""
        self._totals = None
        if self.weighted:
            self._weigh(graph)
            self.recomputes("weighted coefficients are computed from scratch")
        arcs: Any = partial(delta.arcs, placed=True) if self.kernels else delta.edge_set
        new, gone = arcs("inserted"), arcs("deleted")
        changed = sum(part.size for part in (new, gone) if part is not None)
        first = self._degrees is None
        if changed and (first or self._should_recount(graph, changed)):
            usual = "the first update of a total lists degrees" if first else LARGE
            self.recomputes("the method is static" if self.method == "static" else usual)
            self.compute(graph)
            if not self.per_vertex and self.method != "static":  # changes of the total are those of all vertices
                self._triangles = self._xp.zeros(graph.num_vertices, np.int64)
                self._degrees = neighbor_reduce(graph, None, is_proper, reduce="sum", dtype="int64")
            return
        if first:
            return
        self._grow(graph.num_vertices)
        if not self.kernels or (graph.device.is_cuda and graph.view().find == "linear"):
            change(graph, self._triangles, self._degrees, delta.edge_set("deleted"), delta.edge_set("inserted"))
        elif not graph.device.is_cuda:
            change_on_host(graph, self._triangles, self._degrees, *map(delta.arcs, ("deleted", "inserted")))
        elif changed:
            changes = self._changes
            if changes is None or not changes.counts_in(graph, self._triangles, self._degrees):
                changes = self._changes = TriangleChanges(graph, self._triangles, self._degrees)
            changes.apply(gone, new)

    @property
    def result(self) -> TrianglesResult:
        """The current counts and coefficients, in new arrays."""
        if not self.per_vertex:
            return self._total()
        found = self._answer(self._triangles.copy(), self._degrees)
        return found._replace(clustering=self._shares.copy()) if self.weighted else found

    def at(self, vertices: Array) -> TrianglesResult:
        """Return the result, with ``triangles`` and ``clustering`` only of ``vertices`` (ids, ``int64[k]``)."""
        if not self.per_vertex:
            return self._total()
        found = self._answer(self._triangles[vertices], self._degrees[vertices])
        return found._replace(clustering=self._shares[vertices]) if self.weighted else found

    def _weigh(self, graph: Graph) -> None:
        """Compute the weighted coefficients from a sum over the triangles at each edge."""
        if not self.weighted:
            return
        if graph.weight_dtype is None:
            raise RequirementError("triangles: weighted needs weights: build the graph with Graph(..., weight_dtype=)")
        xp, edges = graph.device.xp, graph.edges()
        weight = edges.weight.astype(np.float64)  # type: ignore[union-attr]
        sums = intersect(graph, u=edges, fn=root if self.weighted == "geometric" else apart, args=(weight,))
        ends = xp.concatenate((edges.src, edges.dst)), xp.concatenate((edges.src != edges.dst,) * 2)
        self._shares = weighted_shares(xp, self.weighted, graph.num_vertices, ends, (weight, sums))

    def _total(self) -> TrianglesResult:
        changed = 0 if self._triangles is None else int(self._triangles.sum()) // 3
        return TrianglesResult(int(self._counted[0]) + changed, ABSENT, ABSENT, math.nan)

    def _answer(self, found: Array, degrees: Array) -> TrianglesResult:
        corners, paths = self._sums()
        return TrianglesResult(corners // 3, found, _clustering(found, degrees), corners / paths if paths else 0.0)

    def _sums(self) -> tuple[int, int]:
        """Return the sums of triangles and of pairs of neighbours over all vertices."""
        if self._totals is None:  # changed since they were read
            pairs = self._degrees * (self._degrees - 1) // 2
            self._totals = int(self._triangles.sum()), int(pairs.sum())
        return self._totals

    def event_step(self, graph: Graph) -> Step | str:
        """Return how ``suricate.replay`` counts the triangles of edge by edge; a text, the reason, if it cannot."""
        if self.weighted:
            return "triangles has no step with weighted coefficients"
        if not (self.kernels and self.per_vertex):
            return f"triangles has no step {'for a total alone' if self.kernels else 'without its kernels'}"
        from suricate.algorithms.triangles.triangle_events_cpu import State

        corners, paths = self._sums()
        self._totals, n = None, graph.num_vertices
        scratch = np.empty(n, np.uint32), np.zeros(n, np.uint8)
        state = State(self._triangles, self._degrees, np.array([corners, paths]), *scratch)
        return Step(loops_over(graph.view(), EVENTS), state, _recorded, _answer_after, weighted=False)

    def _should_recount(self, graph: Graph, arcs: int) -> bool:
        if self.method != "auto" or not arcs:
            return arcs > 0 and self.method == "static"
        places, per_arc = SMALL_GRAPH[graph.device.kind]
        return (graph.view().most_edges if self.kernels else graph.most_arcs) < places + per_arc * arcs

    def _grow(self, num_vertices: int) -> None:
        missing = num_vertices - len(self._triangles)
        if missing:
            none = self._xp.zeros(missing, np.int64)
            self._triangles = self._xp.concatenate([self._triangles, none])
            self._degrees = self._xp.concatenate([self._degrees, none])

    # -- verification and benchmark ------------------------------------------------------------------------------------

    @classmethod
    def programs(cls, view: StoreView) -> list[Program]:
        """Return the CUDA programs that read a graph through ``view``; CI compiles them without a GPU."""
        return programs(view)

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
    ) -> TrianglesResult:
        """Return the result, counted by plain loops over marked neighbours (``suricate.operators.closed_triples``)."""
        from suricate.operators.closed_triples import closed_triples

        degrees = np.bincount(src[src != dst], minlength=num_vertices)
        found = closed_triples(src, dst, num_vertices)
        pairs = degrees * (degrees - 1) // 2
        clustering = found / np.maximum(pairs, 1)
        total = int(found.sum())
        if params.get("weighted"):
            assert weight is not None
            clustering = _weighted_reference(src, dst, weight.astype(np.float64), num_vertices, params["weighted"])
        if not params.get("per_vertex", True):
            return TrianglesResult(total // 3, ABSENT, ABSENT, math.nan)
        return TrianglesResult(total // 3, found, clustering, total / int(pairs.sum()) if pairs.any() else 0.0)

    def traffic(self, graph: Graph) -> int:
        """Return how many bytes are moved at least: all arcs read, half written and reread, one count per vertex."""
        arcs, n = 2 * graph.num_edges, graph.num_vertices
        return 2 * arcs * ID_BYTES + n * (2 * OFFSET_BYTES + (8 if self.per_vertex else 0))


def _clustering(found: Array, degrees: Array) -> Any:
    """Return the clustering coefficients of vertices with ``found`` triangles and ``degrees`` neighbours."""
    return found / (degrees * (degrees - 1) // 2).clip(1)


def _recorded(events: int, vertices: int) -> tuple[np.ndarray, ...]:
    shapes = (events, vertices), (events, vertices), (events, 2)
    return tuple(np.empty(shape, np.int64) for shape in shapes)


def _answer_after(recorded: tuple[np.ndarray, ...]) -> TrianglesResult:
    """Return the results after many events, from what their step has recorded."""
    found, degrees, (corners, paths) = recorded[0], recorded[1], recorded[2].T
    return TrianglesResult(corners // 3, found, _clustering(found, degrees), corners / paths.clip(1))


def weighted_shares(xp: Any, kind: str, n: int, ends: tuple[Array, Array], values: tuple[Array, Array]) -> Array:
    """Return the coefficients of ``kind`` from the edges' weights and their sums over triangles, ``float64[m]`` each.

    ``ends`` are the sources of all edges and then their destinations, and which of these count, those of no self-loop.
    """
    at, proper = ends
    weight, sums = (xp.where(proper, xp.concatenate((part, part)), 0) for part in values)
    degrees, strength, found = (xp.bincount(at, part, n) for part in (proper, weight, sums))
    if kind == "geometric":
        found, strength = found / (values[0].max() or 1 if len(at) else 1), degrees
    possible = strength * (degrees - 1)
    return xp.where(possible > 0, found / xp.where(possible > 0, possible, 1), 0.0)


def _weighted_reference(src: np.ndarray, dst: np.ndarray, weight: np.ndarray, n: int, kind: str) -> np.ndarray:
    """Return the weighted coefficients by SciPy's products of matrices."""
    from scipy import sparse

    proper = src != dst
    value = np.cbrt(weight / max(weight.max(initial=0), 1e-300)) if kind == "geometric" else weight
    held, ones = (
        sparse.csr_array((part[proper], (src[proper], dst[proper])), (n, n)) for part in (value, weight * 0 + 1)
    )
    degrees = ones.sum(axis=1)
    if kind == "geometric":
        return (held @ held).multiply(held).sum(axis=1) / np.maximum(degrees * (degrees - 1), 1)
    possible = held.sum(axis=1) * (degrees - 1)
    return (ones @ ones).multiply(held).sum(axis=1) / np.where(possible > 0, possible, 1) * (possible > 0)


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Return the algorithm of this module, :class:`Triangles`, which registers it as a plugin."""
    return [Triangles]
