"""Scheme ``"updated"``, what both devices share: where the edges inserted since the mark are to be found.

Before the first mark every edge counts as inserted, as in ``Graph.updated``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from suricate.cursors.contiguous import view_of_edges
from suricate.types import EdgeList, StoreView

if TYPE_CHECKING:
    from suricate.graph import Graph

EVERYTHING, ITERATOR, LISTED = "everything", "iterator", "listed"


def source_of(graph: Graph, over: str, iterates: bool) -> str:
    """Return how to find the edges inserted since the mark.

    Args:
        graph: the graph.
        over: whose edges: of the ``"out"`` or the ``"in"`` store.
        iterates: whether the cursor of that store has an updated-edges iterator.

    Returns:
        ``EVERYTHING`` (there is no mark: an ordinary pass), ``ITERATOR`` (of the cursor) or ``LISTED``
        (``Store.updated``).
    """
    if not graph.store(over).has_mark:
        return EVERYTHING
    return ITERATOR if iterates else LISTED


def inserted_view(graph: Graph, over: str) -> StoreView:
    """Return what was inserted since the mark as a graph of its own, to be walked like any other; waits on CUDA."""
    edges, xp = graph.store(over).updated(), graph.device.xp
    order = xp.argsort(edges.src, kind="stable")
    ordered = EdgeList(*(None if part is None else part[order] for part in edges))
    return view_of_edges(ordered, graph.num_vertices, xp)
