"""Truss numbers of edges: the largest ``k`` such that an edge is in the ``k``-truss, of which each edge closes at least
``k - 2`` triangles within it (Cohen, *Trusses: cohesive subgraphs for social network analysis*, 2008).

From scratch on the CPU: the triangles at each edge are counted, and the edge of fewest is taken away, again and again
(Wang and Cheng, *Truss decomposition in massive networks*, 2012). On CUDA all edges of fewest triangles are taken away
at once, in rounds: ``intersect`` finds their triangles over an edge set whose values are the numbers of edges, and 1 is
taken from the supports of the other two; each round waits. So it is done everywhere with ``kernels=False``.

Numbers only fall when edges are deleted. So after a few deletions, on the CPU, the old numbers are lowered, from the
triangles of the deleted edges on, until each edge has the triangles that its number needs. After other changes, or if
that takes long, all is computed from scratch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate import hookimpl
from suricate.base.effects import atomic
from suricate.base.html import result_html
from suricate.base.parameters import flag, integer
from suricate.base.types import EdgeList, edge_keys
from suricate.operators import intersect
from suricate.plugins.algorithm import ID_BYTES, LARGE, Algorithm, Requirements

if TYPE_CHECKING:
    from suricate.base.devices import Array, ReturnedArray
    from suricate.graph import Graph
    from suricate.graph.delta import Delta

FEW = 32  #: deletions from which on all is computed from scratch
SHARE = 8  #: the share of the edges, one in so many, that may be examined before
GONE, HERE, LEAVING = 0, 1, 2


class KTrussResult(NamedTuple):
    """The truss number of every edge but self-loops, each once, with ``src < dst``.

    Attributes:
        src: uint32[m], ascending.
        dst: uint32[m], ascending for each ``src``.
        truss: int32[m], at least 2.
    """

    src: ReturnedArray
    dst: ReturnedArray
    truss: ReturnedArray

    def k_truss(self, k: int) -> EdgeList:
        """Return the edges of the ``k``-truss, those of a number of at least ``k``.

        Raises:
            ParameterError: ``k`` is no integer.
        """
        inside = self.truss >= integer("k", k)
        return EdgeList(self.src[inside], self.dst[inside])

    def _repr_html_(self) -> str:
        return result_html(self)


def leave(i, u, v, x, a, b, ids, state, support):
    """Take 1 from the supports of the edges ``a`` and ``b`` of a triangle that loses edge ``ids[i]``, if it was whole.

    If another of its edges is ``LEAVING`` in the same round, that of the smaller number does it.
    """
    own = ids[i]
    if state[a] != GONE and state[b] != GONE:
        if state[a] == HERE and (state[b] == HERE or own < b):
            atomic.add(support, a, -1)
        if state[b] == HERE and (state[a] == HERE or own < a):
            atomic.add(support, b, -1)


class KTruss(Algorithm):
    """Truss numbers of the edges of an undirected graph, as NetworkX defines ``k_truss``; self-loops are ignored.

    Args:
        kernels: False: by operators only, without the loops of this algorithm.

    Raises:
        ParameterError: ``kernels`` is neither True nor False.

    Example:
        >>> g = su.Graph.from_coo([0, 1, 0, 2], [1, 2, 2, 3], directed=False, device="cpu")
        >>> g.compute("ktruss").truss.tolist()
        [3, 3, 3, 2]
    """

    name = "ktruss"
    uses_weights = False
    requires = Requirements(undirected=True)
    update_kind = "repair"
    divided_kernels = True

    def __init__(self, kernels: bool = True) -> None:
        self.kernels = flag("kernels", kernels)
        self._rows: tuple[np.ndarray, ...] | None = None  # see ``peeling_cpu``, with edges deleted since
        self._src: Array = None
        self._dst: Array = None
        self._truss: Array = None  # int32[m], 0 at edges deleted since

    def compute(self, graph: Graph) -> None:
        """Compute all numbers from scratch."""
        xp, edges = graph.device.xp, graph.edges()
        keys = xp.sort(edge_keys(edges.src, edges.dst)[edges.src != edges.dst])
        self._src, self._dst = (keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32)
        if self.kernels and not graph.device.is_cuda:
            self._rows = _rows(graph.num_vertices, self._src, self._dst)
            self._truss = _peeled(self._rows)
        else:
            self._truss = _by_rounds(graph, self._src, self._dst)

    def update(self, graph: Graph, delta: Delta) -> None:
        """Lower the numbers after a few deletions; compute from scratch after other changes."""
        if self._rows is None or len(delta.inserted.src) or len(delta.deleted.src) > FEW:
            if graph.device.is_cuda or len(delta.inserted.src) or len(delta.deleted.src):
                self.recomputes("truss numbers rise" if self._rows else "by rounds")
                self.compute(graph)
            return
        if len(delta.deleted.src) and not self._lowered(delta.deleted):
            self.recomputes(LARGE)
            self.compute(graph)

    def _lowered(self, deleted: EdgeList) -> bool:
        """Take ``deleted`` edges away, and lower the numbers of others; return False if that would take long."""
        from suricate.algorithms.ktruss.peeling_cpu import lower, take_away

        assert self._rows is not None
        proper = deleted.src != deleted.dst
        ends = np.minimum(deleted.src, deleted.dst)[proper], np.maximum(deleted.src, deleted.dst)[proper]
        gone = np.searchsorted(edge_keys(self._src, self._dst), edge_keys(*ends)).astype(np.int32)
        m = len(self._truss)
        queue, queued = np.empty(m + 1, np.int32), np.zeros(m, bool)
        counts = np.empty(int(self._truss.max(initial=2)) + 1, np.int64)
        take_away(*self._rows, gone, self._truss, queue, queued)
        return lower(*self._rows, self._truss, counts, queue, queued, m // SHARE) >= 0

    @property
    def result(self) -> KTrussResult:
        """The numbers of all edges, in new arrays."""
        held = self._truss > 0
        return KTrussResult(self._src[held], self._dst[held], self._truss[held])

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
    ) -> KTrussResult:
        """Return the numbers by taking edges away from sets of neighbours, without store and operators."""
        keys = np.unique(edge_keys(src, dst)[src < dst])
        edges = list(zip((keys >> np.uint64(32)).tolist(), keys.astype(np.uint32).tolist(), strict=True))
        near: dict[int, set[int]] = {}
        for u, v in edges:
            near.setdefault(u, set()).add(v)
            near.setdefault(v, set()).add(u)
        left, found, k = {(u, v): len(near[u] & near[v]) for u, v in edges}, {}, 2
        leaving = [edge for edge, support in left.items() if support <= k - 2]
        while left:
            while leaving:
                u, v = edge = leaving.pop()
                del left[edge]
                found[edge] = k
                near[u].remove(v)
                near[v].remove(u)
                for x in near[u] & near[v]:
                    for other in ((min(u, x), max(u, x)), (min(v, x), max(v, x))):
                        left[other] -= 1
                        if left[other] == k - 2:
                            leaving.append(other)
            k += 1
            leaving = [edge for edge, support in left.items() if support <= k - 2]
        truss = np.array([found[edge] for edge in edges], np.int32)
        return KTrussResult((keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32), truss)

    def traffic(self, graph: Graph) -> int:
        """Return how many bytes are moved at least: all arcs read twice, a support and a number per edge written."""
        return graph.num_edges * (2 * 2 * ID_BYTES + 2 * 4)


def _rows(num_vertices: int, src: np.ndarray, dst: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return ``offsets``, ``targets``, ``edge``, ``low`` and ``high`` of ``peeling_cpu``; ids are ranks by degree."""
    degrees = np.bincount(src, minlength=num_vertices) + np.bincount(dst, minlength=num_vertices)
    rank = np.empty(num_vertices, np.uint32)
    rank[np.argsort(degrees, kind="stable")] = np.arange(num_vertices, dtype=np.uint32)
    one, two = rank[src], rank[dst]
    low, high, offsets = np.minimum(one, two), np.maximum(one, two), np.zeros(num_vertices + 1, np.int64)
    np.cumsum(np.sort(degrees), out=offsets[1:])
    order = np.argsort(np.concatenate((edge_keys(low, high), edge_keys(high, low))))
    targets = np.concatenate((high, low))[order]
    return offsets, targets, (order % max(len(src), 1)).astype(np.int32), low, high


def _peeled(rows: tuple[np.ndarray, ...]) -> np.ndarray:
    from suricate.algorithms.ktruss.peeling_cpu import count_supports, peel

    offsets, targets, edge, low, _ = rows
    m, n = len(low), len(offsets) - 1
    support = np.zeros(m, np.int32)
    count_supports(offsets, targets, edge, np.zeros(n, np.int64), support, 0, n)
    start = np.zeros(int(support.max(initial=0)) + 2, np.int64)
    peel(*rows, support, np.empty(m, np.int32), np.empty(m, np.int32), start)
    return support


def _by_rounds(graph: Graph, src: Array, dst: Array) -> Array:
    xp, m = graph.device.xp, len(src)
    truss, state = xp.zeros(m, np.int32), xp.full(m, HERE, np.int32)
    if not m:
        return truss
    held = graph.edge_set(src, dst, xp.arange(m, dtype=np.uint32))
    support, k = intersect(held, held, EdgeList(src, dst)), 2
    assert support is not None
    while True:
        ids = xp.flatnonzero((state == HERE) & (support <= k - 2))
        if not len(ids):
            left = support[state == HERE]
            if not len(left):
                return truss
            k = int(left.min()) + 2
            continue
        truss[ids], state[ids] = k, LEAVING
        intersect(held, held, EdgeList(src[ids], dst[ids]), fn=leave, args=(ids, state, support))
        state[ids] = GONE


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Return the algorithm of this package, :class:`KTruss`, which registers it as a plugin."""
    return [KTruss]
