"""Breadth-first search kept current: levels and parents from one source, incremental and decremental.

Follows Meerkat (Concessao et al.): every vertex holds one 64-bit word of level and parent, which is updated by one
atomic minimum. The words form a dependence forest (``suricate.repair.forest``). Of several possible parents the
smallest id wins, so the answer does not depend on the order of events. Deletions are repaired around the deleted tree
edges; inserted edges are the first frontier of a search. Levels count edges: weights are not used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from suricate import hookimpl
from suricate.algorithms.shared.matrices import adjacency
from suricate.algorithms.shared.vertices import FIRST, Sources, source_ids
from suricate.base.html import result_html
from suricate.base.types import EMPTY
from suricate.plugins.algorithm import ID_BYTES, OFFSET_BYTES, Algorithm
from suricate.repair.forest import Forest
from suricate.state.frontier import Frontier

if TYPE_CHECKING:
    from suricate.base.devices import Array, ReturnedArray
    from suricate.graph import Graph
    from suricate.graph.delta import Delta
    from suricate.plugins.step import Step
    from suricate.state.words import Words

LEVEL_BYTES = 4
# A repair on a graph divided among GPUs costs this many times as much, relative to a search: each step is an exchange.
# After insertions of 0.4 % of R-MAT 26 it took 17 ms on two H200, where one took 2 and a search of both takes 9.
DIVIDED = 8.0


class BFSResult(NamedTuple):
    """``level``: int32[n]; ``parent``: int64[n], that of the source is itself. Both are -1 at unreached vertices."""

    level: ReturnedArray
    parent: ReturnedArray

    def _repr_html_(self) -> str:
        return result_html(self)


def one_further(u, v, w, words, source):
    """Return the offer of ``u`` to ``v``: the level of ``u`` in ``words`` plus 1, and ``u`` as parent.

    ``source`` is not read.
    """
    return words.level[u] + 1, u


def unreached(v, words, source):
    """Return the initial level and parent of ``v``: 0 and ``v`` if that is ``source``, else ``EMPTY`` (unreached).

    ``words`` is not read.
    """
    if v == source:
        return 0, v
    return EMPTY, EMPTY


def unreached_from_several(v, words, sources):
    """Return the initial level and parent of ``v``: 0 and ``v`` if the mask ``sources`` has it, else ``EMPTY``."""
    if sources[v] != 0:
        return 0, v
    return EMPTY, EMPTY


class BFS(Algorithm):
    """Levels and parents of all vertices reachable from ``source`` along out-edges (all edges if undirected).

    The result is a :class:`BFSResult`. With several ``sources`` the level is the number of edges from the nearest of
    them. The parent of a vertex is the smallest of its in-neighbours whose level is smaller by 1. From scratch: O(n +
    m). An update costs the sum of the degrees of the vertices that change, and of those below deleted tree edges that
    find another parent; without in-edges a deletion takes one pass over all edges.

    Args:
        source: id of a vertex.
        sources: ids of several vertices, in place of ``source``.

    Raises:
        ParameterError: ``source`` is not an integer, ``sources`` is empty, or both are given.
        DTypeError, ShapeError: ``sources`` are not ids.
        VertexRangeError: a source is not a vertex of the graph, or deleted. If it is deleted later, reading a
            tracker's result raises until the vertex is live again.

    Example:
        >>> g = su.Graph.from_coo([0, 1], [1, 2], num_vertices=4, device="cpu")
        >>> g.compute("bfs", source=0).level.tolist()
        [0, 1, 2, -1]
    """

    name = "bfs"
    uses_weights = False
    pointers = ("parent",)
    suites = ("algorithms", "crossover", "demo", "short", "replay", "stream", "scaling")
    update_kind: ClassVar[str] = "dynamic"
    recompute_share, learns = 0.01, True

    def __init__(self, source: int = FIRST, sources: Any = None) -> None:
        self.sources = Sources("bfs", source, sources)
        self._forest: Forest | None = None
        self._roots: Frontier | None = None

    def compute(self, graph: Graph) -> None:
        """Search from the sources from scratch."""
        self.sources.demand(graph)
        self._search(graph)

    def _search(self, graph: Graph) -> None:
        if self._forest is None or self._roots is None or self._forest.words.device != graph.device:
            tree = graph.words(keys={"level": "uint32"}, payload={"parent": "uint32"})
            restart = unreached_from_several if self.sources.several else unreached
            self._forest = graph.forest(tree, one_further, restart, args=(self.sources.argument(graph),), uniform=True)
            self._roots = self.sources.frontier(graph)
        self.sources.resize(graph, self._forest)
        self._forest.compute(graph, self._roots)

    def update(self, graph: Graph, delta: Delta) -> None:
        """Repair the levels and parents that deletions invalidated, and continue the search from inserted edges."""
        self.sources.note(graph)
        forest, deleted, inserted = (
            self._forest,
            delta.arcs("deleted", placed=True),
            delta.arcs("inserted", placed=True),
        )
        each = DIVIDED if graph.partition is not None and graph.device.is_cuda and graph.has_in_edges else 1.0
        if forest is None or self.should_recompute(graph, deleted, inserted, times=each, each=each):
            self.recomputes()
            self._search(graph)
            return
        self.sources.resize(graph, forest)
        forest.repair(graph, deleted, inserted)

    @property
    def result(self) -> BFSResult:
        """The current levels and parents, in new arrays."""
        return self._answer(None)

    def at(self, vertices: Array) -> BFSResult:
        """Return the levels and parents of ``vertices`` (ids, ``int64[k]``), in the same order."""
        return self._answer(vertices)

    def _answer(self, vertices: Array | None) -> BFSResult:
        self.sources.demand_noted()
        assert self._forest is not None
        return _result_of(self._forest.words if vertices is None else self._forest.words.picked(vertices))

    def event_step(self, graph: Graph) -> Step:
        """Return the compiled loop by which ``suricate.replay`` updates levels and parents event by event."""
        self.sources.demand_noted()
        assert self._forest is not None
        return self._forest.event_step(graph, _result_of)

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
    ) -> BFSResult:
        """Return levels by SciPy's search; the parent is the smallest in-neighbour whose level is smaller by 1."""
        sources = source_ids(params)
        level = levels(adjacency(src, dst, None, num_vertices), sources)
        downward = (level[src] >= 0) & (level[dst] == level[src] + 1)
        parent = np.full(num_vertices, num_vertices, np.int64)
        np.minimum.at(parent, dst[downward], src[downward].astype(np.int64))
        parent[level < 0], parent[sources] = -1, sources
        return BFSResult(level, parent)

    @classmethod
    def sample_params(cls, num_vertices: int, centre: int) -> dict[str, Any]:
        """Return parameters for the benchmark: the source is ``centre``, a vertex that reaches much of the graph."""
        return {"source": centre}

    def traffic(self, graph: Graph) -> int:
        """Return how many bytes are moved at least: out-edges of reached vertices, and two levels for each of these."""
        reached = self.result.level >= 0
        edges = int(graph.degrees()[reached].sum(dtype=np.int64))
        return edges * ID_BYTES + int(reached.sum()) * (OFFSET_BYTES + 2 * LEVEL_BYTES)


def _result_of(tree: Words) -> BFSResult:
    """Return the levels and parents that the words ``tree`` of a forest hold."""
    return BFSResult(tree.level.view(np.int32), tree.ids("parent"))  # EMPTY is -1 in 32 bits


def levels(matrix: Any, sources: np.ndarray) -> np.ndarray:
    """Return the levels in the CSR ``matrix``, int32[n], -1 if unreached, by SciPy's breadth-first order.

    Several sources are searched from one additional vertex that leads to all of them, whose level is not counted.
    """
    from scipy import sparse
    from scipy.sparse import csgraph

    n, above = matrix.shape[0], len(sources) > 1
    first = int(sources[0])
    if above:
        row = sparse.csr_array((np.ones(len(sources)), (np.zeros(len(sources), int), sources)), shape=(1, n))
        matrix, first = sparse.block_array([[matrix, None], [row, sparse.csr_array((1, 1))]], format="csr"), n
    order, parents = csgraph.breadth_first_order(matrix, first)
    position = np.empty(matrix.shape[0], np.int64)
    position[order] = np.arange(len(order))
    parent_at = position[parents[order[1:]]]  # ascending, since the search is breadth first
    result = np.full(matrix.shape[0], -1, np.int32)
    begin, end, level = 0, 1, 0
    while begin < end:
        result[order[begin:end]] = level
        begin, end, level = end, 1 + int(np.searchsorted(parent_at, end)), level + 1
    return np.where(result[:n] > 0, result[:n] - 1, result[:n]).astype(np.int32) if above else result


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Return the algorithm of this module, :class:`BFS`, which registers it as a plugin."""
    return [BFS]
