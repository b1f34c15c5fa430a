"""``read``: a graph file of any format as arrays of edges."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import DTypeLike

from suricate.base.errors import FileFormatError
from suricate.base.files import as_path
from suricate.base.parameters import flag
from suricate.base.progress import working
from suricate.io import files
from suricate.io.edge_file import EdgeFile
from suricate.io.formats import table_format
from suricate.io.options import Columns, ReadOptions
from suricate.io.parsing.text import read_text
from suricate.io.parts import parts_of


def read(  # noqa: PLR0913 - what a user may choose, by keyword; ReadOptions holds it from here on
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    relabel: bool | Literal["text"] = False,
    columns: Columns | None = None,
    delimiter: str | None = None,
    first_id: int | None = None,
    num_vertices: int | None = None,
    weight_dtype: DTypeLike | None = None,
    directed: bool | None = None,
    edge_columns: Mapping[str, str | int] | Sequence[str] = (),
    encoding: str = "utf-8",
    sort_by_time: bool = False,
    progress: files.Progress | None = None,
) -> EdgeFile:
    """Read a graph file: SNAP text, Matrix Market, METIS, DIMACS ``.gr``, temporal text, CSV, Parquet or Arrow.

    Text may be compressed with gzip, xz, bzip2, Zstandard (``suricate[zstd]``) or LZ4 (``suricate[lz4]``). Parquet and
    Arrow need ``pyarrow`` (``suricate[arrow]``).

    Ids are used as they are, counted from 0 (``.mtx``, ``.gr`` and METIS files count from 1 and are shifted). An empty
    file is an edge list without edges and vertices. Memory beyond the result is bounded, whatever the size of the
    file.

    Args:
        path: the file; or a folder of Parquet or Arrow files, or a pattern such as ``"parts/*.parquet"``: their edges
            are concatenated.
        format: one of :data:`FORMATS` or ``"metis"``; None: by the extension, else by the first bytes.
        relabel: map ids to 0..n-1 in the order of their first appearance (source before destination) and keep the
            original ids in ``labels``. They may be any integers of 64 bits, negative ones too, or texts if the first
            row has one that is no integer as it is written (``007``). ``"text"``: always texts.
        columns: which column holds ``"src"``, ``"dst"``, ``"weight"``, ``"time"``: its name in the header or schema,
            or its position from 0. Other columns are skipped.
        delimiter: what separates the columns of CSV; None: by the first line.
        first_id: id of vertex 0 (default 0; ``.mtx`` and ``.gr`` count from 1).
        num_vertices: number of vertices, if the file does not declare it; every id must be below.
        weight_dtype: int32, uint32, float32 or float64. None: int32 (or uint32) if all weights are integers that fit,
            else float64; a ``real`` .mtx file is float64.
        directed: ``directed`` of the result; None: what the file says. With True the entries of a METIS file are arcs.
        edge_columns: further columns, by name, or ``{name: column or its position}``: attributes of the edges, in CSV,
            plain text, Parquet and Arrow. A column with a text that is not a number is one of texts.
        encoding: of a text file: a codec of Python (``"latin-1"``, ``"cp1252"``, ``"utf-16"``), or ``"bytes"``: texts
            may have any bytes, which become surrogates (``errors="surrogateescape"``), and text formats write them
            again; other ways out refuse them.
        sort_by_time: order the edges by time; edges of equal time keep their order.
        progress: called with (bytes of the file consumed, bytes of the file) after every chunk; None: in a terminal or
            a notebook, progress is shown after two seconds.

    Raises:
        OSError: the file is missing or cannot be read.
        FileFormatError: the file is malformed, or a text is not in its encoding; has the number of the line.
        UnknownNameError: there is no such format or column.
        ParameterError: an argument of the wrong type or value.
        MissingLibraryError: the file needs a package that is not installed.
    """
    options = ReadOptions(
        relabel, columns, delimiter, first_id, num_vertices, weight_dtype, directed, edge_columns, encoding
    )
    flag("sort_by_time", sort_by_time)
    path = as_path(path)
    with working(f"reading {path.name}") if progress is None else nullcontext(progress) as told:
        file = _read(path, format, options, told)
        return _sorted_by_time(file) if sort_by_time else file


def _read(path: Path, format: str | None, options: ReadOptions, progress: files.Progress) -> EdgeFile:
    parts = parts_of(path)
    if parts is not None:
        from suricate.io.table_reading import read_parts

        return read_parts(path, parts, options, progress)
    with files.ByteSource(path, progress, options.encoding) as source:
        table = table_format(path, source.start, format)
        if table is None:
            return read_text(source, format, options)
        from suricate.io.table_reading import read_table

        return read_table(source, table, options)


def _sorted_by_time(file: EdgeFile) -> EdgeFile:
    """Return ``file`` with its edges ordered by time; edges of equal time keep their order."""
    if file.time is None:
        raise FileFormatError(file.path, None, "there is no time column to sort by")
    order = np.argsort(file.time, kind="stable")
    given = {name: getattr(file, name) for name in ("src", "dst", "weight", "time")}
    ordered = {name: column[order] for name, column in given.items() if column is not None}
    return replace(file, **ordered, columns={name: column[order] for name, column in file.columns.items()})
