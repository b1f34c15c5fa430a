"""Reading Parquet and Arrow IPC files, through pyarrow (extra ``arrow``).

Ids, weights and times mean what they mean in CSV. The number of vertices and the direction are kept in the metadata of
the schema, so that they survive a round trip. Messages name an entry as ``column[row]``, counted from 0.
``options`` are those of ``suricate.read``.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate.base.errors import FileFormatError, ParameterError, WeightError
from suricate.base.types import MAX_VERTICES
from suricate.comm.protocol import Comm, SelfComm
from suricate.intake.arrays import checked_weights
from suricate.intake.names import Names
from suricate.intake.tables import direction_in, library
from suricate.io.divided.meeting import Together, joined_names
from suricate.io.edge_file import EdgeFile, count_vertices, whole_dtype
from suricate.io.encodings import UTF8
from suricate.io.files import ByteSource, Progress
from suricate.io.formats import STREAM_SUFFIX, place_columns, place_of, usual_columns
from suricate.io.options import FirstRow, ReadOptions
from suricate.io.parsing.codes import BAD_TIME, FINE_TIME, OK, OTHER_ZONE
from suricate.io.times import demand_in_range, looks_zoned, parse, reason, to_nanoseconds, zone_message

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
    """Return the edges of a Parquet or Arrow file that is a pipe, or compressed as a whole: it is read into memory."""
    path = source.path
    with errors_of(path):
        reader, schema = opened(io.BytesIO(b"".join(source.pieces())), format)
    part = _read_columns(path, format, options, schema, lambda places: _rows_of(reader, schema, places))
    source.report_end()
    return _edge_file(path, format, [part], options, SelfComm())


class TableFile(NamedTuple):
    """A file of a table: its schema and, if it is Parquet, its metadata; how many bytes its groups of rows have."""

    path: Path
    format: str
    schema: Any
    metadata: Any
    sizes: list[int]
    size: int  #: of the file

    def read(self, options: ReadOptions, groups: range) -> _Part:
        """Return the columns of some ``groups`` of rows; the file is only opened if there are any."""

        def rows(places: list[int]) -> Any:
            if not groups:
                return self.schema.empty_table().select(places)
            with open(self.path, "rb") as file:
                reader, schema = opened(file, self.format, self.metadata)
                return _rows_of(reader, schema, places, None if len(groups) == len(self.sizes) else groups)

        part = _read_columns(self.path, self.format, options, self.schema, rows)
        before = partial(self._rows_before, groups.start)
        return part._replace(columns={role: each._replace(before=before) for role, each in part.columns.items()})

    def _rows_before(self, group: int) -> int:
        """Return the number of rows before a group."""
        if self.metadata is not None:
            return sum(self.metadata.row_group(at).num_rows for at in range(group))
        with open(self.path, "rb") as file:
            reader = opened(file, self.format)[0]
            return sum(reader.get_batch(at).num_rows for at in range(group))


def _rows_of(reader: Any, schema: Any, places: list[int], groups: range | None = None) -> Any:
    """Return the columns at ``places`` of some groups of rows, None: of all, as a table of pyarrow."""
    names = schema.names
    if not hasattr(reader, "read_row_groups"):
        if groups is None:
            return reader.read_all().select(places)
        return load_pyarrow().Table.from_batches([*map(reader.get_batch, groups)], schema).select(places)
    by_place = len({*names}) < len(names)  # a name may stand for several columns
    wanted = [names[at] for at in places]
    columns = None if by_place else [*dict.fromkeys(wanted)]
    table = reader.read(columns) if groups is None else reader.read_row_groups([*groups], columns)
    return table.select(places if by_place else wanted)


def table_file(path: Path, format: str) -> TableFile:
    """Return what a file of a table says of its groups of rows; one that is not divided has one group."""
    with errors_of(path), open(path, "rb") as file:
        reader, schema = opened(file, format)
        number, size = number_of_groups(reader), path.stat().st_size
        if format == "parquet":
            groups = map(reader.metadata.row_group, range(number))
            return TableFile(path, format, schema, reader.metadata, [group.total_byte_size for group in groups], size)
        return TableFile(path, format, schema, None, [size // number] * number if number else [size], size)


def read_tables(
    path: Path, tables: Sequence[TableFile], options: ReadOptions, progress: Progress | None, comm: Comm
) -> EdgeFile:
    """Return the edges of files of tables, one after the other; each rank of ``comm`` gets a stretch of them.

    ``path``: the file, or the folder or the pattern that stands for them.
    """
    sizes = np.array([size for table in tables for size in table.sizes], np.int64)
    middles, total, begin = np.cumsum(sizes) - sizes / 2, int(sizes.sum()), 0
    low, high = (int(np.searchsorted(middles, total * (comm.rank + k) / comm.size)) for k in (0, 1))
    parts, done = [], 0
    with Together(comm):
        for table in tables:
            end = begin + len(table.sizes)
            parts.append(table.read(options, range(max(low, begin) - begin, max(min(high, end), begin) - begin)))
            begin, done = end, done + table.size
            if progress is not None:
                progress(done, sum(each.size for each in tables))
    return _edge_file(path, tables[0].format, parts, options, comm)


def _edge_file(path: Path, format: str, parts: list[_Part], options: ReadOptions, comm: Comm) -> EdgeFile:
    """Return the edges in ``parts``, which every rank has for all files, those of other ranks without rows."""
    weight, time, unit = None, None, None
    with Together(comm) as begun:
        columns = _joined(parts, text=options.relabel == "text")
        columns |= {role: column.plain() for role, column in columns.items() if not role.startswith(EDGE_COLUMN)}
        _check_kinds(columns["src"], columns["dst"], options)
        rows = len(columns["src"].values)
        begun.told = rows, _has_negative(columns, options), _first_zone(columns), _bounds(columns)
    first = FirstRow(zoned=next((zoned for _, _, zoned, _ in begun.all if zoned is not None), None))
    with Together(comm) as made:
        src, dst, names = _ids(columns["src"], columns["dst"], options, negative=any(each[1] for each in begun.all))
        if "weight" in columns:
            weight = _weights(columns["weight"], options.dtype, [each for *_, low in begun.all for each in low])
        if "time" in columns:
            time, unit = _times(columns["time"], first)
        highest = 1 + max(int(src.max()), int(dst.max())) if len(src) and names is None else 0
        further = {name: _attribute(columns[EDGE_COLUMN + name]) for name in options.further}
        made.told = highest, unit
    with Together(comm):
        if time is not None and is_text(columns["time"].values.type) and any(other == "ns" for _, other in made.all):
            time, before = (
                time if unit == "ns" else to_nanoseconds(time),
                sum(each[0] for each in begun.all[: comm.rank]),
            )
            time, unit = demand_in_range(columns["time"].path, time, before), "ns"
    if names is not None:
        names, src, dst = joined_names(comm, names, src, dst)
    declared = [part.metadata.get(VERTICES, b"0") for part in parts]
    least = max(int(count) if count.isdigit() and len(count) < 11 else 0 for count in declared)
    least = max(min(least, MAX_VERTICES), *(highest for highest, _ in made.all))
    directions = {direction_in(part.metadata) for part in parts}
    directed = directions.pop() if len(directions) == 1 else None
    return EdgeFile(
        src=src,
        dst=dst,
        weight=weight,
        time=time,
        num_vertices=count_vertices(path, names, options.num_vertices, least),
        directed=directed if options.directed is None else options.directed,
        labels=None if names is None else names[:],
        table=names,
        path=path,
        format=format,
        time_unit=unit,
        columns=further,
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
        parts_of = tuple((each.path, len(each.values), each.before) for each in found)
        columns[role] = column._replace(values=values, parts=parts_of)
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


def _read_columns(
    path: Path, format: str, options: ReadOptions, schema: Any, read: Callable[[list[int]], Any]
) -> _Part:
    """Return the columns of a file that have a role or become columns of edges, and the metadata of its schema.

    ``read(places)`` returns a table of the columns at ``places``.
    """
    if options.delimiter is not None:
        raise ParameterError(f"format {format!r} has no delimiter")
    if options.encoding != UTF8:
        raise ParameterError(f"encoding is for text files: texts in format {format!r} are UTF-8")
    with errors_of(path):
        names = list(schema.names)
        columns = usual_columns(path, names, options.columns)
        roles = place_columns(path, names, len(names), columns, None)
        fields = [(at, name, role) for at, (name, role) in enumerate(zip(names, roles, strict=True)) if role != "-"]
        places = {EDGE_COLUMN + name: place_of(path, names, len(names), at) for name, at in options.further.items()}
        fields += [(at, names[at], role) for role, at in places.items()]
        table = read([at for at, _, _ in fields])
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


def opened(file: IO[bytes] | Path, format: str, metadata: Any = None) -> tuple[Any, Any]:
    """Return (pyarrow's reader, schema) of a file; ``format`` is "parquet" or "arrow" (IPC file or stream).

    ``metadata``: of a Parquet file, if it is known.
    """
    pa = load_pyarrow()
    if format == "parquet":
        parquet = pa.parquet.ParquetFile(file, metadata=metadata)
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


def number_of_groups(reader: Any) -> int:
    """Return the number of row groups of a Parquet file, or of batches of an Arrow file; 0: it is a stream."""
    return int(getattr(reader, "num_row_groups", getattr(reader, "num_record_batches", 0)))


class Column(NamedTuple):
    """A column of a file, named ``name``; its values may be dictionary-encoded."""

    path: Path
    name: str
    values: pa.ChunkedArray
    #: the files that it was joined from: of each the number of entries, and what returns the number of rows before
    parts: tuple[tuple[Path, int, Callable[[], int]], ...] = ()
    before: Callable[[], int] = int  #: what returns the number of rows of the file before these

    def error(self, reason: str, row: int | None = None) -> FileFormatError:
        """Return an error whose message names the file, the column, its row ``row`` (if given) and ``reason``."""
        path, before = self.path, self.before
        for part, length, rows_before in self.parts:
            path, before = part, rows_before
            if row is None or row < length:
                break
            row -= length
        return FileFormatError(path, None, f"{self.name}{'' if row is None else f'[{before() + row}]'} {reason}")

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


def _check_kinds(src: Column, dst: Column, options: ReadOptions) -> None:
    """Raise ``FileFormatError`` unless the types of columns of ids suit the ``options``."""
    types = load_pyarrow().types
    for column in (src, dst):
        kind = column.values.type
        if options.relabel != "text" and not (types.is_integer(kind) or (options.relabel and is_text(kind))):
            hint = "; relabel maps texts to 0..n-1" if is_text(kind) and not options.relabel else ""
            raise column.error(f"has type {kind}: ids are integers{' or texts' if options.relabel else ''}{hint}")


def _are_numbers(columns: Sequence[Column], options: ReadOptions) -> bool:
    """Return whether ids are mapped that are numbers, and not texts."""
    types = load_pyarrow().types
    return options.relabel is True and all(types.is_integer(column.values.type) for column in columns)


def _has_negative(columns: Mapping[str, Column], options: ReadOptions) -> bool:
    """Return whether ids are mapped of which some are below 0."""
    ends = columns["src"], columns["dst"]
    return _are_numbers(ends, options) and any(column.values.to_numpy().min(initial=0) < 0 for column in ends)


def _ids(
    src: Column, dst: Column, options: ReadOptions, *, negative: bool
) -> tuple[np.ndarray, np.ndarray, Names | None]:
    """Return the ids of ``src`` and ``dst`` as uint32, and the names of the vertices (None unless ``relabel``).

    ``negative``: whether there are some below 0.
    """
    pa = load_pyarrow()
    if not options.relabel:
        most = MAX_VERTICES if options.num_vertices is None else options.num_vertices
        return _numbered(src, options, most), _numbered(dst, options, most), None
    if not _are_numbers((src, dst), options):
        names = Names("text")
        return *names.intern_pairs(src.texts(), dst.texts()), names
    for column in (src, dst):
        _check_lowest(column, options.first_id)
    unsigned = not negative and any(column.values.type == pa.uint64() for column in (src, dst))
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


def _bounds(columns: Mapping[str, Column]) -> list[int]:
    """Return the least and the largest weight, if weights are whole numbers and there are any."""
    if "weight" not in columns or not load_pyarrow().types.is_integer(columns["weight"].values.type):
        return []
    values = columns["weight"].values.to_numpy()
    return [int(values.min()), int(values.max())] if len(values) else []


def _weights(column: Column, dtype: np.dtype | None, bounds: list[int]) -> np.ndarray:
    """Return a column as weights; without a ``dtype`` whole ones get that of the least and the largest, ``bounds``."""
    pa = load_pyarrow()
    kind = column.values.type
    if pa.types.is_decimal(kind):
        column = column._replace(values=column.cast(pa.float64()))
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise column.error(f"has type {kind}: weights are numbers")
    values = column.values.to_numpy()
    if dtype is None and values.dtype.kind == "f":
        dtype = np.dtype(np.float64 if values.dtype.itemsize == 8 else np.float32)
    try:
        return checked_weights(values, whole_dtype(np.array(bounds)) if dtype is None else dtype, column.name)
    except WeightError as error:
        raise FileFormatError(column.path, None, str(error)) from error


def _first_zone(columns: Mapping[str, Column]) -> bool | None:
    """Return whether the first time has a zone, if times are texts and there are any."""
    column = columns.get("time")
    if column is None or not is_text(column.values.type) or not len(column.values):
        return None
    return looks_zoned(column.values[0].as_py().encode())


def _times(column: Column, first: FirstRow) -> tuple[np.ndarray, str | None]:
    """Return a column as int64 times, and their unit ("us", ...); None: they are plain numbers."""
    pa = load_pyarrow()
    if pa.types.is_date(column.values.type):
        column = column._replace(values=column.cast(pa.timestamp("s")))
    kind = column.values.type
    if is_text(kind):
        times = iso_times(column, first)
        return times.view(np.int64), np.datetime_data(times.dtype)[0]
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
