"""Graphs from and to arrays and edge lists: COO, CSR, SciPy, pandas, edge indexes of PyTorch Geometric.

``Graph.from_x(...)`` and ``graph.to_x()`` call these. Every ``from_`` function takes the options of ``Graph`` as
further keyword arguments. ``weight_dtype`` is by default that of the weights given, or the next one that a graph
can have, and None without weights. Libraries that are not needed are not imported.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.devices import Array
from suricate.base.errors import (
    CapacityError,
    DTypeError,
    ParameterError,
    RequirementError,
    ShapeError,
    VertexRangeError,
    WeightError,
)
from suricate.base.parameters import flag, shown
from suricate.base.renamed import keywords
from suricate.base.types import MAX_VERTICES, NUMBERING, Adjacency, EdgeList, edge_keys
from suricate.graph.delta import both_directions
from suricate.graph.edge_columns import attributes_of, table_of
from suricate.graph.edge_columns.repeats import checked_rules, combined, insert_told
from suricate.graph.lookups import scaled
from suricate.graph.naming import are_texts, named_nodes, names_by_vertex, nodes_in, set_nodes
from suricate.graph.options import checked_count
from suricate.intake.arrays import as_array, as_ids, on_host, picked
from suricate.intake.name_values import utf8_only
from suricate.intake.names import Names
from suricate.intake.tables import as_column, as_numpy, as_table, column_names, end_of, library
from suricate.state.column import as_values, dtype_of
from suricate.state.edge_table import WEIGHT
from suricate.state.locks import on_graph_device

if TYPE_CHECKING:
    from suricate.graph import Graph

#: how graphs of other libraries are converted
_CONVERSIONS = {
    "igraph": "from_igraph(graph)",
    "rustworkx": "from_coo(*np.array(g.edge_list()).T, num_vertices=g.num_nodes())",
    "graph_tool": "from_coo(*g.get_edges().T, num_vertices=g.num_vertices(), directed=g.is_directed())",
    "networkit": "from_networkit(graph)",
    "dgl": "from_coo(*g.edges(), num_vertices=g.num_nodes())",
    "torch_geometric": "from_pyg(data)",
    "networkx": "from_networkx(graph)",
    "scipy": "from_scipy_sparse(matrix)",
    "pandas": "from_pandas_edgelist(frame, src, dst)",
    "polars": "from_pandas_edgelist(frame, src, dst)",
    "pyarrow": "from_pandas_edgelist(table, src, dst)",
}
_NUMBERING = f"{NUMBERING}, su.read(..., relabel=True) does so in a file"


def from_coo(
    cls: type[Graph],
    src: Any,
    dst: Any,
    weight: Any = None,
    *,
    num_vertices: int | None = None,
    combine: Any = None,
    **options: Any,
) -> Graph:
    """Return a graph of the edges ``(src[i], dst[i])``.

    Args:
        cls: ``Graph``.
        src: ids, ``n``; or names that are texts, which become :attr:`Graph.names` in the order of their appearance.
        dst: likewise.
        weight: ``n`` numbers, one for all, or None; or columns of edges, ``{name: values}``, whose dtypes become those
            of ``edge_columns``.
        num_vertices: by default one more than the largest id.
        combine: the weight of an edge that is given several times: ``"last"``, ``"first"``, ``"sum"``, ``"count"``,
            ``"min"`` or ``"max"`` of its weights; or such rules by column, ``{"weight": "sum", "fee": "max"}``, where
            columns without one keep the last value. None: the last one, with a warning if others differ. Without
            direction ``(u, v)`` and ``(v, u)`` are one edge.
        options: options of ``Graph``. With ``comm`` each process passes its part of the edges.

    Raises:
        VertexRangeError, DTypeError, ShapeError, WeightError: the arrays are invalid, as for ``Graph.insert_edges``.
        ParameterError, RequirementError: ``combine`` is no such rule, needs weights, or is given with ``comm``.

    Example:
        >>> g = su.Graph.from_coo([0, 0], [1, 1], [1.0, 2.0], combine="sum", device="cpu")
        >>> g.edges().weight.tolist()
        [3.0]
    """
    return from_edges(cls, EdgeList(src, dst, weight), num_vertices, combine, options)


def from_edges(
    cls: type[Graph],
    edges: EdgeList,
    num_vertices: int | None,
    combine: Any,
    options: dict[str, Any],
    *,
    matrix: bool = False,
) -> Graph:
    """Return a graph as :func:`from_coo` does; ``matrix``: undirected edges may be the entries of a symmetric one."""
    rules = checked_rules(combine)
    weight: Any
    if getattr(options.get("comm"), "size", 1) > 1:
        from suricate.graph.exchange.parts import from_parts  # whose package needs this module

        if rules:
            raise RequirementError(f"combine={shown(combine)} needs all edges in one process: combine them before")
        return from_parts(cls, edges, num_vertices, weight_dtype_of, **options)
    src, dst, weight = (as_column(part) for part in edges)
    if are_texts(src) and are_texts(dst):
        given = options.get("names")
        given = Names("text") if given is None else given
        names = options["names"] = given if isinstance(given, Names) else Names.of(given)
        src, dst = names.intern_pairs(src, dst)
    src, dst = as_ids(src, "src"), as_ids(dst, "dst")
    if isinstance(weight, Mapping):
        weight = {name: as_values(values, name, len(src), "edges") for name, values in weight.items()}
    elif weight is not None:
        weight = as_array(weight, "weight")
    values: Any = weight
    if num_vertices is None:
        size = max(0, 1 + max(_largest(src, "src"), _largest(dst, "dst")))  # negative ids are refused later
    else:
        size = checked_count(num_vertices)
    if rules:
        directed = options.get("directed") is not False
        edges = combined(EdgeList(src, dst, weight), rules, size, directed=directed, matrix=matrix)
        src, dst, weight = edges
    if isinstance(weight, Mapping):
        options["edge_columns"] = {
            **{name: dtype_of(values) for name, values in weight.items()}, **(options.get("edge_columns") or {})
        }  # fmt: skip
    elif weight is not None:
        options.setdefault("weight_dtype", weight_dtype_of(np.uint32 if rules.get(WEIGHT) == "count" else values.dtype))
    nodes = nodes_in(options)
    graph = _with_vertices(cls, size, len(src), options) if num_vertices is None else cls(size, **options)
    if nodes is not None:
        set_nodes(graph, nodes)
    insert_told(graph, EdgeList(src, dst, weight), rules)
    return graph


def _with_vertices(cls: type[Graph], num_vertices: int, edges: int, options: dict[str, Any]) -> Graph:
    """Return a graph of ``num_vertices`` vertices without edges; if memory is short, the error mentions sparse ids."""
    try:
        return cls(num_vertices, **options)
    except CapacityError as error:
        if num_vertices <= 4 * edges:
            raise
        raise CapacityError(f"{error}; id {num_vertices - 1} makes it {num_vertices} vertices: {_NUMBERING}") from error


def from_csr(
    cls: type[Graph], offsets: Any, dst: Any, weight: Any = None, *, combine: Any = None, **options: Any
) -> Graph:
    """Return a graph of compressed rows: vertex ``u`` has edges to ``dst[offsets[u]:offsets[u + 1]]``.

    ``offsets`` has ``num_vertices + 1`` entries. ``combine`` is that of :func:`from_coo`; with ``directed=False`` only
    one triangle of a symmetric matrix is read. Raises as :func:`from_coo` does.

    Example:
        >>> g = su.Graph.from_csr([0, 2, 2, 3], [1, 2, 0], device="cpu")
        >>> g.num_vertices, g.has_edges([0, 2], [2, 0]).tolist()
        (3, [True, True])
    """
    refuse_num_vertices(options, "offsets")
    offsets, dst = as_ids(offsets, "offsets"), as_ids(dst, "dst")
    if not len(offsets):
        raise ShapeError("offsets is empty: pass num_vertices + 1 entries, the first of them 0")
    xp = _module(offsets)
    offsets = offsets.astype(np.int64)
    counts = offsets[1:] - offsets[:-1]
    if int(offsets[0]) != 0 or int(offsets[-1]) != len(dst) or bool((counts < 0).any()):
        raise ShapeError(f"offsets must ascend from 0 to the number of edges ({len(dst)})")
    src = xp.searchsorted(offsets, xp.arange(len(dst)), side="right") - 1
    return from_edges(cls, EdgeList(src, dst, weight), len(offsets) - 1, combine, options, matrix=True)


def from_scipy_sparse(cls: type[Graph], matrix: Any, *, combine: Any = None, **options: Any) -> Graph:
    """Return a graph with an edge ``(row, column)`` for every stored entry, explicit zeros included.

    The weights are the values; a bool matrix, or ``weight_dtype=None``, gives an unweighted graph. Entries of the same
    place are summed, integers in 64 bits and floats in double precision. With ``directed=False`` one triangle of a
    symmetric matrix is read. In one that is not, ``combine``, as for :func:`from_coo`, makes one weight of two values;
    without it the one below the diagonal is taken, with a warning.

    Raises:
        ParameterError: ``matrix`` is not a sparse matrix, or is damaged.
        ShapeError: the matrix is not square.
        WeightError: ``weight_dtype`` cannot hold a value or a sum.

    Example:
        >>> import scipy.sparse as sp
        >>> g = su.Graph.from_scipy_sparse(sp.csr_array([[0, 2.5], [0, 0]]), device="cpu")
        >>> g.edges().weight.tolist()
        [2.5]
    """
    refuse_num_vertices(options, "matrix")
    if not callable(getattr(matrix, "tocsr", None)):
        raise ParameterError(f"matrix must be a sparse matrix of SciPy, got {described(matrix)}")
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ShapeError(f"the matrix has shape {matrix.shape}: an adjacency matrix is square")
    try:
        entries = _summed(matrix).tocoo()  # row-major, so that what is below the diagonal comes last
    except ValueError as error:
        raise ParameterError(f"matrix is damaged: {error}") from error
    src, dst = entries.row, entries.col
    unweighted = options.get("weight_dtype", 0) is None or ("weight_dtype" not in options and matrix.dtype.kind == "b")
    if not unweighted and combine != "count":
        options.setdefault("weight_dtype", weight_dtype_of(matrix.dtype))
    weight = None if unweighted else entries.data
    return from_edges(cls, EdgeList(src, dst, weight), matrix.shape[0], combine, options, matrix=True)


def _summed(matrix: Any) -> Any:
    """Return a sparse matrix as CSR, duplicates summed in a type that holds the sum; ``matrix`` is not changed."""
    kind, values = matrix.dtype.kind, matrix.data if matrix.format in ("coo", "csr", "csc", "bsr") else None
    if kind == "f":
        matrix = matrix.astype(np.promote_types(matrix.dtype, np.float64))
    elif kind in "iu" and values is not None:
        most = float(np.abs(values.astype(np.float64)).sum())
        wide = np.float64 if most >= 2.0**63 else np.int64
        matrix = matrix if values.dtype == np.uint64 and most < 2.0**64 else matrix.astype(wide)
    rows = matrix.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


@keywords(source="src=", target="dst=")
def from_pandas_edgelist(
    cls: type[Graph],
    frame: Any,
    src: str | None = None,
    dst: str | None = None,
    weight: str | None = None,
    edge_columns: Any = None,
    **options: Any,
) -> Graph:
    """Return a graph of the rows of a data frame; ``src``, ``dst`` and ``weight`` name its columns.

    Args:
        cls: ``Graph``.
        frame: a data frame of pandas, a (lazy) frame of polars, a table of Arrow, or anything with
            ``__arrow_c_stream__``, such as tables of DuckDB and cuDF.
        src, dst: columns of ids, or of texts, which become the names of the vertices, as in :func:`from_coo`. None:
            ``source`` and ``target``, as in NetworkX, ``src`` and ``dst``, or another usual name (docs/formats.md).
        weight: the column of weights, or None.
        edge_columns: columns that become columns of edges: a list, or a dict of dtypes as for ``Graph``.
        options: options of ``Graph``.

    Raises:
        ParameterError, ShapeError: ``frame`` is not a data frame, lacks a column, or has two that could be an end.
        DTypeError: ids or weights are not numbers, or some are missing.
        WeightError: ``weight_dtype`` without ``weight``.

    Example:
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"source": [0, 1], "target": [1, 2], "km": [0.5, 2.0]})
        >>> g = su.Graph.from_pandas_edgelist(frame, weight="km", device="cpu")
        >>> g.edges().weight.tolist()
        [0.5, 2.0]
    """
    frame = as_table(frame)
    names = None if isinstance(frame, Mapping) else column_names(frame)
    if names is None:
        raise ParameterError(f"frame must be a data frame of pandas, got {described(frame)}")
    check_names(src=src, dst=dst, weight=weight)
    src, dst = ends_in(names, src, dst, "the data frame", ("source", "target"))
    further = [] if edge_columns is None else [*edge_columns]
    missing = [column for column in (weight, *further) if column is not None and column not in names]
    if missing:
        columns = ", ".join(map(str, names))
        raise ShapeError(f"the data frame has no column {missing[0]!r}; it has: {columns}")
    refuse_weight_dtype(options, weight, "column")
    tails, heads = as_numpy(frame[src]), as_numpy(frame[dst])
    if not (are_texts(tails) and are_texts(heads)):
        tails, heads = as_ids(tails, f"column {src!r}"), as_ids(heads, f"column {dst!r}")
    weights: Any = None if weight is None else as_numpy(frame[weight])
    if edge_columns is not None:
        weights = columns_of_edges(edge_columns, weight, weights, options, lambda name: as_numpy(frame[name]))
    return from_coo(cls, tails, heads, weights, **options)


def ends_in(
    names: Sequence[Any], src: Any, dst: Any, label: str, first: tuple[str, str] = ("src", "dst")
) -> tuple[Any, Any]:
    """Return the columns with the ends of edges among those called ``names``: ``src`` and ``dst``, None: to be found.

    ``label`` is what messages call the table, ``first`` the names that are looked for first.

    Raises:
        ShapeError: there is no such column. ParameterError: two could be one.
    """
    found = []
    for end, given, usual in zip(("src", "dst"), (src, dst), first, strict=True):
        name = end_of(end, names, usual) if given is None else given
        if name not in names:
            lacks = f"column of {end} ({end}= names it)" if name is None else f"column {name!r}"
            raise ShapeError(f"{label} has no {lacks}; it has: {', '.join(map(str, names))}")
        found.append(name)
    return found[0], found[1]


def columns_of_edges(
    wanted: Any, weight: str | None, weights: Any, options: dict[str, Any], values: Callable[[str], Any]
) -> dict[str, Any]:
    """Return the columns of edges by name: ``values(name)`` for each in ``wanted``, and a column ``weight``.

    The latter is ``weights``; there is none if ``weight``, the name that the user gave, is None. If ``wanted`` is a
    dict of dtypes, this puts it into ``options``, in place, as ``edge_columns``.

    Raises ``ParameterError`` if ``wanted`` is neither a list nor a dict, or names other weights than ``weight``.
    """
    if isinstance(wanted, str) or not isinstance(wanted, Sequence | Mapping):
        raise ParameterError(f"edge_columns must be a list of names, or a dict with their dtypes, got {shown(wanted)}")
    if weight not in (None, WEIGHT) and WEIGHT in wanted:
        raise ParameterError(f"weight={weight!r} and edge_columns with 'weight': this column is the weights, name one")
    if isinstance(wanted, Mapping):
        options["edge_columns"] = dict(wanted)
    found = {} if weight is None else {WEIGHT: weights}
    return {**found, **{name: values(name) for name in wanted}}


def described(value: Any) -> str:
    """Return the type of an argument that a function does not take and, if it is a graph, how to convert it."""
    advice = _CONVERSIONS.get(type(value).__module__.partition(".")[0])
    return type(value).__name__ + ("" if advice is None else f": use Graph.{advice}")


def from_edge_index(
    cls: type[Graph],
    edge_index: Any,
    num_vertices: int,
    weight: Any = None,
    *,
    combine: Any = None,
    **options: Any,
) -> Graph:
    """Return a graph of a PyTorch Geometric ``edge_index`` (integers, ``[2, edges]``).

    ``combine`` is that of :func:`from_coo`; with ``directed=False`` an ``edge_index`` that has each edge in both
    directions is read as one that has it once.

    Raises:
        ShapeError: ``edge_index`` has another shape.

    Example:
        >>> g = su.Graph.from_edge_index(np.array([[0, 1], [1, 2]]), 3, device="cpu")
        >>> g.num_edges
        2
    """
    src, dst = ends_of_index(as_array(edge_index, "edge_index"))
    return from_edges(cls, EdgeList(src, dst, weight), num_vertices, combine, options, matrix=True)


def ends_of_index(index: Array) -> Array:
    """Return the sources and destinations of an ``edge_index``; ``ShapeError`` unless it is ``[2, edges]``."""
    if index.ndim != 2 or index.shape[0] != 2:
        raise ShapeError(f"edge_index has shape {index.shape}: it must be [2, edges]")
    return index


@on_graph_device
def to_csr(graph: Graph) -> Adjacency:
    """Return ``(offsets int64[num_vertices + 1], dst uint32[arcs], weight)``, rows ordered by destination.

    Example:
        >>> g = su.Graph.from_coo([0, 0, 2], [1, 2, 0], device="cpu")
        >>> offsets, dst, weight = g.to_csr()
        >>> offsets.tolist(), dst.tolist()
        ([0, 2, 2, 3], [1, 2, 0])
    """
    graph.synchronize()
    xp = graph.device.xp
    edges = scaled(graph, graph.store("out").edges())
    edges = picked(edges, xp.argsort(edge_keys(edges.src, edges.dst)))
    offsets = xp.searchsorted(edges.src, xp.arange(graph.num_vertices + 1, dtype=np.uint32)).astype(np.int64)
    return Adjacency(offsets, edges.dst, edges.weight).in_rows(edges.row)


@on_graph_device
def to_scipy_sparse(graph: Graph, weight: str | None = None, *, names: bool = False) -> Any:
    """Return the adjacency matrix as ``scipy.sparse.csr_array``: the weights, or ones (float64).

    Args:
        graph: the graph.
        weight: a column of edges; by default the one called ``weight``, if there is one.
        names: return ``(matrix, names)``: a list of the names by row, None for vertices without one; or None.

    Example:
        >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
        >>> g.to_scipy_sparse().toarray()
        array([[0., 1., 0.],
               [0., 0., 1.],
               [0., 0., 0.]])
    """
    import scipy.sparse

    rows = to_csr(graph)
    to_numpy, data = graph.device.to_numpy, np.ones(len(rows.dst))
    if weight is None and WEIGHT in graph.edge_columns:
        weight = WEIGHT
    if weight is not None:
        data = on_host(table_of(graph).values(weight, rows.row))
    elif rows.weight is not None:
        data = to_numpy(rows.weight)
    parts: Any = (data, to_numpy(rows.dst).astype(np.int64), to_numpy(rows.offsets))
    matrix = scipy.sparse.csr_array(parts, shape=(graph.num_vertices,) * 2)
    return (matrix, names_by_vertex(graph)) if flag("names", names) else matrix


@keywords(source="src=", target="dst=")
@on_graph_device
def to_pandas_edgelist(
    graph: Graph, src: str = "source", dst: str = "target", weight: str = "weight", *, names: bool = True
) -> Any:
    """Return a ``pandas.DataFrame`` with one row per edge; no column ``weight`` if the graph is unweighted.

    The arguments name its columns, by default as NetworkX does. Other columns of edges keep their own names. If the
    graph has names, they are the ends of the edges; with ``names=False`` these are ids.

    Raises:
        ParameterError: two columns would have the same name, or a name is not a text.
        RequirementError: a vertex has edges and no name.

    Example:
        >>> g = su.Graph.from_coo([0, 1], [1, 2], [0.5, 2.0], device="cpu")
        >>> g.to_pandas_edgelist()
           source  target  weight
        0       0       1     0.5
        1       1       2     2.0
    """
    pandas = library("pandas", "pandas")
    check_names(src=src, dst=dst, weight=weight)
    if len({src, dst, weight}) < 3:
        raise ParameterError(f"src, dst and weight must differ, got {src!r}, {dst!r} and {weight!r}")
    edges = graph.edges()
    columns = attributes_of(graph, edges, weight)
    if {src, dst} & columns.keys():
        raise ParameterError(f"src={src!r} and dst={dst!r} must differ from the columns of edges")
    ends = {src: graph.device.to_numpy(edges.src), dst: graph.device.to_numpy(edges.dst)}
    if flag("names", names) and names_by_vertex(graph) is not None:
        ends = {label: _named(graph, ids) for label, ids in ends.items()}
    with utf8_only():
        return pandas.DataFrame({**ends, **columns})


def _named(graph: Graph, ids: np.ndarray) -> np.ndarray:
    """Return the names, or nodes, of the vertices ``ids``; raises ``RequirementError`` if one has none."""
    if graph.names is not None and graph.names.has(ids).all():
        return graph.names[ids]
    nodes = named_nodes(graph, ids)
    if None in nodes:
        raise RequirementError(f"vertex {ids[nodes.index(None)]} has edges and no name: pass names=False for ids")
    return np.fromiter(nodes, object, len(nodes))


@on_graph_device
def to_edge_index(graph: Graph, *, names: bool = False) -> tuple[Any, ...]:
    """Return ``(int64[2, arcs], weights or None)`` on the graph's device, both directions of undirected edges.

    With ``names`` a list of the names by vertex follows, None for vertices without one; or None.

    Example:
        >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
        >>> g.to_edge_index()
        (array([[0, 1],
               [1, 2]]), None)
    """
    xp = graph.device.xp
    edges = graph.edges()
    src, dst, weight = edges if graph.directed else both_directions(xp, edges)
    index = xp.stack((src, dst)).astype(np.int64)
    return (index, weight, names_by_vertex(graph)) if flag("names", names) else (index, weight)


def weight_dtype_of(dtype: Any) -> np.dtype:
    """Return the dtype of graph weights for values of ``dtype``; 64-bit integers become int32, values checked later."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return np.dtype(np.float32 if dtype.itemsize <= 4 else np.float64)
    if dtype.kind in "iu":
        return np.dtype(np.uint32 if dtype == np.uint32 else np.int32)
    raise DTypeError(f"weights have dtype {dtype}: they must be numbers")


def check_names(**arguments: Any) -> None:
    """Raise ``ParameterError`` for an argument that cannot be the name of a column or an attribute."""
    for argument, name in arguments.items():
        if not isinstance(name, Hashable):
            raise ParameterError(f"{argument} must be a name, got {shown(name)}")


def refuse_weight_dtype(options: dict[str, Any], weight: str | None, what: str) -> None:
    """Raise ``WeightError`` if there is a ``weight_dtype``, but no ``weight``, the name of a ``what``."""
    if weight is None and options.get("weight_dtype") is not None:
        raise WeightError(
            f"weight_dtype was given without weight: name the {what} with the weights, as weight='weight'"
        )


def refuse_num_vertices(options: dict[str, Any], argument: str) -> None:
    """Raise ``ParameterError`` if ``num_vertices`` is among the options; ``argument`` determines it."""
    if "num_vertices" in options:
        raise ParameterError(f"num_vertices cannot be given: {argument} determines it")


def _largest(ids: Array, argument: str) -> int:
    if not len(ids):
        return -1
    largest = int(ids.max())
    if largest >= MAX_VERTICES:
        where = f"{argument}[{int(ids.argmax())}] is {shown(largest)}"
        raise VertexRangeError(f"{where}, but ids are 0 to {MAX_VERTICES - 1}: {_NUMBERING}")
    return largest


def _module(array: Array) -> Any:
    return np if isinstance(array, np.ndarray) else importlib.import_module("cupy")
