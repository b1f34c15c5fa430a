"""Frames: what trackers know of live vertices, as columns with names. ``kind``: the algorithm, a class or an object."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate.base.devices import Array, total
from suricate.base.errors import ParameterError, ShapeError, UnknownNameError
from suricate.base.parameters import flag, integer, shown
from suricate.base.types import EMPTY
from suricate.base.visible import visible
from suricate.graph.interface import html
from suricate.graph.naming import columns_of, named_vertices, names_of, vertices_of
from suricate.intake.arrays import few_valid
from suricate.intake.name_values import utf8_only
from suricate.intake.tables import library, without_empty

if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.intake.names import Names
    from suricate.plugins.algorithm import Algorithm

ENDS = "src", "dst"  #: the first fields of a result with a value per edge
SOURCE = "source"  #: the last field of a result with a value per vertex and source, whose arrays are (n, k)
SHOWN = 10  #: rows in the ``repr`` of a frame


class Frame:
    """Columns of equal length in host memory, in a fixed order; iterating yields the rows as tuples.

    pandas, polars, DuckDB and others read it: by :meth:`to_pandas`, :meth:`to_arrow` or the Arrow C stream interface.
    Where a column of ids has no vertex, it is masked (NumPy), None (rows), or null.

    Attributes:
        columns: the names of the columns.
    """

    def __init__(self, columns: dict[str, np.ndarray]) -> None:
        self._columns, self.columns = columns, tuple(columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def __getitem__(self, column: str) -> np.ndarray:
        """Return a column.

        Raises:
            UnknownNameError: there is none of this name.
        """
        if column not in self.columns:
            raise UnknownNameError(f"there is no column {shown(column)}; there are {', '.join(self.columns)}")
        return self._columns[column]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return zip(*(column.tolist() for column in self._columns.values()), strict=True)

    _repr_html_ = html.of_frame

    def __repr__(self) -> str:
        head = {name: column[:SHOWN].tolist() for name, column in self._columns.items()}
        cells = [[name, *map(visible, values)] for name, values in head.items()]
        widths = [max(map(len, column)) for column in cells]
        rows = (zip(row, widths, strict=True) for row in zip(*cells, strict=True))
        lines = ["  ".join(cell.rjust(width) for cell, width in row) for row in rows]
        return "\n".join(lines + [f"... {len(self)} rows"] * (len(self) > SHOWN))

    def to_pandas(self) -> Any:
        """Return a ``pandas.DataFrame``; masked columns have a nullable dtype, such as ``Int64``.

        Raises:
            MissingLibraryError: pandas is not installed.
        """
        pandas = library("pandas", "pandas")
        kinds: Any = {"f": pandas.arrays.FloatingArray}
        columns = {
            name: kinds.get(part.dtype.kind, pandas.arrays.IntegerArray)(part.data, np.ma.getmaskarray(part))
            if np.ma.isMaskedArray(part)
            else part
            for name, part in self._columns.items()
        }
        with utf8_only():
            return pandas.DataFrame(columns)

    def to_arrow(self) -> Any:
        """Return a ``pyarrow.Table``; raises ``MissingLibraryError`` without pyarrow."""
        with utf8_only():
            return library("pyarrow", "arrow").table(self._columns)

    def to_polars(self) -> Any:
        """Return a ``polars.DataFrame``; raises ``MissingLibraryError`` without polars and pyarrow."""
        return library("polars", "polars").from_arrow(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_arrow().__arrow_c_stream__(requested_schema)


class Seen(NamedTuple):
    """The copy of a result with which ``Tracker.changed`` compares the next one.

    Attributes:
        fields: copies of the result's arrays.
        live: ``bool[num_vertices]``: which vertices were live, on the host.
        version: the version of the graph's names.
    """

    fields: dict[str, Array]
    live: np.ndarray
    version: int


# -- results -----------------------------------------------------------------------------------------------------------


def fields_of(result: Any) -> dict[str, Any]:
    """Return the arrays and numbers of a result by name; a result that is one array is called ``value``."""
    return result._asdict() if hasattr(result, "_asdict") else {"value": result}


def of_fields(result: Any, fields: dict[str, Any]) -> Any:
    """Return ``result`` with its parts replaced by ``fields``, in the form that :func:`fields_of` returns."""
    return result._replace(**fields) if hasattr(result, "_asdict") else fields["value"]


def is_of_edges(result: Any) -> bool:
    """Return whether a result has a value per edge: a NamedTuple with ``src`` and ``dst`` first, in ascending order."""
    return getattr(result, "_fields", ())[:2] == ENDS


def is_of_sources(result: Any) -> bool:
    """Return whether a result has a value per vertex and source: a NamedTuple with ``source`` last."""
    return getattr(result, "_fields", ())[-1:] == (SOURCE,)


def per_vertex(graph: Graph, result: Any) -> dict[str, Array]:
    """Return by name the arrays of a result with an entry per vertex or edge, on the graph's device or the host.

    Of a result of several sources, those with a row per vertex.
    """
    if is_of_edges(result):
        return {name: part for name, part in result._asdict().items() if np.shape(part) == np.shape(result.src)}
    if is_of_sources(result):
        return {name: part for name, part in result._asdict().items() if name != SOURCE}
    parts = {name: part if hasattr(part, "shape") else np.asarray(part) for name, part in fields_of(result).items()}
    return {name: part for name, part in parts.items() if part.shape == (graph.num_vertices,)}


def entries(
    graph: Graph, result: Any, kind: Algorithm | type[Algorithm], *, edges: bool = False, wanted: str = ""
) -> dict[str, Array]:
    """Return the arrays with an entry per vertex in a result, by name; ``ParameterError`` if there are none.

    ``edges``: also those with an entry per edge, other than ``src`` and ``dst``, or per vertex and source, which become
    flat, vertex by vertex. ``wanted``: what the error says in place of where values are.
    """
    if is_of_sources(result) and edges:
        return {name: part.reshape(-1) for name, part in per_vertex(graph, result).items()}
    found = per_vertex(graph, result) if edges or not (is_of_edges(result) or is_of_sources(result)) else {}
    found = {name: part for name, part in found.items() if name not in ENDS or not is_of_edges(result)}
    if not found:
        instead = "call at(src, dst)" if is_of_edges(result) else "read its result"
        what = "value per vertex alone, but one for each source" if is_of_sources(result) else "value per vertex"
        raise ParameterError(f"{kind.name} gives no {what}: {wanted or instead}")
    return found


def _rows(graph: Graph, result: Any) -> tuple[Array, Callable[[Array], dict[str, np.ndarray]]]:
    """Return where the rows of a frame of ``result`` are in its arrays, and what makes columns of such places.

    The places are live vertices or, of a result of edges, all of these, of one of sources live vertices for each. The
    columns say what a row stands for.
    """
    if is_of_sources(result):
        live, k = graph.live_vertices.astype(np.int64), len(result.source)
        flat = (live[None, :] * k + graph.device.xp.arange(k)[:, None]).reshape(-1)
        return flat, lambda places: _sources_of(graph, result.source, _on_host(graph, places))
    if not is_of_edges(result):
        return graph.live_vertices, lambda places: columns_of(graph, _on_host(graph, places))
    return graph.device.xp.arange(len(result.src)), lambda places: {
        name: _called(graph, _on_host(graph, _picked(graph, getattr(result, name), places))) for name in ENDS
    }


def _vertices_at(graph: Graph, result: Any, places: Array) -> Array:
    """Return the vertex, or the source of the edge, of each of the places that :func:`_rows` gives."""
    if is_of_sources(result):
        return places // len(result.source)
    return _picked(graph, result.src, places) if is_of_edges(result) else places


def _sources_of(graph: Graph, source: Array, places: np.ndarray) -> dict[str, np.ndarray]:
    """Return the columns ``source`` and ``vertex``, with names where the graph has some, of flat ``places``."""
    sources = _on_host(graph, source)
    vertices, column = np.divmod(places, max(len(sources), 1))
    found = {SOURCE: sources[column]}
    if graph.names is not None:
        found["source_name"] = names_of(graph.names, sources)[column]
    return {**found, **columns_of(graph, vertices.astype(np.uint32))}


def _called(graph: Graph, vertices: np.ndarray) -> np.ndarray:
    """Return the names of ends of edges or, if the graph has none, their ids, as frames of deltas have them."""
    return vertices if graph.names is None else names_of(graph.names, vertices)


def chosen(graph: Graph, ids: Any, names: Any) -> tuple[Array, bool]:
    """Return the vertices given to ``Tracker.at``, ``int64[k]`` on the device, and whether it was a single one."""
    if names is None and not graph.device.is_cuda and (few := few_valid((ids, ids, None), graph.num_vertices)):
        return few.src.astype(np.int64), False
    if (ids is None) == (names is None):
        raise ParameterError("at takes ids, or names=")
    values, argument = (ids, "ids") if names is None else (names, "names")
    if np.ndim(values) > 1:
        raise ShapeError(f"{argument} has shape {np.shape(values)}: pass a one-dimensional array or a list")
    is_one = isinstance(values, (str, bytes)) or np.ndim(values) == 0
    find = vertices_of if names is None else named_vertices
    vertices = find(graph, [values] if is_one else values, argument).astype(np.int64)
    return graph.device.xp.asarray(vertices), is_one


def at(graph: Graph, result: Any, kind: Algorithm | type[Algorithm], vertices: Array) -> Any:
    """Return the result of algorithm ``kind`` with its arrays by vertex reduced to ``vertices`` (``int64[k]``)."""
    parts = per_vertex(graph, result) if is_of_sources(result) else entries(graph, result, kind)
    picked = {name: _picked(graph, part, vertices) for name, part in parts.items()}
    return of_fields(result, picked)


def at_edges(graph: Graph, result: Any, kind: Algorithm | type[Algorithm], src: Any, dst: Any) -> Any:
    """Return the result of algorithm ``kind`` at the edges from ``src`` to ``dst``, ids or texts, a list or one each.

    Values are ``float64``, NaN where the result has no such edge. Raises as ``Tracker.at``.
    """
    if not is_of_edges(result):
        raise ParameterError(f"{kind.name} gives values per vertex: at takes ids, or names=")
    (src, is_one), (dst, _) = (chosen(graph, ends, None) for ends in (src, dst))
    if len(src) != len(dst):
        raise ShapeError(f"src has {len(src)} entries, dst has {len(dst)}")
    xp, held = graph.device.xp, per_vertex(graph, result)
    if not graph.directed:
        src, dst = xp.minimum(src, dst), xp.maximum(src, dst)
    keys, wanted = (_keys(xp, *ends) for ends in ((result.src, result.dst), (src, dst)))
    places = xp.minimum(xp.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    missing = keys[places] != wanted if len(keys) else xp.ones(len(wanted), bool)
    picked: dict[str, Any] = {"src": src.astype(np.uint32), "dst": dst.astype(np.uint32)}
    for name in held.keys() - {*ENDS}:
        values = held[name][places].astype(np.float64) if len(keys) else xp.empty(len(wanted))
        values[missing] = np.nan
        picked[name] = values
    found = of_fields(result, picked)
    return of_one(found) if is_one else found


def _keys(xp: Any, src: Array, dst: Array) -> Array:
    return xp.asarray(src).astype(np.uint64) << np.uint64(32) | xp.asarray(dst).astype(np.uint64)


def of_one(result: Any) -> Any:
    """Return ``result``, the result at one vertex or edge, with plain numbers in place of arrays of length 1."""
    if is_of_sources(result):
        return result._replace(**{name: part[0] for name, part in result._asdict().items() if name != SOURCE})
    parts = {name: part[0].item() if np.ndim(part) else part for name, part in fields_of(result).items()}
    return of_fields(result, parts)


def full(graph: Graph, result: Any, kind: Algorithm | type[Algorithm], *, own: bool = False) -> Frame:
    """Return a frame of the result of algorithm ``kind``: a row per live vertex, ascending by id, or per edge.

    Of a result of several sources, a row per live vertex for each of these. ``own``: without vertices, or sources of
    edges, that other ranks own.
    """
    columns, (places, called) = entries(graph, result, kind, edges=True), _rows(graph, result)
    if own and graph.partition is not None:
        places = places[graph.partition.owns(_vertices_at(graph, result, places))]
    rows = {name: _on_host(graph, _picked(graph, part, places)) for name, part in columns.items()}
    return Frame({**called(places), **_with_names(graph, rows, kind)})


def of_own(graph: Graph, vertices: Array, result: Any, kind: Algorithm | type[Algorithm]) -> Frame:
    """Return the frame of the live ones of ``vertices``, where ``result`` has one value for each of these."""
    live = graph.live[vertices]
    rows = {name: _on_host(graph, part[live]) for name, part in fields_of(result).items()}
    return Frame({**columns_of(graph, _on_host(graph, vertices[live])), **_with_names(graph, rows, kind)})


def top(graph: Graph, result: Any, kind: Algorithm | type[Algorithm], k: int, by: str | None, largest: bool) -> Frame:
    """Return the frame of ``Tracker.top``: the first vertices ranked by field ``by``, or the largest groups."""
    k, columns = integer("k", k, low=0), entries(graph, result, kind, edges=True)
    flag("largest", largest)
    if by is not None and not (isinstance(by, str) and by in columns):
        raise ParameterError(f"by must be one of {', '.join(columns)}, got {shown(by)}")
    (live, called), to_numpy = _rows(graph, result), partial(_on_host, graph)
    if by is None and kind.groups in columns:
        found, sizes = np.unique(to_numpy(_picked(graph, columns[kind.groups], live)), return_counts=True)
        best = _first(graph, sizes, k, largest)
        return Frame({"rank": _ranks(best), **columns_of(graph, found[best]), "size": sizes[best]})
    ranked = _picked(graph, columns[by or next(iter(columns))], live)
    best = _first(graph, ranked, k, largest)
    chosen = live[graph.device.xp.asarray(best)]
    rows = {name: to_numpy(_picked(graph, part, chosen)) for name, part in columns.items()}
    return Frame({"rank": _ranks(best), **called(chosen), **_with_names(graph, rows, kind)})


def _with_names(graph: Graph, rows: dict[str, np.ndarray], kind: Algorithm | type[Algorithm]) -> dict[str, np.ndarray]:
    """Return the columns ``rows``, masked where there is no vertex, and a column of names behind each of ids."""
    columns = {}
    for name, column in rows.items():
        columns[name] = without_empty(column)
        if name in kind.pointers:
            columns[name] = np.ma.masked_where((column < 0) | (column == EMPTY), column)
        if graph.names is not None and name in (*kind.pointers, kind.groups):
            columns[f"{name}_name"] = names_of(graph.names, column)
    return columns


def without_unreached(frame: Frame, kind: Algorithm | type[Algorithm]) -> Frame:
    """Return ``frame``, of :func:`top`, masked where a search has not reached a vertex, whatever its result has there.

    The algorithm ``kind`` has ``pointers``, and there is no vertex in one of them; else the frame stays as it is.
    """
    pointers = [frame[name] for name in kind.pointers if name in frame.columns]
    if not pointers:
        return frame
    gone = np.logical_or.reduce([np.ma.getmaskarray(pointer) for pointer in pointers])
    known = {name: frame[name] for name in frame.columns}
    hidden = {name: np.ma.masked_where(gone, part) for name, part in known.items() if part.dtype.kind in "iuf"}
    return Frame(known | {name: part for name, part in hidden.items() if name not in ("rank", "vertex")})


def _picked(graph: Graph, part: Array, vertices: Array) -> Array:
    """Return ``part[vertices]``; either array may be on the host or on the device."""
    xp = np if isinstance(part, np.ndarray) else graph.device.xp
    return part[xp.asarray(_on_host(graph, vertices) if xp is np else vertices).astype(np.int64)]


def _on_host(graph: Graph, array: Array) -> np.ndarray:
    return array if isinstance(array, np.ndarray) else graph.device.to_numpy(array)


def _ranks(best: Array) -> np.ndarray:
    return np.arange(1, len(best) + 1)


def _first(graph: Graph, values: Array, k: int, largest: bool) -> np.ndarray:
    """Return the indices, on the host, of the ``k`` largest or smallest values in order, ties by index, NaN last."""
    xp, to_numpy = np if isinstance(values, np.ndarray) else graph.device.xp, partial(_on_host, graph)
    places = xp.arange(len(values))
    if values.dtype.kind == "f":
        places = xp.concatenate((xp.flatnonzero(values == values), xp.flatnonzero(values != values)))
    values = values.view(np.uint8) if values.dtype.kind == "b" else values
    numbers = total(values == values)
    if k < numbers:
        kept, at = values[places[:numbers]], numbers - k if largest else k - 1
        bound = xp.partition(kept, at)[at] if k else 0
        inside = xp.flatnonzero(kept > bound if largest else kept < bound) if k else kept[:0].astype(np.int64)
        ties = xp.flatnonzero(kept == bound)[: k - len(inside)]
        places, numbers = places[xp.sort(xp.concatenate((inside, ties)))], k
    chosen = to_numpy(values[places[:numbers]])
    order = (
        numbers - 1 - np.argsort(chosen[::-1], kind="stable")[::-1] if largest else np.argsort(chosen, kind="stable")
    )
    host = to_numpy(places)
    return np.concatenate((host[:numbers][order], host[numbers:]))[:k]


# -- changes -----------------------------------------------------------------------------------------------------------


def seen(graph: Graph, result: Any, kind: Algorithm | type[Algorithm]) -> Seen:
    """Return copies of the arrays of ``result`` by vertex, with what :func:`changed` needs to compare them later."""
    parts = per_vertex(graph, result) if is_of_edges(result) or is_of_sources(result) else entries(graph, result, kind)
    parts = {**parts, SOURCE: result.source} if is_of_sources(result) else parts
    fields = {name: part.copy() for name, part in parts.items()}
    return Seen(fields, _on_host(graph, graph.live), 0 if graph.names is None else graph.names.version)


def changed(graph: Graph, kind: Algorithm | type[Algorithm], before: Seen | None, now: Seen, atol: float) -> Frame:
    """Return the frame of ``Tracker.changed``; ``before`` None: all live vertices."""
    if before is None:
        before = Seen({name: part[:0] for name, part in now.fields.items()}, now.live[:0], 0)
    if tuple(now.fields)[:2] == ENDS:
        return _changed_edges(graph, kind, before, now, atol)
    if tuple(now.fields)[-1:] == (SOURCE,):
        return _changed_of_sources(graph, before, now, atol)
    size, to_numpy = len(before.live), partial(_on_host, graph)  # ids stay valid: there are no fewer now
    was, differs = np.zeros((2, len(now.live)), bool)
    was[:size] = before.live
    for name, part in now.fields.items():
        differs[:size] |= to_numpy(differ(graph, part[:size], before.fields[name], atol))
    if graph.names is not None and graph.names.version > before.version:
        is_other = graph.names.since(np.arange(len(was))) > before.version  # the id was given to another name
        differs, was = differs | is_other, was & ~(is_other & now.live)
    rows = np.flatnonzero((now.live != was) | (now.live & differs))
    left = ~now.live[rows]
    columns, fields = columns_of(graph, rows.astype(np.uint32)), {}
    if graph.names is not None and left.any():
        columns["name"] = _with_last_names(graph.names, columns["name"], rows, left, before.version)
    for name, part in now.fields.items():
        fields[name] = to_numpy(_picked(graph, part, rows))
        fields[name][left] = to_numpy(_picked(graph, before.fields[name], rows[left]))
    for name, column in _with_names(graph, fields, kind).items():
        if name not in fields and left.any():  # names of ids of that time
            column = column.astype(object)
            column[left] = None
        columns[name] = column
    columns["change"] = np.where(left, "left", np.where(was[rows], "changed", "new")).astype(object)
    return Frame(columns)


def _changed_edges(graph: Graph, kind: Algorithm | type[Algorithm], before: Seen, now: Seen, atol: float) -> Frame:
    """Return the frame of ``Tracker.changed`` for values per edge: edges that came, left, or have another value."""
    was, held = ({name: _on_host(graph, part) for name, part in seen.fields.items()} for seen in (before, now))
    old, new = (_keys(np, fields["src"], fields["dst"]) for fields in (was, held))
    _, at, places = np.intersect1d(old, new, assume_unique=True, return_indices=True)
    differs, is_new = np.zeros(len(at), bool), np.ones(len(new), bool)
    for name in held.keys() - {*ENDS}:
        differs |= differ(graph, held[name][places], was[name][at], atol)
    is_new[places] = False
    gone, rows = np.flatnonzero(~np.isin(old, new)), np.flatnonzero(is_new)
    kinds = {"new": (held, rows), "changed": (held, places[differs]), "left": (was, gone)}
    columns = {name: np.concatenate([fields[name][some] for fields, some in kinds.values()]) for name in held}
    order = np.argsort(_keys(np, columns["src"], columns["dst"]))
    called = {name: _called(graph, columns.pop(name)[order]) for name in ENDS}
    rest = _with_names(graph, {name: column[order] for name, column in columns.items()}, kind)
    change = np.repeat(np.array([*kinds], object), [len(some) for _, some in kinds.values()])[order]
    return Frame({**called, **rest, "change": change})


def _changed_of_sources(graph: Graph, before: Seen, now: Seen, atol: float) -> Frame:
    """Return the frame of ``Tracker.changed`` for values per vertex and source: a row for each that differs."""
    size, (n, k) = len(before.live), (len(now.live), len(now.fields[SOURCE]))
    was, differs = np.zeros(n, bool), np.zeros((n, k), bool)
    was[:size] = before.live
    names = [name for name in now.fields if name != SOURCE]
    for name in names:
        if size:
            differs[:size] |= _on_host(graph, differ(graph, now.fields[name][:size], before.fields[name], atol))
    rows = (now.live != was)[:, None] | (now.live[:, None] & differs)
    column, vertices = np.nonzero(rows.T)
    left, fields = ~now.live[vertices], {}
    for name in names:
        fields[name] = _on_host(graph, now.fields[name])[vertices, column]
        fields[name][left] = _on_host(graph, before.fields[name])[vertices[left], column[left]]
    called = _sources_of(graph, now.fields[SOURCE], vertices * k + column)
    change = np.where(left, "left", np.where(was[vertices], "changed", "new")).astype(object)
    return Frame({**called, **fields, "change": change})


def _with_last_names(names: Names, column: np.ndarray, rows: np.ndarray, left: np.ndarray, version: int) -> np.ndarray:
    """Return ``column``, the present names of the vertices ``rows``, with former names where ``left`` is true."""
    ids, last = names.forgotten(version)
    known = dict(zip(ids.tolist(), last.tolist(), strict=True))
    column = column.astype(object)
    recent = left & (~names.has(rows) | (names.since(rows) > version))
    column[recent] = [known.get(vertex) for vertex in rows[recent].tolist()]
    return column


def differ(graph: Graph, a: Array, b: Array, atol: float = 0.0) -> Array:
    """Return a mask of the entries that differ by more than ``atol``; NaN equals NaN, infinities themselves."""
    differ = (a != b) & ((a == a) | (b == b))
    if not atol:
        return differ
    xp = np if isinstance(a, np.ndarray) else graph.device.xp
    if a.dtype.kind == "b":
        a, b = a.view(np.uint8), b.view(np.uint8)
    with np.errstate(invalid="ignore", over="ignore"):
        distance = xp.where(a > b, a - b, b - a)
    if a.dtype.kind == "i":
        distance = distance.view(f"u{a.dtype.itemsize}")  # right even where it wrapped
    return differ & ~(distance <= atol)
