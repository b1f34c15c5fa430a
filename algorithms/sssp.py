"""Single-source shortest paths kept current: distances and parents in one pass, incremental and decremental.

Follows Meerkat (Concessao et al.): every vertex holds one word of distance and parent, which is updated by one atomic
minimum. The words form a dependence forest (``suricate.repair.forest``): deletions and heavier weights are repaired
around the tree edges concerned (Ramalingam and Reps); inserted edges and lighter weights are the first frontier of a
search. From scratch, near vertices are processed first (delta-stepping, Meyer and Sanders 2003; on CUDA those in a
window that slides with the nearest one).

Zero weights. Keys must increase along edges, or parents could form cycles. Words of 64 bits (distance, parent) suffice
while every edge increases the distance. If one does not (a zero weight, a float that absorbs a small one, an integer
beyond 32 bits), the forest records it, and everything is computed from scratch with words of 128 bits, whose keys are
(distance, hops): hops counts the steps since the distance last increased. Both kinds of words give the same distances
and parents.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from suricate import hookimpl
from suricate.algorithms.shared.matrices import adjacency
from suricate.algorithms.shared.vertices import FIRST, Sources, source_ids
from suricate.base.html import result_html
from suricate.base.parameters import real
from suricate.base.types import EMPTY
from suricate.errors import WeightError
from suricate.graph.row_copies import copied_rows
from suricate.operators import neighbor_reduce
from suricate.plugins.algorithm import ID_BYTES, OFFSET_BYTES, Algorithm
from suricate.repair.forest import Forest
from suricate.state.frontier import Frontier

if TYPE_CHECKING:
    from suricate.base.devices import Array, ReturnedArray
    from suricate.graph import Graph
    from suricate.graph.delta import Delta
    from suricate.operators.results import Propagated
    from suricate.plugins.step import Step
    from suricate.state.words import Words

WORD_BYTES = 8
TURNS = 8  #: turns per step on CUDA if frontiers are small (``LOCAL_TURNS``)
USUAL_DEPTH = 100  #: turns of a usual search; on average, a tree edge has as many vertices below it as the tree is deep
WARP = 32  #: threads per warp
LONG_ROWS = 3  #: arcs per vertex from which on, on the CPU, copying rows with weights costs no more than it saves
SAMPLE = 1 << 12  #: vertices whose edges give the mean weight on the CPU
FARTHEST = 2**32 - 1  #: the 32-bit distance of an unreached vertex
AMBIGUOUS = -2  #: in ``reference()``: several parents are equally good up to rounding


class SSSPResult(NamedTuple):
    """Shortest paths from the source.

    Attributes:
        distance: int64[n], -1 at unreached vertices, if the weights are integers or there are none; else of the dtype
            of the weights, infinite at unreached vertices, which include those whose paths overflow that dtype.
        parent: int64[n], the previous vertex on a shortest path; -1 at unreached vertices, the source itself at the
            source.
    """

    distance: ReturnedArray
    parent: ReturnedArray

    def _repr_html_(self) -> str:
        return result_html(self)


def nearer(u, v, w, words, source):
    """Return what ``u`` offers to ``v``: its distance in ``words`` plus ``w``, and ``u`` as parent; ignores ``source``.

    If the distance is infinite the parent is ``EMPTY``, as at unreached vertices, so that the offer never wins.
    """
    distance = words.distance[u] + w
    return distance, u if distance < math.inf else EMPTY


def nearer_in_32_bits(u, v, w, words, source):
    """Return what ``u`` offers to ``v``: its distance in ``words`` plus ``w``, and ``u`` as parent; ignores ``source``.

    If the distance does not fit 32 bits, 0 is offered instead, which the forest records as a violation.
    """
    distance = words.distance[u] + w
    return distance if 0 < distance < FARTHEST else 0, u


def nearer_by_hops(u, v, w, words, source):
    """Return what ``u`` offers to ``v``: the distance over ``u``, the hops over edges of weight 0, and ``u`` as parent.

    Hops restart at 0 when the distance increases. If the distance is infinite, hops and parent are ``EMPTY``, so that
    the offer never wins. ``source`` is not read.
    """
    distance = words.distance[u] + w
    if distance < math.inf:
        return distance, 0 if distance > words.distance[u] else words.hops[u] + 1, u
    return distance, EMPTY, EMPTY


def is_it(v, source):
    """Return whether ``v`` is the vertex ``source``, from which the search starts."""
    return v == source


def is_one_of(v, sources):
    """Return whether ``v`` is set in ``sources``, the mask of the vertices from which the search starts."""
    return sources[v] != 0


def restart_with(farthest: float, *, wide: bool, several: bool) -> Callable[..., Any]:
    """Return the function that gives the initial word of a vertex: distance 0 at a source, ``farthest`` elsewhere.

    ``wide``: words have hops, too. The argument ``source`` of the function is the id of the source or, with
    ``several``, the mask of the sources.
    """

    def unreached(v, words, source):
        if sources_hold(v, source):
            return 0, v
        return farthest, EMPTY

    def unreached_by_hops(v, words, source):
        if sources_hold(v, source):
            return 0, 0, v
        return farthest, EMPTY, EMPTY

    sources_hold = is_one_of if several else is_it
    return unreached_by_hops if wide else unreached


def weight_of(u, v, w):
    """Return the weight ``w`` of the edge as a float."""
    return float(w)


class SSSP(Algorithm):
    """Distances and parents of all vertices reachable from ``source`` along out-edges (all edges if undirected).

    The result is an :class:`SSSPResult`. With several ``sources`` the distance is that from the nearest of them.
    Weights must not be negative; without weights every edge counts 1. The parent is the smallest of the in-neighbours
    on a shortest path (with zero weights, the smallest of those with the fewest steps since the distance last
    increased). From scratch: O(n + m) work per bucket of ``delta``. An update costs the sum of the degrees of the
    vertices that change, and of those below lost tree edges that find another parent; without in-edges a deletion
    takes one pass over all edges.

    Args:
        source: id of a vertex.
        sources: ids of several vertices, in place of ``source``.
        delta: width of the buckets in which a computation from scratch processes vertices; default: the mean weight of
            an edge, divided by the mean degree; on CUDA 32 times that, but at least the mean weight.

    Raises:
        ParameterError: ``source`` is not an integer, ``sources`` is empty, both are given, or ``delta`` is not a
            positive number.
        DTypeError, ShapeError: ``sources`` are not ids.
        VertexRangeError: a source is not a vertex of the graph, or deleted. If it is deleted later, reading a
            tracker's result raises until the vertex is live again.
        WeightError: a reachable edge has a negative weight; after an update on CUDA it is raised when the result is
            read.

    Example:
        >>> g = su.Graph.from_coo([0, 0, 1], [1, 2, 2], [1.0, 4.0, 2.0], device="cpu")
        >>> g.compute("sssp", source=0).distance.tolist()
        [0.0, 1.0, 3.0]
    """

    name = "sssp"
    pointers = ("parent",)
    suites = ("algorithms", "ablations", "replay")
    update_kind: ClassVar[str] = "dynamic"
    recompute_share, learns = 0.01, True

    def __init__(self, source: int = FIRST, delta: float | None = None, sources: Any = None) -> None:
        self.sources = Sources("sssp", source, sources)
        self._delta = None if delta is None else real("sssp: delta", delta, low=0, include_low=False)
        self._forest: Forest | None = None
        self._roots: Frontier | None = None
        self._graph: Graph | None = None
        self._depth = (
            0  # of the last search on CUDA, in turns: of a small frontier they cost the same whatever its size
        )

    def compute(self, graph: Graph) -> None:
        """Search from the sources from scratch; waits for the device."""
        self.sources.demand(graph)
        if self._roots is None or self._graph is not graph:
            self._graph, self._forest = graph, None
            self._roots = self.sources.frontier(graph)
        dtype = graph.weight_dtype
        if dtype is not None and self._delta is None:
            arcs = graph.num_edges * (1 if graph.directed else 2)
            degree = arcs / graph.num_vertices
            self._delta = bucket_width(_mean_weight(graph, arcs), degree, is_cuda=graph.device.is_cuda)
        wide = dtype is not None and dtype.itemsize == 8
        if self._search(graph, wide=wide) or (not wide and self._search(graph, wide=True)):
            return
        self._forest = None
        raise WeightError("sssp: an edge has a negative weight: shortest paths need weights of at least 0")

    def update(self, graph: Graph, delta: Delta) -> None:
        """Repair after deletions and heavier weights; continue the search from inserted edges and lighter weights."""
        self.sources.note(graph)
        forest = self._forest
        if forest is None:
            self.compute(graph)
            return
        deleted, inserted = delta.arcs("deleted", placed=True), delta.arcs("inserted", placed=True)
        if self.should_recompute(graph, deleted, inserted, times=max(1.0, self._depth / USUAL_DEPTH)):
            self.recomputes()
            self._run(graph, forest)
        else:
            self.sources.resize(graph, forest)
            forest.repair(graph, deleted, inserted, delta.arcs("replaced", placed=True))
        if not graph.device.is_cuda:
            self._ensure_valid()

    @property
    def result(self) -> SSSPResult:
        """The current distances and parents, in new arrays; waits for the device."""
        return self._answer(None)

    def at(self, vertices: Array) -> SSSPResult:
        """Return distances and parents of ``vertices`` (ids, ``int64[k]``), in the same order; waits for the device."""
        return self._answer(vertices)

    def _answer(self, vertices: Array | None) -> SSSPResult:
        self.sources.demand_noted()
        self._ensure_valid()
        assert self._forest is not None
        return _result_of(self._forest.words if vertices is None else self._forest.words.picked(vertices))

    def event_step(self, graph: Graph) -> Step:
        """Return the compiled loop by which ``suricate.replay`` updates distances and parents event by event."""
        self.sources.demand_noted()
        self._ensure_valid()
        assert self._forest is not None
        return self._forest.event_step(graph, _result_of)

    def _search(self, graph: Graph, *, wide: bool) -> bool:
        """Compute all distances with words of 64 bits, or 128 if ``wide``.

        Return whether every edge increased the keys.
        """
        forest = self._forest
        if forest is None or wide != (forest.words.layout.num_keys == 2):
            forest = self._forest = _forest(graph, self.sources, wide)
        outcome = self._run(graph, forest)
        if graph.device.is_cuda:
            self._depth = TURNS * outcome.steps
        return not forest.violated[0]

    def _run(self, graph: Graph, forest: Forest) -> Propagated:
        """Compute all distances in the words of ``forest``, and return the outcome of the search; does not wait."""
        self.sources.resize(graph, forest)
        forest.violated.fill(0)
        assert self._roots is not None
        width = None if self._delta is None else fitting_width(self._delta, forest.words.layout.fields[0].dtype)
        long = graph.weight_dtype is not None and graph.most_arcs >= LONG_ROWS * graph.num_vertices
        with copied_rows(graph) if long else nullcontext():
            return forest.compute(graph, self._roots, width)

    def _ensure_valid(self) -> None:
        """Compute from scratch, with 128-bit words if necessary, if an edge did not increase the keys in an update."""
        assert self._graph is not None
        if self._forest is None or self._forest.violated[0]:
            self.recomputes("an edge does not increase the distance: words of 128 bits are needed")
            self.compute(self._graph)

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
        live: np.ndarray | None = None,
        **params: Any,
    ) -> SSSPResult:
        """Return distances by SciPy's Dijkstra; a parent is -2 (``AMBIGUOUS``) if several are equal up to rounding."""
        from scipy.sparse import csgraph

        sources, dtype = source_ids(params), np.dtype(np.int64) if weight is None else weight.dtype
        w = np.ones(len(src)) if weight is None else weight.astype(np.float64)
        d = csgraph.dijkstra(adjacency(src, dst, weight, num_vertices), indices=sources, min_only=True)
        return _with_parents(src.astype(np.int64), dst.astype(np.int64), w, d, sources, dtype.kind == "f", dtype)

    @classmethod
    def mismatch(cls, result: SSSPResult, reference: SSSPResult, **params: Any) -> str | None:
        """Return a text that says what is wrong with ``result``, or None.

        Parents that are ``AMBIGUOUS`` in ``reference`` are not compared.
        """
        parent = np.where(reference.parent == AMBIGUOUS, result.parent, reference.parent)
        return super().mismatch(result, reference._replace(parent=parent), **params)

    @classmethod
    def sample_params(cls, num_vertices: int, centre: int) -> dict[str, Any]:
        """Return parameters for the benchmark: the source is ``centre``, a vertex that reaches much of the graph."""
        return {"source": centre}

    def traffic(self, graph: Graph) -> int:
        """Return how many bytes are moved at least: out-edges of reached vertices, and two words for each of these."""
        reached = self.result.parent >= 0
        edges = int(graph.degrees()[reached].sum(dtype=np.int64))
        weight_bytes = 0 if graph.weight_dtype is None else graph.weight_dtype.itemsize
        return edges * (ID_BYTES + weight_bytes) + int(reached.sum()) * (OFFSET_BYTES + 2 * WORD_BYTES)


def _result_of(tree: Words) -> SSSPResult:
    """Return the distances and parents that the words ``tree`` hold."""
    distance, parent = tree.distance, tree.ids("parent")
    if distance.dtype.kind != "f":
        distance = tree.device.xp.where(parent >= 0, distance.astype(np.int64), -1)
    return SSSPResult(distance, parent)


def _forest(graph: Graph, sources: Sources, wide: bool) -> Forest:
    """Return an empty dependence forest for searches from ``sources``, whose distances fit the weights of ``graph``.

    ``wide``: words of 128 bits, with the hops over edges of weight 0.
    """
    dtype = graph.weight_dtype
    if dtype is not None and dtype.kind == "f":
        name, farthest = dtype.name, math.inf
    else:
        name = "int64" if wide else "uint32"
        farthest = int(np.iinfo(name).max)
    keys = {"distance": name, "hops": "uint32"} if wide else {"distance": name}
    tree = graph.words(keys=keys, payload={"parent": "uint32"})
    offer = nearer_by_hops if wide else nearer_in_32_bits if name == "uint32" else nearer
    restart = restart_with(farthest, wide=wide, several=sources.several)
    return graph.forest(tree, offer, restart, args=(sources.argument(graph),))


def bucket_width(mean_weight: float, mean_degree: float, *, is_cuda: bool) -> float:
    """Return the default width of a bucket for edges of ``mean_weight`` and vertices of ``mean_degree``.

    On CUDA (``is_cuda``) it is large enough to fill warps (Davidson et al. 2014).
    """
    each = mean_weight / max(1.0, mean_degree)
    return max(mean_weight, WARP * each) if is_cuda else each


def fitting_width(width: float, dtype: np.dtype) -> float:
    """Return the bucket width ``width``, limited to the range that distances of ``dtype`` can represent.

    It is at most a quarter of the largest value. An integer is rounded, and at least 1; a floating-point number is at
    least the smallest normal number.
    """
    if dtype.kind == "f":
        return min(max(width, float(np.finfo(dtype).tiny)), float(np.finfo(dtype).max) / 4)
    return max(1, min(round(width), int(np.iinfo(dtype).max) // 4))


def _mean_weight(graph: Graph, arcs: int) -> float:
    """Return the mean weight of an arc, 1 if there are none or it is not positive; waits for the device.

    On the CPU, in large graphs, it is estimated from some vertices' arcs if these are enough: only speed depends on it.
    """
    with np.errstate(over="ignore"):
        if not graph.device.is_cuda and graph.partition is None and graph.num_vertices > 4 * SAMPLE:
            some = np.linspace(0, graph.num_vertices - 1, SAMPLE, dtype=np.uint32)
            known: Array = graph.adjacency(some).weight
            if len(known) >= SAMPLE:
                return _usable(float(known.mean(dtype=np.float64)))
        total = float(neighbor_reduce(graph, None, weight_of, reduce="sum", dtype=np.float64).sum())
        return _usable(total / max(1, arcs))


def _usable(mean: float) -> float:
    return mean if 0 < mean < math.inf else 1.0


@np.errstate(over="ignore")
def _with_parents(
    src: np.ndarray, dst: np.ndarray, w: np.ndarray, d: np.ndarray, sources: np.ndarray, is_float: bool, dtype: np.dtype
) -> SSSPResult:
    """Return the result for the distances ``d`` (inf: unreached), with arcs ``src`` to ``dst`` of weights ``w``.

    Of the predecessors on shortest paths the parent is the one with the fewest hops over edges of weight 0, then the
    least id. It is ``AMBIGUOUS`` if distances are floating-point (``is_float``, of ``dtype``) and several predecessors
    fit up to rounding. ``sources`` are their own parents.
    """
    if is_float:
        d = np.where(np.isfinite(d.astype(dtype)), d, np.inf)
    reached = np.isfinite(d[src]) & np.isfinite(d[dst])
    src, dst, w = src[reached], dst[reached], w[reached]
    rises = (w > 0) & ~np.isin(dst, sources)
    tight = np.isclose(d[src] + w, d[dst], rtol=1e-6, atol=0) if is_float else d[src] + w == d[dst]
    parent = smallest(len(d), src[tight & rises], dst[tight & rises])
    if is_float:
        parent[repeated(len(d), dst[tight & rises])] = AMBIGUOUS
    parent[sources] = sources
    flat, frontier = tight & ~rises & (src != dst), parent != -1
    while frontier.any():  # over edges of weight 0, one hop at a time
        step = flat & frontier[src] & (parent[dst] == -1)
        found = smallest(len(d), src[step], dst[step])
        frontier = found != -1
        parent[frontier] = found[frontier]
    distance = d.astype(dtype) if is_float else np.where(np.isfinite(d), d, -1).astype(np.int64)
    return SSSPResult(distance, parent)


def smallest(num_vertices: int, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
    """Return for each vertex the smallest source of the arcs ``src`` to ``dst`` that lead to it.

    The result is ``int64[num_vertices]``; -1 at vertices to which no arc leads.
    """
    found = np.full(num_vertices, num_vertices, np.int64)
    np.minimum.at(found, dst, src)
    return np.where(found == num_vertices, -1, found)


def repeated(num_vertices: int, ids: np.ndarray) -> np.ndarray:
    """Return ``bool[num_vertices]``: whether each vertex occurs more than once in ``ids``."""
    return np.bincount(ids, minlength=num_vertices) > 1


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Return the algorithm of this module, :class:`SSSP`, which registers it as a plugin."""
    return [SSSP]
