"""Shortest paths by weight, and what is defined by all distances: eccentricity, efficiency, averages.

The functions have the parameters and results of NetworkX's functions of the same name. ``weight`` (or ``distance``) is
the edge attribute with the lengths of edges; None: all edges count 1. ``cutoff`` is the
largest distance that counts as reached; None: any. ``usebounds`` and ``method`` (``"dijkstra"``, ``"bellman-ford"``)
make no difference. No weight may be negative.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import networkx as nx
import numpy as np

from suricate.algorithms.networkx._trees import FIRST, FROM_3_5, NEAREST, Tree, each_tree, levels, lightest
from suricate.algorithms.networkx.searches import BOTH, bidirectional_shortest_path
from suricate.networkx.arguments import absent, named
from suricate.networkx.converted import Converted
from suricate.networkx.functions import served
from suricate.networkx.table import Shares

WEIGHT = {"weight": named}


def _tree(graph: Converted, source: Any, weight: Any, *, towards: bool = False) -> Tree:
    if source not in graph:
        raise nx.NodeNotFound(f"Node {source} not found in graph")
    return lightest(graph, graph.index[source], weight, towards=towards)


def _one(graph: Converted, tree: Tree, target: Any, message: str) -> tuple[Any, list[Any]]:
    """Return distance and path of the node ``target`` in ``tree``."""
    vertex = graph.index[target] if target in graph else None
    if vertex is None or not tree.reaches(vertex) or vertex not in tree.order:
        raise nx.NetworkXNoPath(message)
    return tree.distance[vertex].item(), tree.path(graph, vertex)


# -- Dijkstra ----------------------------------------------------------------------------------------------------------


def _several(graph: Converted, sources: Iterable[Any], cutoff: Any, weight: Any) -> Tree:
    if not sources:
        raise ValueError("sources must not be empty")
    for source in sources:
        if source not in graph:
            raise nx.NodeNotFound(f"Node {source} not found in graph")
    roots = [graph.index[source] for source in dict.fromkeys(sources)]
    return lightest(graph, roots if len(roots) > 1 else roots[0], weight).within(cutoff)


@served("sssp", cost="linear", limits=WEIGHT, part=("cutoff",), note=BOTH)
def multi_source_dijkstra(
    G: Converted,
    sources: Any,
    target: Any = None,
    cutoff: Any = None,
    weight: Any = "weight",
) -> tuple[Any, Any]:
    """Return distances and paths from the nearest of ``sources``, two dicts by node, or those of ``target`` only."""
    tree = _several(G, sources, cutoff, weight)
    if target is None:
        return tree.distances(G), tree.paths(G)
    return (0, [target]) if target in sources else _one(G, tree, target, f"No path to {target}.")


@served("sssp", cost="linear", limits=WEIGHT, part=("cutoff",), note=BOTH)
def multi_source_dijkstra_path(
    G: Converted,
    sources: Any,
    cutoff: Any = None,
    weight: Any = "weight",
) -> dict[Any, list[Any]]:
    """Return a path from the nearest of ``sources`` to each node that is reached within ``cutoff``."""
    return _several(G, sources, cutoff, weight).paths(G)


@served("sssp", cost="linear", limits=WEIGHT, part=("cutoff",), note=NEAREST)
def multi_source_dijkstra_path_length(
    G: Converted,
    sources: Any,
    cutoff: Any = None,
    weight: Any = "weight",
) -> dict[Any, Any]:
    """Return the distance from the nearest of ``sources`` to each node that is reached within ``cutoff``."""
    return _several(G, sources, cutoff, weight).distances(G)


@served("sssp", cost="linear", limits=WEIGHT, part=("cutoff",), note=BOTH)
def single_source_dijkstra(
    G: Converted,
    source: Any,
    target: Any = None,
    cutoff: Any = None,
    weight: Any = "weight",
) -> tuple[Any, Any]:
    """Return distances and paths from ``source``, two dicts by node, or those of ``target`` only."""
    return multi_source_dijkstra(G, {source}, target=target, cutoff=cutoff, weight=weight)


@served("sssp", cost="linear", limits=WEIGHT, part=("cutoff",), note=BOTH)
def single_source_dijkstra_path(
    G: Converted,
    source: Any,
    cutoff: Any = None,
    weight: Any = "weight",
) -> dict[Any, list[Any]]:
    """Return a path from ``source`` to each node that is reached within ``cutoff``."""
    return _tree(G, source, weight).within(cutoff).paths(G)


@served("sssp", cost="linear", limits=WEIGHT, part=("cutoff",), note=NEAREST)
def single_source_dijkstra_path_length(
    G: Converted,
    source: Any,
    cutoff: Any = None,
    weight: Any = "weight",
) -> dict[Any, Any]:
    """Return the distance from ``source`` to each node that is reached within ``cutoff``."""
    return _tree(G, source, weight).within(cutoff).distances(G)


@served("sssp", cost="linear", limits=WEIGHT, note=FIRST)
def dijkstra_path(G: Converted, source: Any, target: Any, weight: Any = "weight") -> list[Any]:
    """Return a shortest path from ``source`` to ``target`` by ``weight``, a list of nodes."""
    return _one(G, _tree(G, source, weight), target, f"No path to {target}.")[1]


@served("sssp", cost="linear", limits=WEIGHT)
def dijkstra_path_length(G: Converted, source: Any, target: Any, weight: Any = "weight") -> Any:
    """Return the distance from ``source`` to ``target`` by ``weight``."""
    return _one(G, _tree(G, source, weight), target, f"Node {target} not reachable from {source}")[0]


@served("sssp", cost="local", limits=WEIGHT, note=FIRST)
def bidirectional_dijkstra(
    G: Converted,
    source: Any,
    target: Any,
    weight: Any = "weight",
) -> tuple[Any, list[Any]]:
    """Return the distance from ``source`` to ``target`` by ``weight``, and a shortest path."""
    for kind, node in (("Source", source), ("Target", target)):
        if node not in G:
            raise nx.NodeNotFound(f"{kind} {node} is not in G")
    return _one(G, _tree(G, source, weight), target, f"No path between {source} and {target}.")


@served("sssp", cost="heavy", limits=WEIGHT, part=("cutoff",), note=BOTH)
def all_pairs_dijkstra(
    G: Converted,
    cutoff: Any = None,
    weight: Any = "weight",
) -> Iterator[tuple[Any, tuple[dict, dict]]]:
    """Yield each node with two dicts: distances and paths to the nodes that it reaches within ``cutoff``."""
    for node, tree in each_tree(G, weight):
        near = tree.within(cutoff)
        yield node, (near.distances(G), near.paths(G))


@served("sssp", cost="heavy", limits=WEIGHT, part=("cutoff",), note=NEAREST)
def all_pairs_dijkstra_path_length(
    G: Converted,
    cutoff: Any = None,
    weight: Any = "weight",
) -> Iterator[tuple[Any, dict]]:
    """Yield each node with a dict of distances to the nodes that it reaches within ``cutoff``."""
    for node, tree in each_tree(G, weight):
        yield node, tree.within(cutoff).distances(G)


@served("sssp", cost="heavy", limits=WEIGHT, part=("cutoff",), note=BOTH)
def all_pairs_dijkstra_path(
    G: Converted,
    cutoff: Any = None,
    weight: Any = "weight",
) -> Iterator[tuple[Any, dict]]:
    """Yield each node with a dict of paths to the nodes that it reaches within ``cutoff``."""
    for node, tree in each_tree(G, weight):
        yield node, tree.within(cutoff).paths(G)


# -- Bellman and Ford, with the same answers where no weight is negative -----------------------------------------------


def _found_by_bellman_ford(graph: Converted, source: Any, weight: Any) -> Tree:
    if source not in graph:
        raise nx.NodeNotFound(f"Source {source} not in G")
    return _tree(graph, source, weight)


@served("sssp", cost="linear", limits=WEIGHT, note=BOTH)
def single_source_bellman_ford(
    G: Converted,
    source: Any,
    target: Any = None,
    weight: Any = "weight",
) -> tuple[Any, Any]:
    """Return distances and paths from ``source``, two dicts by node, or those of ``target`` only."""
    tree = _found_by_bellman_ford(G, source, weight)
    if target is None:
        return tree.distances(G), tree.paths(G)
    return _one(G, tree, target, f"Target {target} cannot be reached from given sources")


@served("sssp", cost="linear", limits=WEIGHT, note=BOTH)
def single_source_bellman_ford_path(
    G: Converted,
    source: Any,
    weight: Any = "weight",
) -> dict[Any, list[Any]]:
    """Return a path from ``source`` to each node that is reached."""
    return _found_by_bellman_ford(G, source, weight).paths(G)


@served("sssp", cost="linear", limits=WEIGHT, note=NEAREST)
def single_source_bellman_ford_path_length(
    G: Converted,
    source: Any,
    weight: Any = "weight",
) -> dict[Any, Any]:
    """Return the distance from ``source`` to each node that is reached."""
    return _found_by_bellman_ford(G, source, weight).distances(G)


@served("sssp", cost="linear", limits=WEIGHT, note=FIRST)
def bellman_ford_path(G: Converted, source: Any, target: Any, weight: Any = "weight") -> list[Any]:
    """Return a shortest path from ``source`` to ``target`` by ``weight``, a list of nodes."""
    return single_source_bellman_ford(G, source, target, weight)[1]


@served("sssp", cost="linear", limits=WEIGHT)
def bellman_ford_path_length(G: Converted, source: Any, target: Any, weight: Any = "weight") -> Any:
    """Return the distance from ``source`` to ``target`` by ``weight``."""
    return _one(G, _found_by_bellman_ford(G, source, weight), target, f"node {target} not reachable from {source}")[0]


@served("sssp", cost="heavy", limits=WEIGHT, note=NEAREST)
def all_pairs_bellman_ford_path_length(
    G: Converted,
    weight: Any = "weight",
) -> Iterator[tuple[Any, dict]]:
    """Yield each node with a dict of distances to the nodes that it reaches."""
    for node, tree in each_tree(G, weight):
        yield node, tree.distances(G)


@served("sssp", cost="heavy", limits=WEIGHT, note=BOTH)
def all_pairs_bellman_ford_path(G: Converted, weight: Any = "weight") -> Iterator[tuple[Any, dict]]:
    """Yield each node with a dict of paths to the nodes that it reaches."""
    for node, tree in each_tree(G, weight):
        yield node, tree.paths(G)


# -- by weight or by number of edges -----------------------------------------------------------------------------------


def _check_method(method: Any) -> None:
    if method not in ("dijkstra", "bellman-ford"):
        raise ValueError(f"method not supported: {method}")


def _from_or_to(graph: Converted, source: Any, target: Any, weight: Any, method: str) -> Tree:
    """Return the tree of paths from ``source``, or towards ``target`` if there is no source."""
    root, towards = (target, True) if source is None else (source, False)
    if root not in graph and (weight is None or method != "dijkstra"):
        raise nx.NodeNotFound(f"Source {root} not in G")
    return _tree(graph, root, weight, towards=towards)


@served("bfs", "sssp", cost="linear", limits=WEIGHT, part=("source", "target"), note=BOTH)
def shortest_path(
    G: Converted,
    source: Any = None,
    target: Any = None,
    weight: Any = None,
    method: str = "dijkstra",
) -> Any:
    """Return a path from ``source`` to ``target``, a list of nodes; if one of both is None, a dict of paths by node.

    If both are None, the result has a pair for each node: the node, and a dict of paths to other nodes. It is an
    iterator, before NetworkX 3.5 a dict.
    """
    _check_method(method)
    if source is None and target is None:
        found = ((node, tree.paths(G)) for node, tree in each_tree(G, weight))
        return found if FROM_3_5 else dict(found)
    if source is None or target is None:
        return _from_or_to(G, source, target, weight, method).paths(G)
    if weight is None:
        return bidirectional_shortest_path(G, source, target)
    if method == "dijkstra":
        return bidirectional_dijkstra(G, source, target, weight)[1]
    return bellman_ford_path(G, source, target, weight)


@served("bfs", "sssp", cost="linear", limits=WEIGHT, part=("source", "target"), note=NEAREST)
def shortest_path_length(
    G: Converted,
    source: Any = None,
    target: Any = None,
    weight: Any = None,
    method: str = "dijkstra",
) -> Any:
    """Return the distance from ``source`` to ``target``; if one of both is None, a dict of distances by node.

    If both are None, the result is an iterator over pairs: a node, and a dict of distances to other nodes.
    """
    _check_method(method)
    if source is None and target is None:
        return ((node, tree.distances(G)) for node, tree in each_tree(G, weight))
    if source is None or target is None:
        if weight is None and (target if source is None else source) not in G:
            raise nx.NodeNotFound(f"Source {target if source is None else source} is not in G")
        return _from_or_to(G, source, target, weight, method).distances(G)
    if weight is None:
        return len(bidirectional_shortest_path(G, source, target)) - 1
    if method == "dijkstra":
        return dijkstra_path_length(G, source, target, weight)
    return bellman_ford_path_length(G, source, target, weight)


# -- all distances -----------------------------------------------------------------------------------------------------


def _single_source(method: Any) -> str | None:
    known = (None, "unweighted", "dijkstra", "bellman-ford")
    return None if method in known else f"the methods served are {', '.join(map(str, known[1:]))}"


@served("bfs", "sssp", cost="heavy", limits={**WEIGHT, "method": _single_source})
def average_shortest_path_length(G: Converted, weight: Any = None, method: Any = None) -> float:
    """Return the mean distance over all pairs of nodes; ``method`` ``"unweighted"`` ignores ``weight``."""
    n = len(G)
    if n == 0:
        raise nx.NetworkXPointlessConcept("the null graph has no paths, thus there is no average shortest path length")
    if n == 1:
        return 0
    used = None if method == "unweighted" else weight
    total = 0
    for _, tree in each_tree(G, used):
        if len(tree.order) < n:
            kind = "strongly connected" if G.is_directed() else "connected"
            raise nx.NetworkXError(f"Graph is not {kind}.")
        total += tree.distance[tree.order].sum().item()
    return total / (n * (n - 1))


def _eccentricities(graph: Converted, vertices: np.ndarray, weight: Any) -> dict[Any, Any]:
    found = {}
    for vertex in vertices.tolist():
        tree = lightest(graph, vertex, weight, keep=False)
        if len(tree.order) != len(graph):
            why = "digraph is not strongly connected" if graph.is_directed() else "graph is not connected"
            raise nx.NetworkXError(f"Found infinite path length because the {why}")
        found[graph.nodes[vertex]] = tree.distance[tree.order[-1]].item()
    return found


@served("bfs", "sssp", cost="heavy", limits={**WEIGHT, "sp": absent}, part=("v",))
def eccentricity(G: Converted, v: Any = None, sp: Any = None, weight: Any = None) -> Any:
    """Return the distance from a node to the farthest one: of the node ``v``, or a dict for several nodes or all.

    ``v`` is a node, several nodes or None (all); ``sp``, known distances, must be None.
    """
    if v is not None and v in G:
        return _eccentricities(G, np.array([G.index[v]]), weight)[v]
    return _eccentricities(G, G.all_vertices() if v is None else G.vertices(v), weight)


def _every(graph: Converted, given: Any, weight: Any) -> dict[Any, Any]:
    return _eccentricities(graph, graph.all_vertices(), weight) if given is None else given


@served("bfs", "sssp", cost="heavy", limits=WEIGHT)
def diameter(G: Converted, e: Any = None, usebounds: bool = False, weight: Any = None) -> Any:
    """Return the largest eccentricity; ``e``: known eccentricities by node, in place of computing them."""
    return max(_every(G, e, weight).values())


@served("bfs", "sssp", cost="heavy", limits=WEIGHT)
def radius(G: Converted, e: Any = None, usebounds: bool = False, weight: Any = None) -> Any:
    """Return the smallest eccentricity; ``e``: known eccentricities by node, in place of computing them."""
    return min(_every(G, e, weight).values())


@served("bfs", "sssp", cost="heavy", limits=WEIGHT)
def center(G: Converted, e: Any = None, usebounds: bool = False, weight: Any = None) -> list[Any]:
    """Return the nodes of smallest eccentricity; ``e``: known eccentricities by node, in place of computing them."""
    found = _every(G, e, weight)
    least = min(found.values())
    return [node for node, value in found.items() if value == least]


@served("bfs", "sssp", cost="heavy", limits=WEIGHT)
def periphery(G: Converted, e: Any = None, usebounds: bool = False, weight: Any = None) -> list[Any]:
    """Return the nodes of largest eccentricity; ``e``: known eccentricities by node, in place of computing them."""
    found = _every(G, e, weight)
    most = max(found.values())
    return [node for node, value in found.items() if value == most]


@served("bfs", cost="heavy", directed=False)
def global_efficiency(G: Converted) -> float:
    """Return the mean of the reciprocal distances over all pairs of nodes."""
    n, total = len(G), 0.0
    for vertex in G.all_vertices().tolist() if n > 1 else ():
        tree = levels(G, vertex, keep=False)
        total += float((1 / tree.distance[tree.order[1:]]).sum())
    return total / (n * (n - 1)) if n > 1 else 0


@served("bfs", "sssp", cost="heavy", limits={"distance": named}, part=("nbunch",))
def harmonic_centrality(
    G: Converted,
    nbunch: Any = None,
    distance: Any = None,
    sources: Any = None,
) -> dict[Any, float]:
    """Return the sum of the reciprocal distances from ``sources`` (None: all nodes) to each node of ``nbunch``, a dict.

    ``nbunch`` is a node, several nodes or None (all).
    """
    wanted, begin = _distinct(G, nbunch), _distinct(G, sources)
    total = np.zeros(len(G.nodes))
    if len(wanted) < len(begin):
        for vertex in wanted.tolist():
            total[vertex] = _nearness(lightest(G, vertex, distance, towards=True, keep=False), begin, len(total)).sum()
    else:
        for vertex in begin.tolist():
            total += _nearness(lightest(G, vertex, distance, keep=False), None, len(total))
    return G.table(Shares(total), wanted)


def _distinct(graph: Converted, given: Any) -> np.ndarray:
    """Return the vertices of ``given``, a node, several or None (all), once each, in the order of a set of nodes."""
    found = set(graph if given is None else graph.nodes_of(graph.among(given)[0]))
    return np.fromiter(map(graph.index.__getitem__, found), np.int64, len(found))


def _nearness(tree: Tree, among: np.ndarray | None, size: int) -> np.ndarray:
    """Return the reciprocal distances in ``tree`` of all ``size`` vertices, or of those in ``among`` (ids).

    Distances of 0 and unreached vertices give 0.
    """
    far = tree.order[tree.distance[tree.order] != 0]
    found = np.zeros(size)
    found[far] = 1 / tree.distance[far]
    return found if among is None else found[among]
