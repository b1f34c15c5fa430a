"""Components by operators alone: the specification of this folder's kernels, and what runs with ``kernels=False``.

From scratch the ends of every edge are united, after insertions the ends of the new edges. A deletion may divide a
component, so a batch with deletions is computed from scratch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from suricate.base.effects import unite
from suricate.operators import edge_map

if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.state.edges.edge_set import EdgeSet
    from suricate.state.union_find import UnionFind


def join(u, v, w, sets):
    """Unite the components of both ends of an edge, ``u`` and ``v``, in the union-find ``sets``."""
    unite(sets, u, v)


def connect(graph: Graph, sets: UnionFind, edges: EdgeSet | None = None) -> None:
    """Unite in ``sets`` the ends of ``edges``, by default of all edges of ``graph``; does not wait."""
    edge_map(graph, edges, join, args=(sets,))
