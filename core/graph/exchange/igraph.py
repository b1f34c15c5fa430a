"""Graphs from and to igraph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import ParameterError
from suricate.graph.exchange import Parts, graph_of, parts_of, refuse_attributes
from suricate.graph.interop import library
from suricate.state.locks import on_graph_device

if TYPE_CHECKING:
    from suricate.graph import Graph

NAME = "name"  #: the vertex attribute that igraph looks vertices up by


def from_igraph(cls: type[Graph], graph: Any, **options: Any) -> Graph:
    """Return a copy of an ``igraph.Graph``; vertices keep their numbers.

    The vertex attribute ``name`` becomes :attr:`Graph.names`, others :attr:`Graph.columns`. If ``weight`` is the only
    edge attribute, it becomes the weights; otherwise all edge attributes become columns of edges.

    Args:
        cls: ``Graph``.
        graph: the graph, without parallel edges (``graph.simplify()`` merges them) unless ``combine`` is given.
        options: options of ``Graph``, and ``combine`` of :func:`from_coo`; ``directed`` is that of the graph.

    Raises:
        ParameterError: ``graph`` is not an igraph graph, or has parallel edges or repeated names.
        DTypeError: an attribute holds neither numbers nor bools nor texts.
    """
    if not all(hasattr(graph, name) for name in ("vcount", "get_edgelist", "vs", "es")):
        raise ParameterError(f"graph must be a graph of igraph, got {type(graph).__name__}")
    ends = np.array(graph.get_edgelist(), np.int64).reshape(-1, 2)
    vertices = {name: graph.vs[name] for name in graph.vs.attributes()}
    names = vertices.pop(NAME, None)
    edges = {name: graph.es[name] for name in graph.es.attributes()}
    parts = Parts(graph.vcount(), ends[:, 0], ends[:, 1], graph.is_directed(), edges, vertices, names)
    return graph_of(cls, parts, options)


@on_graph_device
def to_igraph(graph: Graph) -> Any:
    """Return an ``igraph.Graph``, whose vertices are numbered like those of this graph.

    Names become the vertex attribute ``name``, columns become attributes, weights the edge attribute ``weight``.
    Deleted vertices become vertices without edges, so that the numbers of the others stay the same.

    Raises:
        MissingLibraryError: igraph is not installed.
        RequirementError: a column of vertices is called ``name``.
    """
    igraph, parts = library("igraph", "igraph"), parts_of(graph)
    refuse_attributes("igraph", parts._replace(edges={}), (NAME,))
    vertices = parts.vertices if parts.names is None else {**parts.vertices, NAME: parts.names}
    made = igraph.Graph(
        n=parts.num_vertices, edges=list(zip(parts.src.tolist(), parts.dst.tolist(), strict=True)),
        directed=parts.directed,
    )  # fmt: skip
    for name, values in vertices.items():
        made.vs[name] = list(values) if isinstance(values, list) else values.tolist()
    for name, values in parts.edges.items():
        made.es[name] = values.tolist()
    return made
