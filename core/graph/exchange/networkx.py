"""Graphs from and to NetworkX."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain, compress
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import ParameterError
from suricate.base.notice import caution
from suricate.graph.edge_columns import attributes_of
from suricate.graph.interop import (
    check_names,
    columns_of_edges,
    described,
    from_coo,
    library,
    refuse_num_vertices,
    refuse_weight_dtype,
)
from suricate.graph.naming import nodes_of
from suricate.intake.names import Names
from suricate.state.locks import on_graph_device

if TYPE_CHECKING:
    from suricate.graph import Graph


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
    numbered in the order of ``graph.nodes``, and become :attr:`Graph.names` if all are texts, or all are integers.

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
    """
    refuse_num_vertices(options, "graph")
    if not all(callable(getattr(graph, name, None)) for name in ("is_directed", "is_multigraph", "adjacency")):
        raise ParameterError(f"graph must be a graph of NetworkX, got {described(graph)}")
    check_names(weight=weight)
    refuse_weight_dtype(options, weight, "edge attribute")
    one_way = options.setdefault("directed", graph.is_directed()) is True or graph.is_directed()
    nodes, rows = list(graph), [row for _, row in graph.adjacency()]
    degrees = np.fromiter(map(len, rows), np.int64, len(rows))
    heads = chain.from_iterable(rows)
    if _are_positions(nodes):
        ids, dst = np.array(nodes, np.int64), np.fromiter(heads, np.int64, int(degrees.sum()))
    else:
        number = dict(zip(nodes, range(len(nodes)), strict=True))
        ids, dst = np.arange(len(nodes)), np.array(list(map(number.__getitem__, heads)), np.int64)
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
    kinds = set(map(type, nodes))
    if made.names is None and kinds in ({str}, {int}) and not _are_positions(nodes):
        made._names = partial(Names.of, nodes)  # made when they are asked for
    return made


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
    """Return attribute ``weight`` of the ``kept`` edges, as :func:`_edge_attributes` explains; 1 for those without it.

    Raises:
        ParameterError: no edge has the attribute.
    """
    try:
        return list(map(itemgetter(weight), _edge_attributes(graph, rows, kept)))
    except KeyError:
        attributes = list(_edge_attributes(graph, rows, kept))
    if not any(weight in edge for edge in attributes):
        known = ", ".join(sorted({str(name) for edge in attributes[:1000] for name in edge})) or "none"
        raise ParameterError(f"weight={weight!r}: no edge has this attribute; there are: {known}")
    return [edge.get(weight, 1) for edge in attributes]


@on_graph_device
def to_networkx(graph: Graph) -> Any:
    """Return a ``networkx.Graph`` or ``DiGraph`` of the live vertices; weights become the edge attribute ``weight``.

    Columns become attributes of edges and of nodes. Nodes are the names of the vertices, or the ids of those without
    one.

    Raises:
        RequirementError: the id of a vertex without a name is the name of another one.
    """
    networkx = library("networkx", "networkx")
    result, live = (
        networkx.DiGraph() if graph.directed else networkx.Graph(),
        graph.device.to_numpy(graph.live_vertices),
    )
    nodes = nodes_of(graph, live)
    result.add_nodes_from(nodes)
    for name, column in graph._columns.items():
        networkx.set_node_attributes(result, dict(zip(nodes, column.to_numpy()[live].tolist(), strict=True)), name)
    edges = graph.edges()
    src, dst = graph.device.to_numpy(edges.src), graph.device.to_numpy(edges.dst)
    if graph.names is not None:
        known = np.empty(graph.num_vertices, object)
        known[live] = nodes
        src, dst = known[src], known[dst]
    columns = attributes_of(graph, edges)
    rows = zip(*(part.tolist() for part in columns.values()), strict=True)
    attributes = [dict(zip(columns, row, strict=True)) for row in rows] if columns else [{}] * len(src)
    result.add_edges_from(zip(src.tolist(), dst.tolist(), attributes, strict=True))
    return result
