"""Centralities, ranks, clustering, degrees, reciprocity.

The functions have the parameters and results of NetworkX's functions of the same name. ``weight`` (or ``distance``) is
an edge attribute; None: all edges count 1. ``nodes``: one node (a result by node is a
number then), several nodes, or None: all nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
from scipy import sparse

from suricate.algorithms.networkx._trees import VERSION, lightest
from suricate.errors import ConvergenceError
from suricate.networkx.arguments import named
from suricate.networkx.converted import Converted
from suricate.networkx.functions import served
from suricate.networkx.table import Column, Shares, Values

DIGIT = "other last digits than NetworkX's"
ROOTS = f"with `weight` {DIGIT}"
CLOSER = 10  #: by which the tolerance of ranks is smaller than NetworkX's
LEAST = 1e-14  #: tolerance
PATIENCE = (
    20  #: our steps for each of those that a caller allows of another method; no bound from NetworkX's default on
)


def _by_vertex(graph: Converted, values: Mapping[Any, Any] | None) -> dict[int, float] | None:
    """Return ``values``, a dict by node, as a dict by vertex id, without nodes that ``graph`` lacks; None for None."""
    if values is None:
        return None
    return {graph.index[node]: value for node, value in values.items() if node in graph}


def _start(graph: Converted, nstart: Mapping[Any, float] | None) -> tuple[dict[int, float] | None, np.ndarray | None]:
    """Return the starting vector of an iteration by vertex id, and its vertices in the order of ``nstart``."""
    if nstart is None:
        return None, None
    if nstart.keys() != set(graph):
        raise KeyError("nstart has not a value for each node")
    found = {graph.index[node]: value for node, value in nstart.items()}
    return found, np.array(list(found), np.int64)


def _iterated(
    graph: Converted, algorithm: str, weight: Any, given: tuple[int, float], *, enough: float = 0.0, **params: Any
) -> Any:
    """Return the result of the iterative ``algorithm`` on ``graph`` with the parameters ``params``.

    ``weight`` is the edge attribute, None: unweighted. ``given`` are the caller's limit of steps, which is only named
    in an error, and tolerance. If the algorithm does not converge, its result is returned if the last step changed less
    than ``enough``.

    Raises:
        PowerIterationFailedConvergence: the last step changed more, or one of ``given`` is 0 or less.
        ParameterError, WeightError: the algorithm refuses ``params`` or the weights.
    """
    steps, tol = given
    if steps <= 0 or tol <= 0:
        raise nx.PowerIterationFailedConvergence(steps)
    try:
        return graph.answer(algorithm, weight, weighted=False if weight is None else None, **params)
    except ConvergenceError as error:
        if error.change is not None and error.change < enough:
            return graph.on_host(error.result)
        raise nx.PowerIterationFailedConvergence(steps) from error


def _steps(max_iter: int) -> int | None:
    """Return the limit of steps for an algorithm, given NetworkX's ``max_iter``; None, no limit, from 100 on.

    Below it is a multiple of ``max_iter``, as the algorithm may need more steps than NetworkX's method.
    """
    return None if max_iter >= 100 else PATIENCE * max_iter


@served("pagerank", cost="iterations", limits={"weight": named}, note=DIGIT)
def pagerank(
    G: Converted,
    alpha: float = 0.85,
    personalization: Mapping[Any, float] | None = None,
    max_iter: int = 100,
    tol: float = 1.0e-6,
    nstart: Any = None,
    weight: Any = "weight",
    dangling: Any = None,
) -> dict[Any, float]:
    """Return the PageRank of all nodes, a dict."""
    if not (n := len(G)):
        return {}
    jumps, start = personalization and _by_vertex(G, personalization), nstart and _by_vertex(G, nstart)
    sinks = dangling and _by_vertex(G, dangling)
    if jumps is not None and sum(jumps.values()) == 0:
        raise ZeroDivisionError
    for values in (start, sinks):
        if values is not None and sum(values.values()) == 0:
            raise nx.PowerIterationFailedConvergence(max_iter)
    params: dict[str, Any] = {"personalization": jumps, "nstart": start, "dangling": sinks}
    # A bound below NetworkX's, which keeps updates of live graphs as exact, and takes more steps; it stays the same
    # while the graph does not double.
    bound = tol * (1 << n.bit_length() >> 1) / CLOSER
    params |= {"alpha": alpha, "tol": max(bound, LEAST), "max_iter": max_iter + max_iter // 3}
    return G.table(_iterated(G, "pagerank", weight, (max_iter, tol), enough=tol * n, **params))


@served("hits", cost="iterations", note=DIGIT)
def hits(
    G: Converted,
    max_iter: int = 100,
    tol: float = 1.0e-8,
    nstart: Any = None,
    normalized: bool = True,
) -> tuple[dict[Any, float], dict[Any, float]]:
    """Return the hub scores and the authority scores, two dicts by node."""
    if not len(G):
        return {}, {}
    if len(G) == 1 or not G.number_of_edges():
        raise ValueError("there are no scores of a single node, and none without edges")
    if max_iter <= 0:
        raise nx.PowerIterationFailedConvergence(max_iter)
    if tol < 0:
        raise ValueError("the tolerance is negative")
    start = None if nstart is None else dict(zip(G.all_vertices().tolist(), nstart.values(), strict=True))
    params: dict[str, Any] = {"nstart": start, "normalized": normalized, "max_iter": _steps(max_iter)}
    found = G.answer("hits", "weight", tol=min(max(tol, 1e-13), 1e-8), **params)
    return G.table(found.hubs), G.table(found.authorities)


@served("katz", cost="heavy", limits={"weight": named}, note=DIGIT)
def katz_centrality(
    G: Converted,
    alpha: float = 0.1,
    beta: Any = 1.0,
    max_iter: int = 1000,
    tol: float = 1.0e-6,
    nstart: Any = None,
    normalized: bool = True,
    weight: Any = None,
) -> dict[Any, float]:
    """Return the Katz centrality of all nodes, a dict."""
    if not len(G):
        return {}
    try:
        constant: Any = float(beta)
        mean = abs(constant)
    except (TypeError, ValueError):
        if set(beta) != set(G):
            raise nx.NetworkXError("beta dictionary must have a value for every node") from None
        constant = _by_vertex(G, beta)
        mean = sum(map(abs, constant.values())) / len(G)
    start, order = _start(G, nstart)
    params: dict[str, Any] = {"alpha": alpha, "beta": constant, "nstart": start, "normalized": normalized}
    bound = min(max(tol / mean if mean else tol, LEAST), 1e-3)
    return G.table(_iterated(G, "katz", weight, (max_iter, tol), tol=bound, max_iter=max_iter, **params), order)


@served("eigenvector", cost="iterations", limits={"weight": named}, note=DIGIT)
def eigenvector_centrality(
    G: Converted,
    max_iter: int = 100,
    tol: float = 1.0e-6,
    nstart: Any = None,
    weight: Any = None,
) -> dict[Any, float]:
    """Return the eigenvector centrality of all nodes, a dict."""
    if not len(G):
        raise nx.NetworkXPointlessConcept("cannot compute centrality for the null graph")
    if nstart is not None and all(value == 0 for value in nstart.values()):
        raise nx.NetworkXError("initial vector cannot have all zero values")
    bound = min(max(tol, 1e-13), 1e-3)
    start, order = _start(G, nstart)
    params: dict[str, Any] = {"nstart": start, "max_iter": _steps(max_iter)}
    return G.table(_iterated(G, "eigenvector", weight, (max_iter, tol), tol=bound, **params), order)


@served("closeness", "bfs", "sssp", cost="heavy", limits={"distance": named}, part=("u",))
def closeness_centrality(
    G: Converted,
    u: Any = None,
    distance: Any = None,
    wf_improved: bool = True,
) -> Any:
    """Return the closeness of all nodes, a dict, or of the node ``u``; ``distance``: edge attribute with lengths."""
    if u is None:
        return G.table(by_paths(G, "closeness", distance, wf_improved=bool(wf_improved)))
    if u not in G:
        raise nx.NodeNotFound(f"Source {u} is not in G")
    tree = lightest(G, G.index[u], distance, towards=True)
    total, others, n = tree.distance[tree.order].sum().item(), len(tree.order) - 1, len(G)
    if total <= 0 or n <= 1:
        return 0.0
    return others / total * (others / (n - 1) if wf_improved else 1)


def by_paths(graph: Converted, algorithm: str, weight: Any, **params: Any) -> np.ndarray:
    """Return the centrality by shortest paths that ``algorithm`` computes, an array by vertex.

    The lengths of paths are sums of the edge attribute ``weight``, or if it is None numbers of edges.
    """
    if weight is not None and graph.graph(weight).weight_dtype is not None:
        params["weighted"] = True
    return graph.answer(algorithm, weight, **params)


def sampled(k: Any) -> str | None:
    """Return why samples of ``k`` nodes are not served, None if they are."""
    return None if k is None or VERSION >= (3, 5) else "NetworkX scales samples otherwise since 3.5, as suricate does"


@served("betweenness", cost="heavy", limits={"weight": named, "k": sampled}, note=DIGIT)
def betweenness_centrality(
    G: Converted,
    k: Any = None,
    normalized: bool = True,
    weight: Any = None,
    endpoints: bool = False,
    seed: Any = None,
) -> dict[Any, float]:
    """Return the betweenness of all nodes, a dict."""
    params: dict[str, Any] = {"normalized": bool(normalized), "endpoints": bool(endpoints)}
    if k == 0:
        raise ZeroDivisionError("there is nothing to scale by")
    if k is not None and k != len(G):
        params["sources"] = [G.index[node] for node in seed.sample(list(G), k)]
    return G.table(by_paths(G, "betweenness", weight, **params))


# -- triangles ---------------------------------------------------------------------------------------------------------

WEDGES = 1 << 24  #: paths of length two that are held at a time


def of_nodes(graph: Converted, values: Column, nodes: Any) -> Any:
    """Return ``values`` of ``nodes``: a number for one node, else a dictionary by node."""
    vertices, is_one = graph.among(nodes)
    return values.at(vertices[0]) if is_one else graph.table(values, vertices)


@served("triangles", cost="heavy", directed=False, part=("nodes",))
def triangles(G: Converted, nodes: Any = None) -> Any:
    """Return the number of triangles at each node, a dict, or at one."""
    return of_nodes(G, Values(G.answer("triangles").triangles), nodes)


def _clustering(graph: Converted, weight: Any) -> np.ndarray:
    """Return the clustering coefficients by vertex, ``float64[n]``."""
    if weight is not None and graph.arcs(weight).weight is not None:
        return _weighted_clustering(graph, weight)
    return graph.answer("directed_triangles" if graph.is_directed() else "triangles").clustering


def _weighted_clustering(graph: Converted, weight: Any) -> np.ndarray:
    src, dst, lengths, _ = graph.arcs(weight)
    most = lengths.max(initial=0.0)  # type: ignore[union-attr]
    if most == 0:
        raise ZeroDivisionError("the largest weight is 0")
    if not graph.is_directed():
        return graph.answer("triangles", weight, weighted="geometric").clustering
    n, apart = len(graph.nodes), src != dst
    src, dst, roots = src[apart], dst[apart], np.cbrt(lengths[apart] / most)  # type: ignore[index]
    near = sparse.csr_array((roots, (src, dst)), (n, n))
    near, ends = near + near.T, np.bincount(src, minlength=n) + np.bincount(dst, minlength=n)
    stored = graph.graph()
    back = stored.device.to_numpy(stored.has_edges(dst, src))
    paths = 2 * (ends * (ends - 1) - 2 * np.bincount(src[back], minlength=n))
    wedges = np.cumsum(np.bincount(src, ends[dst], n) + np.bincount(dst, ends[src], n)) // WEDGES
    bounds = [0, *(np.flatnonzero(np.diff(wedges)) + 1).tolist(), n]
    closed = [(near[a:b] @ near).multiply(near[a:b]).sum(1) for a, b in pairwise(bounds)]
    return np.concatenate(closed) / np.maximum(paths, 1)


@served("triangles", "directed_triangles", cost="heavy", limits={"weight": named}, part=("nodes",), note=ROOTS)
def clustering(G: Converted, nodes: Any = None, weight: Any = None) -> Any:
    """Return the share of pairs of neighbours that are neighbours themselves, by node, or of one node.

    With ``weight`` a triangle counts by the cubic root of the product of its weights, of which the largest counts 1.
    """
    return of_nodes(G, Shares(_clustering(G, weight)), nodes)


@served("triangles", "directed_triangles", cost="heavy", limits={"weight": named}, part=("nodes",), note=ROOTS)
def average_clustering(G: Converted, nodes: Any = None, weight: Any = None, count_zeros: bool = True) -> float:
    """Return the mean of the clustering coefficients of ``nodes`` (None: all), without zeros if not ``count_zeros``."""
    vertices, is_one = G.among(nodes)
    if is_one:
        raise AttributeError("nodes is a single node")
    found = _clustering(G, weight)[vertices].tolist()
    counted = found if count_zeros else [value for value in found if value]
    return sum(counted) / len(counted)


@served("triangles", cost="heavy", directed=False)
def transitivity(G: Converted) -> float:
    """Return the share of paths of length two that are closed."""
    return G.answer("triangles").transitivity or 0


# -- degrees and directions --------------------------------------------------------------------------------------------


def degrees_of(graph: Converted, *, out: bool, into: bool) -> np.ndarray:
    """Return the number of edges of each vertex, ``int64[n]``; a self-loop of an undirected graph counts twice.

    In a directed graph ``out`` counts out-edges, ``into`` in-edges; in an undirected one both are ignored.
    """
    stored = graph.graph()
    found = np.zeros(len(graph.nodes), np.int64)
    if graph.is_directed():
        src, dst, _ = graph.host_edges(stored)
        for used, ends in ((out, src), (into, dst)):
            found += np.bincount(ends, minlength=len(found)) if used else 0
        return found
    ids = np.arange(len(found))
    loops = stored.device.to_numpy(stored.has_edges(ids, ids))
    return stored.device.to_numpy(stored.degrees()).astype(np.int64) + loops


def _shares(graph: Converted, degrees: np.ndarray) -> dict[Any, float]:
    n = len(graph)
    return dict.fromkeys(graph, 1) if n <= 1 else graph.table(degrees * (1.0 / (n - 1.0)))


@served(cost="vertices")
def degree_centrality(G: Converted) -> dict[Any, float]:
    """Return the degree of each node, divided by the number of other nodes."""
    return _shares(G, degrees_of(G, out=True, into=True))


@served(cost="vertices", directed=True)
def in_degree_centrality(G: Converted) -> dict[Any, float]:
    """Return the in-degree of each node, divided by the number of other nodes."""
    return _shares(G, degrees_of(G, out=False, into=True))


@served(cost="vertices", directed=True)
def out_degree_centrality(G: Converted) -> dict[Any, float]:
    """Return the out-degree of each node, divided by the number of other nodes."""
    return _shares(G, degrees_of(G, out=True, into=False))


def _answered(graph: Converted) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the sources and destinations of all arcs, and a mask of those whose opposite arc exists, too."""
    src, dst, _ = graph.host_edges(graph.graph())
    stored = graph.graph()
    return src, dst, stored.device.to_numpy(stored.has_edges(dst, src))


@served(cost="heavy", directed=True)
def overall_reciprocity(G: Converted) -> float:
    """Return the share of edges whose opposite edge exists, too; a self-loop is not its own opposite."""
    src, dst, back = _answered(G)
    if not len(src):
        raise nx.NetworkXError("Not defined for empty graphs")
    return int((back & (src != dst)).sum()) / len(src)


@served(cost="linear", directed=True, part=("nodes",))
def reciprocity(G: Converted, nodes: Any = None) -> Any:
    """Return the share of edges whose opposite edge exists: in the graph, or at one node or several (a dict)."""
    if nodes is None:
        return overall_reciprocity(G)
    vertices, is_one = G.among(nodes)
    src, dst, back = _answered(G)
    n = len(G.nodes)
    total = (np.bincount(src, minlength=n) + np.bincount(dst, minlength=n))[vertices].tolist()
    both = np.bincount(src[back], minlength=n)[vertices].tolist()
    found = [2 * two / ends if ends else None for two, ends in zip(both, total, strict=True)]
    if not is_one:
        return dict(zip(G.nodes_of(vertices), found, strict=True))
    if found[0] is None:
        raise nx.NetworkXError("Not defined for isolated nodes.")
    return found[0]
