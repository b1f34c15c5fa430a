"""``write``: edges to a file in one of the text formats; the file appears only when it is complete."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from suricate.base.errors import ParameterError, ShapeError, UnknownNameError, VertexRangeError, WeightError
from suricate.base.files import as_path, replacing
from suricate.base.parameters import flag, integer
from suricate.base.progress import working
from suricate.base.types import MAX_VERTICES
from suricate.comm.protocol import SelfComm
from suricate.intake.arrays import as_array, as_ids, on_host
from suricate.intake.name_values import utf8_only
from suricate.io import files
from suricate.io.divided.meeting import Together
from suricate.io.edge_file import EdgeFile
from suricate.io.formats import BY_SUFFIX, FORMATS, TABLE_FORMATS, TEXT_SUFFIXES
from suricate.io.formatter import format_chunk
from suricate.io.times import to_text

SMALL_ROWS = 1 << 16  #: edges up to which a file is written without compiled code
_LINE_BREAKS = frozenset("\n\r\0")
_ROWS = 1 << 17  # edges formatted at a time


def write(
    edges: Any,
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    num_vertices: int | None = None,
    directed: bool | None = None,
    labels: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> Path:
    """Write edges to ``path``, compressed if the name ends in ``.gz``, ``.xz``, ``.bz2``, ``.zst`` or ``.lz4``.

    Returns the path. The file appears only when it is complete: after an error an existing file is unchanged. Of a
    graph of several processes, all of which make the call, the first one writes the file.

    Args:
        edges: a ``Graph``, an ``EdgeFile``, an ``EdgeList`` or ``(src, dst[, weight])`` of ids, on any device.
        path: the file.
        format: one of ``suricate.io.FORMATS``; None: by the extension. ``.txt``, similar extensions and none mean
            ``"temporal"`` if there are times, else ``"snap"``.
        num_vertices: number of vertices; None: that of ``edges``, else the largest id + 1.
        directed: whether edges are arcs, not both directions at once; None: as in ``edges``, else True.
        labels: write the original ids of an ``EdgeFile`` that was read with ``relabel``, or the names of a ``Graph``
            (not for ``.mtx`` and ``.gr``).
        progress: called with (edges written, edges).

    An undirected graph has each edge once in the file, except in ``.gr``, which has arcs. ``.gr`` needs whole weights;
    unweighted edges get weight 1. Decimals are the shortest that give the same number again. CSV, Parquet and Arrow
    files have the columns of an ``EdgeFile`` or of a ``Graph`` with ``edge_columns``, under their names; other formats
    have the one called ``weight``.

    Raises:
        OSError: the file cannot be written.
        UnknownNameError: there is no such format, or the extension is unknown and ``format`` not given.
        DTypeError, VertexRangeError, WeightError, ShapeError: the edges cannot be written in this format.
        ParameterError: an argument of the wrong type or value.

    Example:
        >>> g = su.Graph.from_coo([0, 1], [1, 2], device="cpu")
        >>> file = su.write(g, "edges.txt")
        >>> print(file.read_text(), end="")
        # Directed graph
        # Nodes: 3 Edges: 2
        # src dst
        0 1
        1 2
    """
    path = as_path(path)
    content = _gather(edges, path, num_vertices, directed)
    format = format_of(path, format) or ("snap" if content.time is None else "temporal")
    if labels and content.labels is None:
        content = replace(content, labels=_names_of(edges, content))
    if labels and (content.labels is None or format in ("mtx", "gr")):
        raise ParameterError("labels=True needs a file read with relabel or a graph with names, and not mtx and gr")
    comm = SelfComm() if getattr(edges, "partition", None) is None else edges.partition.comm
    with working(f"writing {path.name}") if progress is None else nullcontext(progress) as told, Together(comm):
        if comm.rank == 0:
            _WRITERS[format](content if labels else replace(content, labels=None), told)
    return path


def format_of(path: Path, format: str | None) -> str | None:
    """Return ``format`` or, if it is None, the format of the extension of ``path``.

    For ``.txt`` and similar extensions it is None: ``"snap"`` or ``"temporal"``, which depends on the columns.

    Raises:
        UnknownNameError: there is no such format, or it is not given and the extension is unknown.
        ParameterError: the extension is that of a Parquet or Arrow file that is compressed as a whole.
    """
    if format is not None:
        if format not in FORMATS:
            raise UnknownNameError(f"unknown format {format!r}: there are {', '.join(FORMATS)}")
        return format
    extension, compression = files.split_suffix(path)
    if extension in TEXT_SUFFIXES:
        return None
    if extension not in BY_SUFFIX:
        known = ", ".join(sorted({*BY_SUFFIX, *TEXT_SUFFIXES} - {""}))
        raise UnknownNameError(f"unknown extension {extension!r} of {path}: name the format, or use one of {known}")
    if compression and BY_SUFFIX[extension] in TABLE_FORMATS:
        raise ParameterError(f"{path}: {BY_SUFFIX[extension]} files are compressed inside, not as a whole")
    return BY_SUFFIX[extension]


def _gather(edges: Any, path: Path, num_vertices: int | None, directed: bool | None) -> EdgeFile:
    """Return ``edges`` as arrays on the host that have been checked."""
    parts = edges.edges() if callable(getattr(edges, "edges", None)) else edges  # a Graph, or what holds arrays
    src, dst, weight, time = _arrays_of(edges, parts)
    further = dict(edges.columns) if isinstance(edges, EdgeFile) else {}
    if getattr(edges, "edge_table", None) is not None:
        further = {name: on_host(edges.edge_columns.at_rows(name, parts.row)) for name in edges.edge_columns}
        weight = further.pop("weight", None)
    if taken := further.keys() & {"src", "dst", "weight", "time"}:
        raise ParameterError(f"a column of edges is called {min(taken)!r}, as another one of the file: rename it")
    if any(part is not None and part.shape != (len(src),) for part in (dst, weight, time, *further.values())):
        raise ShapeError("edges need arrays of one dimension and of the same length")
    _check_weights(weight)
    highest = max((int(ids.max()) for ids in (src, dst) if len(ids)), default=-1)
    known = getattr(edges, "num_vertices", None)
    count = known if num_vertices is None else integer("num_vertices", num_vertices, low=0)
    count = highest + 1 if count is None else count
    if highest >= min(count, MAX_VERTICES):
        raise VertexRangeError(f"id {highest} is not below num_vertices={min(count, MAX_VERTICES)}")
    arcs = getattr(edges, "directed", None) is not False if directed is None else flag("directed", directed)
    labels, unit = getattr(edges, "labels", None), getattr(edges, "time_unit", None)
    return EdgeFile(src, dst, weight, time, count, arcs, labels, path, "", unit, columns=further)


def _names_of(graph: Any, content: EdgeFile) -> np.ndarray | None:
    """Return the name of every vertex of a graph, None if it has none; each vertex of an edge must have a name."""
    names = getattr(graph, "names", None)
    if names is None:
        return None
    has = names.has(np.arange(content.num_vertices))
    nameless = [int(ids[~has[ids]][0]) for ids in (content.src, content.dst) if not has[ids].all()]
    if nameless:
        raise ParameterError(f"labels=True, but vertex {min(nameless)} has edges and no name")
    known = names[np.flatnonzero(has)]
    labels = np.full(content.num_vertices, "-" if known.dtype == object else 0, known.dtype)  # no edge has these
    labels[has] = known
    return labels


def _arrays_of(edges: Any, parts: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Return (src, dst, weight or None, time or None) of edges on any device as host arrays."""
    if hasattr(parts, "src"):
        src, dst, weight = parts.src, parts.dst, parts.weight
    elif isinstance(parts, (tuple, list)) and len(parts) in (2, 3):
        src, dst, weight = parts if len(parts) == 3 else (*parts, None)
    else:
        raise ParameterError(f"edges must be a Graph, an EdgeFile, an EdgeList or (src, dst[, weight]), got {edges!r}")
    src, dst = (on_host(as_ids(ids, name)) for ids, name in ((src, "src"), (dst, "dst")))
    for ids in (src, dst):
        if len(ids) and int(ids.min()) < 0:
            raise VertexRangeError(f"id {int(ids.min())} is negative")
    optional = (("weight", weight), ("time", getattr(edges, "time", None)))
    weight, time = (None if part is None else on_host(as_array(part, name)) for name, part in optional)
    return src, dst, weight, time


def _check_weights(weight: np.ndarray | None) -> None:
    if weight is None or not len(weight):
        return
    if weight.dtype.kind not in "iuf" or not np.isfinite(weight).all():
        raise WeightError("weights must be finite numbers")
    if weight.dtype.kind == "u" and weight.max() >= 2**63:
        raise WeightError("whole weights must be below 2**63")


# -- one function per format -------------------------------------------------------------------------------------------


def _write_snap(edges: EdgeFile, progress: Any) -> None:
    columns, names = _columns(edges, quote=False)
    kind = "Directed" if edges.directed else "Undirected"
    nodes = "" if edges.labels is not None else f"# Nodes: {edges.num_vertices} Edges: {len(edges)}\n"
    _write_lines(edges.path, f"# {kind} graph\n{nodes}# {' '.join(names)}\n", b" ", columns, len(edges), progress)


def _write_temporal(edges: EdgeFile, progress: Any) -> None:
    if edges.time is None:
        raise ShapeError("format 'temporal' needs times: an EdgeFile that has them")
    _write_snap(edges, progress)


def _write_csv(edges: EdgeFile, progress: Any) -> None:
    columns, names = _columns(edges, quote=True)
    columns += map(_further, edges.columns.values())
    separator = "\t" if files.split_suffix(edges.path)[0] == ".tsv" else ","
    header = separator.join([*names, *map(quoted, edges.columns)]) + "\n"
    _write_lines(edges.path, header, separator.encode(), columns, len(edges), progress)


def _write_mtx(edges: EdgeFile, progress: Any) -> None:
    field = "pattern" if edges.weight is None else "integer" if edges.weight.dtype.kind in "iu" else "real"
    header = f"%%MatrixMarket matrix coordinate {field} {'general' if edges.directed else 'symmetric'}\n"
    header += f"{edges.num_vertices} {edges.num_vertices} {len(edges)}\n"
    src, dst = edges.src, edges.dst
    if not edges.directed:  # a symmetric matrix lists its lower triangle
        src, dst = np.maximum(src, dst), np.minimum(src, dst)
    columns = [_shifted(src), _shifted(dst), *([] if edges.weight is None else [_numbers(edges.weight)])]
    _write_lines(edges.path, header, b" ", columns, len(edges), progress)


def _write_gr(edges: EdgeFile, progress: Any) -> None:
    weight = np.ones(len(edges), np.int32) if edges.weight is None else edges.weight
    if weight.dtype.kind == "f":
        if not (np.all(weight == np.floor(weight)) and np.all(np.abs(weight) < 2**53)):
            raise WeightError("format 'gr' has whole weights only")
        weight = weight.astype(np.int64)
    src, dst = edges.src, edges.dst
    if not edges.directed:
        back = np.flatnonzero(src != dst)
        src, dst = np.concatenate((src, dst[back])), np.concatenate((dst, src[back]))
        weight = np.concatenate((weight, weight[back]))
    columns = [_shifted(src), _shifted(dst), _numbers(weight)]
    _write_lines(edges.path, f"p sp {edges.num_vertices} {len(src)}\n", b" ", columns, len(src), progress, b"a ")


def _write_table(format: str, edges: EdgeFile, progress: Any) -> None:
    from suricate.io.table_writing import write_table

    with utf8_only(), replacing(edges.path) as file:
        write_table(file, format, edges)
    if progress is not None:
        progress(len(edges), len(edges))


_WRITERS: dict[str, Callable[[EdgeFile, Any], None]] = {
    "snap": _write_snap, "temporal": _write_temporal, "csv": _write_csv, "mtx": _write_mtx, "gr": _write_gr,
    **{format: partial(_write_table, format) for format in TABLE_FORMATS},
}  # fmt: skip

# -- columns and lines -------------------------------------------------------------------------------------------------

Column = Callable[[slice], np.ndarray]  # the integers or bytes of some rows: made chunk by chunk


def _columns(edges: EdgeFile, *, quote: bool) -> tuple[list[Column], list[str]]:
    if edges.labels is None:
        columns, names = [_numbers(edges.src), _numbers(edges.dst)], ["src", "dst"]
    else:
        texts = _label_texts(edges.labels, quote)
        columns, names = [lambda rows: texts[edges.src[rows]], lambda rows: texts[edges.dst[rows]]], ["src", "dst"]
    if edges.weight is not None:
        columns.append(_numbers(edges.weight))
        names.append("weight")
    if edges.time is not None:
        times, unit = edges.time, edges.time_unit
        columns.append(_numbers(times) if unit is None else lambda rows: to_text(times[rows], unit))
        names.append("time")
    return columns, names


def _numbers(values: np.ndarray) -> Column:
    if values.dtype.kind in "iu":
        return lambda rows: values[rows]
    return lambda rows: values[rows].astype("S32")  # shortest decimals that give the same number again


def _further(values: np.ndarray) -> Column:
    """Return a function from a slice of rows to their cells in a column of edges, ``values``; bools become 0 and 1."""
    if values.dtype.kind in "iufb":
        return _numbers(values.astype(np.uint8) if values.dtype.kind == "b" else values)
    cells = _encoded([str(value) for value in values], "text", quote=True)
    return lambda rows: cells[rows]


def quoted(text: str) -> str:
    """Return a text as a field of CSV, in quotes if it needs them."""
    needs = any(sign in text for sign in ',\t"\n\r') or text != text.strip(" ")
    return '"' + text.replace('"', '""') + '"' if needs else text


def _shifted(ids: np.ndarray) -> Column:
    return lambda rows: ids[rows].astype(np.int64) + 1


def _label_texts(labels: np.ndarray, quote: bool) -> np.ndarray:
    """Return labels as an array of bytes; with ``quote`` those that contain a delimiter or a quote are quoted."""
    if labels.dtype.kind in "iu":
        return labels.astype("S20")
    texts = [str(label) for label in labels]
    if not all(texts):
        raise ParameterError("a label that is empty fits into Parquet and Arrow only")
    if not quote and any(set(text) & set(" \t") or text.startswith(("#", "%")) for text in texts):
        raise ParameterError("a label with blanks or a comment sign fits into CSV, Parquet and Arrow only")
    return _encoded(texts, "label", quote=quote)


def _encoded(texts: list[str], what: str, *, quote: bool) -> np.ndarray:
    """Return texts as an array of bytes, in quotes where they need them if ``quote``."""
    if any(not _LINE_BREAKS.isdisjoint(text) for text in texts):
        raise ParameterError(f"a {what} that has a line break or zero byte fits into Parquet and Arrow only")
    return np.array([(quoted(text) if quote else text).encode("utf-8", "surrogateescape") for text in texts], "S")


def _write_lines(
    path: Path, header: str, separator: bytes, columns: list[Column], count: int, progress: Any, prefix: bytes = b""
) -> None:
    with files.writing(path) as out:
        out.write(header.encode())
        for begin in range(0, count, _ROWS):
            rows = slice(begin, min(begin + _ROWS, count))
            out.write(format_chunk(prefix, separator, [column(rows) for column in columns], small=count <= SMALL_ROWS))
            if progress is not None:
                progress(rows.stop, count)
