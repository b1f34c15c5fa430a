"""A maximal independent set kept current: no two members are neighbours, every other vertex has a member beside it.

Vertices are ordered by a hash of their ids and the seed, and the set is the greedy one in this order: a vertex belongs
to it unless an earlier neighbour does (Luby, *A simple parallel algorithm for the maximal independent set problem*,
1986, with fixed priorities: Blelloch, Fineman and Shun, *Greedy sequential maximal independent set and matching are
parallel on average*, 2012). From scratch every open vertex examines its neighbours in each round: it is decided once an
earlier one is a member, or all earlier ones are decided. O(log^2 n) rounds with high probability, two to three passes
over the edges on R-MAT graphs.

After a change the ends of the changed edges are active first. A vertex whose membership changes activates its
neighbours, and the rounds continue while memberships change. The set
depends on the graph and the parameters only, not on the history. Deleted vertices are no members. Vertices that the set
must contain come first in the order, so they are members unless two of them are neighbours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate import hookimpl
from suricate.algorithms.shared.hash import key_of, mixed
from suricate.algorithms.shared.matrices import adjacency
from suricate.algorithms.shared.vertex_values import resized
from suricate.algorithms.shared.vertices import optional_vertices
from suricate.base.parameters import integer
from suricate.errors import ParameterError
from suricate.operators import converge
from suricate.plugins.algorithm import Algorithm, Requirements, pull_bytes

if TYPE_CHECKING:
    from suricate.base.devices import Array, ReturnedArray
    from suricate.graph import Graph
    from suricate.graph.delta import Delta

STAY, WAKE = 1, 2  #: stay active in the next round; activate the neighbours
MEMBER, OPEN = 1, 2  #: besides 0, what a vertex is from scratch: OPEN until it is decided


def status_before(u, v, w, member, decided, key):
    """Return ``member[u]`` (0, ``MEMBER`` or ``OPEN``) if ``u`` precedes ``v`` by the hash with ``key``, else 0.

    ``decided`` is not read.
    """
    return member[u] if u != v and mixed(u, key) < mixed(v, key) else 0


def judge(v, found, member, decided, key):
    """Write to ``decided[v]`` whether ``v`` is a member: 0 if an earlier neighbour is one, ``OPEN`` if one is open.

    Otherwise it is ``MEMBER``. ``found`` is the bitwise or of the states (0, ``MEMBER`` or ``OPEN``) of all neighbours
    that come before ``v``. Returns ``STAY`` if ``v`` is still open, else 0. ``member`` and ``key`` are not read.
    """
    decided[v] = 0 if found & MEMBER else OPEN if found else MEMBER
    return STAY if decided[v] == OPEN else 0


def earlier_member(u, v, w, member, decided, key):
    """Return whether ``u`` is a member (``member[u]``) that precedes ``v`` in the order of hashes with ``key``.

    ``decided`` is not read.
    """
    return u != v and member[u] != 0 and mixed(u, key) < mixed(v, key)


def decide(v, taken, member, decided, key):
    """Write to ``decided[v]`` whether ``v`` is a member: 0 if ``taken`` (an earlier neighbour is a member), else 1.

    Returns ``WAKE``, which activates the neighbours, if that differs from ``member[v]``, else 0; ``key`` is not read.
    """
    decided[v] = 1 - taken
    return WAKE if member[v] == taken else 0


def publish(v, member, decided, key):
    """Copy ``decided[v]`` to ``member[v]``, which the neighbours read; ``key`` is not used."""
    member[v] = decided[v]


def ranked_status_before(u, v, w, member, decided, key, rank):
    """Return ``member[u]``, the state of ``u`` (0, ``MEMBER`` or ``OPEN``), if ``u`` precedes ``v``, else 0.

    Vertices of higher ``rank`` come first; of equal ones the vertex with the smaller hash with ``key``. ``decided`` is
    not read.
    """
    if u == v or rank[u] < rank[v]:
        return 0
    return member[u] if rank[u] > rank[v] or mixed(u, key) < mixed(v, key) else 0


def judge_ranked(v, found, member, decided, key, rank):
    """Write to ``decided[v]`` whether ``v`` is a member: 0 if an earlier neighbour is one, or ``rank[v]`` is 0.

    Otherwise it is ``OPEN`` if an earlier neighbour is open, else ``MEMBER``. (Rank 0: ``v`` is deleted.) ``found``
    is the bitwise or of the states (0, ``MEMBER`` or ``OPEN``) of all neighbours that come before ``v``.
    Returns ``STAY`` if ``v`` is still open, else 0. ``member`` and ``key`` are not read.
    """
    decided[v] = 0 if rank[v] == 0 or found & MEMBER else OPEN if found else MEMBER
    return STAY if decided[v] == OPEN else 0


def earlier_ranked_member(u, v, w, member, decided, key, rank):
    """Return whether ``u`` is a member that precedes ``v``: by ``rank`` (higher first), then by hash with ``key``.

    ``decided`` is not read.
    """
    if u == v or member[u] == 0 or rank[u] < rank[v]:
        return False
    return rank[u] > rank[v] or mixed(u, key) < mixed(v, key)


def decide_ranked(v, taken, member, decided, key, rank):
    """Write to ``decided[v]`` whether ``v`` is a member: 0 if ``taken`` (an earlier neighbour is one) or its rank is 0.

    Otherwise it is 1. Returns ``WAKE``, which activates the neighbours, if that differs from ``member[v]``, else 0;
    ``key`` is not read.
    """
    decided[v] = 1 - taken if rank[v] > 0 else 0
    return WAKE if member[v] != decided[v] else 0


def publish_ranked(v, member, decided, key, rank):
    """Copy ``decided[v]`` to ``member[v]``, which the neighbours read; ``key`` and ``rank`` are not used."""
    member[v] = decided[v]


class IndependentSet(Algorithm):
    """A maximal independent set, ``bool[num_vertices]``; edges count in both directions, self-loops are ignored.

    A directed graph needs in-edges.

    Args:
        seed: determines the order of the vertices.
        nodes: ids of vertices that the set must contain.

    Raises:
        ParameterError: ``seed`` is not an integer, ``nodes`` is empty, or two of ``nodes`` are neighbours. If they
            become neighbours later, reading a tracker's result raises as long as they are.
        DTypeError, ShapeError, VertexRangeError: ``nodes`` are not ids of live vertices. If one is deleted later,
            reading a tracker's result raises until the vertex is live again.
        RequirementError: a directed graph without in-edges.

    Example:
        >>> g = su.Graph.from_coo([0, 1, 2], [1, 2, 0], directed=False, device="cpu")
        >>> int(g.compute("independent_set").sum())
        1
    """

    name = "independent_set"
    uses_weights = False
    requires = Requirements(in_edges=True)
    update_kind = "repair"

    def __init__(self, seed: int = 0, nodes: Any = None) -> None:
        self.key = key_of(integer("independent_set: seed", seed))
        self.nodes = optional_vertices("independent_set: nodes", nodes)
        self._graph: Graph | None = None  # the one computed on
        self._member: Array = None
        self._decided: Array = None

    def compute(self, graph: Graph) -> None:
        """Compute the set from scratch: at first all vertices are undecided."""
        self._graph = graph
        if self.nodes is not None:
            self.nodes.demand(graph)
        xp, n, rank = graph.device.xp, graph.num_vertices, self._rank(graph)
        self._member, self._decided = xp.full(n, OPEN, np.uint32), xp.full(n, OPEN, np.uint32)
        functions = (ranked_status_before, judge_ranked, publish_ranked) if rank else (status_before, judge, publish)
        self._look(graph, None, functions, rank, wake=None)

    def update(self, graph: Graph, delta: Delta) -> None:
        """Decide the membership again, first of the ends of changed edges and of deleted and recycled vertices.

        New vertices are members at first.
        """
        xp, n, rank = graph.device.xp, graph.num_vertices, self._rank(graph)
        self._member, self._decided = (resized(xp, array, n, MEMBER) for array in (self._member, self._decided))
        switched = (delta.switched_vertices,) if len(delta.switched_vertices) else ()
        functions = (
            (earlier_ranked_member, decide_ranked, publish_ranked) if rank else (earlier_member, decide, publish)
        )
        first = (delta.edge_set("inserted"), delta.edge_set("deleted"), *switched)
        self._look(graph, first, functions, rank, wake="both")

    def _rank(self, graph: Graph) -> tuple[Array, ...]:
        """Return a tuple of one array, the rank of each vertex, or an empty tuple if all ranks are equal.

        Vertices of higher rank come first in the order. The rank is 2 for ``nodes``, 1 for other live vertices, and 0
        for deleted ones.
        """
        live = (graph.live_arrays.mask,) if graph.most_deleted else ()
        if self.nodes is None:
            return live
        self.nodes.note(graph)
        rank = self.nodes.mask(graph) + np.uint8(1)
        return (rank * live[0],) if live else (rank,)

    def _look(
        self, graph: Graph, frontier: Any, functions: tuple[Any, ...], rank: tuple[Array, ...], *, wake: str | None
    ) -> None:
        fn, then, commit = functions
        arguments = (self._member, self._decided, self.key, *rank)
        converge(graph, frontier, fn, args=arguments, reduce="or", over="both", then=then, commit=commit, wake=wake)

    @property
    def result(self) -> ReturnedArray:
        """Whether each vertex is a member, in a new array; waits for the device if there are ``nodes``."""
        if self.nodes is not None:
            self.nodes.demand_noted()
            self._demand_members(self.nodes.ids)
        return self._member.astype(bool)

    def _demand_members(self, nodes: np.ndarray) -> None:
        """Raise ``ParameterError``, which names two neighbours among ``nodes``, unless all ``nodes`` are members."""
        assert self._graph is not None
        device = self._graph.device
        left_out = nodes[device.to_numpy(self._member[device.xp.asarray(nodes)]) == 0]
        if not len(left_out):
            return
        one, others = int(left_out[0]), nodes[nodes != left_out[0]]
        ends = (np.full_like(others, one), others)
        stored = [device.to_numpy(self._graph.has_edges(*pair)) for pair in (ends, ends[::-1])]
        other = int(others[(stored[0] | stored[1]).argmax()])
        reason = f"independent_set: nodes has {min(one, other)} and {max(one, other)}, which are neighbours"
        raise ParameterError(f"{reason}: no independent set contains both")

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
        seed: int = 0,
        nodes: Any = None,
        live: np.ndarray | None = None,
        **_: Any,
    ) -> np.ndarray:
        """Return the greedy set: it visits ``nodes`` first, then all vertices in the order of their hashes."""
        matrix = adjacency(src, dst, None, num_vertices)
        matrix = (matrix + matrix.T).tocsr()
        order = np.argsort(mixed(np.arange(num_vertices, dtype=np.uint64), np.uint64(key_of(seed))))
        if nodes is not None:
            order = np.concatenate([np.array(nodes), order[~np.isin(order, nodes)]])
        neighbor, begin = matrix.indices.tolist(), matrix.indptr.tolist()
        member = [False] * num_vertices
        for v in order.tolist():
            member[v] = (live is None or live[v]) and not any(member[u] for u in neighbor[begin[v] : begin[v + 1]])
        return np.array(member, bool)

    def traffic(self, graph: Graph) -> int:
        """Return how many bytes one pull at every vertex moves at least."""
        return pull_bytes(graph.num_vertices, graph.num_edges, 4)


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Return the algorithm of this module, :class:`IndependentSet`, which registers it as a plugin."""
    return [IndependentSet]
