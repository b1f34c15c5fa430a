"""Components, core numbers, communities, independent sets.

The functions have the parameters and results of NetworkX's functions of the same name. ``weight`` must be None, and so
must ``source`` of the strongly connected components.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from suricate.algorithms.leiden.weighed import Weighed
from suricate.errors import ParameterError
from suricate.networkx.arguments import absent
from suricate.networkx.converted import Converted
from suricate.networkx.functions import served

NULL = "Connectivity is undefined for the null graph."
ROUNDS = 1000  #: of label propagation, many more than it takes


def _sets(graph: Converted, label: np.ndarray) -> Iterator[set[Any]]:
    """Yield the set of nodes of each label, in the order of the labels; ``label`` is an array by vertex."""
    vertices = graph.all_vertices()
    ordered = vertices[np.argsort(label[vertices], kind="stable")]
    bounds = np.flatnonzero(np.diff(label[ordered].astype(np.int64))) + 1
    for part in np.split(ordered, bounds) if len(ordered) else ():
        yield set(graph.nodes_of(part))


def _number(graph: Converted, algorithm: str) -> int:
    return int(graph.answer(algorithm).num_components)


def _is_one(graph: Converted, algorithm: str) -> bool:
    if len(graph) == 0:
        raise nx.NetworkXPointlessConcept(NULL)
    return _number(graph, algorithm) == 1


@served("wcc", cost="linear", directed=False)
def connected_components(G: Converted) -> Iterator[set[Any]]:
    """Yield the set of nodes of each component."""
    yield from _sets(G, G.answer("wcc").label)


@served("wcc", cost="linear", directed=False)
def number_connected_components(G: Converted) -> int:
    """Return the number of components."""
    return _number(G, "wcc")


@served("wcc", cost="linear", directed=False)
def is_connected(G: Converted) -> bool:
    """Return whether there is one component."""
    return _is_one(G, "wcc")


@served("wcc", cost="linear", directed=False)
def node_connected_component(G: Converted, n: Any) -> set[Any]:
    """Return the nodes of the component of node ``n``."""
    label = G.answer("wcc").label
    vertices = G.all_vertices()
    return set(G.nodes_of(vertices[label[vertices] == label[G.index[n]]]))


@served("wcc", cost="linear", directed=True)
def weakly_connected_components(G: Converted) -> Iterator[set[Any]]:
    """Yield the set of nodes of each weakly connected component."""
    yield from _sets(G, G.answer("wcc").label)


@served("wcc", cost="linear", directed=True)
def number_weakly_connected_components(G: Converted) -> int:
    """Return the number of weakly connected components."""
    return _number(G, "wcc")


@served("wcc", cost="linear", directed=True)
def is_weakly_connected(G: Converted) -> bool:
    """Return whether there is one weakly connected component."""
    return _is_one(G, "wcc")


ORDER = "components in the order of their first nodes"


@served("scc", cost="iterations", directed=True, note=ORDER)
def strongly_connected_components(G: Converted) -> Iterator[set[Any]]:
    """Yield the set of nodes of each strongly connected component."""
    yield from _sets(G, G.answer("scc").label)


@served("scc", cost="linear", directed=True, limits={"source": absent}, note=ORDER)
def kosaraju_strongly_connected_components(G: Converted, source: Any = None) -> Iterator[set[Any]]:
    """Yield the set of nodes of each strongly connected component."""
    yield from _sets(G, G.answer("scc").label)


@served("scc", cost="iterations", directed=True)
def number_strongly_connected_components(G: Converted) -> int:
    """Return the number of strongly connected components."""
    return _number(G, "scc")


@served("scc", cost="iterations", directed=True)
def is_strongly_connected(G: Converted) -> bool:
    """Return whether there is one strongly connected component."""
    return _is_one(G, "scc")


@served("scc", cost="linear")
def is_directed_acyclic_graph(G: Converted) -> bool:
    """Return whether the graph is directed and has no cycle."""
    return G.is_directed() and not _loops(G).any() and _number(G, "scc") == len(G)


@served("scc", "bfs", cost="linear")
def is_aperiodic(G: Converted) -> bool:
    """Return whether no integer above 1 divides the lengths of all cycles of a strongly connected graph."""
    if not G.is_directed():
        raise nx.NetworkXError("is_aperiodic not defined for undirected graphs")
    if not len(G):
        raise nx.NetworkXPointlessConcept("Graph has no nodes.")
    if not _is_one(G, "scc"):
        raise ValueError("the graph is not strongly connected")
    level, (src, dst, _) = G.answer("bfs", source=int(G.all_vertices()[0])).level, G.host_edges(G.graph())
    return bool(np.gcd.reduce(level[src].astype(np.int64) - level[dst] + 1) == 1)


def _loops(graph: Converted) -> np.ndarray:
    """Return the mask of the vertices with a self-loop, ``bool[n]``."""
    ids = np.arange(len(graph.nodes))
    stored = graph.graph()
    return np.asarray(stored.device.to_numpy(stored.has_edges(ids, ids)))


# -- cores -------------------------------------------------------------------------------------------------------------


def _core(graph: Converted) -> np.ndarray:
    if _loops(graph).any():
        remedy = "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        raise nx.NetworkXNotImplemented(f"Input graph has self loops which is not permitted; {remedy}")
    return graph.answer("directed_kcore" if graph.is_directed() else "kcore").core


def _cores(graph: Converted, given: Any) -> np.ndarray:
    """Return core numbers by vertex, ``int64[n]``: those ``given`` by node, or computed if it is None."""
    if given is None:
        return _core(graph).astype(np.int64)
    if given.keys() != set(graph):
        raise KeyError("core_number has not a value for each node")
    found = np.full(len(graph.nodes), -1, np.int64)
    found[[graph.index[node] for node in given]] = list(given.values())
    return found


def _subgraph(graph: Converted, chosen: np.ndarray) -> Any:
    vertices = graph.all_vertices()
    return graph.original().subgraph(graph.nodes_of(vertices[chosen[vertices]])).copy()


def _largest(graph: Converted, core: np.ndarray) -> int:
    return max(core[graph.all_vertices()].tolist())


@served("kcore", "directed_kcore", cost="linear")
def core_number(G: Converted) -> dict[Any, int]:
    """Return the largest k for which each node is in the k-core."""
    return G.table(_core(G))


@served("kcore", "directed_kcore", cost="linear")
def k_core(G: Converted, k: Any = None, core_number: Any = None) -> Any:
    """Return the subgraph of the nodes with core numbers of at least ``k``; None: of the largest core number.

    ``core_number``: known core numbers by node, in place of computing them.
    """
    core = _cores(G, core_number)
    return _subgraph(G, core >= (_largest(G, core) if k is None else k))


@served("kcore", "directed_kcore", cost="linear")
def k_shell(G: Converted, k: Any = None, core_number: Any = None) -> Any:
    """Return the subgraph of the nodes with core number ``k``; None: of the largest core number.

    ``core_number``: known core numbers by node, in place of computing them.
    """
    core = _cores(G, core_number)
    return _subgraph(G, core == (_largest(G, core) if k is None else k))


@served("kcore", "directed_kcore", cost="linear")
def k_crust(G: Converted, k: Any = None, core_number: Any = None) -> Any:
    """Return the subgraph of the nodes with core numbers of at most ``k``; None: the largest core number less 1.

    ``core_number``: known core numbers by node, in place of computing them.
    """
    core = _cores(G, core_number)
    return _subgraph(G, (core <= (_largest(G, core) - 1 if k is None else k)) & (core >= 0))


@served("kcore", "directed_kcore", cost="linear")
def k_corona(G: Converted, k: Any, core_number: Any = None) -> Any:
    """Return the subgraph of the nodes with core number ``k`` that have exactly ``k`` neighbours in the k-core.

    ``core_number``: known core numbers by node, in place of computing them.
    """
    core = _cores(G, core_number)
    src, dst, _, _ = G.arcs()
    return _subgraph(G, (core == k) & (np.bincount(src[core[dst] >= k], minlength=len(core)) == k))


# -- communities and independent sets ----------------------------------------------------------------------------------

SEEDS = "the seed is not NetworkX's"
STABLE = "the communities are stable, but may be others than NetworkX's"


@served("label_propagation", cost="heavy", directed=False, note=STABLE)
def label_propagation_communities(G: Converted) -> Any:
    """Return sets of nodes in which every node has the label that most of its neighbours have."""
    label = G.answer("label_propagation", max_iter=ROUNDS)
    return dict(enumerate(_sets(G, label))).values()


@served("label_propagation", cost="heavy", directed=False, limits={"weight": absent}, note=f"{STABLE}; {SEEDS}")
def asyn_lpa_communities(G: Converted, weight: Any = None, seed: Any = None) -> Iterator[set[Any]]:
    """Yield sets of nodes in which every node has the label that most of its neighbours have."""
    yield from _sets(G, G.answer("label_propagation", max_iter=ROUNDS, seed=drawn(seed)))


@served("label_propagation", cost="heavy", limits={"weight": absent}, note=f"{STABLE}; {SEEDS}")
def fast_label_propagation_communities(
    G: Converted,
    *,
    weight: Any = None,
    seed: Any = None,
) -> Iterator[set[Any]]:
    """Yield sets of nodes in which every node has the label that most of its neighbours have."""
    yield from _sets(G, G.answer("label_propagation", max_iter=ROUNDS, seed=drawn(seed)))


BEST = "communities of as high modularity, but others than NetworkX's"


def usual_threshold(value: Any) -> str | None:
    """Return None if ``value`` is NetworkX's default, else the reason why the call is left to NetworkX."""
    return None if value == 1e-7 else "only the default is served"


def _partitions(
    graph: Converted, weight: Any, resolution: float, seed: Any, max_level: int | None, refine: bool
) -> list[list[set[Any]]]:
    """Return the communities after each level, and at the end, in sets of nodes; at most ``max_level`` of them."""
    if max_level is not None and max_level <= 0:
        raise ValueError("max_level argument must be a positive integer or None")
    params: dict[str, Any] = {"resolution": resolution, "seed": drawn(seed), "refine": refine, "stable": refine}
    params["levels"] = True
    stored = graph.graph(weight)
    if weight is None and stored.weight_dtype is not None:
        src, dst, _ = graph.host_edges(stored)
        plain = type(stored).from_coo(src, dst, num_vertices=len(graph.nodes), directed=False, device=stored.device)
        found = graph.on_host(plain.compute("leiden", **params))
    else:
        found = graph.answer("leiden", weight, keep=False, **params)
    weights = None if found.quality or weight is None else graph.host_edges(stored)[2]
    if weights is not None and len(weights) and not weights.any():
        raise ValueError("edges weigh nothing")  # NetworkX divides by their sum
    rows = [*found.levels, found.label]
    rows = [row for row, before in zip(rows, [None, *rows], strict=False) if not np.array_equal(row, before)]
    return [list(_sets(graph, row)) for row in rows[:max_level]]


@served("leiden", cost="heavy", directed=False, limits={"threshold": usual_threshold}, note=f"{BEST}; {SEEDS}")
def louvain_communities(
    G: Converted,
    weight: Any = "weight",
    resolution: float = 1,
    threshold: float = 1e-7,
    max_level: int | None = None,
    seed: Any = None,
) -> list[set[Any]]:
    """Return the communities that Louvain's method finds in at most ``max_level`` levels."""
    return _partitions(G, weight, resolution, seed, max_level, False)[-1]


@served("leiden", cost="heavy", directed=False, limits={"threshold": usual_threshold}, note=f"{BEST}; {SEEDS}")
def louvain_partitions(
    G: Converted, weight: Any = "weight", resolution: float = 1, threshold: float = 1e-7, seed: Any = None
) -> Iterator[list[set[Any]]]:
    """Yield the communities after each level of Louvain's method."""
    yield from _partitions(G, weight, resolution, seed, None, False)


@served("leiden", cost="heavy", directed=False, note=SEEDS)
def leiden_communities(
    G: Converted, weight: Any = "weight", resolution: float = 1, max_level: int | None = None, seed: Any = None
) -> list[set[Any]]:
    """Return the communities that Leiden's method finds in at most ``max_level`` levels."""
    return _partitions(G, weight, resolution, seed, max_level, True)[-1]


@served("leiden", cost="heavy", directed=False, note=SEEDS)
def leiden_partitions(
    G: Converted, weight: Any = "weight", resolution: float = 1, seed: Any = None
) -> Iterator[list[set[Any]]]:
    """Yield the communities after each level of Leiden's method."""
    yield from _partitions(G, weight, resolution, seed, None, True)


@served(cost="linear", directed=False)
def modularity(G: Converted, communities: Any, weight: Any = "weight", resolution: float = 1) -> float:
    """Return the modularity of ``communities``, sets of nodes."""
    label = np.full(len(G.nodes), -1)
    for number, members in enumerate(communities):
        ids = [G.index[node] for node in members]
        if np.any(label[ids] >= 0) or len(set(ids)) != len(ids):
            raise ValueError("communities have nodes in common")
        label[ids] = number
    src, dst, values, _ = G.arcs(weight)
    vertices = G.all_vertices()
    if not len(src) or np.any(label[vertices] < 0) or not (values is None or values.sum()):
        raise ValueError("nodes are in no community, or edges weigh nothing")
    live = np.isin(np.arange(len(label)), vertices)
    return Weighed(src, dst, np.ones(len(src)) if values is None else values, live).modularity(label, resolution)


@served("independent_set", cost="linear", directed=False, note=SEEDS)
def maximal_independent_set(G: Converted, nodes: Any = None, seed: Any = None) -> list[Any]:
    """Return a list of nodes, ``nodes`` among them, of which no two are neighbours, and to which none can be added."""
    held = set(nodes) if nodes else set()
    if not all(node in G for node in held):
        raise nx.NetworkXUnfeasible(f"{held} is not a subset of the nodes of G")
    if not len(G):
        raise IndexError("Cannot choose from an empty sequence")
    ids = [G.index[node] for node in held]
    params: dict[str, Any] = {"nodes": sorted(ids)} if ids else {}
    try:
        found = G.answer("independent_set", seed=drawn(seed), **params)
    except ParameterError as error:
        raise nx.NetworkXUnfeasible(f"{held} is not an independent set of G") from error
    if ids and _loops(G)[ids].any():
        raise nx.NetworkXUnfeasible(f"{held} is not an independent set of G")
    return G.nodes_of(np.flatnonzero(found))


def drawn(seed: Any) -> int:
    """Return the seed as an integer: NetworkX turns a parameter ``seed`` into a generator, from which it is drawn."""
    return int(seed.getrandbits(31)) if hasattr(seed, "getrandbits") else int(seed or 0)
