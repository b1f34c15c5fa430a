"""Minimum spanning forest kept current: Boruvka's algorithm, and repairs around what changed.

Edges are compared by ``(weight, smaller end, larger end)``, so that no two are equal: there is one minimum spanning
forest, the same on every backend, device and number of processes, whatever the history.

From scratch (Boruvka 1926): in each round every tree takes the lightest edge that leaves it, found in one pass over the
edges; trees at least halve in number (``suricate.algorithms.msf.by_operators``).

An update first takes deleted edges, and those with another weight, out of the forest. Of the pieces of a tree that is
cut, the smaller ones look for the lightest edge that leaves them, among edges that the batch has not brought. Then the
edges of the batch are offered: one that joins two trees is taken; one within a tree replaces the heaviest edge on the
path between its ends if that is heavier (Tarjan's red rule). On the CPU a rooted forest is kept for that
(``suricate.algorithms.msf.rooted_forest_cpu``): an insertion walks from both ends towards the root, a deletion visits
the edges of the smaller piece. On CUDA, on graphs of several processes and with ``kernels=False`` operators do the
same: the last step is then Boruvka's algorithm over the forest and the edges of the batch, so that an update with
insertions also passes over the forest, and one with deletions over all vertices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate import hookimpl
from suricate.algorithms.msf import by_operators
from suricate.algorithms.msf.rooted_forest import RootedForest
from suricate.base.html import result_html
from suricate.base.parameters import flag
from suricate.plugins.algorithm import ID_BYTES, Algorithm, Requirements

if TYPE_CHECKING:
    from suricate.base.devices import ReturnedArray
    from suricate.base.types import EdgeList
    from suricate.graph import Graph
    from suricate.graph.delta import Delta


class MSFResult(NamedTuple):
    """The edges of the minimum spanning forest, ``src < dst``, ascending by both.

    Attributes:
        src: uint32[k].
        dst: uint32[k].
        weight: their weights, of the dtype of the graph's; int64 ones if it has none.
        total: the sum of the weights, a float.
    """

    src: ReturnedArray
    dst: ReturnedArray
    weight: ReturnedArray
    total: float

    def _repr_html_(self) -> str:
        return result_html(self)


class MSF(Algorithm):
    """The minimum spanning forest of an undirected graph: a minimum spanning tree of each component.

    Without weights all edges weigh 1. Self-loops, and edges whose weight is NaN, are never in the forest. Of edges of
    equal weight the one with the smaller first end is lighter, then that with the smaller second end (``src <
    dst``). From scratch: O(m log n). An update costs, per inserted edge, the way from its ends to where these meet in
    the forest, and per deleted edge of the forest the edges of the smaller piece; else nothing.

    Args:
        kernels: False: updates on the CPU are made by operators only, too.

    Raises:
        ParameterError: ``kernels`` is neither True nor False.

    Example:
        >>> g = su.Graph.from_coo([0, 1, 0], [1, 2, 2], [1.0, 2.0, 3.0], directed=False, device="cpu")
        >>> g.compute("msf").weight.tolist()
        [1.0, 2.0]
    """

    name = "msf"
    requires = Requirements(undirected=True)
    update_kind = "dynamic"
    divided = "updates pass over the forest and all vertices, as with `kernels=False`"
    recompute_share = 0.02
    recompute_share_on_cpu = 0.1
    learns = True

    def __init__(self, kernels: bool = True) -> None:
        self.kernels = flag("kernels", kernels)
        self._edges: EdgeList | None = None  # of the forest; None: only the rooted forest has them
        self._rooted: RootedForest | None = None  # after the first update on the CPU

    def compute(self, graph: Graph) -> None:
        """Compute the forest from scratch."""
        self._graph, self._rooted = graph, None
        self._edges = by_operators.spanning_forest(graph)

    def update(self, graph: Graph, delta: Delta) -> None:
        """Repair the forest after deletions and other weights, then offer the new edges."""
        if self.should_recompute(graph, *map(delta.edge_set, ("deleted", "inserted", "replaced"))):
            self.compute(graph)
            return
        self._graph, lists = graph, (delta.deleted, delta.inserted, delta.replaced)
        if not self.kernels or graph.device.is_cuda or graph.partition is not None:
            assert self._edges is not None
            self._edges = by_operators.updated(graph, self._edges, *lists)
            return
        if self._rooted is None:
            self._rooted = RootedForest(graph, self._edges)
        self._rooted.update(graph, *lists)
        self._edges = None

    @property
    def result(self) -> MSFResult:
        """The edges of the forest, in new arrays, and their total weight; waits for the device."""
        xp = self._graph.device.xp
        if self._edges is None:
            assert self._rooted is not None
            self._edges = self._rooted.edges(self._graph)
        src, dst, weight = self._edges
        weight = xp.ones(len(src), np.int64) if weight is None else weight.copy()
        return MSFResult(src.copy(), dst.copy(), weight, float(weight.sum(dtype=np.float64)))

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
        **_: Any,
    ) -> MSFResult:
        """Return SciPy's minimum spanning tree for the ranks of the edges, which are all different."""
        from scipy import sparse
        from scipy.sparse import csgraph

        once = src < dst if weight is None else (src < dst) & (weight == weight)
        src, dst, weight = src[once], dst[once], np.ones(once.sum(), np.int64) if weight is None else weight[once]
        order = np.lexsort((dst, src, weight))
        rank = np.empty(len(src))
        rank[order] = np.arange(1, len(src) + 1)
        tree = csgraph.minimum_spanning_tree(sparse.csr_array((rank, (src, dst)), shape=(num_vertices,) * 2))
        taken = order[tree.data.astype(np.int64) - 1]
        taken = taken[np.lexsort((dst[taken], src[taken]))]
        return MSFResult(src[taken], dst[taken], weight[taken], float(weight[taken].sum(dtype=np.float64)))

    def traffic(self, graph: Graph) -> int:
        """Return how many bytes are moved at least: all arcs and their weights, read once."""
        return 2 * graph.num_edges * (ID_BYTES + (0 if graph.weight_dtype is None else graph.weight_dtype.itemsize))


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Return the algorithm of this module, :class:`MSF`, which registers it as a plugin."""
    return [MSF]
