"""Graphs from and to igraph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import ParameterError, RequirementError
from suricate.base.parameters import shown
from suricate.graph.exchange import Parts, as_column, graph_of, parts_of, refuse_attributes
from suricate.intake.tables import library
from suricate.state.edge_table import WEIGHT
from suricate.state.locks import on_graph_device
from suricate.state.objects import Objects

if TYPE_CHECKING:
    from suricate.graph import Graph

NAME = "name"  #: the vertex attribute that igraph looks vertices up by


def from_igraph(cls: type[Graph], graph: Any, **options: Any) -> Graph:
    """Return a copy of an ``igraph.Graph``; vertices keep their numbers.

    The vertex attribute ``name`` becomes :attr:`Graph.names`, others :attr:`Graph.columns`. If ``weight`` is the only
    edge attribute, it becomes the weights; otherwise all edge attributes become columns of edges. Attributes of the
    graph, and those with values of several types, are kept in :attr:`Graph.objects`.

    Args:
        cls: ``Graph``.
        graph: the graph, without parallel edges (``graph.simplify()`` merges them) unless ``combine`` is given.
        options: options of ``Graph``, and ``combine`` of :func:`from_coo`; ``directed`` is that of the graph.

    Raises:
        ParameterError: ``graph`` is not an igraph graph, or has parallel edges or repeated names.

    Example:
        >>> import igraph as ig
        >>> g = su.Graph.from_igraph(ig.Graph([(0, 1), (1, 2)]), device="cpu")
        >>> g.num_edges
        2
    """
    if not all(hasattr(graph, name) for name in ("vcount", "get_edgelist", "vs", "es")):
        raise ParameterError(f"graph must be a graph of igraph, got {type(graph).__name__}")
    ends = np.array(graph.get_edgelist(), np.int64).reshape(-1, 2)
    vertices = {name: graph.vs[name] for name in graph.vs.attributes()}
    names = vertices.pop(NAME, None)
    edges = {name: graph.es[name] for name in graph.es.attributes()}
    directed = graph.is_directed()
    plain, known = (
        {name: part for name, part in parts.items() if as_column(part) is not None} for parts in (edges, vertices)
    )
    parts = Parts(graph.vcount(), ends[:, 0], ends[:, 1], directed, plain, known, names)
    made = graph_of(cls, parts, options)
    objects = made._objects or Objects()
    objects.graph = {name: graph[name] for name in graph.attributes()}
    objects.vertices = {name: dict(enumerate(part)) for name, part in vertices.items() if name not in known}
    odd = {name: part for name, part in edges.items() if name not in plain}
    if odd:
        low, high = ends.T if made.directed else (ends.min(1), ends.max(1))
        rows = [dict(zip(odd, row, strict=True)) for row in zip(*odd.values(), strict=True)]
        objects.edges = dict(zip(zip(low.tolist(), high.tolist(), strict=True), rows, strict=True))
        if made.directed and not directed:
            objects.edges |= {(v, u): row for (u, v), row in objects.edges.items()}
    made._objects = objects or None
    return made


@on_graph_device
def to_igraph(graph: Graph) -> Any:
    """Return an ``igraph.Graph``, whose vertices are numbered like those of this graph.

    Names become the vertex attribute ``name``, columns become attributes, weights the edge attribute ``weight``;
    :attr:`Graph.objects` become attributes, too, None where a vertex or an edge lacks one. Deleted vertices become
    vertices without edges, so that the numbers of the others stay the same.

    Raises:
        MissingLibraryError: igraph is not installed.
        RequirementError: a column of vertices is called ``name``, or an object is not named by a text.

    Example:
        >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
        >>> g.to_igraph().get_edgelist()
        [(0, 1), (1, 2)]
    """
    igraph, parts = library("igraph", "igraph"), parts_of(graph)
    refuse_attributes("igraph", parts._replace(edges={}), (NAME,))
    vertices = parts.vertices if parts.names is None else {**parts.vertices, NAME: parts.names}
    pairs = list(zip(parts.src.tolist(), parts.dst.tolist(), strict=True))
    made = igraph.Graph(n=parts.num_vertices, edges=pairs, directed=parts.directed)
    for name, values in vertices.items():
        made.vs[name] = list(values) if isinstance(values, list) else values.tolist()
    for name, values in parts.edges.items():
        made.es[name] = values.tolist()
    if graph._objects is not None:
        _attach(made, graph._objects, pairs, {graph._objects.weight} if WEIGHT in parts.edges else set())
    return made


def _attach(made: Any, objects: Objects, pairs: list[tuple[int, int]], taken: set[Any]) -> None:
    """Attach ``objects`` to the igraph ``made``, but for the attributes ``taken`` of edges; ``pairs``: their ends."""
    objects.read()
    for name, value in objects.graph.items():
        made[_attribute(name)] = value
    for name, values in objects.vertices.items():
        made.vs[_attribute(name)] = [values.get(vertex) for vertex in range(made.vcount())]
    names = dict.fromkeys(name for data in objects.edges.values() for name in data)
    for name in names.keys() - taken - set(made.es.attributes()):
        made.es[_attribute(name)] = [objects.edges.get(pair, {}).get(name) for pair in pairs]


def _attribute(name: Any) -> str:
    if not isinstance(name, str):
        raise RequirementError(f"to igraph: attributes have texts for names there, not {shown(name)}: rename it")
    return name
