"""graph-tool, of Debian's package ``python3-graph-tool``: its C++ library, on as many threads as suricate."""

from __future__ import annotations

from typing import Any

import graph_tool
import numpy as np
from graph_tool import centrality, clustering, topology

from suricate.bench.peers import Answer, sampled, sources_of
from suricate.cpu.threads import default as threads

MODULE = "graph_tool"


def build(src: Any, dst: Any, weight: Any, num_vertices: int, directed: bool) -> Any:
    """Return a graph with the property ``weight`` of edges if there are weights."""
    graph_tool.openmp_set_num_threads(threads())
    graph = graph_tool.Graph(directed=directed)
    graph.add_vertex(num_vertices)
    graph.add_edge_list(np.stack((src, dst), 1).astype(np.int64))
    if weight is not None:
        graph.ep["weight"] = graph.new_edge_property("double", vals=weight)
    return graph


def _values(name: str) -> Any:
    return lambda found, params: {name: np.array(found.a)}


def _components(directed: bool) -> Answer:
    return Answer(lambda graph, **_: topology.label_components(graph, directed=directed)[0], _values("label"))


def _levels(found: Any, params: Any) -> dict[str, Any]:
    values = np.array(found.a)
    return {"level": np.where(values > len(values), -1, values)}


def _distances(graph: Any, *, source: int = 0, **_: Any) -> Any:
    return topology.shortest_distance(graph, source, weights=graph.ep.get("weight"))


def _betweenness(graph: Any, **params: Any) -> Any:
    pivots = np.array(sources_of("betweenness", params, graph.num_vertices()))
    return centrality.betweenness(graph, pivots=pivots, norm=False)[0]


ANSWERS = {
    "bfs": Answer(lambda graph, *, source=0, **_: topology.shortest_distance(graph, source), _levels),
    "sssp": Answer(_distances, _values("distance")),
    "pagerank": Answer(
        lambda graph, *, alpha=0.85, tol=1e-6, **_: centrality.pagerank(graph, alpha, epsilon=tol), _values("result")
    ),
    "wcc": _components(False),
    "scc": _components(True),
    "triangles": Answer(lambda graph, **_: clustering.local_clustering(graph), _values("clustering"), loops=False),
    "kcore": Answer(lambda graph, **_: topology.kcore_decomposition(graph), _values("core"), loops=False),
    "betweenness": Answer(
        _betweenness, lambda found, params: {"result": sampled(found.a, "betweenness", params)}, scaled=True
    ),
    "msf": Answer(
        lambda graph, **_: topology.min_spanning_tree(graph, weights=graph.ep.get("weight")),
        lambda found, params: {"total": float(_total(found))},
    ),
}


def _total(tree: Any) -> Any:
    weight = tree.get_graph().ep.get("weight")
    return (tree.a if weight is None else tree.a * weight.a).sum()
