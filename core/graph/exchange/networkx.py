"""Graphs from and to NetworkX."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain, compress, repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import ParameterError
from suricate.base.notice import caution
from suricate.base.progress import worked
from suricate.graph.edge_columns import attributes_of
from suricate.graph.exchange import as_column
from suricate.graph.interop import (
    check_names,
    columns_of_edges,
    described,
    from_coo,
    library,
    refuse_num_vertices,
    refuse_weight_dtype,
)
from suricate.graph.naming import can_be_names, nodes_of
from suricate.intake.names import Names
from suricate.state.edge_table import WEIGHT
from suricate.state.locks import on_graph_device
from suricate.state.objects import Objects

if TYPE_CHECKING:
    from suricate.graph import Graph


@worked("reading a graph of NetworkX")
def from_networkx(
    cls: type[Graph],
    graph: Any,
    *,
    weight: str | None = None,
    edge_columns: Any = None,
    combine: Any = None,
    **options: Any,
) -> Graph:
    """Return a copy of a NetworkX graph, directed if that is; with ``directed=True`` an undirected edge is two arcs.

    If the nodes are exactly the integers ``0 .. n - 1`` (of Python or NumPy), these are the ids. Other nodes are
    numbered in the order of ``graph.nodes``, and become :attr:`Graph.names` if all are texts, or all are integers of 64
    bits. An attribute that all nodes have, with values of one type, becomes a column. What names and columns do not
    hold is kept in :attr:`Graph.objects` for :func:`to_networkx`: other nodes, as tuples, which are given by id here;
    attributes of nodes, of the graph, and of edges, where ``weight`` and ``edge_columns`` do not name them.

    Args:
        cls: ``Graph``.
        graph: any NetworkX graph.
        weight: edge attribute that holds the weights (1 if an edge lacks it), or None.
        edge_columns: edge attributes that become columns of edges: a list, of which each exists at all edges or at
            none; or their dtypes by name, as for ``Graph``.
        combine: makes one edge of parallel ones, as for :func:`from_coo`. None: the last one, with a warning.
        options: options of ``Graph``.

    Raises:
        ParameterError: ``graph`` is not a NetworkX graph, or no edge has the attribute.
        DTypeError, WeightError: a weight is not a number, or one that a graph cannot hold.

    Example:
        >>> import networkx as nx
        >>> g = su.Graph.from_networkx(nx.path_graph(4), device="cpu")
        >>> g.directed, g.num_edges
        (False, 3)
    """
    _check(graph, weight, options)
    one_way = options.setdefault("directed", graph.is_directed()) is True or graph.is_directed()
    nodes, rows = list(graph), [row for _, row in graph.adjacency()]
    degrees = np.fromiter(map(len, rows), np.int64, len(rows))
    ids, dst = _numbered(nodes, chain.from_iterable(rows), int(degrees.sum()))
    row = np.repeat(np.arange(len(nodes)), degrees)
    every = np.ones(len(row), bool)
    once = every if graph.is_directed() else row <= np.argsort(ids)[dst]  # an edge is in the rows of both its ends
    kept = every if one_way else once
    if graph.is_multigraph():
        times = np.fromiter((len(parallel) for each in rows for parallel in each.values()), np.int64, len(row))
        combine = _told(int((times - 1)[once].sum()), combine)
        row, dst, kept = (np.repeat(part, times) for part in (row, dst, kept))
    src = ids[row]
    weights: Any = None if weight is None else _edge_weights(graph, rows, kept, weight)
    if edge_columns is not None:
        attribute = partial(_attribute, graph, rows, kept)
        weights = columns_of_edges(edge_columns, weight, weights, options, attribute)
    if not one_way:
        src, dst = src[kept], dst[kept]
    made = from_coo(cls, src, dst, weights, num_vertices=len(nodes), combine=combine, **options)
    objects = Objects()
    _keep_nodes(made, objects, nodes)
    if made.partition is None:
        objects.graph, objects.weight = dict(graph.graph), WEIGHT if weight is None else weight
        _keep_attributes(made, objects, ids, [data for _, data in graph.nodes(data=True)])
        taken = {*(() if weight is None else (weight,)), *(edge_columns or ())}
        _keep_edges(made, objects, graph, rows, kept, (src, dst), taken)
    made._objects = objects or None
    return made


def _check(graph: Any, weight: str | None, options: dict[str, Any]) -> None:
    refuse_num_vertices(options, "graph")
    if not all(callable(getattr(graph, name, None)) for name in ("is_directed", "is_multigraph", "adjacency")):
        raise ParameterError(f"graph must be a graph of NetworkX, got {described(graph)}")
    check_names(weight=weight)
    refuse_weight_dtype(options, weight, "edge attribute")


def _keep_nodes(made: Graph, objects: Objects, nodes: list[Any]) -> None:
    """Make ``nodes`` the names of ``made`` if they can be, else ``objects``, unless they are the ids."""
    if made.names is None and not _are_positions(nodes):
        if can_be_names(nodes):
            made._names = partial(Names.of, nodes)  # made when they are asked for
        else:
            objects.nodes = nodes


def _keep_attributes(made: Graph, objects: Objects, ids: np.ndarray, data: list[dict[Any, Any]]) -> None:
    """Make attributes of nodes columns of ``made``, or ``objects`` if nodes lack them or values differ in type."""
    vertices = ids.tolist()
    for name in dict.fromkeys(chain.from_iterable(data)):
        values = {vertex: each[name] for vertex, each in zip(vertices, data, strict=True) if name in each}
        if len(values) == len(data) and isinstance(name, str) and name and name not in made.edge_columns:
            column = as_column([values[vertex] for vertex in range(len(data))])
            if column is not None:
                made.columns[name] = column
                continue
        objects.vertices[name] = values


def _keep_edges(
    made: Graph, objects: Objects, graph: Any, rows: list[Any], kept: np.ndarray, ends: tuple[Any, Any], taken: set[Any]
) -> None:
    """Keep all attributes of edges as ``objects`` unless each edge has those ``taken`` alone, which ``made`` has."""
    data = partial(_edge_attributes, graph, rows, kept)
    is_more = any(each.keys() != taken for each in data()) if taken else any(data())
    if not is_more and not graph.is_multigraph():
        return
    src, dst = ends if made.directed else (np.minimum(*ends), np.maximum(*ends))
    pairs = list(zip(src.tolist(), dst.tolist(), strict=True))
    if is_more:
        objects.edges = dict(zip(pairs, map(dict, data()), strict=True))
    if graph.is_multigraph():
        keys = compress(chain.from_iterable(chain.from_iterable(row.values()) for row in rows), kept.tobytes())
        objects.keys = {pair: key for pair, key in dict(zip(pairs, keys, strict=True)).items() if key != 0}


def _numbered(nodes: list[Any], heads: Iterator[Any], size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the ids of ``nodes``, and those of the ``size`` nodes ``heads``."""
    if _are_positions(nodes):
        return np.array(nodes, np.int64), np.fromiter(heads, np.int64, size)
    number = dict(zip(nodes, range(len(nodes)), strict=True))
    return np.arange(len(nodes)), np.array(list(map(number.__getitem__, heads)), np.int64)


def _told(parallel: int, combine: Any) -> Any:
    """Return ``combine``; if it is None and some edges are ``parallel`` to others, warn and return "last"."""
    if not parallel or combine is not None:
        return combine
    caution(f"{parallel} edges are parallel to others, and the last one is kept: combine='count' counts them, for one")
    return "last"


def _are_positions(nodes: list[Any]) -> bool:
    """Return whether distinct nodes are exactly the integers ``0 .. n - 1``, of Python or NumPy."""
    integers = all(kind is int or issubclass(kind, np.integer) for kind in set(map(type, nodes)))
    return integers and (not nodes or (min(nodes) >= 0 and max(nodes) < len(nodes)))


def _edge_attributes(graph: Any, rows: list[Any], kept: np.ndarray) -> Iterator[Any]:
    """Return an iterator over the attributes, a dict each, of the edges of a NetworkX graph that are ``kept``.

    ``rows``: a dict by neighbour for each node; ``kept``: a mask of the edges, row by row, parallel ones in order.
    """
    edges: Iterator[Any] = chain.from_iterable(row.values() for row in rows)
    if graph.is_multigraph():
        edges = chain.from_iterable(parallel.values() for parallel in edges)
    return compress(edges, kept.tobytes())


def _attribute(graph: Any, rows: list[Any], kept: np.ndarray, name: str) -> list[Any]:
    """Return attribute ``name`` of the ``kept`` edges as :func:`_edge_attributes`; ``ParameterError``: one lacks it."""
    try:
        return list(map(itemgetter(name), _edge_attributes(graph, rows, kept)))
    except KeyError:
        raise ParameterError(f"edge_columns: an edge has no attribute {name!r}") from None


def _edge_weights(graph: Any, rows: list[Any], kept: np.ndarray, weight: str) -> list[Any]:
    """Return attribute ``weight`` of the ``kept`` edges, see :func:`_edge_attributes`; 1 for those without it."""
    try:
        return list(map(itemgetter(weight), _edge_attributes(graph, rows, kept)))
    except KeyError:
        attributes = list(_edge_attributes(graph, rows, kept))
    if not any(weight in edge for edge in attributes):
        known = ", ".join(sorted({str(name) for edge in attributes[:1000] for name in edge})) or "none"
        raise ParameterError(f"weight={weight!r}: no edge has this attribute; there are: {known}")
    return [edge.get(weight, 1) for edge in attributes]


@worked("making a graph of NetworkX")
@on_graph_device
def to_networkx(graph: Graph, weight: Any = None) -> Any:
    """Return a ``networkx.Graph`` or ``DiGraph`` of the live vertices.

    Nodes are the names of the vertices, or the ids of those without one. Columns become attributes of edges and of
    nodes. What :func:`from_networkx` kept in :attr:`Graph.objects` comes back: nodes of other types, attributes of
    nodes, edges and the graph, and that it is a ``MultiGraph`` or ``MultiDiGraph``.

    Args:
        graph: the graph.
        weight: the edge attribute for the weights; None: the one that they came from, else ``weight``.

    Raises:
        RequirementError: the id of a vertex without a name is the name of another one.

    Example:
        >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
        >>> list(g.to_networkx().edges)
        [(0, 1), (1, 2)]
    """
    networkx, kept = library("networkx", "networkx"), graph._objects or Objects()
    kept.read()
    kind = ("Graph", "MultiGraph")[kept.keys is not None] if not graph.directed else ""
    kind = kind or ("DiGraph", "MultiDiGraph")[kept.keys is not None]
    result, live = getattr(networkx, kind)(), graph.device.to_numpy(graph.live_vertices)
    result.graph.update(kept.graph)
    nodes = nodes_of(graph, live)
    result.add_nodes_from(nodes)
    for name, column in graph._columns.items():
        networkx.set_node_attributes(result, dict(zip(nodes, column.to_numpy()[live].tolist(), strict=True)), name)
    known = dict(zip(live.tolist(), nodes, strict=True))
    for name, values in kept.vertices.items():
        networkx.set_node_attributes(result, {known[vertex]: value for vertex, value in values.items()}, name)
    pairs, attributes = _edges_with(graph, kept, kept.weight if weight is None else weight)
    ends = ((known[u], known[v]) for u, v in pairs)
    if kept.keys is None:
        result.add_edges_from((*pair, data) for pair, data in zip(ends, attributes, strict=True))
    else:
        keys = (kept.keys.get(pair, 0) for pair in pairs)
        result.add_edges_from((*pair, key, data) for pair, key, data in zip(ends, keys, attributes, strict=True))
    return result


def _edges_with(graph: Graph, kept: Objects, weight: Any) -> tuple[list[tuple[int, int]], list[dict[Any, Any]]]:
    """Return the ends of all edges, as ids, and their attributes; weights are the attribute ``weight``."""
    edges, host = graph.edges(), graph.device.to_numpy
    pairs = list(zip(host(edges.src).tolist(), host(edges.dst).tolist(), strict=True))
    columns = attributes_of(graph, edges, weight)
    rows = zip(*(part.tolist() for part in columns.values()), strict=True) if columns else repeat((), len(pairs))
    attributes = [dict(zip(columns, row, strict=True)) for row in rows]
    for pair, data in zip(pairs, attributes, strict=True) if kept.edges else ():
        before = kept.edges.get(pair)
        if before is not None:
            if weight not in before and data.get(weight) == 1:  # what stood for a missing weight
                del data[weight]
            data.update({name: value for name, value in before.items() if name not in data})
    return pairs, attributes
