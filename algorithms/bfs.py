"""Breadth-first search kept current: levels and parents from one source, incremental and decremental.

Follows Meerkat (Concessao et al.): every vertex holds one 64-bit word, ``level << 32 | parent``, and one atomic minimum
keeps it. The words form the dependence tree; of several possible parents the smallest id wins, so that the answer
does not depend on the order of events. A deleted tree edge invalidates the subtree below it; what is still valid then
offers levels to the invalid part, and the search goes on from there. An inserted edge is a first frontier of its own.

Levels count edges: weights are not used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate import hookimpl
from suricate.algorithm import ID_BYTES, OFFSET_BYTES, Algorithm
from suricate.arrays import range_message
from suricate.errors import VertexRangeError
from suricate.operators import advance, neighbor_reduce, propagate
from suricate.parameters import integer, shown

if TYPE_CHECKING:
    from suricate.delta import Delta
    from suricate.devices import Array
    from suricate.graph import Graph

UNREACHED = 0x7FFFFFFFFFFFFFFF
PARENT = 0xFFFFFFFF
LEVEL_BYTES = 4


class BFSResult(NamedTuple):
    """``level`` is int32[n], -1 where unreached; ``parent`` is int64[n], -1 where unreached, the source's is itself."""

    level: Array
    parent: Array


def one_further(u, v, w, state):
    """Offer ``v`` the word "one level below u, by u"."""
    if state[u] == UNREACHED:
        return UNREACHED
    return (((state[u] >> 32) + 1) << 32) | u


def is_child(u, v, w, state):
    """Return 1 if ``u`` is the parent of ``v`` in the dependence tree."""
    return 1 if (state[v] & PARENT) == u and state[v] != UNREACHED and (state[v] >> 32) > 0 else 0


class BFS(Algorithm):
    """Levels and parents of all vertices reachable from ``source`` along out-edges (all edges if undirected).

    With in-edges a deletion is repaired from the invalidated vertices alone; without, by one pass over all edges.

    Args:
        source: id of a vertex.

    Raises:
        ParameterError: ``source`` is no integer.
        VertexRangeError: ``source`` is no vertex of the graph.
    """

    name = "bfs"
    suites = ("algorithms", "demo")
    update_kind = "dynamic"

    def __init__(self, source: int = 0) -> None:
        self.source = integer("bfs: source", source)
        if self.source < 0:
            raise VertexRangeError(f"bfs: source is {shown(self.source)}: ids are not negative")
        self._state: Array = None
        self._xp: Any = np

    def compute(self, graph: Graph) -> None:
        """Search from scratch."""
        if self.source >= graph.num_vertices:
            raise VertexRangeError(range_message("bfs: source", None, self.source, graph.num_vertices))
        self._xp = graph.device.xp
        self._state = self._xp.full(graph.num_vertices, UNREACHED, np.int64)
        self._state[self.source] = self.source
        self._search(graph, [self.source])

    def update(self, graph: Graph, delta: Delta) -> None:
        """Repair what the deletions broke, then search on from what the insertions brought nearer."""
        self._grow(graph)
        invalid = self._invalidate(graph, delta)
        if len(invalid):
            self._search(graph, self._offer(graph, invalid))
        inserted = delta.arcs("inserted")
        if len(inserted.src):
            self._search(graph, advance(graph, inserted, one_further, self._state))

    @property
    def result(self) -> BFSResult:
        """The current levels and parents, in new arrays."""
        state, xp = self._state, self._xp
        reached = state != UNREACHED
        level = xp.where(reached, state >> 32, -1).astype(np.int32)
        return BFSResult(level, xp.where(reached, state & PARENT, -1))

    def _search(self, graph: Graph, frontier: Array | None) -> None:
        propagate(graph, frontier, one_further, self._state, reduce="min")

    def _grow(self, graph: Graph) -> None:
        missing = graph.num_vertices - len(self._state)
        if missing:
            self._state = self._xp.concatenate([self._state, self._xp.full(missing, UNREACHED, np.int64)])

    def _invalidate(self, graph: Graph, delta: Delta) -> Array:
        """Reset the subtrees below deleted tree edges; return their vertices."""
        xp, state = graph.device.xp, self._state
        src, dst, _ = delta.arcs("deleted")
        word = state[dst]
        roots = dst[((word & PARENT) == src) & (word != UNREACHED) & ((word >> 32) > 0)]
        if not len(roots):
            return roots
        invalid = xp.zeros(graph.num_vertices, np.uint32)
        invalid[roots] = 1
        propagate(graph, roots, is_child, invalid, args=(state,), reduce="max")
        vertices = xp.flatnonzero(invalid).astype(np.uint32)
        state[vertices] = UNREACHED
        return vertices

    def _offer(self, graph: Graph, invalid: Array) -> Array | None:
        """Offer the valid neighbours' levels to the ``invalid`` vertices.

        Returns the vertices to search on from: those that took an offer, or None for all if there are no in-edges.
        """
        if not graph.has_in_edges:
            return None
        offers = neighbor_reduce(graph, one_further, args=(self._state,), reduce="min", over="in", vertices=invalid)
        self._state[invalid] = offers
        return invalid[offers != UNREACHED]

    # -- verification and benchmark ------------------------------------------------------------------------------------

    @classmethod
    def reference(
        cls,
        src: np.ndarray,
        dst: np.ndarray,
        weight: np.ndarray | None,
        num_vertices: int,
        directed: bool,
        **params: Any,
    ) -> BFSResult:
        """Levels by SciPy's search; of the in-neighbours one level above a vertex the smallest is its parent."""
        from scipy import sparse

        source = params.get("source", 0)
        shape = (num_vertices, num_vertices)
        level = levels(sparse.csr_array((np.ones(len(src), np.int8), (src, dst)), shape=shape), source)
        downward = (level[src] >= 0) & (level[dst] == level[src] + 1)
        parent = np.full(num_vertices, num_vertices, np.int64)
        np.minimum.at(parent, dst[downward], src[downward].astype(np.int64))
        parent[level < 0], parent[source] = -1, source
        return BFSResult(level, parent)

    @classmethod
    def sample_params(cls, num_vertices: int, centre: int) -> dict[str, Any]:
        """Search from the centre."""
        return {"source": centre}

    @classmethod
    def peer(cls, matrix: Any, **params: Any) -> Any:
        """SciPy's breadth-first order and predecessors."""
        from scipy.sparse import csgraph

        return csgraph.breadth_first_order(matrix, params.get("source", 0))

    def traffic(self, graph: Graph) -> int:
        """Return the bytes of the out-edges of what is reached, and of a level read and written per vertex of it."""
        reached = self._state != UNREACHED
        edges = int(graph.degrees()[reached].sum(dtype=np.int64))
        return edges * ID_BYTES + int(reached.sum()) * (OFFSET_BYTES + 2 * LEVEL_BYTES)


def levels(matrix: Any, source: int) -> np.ndarray:
    """Return the level of every vertex, -1 where unreached, by SciPy's breadth-first order (int32[n])."""
    from scipy.sparse import csgraph

    order, parents = csgraph.breadth_first_order(matrix, source)
    position = np.empty(matrix.shape[0], np.int64)
    position[order] = np.arange(len(order))
    parent_at = position[parents[order[1:]]]  # ascending, since the search is breadth first
    result = np.full(matrix.shape[0], -1, np.int32)
    begin, end, level = 0, 1, 0
    while begin < end:
        result[order[begin:end]] = level
        begin, end, level = end, 1 + int(np.searchsorted(parent_at, end)), level + 1
    return result


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Offer breadth-first search."""
    return [BFS]
