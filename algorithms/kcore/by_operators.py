"""Core numbers by operators alone: the specification of this folder's kernels, and what runs with ``kernels=False``.

From scratch, and after deletions: numbers begin at upper bounds, the degrees or the numbers before the batch, and fall
to the h-index of the numbers of the neighbours until they fit (Montresor et al., "Distributed k-core decomposition",
2013). Only neighbours of vertices that fell are asked again.

Insertions: numbers rise by one per round. Candidates are the ends of new edges, later the vertices that rose in the
round before, and neighbours of candidates on the same level. A candidate is dropped while no more than its number of
neighbours are on higher levels, or on its own and not dropped; what is left rises. Any set of vertices that can rise
together has a member among those that a round starts from: without a new edge it would have been there before.

Work of an update: the edges of vertices that fall, and of candidates, once per round; a round of insertions also passes
over all vertices, not their edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suricate.operators import converge, iterate, vertex_map
from suricate.state.scalar import Scalar

if TYPE_CHECKING:
    from suricate.base.devices import Array, Device
    from suricate.graph import Graph
    from suricate.state.edges.edge_set import EdgeSet

UNKNOWN, START, CANDIDATE, DROPPED = range(4)  #: states of a vertex in a round of insertions
NEXT_TO_CANDIDATE = 1 << 32  #: what a neighbour that is a candidate on the same level counts beside 1
MOST_ROUNDS = 2**31 - 1


def number_of(u, v, w, core, fresh):
    """Offer the number of ``u``, as far as it is not above that of ``v``."""
    return 0 if u == v else min(core[u], core[v])


def fall(v, value, core, fresh):
    """Note what fits ``v``; whoever falls wakes its neighbours."""
    fresh[v] = value
    return 2 if value < core[v] else 0


def publish(v, core, fresh):
    """Make what was noted the number of ``v``."""
    core[v] = fresh[v]


def mark_end(v, state):
    """Let the first round start from ``v``, the end of a new edge."""
    state[v] = START


def begin(v, core, state, started):
    """Raise ``v`` if it was left a candidate, and return whether the round starts from it."""
    rises = state[v] == CANDIDATE
    core[v] = core[v] + 1 if rises else core[v]
    starts = rises or state[v] == START
    state[v] = START if starts else UNKNOWN
    started.add(1 if starts else 0)
    return starts


def support(u, v, w, core, state, fresh):
    """Count ``u`` if it may be above the number of ``v`` after the round."""
    if u == v or core[u] < core[v] or (core[u] == core[v] and state[u] == DROPPED):
        return 0
    return 1 + NEXT_TO_CANDIDATE if core[u] == core[v] and state[u] == CANDIDATE else 1


def judge(v, value, core, state, fresh):
    """Make ``v`` a candidate or drop it, if it starts or is next to a candidate; a change wakes its neighbours."""
    asked = state[v] == START or state[v] == CANDIDATE or (state[v] == UNKNOWN and value >= NEXT_TO_CANDIDATE)
    enough = value % NEXT_TO_CANDIDATE > core[v]
    fresh[v] = (CANDIDATE if enough else DROPPED) if asked else state[v]
    return 2 if fresh[v] != state[v] else 0


def publish_state(v, core, state, fresh):
    """Make what was noted the state of ``v``."""
    state[v] = fresh[v]


class CoreNumbersByOperators:
    """The core numbers of one undirected graph; ``core`` is ``uint32[num_vertices]``."""

    def __init__(self, device: Device) -> None:
        self.core: Array = device.xp.empty(0, np.uint32)
        self._state: Array = device.xp.empty(0, np.uint32)  # UNKNOWN between updates
        self._fresh: Array = device.xp.empty(0, np.uint32)

    def compute(self, graph: Graph) -> None:
        """Compute from scratch."""
        self._grow(graph)
        self.core[...] = graph.degrees()
        self._lower(graph, None)

    def update(self, graph: Graph, deleted: EdgeSet, inserted: EdgeSet) -> bool:
        """Bring the numbers up to date; ``graph`` holds the change already. Returns True, and on CUDA waits."""
        self._grow(graph)
        if deleted.size:
            self._lower(graph, deleted)
        if inserted.size:
            self._raise(graph, inserted)
        return True

    def _lower(self, graph: Graph, ends: EdgeSet | None) -> None:
        args = (self.core, self._fresh)
        converge(graph, ends, number_of, args=args, reduce="hindex", then=fall, commit=publish)

    def _raise(self, graph: Graph, inserted: EdgeSet) -> None:
        started, args = Scalar("sum", "int64", graph), (self.core, self._state, self._fresh)

        def rise() -> None:
            start = vertex_map(graph, None, begin, args=(self.core, self._state, started))
            converge(graph, start, support, args=args, reduce="sum", then=judge, commit=publish_state)

        vertex_map(graph, inserted, mark_end, args=(self._state,))
        iterate(rise, until=started, max_steps=MOST_ROUNDS)

    def _grow(self, graph: Graph) -> None:
        """Add vertices without edges."""
        missing, xp = graph.num_vertices - len(self.core), graph.device.xp
        if missing:
            none = xp.zeros(missing, np.uint32)
            self.core, self._state = xp.concatenate([self.core, none]), xp.concatenate([self._state, none])
            self._fresh = xp.empty_like(self.core)
