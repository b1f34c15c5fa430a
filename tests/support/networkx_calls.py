"""A call or more of every function that the backend serves to NetworkX, and what its answer is compared by."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import networkx as nx
import pytest


class Call(NamedTuple):
    """A call of a function; ``kind`` says which graphs it takes, ``reduced`` how answers are made comparable."""

    name: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}  # noqa: RUF012
    kind: str = "both"
    reduced: Callable[[Any], Any] = lambda answer: answer

    @property
    def label(self) -> str:
        """A name for the call, the same in every process, whatever the order of its sets is there."""
        args = ", ".join(str(sorted(arg) if isinstance(arg, set) else arg) for arg in self.args)
        return f"{self.name}({args}){list(self.kwargs)}"


def sets(answer: Iterable[Iterable[Any]]) -> set[frozenset[Any]]:
    """Groups without an order."""
    return {frozenset(group) for group in answer}


def by_pair(answer: Iterable[tuple[Any, Any, float]]) -> dict[frozenset[Any], float]:
    """Scores of pairs of nodes, whichever of both comes first."""
    return {frozenset((u, v)): round(score, 12) for u, v, score in answer}


def by_node(answer: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Pairs of nodes and values, as a dictionary."""
    return dict(answer)


def edges(graph: Any) -> tuple[dict[Any, Any], dict[Any, Any], dict[Any, Any]]:
    """Nodes and edges with all attributes; the order of a subgraph is that of a set in NetworkX."""
    rows = {node: dict(row) for node, row in graph.adjacency()}
    return dict(graph.nodes(data=True)), rows, graph.graph


def lengths(answer: Any) -> Any:
    """Numbers of nodes of paths: of several shortest ones any may be given."""
    if isinstance(answer, dict):
        return {node: lengths(path) for node, path in answer.items()}
    return len(answer)


def each_length(answer: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Likewise, of paths from every node."""
    return {node: lengths(paths) for node, paths in answer}


def with_lengths(answer: Any) -> Any:
    """Distances, and the ends of paths: with weights their lengths may differ too."""
    distance, paths = answer
    return distance, ends(paths)


def ends(paths: Any) -> Any:
    """First and last node of each path."""
    if isinstance(paths, dict):
        return {node: (path[0], path[-1]) for node, path in paths.items()}
    return paths[0], paths[-1]


def tips(paths: dict[Any, list[Any]]) -> dict[Any, Any]:
    """Last node of each path: the nearest of several sources need not be one."""
    return {node: path[-1] for node, path in paths.items()}


def tree_levels(pairs: Iterable[tuple[Any, Any]]) -> list[Any]:
    """The children of the edges of a tree."""
    return sorted(map(str, (below for _, below in pairs)))


def how_many(found: Iterable[Any]) -> int:
    """Of several spanning trees of one weight any may be given."""
    return sum(1 for _ in found)


def costs(found: Iterable[tuple[Any, Any, dict[str, Any]]]) -> list[float]:
    """The weights of the edges of a spanning tree, in order."""
    return [data.get("cost", 1) for *_, data in found]


def of_tree(tree: Any) -> tuple[Any, ...]:
    """Nodes and their attributes, and the weights of a spanning tree."""
    return dict(tree.nodes(data=True)), tree.graph, sorted(costs(tree.edges(data=True)))


A, B = "n0", "n7"
FROM_3_5 = tuple(map(int, nx.__version__.split(".")[:2])) >= (3, 5)
W = {"weight": "cost"}
CALLS = [
    Call("single_source_shortest_path_length", (A,)),
    Call("single_source_shortest_path_length", (A,), {"cutoff": 2}),
    Call("single_source_shortest_path", (A,), reduced=lengths),
    Call("single_source_shortest_path", (A, 2), reduced=lengths),
    Call("single_target_shortest_path_length", (A,), reduced=dict),
    Call("single_target_shortest_path", (A,), reduced=lengths),
    Call("all_pairs_shortest_path_length", (), {"cutoff": 3}, reduced=by_node),
    Call("all_pairs_shortest_path", reduced=each_length),
    Call("bidirectional_shortest_path", (A, B), reduced=lengths),
    Call("has_path", (A, B)),
    Call("has_path", (A, "isolated")),
    Call("predecessor", (A,), {"return_seen": True}, reduced=lambda a: ({k: set(v) for k, v in a[0].items()}, a[1])),
    Call("predecessor", (A, B), {"cutoff": 3}, reduced=sorted),
    Call("bfs_edges", (A,), reduced=tree_levels),
    Call("bfs_edges", (A,), {"reverse": True, "depth_limit": 2}, reduced=tree_levels),
    Call("bfs_tree", (A,), reduced=lambda tree: (set(tree), tree.number_of_edges(), nx.is_tree(tree))),
    Call("bfs_predecessors", (A, 2), reduced=lambda pairs: {node for node, _ in pairs}),
    Call("bfs_successors", (A,), reduced=lambda pairs: {node for _, children in pairs for node in children}),
    Call("bfs_layers", (A,), reduced=lambda layers: [set(layer) for layer in layers]),
    Call("bfs_layers", ([A, B],), reduced=lambda layers: [set(layer) for layer in layers]),
    Call("descendants_at_distance", (A, 2)),
    Call("descendants", (A,)),
    Call("ancestors", (A,)),
    Call("multi_source_dijkstra", ([A, B],), W, reduced=lambda answer: (answer[0], tips(answer[1]))),
    Call("multi_source_dijkstra_path", ({A, B},), W, reduced=tips),
    Call("multi_source_dijkstra_path_length", ({A, B},), {"weight": "cost", "cutoff": 5}),
    Call("single_source_dijkstra", (A,), W, reduced=with_lengths),
    Call("single_source_dijkstra", (A, B), W, reduced=with_lengths),
    Call("single_source_dijkstra_path", (A,), W, reduced=ends),
    Call("single_source_dijkstra_path_length", (A,), {"weight": "cost", "cutoff": 4.5}),
    Call("single_source_dijkstra_path_length", (A,), {"weight": "no such attribute"}),
    Call("dijkstra_path", (A, B), W, reduced=ends),
    Call("dijkstra_path_length", (A, B), W),
    Call("bidirectional_dijkstra", (A, B), W, reduced=with_lengths),
    Call("all_pairs_dijkstra", (), W, reduced=lambda pairs: {node: with_lengths(found) for node, found in pairs}),
    Call("all_pairs_dijkstra_path_length", (), W, reduced=by_node),
    Call("all_pairs_dijkstra_path", (), W, reduced=lambda pairs: {node: ends(paths) for node, paths in pairs}),
    Call("single_source_bellman_ford", (A,), W, reduced=with_lengths),
    Call("single_source_bellman_ford_path", (A,), W, reduced=ends),
    Call("single_source_bellman_ford_path_length", (A,), W),
    Call("bellman_ford_path", (A, B), W, reduced=ends),
    Call("bellman_ford_path_length", (A, B), W),
    Call("all_pairs_bellman_ford_path_length", (), W, reduced=by_node),
    Call("all_pairs_bellman_ford_path", (), W, reduced=lambda pairs: {node: ends(paths) for node, paths in pairs}),
    Call("shortest_path", (A, B), reduced=lengths),
    Call("shortest_path", (A,), W, reduced=ends),
    Call("shortest_path", (), {"target": A}, reduced=lengths),
    Call("shortest_path", (), {"target": A, "weight": "cost", "method": "bellman-ford"}, reduced=ends),
    Call("shortest_path_length", (A, B), W),
    Call("shortest_path_length", (), {"target": A, "weight": "cost"}),
    Call("shortest_path_length", reduced=by_node),
    Call("average_shortest_path_length", (), W, kind="connected"),
    Call("eccentricity", kind="connected"),
    Call("eccentricity", (A,), W, kind="connected"),
    Call("diameter", (), W, kind="connected"),
    Call("radius", kind="connected"),
    Call("center", kind="connected"),
    Call("periphery", kind="connected"),
    Call("global_efficiency", kind="undirected"),
    Call("harmonic_centrality"),
    Call("harmonic_centrality", (), {"nbunch": [A, B], "distance": "cost"}),
    Call("harmonic_centrality", (), {"sources": [A, B]}),
    Call("connected_components", kind="undirected", reduced=list),
    Call("number_connected_components", kind="undirected"),
    Call("is_connected", kind="undirected"),
    Call("node_connected_component", (A,), kind="undirected"),
    Call("weakly_connected_components", kind="directed", reduced=list),
    Call("number_weakly_connected_components", kind="directed"),
    Call("is_weakly_connected", kind="directed"),
    Call("strongly_connected_components", kind="directed", reduced=sets),
    Call("kosaraju_strongly_connected_components", kind="directed", reduced=sets),
    Call("number_strongly_connected_components", kind="directed"),
    Call("is_strongly_connected", kind="directed"),
    Call("is_directed_acyclic_graph"),
    Call("core_number", kind="loopless"),
    Call("minimum_spanning_edges", (), {"data": False}, kind="undirected", reduced=how_many),
    Call("minimum_spanning_edges", (), W, kind="undirected", reduced=costs),
    Call("maximum_spanning_edges", (), W, kind="undirected", reduced=costs),
    Call("minimum_spanning_tree", (), W, kind="undirected", reduced=of_tree),
    Call("maximum_spanning_tree", (), {**W, "algorithm": "prim"}, kind="undirected", reduced=of_tree),
    Call("k_core", kind="loopless", reduced=edges),
    Call("k_core", (2,), kind="loopless", reduced=edges),
    Call("k_shell", kind="loopless", reduced=edges),
    Call("k_crust", kind="loopless", reduced=edges),
    Call("k_corona", (3,), kind="loopless", reduced=edges),
    Call("pagerank", (), {"tol": 1e-10}),
    Call("pagerank", (), {"weight": "cost", "personalization": {A: 2, B: 1, "nobody": 7}, "tol": 1e-9}),
    Call("pagerank", (), {"dangling": {A: 1, B: 2}, "nstart": {A: 3, "n4": 1}, "tol": 1e-10, "max_iter": 300}),
    Call("hits", (), {"tol": 1e-10}),
    Call("katz_centrality", (0.05,), {"tol": 1e-10}),
    Call("katz_centrality", (0.02,), {"weight": "cost", "beta": 2.5, "normalized": False, "tol": 1e-12}),
    Call("eigenvector_centrality", (), {"tol": 1e-10, "max_iter": 1000}),
    Call("closeness_centrality"),
    Call("closeness_centrality", (A,), {"wf_improved": False}),
    Call("closeness_centrality", (), {"distance": "cost"}),
    Call("closeness_centrality", (B,), {"distance": "cost"}),
    Call("betweenness_centrality"),
    Call("betweenness_centrality", (), {"weight": "cost"}),
    Call("betweenness_centrality", (), {"weight": "no such attribute"}),
    *([Call("betweenness_centrality", (), {"k": 7, "seed": 3, "weight": "cost"})] if FROM_3_5 else []),
    Call("betweenness_centrality", (), {"endpoints": True, "normalized": False}),
    Call("edge_betweenness_centrality"),
    Call("edge_betweenness_centrality", (), {"weight": "cost", "normalized": False}),
    *([Call("edge_betweenness_centrality", (), {"k": 7, "seed": 3})] if FROM_3_5 else []),
    Call("bipartite_betweenness_centrality", ([A, B, "n5"],), kind="undirected"),
    Call("square_clustering", kind="undirected"),
    Call("square_clustering", (A,), kind="undirected"),
    *(
        Call(name, *given, kind="undirected", reduced=by_pair)
        for name in ("jaccard_coefficient", "resource_allocation_index", "adamic_adar_index")
        for given in (((),), (([(A, B), (A, "isolated"), (B, A), ("n5", "n3"), ("n3", A)],),))
    ),
    *(Call("k_truss", (k,), kind="simple", reduced=edges) for k in (2, 3, 9)),
    *(Call(name) for name in ("is_tree", "is_forest", "number_of_isolates", "number_of_selfloops")),
    *(Call(name, kind="directed") for name in ("is_arborescence", "is_branching")),
    Call("isolates", reduced=list),
    Call("is_isolate", ("isolated",)),
    Call("is_isolate", (A,)),
    Call("generic_bfs_edges", (A,), reduced=tree_levels),
    Call("lowest_common_ancestor", (3, 5), kind="acyclic"),
    Call("lowest_common_ancestor", (0, 9, "none"), kind="acyclic"),
    Call("reverse", kind="directed", reduced=edges),
    Call("complement", reduced=edges),
    Call("tournament_matrix", kind="directed", reduced=lambda matrix: matrix.toarray().tolist()),
    Call("triangles", kind="undirected"),
    Call("triangles", (A,), kind="undirected"),
    Call("clustering"),
    Call("clustering", ([A, B, "nobody"],)),
    Call("clustering", (), W),
    Call("average_clustering", (), {"count_zeros": False}),
    Call("average_clustering", (), W),
    Call("average_clustering", ([A, B],)),
    Call("transitivity", kind="undirected"),
    Call("degree_centrality"),
    Call("in_degree_centrality", kind="directed"),
    Call("out_degree_centrality", kind="directed"),
    Call("overall_reciprocity", kind="directed"),
    Call("reciprocity", ([A, B, "isolated"],), kind="directed"),
    Call("convert_node_labels_to_integers", (), {"label_attribute": "old"}, reduced=edges),
    Call("relabel_nodes", ({A: "first"},), reduced=edges),
    Call("stochastic_graph", kind="directed", reduced=edges),
    Call("compose", (nx.DiGraph({"n0": {"new": {"cost": 7}}}),), kind="directed", reduced=edges),
    Call("union", (nx.Graph([("x", "y")]), ("", "other ")), kind="undirected", reduced=edges),
    Call("is_aperiodic", kind="strong"),
    Call("is_aperiodic", kind="periodic"),
    *(
        Call(name, reduced=lambda matrix: matrix.toarray().tolist())
        for name in ("adjacency_matrix", "to_scipy_sparse_array")
    ),
    *(Call(name, reduced=lambda matrix: matrix.tolist()) for name in ("to_numpy_array", "google_matrix")),
    *(Call(f"{name}_all", kind="several", reduced=edges) for name in ("compose", "disjoint_union")),
    Call("union_all", (), {"rename": ("a ", "b ")}, kind="several", reduced=edges),
    Call("disjoint_union", (nx.Graph([("n0", "n1")]),), kind="undirected", reduced=edges),
    Call("modularity", ([[f"n{at}" for at in range(30) if at != 3], ["n3", "isolated"]],), kind="undirected"),
]
DRAWN = {  #: functions whose answers depend on a seed, or are not unique: a test of their own
    "label_propagation_communities", "asyn_lpa_communities", "fast_label_propagation_communities",
    "maximal_independent_set", "louvain_communities", "louvain_partitions", "leiden_communities", "leiden_partitions",
}  # fmt: skip


def graphs(kind: str) -> list[Any]:
    """Graphs of a kind: with named nodes in no order, attributes, an isolated node, a self-loop, weights."""
    if kind in ("strong", "periodic"):
        cycles = nx.DiGraph([(at, (at + 1) % 6) for at in range(6)] + [(0, 6), (6, 7), (7, 8), (8, 0)])
        nx.add_path(cycles, [0, 9, 10, 0] if kind == "strong" else [0, 9, 0])
        return [cycles]
    if kind == "acyclic":
        return [nx.DiGraph([(0, 1), (1, 2), (2, 3), (1, 4), (4, 5), (0, 6), (7, 8), (8, 9)])]
    if kind == "several":
        return [[graph, graph.subgraph(["n0", "n1"])] for graph in graphs("both")]
    found = []
    for directed in {"undirected": (False,), "simple": (False,), "directed": (True,)}.get(kind, (False, True)):
        plain = nx.gnp_random_graph(30, 0.11 if directed else 0.13, seed=5, directed=directed)
        graph = nx.DiGraph(home="here") if directed else nx.Graph(home="here")
        graph.add_nodes_from((f"n{(node * 7) % 30}", {"place": node}) for node in plain)
        graph.add_edges_from((f"n{(u * 7) % 30}", f"n{(v * 7) % 30}") for u, v in plain.edges)
        if kind == "connected":
            nx.add_cycle(graph, list(graph))
        else:
            graph.add_node("isolated")
        if kind not in ("connected", "loopless", "simple"):
            graph.add_edge("n3", "n3")
        for count, (_, _, data) in enumerate(graph.edges(data=True)):
            data.update({"cost": 1 + count % 4 / 2, "colour": count} if count % 5 else {"colour": count})
        found.append(graph)
    return found


def assert_same(found: Any, right: Any) -> None:
    """Two answers agree: numbers within rounding; dictionaries in their values; everything else exactly."""
    if isinstance(right, dict):
        assert isinstance(found, dict)
        assert found.keys() == right.keys()
        for key in right:
            assert_same(found[key], right[key])
    elif isinstance(right, tuple):
        assert len(found) == len(right)
        for one, other in zip(found, right, strict=True):
            assert_same(one, other)
    elif isinstance(right, float):
        assert found == pytest.approx(right, rel=1e-6, abs=1e-8)
    else:
        assert found == right
        assert type(found) is type(right) or isinstance(right, (int, dict))
