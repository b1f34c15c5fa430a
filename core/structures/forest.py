"""The dependence forest: every vertex holds a word (keys, parent), and deleted edges are repaired around the change.

Breadth-first search, shortest paths and connected components are least fixpoints of offers along edges: a vertex has
the smallest word (keys first, then the parent's id) that a neighbour offers it, and that neighbour is its parent. The
parents form a forest. What depends on a deleted edge is what lies below it, and most of that can be explained by
another neighbour. The repair is that of Ramalingam and Reps ("An incremental algorithm for a generalization of the
shortest-path problem", 1996) and of KickStarter's trimming (Vora et al., 2017), as one launch on CUDA:

1. Children across deleted tree edges, or tree edges whose weight rose, are suspects. A suspect survives if another
   neighbour offers exactly its keys; the one with the smallest id becomes its parent. Else it is invalid, and its
   children, those who adopted it as parent in the same round among them, are the next suspects.
2. Invalid vertices start anew from ``restart(v)``, take the best offer of their neighbours, inserted edges make theirs,
   and what changed propagates.

Work: the degrees of suspects and of what changes. Without in-edges (directed graphs) nobody can be asked for another
explanation: the subtrees below deleted tree edges are invalid, and one pass over all edges makes the offers.

Keys must grow strictly along edges: the keys of an offer are above those of the vertex that makes it. An offer that
breaks this is dropped and noted (:attr:`Forest.violated`), so that no loop runs forever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from suricate.devices import Array
    from suricate.graph import Graph


class Forest:
    """Words that depend on each other along the edges of a graph, kept at their least fixpoint.

    Args:
        words: ``Words`` with one entry per vertex. The last payload field is ``parent`` (uint32): the vertex whose
            offer was taken, the vertex itself for a root, ``EMPTY`` where nothing reaches, which offers nothing.
        offer: edge function ``(u, v, w, words, *args) -> tuple``: what ``u`` offers ``v``: all fields of a word in
            order, the parent being ``u``.
        restart: function ``(v, words, *args) -> tuple``: the word that an invalid vertex starts anew with:
            unreached (parent ``EMPTY``), or a root of its own (parent ``v``).
        args: further arguments of both.

    No method waits for the device.
    """

    def __init__(
        self,
        words: Any,
        offer: Callable[..., Any],
        restart: Callable[..., Any],
        *,
        args: tuple[Any, ...] = (),
    ) -> None:
        self.words, self.offer, self.restart, self.args = words, offer, restart, args

    def compute(self, graph: Graph, roots: Any) -> None:
        """Propagate from ``roots`` (ids, a frontier, None for all), whose words are set, until nothing changes."""
        raise NotImplementedError

    def repair(self, graph: Graph, deleted: Any = None, inserted: Any = None, replaced: Any = None) -> None:
        """Bring the words up to date with arcs that were deleted, inserted, or got a new weight.

        ``graph`` already holds the change. Each is an ``EdgeSet``, an ``EdgeList`` (both arcs of an undirected edge) or
        None; no arc is in two of them. ``replaced`` has the new weights.
        """
        raise NotImplementedError

    @property
    def violated(self) -> Array:
        """``uint32[1]`` on the device: not 0 if an offer's keys were not above those of the vertex that made it."""
        raise NotImplementedError
