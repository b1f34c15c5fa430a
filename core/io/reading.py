"""``read``: a graph file of any format as arrays of edges."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from numpy.typing import DTypeLike

from suricate.base.errors import ParameterError
from suricate.base.files import as_path, is_special
from suricate.base.parameters import flag, shown
from suricate.base.progress import working
from suricate.comm.protocol import Comm, SelfComm
from suricate.io import files
from suricate.io.divided.meeting import Together
from suricate.io.divided.sharing import sent_on, sorted_by_time
from suricate.io.divided.stretches import is_cut_at_lines
from suricate.io.edge_file import EdgeFile
from suricate.io.formats import BY_SUFFIX, Layout, table_format
from suricate.io.options import Columns, ReadOptions
from suricate.io.parsing.text import Begun, Edges, begin_text, read_text
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
    comm: Comm | None = None,
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
        comm: what :func:`suricate.parallel.connect` returns: each process reads a part of the file, and gets a stretch
            of the edges in the order of the processes; number of vertices, labels and dtypes are those of the whole
            file. All processes see the file, and make the call with the same arguments.

    Raises:
        OSError: the file is missing or cannot be read.
        FileFormatError: the file is malformed, or a text is not in its encoding; has the number of the line.
        UnknownNameError: there is no such format or column.
        ParameterError: an argument of the wrong type or value.
        MissingLibraryError: the file needs a package that is not installed.

    Example:
        >>> file = su.write(su.EdgeList(np.array([0, 1]), np.array([1, 2])), "edges.csv")
        >>> found = su.read(file)
        >>> found.num_vertices, found.edges.dst.tolist()
        (3, [1, 2])
    """
    options = ReadOptions(
        relabel, columns, delimiter, first_id, num_vertices, weight_dtype, directed, edge_columns, encoding
    )
    flag("sort_by_time", sort_by_time)
    if not (comm is None or isinstance(comm, Comm)):
        raise ParameterError(f"comm must be a Comm, which connect() or run() gives, got {shown(comm)}")
    path, comm = as_path(path), comm or SelfComm()
    asked = {"path": str(path), "format": format, "options": repr(options), "sort_by_time": sort_by_time}
    with working(f"reading {path.name}") if progress is None else nullcontext(progress) as told, comm.asking(asked):
        file = _read(path, format, options, told, comm)
        return sorted_by_time(file, comm) if sort_by_time else file


class _Share(NamedTuple):
    """What the first rank has found out about a file, so that every rank can read its part."""

    size: int = 0
    layout: Layout | None = None  #: of text
    cuts: Sequence[int] = ()  #: of text: where the part of each rank begins, and the end
    tables: Sequence[Any] = ()  #: files of tables, which are divided by groups of rows


def _read(path: Path, format: str | None, options: ReadOptions, progress: files.Progress, comm: Comm) -> EdgeFile:
    with ExitStack() as opened:
        begun: EdgeFile | Begun | None = None
        with Together(comm) as together:
            if comm.rank == 0:
                begun, together.told = _begin(path, format, options, progress, comm, opened)
        share: _Share = together.all[0]
        if share.tables:
            from suricate.io.table_reading import read_tables

            found = read_tables(path, share.tables, options, progress, comm)
            return found if comm.size == 1 else replace(found, comm=comm)
        if share.layout is None:
            return sent_on(comm, begun if isinstance(begun, EdgeFile) else None)
        with Together(comm) as together:
            edges = Edges(path, share.layout, options, small=False)
            if isinstance(begun, Begun):
                source, body, lines = begun.source, begun.body, share.layout.header_lines
            else:
                span = share.cuts[comm.rank], share.cuts[comm.rank + 1]
                source = opened.enter_context(files.ByteSource(path, progress, options.encoding, span=span))
                body, lines = source.chunks(), 0
                if source.size != share.size:
                    reason = f"{share.size} bytes on rank 0 and {source.size} on rank {comm.rank}"
                    raise ParameterError(f"{path} has {reason}: all ranks must see the same file")
            edges.read(source, body, lines)
            together.told, together.lines = edges.found(), source.lines
        return replace(edges.file(together.all, comm), comm=comm)


def _begin(
    path: Path, format: str | None, options: ReadOptions, progress: files.Progress, comm: Comm, opened: ExitStack
) -> tuple[EdgeFile | Begun | None, _Share]:
    """Begin to read a file, or read all of it if one process does; return this, and how others read their parts."""
    parts = parts_of(path)
    if parts is not None:
        return None, _Share(tables=_tables(parts, None))
    source = opened.enter_context(files.ByteSource(path, progress, options.encoding))
    kind = table_format(path, source.start, format)
    if kind is not None and path.is_file() and not source.compression:
        return None, _Share(tables=_tables([path], kind))
    if kind is not None:
        from suricate.io.table_reading import read_table

        return read_table(source, kind, options), _Share()
    begun = begin_text(source, format, options)
    by_lines = is_cut_at_lines(options.encoding) and not (source.compression or is_special(path))
    if comm.size == 1 or begun.small or begun.layout.format == "metis" or not by_lines:
        return read_text(begun, options), _Share()
    cuts = [max(source.consumed, source.size * rank // comm.size) for rank in range(comm.size)]
    source.end = cuts[1]
    return begun, _Share(source.size, begun.layout, [*cuts, max(source.consumed, source.size)])


def _tables(parts: list[Path], format: str | None) -> list[Any]:
    from suricate.io.table_reading import table_file

    return [table_file(part, format or BY_SUFFIX[part.suffix.lower()]) for part in parts]
