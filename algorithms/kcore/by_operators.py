"""Core numbers by operators alone: the specification of this folder's kernels, and what runs with ``kernels=False``.

From scratch, and after deletions: numbers begin at upper bounds, the degrees or the numbers before the batch, and fall
to the h-index of the numbers of the neighbours until they fit (Montresor et al., "Distributed k-core decomposition",
2013). Only neighbours of vertices that fell are examined again.

Insertions: numbers rise by one per round. A round starts from the ends of new edges, later from the vertices that rose
in the round before; candidates are the vertices that these reach on their *level*, the vertices with the same number. A
candidate of number k is dropped if at most k of its neighbours are on higher levels, or on its own level and not
dropped (a peel of the level); the remaining candidates rise. Among vertices that can rise together there is always one
that the round starts from: without a new edge they would have been on the higher level before.

Work of an update: the edges of vertices that fall, and of candidates, once per round; a round of insertions also passes
twice over all vertices, not their edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suricate.operators import converge, iterate, neighbor_reduce, propagate, vertex_map

if TYPE_CHECKING:
    from suricate.base.devices import Array, Device
    from suricate.graph import Graph
    from suricate.state.edges.edge_set import EdgeSet

UNKNOWN, CANDIDATE, DROPPED, END = range(4)  #: states of a vertex in a round of insertions
MOST_ROUNDS = 2**31 - 1


def number_of(u, v, w, core, fresh):
    """Return the smaller of ``core[u]`` and ``core[v]``, which ``u`` offers to ``v``; 0 for a self-loop.

    ``fresh``, the new core numbers, is not read.
    """
    return 0 if u == v else min(core[u], core[v])


def fall(v, value, core, fresh):
    """Write ``value``, the h-index of the offers to ``v``, to ``fresh``; return 2 if it is below ``core[v]``, else 0.

    The return value 2 activates the neighbours of ``v``.
    """
    fresh[v] = value
    return 2 if value < core[v] else 0


def publish(v, core, fresh):
    """Copy the new core number of ``v`` from ``fresh`` to ``core``."""
    core[v] = fresh[v]


def mark_end(v, state):
    """Set the state of ``v``, an end of a new edge, to ``END``."""
    state[v] = END


def begin(v, core, state, started):
    """Raise ``core[v]`` by 1 if the state of ``v`` is ``CANDIDATE``; return whether the next round starts from ``v``.

    A round starts from vertices that have risen, and from ends of new edges (state ``END``): their new state is
    ``CANDIDATE``, and each adds 1 to the scalar ``started``. The new state of all others is ``UNKNOWN``.
    """
    rises = state[v] == CANDIDATE
    core[v] = core[v] + 1 if rises else core[v]
    starts = rises or state[v] == END
    state[v] = CANDIDATE if starts else UNKNOWN
    started.add(1 if starts else 0)
    return starts


def same_level(u, v, w, core, state):
    """Return the state that ``u`` offers to ``v``: ``CANDIDATE`` if ``core[u] == core[v]``, else ``UNKNOWN``."""
    return CANDIDATE if core[u] == core[v] else UNKNOWN


def is_candidate(v, state):
    """Return whether the state of ``v`` is ``CANDIDATE``: its core number may rise."""
    return state[v] == CANDIDATE


def holds(u, v, w, core, state, left):
    """Return 1 if ``u``, a neighbour of ``v``, counts for ``v``: ``core[u] >= core[v]``, and no self-loop; else 0.

    ``state`` and ``left`` are not read.
    """
    return 1 if u != v and core[u] >= core[v] else 0


def lacks(v, value, core, state, left):
    """Write ``value``, the number of neighbours that count for ``v``, to ``left[v]``; return whether ``v`` is dropped.

    ``v`` is dropped if ``value`` is not above ``core[v]``. Sets ``state[v]`` to ``DROPPED`` or ``CANDIDATE``.
    """
    left[v] = value
    few = value <= core[v]
    state[v] = DROPPED if few else CANDIDATE
    return few


def lets_go(u, v, w, core, state, left):
    """Return -1, to be added to ``left[v]``, if the dropped neighbour ``u`` has the core number of ``v``; else 0.

    ``u`` no longer counts for ``v``. Returns 0 for a self-loop. ``state`` and ``left`` are not read.
    """
    return -1 if u != v and core[u] == core[v] else 0


def has_lost(v, step, core, state, left):
    """Set the state of candidate ``v`` to ``DROPPED`` if at most ``core[v]`` neighbours, ``left[v]``, still count.

    Returns whether ``v`` was dropped; ``propagate`` then continues from it. ``step`` is not read.
    """
    few = state[v] == CANDIDATE and left[v] <= core[v]
    state[v] = DROPPED if few else state[v]
    return few


class CoreNumbersByOperators:
    """The core numbers of one graph; ``core`` is ``uint32[num_vertices]``.

    A directed graph needs in-edges. Its arcs count at both ends, so two arcs between the same vertices count twice.
    """

    def __init__(self, device: Device) -> None:
        self.core: Array = device.xp.empty(0, np.uint32)
        self._state: Array = device.xp.empty(0, np.uint32)  # UNKNOWN between updates
        self._fresh: Array = device.xp.empty(0, np.uint32)
        self._left: Array = device.xp.empty(0, np.int64)

    def compute(self, graph: Graph) -> None:
        """Compute all core numbers from scratch."""
        self._grow(graph)
        self.core[...] = graph.degrees() + graph.degrees("in") if graph.directed else graph.degrees()
        self._lower(graph, None)

    def update(self, graph: Graph, deleted: EdgeSet, inserted: EdgeSet) -> bool:
        """Bring ``core`` up to date after edges were deleted and inserted; ``graph`` holds both changes already.

        Returns True: nothing was computed from scratch. Waits for the device on CUDA.
        """
        self._grow(graph)
        if deleted.size:
            self._lower(graph, deleted)
        if inserted.size:
            self._raise(graph, inserted)
        return True

    def _lower(self, graph: Graph, ends: EdgeSet | None) -> None:
        over, wake = ("both", "both") if graph.directed else ("in", "out")
        args = (self.core, self._fresh)
        converge(graph, ends, number_of, args=args, reduce="hindex", over=over, then=fall, commit=publish, wake=wake)

    def _raise(self, graph: Graph, inserted: EdgeSet) -> None:
        core, state = self.core, self._state
        over, back = ("both", "both") if graph.directed else ("out", "in")
        started, args = graph.scalar("sum", "int64"), (core, state, self._left)

        def rise() -> None:
            start = vertex_map(graph, None, begin, args=(core, state, started))
            propagate(graph, start, same_level, out=state, args=(core, state), reduce="max", over=over)
            region = vertex_map(graph, None, is_candidate, args=(state,))
            dropped = neighbor_reduce(graph, region, holds, args=args, reduce="sum", over=back, then=lacks)
            propagate(graph, dropped, lets_go, out=self._left, args=args, reduce="sum", over=over, then=has_lost)

        vertex_map(graph, inserted, mark_end, args=(state,))
        iterate(rise, until=started, max_steps=MOST_ROUNDS)

    def _grow(self, graph: Graph) -> None:
        """Add entries for new vertices of ``graph``, without edges, to the arrays."""
        missing, xp = graph.num_vertices - len(self.core), graph.device.xp
        if missing:
            none = xp.zeros(missing, np.uint32)
            self.core, self._state = xp.concatenate([self.core, none]), xp.concatenate([self._state, none])
            self._fresh, self._left = xp.empty_like(self.core), xp.empty(graph.num_vertices, np.int64)
