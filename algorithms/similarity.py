"""Similarity of vertices by their common neighbours: of given pairs, kept current, or the most similar of vertices.

Liben-Nowell and Kleinberg, *The link-prediction problem for social networks* (2007); resource allocation: Zhou, Lü and
Zhang, *Predicting missing links via local information* (2009). ``intersect`` sums over the common neighbours of each
pair. After a batch only pairs are computed again with an end whose row changed and, where a common neighbour counts by
its degree, those both ends of which are neighbours of such a vertex. On CUDA an update waits for their number. The most
similar vertices are found by ``wedges``, from scratch after each batch.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from suricate import hookimpl
from suricate.base.html import result_html
from suricate.base.parameters import flag, integer, one_of
from suricate.base.types import EMPTY, EdgeList, edge_keys, ends_of
from suricate.errors import ParameterError, ShapeError
from suricate.intake.arrays import as_ids, checked_ids, on_host, sorted_distinct
from suricate.operators import intersect
from suricate.operators.wedges import wedges
from suricate.plugins.algorithm import ID_BYTES, Algorithm, Requirements

if TYPE_CHECKING:
    from suricate.base.devices import Array, ReturnedArray
    from suricate.graph import Graph
    from suricate.graph.delta import Delta

KINDS = ("jaccard", "overlap", "cosine", "adamic_adar", "resource_allocation")
BY_DEGREE = KINDS[3:]  #: a common neighbour counts by its degree
BEST = 10  #: vertices for each, if nothing else is said
LOOP = 1 << 32  #: what a common neighbour that is an end of the pair, by a self-loop, adds to the count of others


class SimilarityResult(NamedTuple):
    """The similarity of pairs, each once, with ``src <= dst``.

    Attributes:
        src: uint32[k], ascending.
        dst: uint32[k], ascending for each ``src``.
        similarity: float64[k]; NaN if a vertex of the pair is deleted.
    """

    src: ReturnedArray
    dst: ReturnedArray
    similarity: ReturnedArray

    def of(self, src: Any, dst: Any) -> ReturnedArray:
        """Return the similarity of pairs in any order, which may repeat: ``float64``, NaN for pairs not in the result.

        Raises:
            ShapeError, DTypeError, VertexRangeError: ``src`` and ``dst`` are not ids, as many each.
        """
        src, dst = given_pairs((src, dst))
        keys, wanted = edge_keys(on_host(self.src), on_host(self.dst)), edge_keys(src, dst)
        at = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        values = on_host(self.similarity)
        return np.where(keys[at] == wanted, values[at], np.nan) if len(keys) else np.full(len(wanted), np.nan)

    def _repr_html_(self) -> str:
        return result_html(self)


class SimilarVertices(NamedTuple):
    """The vertices that are the most similar to others, the most similar first, of equal ones that with the smaller id.

    Attributes:
        vertex: uint32[k], the vertices asked for, in this order.
        similar: uint32[k, best]; ``EMPTY`` where fewer have a common neighbour with the vertex.
        similarity: float64[k, best]; NaN there.
    """

    vertex: ReturnedArray
    similar: ReturnedArray
    similarity: ReturnedArray

    def _repr_html_(self) -> str:
        return result_html(self)


Similarities: TypeAlias = SimilarityResult | SimilarVertices


def given_pairs(pairs: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of ``pairs``, ``uint32[k]`` each, the smaller ones and the larger ones, in the given order."""
    if isinstance(pairs, EdgeList):
        pairs = pairs.src, pairs.dst
    if not isinstance(pairs, (tuple, list)) or len(pairs) != 2 or isinstance(pairs[0], tuple):
        raise ParameterError("similarity: pairs must be two arrays of ids, (src, dst), or an EdgeList, not tuples")
    ends = [np.asarray(on_host(as_ids(part, f"similarity: pairs[{i}]"))) for i, part in enumerate(pairs)]
    if len(ends[0]) != len(ends[1]):
        raise ShapeError(f"similarity: pairs have {len(ends[0])} and {len(ends[1])} entries: pass one of each per pair")
    src, dst = (checked_ids(part, 1 << 32, f"similarity: pairs[{i}]") for i, part in enumerate(ends))
    return np.minimum(src, dst).astype(np.uint32), np.maximum(src, dst).astype(np.uint32)


def is_common(u, v, x):
    """Return 1 for a common neighbour ``x`` of ``u`` and ``v``, ``LOOP`` if it is one of both, by a self-loop."""
    return 1 if x != u and x != v else LOOP


def by_worth(u, v, x, worth):
    """Return ``worth[x]`` for a common neighbour ``x`` of ``u`` and ``v``, 0 if it is one of both."""
    return worth[x] if x != u and x != v else 0.0


def count(u, v, x, rows):
    """Return 1 for a wedge from ``u`` to ``x``, ``LOOP`` if it is over a self-loop of one of both."""
    return 1 if v != u and v != x else LOOP


def jaccard(u, x, total, rows):
    """Return the share of common neighbours in all, whose numbers are in ``rows``; NaN if there are none."""
    return total % LOOP / (rows[u] + rows[x] - total % LOOP - total // LOOP) if total % LOOP > 0 else np.nan


def overlap(u, x, total, rows):
    """Return the share of common neighbours in those of the one that has fewer; NaN if there are none."""
    return total % LOOP / min(rows[u], rows[x]) if total % LOOP > 0 else np.nan


def cosine(u, x, total, rows):
    """Return the number of common neighbours, divided by the root of the product of all; NaN if there are none."""
    return total % LOOP / math.sqrt(float(rows[u]) * rows[x]) if total % LOOP > 0 else np.nan


def worth_at(u, v, x, worth):
    """Return ``worth[v]`` for a wedge from ``u`` to ``x``, 0 if it is over a self-loop of one of both."""
    return worth[v] if v != u and v != x else 0.0


SCORES = {"jaccard": jaccard, "overlap": overlap, "cosine": cosine}


class Similarity(Algorithm):
    """Similarity of vertices of an undirected graph by their common neighbours; weights are ignored.

    Args:
        pairs: ``(src, dst)``, ids of as many vertices each, or an ``EdgeList``; repeats are ignored. Or None: for each
            of ``vertices`` those that are the most similar to it, which every update computes from scratch.
        kind: ``"jaccard"``: the share of common neighbours in all neighbours of both; ``"overlap"``: in those of the
            one that has fewer; ``"cosine"``: their number, divided by the root of the product of the numbers of
            neighbours; 0 if there are none. ``"adamic_adar"``: the sum of ``1 / log(degree)`` of the common neighbours;
            ``"resource_allocation"``: that of ``1 / degree``. As in NetworkX neither vertex of a pair is a common
            neighbour, a self-loop makes a vertex a neighbour of itself, and counts twice in its degree.
        vertices: ids, with repeats, in any order; None: all.
        best: how many vertices to return for each of ``vertices``; None: 10.
        neighbors: whether neighbours of a vertex may be among them.

    Raises:
        ParameterError: there is no such kind, or a parameter goes with ``vertices``, but there are ``pairs``.
        ShapeError, DTypeError, VertexRangeError: ``pairs`` or ``vertices`` are not ids; these may be deleted.

    Example:
        >>> g = su.Graph.from_coo([0, 1, 0], [2, 2, 3], directed=False, device="cpu")
        >>> g.compute("similarity", pairs=([0], [1])).similarity.tolist()
        [0.5]
    """

    name = "similarity"
    update_kind = "dynamic"
    recompute_share = 0.06
    uses_weights = False
    requires = Requirements(undirected=True)

    def __init__(
        self,
        pairs: Any = None,
        kind: Literal["jaccard", "overlap", "cosine", "adamic_adar", "resource_allocation"] = "jaccard",
        vertices: Any = None,
        best: int | None = None,
        neighbors: bool = True,
    ) -> None:
        self.kind = one_of("similarity: kind", kind, KINDS)
        self.best = BEST if best is None else integer("similarity: best", best, low=1)
        self.neighbors = flag("similarity: neighbors", neighbors)
        self.of_pairs = pairs is not None
        if self.of_pairs and not (vertices is None and best is None and neighbors):
            raise ParameterError("similarity: vertices, best and neighbors do not go with pairs: give one or the other")
        self._keys = np.unique(edge_keys(*given_pairs(([], []) if pairs is None else pairs)))
        self._most = int(self._keys.max(initial=0) & np.uint64(0xFFFFFFFF))  # the largest id
        self.vertices = None if vertices is None else np.array(on_host(as_ids(vertices, "similarity: vertices")))
        self._pairs: Any = None  # on the device, as uint32
        self._found: Any = None
        self._live: Array = None  # bool, by pair; None: all
        self._rows: Array = None  # int64[n], numbers of neighbours
        self._ends: Array = None  # the same, but a self-loop counts twice

    def compute(self, graph: Graph) -> None:
        """Compute all pairs, or the most similar of all vertices."""
        xp = graph.device.xp
        if len(self._keys):
            checked_ids(np.array([self._most]), graph.num_vertices, "similarity: pairs")
        self._pairs = tuple(xp.asarray(part.astype(np.uint32)) for part in ends_of(self._keys))
        self._rows = graph.degrees().astype(np.int64)
        self._ends = self._rows.copy()
        if graph.self_loops == "allow":
            every = xp.arange(graph.num_vertices, dtype=np.uint32)
            self._ends += graph.has_edges(every, every)
        self._found = self._of(graph, *self._pairs) if self.of_pairs else self._most_similar(graph)
        self._note(graph)

    def _most_similar(self, graph: Graph) -> SimilarVertices:
        """Return the vertices that are the most similar to :attr:`vertices`."""
        given = np.arange(graph.num_vertices) if self.vertices is None else self.vertices
        ids = graph.device.xp.asarray(checked_ids(given, graph.num_vertices, "similarity: vertices").astype(np.uint32))
        fn: Any = worth_at if self.kind in BY_DEGREE else count
        args = worth_of(graph.device.xp, self.kind, self._ends) if self.kind in BY_DEGREE else self._rows
        skip = None if self.neighbors else "neighbors"
        found, score = wedges(graph, ids, fn, SCORES.get(self.kind), best=self.best, args=(args,), skip=skip)
        score[found == EMPTY] = np.nan
        return SimilarVertices(ids, found, score)

    def update(self, graph: Graph, delta: Delta) -> None:
        """Compute the pairs that the changed edges concern, or the most similar of all vertices."""
        if not self.of_pairs:
            self.recomputes("the most similar vertices are found from scratch")
            self.compute(graph)
            return
        xp, n = graph.device.xp, graph.num_vertices
        missing = n - len(self._rows)
        if missing:
            self._rows, self._ends = (
                xp.concatenate((part, xp.zeros(missing, np.int64))) for part in (self._rows, self._ends)
            )
        if self.should_recompute(graph, delta.arcs("deleted"), delta.arcs("inserted")):
            self.compute(graph)
            return
        edges = (delta.deleted, -1), (delta.inserted, 1)
        changed = sorted_distinct(xp.concatenate([ends for part, _ in edges for ends in (part.src, part.dst)]), xp)
        if len(changed):
            for part, by in edges:
                for degrees, dst in ((self._ends, part.dst), (self._rows, part.dst[part.src != part.dst])):
                    ids, number = xp.unique(xp.concatenate((part.src, dst)), return_counts=True)
                    degrees[ids] += by * number
            again = xp.flatnonzero(self._concerned(graph, changed))
            self._found[again] = self._of(graph, *(part[again] for part in self._pairs))
        self._note(graph)

    def _concerned(self, graph: Graph, changed: Array) -> Array:
        """Return which pairs may have another value after the rows of the vertices ``changed`` have changed."""
        xp, (src, dst) = graph.device.xp, self._pairs
        touched = xp.zeros(graph.num_vertices, bool)
        touched[changed] = True
        concerned = touched[src] | touched[dst]
        if self.kind in BY_DEGREE:
            touched[:] = False
            touched[graph.adjacency(changed)[1]] = True
            concerned |= touched[src] & touched[dst]
        return concerned

    def _of(self, graph: Graph, src: Array, dst: Array) -> Array:
        """Return the similarity of the pairs of ``src`` and ``dst``, ``float64``."""
        xp = graph.device.xp
        if self.kind in BY_DEGREE:
            return intersect(graph, u=src, v=dst, fn=by_worth, args=(worth_of(xp, self.kind, self._ends),))
        return share_of(xp, self.kind, intersect(graph, u=src, v=dst, fn=is_common), self._rows[src], self._rows[dst])

    def _note(self, graph: Graph) -> None:
        """Note which pairs have deleted vertices."""
        self._live = None
        if graph.most_deleted:
            live = graph.live_arrays.mask
            self._live = live[self._pairs[0]] & live[self._pairs[1]]

    @property
    def result(self) -> Similarities:
        """The similarity of every pair, or the most similar of vertices, in new arrays."""
        if not self.of_pairs:
            return SimilarVertices(*(part.copy() for part in self._found))
        found = self._found.copy()
        if self._live is not None:
            found[~self._live] = np.nan
        return SimilarityResult(self._pairs[0].copy(), self._pairs[1].copy(), found)

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
    ) -> Similarities:
        """Return the result by sets of neighbours."""
        asked = cls(**params)
        near: list[set[int]] = [set() for _ in range(num_vertices)]
        for u, v in zip(src.tolist(), dst.tolist(), strict=True):
            near[u].add(v)
        ends = np.array([len(some) + (v in some) for v, some in enumerate(near)])

        def value(u: int, v: int) -> float:
            if live is not None and not (live[u] and live[v]):
                return math.nan
            common = (near[u] & near[v]) - {u, v}
            if asked.kind in BY_DEGREE:
                return float(worth_of(np, asked.kind, ends[sorted(common)]).sum())
            one, two = len(near[u]), len(near[v])
            most = {"jaccard": len(near[u] | near[v]), "overlap": min(one, two), "cosine": math.sqrt(one * two)}
            return len(common) / max(most[asked.kind], 1e-300)

        if asked.of_pairs:
            left, right = (part.astype(np.uint32) for part in ends_of(asked._keys))
            return SimilarityResult(left, right, np.array([*map(value, left.tolist(), right.tolist())]))
        ids = np.arange(num_vertices) if asked.vertices is None else asked.vertices
        similar, values = np.full((len(ids), asked.best), EMPTY, np.uint32), np.full((len(ids), asked.best), np.nan)
        for i, u in enumerate(ids.tolist()):
            others = set().union(*(near[v] for v in near[u])) - {u} - (set() if asked.neighbors else near[u])
            found = sorted((-value(u, x), x) for x in others if (near[u] & near[x]) - {u, x})[: asked.best]
            for at, (negative, x) in enumerate(found):
                similar[i, at], values[i, at] = x, -negative
        return SimilarVertices(ids.astype(np.uint32), similar, values)

    @classmethod
    def mismatch(cls, result: Any, reference: Any, **params: Any) -> str | None:
        """Compare as others do, but that vertices of the same similarity, up to rounding, may have another order."""
        if isinstance(reference, SimilarVertices) and np.shape(result[1]) == np.shape(reference.similar):
            values = reference.similarity
            ties = np.isclose(values[:, 1:], values[:, :-1], rtol=1e-9)
            free = np.zeros(values.shape, bool)
            free[:, 1:] |= ties
            free[:, :-1] |= ties
            free[:, -1:] = True  # one that is not in the result may be as similar as the last one
            similar = np.where(free & (np.asarray(result[1]) != EMPTY), result[1], reference.similar)
            reference = reference._replace(similar=similar)
        return super().mismatch(result, reference, **params)

    @classmethod
    def sample_params(cls, num_vertices: int, centre: int) -> dict[str, Any]:
        """Return parameters for the benchmark: 45,000 random pairs."""
        return {"pairs": tuple(np.random.default_rng(0).integers(0, max(num_vertices, 1), (2, 45_000)))}

    def traffic(self, graph: Graph) -> int | None:
        """Return how many bytes are moved at least: of each pair two ids, two degrees, the smaller row, and a value."""
        if not self.of_pairs:
            return None
        rows = self._rows[self._pairs[0]], self._rows[self._pairs[1]]
        smaller = graph.device.xp.minimum(*rows).sum() if len(self._keys) else 0
        return int(smaller) * ID_BYTES + len(self._keys) * (2 * ID_BYTES + 3 * 8)


def worth_of(xp: Any, kind: str, ends: Array) -> Array:
    """Return how much a common neighbour counts whose degree is in ``ends``; infinity for the logarithm of 1."""
    degree = xp.asarray(ends).astype(np.float64)
    with np.errstate(divide="ignore"):
        return 1 / (degree if kind == "resource_allocation" else xp.log(xp.maximum(degree, 1)))


def share_of(xp: Any, kind: str, common: Array, one: Array, two: Array) -> Array:
    """Return the similarities of vertices with ``one`` and ``two`` neighbours, ``common`` ones counted by LOOP."""
    shared = common % LOOP
    if kind == "jaccard":
        most = one + two - shared - common // LOOP
    else:
        most = xp.minimum(one, two) if kind == "overlap" else xp.sqrt(one.astype(np.float64) * two)
    return xp.where(shared > 0, shared / xp.maximum(most, 1), 0.0)


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Return the algorithm of this module, :class:`Similarity`, which registers it as a plugin."""
    return [Similarity]
