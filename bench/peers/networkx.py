"""NetworkX: dictionaries, and its functions in Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np

from suricate.bench.peers import Answer, sampled, sources_of

MODULE = "networkx"


def build(src: Any, dst: Any, weight: Any, num_vertices: int, directed: bool) -> Any:
    """Return a graph with the attribute ``weight`` if there are weights."""
    graph: Any = nx.DiGraph() if directed else nx.Graph()
    graph.add_nodes_from(range(num_vertices))
    if weight is None:
        graph.add_edges_from(zip(src.tolist(), dst.tolist(), strict=True))
    else:
        graph.add_weighted_edges_from(zip(src.tolist(), dst.tolist(), weight.tolist(), strict=True))
    graph.graph["n"] = num_vertices
    return graph


def _by_vertex(name: str, missing: float | int = 0) -> Any:
    """Return ``fields`` of a dictionary from vertices to values, and how many vertices there are."""

    def fields(found: tuple[Mapping[int, Any], int], params: Mapping[str, Any]) -> dict[str, Any]:
        values, n = found
        return {name: np.array([values.get(vertex, missing) for vertex in range(n)])}

    return fields


def _groups(found: tuple[Any, int], params: Mapping[str, Any]) -> dict[str, Any]:
    groups, n = found
    label = np.empty(n, np.int64)
    for number, group in enumerate(groups):
        label[list(group)] = number
    return {"label": label, "num_components": len(groups)}


def _of(function: Any) -> Any:
    """Return ``compute`` by a function of graph and parameters; its answer comes with the number of vertices."""
    return lambda graph, **params: (function(graph, params), len(graph))


def _weakly(graph: Any, params: Mapping[str, Any]) -> list[set[int]]:
    return [*(nx.weakly_connected_components if graph.is_directed() else nx.connected_components)(graph)]


def _betweenness(graph: Any, params: Mapping[str, Any]) -> dict[int, float]:
    sources = sources_of("betweenness", params, len(graph))
    found: dict[int, float] = nx.betweenness_centrality_subset(graph, sources, list(graph))
    return found


def _total(graph: Any, params: Mapping[str, Any]) -> float:
    return float(sum(data.get("weight", 1) for _, _, data in nx.minimum_spanning_edges(graph)))


ANSWERS = {
    "bfs": Answer(
        _of(lambda graph, params: nx.single_source_shortest_path_length(graph, params.get("source", 0))),
        _by_vertex("level", -1),
    ),
    "sssp": Answer(
        _of(lambda graph, params: nx.single_source_dijkstra_path_length(graph, params.get("source", 0))),
        _by_vertex("distance", np.inf),
    ),
    "pagerank": Answer(
        _of(lambda graph, params: nx.pagerank(
            graph, params.get("alpha", 0.85), tol=params.get("tol", 1e-6) / len(graph), max_iter=1000, weight=None
        )),
        _by_vertex("result"),
    ),
    "wcc": Answer(_of(_weakly), _groups),
    "scc": Answer(_of(lambda graph, params: [*nx.strongly_connected_components(graph)]), _groups),
    "triangles": Answer(_of(lambda graph, params: nx.triangles(graph)), _by_vertex("triangles"), loops=False),
    "kcore": Answer(_of(lambda graph, params: nx.core_number(graph)), _by_vertex("core"), loops=False),
    "betweenness": Answer(
        _of(_betweenness),
        lambda found, params: {"result": sampled([found[0][at] for at in range(found[1])], "betweenness", params)},
        scaled=True,
    ),
    "msf": Answer(_of(_total), lambda found, params: {"total": found[0]}),
}  # fmt: skip
