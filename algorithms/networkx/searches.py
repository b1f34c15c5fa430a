"""Searches by number of edges: paths, levels, trees, descendants.

The functions have the parameters and results of NetworkX's functions of the same name. ``cutoff`` and ``depth_limit``
are the largest number of edges of a path that counts; None: any. ``sort_neighbors`` must be None.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np

from suricate.algorithms.networkx._trees import FIRST, FROM_3_5, NEAREST, QUEUED, Tree, each_tree, levels
from suricate.networkx.arguments import absent
from suricate.networkx.converted import Converted
from suricate.networkx.functions import served

BOTH = f"{FIRST}; {NEAREST}"
TREE = f"{FIRST}; {QUEUED}"


def _search(graph: Converted, source: Any, absent: str = "Source {} is not in G", *, towards: bool = False) -> Tree:
    """Return the tree of a breadth-first search from ``source``, or with ``towards`` of paths that lead to it."""
    if source not in graph:
        raise nx.NodeNotFound(absent.format(source))
    return levels(graph, graph.index[source], towards=towards)


def _traverse(graph: Converted, source: Any, *, towards: bool = False, depth: Any = None) -> Tree:
    """Return the tree of a search from ``source`` (``towards``: to it), at most ``depth`` edges deep."""
    if source not in graph:
        raise nx.NetworkXError(f"The node {source} is not in the {'digraph' if graph.is_directed() else 'graph'}.")
    return levels(graph, graph.index[source], towards=towards).within_steps(depth)


@served("bfs", cost="linear", part=("cutoff",), note=NEAREST)
def single_source_shortest_path_length(G: Converted, source: Any, cutoff: Any = None) -> dict[Any, int]:
    """Return the number of edges from ``source`` to each node that is reached within ``cutoff``."""
    return _search(G, source).within_steps(cutoff).distances(G)


@served("bfs", cost="linear", note=BOTH, part=("cutoff",))
def single_source_shortest_path(G: Converted, source: Any, cutoff: Any = None) -> dict[Any, list[Any]]:
    """Return a path of fewest edges from ``source`` to each node that is reached within ``cutoff``."""
    return _search(G, source, "Source {} not in G").within_steps(cutoff).paths(G)


@served("bfs", cost="linear", part=("cutoff",), note=NEAREST)
def single_target_shortest_path_length(G: Converted, target: Any, cutoff: Any = None) -> Any:
    """Return the number of edges to ``target`` from each node that reaches it within ``cutoff``.

    The result is a dict; before NetworkX 3.5 an iterator of pairs.
    """
    found = _search(G, target, "Target {} is not in G", towards=True).within_steps(cutoff).distances(G)
    return found if FROM_3_5 else iter(found.items())


@served("bfs", cost="linear", note=BOTH, part=("cutoff",))
def single_target_shortest_path(G: Converted, target: Any, cutoff: Any = None) -> dict[Any, list[Any]]:
    """Return a path of fewest edges to ``target`` from each node that reaches it within ``cutoff``."""
    return _search(G, target, "Target {} not in G", towards=True).within_steps(cutoff).paths(G)


@served("bfs", cost="heavy", part=("cutoff",), note=NEAREST)
def all_pairs_shortest_path_length(G: Converted, cutoff: Any = None) -> Iterator[tuple[Any, dict]]:
    """Yield each node with a dict of the numbers of edges to the nodes that it reaches within ``cutoff``."""
    for node, tree in each_tree(G, None):
        yield node, tree.within_steps(cutoff).distances(G)


@served("bfs", cost="heavy", note=BOTH, part=("cutoff",))
def all_pairs_shortest_path(G: Converted, cutoff: Any = None) -> Iterator[tuple[Any, dict]]:
    """Yield each node with a dict of paths to the nodes that it reaches within ``cutoff``."""
    for node, tree in each_tree(G, None):
        yield node, tree.within_steps(cutoff).paths(G)


@served("bfs", cost="local", note=FIRST)
def bidirectional_shortest_path(G: Converted, source: Any, target: Any) -> list[Any]:
    """Return a path of fewest edges from ``source`` to ``target``, a list of nodes."""
    for kind, node in (("Source", source), ("Target", target)):
        if node not in G:
            raise nx.NodeNotFound(f"{kind} {node} is not in G")
    tree = _search(G, source)
    if not tree.reaches(G.index[target]):
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return tree.path(G, G.index[target])


@served("bfs", cost="local")
def has_path(G: Converted, source: Any, target: Any) -> bool:
    """Return whether a path leads from ``source`` to ``target``."""
    if target not in G and source in G:
        raise nx.NodeNotFound(f"Target {target} is not in G")
    return _search(G, source).reaches(G.index[target])


@served("bfs", cost="linear", note=QUEUED)
def predecessor(
    G: Converted,
    source: Any,
    target: Any = None,
    cutoff: Any = None,
    return_seen: Any = None,
) -> Any:
    """Return the predecessors on shortest paths from ``source``, lists by node, or the list of ``target`` only.

    With ``return_seen`` also the levels, a dict by node, or that of ``target``. As in NetworkX, ``cutoff`` is at least
    1; 0 stands for None.
    """
    tree = _search(G, source, "Source {} not in G")
    tree = tree.within_steps(max(cutoff, 1)) if cutoff else tree
    order, place = tree.in_search_order(), np.full(len(G.nodes), -1, np.int64)
    place[order] = np.arange(len(order))
    src, dst, _, _ = G.arcs()
    level = tree.distance
    used = (place[src] >= 0) & (place[dst] >= 0) & (level[dst] == level[src] + 1)
    src, dst = src[used], dst[used]
    ordered = np.lexsort((place[src], place[dst]))
    found: dict[Any, list[Any]] = {node: [] for node in G.nodes_of(order)}
    for above, below in zip(G.nodes_of(src[ordered]), G.nodes_of(dst[ordered]), strict=True):
        found[below].append(above)
    seen = tree.distances(G)
    if target is None:
        return (found, seen) if return_seen else found
    return (found.get(target, []), seen.get(target, -1)) if return_seen else found.get(target, [])


# -- traversals --------------------------------------------------------------------------------------------------------

UNSORTED = {"sort_neighbors": absent}


def _edges(graph: Converted, source: Any, *, towards: bool = False, depth: Any = None) -> Iterator[tuple[Any, Any]]:
    tree = _traverse(graph, source, towards=towards, depth=depth)
    below = tree.in_search_order()[1:]
    return zip(graph.nodes_of(tree.parent[below]), graph.nodes_of(below), strict=True)


@served("bfs", cost="linear", limits=UNSORTED, note=TREE, part=("depth_limit",))
def bfs_edges(
    G: Converted,
    source: Any,
    reverse: bool = False,
    depth_limit: Any = None,
    sort_neighbors: Any = None,
) -> Iterator[tuple[Any, Any]]:
    """Yield the edges, parent first, of a tree of fewest edges from ``source``, at most ``depth_limit`` deep.

    ``reverse``: follow edges backwards.
    """
    yield from _edges(G, source, towards=bool(reverse), depth=depth_limit)


@served("bfs", cost="linear", limits=UNSORTED, note=TREE, part=("depth_limit",))
def bfs_tree(
    G: Converted,
    source: Any,
    reverse: bool = False,
    depth_limit: Any = None,
    sort_neighbors: Any = None,
) -> nx.DiGraph:
    """Return a tree of fewest edges from ``source``, at most ``depth_limit`` deep, as a graph of NetworkX.

    ``reverse``: follow edges backwards.
    """
    tree = nx.DiGraph()
    tree.add_node(source)
    tree.add_edges_from(_edges(G, source, towards=bool(reverse), depth=depth_limit))
    return tree


@served("bfs", cost="linear", limits=UNSORTED, note=TREE, part=("depth_limit",))
def bfs_predecessors(
    G: Converted,
    source: Any,
    depth_limit: Any = None,
    sort_neighbors: Any = None,
) -> Iterator[tuple[Any, Any]]:
    """Yield each reached node except ``source`` with its parent in a tree of fewest edges."""
    for above, below in _edges(G, source, depth=depth_limit):
        yield below, above


@served("bfs", cost="linear", limits=UNSORTED, note=TREE, part=("depth_limit",))
def bfs_successors(
    G: Converted,
    source: Any,
    depth_limit: Any = None,
    sort_neighbors: Any = None,
) -> Iterator[tuple[Any, list[Any]]]:
    """Yield ``source``, and each node that has children in a tree of fewest edges, with the list of its children."""
    parent, children = source, list[Any]()
    for above, below in _edges(G, source, depth=depth_limit):
        if above != parent:
            yield parent, children
            parent, children = above, []
        children.append(below)
    yield parent, children


@served("bfs", cost="linear", note=NEAREST)
def bfs_layers(G: Converted, sources: Any) -> Iterator[list[Any]]:
    """Yield a list of nodes for each distance from ``sources``, a node or several (then from the nearest one)."""
    sources = list({sources} if sources in G else set(sources))
    if not sources:
        return
    tree = levels(G, [G.index[source] for source in sources])
    yield sources
    bounds = np.searchsorted(tree.distance[tree.order], np.arange(1, int(tree.distance[tree.order[-1]]) + 2)).tolist()
    for begin, end in pairwise(bounds):
        yield G.nodes_of(tree.order[begin:end])


@served("bfs", cost="local")
def descendants_at_distance(G: Converted, source: Any, distance: Any) -> set[Any]:
    """Return the nodes that are exactly ``distance`` edges from ``source``."""
    if source not in G:
        raise nx.NetworkXError(f"The node {source} is not in the graph.")
    tree = levels(G, G.index[source])
    return set(G.nodes_of(tree.order[tree.distance[tree.order] == distance]))


@served("bfs", cost="linear")
def descendants(G: Converted, source: Any) -> set[Any]:
    """Return the nodes that ``source`` reaches, without itself."""
    return set(G.nodes_of(_traverse(G, source).order[1:]))


@served("bfs", cost="linear")
def ancestors(G: Converted, source: Any) -> set[Any]:
    """Return the nodes that reach ``source``, without itself."""
    return set(G.nodes_of(_traverse(G, source, towards=True).order[1:]))
