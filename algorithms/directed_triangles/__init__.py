"""Triangles and clustering coefficients of directed graphs, as NetworkX or as LDBC Graphalytics defines them.

Two vertices are neighbours if an arc joins them, in either direction; their pair has one arc or two. ``"networkx"``: a
choice of one arc from each pair of three mutual neighbours is a directed triangle (Fagiolo, *Clustering in complex
directed networks*, 2007), so three neighbours are the product of the arcs of their pairs. ``"ldbc"``: the arcs between
two neighbours of a vertex are counted.

From scratch on the CPU, rows of neighbours of higher degree are intersected (``suricate.algorithms.directed_triangles.
counting``). For updates, on CUDA and on several processes, the algorithm keeps a graph of its own, of twice as many
vertices: vertex ``2 v`` leads to ``2 x`` for each neighbour ``x`` of ``v``, and also to ``2 x + 1`` if their pair has
two arcs. There one call of ``intersect`` over the pairs of neighbours counts all triangles. An update makes the same
call over the pairs whose arcs have changed, before and after this graph follows, and counts a triangle with several
such pairs at the least of them. On the CPU the first update builds this graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from suricate import hookimpl
from suricate.algorithms.directed_triangles import pairs
from suricate.algorithms.directed_triangles.counting import count_on_host
from suricate.algorithms.shared.vertex_values import resized
from suricate.base.effects import atomic
from suricate.base.html import result_html
from suricate.base.parameters import shown
from suricate.base.types import EdgeList, edge_keys
from suricate.errors import ParameterError
from suricate.graph.exchange.parts import share_of
from suricate.operators import intersect
from suricate.plugins.algorithm import ID_BYTES, OFFSET_BYTES, Algorithm, Requirements
from suricate.state.edges.edge_set import EdgeSet

if TYPE_CHECKING:
    from suricate.base.devices import Array, ReturnedArray
    from suricate.base.types import StoreView
    from suricate.cuda.program import Program
    from suricate.graph import Graph
    from suricate.graph.delta import Delta

DEFINITIONS = ("networkx", "ldbc")


class DirectedTrianglesResult(NamedTuple):
    """Triangles and clustering coefficients; a vertex with fewer than two neighbours has coefficient 0.

    Attributes:
        triangles: int64[n]; with ``"networkx"`` the directed triangles at each vertex, with ``"ldbc"`` the arcs among
            its neighbours.
        clustering: float64[n], ``triangles`` divided by the largest number possible.
    """

    triangles: ReturnedArray
    clustering: ReturnedArray

    def _repr_html_(self) -> str:
        return result_html(self)


def count_opposite(i, u, v, x, near, arcs, counts):
    """Add ``arcs[i]``, the number of arcs between ``u`` and ``v``, to the count of the vertex at ``x``, in place.

    ``u`` and ``v``, the ends of pair ``i``, and ``x``, their common neighbour, are vertices of ``near``, the graph of
    neighbours of the module: an even ``x`` stands for vertex ``x // 2``; odd ones are ignored.
    """
    if x % 2 == 0:
        atomic.add(counts, x // 2, arcs[i])


def count_triangles(i, u, v, x, near, arcs, counts):
    """Add the directed triangles of ``u``, ``v`` and ``x`` to the count of the vertex at ``x``, in place.

    Their number is the product of the arcs of the three pairs; pair ``i``, of ``u`` and ``v``, has ``arcs[i]`` arcs.
    ``u``, ``v`` and the common neighbour ``x`` are vertices of ``near``, the graph of neighbours of the module: an even
    ``x`` stands for vertex ``x // 2``; odd ones are ignored.
    """
    if x % 2 == 0:
        ways = arcs[i] * (2 if (u, x + 1) in near else 1) * (2 if (v, x + 1) in near else 1)
        atomic.add(counts, x // 2, ways)


def change_opposite(i, u, v, x, near, changed, arcs, sign, counts):
    """Change the counts of arcs opposite to the three corners of a triangle, if ``(u, v)`` is its least changed pair.

    Args:
        i: the number of the pair.
        u: one end of the pair, as a vertex of ``near``.
        v: the other end.
        x: the third corner, as a vertex of ``near``; odd ones are ignored.
        near: the graph of neighbours, see the module.
        changed: the edge set of all changed pairs, as vertices of ``near``.
        arcs: ``int64[k]``, the number of arcs of each pair, negative to subtract.
        sign: ``int64[k]``, the signs of ``arcs``.
        counts: ``int64[n]``, changed in place.
    """
    if x % 2 == 0 and not (x < v and (u, x) in changed) and not (x < u and (v, x) in changed):
        atomic.add(counts, x // 2, arcs[i])
        atomic.add(counts, u // 2, sign[i] * (2 if (v, x + 1) in near else 1))
        atomic.add(counts, v // 2, sign[i] * (2 if (u, x + 1) in near else 1))


def change_triangles(i, u, v, x, near, changed, arcs, sign, counts):
    """Change the counts of directed triangles at three corners, in place, if ``(u, v)`` is the least changed pair.

    ``u`` and ``v`` are the ends of pair ``i``, ``x`` is the third corner (ignored if odd), all as vertices of ``near``,
    the graph of neighbours of the module. ``changed`` is the edge set of all changed pairs, ``arcs[i]`` the number of
    arcs of the pair, negative to subtract, ``counts`` is ``int64[n]``; ``sign`` is not used.
    """
    if x % 2 == 0 and not (x < v and (u, x) in changed) and not (x < u and (v, x) in changed):
        ways = arcs[i] * (2 if (u, x + 1) in near else 1) * (2 if (v, x + 1) in near else 1)
        atomic.add(counts, x // 2, ways)
        atomic.add(counts, u // 2, ways)
        atomic.add(counts, v // 2, ways)


class DirectedTriangles(Algorithm):
    """Triangles of a directed graph and clustering coefficients; self-loops and weights are ignored.

    With symmetric arcs both definitions give the clustering of the undirected graph. The state includes the pairs of
    neighbours, in a graph of the same backend, on the CPU from the first update on. An update waits for the device.

    Args:
        definition: ``"networkx"``: directed triangles, and the clustering of ``networkx.clustering``; ``"ldbc"``: arcs
            among the neighbours of a vertex, in either direction, as a share of the ordered pairs of neighbours (LDBC
            Graphalytics' LCC).

    Raises:
        ParameterError: there is no such definition.
        RequirementError: an undirected graph.

    Example:
        >>> g = su.Graph.from_coo([0, 1, 2], [1, 2, 0], in_edges=True, device="cpu")
        >>> g.compute("directed_triangles").triangles.tolist()
        [1, 1, 1]
    """

    name = "directed_triangles"
    requires = Requirements(undirected=False)
    update_kind = "dynamic"
    recompute_share = 0.01

    def __init__(self, definition: Literal["networkx", "ldbc"] = "networkx") -> None:
        if not isinstance(definition, str) or definition not in DEFINITIONS:
            known = " or ".join(map(repr, DEFINITIONS))
            raise ParameterError(f"directed_triangles: definition must be {known}, got {shown(definition)}")
        self.definition = definition
        self._triangles: Array = None  # int64[n]
        self._xp: Any = np
        self._near: Graph | None = None  # see the head of this module
        self._arcs: Array = None  # int64[n], of a vertex
        self._mutual: Array = None  # int64[n], neighbours by two arcs

    def compute(self, graph: Graph) -> None:
        """Count all triangles from scratch."""
        n, xp = graph.num_vertices, graph.device.xp
        self._xp, self._near = xp, None
        if not graph.device.is_cuda and graph.partition is None:
            is_product = self.definition == "networkx"
            self._triangles, self._arcs, self._mutual = count_on_host(graph, is_product=is_product)
            return
        self._triangles, self._arcs, self._mutual = (xp.zeros(n, np.int64) for _ in range(3))
        self._near = near = _empty_near(graph)
        for low, high, arcs in _all_pairs(graph):
            self._follow(near, low, high, xp.zeros(len(arcs), np.int64), arcs)
        count = count_opposite if self.definition == "ldbc" else count_triangles
        for low, high, arcs in _all_pairs(graph):
            intersect(near, None, low * 2, high * 2, count, args=(near, arcs, self._triangles))

    def update(self, graph: Graph, delta: Delta) -> None:
        """Subtract the triangles that had a pair whose arcs changed, and add those that have one now."""
        arcs = delta.arcs("deleted"), delta.arcs("inserted")
        if self.should_recompute(graph, *arcs):
            self.compute(graph)
            return
        self._grow(graph)
        deleted, inserted = (each.read() for each in arcs)
        xp = graph.device.xp
        src, dst = (xp.concatenate(ends) for ends in zip(deleted[:2], inserted[:2], strict=True))
        low, high, after = _pairs_of(graph, src, dst)
        if self._near is None:
            before = _before(graph, low, high, deleted, inserted)
            self._near = near = _empty_near(graph)
            for ends in _all_pairs(graph):
                _connect(near, *ends[:2], ends[2] * 0, ends[2])
            _connect(near, low, high, after, before)
        near = self._near
        at, to = low * 2, high * 2
        before = pairs.both_held(graph.device, near.has_edges(at, to), near.has_edges(at, to + 1))
        changed = near.edge_set(xp.concatenate([at, to]), xp.concatenate([to, at]))
        self._change(near, changed, low, high, -before)
        self._follow(near, low, high, before, after)
        self._change(near, changed, low, high, after)

    def _change(self, near: Graph, changed: EdgeSet, low: Array, high: Array, arcs: Array) -> None:
        """Add the triangles that contain a pair ``(low[i], high[i])``, or subtract them if ``arcs[i]`` is negative.

        ``arcs`` (``int64[k]``) is plus or minus the number of arcs between the pair; ``changed`` is the edge set of all
        pairs, each in both directions, as vertices of ``near``, the graph of neighbours.
        """
        sign = self._xp.sign(arcs)
        change = change_opposite if self.definition == "ldbc" else change_triangles
        args = (near, changed, arcs, sign, self._triangles)
        intersect(near, None, low * 2, high * 2, change, args=args)

    def _follow(self, near: Graph, low: Array, high: Array, before: Array, after: Array) -> None:
        """Update ``near``, and the numbers of arcs per vertex, for changed pairs, given as to :func:`_connect`."""
        _connect(near, low, high, before, after)
        pairs.count_ends(near.device, low, high, before, after, self._arcs, self._mutual)

    def _grow(self, graph: Graph) -> None:
        missing = graph.num_vertices - len(self._triangles)
        if missing:
            if self._near is not None:
                self._near.insert_vertices(2 * missing)
            arrays = (self._triangles, self._arcs, self._mutual)
            self._triangles, self._arcs, self._mutual = (
                resized(graph.device.xp, array, graph.num_vertices, 0) for array in arrays
            )

    @property
    def result(self) -> DirectedTrianglesResult:
        """The current counts and coefficients, in new arrays."""
        possible = _possible(self.definition, self._arcs, self._mutual)
        shares = self._triangles / self._xp.maximum(possible, 1)
        return DirectedTrianglesResult(self._triangles.copy(), shares)

    # -- verification and benchmark ------------------------------------------------------------------------------------

    @classmethod
    def programs(cls, view: StoreView) -> list[Program]:
        """Return the CUDA program of pairs of neighbours, which reads no graph; CI compiles it without a GPU."""
        return [pairs.PROGRAM]

    @classmethod
    def reference(
        cls,
        src: np.ndarray,
        dst: np.ndarray,
        weight: np.ndarray | None,
        num_vertices: int,
        directed: bool,
        *,
        definition: str = "networkx",
        live: np.ndarray | None = None,
        **_: Any,
    ) -> DirectedTrianglesResult:
        """Return the result by products of SciPy matrices."""
        from scipy import sparse

        src, dst = src[src != dst], dst[src != dst]
        shape = (num_vertices, num_vertices)
        arcs = sparse.csr_array((np.ones(len(src), np.int64), (src, dst)), shape=shape)
        both = (arcs + arcs.T).tocsr()
        near = both.sign().tocsr()
        if definition == "networkx":
            counts = ((both @ both).multiply(both)).sum(axis=1) // 2
        else:
            counts = ((near @ arcs).multiply(near)).sum(axis=1)
        degrees = np.asarray(both.sum(axis=1)).ravel()
        mutual = np.asarray(arcs.multiply(arcs.T).sum(axis=1)).ravel()
        triangles = np.asarray(counts).ravel().astype(np.int64)
        possible = _possible(definition, degrees, mutual)
        return DirectedTrianglesResult(triangles, triangles / np.maximum(possible, 1))

    def traffic(self, graph: Graph) -> int:
        """Return how many bytes are moved at least: each pair read from both ends, an offset and a count per vertex."""
        return 2 * int(self._arcs.sum()) * ID_BYTES + graph.num_vertices * (OFFSET_BYTES + self._triangles.itemsize)


def _empty_near(graph: Graph) -> Graph:
    """Return a graph of neighbours without edges for ``graph``, with its backend and processes."""
    options = graph.options
    divided: dict[str, Any] = {} if graph.partition is None else {"comm": graph.partition.comm}
    near = type(graph)(
        2 * graph.num_vertices, backend=options.backend, device=graph.device, threads=options.threads, **divided
    )
    if graph.partition is not None and near.partition is not None:
        near.partition.memory_limit = graph.partition.memory_limit
    return near


def _connect(near: Graph, low: Array, high: Array, before: Array, after: Array) -> None:
    """Update the graph of neighbours for pairs ``(low[i], high[i])``, which had ``before[i]`` arcs (0 to 2).

    They have ``after[i]`` now.
    """
    for first, second, change in ((after, before, near.delete_edges), (before, after, near.insert_edges)):
        arcs = pairs.more_arcs(near.device, low, high, first, second)
        arcs = arcs if near.partition is None else share_of(near.partition.comm, arcs)
        if len(arcs.src) or near.partition is not None:  # all processes call
            change(arcs.src, arcs.dst)


def _before(graph: Graph, low: Array, high: Array, deleted: EdgeList, inserted: EdgeList) -> Array:
    """Return how many arcs pairs ``(low[i], high[i])`` had before a change of ``graph``, ``int64[k]``; on the CPU."""
    gone, new = (edge_keys(*part[:2]) for part in (deleted, inserted))
    before = np.zeros(len(low), np.int64)
    for src, dst in ((low, high), (high, low)):
        keys = edge_keys(src, dst)
        before += np.isin(keys, gone) | (graph.has_edges(src, dst) & ~np.isin(keys, new))
    return before


def _all_pairs(graph: Graph) -> Iterator[tuple[Array, Array, Array]]:
    """Yield the pairs of neighbours in ``graph``, each once, in parts of three arrays.

    The arrays are the smaller ids and the larger ids (``uint32[k]``), and the numbers of arcs between them
    (``int64[k]``). A graph of several processes yields a part per slice of its vertices, another graph one part.
    """
    if graph.partition is None:
        yield _pairs_of(graph, *graph.edges()[:2])
        return
    xp = graph.device.xp
    for begin, end in graph.partition.slices():
        ids = xp.arange(begin, end, dtype=np.uint32)
        offsets, dst, _ = graph.adjacency(ids)
        src = ids[xp.searchsorted(offsets, xp.arange(len(dst)), side="right") - 1]
        low, high, arcs = _pairs_of(graph, src, dst)
        here = ((low >= begin) & (low < end)) | ~graph.has_edges(low, high)  # else it is in the slice of ``low``, too
        yield low[here], high[here], arcs[here]


def _pairs_of(graph: Graph, src: Array, dst: Array) -> tuple[Array, Array, Array]:
    """Return the distinct pairs of ends of the arcs ``src`` to ``dst``, and how many arcs of ``graph`` each has.

    Three arrays: the smaller ids, the larger ids (``uint32[k]``), the numbers of arcs (``int64[k]``). Self-loops are
    left out.
    """
    low, high = pairs.distinct_pairs(graph.device, src, dst)
    return low, high, pairs.held_arcs(graph, low, high)


def _possible(definition: str, arcs: Array, mutual: Array) -> Array:
    """Return the largest number of triangles by ``definition`` possible at each vertex, ``int64[n]``."""
    if definition == "ldbc":
        return (arcs - mutual) * (arcs - mutual - 1)
    return arcs * (arcs - 1) - 2 * mutual


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Return the algorithm of this module, :class:`DirectedTriangles`, which registers it as a plugin."""
    return [DirectedTriangles]
