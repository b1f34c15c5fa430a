"""Minimum spanning forests by operators: Boruvka's rounds over a graph, or over a list of edges.

Forests are :class:`EdgeList` s with ``src < dst``, ascending by both ends, on the graph's device; the weight is None on
an unweighted graph. Every round waits for the device once, to see whether trees have joined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.devices import any_true
from suricate.base.effects import atomic
from suricate.base.types import EMPTY, EdgeList
from suricate.graph.row_copies import copied_rows
from suricate.operators import edge_map

if TYPE_CHECKING:
    from suricate.base.devices import Array
    from suricate.graph import Graph
    from suricate.state.words import Words


def lightest(u, v, w, tree, best):
    """Offer the edge to the tree of ``u`` if it leaves that; ``best`` keeps the lightest of each tree."""
    if tree[u] != tree[v]:
        atomic.min(best, tree[u], (w, min(u, v), max(u, v)))


def lightest_of_both(u, v, w, tree, best):
    """Offer the edge to the trees of both ends: for a list that has it once."""
    if tree[u] != tree[v]:
        atomic.min(best, tree[u], (w, min(u, v), max(u, v)))
        atomic.min(best, tree[v], (w, min(u, v), max(u, v)))


def lightest_old(u, v, w, tree, best, largest, new):
    """As :func:`lightest`, for trees other than that of the vertex ``largest``, and for edges that are not ``new``."""
    if tree[u] != tree[largest] and tree[u] != tree[v] and (u, v) not in new:
        atomic.min(best, tree[u], (w, min(u, v), max(u, v)))


def spanning_forest(graph: Graph) -> EdgeList:
    """Return the minimum spanning forest of ``graph``."""
    with copied_rows(graph):
        return grown(graph, _none(graph), lambda tree, best: edge_map(graph, None, lightest, args=(tree, best)))


def updated(graph: Graph, forest: EdgeList, deleted: EdgeList, inserted: EdgeList, replaced: EdgeList) -> EdgeList:
    """Return the minimum spanning forest after a change that ``graph`` holds; ``forest`` was that before.

    ``deleted``, ``inserted`` and ``replaced``: the changed edges, undirected ones once, with their new weights.
    """
    xp = graph.device.xp
    gone = xp.concatenate([keys_of(deleted), keys_of(replaced)])
    cut = xp.isin(keys_of(forest), gone)
    new = _joined(xp, [_proper(inserted), _proper(replaced)])
    if any_true(cut):
        kept = picked(forest, ~cut)
        ends = xp.concatenate([forest.src[cut], forest.dst[cut]])
        forest = _reconnected(graph, kept, ends, new)
    if not len(new.src):
        return forest
    offered = sorted_edges(_joined(xp, [forest, new]))
    return grown(graph, _none(graph), lambda tree, best: edge_map(graph, offered, lightest_of_both, args=(tree, best)))


def _reconnected(graph: Graph, forest: EdgeList, ends: Array, new: EdgeList) -> EdgeList:
    """Return the minimum spanning forest of the graph without the edges ``new``, of which ``forest`` is a part.

    ``ends``: those of the edges that were cut out. Of the pieces with such ends all but the largest look for edges.
    """
    xp, sets = graph.device.xp, graph.union_find()
    sets.union(forest.src, forest.dst, trusted=True)
    tree = sets.labels()
    size = xp.bincount(tree, minlength=graph.num_vertices)
    largest = int(ends[xp.argmax(size[tree[ends]])])
    is_piece = xp.zeros(graph.num_vertices, bool)
    is_piece[tree[ends]] = True
    is_piece[tree[largest]] = False
    looking = graph.frontier(xp.flatnonzero(is_piece[tree]).astype(np.uint32))
    batch = graph.edge_set(new.src, new.dst)
    return grown(
        graph, forest, lambda tree, best: edge_map(graph, looking, lightest_old, args=(tree, best, largest, batch))
    )


def grown(graph: Graph, forest: EdgeList, offer: Callable[[Array, Words], None]) -> EdgeList:
    """Return ``forest`` with the edges that Boruvka's rounds add to it.

    ``offer(tree, best)`` offers edges to the trees: ``tree`` is the label of each vertex, ``best`` a word per label.
    """
    xp, parts, sets = graph.device.xp, [forest], graph.union_find()
    sets.union(forest.src, forest.dst, trusted=True)
    dtype = graph.weight_dtype
    best = graph.words(keys={"weight": "uint32" if dtype is None else dtype, "low": "uint32", "high": "uint32"})
    none = best.data.copy()
    while True:
        offer(sets.labels(), best)
        low = best.low
        found = xp.flatnonzero(low != EMPTY)
        if not len(found):
            return sorted_edges(_joined(xp, parts)) if len(parts) > 1 else forest
        weight = None if dtype is None else best.weight[found]
        taken = EdgeList(low[found], best.high[found], weight)
        _, first = xp.unique(keys_of(taken), return_index=True)  # both trees may have taken one edge
        taken = picked(taken, first)
        sets.union(taken.src, taken.dst, trusted=True)
        parts.append(taken)
        best.data[...] = none


def keys_of(edges: EdgeList) -> Array:
    """Return a number for each edge, ``uint64[k]``, ascending as the edges are by both ends."""
    return edges.src.astype(np.uint64) << np.uint64(32) | edges.dst.astype(np.uint64)


def sorted_edges(edges: EdgeList) -> EdgeList:
    """Return ``edges`` in ascending order by both ends."""
    return picked(edges, keys_of(edges).argsort())


def picked(edges: EdgeList, which: Any) -> EdgeList:
    """Return the edges at the indices, or in the mask, ``which``."""
    return EdgeList(edges.src[which], edges.dst[which], None if edges.weight is None else edges.weight[which])


def _proper(edges: EdgeList) -> EdgeList:
    return picked(edges, edges.src != edges.dst)


def _joined(xp: Any, parts: list[EdgeList]) -> EdgeList:
    src, dst, weight = zip(*parts, strict=True)
    return EdgeList(xp.concatenate(src), xp.concatenate(dst), None if weight[0] is None else xp.concatenate(weight))


def _none(graph: Graph) -> EdgeList:
    xp, dtype = graph.device.xp, graph.weight_dtype
    return EdgeList(xp.empty(0, np.uint32), xp.empty(0, np.uint32), None if dtype is None else xp.empty(0, dtype))
