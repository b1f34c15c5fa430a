"""Reading Parquet and Arrow IPC files, through pyarrow (extra ``arrow``).

Ids, weights and times mean what they mean in CSV. The number of vertices and the direction are kept in the metadata of
the schema, so that they survive a round trip. Messages name an entry as ``column[row]``, counted from 0.
``options`` are those of ``suricate.read``.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate.base.errors import FileFormatError, ParameterError, WeightError
from suricate.base.types import MAX_VERTICES
from suricate.intake.arrays import checked_weights
from suricate.intake.names import Names
from suricate.intake.tables import direction_in, library
from suricate.io.edge_file import EdgeFile, count_vertices, whole_dtype
from suricate.io.encodings import UTF8
from suricate.io.files import ByteSource, Progress
from suricate.io.formats import BY_SUFFIX, STREAM_SUFFIX, place_columns, place_of, usual_columns
from suricate.io.options import FirstRow, ReadOptions
from suricate.io.parsing.codes import BAD_TIME, FINE_TIME, OK, OTHER_ZONE
from suricate.io.times import demand_in_range, looks_zoned, parse, reason, zone_message

if TYPE_CHECKING:
    import pyarrow as pa

SMALL_COLUMN = 1 << 14  #: times in ISO 8601 that are parsed without compiled code
EDGE_COLUMN = "edge column "  #: what the roles of further columns begin with
VERTICES = b"suricate.num_vertices"


def load_pyarrow() -> Any:
    """Return the module ``pyarrow``; raises ``MissingLibraryError`` if it is not installed."""
    for part in ("compute", "ipc", "parquet"):
        library(f"pyarrow.{part}", "arrow")
    return library("pyarrow", "arrow")


def read_table(source: ByteSource, format: str, options: ReadOptions) -> EdgeFile:
    """Return the edges of a Parquet or Arrow file; a pipe, or one compressed as a whole, is read into memory."""
    plain = source.path.is_file() and not source.compression
    with open(source.path, "rb") if plain else io.BytesIO(b"".join(source.pieces())) as file:
        part = _read_columns(source.path, file, format, options)
    source.report_end()
    return _edge_file(source.path, format, [part], options)


def read_parts(path: Path, parts: list[Path], options: ReadOptions, progress: Progress | None) -> EdgeFile:
    """Return the edges of the files ``parts``, one after the other; ``path`` is the folder or the pattern."""
    total = sum(part.stat().st_size for part in parts)
    found, done = [], 0
    for part in parts:
        with open(part, "rb") as file:
            found.append(_read_columns(part, file, BY_SUFFIX[part.suffix.lower()], options))
        done += part.stat().st_size
        if progress is not None:
            progress(done, total)
    return _edge_file(path, BY_SUFFIX[parts[0].suffix.lower()], found, options)


def _edge_file(path: Path, format: str, parts: list[_Part], options: ReadOptions) -> EdgeFile:
    columns = _joined(parts, text=options.relabel == "text")
    src, dst, names = _ids(columns["src"], columns["dst"], options)
    time, unit = _times(columns["time"]) if "time" in columns else (None, None)
    declared = [part.metadata.get(VERTICES, b"0") for part in parts]
    least = max(int(count) if count.isdigit() and len(count) < 11 else 0 for count in declared)
    directions = {direction_in(part.metadata) for part in parts}
    directed = directions.pop() if len(directions) == 1 else None
    return EdgeFile(
        src=src,
        dst=dst,
        weight=_weights(columns["weight"], options.dtype) if "weight" in columns else None,
        time=time,
        num_vertices=count_vertices(path, src, dst, names, options.num_vertices, min(least, MAX_VERTICES)),
        directed=directed if options.directed is None else options.directed,
        labels=None if names is None else names[:],
        table=names,
        path=path,
        format=format,
        time_unit=unit,
        columns={name: _attribute(columns[EDGE_COLUMN + name]) for name in options.further},
    )


def _joined(parts: list[_Part], *, text: bool) -> dict[str, Column]:
    """Return the columns of all ``parts``, which must be alike, by role; with ``text`` ids become texts."""
    pa, first = load_pyarrow(), parts[0]
    if len(parts) == 1:
        return first.columns
    for part in parts:
        if part.columns.keys() != first.columns.keys():
            reason = f"it has columns for {', '.join(part.columns)}, the first part for {', '.join(first.columns)}"
            raise FileFormatError(part.path, None, reason)
    columns = {}
    for role, column in first.columns.items():
        found = [part.columns[role] for part in parts]
        if not role.startswith(EDGE_COLUMN):
            found = [each.plain() for each in found]
        if text and role in ("src", "dst"):
            found = [each._replace(values=each.texts()) for each in found]
        for each in found:
            if _family(each.values.type) != _family(found[0].values.type):
                raise each.error(f"has type {each.values.type}, in the first part {found[0].values.type}")
        with errors_of(first.path.parent):
            tables = [pa.table({role: each.values}) for each in found]
            values = pa.concat_tables(tables, promote_options="permissive").column(0)
        columns[role] = column._replace(values=values, parts=tuple((each.path, len(each.values)) for each in found))
    return columns


def _family(type: Any) -> str:
    """Return the family of a type of pyarrow within which columns can be joined: "text", "number", or its name."""
    types = load_pyarrow().types
    if is_text(type):
        return "text"
    return "number" if types.is_integer(type) or types.is_floating(type) else str(type)


@contextlib.contextmanager
def errors_of(path: Path) -> Iterator[None]:
    """A context in which errors of pyarrow about the file at ``path`` become ``FileFormatError``."""
    pa = load_pyarrow()
    try:
        yield
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        raise FileFormatError(path, None, " ".join(str(error).split())[:200]) from error


def _read_columns(path: Path, file: IO[bytes], format: str, options: ReadOptions) -> _Part:
    """Return the columns of ``file`` that have a role or become columns of edges, and the metadata of its schema."""
    if options.delimiter is not None:
        raise ParameterError(f"format {format!r} has no delimiter")
    if options.encoding != UTF8:
        raise ParameterError(f"encoding is for text files: texts in format {format!r} are UTF-8")
    with errors_of(path):
        reader, schema = opened(file, format)
        names = list(schema.names)
        columns = usual_columns(path, names, options.columns)
        roles = place_columns(path, names, len(names), columns, None)
        fields = [(at, name, role) for at, (name, role) in enumerate(zip(names, roles, strict=True)) if role != "-"]
        places = {EDGE_COLUMN + name: place_of(path, names, len(names), at) for name, at in options.further.items()}
        fields += [(at, names[at], role) for role, at in places.items()]
        if format == "arrow" or len(set(names)) < len(names):  # a name may stand for several columns: take by place
            table = (reader.read_all() if format == "arrow" else reader.read()).select([at for at, _, _ in fields])
        else:
            wanted = [name for _, name, _ in fields]
            table = reader.read(columns=[*dict.fromkeys(wanted)]).select(wanted)
    found = {role: Column(path, name, table.column(at)) for at, (_, name, role) in enumerate(fields)}
    return _Part(path, found, schema.metadata or {})


def _attribute(column: Column) -> np.ndarray:
    """Return a column as an array of numbers or bools, or of texts as objects."""
    pa = load_pyarrow()
    values = column.decoded()
    if is_text(values.type):
        made = np.empty(len(values), object)
        made[:] = values.fill_null("").to_pylist()
        return made
    kind = values.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise column.error(f"has type {kind}: columns of edges are numbers, bools or texts")
    if values.null_count:
        values = values.fill_null(float("nan") if pa.types.is_floating(kind) else pa.scalar(0).cast(kind))
    array: np.ndarray = values.to_numpy()
    return array


def opened(file: IO[bytes] | Path, format: str) -> tuple[Any, Any]:
    """Return (pyarrow's reader, schema) of a file; ``format`` is "parquet" or "arrow" (IPC file or stream)."""
    pa = load_pyarrow()
    if format == "parquet":
        parquet = pa.parquet.ParquetFile(file)
        return parquet, parquet.schema_arrow
    source: Any = file if isinstance(file, Path) else pa.PythonFile(file, mode="r")
    is_stream = isinstance(file, Path) and file.suffix == STREAM_SUFFIX  # it may be a pipe, which is read once
    try:
        reader = pa.ipc.open_stream(source) if is_stream else pa.ipc.open_file(source)
    except pa.ArrowInvalid:
        if is_stream:
            raise
        if source is not file:
            source.seek(0)
        reader = pa.ipc.open_stream(source)
    return reader, reader.schema


class Column(NamedTuple):
    """A column of a file, named ``name``; its values may be dictionary-encoded."""

    path: Path
    name: str
    values: pa.ChunkedArray
    parts: tuple[tuple[Path, int], ...] = ()  #: the files that it was joined from, with the number of entries of each

    def error(self, reason: str, row: int | None = None) -> FileFormatError:
        """Return an error whose message names the file, the column, its row ``row`` (if given) and ``reason``."""
        path = self.path
        for part, length in self.parts:
            path = part
            if row is None or row < length:
                break
            row -= length
        return FileFormatError(path, None, f"{self.name}{'' if row is None else f'[{row}]'} {reason}")

    def decoded(self) -> pa.ChunkedArray:
        """Return the values; if they are dictionary-encoded, decoded."""
        kind = self.values.type
        return self.values.cast(kind.value_type) if load_pyarrow().types.is_dictionary(kind) else self.values

    def plain(self) -> Column:
        """Return the column with decoded values; raises ``FileFormatError`` if a value is null."""
        pa, values = load_pyarrow(), self.decoded()
        if values.null_count:
            raise self.error("is missing", pa.compute.index(pa.compute.is_null(values), True).as_py())
        return self._replace(values=values)

    def texts(self) -> pa.ChunkedArray:
        """Return the values as texts; raises ``FileFormatError`` if one is NaN, by which pandas marks missing ids."""
        pa = load_pyarrow()
        if pa.types.is_floating(self.values.type):
            at = pa.compute.index(pa.compute.is_nan(self.values), True).as_py()
            if at >= 0:
                raise self.error("is missing", at)
        return self.cast(pa.large_string())

    def cast(self, type: Any) -> pa.ChunkedArray:
        """Return the values cast to a ``type`` of pyarrow; raises ``FileFormatError`` if one does not fit."""
        try:
            return self.values.cast(type)
        except load_pyarrow().ArrowException as error:
            raise self.error(f"cannot be read as {type}: {' '.join(str(error).split())[:120]}") from error


class _Part(NamedTuple):
    """The columns of one file by role, and the metadata of its schema."""

    path: Path
    columns: dict[str, Column]
    metadata: dict[bytes, bytes]


def is_text(type: Any) -> bool:
    """Return whether a ``type`` of pyarrow is that of texts."""
    types = load_pyarrow().types
    return bool(types.is_string(type) or types.is_large_string(type) or types.is_string_view(type))


def _ids(src: Column, dst: Column, options: ReadOptions) -> tuple[np.ndarray, np.ndarray, Names | None]:
    """Return the ids of ``src`` and ``dst`` as uint32, and the names of the vertices (None unless ``relabel``)."""
    pa = load_pyarrow()
    src, dst = src.plain(), dst.plain()
    for column in (src, dst):
        kind = column.values.type
        if options.relabel != "text" and not (pa.types.is_integer(kind) or (options.relabel and is_text(kind))):
            hint = "; relabel maps texts to 0..n-1" if is_text(kind) and not options.relabel else ""
            raise column.error(f"has type {kind}: ids are integers{' or texts' if options.relabel else ''}{hint}")
    if not options.relabel:
        most = MAX_VERTICES if options.num_vertices is None else options.num_vertices
        return _numbered(src, options, most), _numbered(dst, options, most), None
    if options.relabel == "text" or not all(pa.types.is_integer(column.values.type) for column in (src, dst)):
        names = Names("text")
        return *names.intern_pairs(src.texts(), dst.texts()), names
    for column in (src, dst):
        _check_lowest(column, options.first_id)
    is_negative = any(column.values.to_numpy().min(initial=0) < 0 for column in (src, dst))
    unsigned = not is_negative and any(column.values.type == pa.uint64() for column in (src, dst))
    names = Names("uint64" if unsigned else "int64")
    return *names.intern_pairs(*(column.cast(names.dtype).to_numpy() for column in (src, dst))), names


def _check_lowest(column: Column, first_id: int | None) -> None:
    """Raise ``FileFormatError`` if an id in ``column`` is below ``first_id``; None: any id is allowed."""
    values = column.values.to_numpy()
    if first_id is not None and len(values) and int(values.min()) < first_id:
        row = int(values.argmin())
        reason = f"ids of this file are counted from {first_id}"
        if values[row] < 0:
            reason = "ids are not negative (relabel maps any 64-bit ids to 0..n-1)"
        raise column.error(f"is {values[row]}: {reason}", row)


def _numbered(column: Column, options: ReadOptions, most: int) -> np.ndarray:
    """Return the ids in ``column`` less ``options.first_id``, uint32; ``FileFormatError`` unless 0 <= id < ``most``."""
    first_id = options.first_id or 0
    _check_lowest(column, first_id)
    values = column.values.to_numpy()
    if len(values) and int(values.max()) - first_id >= most:
        row = int(values.argmax())
        hint = " (relabel maps any 64-bit ids to 0..n-1)" if options.num_vertices is None else ""
        raise column.error(f"is {values[row]}: ids go up to {most + first_id - 1}{hint}", row)
    return (values - values.dtype.type(first_id)).astype(np.uint32) if first_id else values.astype(np.uint32)


def _weights(column: Column, dtype: np.dtype | None) -> np.ndarray:
    pa = load_pyarrow()
    column = column.plain()
    kind = column.values.type
    if pa.types.is_decimal(kind):
        column = column._replace(values=column.cast(pa.float64()))
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise column.error(f"has type {kind}: weights are numbers")
    values = column.values.to_numpy()
    try:
        return checked_weights(values, _weight_dtype(values) if dtype is None else dtype, column.name)
    except WeightError as error:
        raise FileFormatError(column.path, None, str(error)) from error


def _weight_dtype(values: np.ndarray) -> np.dtype:
    """Return the default dtype of weights: int32 or uint32 if integers fit, else float64; float32 stays float32."""
    if values.dtype.kind == "f":
        return np.dtype(np.float64 if values.dtype.itemsize == 8 else np.float32)
    return whole_dtype(values)


def _times(column: Column) -> tuple[np.ndarray, str | None]:
    """Return a column as int64 times, and their unit ("us", ...); None: they are plain numbers."""
    pa = load_pyarrow()
    column = column.plain()
    if pa.types.is_date(column.values.type):
        column = column._replace(values=column.cast(pa.timestamp("s")))
    kind = column.values.type
    if is_text(kind):
        times = iso_times(column, FirstRow())
        unit = np.datetime_data(times.dtype)[0]
        ticks = times.view(np.int64)
        return demand_in_range(column.path, ticks) if unit == "ns" else ticks, unit
    if not (pa.types.is_integer(kind) or pa.types.is_timestamp(kind)):
        raise column.error(f"has type {kind}: times are integers, timestamps, dates or texts in ISO 8601")
    return column.cast(pa.int64()).to_numpy(), kind.unit if pa.types.is_timestamp(kind) else None


def iso_times(column: Column, first: FirstRow, ticks: int = 0) -> np.ndarray:
    """Return a column of ISO 8601 texts as ``datetime64[us]``, or ``[ns]`` if a time needs it or ``ticks`` is -1.

    ``first`` says, or is told, whether times have a zone. Long columns are parsed by compiled code.
    """
    texts, times = column.cast(load_pyarrow().large_string()), np.empty(len(column.values), np.int64)
    if first.zoned is None and len(texts):
        first.zoned = looks_zoned(texts[0].as_py().encode())
    parse_all = _parse_small if len(times) <= SMALL_COLUMN else _parse_large
    row, error = parse_all(texts, ticks, bool(first.zoned), times)
    if error == FINE_TIME:
        ticks = -1
        row, error = parse_all(texts, ticks, bool(first.zoned), times)
    if error:
        text = texts[row].as_py()
        wrong = zone_message(text, zoned=bool(first.zoned)) if error == OTHER_ZONE else reason(text)
        raise column.error(f"is wrong: {wrong}", row)
    return times.view("M8[us]" if ticks == 0 else "M8[ns]")


def _parse_large(texts: pa.ChunkedArray, ticks: int, zoned: bool, times: np.ndarray) -> tuple[int, int]:
    """Write ``texts`` as ``times``, as ``parse_loops.parse_times`` does; return the first wrong row and the error."""
    from suricate.io.parsing.parse_loops import parse_times

    begin = 0
    for chunk in texts.chunks:
        _, offsets, data = chunk.buffers()
        starts = np.frombuffer(offsets, np.int64, len(chunk) + 1, 8 * chunk.offset)
        part = times[begin : begin + len(chunk)]
        bad, error = parse_times(np.frombuffer(data or b"", np.uint8), starts, ticks, 1 + zoned, part)
        if error:
            return begin + bad, error
        begin += len(chunk)
    return -1, OK


def _parse_small(texts: pa.ChunkedArray, ticks: int, zoned: bool, times: np.ndarray) -> tuple[int, int]:
    """Do what :func:`_parse_large` does, without compiled code."""
    for row, text in enumerate(texts.to_pylist()):
        try:
            time = parse(text)
        except ValueError:
            return row, BAD_TIME
        if time.zoned != zoned:
            return row, OTHER_ZONE
        if ticks == 0 and time.nanoseconds % 1000:
            return row, FINE_TIME
        times[row] = time.ticks(nanoseconds=ticks < 0)
    return -1, OK
