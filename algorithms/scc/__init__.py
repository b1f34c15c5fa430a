"""Strongly connected components, computed from scratch after every change: vertices that reach each other.

Forward-backward colouring after trimming (Orzan, *On distributed verification and verified distribution*, 2004;
McLendon et al., *Finding strongly connected components in distributed graphs*, 2005), with the largest component found
first (Slota et al., *BFS and coloring-based parallel algorithms for strongly connected components*, 2014):

1. Trimming repeatedly removes every vertex that has no remaining in-neighbours or no remaining out-neighbours: each is
   a component of its own.
2. The vertices that a pivot with many edges reaches and that also reach it form the component of the pivot.
3. In rounds, every remaining vertex gets the first, in a random order, of all vertices that reach it. The vertices of
   such a region that reach its first vertex form a component with it. Vertices with different firsts cannot share a
   component, so the next round searches within the regions only.

Trimming and the pivot take O(m), a round O(m) per level of the deepest region; usually there are O(log n) rounds.

On an undirected graph these are the connected components. All of it is done by operators. On the CPU, by few threads in
a graph of few edges per vertex, one depth-first search takes its place (``suricate.algorithms.scc.one_search``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate import hookimpl
from suricate.algorithms.shared.hash import key_of, mixed
from suricate.algorithms.shared.live import DeletedCount, deleted_among
from suricate.algorithms.shared.matrices import adjacency
from suricate.base.html import result_html
from suricate.base.types import EMPTY, EdgeList
from suricate.cpu import threads
from suricate.graph.row_copies import rows_of
from suricate.operators import advance, iterate, propagate, vertex_map
from suricate.operators.ahead import compile_ahead
from suricate.plugins.algorithm import Algorithm, Requirements, pull_bytes

if TYPE_CHECKING:
    from suricate.base.devices import Array, Device, ReturnedArray
    from suricate.graph import Graph

KEY = key_of(0)  #: of the random order
SPAN = 1 << 32  #: more than any id
FEW_ARCS = 8  #: with fewer arcs per vertex a search by levels is unlikely to have levels that are worth a pull
FEW_THREADS = 4


def count_others(v, graph, in_degree, towards, away):
    """Write the degrees of ``v`` without self-loops: the in-degree to ``towards[v]``, the out-degree to ``away[v]``.

    ``in_degree`` are the in-degrees in ``graph``, self-loops included.
    """
    loop = 1 if (v, v) in graph else 0
    towards[v] = in_degree[v] - loop
    away[v] = graph.degree(v) - loop


def takes_away(u, v, w, lost, count, root):
    """Return 1, to be added to ``lost[v]``: vertex ``u`` was removed, and ``v`` loses an edge; 0 for a self-loop.

    ``lost``, ``count`` and ``root`` are not read.
    """
    return 1 if u != v else 0


def is_bare(v, count, root):
    """Return whether ``v`` is to be removed: it has no edges in one direction (``count[v]`` is 0), and no ``root`` yet.

    A removed vertex is a component of its own: ``root[v]`` is set to ``v``.
    """
    bare = count[v] == 0 and root[v] == EMPTY
    root[v] = v if bare else root[v]
    return bare


def is_left_bare(v, step, lost, count, root):
    """Return whether ``v`` is to be removed now: it has lost all its edges in one direction, and has no ``root`` yet.

    ``count[v]`` is the number of these edges, ``lost[v]`` how many of them lead to removed vertices. A removed vertex
    is a component of its own: ``root[v]`` is set to ``v``. ``step`` is not read.
    """
    bare = lost[v] == count[v] and root[v] == EMPTY
    root[v] = v if bare else root[v]
    return bare


def heaviest(v, towards, away, root, best):
    """Propose ``v`` as pivot, if it has no ``root`` yet: the largest value added to the scalar ``best`` decides.

    The value is the smaller one of in-degree ``towards[v]`` and out-degree ``away[v]``, times 2**32, plus ``v``.
    """
    if root[v] == EMPTY:
        best.add(min(towards[v], away[v]) * SPAN + v)


def is_pivot(v, towards, away, root, ahead, behind, best):
    """Return whether ``v`` is the pivot that ``best`` names; set ``ahead[v]`` and ``behind[v]`` to 1 if so, else to 0.

    ``ahead`` and ``behind`` mark the vertices that the searches along out-edges and in-edges have reached, which start
    from the pivot. ``best`` is a scalar: the smaller of in-degree ``towards[v]`` and out-degree ``away[v]``, times
    2**32, plus ``v``, of the pivot. Only vertices without a ``root`` (``EMPTY``) can be the pivot.
    """
    own = min(towards[v], away[v]) * SPAN + v
    chosen = root[v] == EMPTY and own == best.value
    ahead[v] = 1 if chosen else 0
    behind[v] = 1 if chosen else 0
    if chosen:
        best.add(own)
    return chosen


def reach(u, v, w):
    """Return 1, the mark of a reached vertex, for ``v``, to which ``u`` has an edge."""
    return 1


def joins_pivot(v, root, ahead, behind, best):
    """Set ``root[v]`` to the pivot, the lower 32 bits of ``best``, if both searches have reached ``v``.

    ``ahead`` and ``behind`` are 1 at the vertices reached along out-edges and in-edges.
    """
    root[v] = best.value & (SPAN - 1) if ahead[v] == 1 and behind[v] == 1 else root[v]


def remains(v, first, region, root, left):
    """Return whether ``v`` has no ``root`` yet, and prepare the next round.

    Copies ``first[v]`` to ``region[v]``, sets ``first[v]`` to the hash of ``v``, and adds 1 to the scalar ``left`` if
    ``v`` has no root.
    """
    region[v] = first[v]
    first[v] = mixed(v, KEY)
    left.add(1 if root[v] == EMPTY else 0)
    return root[v] == EMPTY


def first_of(u, v, w, first, region, root):
    """Return ``first[u]``, the least hash of a vertex that reaches ``u``, as an offer to ``v``.

    Returns ``EMPTY`` if ``v`` has a ``root`` already, or is in another ``region`` than ``u``.
    """
    return first[u] if root[v] == EMPTY and region[u] == region[v] else EMPTY


def is_first(v, first, root):
    """Return whether ``first[v]``, the least hash of a vertex that reaches ``v``, is the hash of ``v``.

    If so, ``root[v]`` is set to ``v``.
    """
    chosen = first[v] == mixed(v, KEY)
    root[v] = v if chosen else root[v]
    return chosen


def root_of(u, v, w, first, root):
    """Return ``root[u]`` as an offer to ``v``, which has an edge to ``u``, if ``first`` is the same for both.

    Returns ``EMPTY`` otherwise, or if ``v`` has a root already.
    """
    return root[u] if root[v] == EMPTY and first[u] == first[v] else EMPTY


def member(u, v, w):
    """Return the id of ``u``, an offer to its root ``v``; the least id offered becomes the label of the component."""
    return u


def _remove(graph: Graph, bare: Any, lost: Array, count: Array, root: Array, onward: str) -> None:
    arguments = (lost, count, root)
    propagate(graph, bare, takes_away, out=lost, args=arguments, reduce="sum", over=onward, then=is_left_bare)


def _reach(graph: Graph, pivot: Any, reached: Array, onward: str) -> None:
    propagate(graph, pivot, reach, out=reached, args=(), reduce="max", over=onward, once="equal")


def _spread(graph: Graph, rest: Any, first: Array, region: Array, root: Array) -> None:
    propagate(graph, rest, first_of, out=first, reduce="min", args=(first, region, root))


def _gather(graph: Graph, roots: Any, first: Array, root: Array) -> None:
    propagate(graph, roots, root_of, out=root, reduce="min", args=(first, root), over="in")


def _compile_ahead(graph: Graph, some: Array, other: Array) -> None:
    """Start to compile the four programs of ``propagate``; the arrays are ``uint32[n]``, any two that differ."""
    before = lambda: _remove(graph, None, some, other, other, "out"), lambda: _reach(graph, None, some, "out")
    rounds = lambda: _spread(graph, None, some, other, other), lambda: _gather(graph, None, some, other)
    compile_ahead(graph, *before)
    compile_ahead(graph, *rounds, repeated=True)


def _is_narrow(graph: Graph) -> bool:
    """Return whether a depth-first search by one CPU thread is likely to be faster than a search by levels."""
    few = not graph.device.is_cuda and threads.limit() <= FEW_THREADS and graph.partition is None
    return few and graph.most_arcs < FEW_ARCS * graph.num_vertices


def _by_one_search(graph: Graph) -> np.ndarray | None:
    """Return the smallest vertex of each component, ``uint32[n]``; None if the rows of ``graph`` cannot be copied."""
    from suricate.algorithms.scc.one_search import search
    from suricate.store.fallbacks import CONTIGUOUS

    view, n = rows_of(graph.view("out")), graph.num_vertices
    if view.cursor != CONTIGUOUS:
        return None
    label, (path, stack) = np.zeros(n, np.uint32), np.empty((2, n), np.uint32)
    search(*view.data[:3], label, path, np.empty(n, np.int64), stack, np.empty(n, np.uint8))
    return label


class SCCResult(NamedTuple):
    """``label`` is uint32[n], the smallest vertex of the component; ``num_components`` is their number, an int.

    A deleted vertex is in no component, and has its own label.
    """

    label: ReturnedArray
    num_components: int

    def _repr_html_(self) -> str:
        return result_html(self)


class StronglyConnectedComponents(Algorithm):
    """Strongly connected components: the sets of vertices that reach each other. A directed graph needs in-edges.

    The result is an :class:`SCCResult`.

    Raises:
        RequirementError: a directed graph without in-edges.

    Example:
        >>> g = su.Graph.from_coo([0, 1, 2], [1, 0, 1], in_edges=True, device="cpu")
        >>> g.compute("scc").label.tolist()
        [0, 0, 2]
    """

    name = "scc"
    uses_weights = False
    groups = "label"
    requires = Requirements(in_edges=True)

    def __init__(self) -> None:
        self._component: Array = None
        self._count: Array = None  # number of components, each deleted vertex one of them; on the device
        self._deleted = DeletedCount()
        self._device: Device = None  # type: ignore[assignment]

    def compute(self, graph: Graph) -> None:
        """Trim the graph, find the component of a pivot, then find all other components in rounds."""
        self._component = _by_one_search(graph) if _is_narrow(graph) else None
        if self._component is None:
            self._component = self._by_operators(graph)
        own = self._component == graph.device.xp.arange(graph.num_vertices, dtype=np.uint32)
        self._count = own.astype(np.int64).sum()  # CuPy brings this sum in machine code, that of bools it compiles
        self._deleted.note(graph)
        self._device = graph.device

    def _by_operators(self, graph: Graph) -> Array:
        root = graph.device.xp.full(graph.num_vertices, EMPTY, np.uint32)
        towards, away = (graph.device.xp.empty(graph.num_vertices, np.uint32) for _ in range(2))
        if self._count is None:  # for the first time
            _compile_ahead(graph, root, towards)
        vertex_map(graph, None, count_others, args=(graph, graph.degrees("in"), towards, away))
        self._trim(graph, root, towards, "out")
        self._trim(graph, root, away, "in")
        self._join_pivot(graph, root, towards, away)
        self._color(graph, root)
        return self._smallest(graph, root)[root]

    def _trim(self, graph: Graph, root: Array, count: Array, onward: str) -> None:
        """Repeatedly remove the vertices without remaining edges in one direction.

        In ``root`` each becomes its own component. ``count`` has the number of edges of each vertex in that direction,
        ``uint32[n]``. ``onward``, ``"out"`` or ``"in"``, is the opposite direction, in which the neighbours of a
        removed vertex lose an edge.
        """
        lost = graph.device.xp.zeros(graph.num_vertices, np.uint32)
        bare = vertex_map(graph, None, is_bare, args=(count, root))
        _remove(graph, bare, lost, count, root, onward)

    def _join_pivot(self, graph: Graph, root: Array, towards: Array, away: Array) -> None:
        """Find the component of a vertex with many edges, usually the largest component, and write it to ``root``.

        ``towards`` and ``away`` are in- and out-degrees without self-loops, ``uint32[n]``.
        """
        xp, n, best = graph.device.xp, graph.num_vertices, graph.scalar("max", "int64")
        ahead, behind = xp.empty(n, np.uint32), xp.empty(n, np.uint32)
        vertex_map(graph, None, heaviest, args=(towards, away, root, best))
        pivot = vertex_map(graph, None, is_pivot, args=(towards, away, root, ahead, behind, best))
        for reached, onward in ((ahead, "out"), (behind, "in")):
            _reach(graph, pivot, reached, onward)
        vertex_map(graph, None, joins_pivot, args=(root, ahead, behind, best))

    def _color(self, graph: Graph, root: Array) -> None:
        """Find the components of the vertices of ``graph`` that have no ``root`` yet, and write them to ``root``."""
        xp, n = graph.device.xp, graph.num_vertices
        first, region = xp.zeros(n, np.uint32), xp.zeros(n, np.uint32)
        left = graph.scalar("sum", "int64")

        def color() -> None:
            rest = vertex_map(graph, None, remains, args=(first, region, root, left))
            _spread(graph, rest, first, region, root)
            roots = vertex_map(graph, rest, is_first, args=(first, root))
            _gather(graph, roots, first, root)

        iterate(color, until=left, max_steps=n + 1)

    def _smallest(self, graph: Graph, root: Array) -> Array:
        """Return the smallest member of the component of each root, ``uint32[n]``; other vertices have ``EMPTY``."""
        xp, n = graph.device.xp, graph.num_vertices
        smallest = xp.full(n, EMPTY, np.uint32)
        unused = None if graph.weight_dtype is None else xp.zeros(n, graph.weight_dtype)
        advance(
            graph, EdgeList(xp.arange(n, dtype=np.uint32), root, unused), member, out=smallest, reduce="min", args=()
        )
        return smallest

    @property
    def result(self) -> SCCResult:
        """The smallest vertex of each component, in a new array, and the number of components; waits for the device."""
        return SCCResult(self._component.copy(), int(self._device.to_numpy(self._count)) - int(self._deleted))

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
    ) -> SCCResult:
        """Return SciPy's components, each labelled by its smallest member."""
        from scipy.sparse import csgraph

        count, component = csgraph.connected_components(adjacency(src, dst, None, num_vertices), connection="strong")
        smallest = np.unique(component, return_index=True)[1].astype(np.uint32)
        return SCCResult(smallest[component], count - deleted_among(live))

    def traffic(self, graph: Graph) -> int:
        """Return how many bytes one pass over all out-edges and one over all in-edges move at least."""
        return 2 * pull_bytes(graph.num_vertices, graph.num_edges, 4)


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Return the algorithm of this module, :class:`StronglyConnectedComponents`, which registers it as a plugin."""
    return [StronglyConnectedComponents]
