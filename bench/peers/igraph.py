"""igraph: its C library on one thread."""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import igraph
import numpy as np

from suricate.bench.peers import Answer, field, sampled, sources_of

MODULE = "igraph"


def build(src: Any, dst: Any, weight: Any, num_vertices: int, directed: bool) -> Any:
    """Return a graph with the attribute ``weight`` of edges if there are weights."""
    graph = igraph.Graph(num_vertices, np.stack((src, dst), 1).astype(np.int32), directed=directed)
    if weight is not None:
        graph.es["weight"] = weight.tolist()
    return graph


def distinct(graph: Any) -> Any:
    """Return ``graph``, built of edges that repeat, with each counted once."""
    return graph.simplify(multiple=True, loops=False)


def _weights(graph: Any) -> str | None:
    return "weight" if "weight" in graph.es.attributes() else None


def _levels(found: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    order, starts, _ = found
    level = np.full(len(found[2]), -1, np.int32)
    for depth, (begin, end) in enumerate(pairwise(starts)):
        level[order[begin:end]] = depth
    return {"level": level}


def _components(kind: str) -> Answer:
    return Answer(lambda graph, **_: graph.connected_components(mode=kind).membership, field("label"))


def _betweenness(graph: Any, **params: Any) -> Any:
    sources = sources_of("betweenness", params, graph.vcount())
    return graph.betweenness(directed=graph.is_directed(), sources=sources)


def _edge_betweenness(graph: Any, **params: Any) -> Any:
    sources = sources_of("edge_betweenness", params, graph.vcount())
    return graph.edge_betweenness(directed=graph.is_directed(), sources=sources)


def communities(graph: Any, *, resolution: float = 1.0, refine: bool = True, seed: int = 0, **_: Any) -> Any:
    """Return the labels that its Leiden method finds in two iterations, without ``refine`` its Louvain."""
    random.seed(seed)  # of which igraph takes its numbers
    if not refine:
        return graph.community_multilevel(_weights(graph), resolution=resolution).membership
    told = {"weights": _weights(graph), "resolution": resolution, "n_iterations": 2}
    return graph.community_leiden("modularity", **told).membership


ANSWERS = {
    "bfs": Answer(lambda graph, *, source=0, **_: graph.bfs(source, mode="out"), _levels),
    "sssp": Answer(
        lambda graph, *, source=0, **_: graph.distances(source, weights=_weights(graph))[0], field("distance")
    ),
    "pagerank": Answer(lambda graph, *, alpha=0.85, **_: graph.pagerank(damping=alpha), field()),
    "wcc": _components("weak"),
    "scc": _components("strong"),
    "triangles": Answer(
        lambda graph, **_: graph.transitivity_local_undirected(mode="zero"), field("clustering"), loops=False
    ),
    "kcore": Answer(lambda graph, **_: graph.coreness(), field("core"), loops=False),
    "betweenness": Answer(
        _betweenness, lambda found, params: {"result": sampled(found, "betweenness", params)}, scaled=True
    ),
    "edge_betweenness": Answer(_edge_betweenness, field("betweenness"), scaled=True),
    "msf": Answer(
        lambda graph, **_: graph.spanning_tree(weights=_weights(graph)),
        lambda found, params: {"total": sum(found.es["weight"]) if _weights(found) else found.ecount()},
    ),
    "leiden": Answer(communities, field("label"), labels=True),
}
