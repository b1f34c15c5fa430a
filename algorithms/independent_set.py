"""A maximal independent set kept current: no two members are neighbours, every other vertex has a member beside it.

Vertices are ordered by a hash of their ids and the seed, and the set is the greedy one in this order: a vertex belongs
to it unless an earlier neighbour does (Luby, *A simple parallel algorithm for the maximal independent set problem*,
1986, with fixed priorities: Blelloch, Fineman and Shun, *Greedy sequential maximal independent set and matching are
parallel on average*, 2012). In each round every active vertex examines its neighbours; a vertex whose membership
changes activates them. O(log^2 n) rounds with high probability.

After a change the ends of the changed edges are active first, and the rounds continue while memberships change. The set
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
    from suricate.base.devices import Array
    from suricate.graph import Graph
    from suricate.graph.delta import Delta

WAKE = 2  #: activate the neighbours


def earlier_member(u, v, w, member, decided, key):
    """Return whether ``u`` is a member that comes before ``v``."""
    return u != v and member[u] != 0 and mixed(u, key) < mixed(v, key)


def decide(v, taken, member, decided, key):
    """Record whether ``v`` is a member; activate its neighbours if that changed."""
    decided[v] = 1 - taken
    return WAKE if member[v] == taken else 0


def publish(v, member, decided, key):
    """Publish the decision to the neighbours."""
    member[v] = decided[v]


def earlier_live_member(u, v, w, member, decided, key, live):
    """Return whether ``u``, which is live as it has an edge, is a member that comes before ``v``."""
    return u != v and member[u] != 0 and mixed(u, key) < mixed(v, key)


def decide_live(v, taken, member, decided, key, live):
    """Record whether ``v`` is a member, which it must be live for; activate its neighbours if that changed."""
    decided[v] = 1 - taken if live[v] else 0
    return WAKE if member[v] != decided[v] else 0


def publish_live(v, member, decided, key, live):
    """Publish the decision to the neighbours."""
    member[v] = decided[v]


def earlier_ranked_member(u, v, w, member, decided, key, rank):
    """Return whether ``u`` is a member that comes before ``v``: by rank, then by hash."""
    if u == v or member[u] == 0 or rank[u] < rank[v]:
        return False
    return rank[u] > rank[v] or mixed(u, key) < mixed(v, key)


def decide_ranked(v, taken, member, decided, key, rank):
    """Record whether ``v`` is a member; one of rank 0 is deleted. Activate its neighbours if that changed."""
    decided[v] = 1 - taken if rank[v] > 0 else 0
    return WAKE if member[v] != decided[v] else 0


def publish_ranked(v, member, decided, key, rank):
    """Publish the decision to the neighbours."""
    member[v] = decided[v]


class IndependentSet(Algorithm):
    """A maximal independent set, ``bool[num_vertices]``; edges count in both directions, self-loops do not.

    A directed graph needs in-edges.

    Args:
        seed: determines the order of the vertices.
        nodes: ids of vertices that the set must contain.

    Raises:
        ParameterError: ``seed`` is not an integer, ``nodes`` is empty, or two of ``nodes`` are neighbours. A tracker
            raises the latter when its result is read, until they are no neighbours.
        DTypeError, ShapeError, VertexRangeError: ``nodes`` are not ids of live vertices. A tracker of which one is
            deleted raises it when its result is read, until the vertex is live again.
        RequirementError: a directed graph without in-edges.
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
        """Start with all vertices active."""
        self._graph = graph
        if self.nodes is not None:
            self.nodes.demand(graph)
        xp, n = graph.device.xp, graph.num_vertices
        self._member, self._decided = xp.ones(n, np.uint32), xp.ones(n, np.uint32)
        self._look(graph, None)

    def update(self, graph: Graph, delta: Delta) -> None:
        """Start with the ends of changed edges, and what was deleted or recycled; new vertices are members at first."""
        xp, n = graph.device.xp, graph.num_vertices
        self._member, self._decided = (resized(xp, array, n, 1) for array in (self._member, self._decided))
        switched = (delta.switched_vertices,) if len(delta.switched_vertices) else ()
        self._look(graph, (delta.edges("inserted"), delta.edges("deleted"), *switched))

    def _look(self, graph: Graph, frontier: Any) -> None:
        functions: tuple[Any, ...] = (earlier_member, decide, publish)
        arguments: tuple[Any, ...] = (self._member, self._decided, self.key)
        if self.nodes is not None:
            self.nodes.note(graph)
            functions = (earlier_ranked_member, decide_ranked, publish_ranked)
            rank = self.nodes.mask(graph) + np.uint8(1)
            arguments = (*arguments, rank * graph.live_arrays.mask if graph.most_deleted else rank)
        elif graph.most_deleted:
            functions = (earlier_live_member, decide_live, publish_live)
            arguments = (*arguments, graph.live_arrays.mask)
        fn, then, commit = functions
        converge(graph, frontier, fn, args=arguments, reduce="or", over="both", then=then, commit=commit, wake="both")

    @property
    def result(self) -> Array:
        """Whether each vertex is a member, in a new array; waits for the device if there are ``nodes``."""
        if self.nodes is not None:
            self.nodes.demand_noted()
            self._demand_members(self.nodes.ids)
        return self._member.astype(bool)

    def _demand_members(self, nodes: np.ndarray) -> None:
        """Raise ``ParameterError`` unless all of ``nodes`` are members, since two of them are neighbours."""
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
        """Take the vertices one by one: ``nodes`` first, then in the order of the hashes."""
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
        """Return the bytes of one pull at every vertex."""
        return pull_bytes(graph.num_vertices, graph.num_edges, 4)


@hookimpl
def suricate_algorithms() -> list[type[Algorithm]]:
    """Offer a maximal independent set."""
    return [IndependentSet]
