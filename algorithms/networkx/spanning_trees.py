"""Minimum and maximum spanning trees.

The functions have the parameters and results of NetworkX's functions of the same name. ``algorithm`` is one that
NetworkX has, and makes no difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from suricate.graph import Graph
from suricate.networkx.arguments import named
from suricate.networkx.converted import Converted
from suricate.networkx.functions import served

TIES = "where weights are equal, another one of several forests of the same weight"


def known(algorithm: Any) -> str | None:
    """Return None if NetworkX has the algorithm of this name, else the reason why the call is left to NetworkX."""
    return None if algorithm in ("kruskal", "prim", "boruvka") else "there is no such algorithm"


LIMITS = {"weight": named, "algorithm": known}


def _edges(graph: Converted, weight: Any, *, lightest: bool) -> Iterator[tuple[Any, Any]]:
    """Yield the pairs of nodes of a spanning forest, the lightest edge first, or else the heaviest."""
    if lightest:
        found = graph.answer("msf", weight)
    else:
        src, dst, weights = graph.host_edges(graph.graph(weight))
        weights = np.ones(len(src)) if weights is None else weights
        options: Any = {"num_vertices": len(graph.nodes), "directed": False, "device": graph.device}
        made = Graph.from_coo(src, dst, -weights.astype(np.float64), **options)
        found = made.compute("msf")
    src, dst, weights = (made_host(graph, part) for part in found[:3])
    order = np.argsort(weights, kind="stable")
    yield from zip(graph.nodes_of(src[order]), graph.nodes_of(dst[order]), strict=True)


def made_host(graph: Converted, part: Any) -> np.ndarray:
    """Return an array of a result, which may be on the device of ``graph``, on the host."""
    return part if isinstance(part, np.ndarray) else graph.graph().device.to_numpy(part)


def _with_data(graph: Converted, weight: Any, data: Any, *, lightest: bool) -> Iterator[tuple[Any, ...]]:
    whole = graph.original() if data else None
    for u, v in _edges(graph, weight, lightest=lightest):
        yield (u, v) if whole is None else (u, v, whole[u][v])


def _tree(graph: Converted, weight: Any, *, lightest: bool) -> Any:
    whole = graph.original()
    tree = nx.Graph()
    tree.graph.update(whole.graph)
    tree.add_nodes_from(whole.nodes.items())
    tree.add_edges_from(_with_data(graph, weight, True, lightest=lightest))
    return tree


@served("msf", cost="linear", directed=False, limits=LIMITS, note=TIES)
def minimum_spanning_edges(
    G: Converted,
    algorithm: Any = "kruskal",
    weight: Any = "weight",
    keys: Any = True,
    data: Any = True,
    ignore_nan: Any = False,
) -> Iterator[tuple[Any, ...]]:
    """Yield the edges of a minimum spanning forest, the lightest first: two nodes, with ``data`` attributes."""
    yield from _with_data(G, weight, data, lightest=True)


@served("msf", cost="linear", directed=False, limits=LIMITS, note=TIES)
def maximum_spanning_edges(
    G: Converted,
    algorithm: Any = "kruskal",
    weight: Any = "weight",
    keys: Any = True,
    data: Any = True,
    ignore_nan: Any = False,
) -> Iterator[tuple[Any, ...]]:
    """Yield the edges of a maximum spanning forest, the heaviest first: two nodes, with ``data`` attributes."""
    yield from _with_data(G, weight, data, lightest=False)


@served("msf", cost="linear", directed=False, limits=LIMITS, note=TIES)
def minimum_spanning_tree(
    G: Converted, weight: Any = "weight", algorithm: Any = "kruskal", ignore_nan: Any = False
) -> Any:
    """Return a minimum spanning forest with all nodes, and all attributes, of the graph."""
    return _tree(G, weight, lightest=True)


@served("msf", cost="linear", directed=False, limits=LIMITS, note=TIES)
def maximum_spanning_tree(
    G: Converted, weight: Any = "weight", algorithm: Any = "kruskal", ignore_nan: Any = False
) -> Any:
    """Return a maximum spanning forest with all nodes, and all attributes, of the graph."""
    return _tree(G, weight, lightest=False)
