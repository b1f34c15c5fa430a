"""Graphs from and to tables of Arrow and frames of polars: one of edges, one of vertices."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate.base.errors import ParameterError, RequirementError, UnknownNameError
from suricate.base.parameters import flag, shown
from suricate.base.renamed import keywords
from suricate.graph.exchange import Parts, graph_of, parts_of, refuse_attributes
from suricate.graph.interop import ends_in
from suricate.graph.naming import are_texts, can_be_names
from suricate.intake.arrays import as_ids, on_host
from suricate.intake.name_values import utf8_only
from suricate.intake.names import Names
from suricate.intake.tables import DIRECTED, as_numpy, as_table, column_names, direction_in, library, nulls_of
from suricate.state.locks import on_graph_device

if TYPE_CHECKING:
    from suricate.graph import Graph

SRC, DST, VERTEX, NAME = "src", "dst", "vertex", "name"


class GraphTables(NamedTuple):
    """A graph as two tables, of Arrow or of polars.

    Attributes:
        edges: columns ``src`` and ``dst`` (uint32), and the attributes of edges, including ``weight``; an
            undirected edge once.
        vertices: columns ``vertex`` (uint32: the live ids), ``name`` if the graph has names, and the attributes.
    """

    edges: Any
    vertices: Any


@keywords(source="src=", target="dst=")
def from_arrow(
    cls: type[Graph],
    edges: Any,
    vertices: Any = None,
    *,
    src: str | None = None,
    dst: str | None = None,
    **options: Any,
) -> Graph:
    """Return a graph of tables of Arrow, as :meth:`Graph.to_arrow` returns them (``Graph.from_arrow(*tables)``).

    Frames of pandas and polars are tables, too, lazy ones of polars, and anything with ``__arrow_c_stream__``.

    Args:
        cls: ``Graph``.
        edges: a table with the ends of the edges, ids or names, without parallel edges unless ``combine`` is given. If
            ``weight`` is the only other column, it becomes the weights; otherwise all other columns become columns of
            edges.
        vertices: a table of the vertices, including those without edges: ``vertex`` has their ids (without it they are
            numbered by row), ``name`` their names, other columns become columns. Missing ids become deleted vertices.
            None: the vertices are the ends of the edges.
        src, dst: the columns with the ends of the edges. None: ``src`` and ``dst``, or another usual name
            (``source`` and ``target``; see docs/formats.md).
        options: options of ``Graph``, and ``combine`` of :func:`from_coo`; ``directed`` is by default what the metadata
            of the edges say, else True.

    Raises:
        ParameterError: not a table, values are missing, there are parallel edges, an end is not in ``vertices``, or two
            columns could be an end of edges.
        ShapeError: a column is missing.
        UnknownNameError: no vertex has the name at an end of an edge.
        DTypeError: a column holds neither numbers nor bools nor texts.

    Example:
        >>> import pyarrow as pa
        >>> g = su.Graph.from_arrow(pa.table({"src": [0, 1], "dst": [1, 2]}), device="cpu")
        >>> g.num_edges
        2
    """
    edges, vertices = as_table(edges), as_table(vertices)
    columns = _columns(edges, "edges")
    labels = ends_in([*columns], src, dst, "edges")
    tails, heads = map(columns.pop, labels)
    stated = direction_in(getattr(getattr(edges, "schema", None), "metadata", None))
    directed = options.get("directed") is not False if stated is None else stated
    if vertices is None:
        tails, heads, appearing = _named(tails, heads)
        size = 1 + max((int(end.max()) for end in (tails, heads) if len(end)), default=-1)
        return graph_of(cls, Parts(size, tails, heads, directed, columns, {}, appearing), options)
    about = _columns(vertices, "vertices", may_miss=(NAME,))
    rows = len(next(iter(about.values()), ()))
    ids = _ids(about.pop(VERTEX, np.arange(rows)), VERTEX)
    _check_ids(ids)
    size = int(ids.max()) + 1 if rows else 0
    names, listed = about.pop(NAME, None), None
    find = partial(_found, names, ids) if are_texts(tails) else _ids
    tails, heads = map(find, (tails, heads), labels)
    spread = {name: _spread(values, ids, size) for name, values in about.items()}
    deleted = np.setdiff1d(np.arange(size), ids)
    if names is not None:
        known = dict(zip(ids.tolist(), names.tolist(), strict=True))
        listed = [known.get(vertex) for vertex in range(size)]
    return graph_of(cls, Parts(size, tails, heads, directed, columns, spread, listed, deleted), options)


def from_polars(cls: type[Graph], edges: Any, vertices: Any = None, **options: Any) -> Graph:
    """Return a graph of frames of polars, as :meth:`Graph.to_polars` returns them; options of ``from_arrow``.

    Example:
        >>> import polars as pl
        >>> g = su.Graph.from_polars(pl.DataFrame({"src": [0, 1], "dst": [1, 2]}), device="cpu")
        >>> g.num_edges
        2
    """
    return from_arrow(cls, edges, vertices, **options)


@on_graph_device
def to_arrow(graph: Graph, *, names: bool = True) -> GraphTables:
    """Return the graph as two tables of Arrow (``pyarrow.Table``), of edges and of live vertices.

    The metadata of the edges say whether they have a direction. ``names=False`` leaves names out.

    Raises:
        MissingLibraryError: pyarrow is not installed.
        RequirementError: a column has the name of another column of the tables, or names are neither all texts nor all
            integers.

    Example:
        >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
        >>> g.to_arrow().edges.column_names
        ['src', 'dst']
    """
    arrow, (edges, vertices) = library("pyarrow", "arrow"), _tables(graph, names)
    if any(isinstance(name, int) and name >= 1 << 63 for name in vertices.get(NAME, ())):
        vertices[NAME] = arrow.array(vertices[NAME], arrow.uint64())
    metadata = {DIRECTED: str(graph.directed).lower()}
    with utf8_only():
        return GraphTables(arrow.table(edges).replace_schema_metadata(metadata), arrow.table(vertices))


@on_graph_device
def to_polars(graph: Graph, *, names: bool = True) -> GraphTables:
    """Return the graph as two frames of polars (``polars.DataFrame``); see :func:`to_arrow`.

    Frames do not say whether edges have a direction: :func:`from_polars` takes ``directed=False``.

    Example:
        >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
        >>> g.to_polars().edges.rows()
        [(0, 1), (1, 2)]
    """
    polars, frames = library("polars", "polars"), []
    with utf8_only():
        for table in _tables(graph, names):
            empty = [name for name, values in table.items() if isinstance(values, list) and not values]  # texts
            frames.append(polars.DataFrame(table, schema_overrides=dict.fromkeys(empty, polars.String)))
    return GraphTables(*frames)


def _tables(graph: Graph, names: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    parts = parts_of(graph)
    if not flag("names", names):
        parts = parts._replace(names=None)
    elif parts.names is not None and not can_be_names({name for name in parts.names if name is not None} or {""}):
        raise RequirementError("to tables: names are of several types or others than there: pass names=False for ids")
    refuse_attributes("tables", parts, (SRC, DST, VERTEX, NAME))
    live = np.setdiff1d(np.arange(parts.num_vertices), np.asarray(parts.deleted, np.int64))
    vertices: dict[str, Any] = {VERTEX: live.astype(np.uint32)}
    if parts.names is not None:
        vertices[NAME] = [parts.names[vertex] for vertex in live.tolist()]
    for name, values in parts.vertices.items():
        vertices[name] = _plain(values[live])
    edges = {name: _plain(values) for name, values in parts.edges.items()}
    return {SRC: parts.src, DST: parts.dst, **edges}, vertices


def _plain(values: np.ndarray) -> Any:
    """Return an array of objects (texts) as a list, which Arrow and polars take for texts; other arrays as they are."""
    return values.tolist() if values.dtype == object else values


def _columns(table: Any, label: str, may_miss: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the columns of a table by name, as arrays; missing values are refused except in columns ``may_miss``."""
    names = None if isinstance(table, Mapping) else column_names(table)
    if names is not None and hasattr(table, "iloc"):  # pandas
        table = library("pyarrow", "arrow").Table.from_pandas(table, preserve_index=False)
    if names is None:
        raise ParameterError(f"{label} must be a table of Arrow or a frame of polars, got {type(table).__name__}")
    found = {}
    for name in names:
        column = table[name]
        misses = nulls_of(column).any()
        if misses and name not in may_miss:
            raise ParameterError(f"{label}: column {name!r} has missing values: fill them, or leave their rows out")
        values = column.to_pylist() if hasattr(column, "to_pylist") else column  # the latter of polars
        found[str(name)] = np.fromiter(values, object) if misses else as_numpy(column)
    return found


def _named(src: Any, dst: Any) -> tuple[Any, Any, list[str] | None]:
    """Return sources and destinations as ids, and the list of their names by id, None if they were ids already."""
    if are_texts(src) and are_texts(dst):
        names = Names("text")
        ids = names.intern_pairs(src, dst)
        return ids[0], ids[1], list(names)
    return _ids(src, "column of ends"), _ids(dst, "column of ends"), None


def _ids(values: Any, label: str) -> np.ndarray:
    return np.asarray(on_host(as_ids(values, label)), np.int64)


def _check_ids(ids: np.ndarray) -> None:
    if len(ids) and int(ids.min()) < 0:
        raise ParameterError(f"vertices: vertex {int(ids.min())} is negative")
    if len(np.unique(ids)) < len(ids):
        raise ParameterError("vertices: an id is in several rows")


def _found(names: Any, ids: np.ndarray, ends: Any, label: str) -> np.ndarray:
    """Return the ids of the names ``ends`` of column ``label`` as ``int64``."""
    if names is None:
        raise RequirementError(f"edges: column {label!r} has names, but vertices has no column {NAME!r}")
    number = {name: vertex for name, vertex in zip(names.tolist(), ids.tolist(), strict=True) if name is not None}
    unknown = next((name for name in ends.tolist() if name not in number), None)
    if unknown is not None:
        raise UnknownNameError(f"edges: column {label!r} has {shown(unknown)}, which is no name in vertices")
    return np.array([number[name] for name in ends.tolist()], np.int64)


def _spread(values: np.ndarray, ids: np.ndarray, size: int) -> np.ndarray:
    """Return an array of length ``size`` with ``values[i]`` at ``ids[i]``; entries at other ids are arbitrary."""
    is_text = values.dtype.kind in "OUT"
    spread = np.full(size, "", object) if is_text else np.zeros(size, values.dtype)
    spread[ids] = values
    return spread
