"""Trusses, trees, isolated nodes, common ancestors; betweenness of edges, square clustering, bipartite betweenness.

The functions have the parameters and results of NetworkX's functions of the same name. ``weight`` is an edge attribute;
None: all edges count 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import networkx as nx
import numpy as np

from suricate.algorithms.networkx import scores, searches
from suricate.algorithms.networkx.groups import is_directed_acyclic_graph
from suricate.networkx.arguments import absent, named
from suricate.networkx.converted import Converted
from suricate.networkx.functions import served
from suricate.networkx.table import Shares

SAMPLES = {"weight": named, "k": scores.sampled}
NO_NODES = "G has no nodes."


@served(
    "edge_betweenness",
    cost="heavy",
    limits={"weight": named, "k": scores.sampled},
    note=f"{scores.DIGIT}; edges by nodes",
)
def edge_betweenness_centrality(
    G: Converted, k: Any = None, normalized: bool = True, weight: Any = None, seed: Any = None
) -> dict[tuple[Any, Any], float]:
    """Return the betweenness of all edges, a dict by pairs of nodes."""
    params: dict[str, Any] = {"normalized": bool(normalized)}
    if k == 0 and len(G) > 1:
        raise ZeroDivisionError("there is nothing to scale by")
    if k is not None and k != len(G):
        params["sources"] = [G.index[node] for node in seed.sample(list(G), k)]
    src, dst, found = scores.by_paths(G, "edge_betweenness", weight, **params)
    place = np.empty(len(G.nodes), np.int64)
    place[G.all_vertices()] = np.arange(len(G))
    turned = (place[src] > place[dst]) & (not G.is_directed())  # NetworkX names the node that comes first in its order
    src, dst = np.where(turned, dst, src), np.where(turned, src, dst)
    order = np.lexsort((place[dst], place[src]))
    src, dst, found = src[order], dst[order], found[order]
    return dict(zip(zip(G.nodes_of(src), G.nodes_of(dst), strict=True), found.tolist(), strict=True))


@served("betweenness", cost="heavy", directed=False, note=scores.DIGIT)
def bipartite_betweenness_centrality(G: Converted, nodes: Iterable[Any]) -> dict[Any, float]:
    """Return the betweenness of all nodes of a bipartite graph, divided by the most possible in each part."""
    top = G.vertices(set(nodes))
    n, m = len(top), len(G) - len(top)
    found = G.answer("betweenness", normalized=False)
    most = np.full(len(G.nodes), _most(m, n))
    most[top] = _most(n, m)
    if not most.all():
        raise ZeroDivisionError("there is nothing to scale by")
    return G.table(found / most)


def _most(own: int, other: int) -> float:
    """Return the largest betweenness of a node in a part of ``own`` nodes, the other one having ``other``."""
    s, t = divmod(own - 1, other)
    return ((other**2) * ((s + 1) ** 2) + other * (s + 1) * (2 * t - s - 1) - t * (2 * s - t + 3)) / 2.0


@served("square_clustering", cost="heavy", directed=False, part=("nodes",))
def square_clustering(G: Converted, nodes: Any = None) -> Any:
    """Return the share of the possible squares at each node, a dict, or at one."""
    return scores.of_nodes(G, Shares(G.answer("square_clustering")), nodes)


@served("ktruss", cost="heavy", directed=False)
def k_truss(G: Converted, k: Any) -> Any:
    """Return the subgraph of the edges that close at least ``k - 2`` triangles within it, with their nodes."""
    src, dst, _ = G.host_edges(G.graph())
    if (src == dst).any():
        remedy = "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        raise nx.NetworkXNotImplemented(f"Input graph has self loops which is not permitted; {remedy}")
    found = G.answer("ktruss")
    inside = found.truss >= k
    ends = (G.nodes_of(part[inside]) for part in (found.src, found.dst))
    return G.original().edge_subgraph(zip(*ends, strict=True)).copy()


# -- trees -------------------------------------------------------------------------------------------------------------


def _is_forest(graph: Converted) -> bool:
    if not len(graph):
        raise nx.NetworkXPointlessConcept(NO_NODES)
    return graph.number_of_edges() == len(graph) - int(graph.answer("wcc").num_components)


def _has_one_parent(graph: Converted) -> bool:
    """Return whether no node has more than one in-edge."""
    return bool(np.bincount(graph.host_edges(graph.graph())[1], minlength=1).max(initial=0) <= 1)


@served("wcc", cost="linear")
def is_forest(G: Converted) -> bool:
    """Return whether there is no cycle, whichever way edges point."""
    return _is_forest(G)


@served("wcc", cost="linear")
def is_tree(G: Converted) -> bool:
    """Return whether the graph is connected, whichever way edges point, and has no cycle."""
    return _is_forest(G) and G.number_of_edges() == len(G) - 1


@served("wcc", cost="linear", directed=True)
def is_branching(G: Converted) -> bool:
    """Return whether the graph is a forest in which no node has more than one in-edge."""
    return _is_forest(G) and _has_one_parent(G)


@served("wcc", cost="linear", directed=True)
def is_arborescence(G: Converted) -> bool:
    """Return whether the graph is a tree in which no node has more than one in-edge."""
    return _is_forest(G) and G.number_of_edges() == len(G) - 1 and _has_one_parent(G)


@served("bfs", cost="linear", directed=True, note="of several, another one")
def lowest_common_ancestor(G: Converted, node1: Any, node2: Any, default: Any = None) -> Any:
    """Return an ancestor of both nodes (a node is its own) of which no other one is a descendant; else ``default``."""
    if not len(G):
        raise nx.NetworkXPointlessConcept("LCA meaningless on null graphs.")
    if not is_directed_acyclic_graph.function(G):
        raise nx.NetworkXError("LCA only defined on directed acyclic graphs.")
    common = np.ones(len(G.nodes), bool)
    for node in (node1, node2):
        above = np.zeros(len(common), bool)
        above[G.index[node]] = True
        above[G.vertices(searches.ancestors.function(G, node))] = True
        common &= above
    src, dst, _ = G.host_edges(G.graph())
    common[src[common[src] & common[dst]]] = False
    lowest = np.flatnonzero(common)
    return G.nodes[lowest[0]] if len(lowest) else default


@served("bfs", cost="linear", limits={"neighbors": absent}, note=searches.TREE, part=("depth_limit",))
def generic_bfs_edges(
    G: Converted, source: Any, neighbors: Any = None, depth_limit: Any = None
) -> Iterator[tuple[Any, Any]]:
    """Yield the edges, parent first, of a tree of fewest edges from ``source``, at most ``depth_limit`` deep."""
    yield from searches.bfs_edges.function(G, source, depth_limit=depth_limit)


# -- isolated nodes, self-loops ----------------------------------------------------------------------------------------


def _isolated(graph: Converted) -> np.ndarray:
    vertices = graph.all_vertices()
    return vertices[scores.degrees_of(graph, out=True, into=True)[vertices] == 0]


@served("degree", cost="vertices")
def isolates(G: Converted) -> Iterator[Any]:
    """Yield the nodes without edges."""
    yield from G.nodes_of(_isolated(G))


@served("degree", cost="vertices")
def number_of_isolates(G: Converted) -> int:
    """Return the number of nodes without edges."""
    return len(_isolated(G))


@served("degree", cost="vertices")
def is_isolate(G: Converted, n: Any) -> bool:
    """Return whether node ``n`` has no edges."""
    return bool(scores.degrees_of(G, out=True, into=True)[G.index[n]] == 0)


@served(cost="vertices")
def number_of_selfloops(G: Converted) -> int:
    """Return the number of edges from a node to itself."""
    src, dst, _ = G.host_edges(G.graph())
    return int((src == dst).sum())
