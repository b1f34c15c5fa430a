"""Graphs from and to igraph, NetworKit, Arrow, polars and PyTorch Geometric, with names and attributes.

``Graph.from_x(...)`` and ``graph.to_x()`` call the modules of this folder. Each makes :class:`Parts` of a graph of the
other library, or the other library's graph of them. What cannot be kept is refused: nothing is left out silently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate.base.errors import ParameterError, RequirementError
from suricate.base.types import EdgeList
from suricate.graph.edge_columns import attributes_of
from suricate.graph.interop import from_edges
from suricate.graph.naming import names_by_vertex, set_nodes
from suricate.intake.arrays import are_large
from suricate.state.edge_table import WEIGHT

if TYPE_CHECKING:
    from suricate.graph import Graph


class Parts(NamedTuple):
    """A graph as arrays and lists on the host.

    Attributes:
        num_vertices: number of vertices, including deleted ones.
        src, dst: ids, one per edge; an undirected edge once.
        directed: whether edges have a direction.
        edges: attributes of edges by name, one value per edge; ``weight`` is that of a weighted graph.
        vertices: attributes of vertices by name, one value per vertex.
        names: the name of each vertex, None for vertices without one; or None if there are no names.
        deleted: ids of deleted vertices.
    """

    num_vertices: int
    src: Any
    dst: Any
    directed: bool
    edges: dict[str, Any]
    vertices: dict[str, Any]
    names: list[Any] | None = None
    deleted: Any = ()


def graph_of(cls: type[Graph], parts: Parts, options: dict[str, Any], *, matrix: bool = False) -> Graph:
    """Return the graph of ``parts``. If the only attribute of edges is a numeric ``weight``, it becomes the weights.

    ``options``: further options of ``Graph``, and ``combine``. ``matrix`` is that of :func:`from_edges`.

    Raises:
        ParameterError: there are parallel edges, names are repeated, or a deleted vertex has edges.
        DTypeError: attributes are neither numbers nor bools nor texts.
    """
    if "num_vertices" in options:
        raise ParameterError("num_vertices cannot be given: the graph that is converted determines it")
    src, dst = np.asarray(parts.src, np.int64), np.asarray(parts.dst, np.int64)
    combine = options.pop("combine", None)
    if combine is None:
        _refuse_parallel(src, dst, parts.directed)
    _refuse_deleted_ends(src, dst, parts.deleted)
    edges = {name: _column(values) for name, values in parts.edges.items()}
    if options.setdefault("directed", parts.directed) is True and not parts.directed:
        src, dst, edges = both_arcs(src, dst, edges)
    weight: Any = edges or None
    if [*edges] == [WEIGHT] and edges[WEIGHT].dtype.kind in "iuf":
        weight = edges[WEIGHT]
    graph = from_edges(cls, EdgeList(src, dst, weight), parts.num_vertices, combine, options, matrix=matrix)
    if parts.names is not None:
        set_nodes(graph, parts.names)
    for name, values in parts.vertices.items():
        graph.columns[name] = values
    if len(parts.deleted):
        graph.delete_vertices(np.asarray(parts.deleted))
    return graph


def parts_of(graph: Graph) -> Parts:
    """Return ``graph`` in arrays on the host; columns of texts are lists."""
    host, edges = graph.device.to_numpy, graph.edges()
    return Parts(
        graph.num_vertices, host(edges.src), host(edges.dst), graph.directed, attributes_of(graph, edges),
        {name: column.to_numpy() for name, column in graph._columns.items()}, names_by_vertex(graph),
        host(graph.deleted_vertices),
    )  # fmt: skip


def both_arcs(src: np.ndarray, dst: np.ndarray, edges: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Return src, dst and attributes (by name) of both arcs of undirected edges listed once; self-loops once."""
    other = src != dst
    attributes = {name: np.concatenate([values, values[other]]) for name, values in edges.items()}
    return np.concatenate([src, dst[other]]), np.concatenate([dst, src[other]]), attributes


def refuse_attributes(library: str, parts: Parts, names: tuple[str, ...]) -> None:
    """Raise ``RequirementError`` if an attribute in ``parts`` has one of ``names``, which ``library`` uses itself."""
    for name in names:
        if name in parts.vertices or name in parts.edges:
            raise RequirementError(f"to {library}: a column is called {name!r}, which {library} needs: rename it")


def _refuse_parallel(src: np.ndarray, dst: np.ndarray, directed: bool) -> None:
    if not directed:
        src, dst = np.minimum(src, dst), np.maximum(src, dst)
    order = np.lexsort((src, dst))
    one, other = src[order], dst[order]
    twice = np.flatnonzero((one[1:] == one[:-1]) & (other[1:] == other[:-1]))
    if len(twice):
        u, v = int(one[twice[0]]), int(other[twice[0]])
        raise ParameterError(
            f"there are parallel edges, from {u} to {v} for instance: combine='sum', or another rule, makes them one"
        )


def _refuse_deleted_ends(src: np.ndarray, dst: np.ndarray, deleted: Any) -> None:
    if not len(deleted):
        return
    wrong = np.flatnonzero(np.isin(src, deleted) | np.isin(dst, deleted))
    if len(wrong):
        raise ParameterError(f"edge {wrong[0]}, from {src[wrong[0]]} to {dst[wrong[0]]}, has an end that is no vertex")


def _column(values: Any) -> np.ndarray:
    """Return values as an array; a list with texts, or with None, becomes an array of Python objects."""
    if isinstance(values, (list, tuple)) and any(isinstance(value, str) or value is None for value in values):
        array = np.empty(len(values), object)
        array[:] = values
        return array
    return np.asarray(values)


def as_column(values: list[Any]) -> Any:
    """Return values of one type that a column holds, bools, numbers or texts, as an array; else None."""
    kinds = set(map(type, values)) or {float}
    if kinds == {str}:
        return np.fromiter(values, object, len(values))
    is_plain = kinds in ({bool}, {int}, {float}, {int, float})
    if not is_plain and not (len(kinds) == 1 and issubclass(kinds.pop(), np.bool_ | np.integer | np.floating)):
        return None
    column = np.array(values, np.uint64 if are_large(values) else None)
    if column.dtype.kind == "f" and not all(abs(value) <= 1 << 53 for value in values if type(value) is int):
        return None  # float64 does not hold the integers
    return column if column.dtype.kind in "biuf" and column.dtype.itemsize <= 8 else None
