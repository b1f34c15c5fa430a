"""Graphs from and to NetworKit."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import ParameterError, RequirementError
from suricate.base.parameters import flag
from suricate.graph.exchange import Parts, graph_of, parts_of, refuse_attributes
from suricate.graph.naming import can_be_names
from suricate.intake.tables import library
from suricate.state.edge_table import WEIGHT
from suricate.state.locks import on_graph_device

if TYPE_CHECKING:
    from suricate.graph import Graph

NAME = "name"  #: the node attribute with the names


def from_networkit(cls: type[Graph], graph: Any, attributes: Mapping[str, type] | None = None, **options: Any) -> Graph:
    """Return a copy of a ``networkit.Graph``; nodes keep their numbers, and removed nodes become deleted vertices.

    Args:
        cls: ``Graph``.
        graph: the graph, without parallel edges (``graph.removeMultiEdges()`` merges them) unless ``combine`` is given.
        attributes: node attributes that become columns, with their types: ``{"age": int}``, since NetworKit cannot
            list them. ``name``, of texts or integers, becomes :attr:`Graph.names` if it is there.
        options: options of ``Graph``, and ``combine`` of :func:`from_coo`; ``directed`` and the weights are those of
            the graph.

    Raises:
        ParameterError: ``graph`` is not a NetworKit graph, or has parallel edges, or a node lacks an attribute.

    Example:
        >>> import networkit as nk
        >>> g = su.Graph.from_networkit(nk.Graph(3), device="cpu")
        >>> g.num_vertices, g.num_edges
        (3, 0)
    """
    if not all(hasattr(graph, name) for name in ("upperNodeIdBound", "iterEdgesWeights", "hasNode")):
        raise ParameterError(f"graph must be a graph of NetworKit, got {type(graph).__name__}")
    size = graph.upperNodeIdBound()
    rows = np.array(list(graph.iterEdgesWeights()), np.float64).reshape(-1, 3)
    removed = [node for node in range(size) if not graph.hasNode(node)]
    edges = {WEIGHT: rows[:, 2]} if graph.isWeighted() else {}
    src, dst = rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64)  # floats hold ids below 2 ** 32
    wanted = {**_kind_of_names(graph), **(attributes or {})}
    vertices = {name: _values(graph, name, kind, size) for name, kind in wanted.items()}
    names = vertices.pop(NAME, None)
    return graph_of(cls, Parts(size, src, dst, graph.isDirected(), edges, vertices, names, removed), options)


def _kind_of_names(graph: Any) -> dict[str, type]:
    """Return ``{"name": str}`` or ``{"name": int}``, the type of the names of a NetworKit graph; {} if it has none."""
    for kind in (str, int):
        with suppress(RuntimeError):  # there is none, or one of another type
            graph.getNodeAttribute(NAME, kind)
            return {NAME: kind}
    return {}


def _values(graph: Any, name: str, kind: type, size: int) -> list[Any]:
    """Return attribute ``name`` of the nodes of a NetworKit graph, of type ``kind``, as a list of length ``size``."""
    values: list[Any] = [None if kind is str or name == NAME else kind(0)] * size
    known = dict(graph.getNodeAttribute(name, kind))
    for node in graph.iterNodes():
        if node not in known and name != NAME:
            raise ParameterError(f"attributes: node {node} has no {name!r}")
        values[node] = known.get(node)
    return ["" if value is None and name != NAME else value for value in values]


@on_graph_device
def to_networkit(graph: Graph, *, names: bool = False) -> Any:
    """Return a ``networkit.Graph`` with nodes of the same numbers; deleted vertices are removed nodes.

    Names that are texts, or integers of 32 bits, become the node attribute ``name`` (``str`` or ``int``), columns of
    vertices node attributes (``int``, also for bools, ``float`` or ``str``).

    Args:
        graph: the graph.
        names: return ``(networkit.Graph, names)``: a list of the names by node, None for nodes without one; or None.

    Raises:
        MissingLibraryError: NetworKit is not installed.
        RequirementError: the edges have columns other than weights, or a column of vertices is called ``name`` or has
            integers beyond 32 bits.

    Example:
        >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
        >>> g.to_networkit().numberOfEdges()
        2
    """
    networkit, parts = library("networkit", "networkit"), parts_of(graph)
    further = sorted(parts.edges.keys() - {WEIGHT})
    if further:
        raise RequirementError(
            f"to NetworKit: its edges have a weight and no attribute {further[0]!r}: delete this column"
        )
    refuse_attributes("NetworKit", parts, (NAME,))
    weight = parts.edges.get(WEIGHT)
    if weight is not None and weight.dtype.kind not in "iuf":
        raise RequirementError(f"to NetworKit: weights are numbers there, but have dtype {weight.dtype}")
    values = np.ones(len(parts.src)) if weight is None else weight.astype(np.float64)
    ends = parts.src.astype(np.uint64), parts.dst.astype(np.uint64)
    made = networkit.GraphFromCoo(
        (values, ends), n=parts.num_vertices, weighted=weight is not None, directed=parts.directed
    )
    for node in np.asarray(parts.deleted).tolist():
        made.removeNode(node)
    _attach(made, parts)
    return (made, parts.names) if flag("names", names) else made


def _attach(made: Any, parts: Parts) -> None:
    """Attach the names and columns of vertices in ``parts`` to the nodes of the NetworKit graph ``made``."""
    live = np.setdiff1d(np.arange(parts.num_vertices), np.asarray(parts.deleted, np.int64)).tolist()
    columns = dict(parts.vertices)
    named = [name for name in parts.names or () if name is not None]
    if named and can_be_names(named) and (isinstance(named[0], str) or _fit(named)):
        columns[NAME] = parts.names
    for name, values in columns.items():
        column = np.asarray(values, object if name == NAME else None)
        plain = column.tolist()
        kind = {"f": float, "O": str}.get(column.dtype.kind, int)
        kind = int if name == NAME and isinstance(named[0], int) else kind
        if kind is int and not _fit([value for value in plain if value is not None]):
            raise RequirementError(f"to NetworKit: column {name!r} has integers beyond 32 bits: delete or divide it")
        attribute = made.attachNodeAttribute(name, kind)
        for node in live:
            if plain[node] is not None:
                attribute[node] = kind(plain[node])


def _fit(numbers: list[int]) -> bool:
    """Return whether attributes of NetworKit, which have 32 bits, hold integers."""
    return not numbers or (min(numbers) >= -(1 << 31) and max(numbers) < 1 << 31)
