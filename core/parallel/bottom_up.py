"""Bottom-up steps of a propagation on several ranks: vertices look for a neighbour in the frontier.

For propagations in which a value is final once a step has altered it, and all offers to a vertex in one step are equal
except for their sender (Beamer, Asanovic and Patterson 2012). Each rank searches the rows of its unaltered vertices for
the smallest neighbour in the frontier and applies its offer. No other rank makes offers to them, so changes are
collected without comparison.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from suricate import operators
from suricate.base.types import EMPTY, ArcList
from suricate.parallel.arguments import frontier_of
from suricate.store.fallbacks import degrees

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.parallel.pushes import Push

PULL_FROM = 64  #: a step pulls if the frontier has more than one in ``PULL_FROM`` of all vertices,
SHRUNK = 4  #: at least one in ``SHRUNK`` of the number in the frontier before,
DEARER = 4  #: and the rows to search have at most ``DEARER`` times its arcs (a push needs atomics)
WORD = 32  #: vertices per word of a bitmap


class BottomUp:
    """Decides for each step of a propagation whether to pull, the same on all ranks, and makes the pull steps."""

    def __init__(self, push: Push) -> None:
        self._push, self._part, self._graph, self._xp = push, push.part, push.graph, push.part.xp
        self._back = "in" if push.over == "out" else "out"
        self._altered = self._xp.zeros(self._graph.num_vertices, bool)  # by the steps so far
        self._before = 0  # vertices of the frontier before
        self.pulled = 0  #: steps that pulled

    @staticmethod
    def of(push: Push, *, uniform: bool) -> BottomUp | None:
        """Return the object for the propagation ``push``; None if its steps can only push.

        ``uniform``: True if offers do not depend on weights.
        """
        whole, graph = push.part.graph, push.graph
        if not whole.has_in_edges or push.over == "both" or not (uniform or graph.weight_dtype is None):
            return None
        if push.asking.first.edges or push.totals.counts_calls:
            return None
        return BottomUp(push)

    def note(self, changed: Array) -> None:
        """Record the vertices that a step changed: later pulls do not compute them again."""
        self._altered[changed] = True

    def step(self, ids: Array) -> Array | None:
        """Pull from the frontier ``ids``, ascending; return the next frontier, or None if the step must push instead.

        Collective if the frontier is large enough for a pull.
        """
        before, self._before = self._before, len(ids)
        if not before or len(ids) * PULL_FROM <= self._graph.num_vertices or len(ids) * SHRUNK < before:
            return None
        part = self._part
        looking = part.own[~self._altered[part.own]]
        arcs = self._arcs(part.owned(ids), self._push.over), self._arcs(looking, self._back)
        pushed, looked = map(sum, zip(*part.comm.allgather(arcs), strict=True))
        if looked > DEARER * pushed:
            return None
        self.pulled += 1
        return self._taken(*self._found(ids, looking))

    def _arcs(self, ids: Array, over: str) -> int:
        return int(degrees(self._graph.view(over), self._graph.device, ids).sum(dtype=np.int64))

    def _found(self, ids: Array, looking: Array) -> tuple[Array, Array]:
        """Return the vertices in ``looking`` with neighbours in the frontier ``ids``, and the smallest of each."""
        xp, n = self._xp, self._graph.num_vertices
        mask = xp.zeros(-(-n // WORD) * WORD, bool)
        mask[ids] = True
        bits = xp.packbits(mask, bitorder="little").view(np.uint32)
        least = operators.neighbor_reduce(
            self._graph, frontier_of(self._graph, looking), source_in if self._back == "in" else target_in,
            args=(bits,), reduce="min", over=self._back, dtype=np.uint32,
        )  # fmt: skip
        has = least != EMPTY
        return looking[has], least[has]

    def _taken(self, mine: Array, neighbors: Array) -> Array:
        """Apply the offer of ``neighbors[i]`` to ``mine[i]``, in place; return the next frontier of all ranks."""
        push, xp, comm, dtype = self._push, self._xp, self._part.comm, self._graph.weight_dtype
        data, old = push.data, push.data[mine]
        weight = None if dtype is None else xp.ones(len(mine), dtype)
        push.args = push.asking.of()
        push.local(ArcList(neighbors, mine, weight, None, 0, len(mine)), push.out, "auto")
        new = data[mine]
        differs = (new != old).any(axis=1) if data.ndim > 1 else new != old
        ids, values = comm.joined(mine[differs]), comm.joined(new[differs])
        was = data[ids]
        was[self._part.owns(ids)] = old[differs]  # where ``data`` is new already
        data[ids] = values
        changed = push.joining(ids, values, was)
        return changed if self._part.ownership.is_ranges else xp.sort(changed)


def source_in(u, v, w, bits):
    """Return ``u`` if its bit is set in ``bits``, a bitmap of vertices (uint32), else EMPTY; ignore ``v`` and ``w``."""
    if (bits[u >> 5] >> (u & 31)) & 1 != 0:
        return u
    return EMPTY


def target_in(u, v, w, bits):
    """Return ``v`` if its bit is set in ``bits``, a bitmap of vertices (uint32), else EMPTY; ignore ``u`` and ``w``."""
    if (bits[v >> 5] >> (v & 31)) & 1 != 0:
        return v
    return EMPTY
