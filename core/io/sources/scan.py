"""Events from files: text, CSV, Parquet, Arrow and event files, a folder or a pattern of them, chunk by chunk.

A chunk is some megabytes of text, a batch of rows of a table, or a step of an event file, so files may be larger than
memory. A position is (records of the files that were read, record of the file that was begun). A record is the name of
the file, numbers that change with its content (see ``identity.state_of``), how much was read (bytes of text, rows and
steps of others), the checksums of that, and the kinds of numbers found in text (see ``parsing.codes``). So it stays
valid if files are added at the end, and shows whether what was read is still there.
"""

from __future__ import annotations

import itertools
import operator
import os
import zlib
from collections.abc import Iterator, Mapping
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np

from suricate.base.errors import FileFormatError, ParameterError
from suricate.base.files import as_path, is_special
from suricate.base.parameters import flag, one_of, shown
from suricate.base.renamed import keywords
from suricate.base.types import DELETE, INSERT, SET
from suricate.io import steps
from suricate.io.divided.stretches import ALL, FINE, TEXT, LineCount, Stretch, begin_of, stretches_of
from suricate.io.encodings import BYTES, UTF8, checked_encoding
from suricate.io.files import CHUNK, ByteSource, rest_of
from suricate.io.formats import (
    FORMATS,
    Layout,
    demand_ends,
    head_and_layout,
    place_of,
    table_format,
    usual_columns,
    usual_values,
)
from suricate.io.options import SCAN, FirstRow, ReadOptions, check_columns
from suricate.io.parallel import parsed
from suricate.io.parsing.fields import Fields, texts_at
from suricate.io.parsing.lines import Rows
from suricate.io.parsing.text import original_ids
from suricate.io.parsing.tokenizer import Tokenizer
from suricate.io.parts import matching
from suricate.io.sources.chunk_columns import Texts
from suricate.io.sources.identity import ChangedError, rows_behind, state_of, without
from suricate.io.sources.refusals import BadLine
from suricate.io.sources.source import COLUMNS, MARK, Chunk, Source, _Mark, columns_of
from suricate.io.sources.times import NANOSECONDS

PARSED = ("src", "dst", "weight", "time")  #: columns that the readers of text know
BLOCK = 1 << 14  #: bytes of text in which one malformed line is looked for
NEWLINE = ord("\n")
ROWS = 1 << 18  #: of a chunk of a table

Parsed = list[tuple[bytes, Rows, list[BadLine]]]  #: pieces of a chunk: bytes, rows, malformed lines behind them


class Scan(Source):
    """A source of events that reads files; made by :func:`scan`, which explains its options."""

    resumes, live, prefetch = True, False, 2
    ends_of_lines = "at_end='hold' waits for the ends of lines"  #: what to do where a line went on after it was read

    def __init__(
        self, path: Any, format: str | None, *, texts: bool, encoding: str, restarts: bool, **options: Any
    ) -> None:
        super().__init__(**options)
        self._given, self._paths, self._format, (self._bad,) = path, self._files_of(path), format, self.refusals
        self._texts, self._encoding, self.restarts = texts, checked_encoding(encoding), restarts
        self._first, self._lines = FirstRow(), LineCount()
        self._begin: tuple[Path | None, Any] = None, None  # of the last file: what all its stretches need
        self._table_open: tuple[Path | None, Any] = None, None
        self.format, self.at = format, 0  #: the number of the file of which :meth:`by_rank` has read last

    def _files_of(self, path: Any) -> list[Path]:
        if isinstance(path, list | tuple):
            found = [as_path(each) for each in path]
        else:
            matched = matching(as_path(path))
            found = [as_path(path)] if matched is None else matched
        missing = next((each for each in found if not each.exists() or each.is_dir()), None)
        if not found or missing is not None:
            where = "in the folder " if missing is None and os.path.isdir(str(path)) else ""
            raise ParameterError(f"scan: there is no file {where}{shown(str(missing or path))}")
        return found

    def read(self, position: Any = None) -> Iterator[tuple[Any, Chunk | _Mark]]:
        """Yield the chunks of the files, one file after the other.

        Raises:
            ParameterError: what was read up to ``position`` is not there any more, and there is no restart.
        """
        self._first = self.first or FirstRow()
        records = _records_of(position)
        names, known = self._names(), dict[str, Any]((record[0], record) for record in records)
        moved = [at for at, record in enumerate(records) if names[at : at + 1] != [record[0]]]
        if moved and not self.restarts:
            was, now = records[moved[0]][0], "".join(names[moved[0] : moved[0] + 1]) or "missing"
            reason = "add files behind those that were read, and keep these"
            raise ParameterError(f"scan: file {moved[0]} was {was} when the position was taken, and is {now}: {reason}")
        done: tuple[Any, ...] = ()
        for path, name in zip(self._paths, names, strict=True):
            state, record = state_of(path), known.get(name)
            ended = record is not None and record is not records[-1]
            if record is None or not ended or state is None or record[1] != state:
                for read, chunk, bad in self._continued(path, record):
                    if ended and not self.restarts:
                        raise ParameterError(f"scan: {path} has grown, but files behind it were read since")
                    self._bad.hold(path, bad)
                    record = name, state, *read
                    yield (done, record), chunk
                record = (name, state, *record[2:]) if record else (name, None, 0, 0, 0)
            done += (record,)

    def by_rank(self, rank: int, size: int, first: int = 0) -> Iterator[tuple[int, Chunk | _Mark | None]]:
        """Yield (number, chunk) of the stretches whose number is ``rank`` modulo ``size``, from number ``first`` on.

        The files are numbered in stretches, in order: a megabyte of text (a quarter with names), a group of rows of a
        large table, and files that are not divided (small, compressed, of events, of several bytes per character). So
        the chunks of all ranks by number have the rows of :meth:`read` in its order. A stretch has any number of
        chunks; (number, None) ends it. Nothing is exchanged: ranks find the same numbers by the files, which must be
        the same. What all read is the beginning of each file of several stretches, and of the first one.

        Raises:
            FileFormatError: with the number of the line in the file, before which lines are then counted.
        """
        self._first, self._lines = self.first or FirstRow(), LineCount()
        self._begin, self._table_open = (None, None), (None, None)
        form = self._format, self._encoding, self._groups_of, FINE if self.names else CHUNK
        stretches = ((at, each) for at, path in enumerate(self._paths) for each in stretches_of(path, *form))
        for number, (at, stretch) in enumerate(stretches):
            is_own = number >= first and number % size == rank
            if number == 0 and not is_own and self._first.texts is None:
                self._learn(stretch)
            if not is_own:
                continue
            self.at = at
            for chunk in self._stretch(stretch):
                yield number, chunk
            yield number, None

    def _groups_of(self, path: Path, kind: str) -> int:
        from suricate.io.table_reading import errors_of, number_of_groups

        with errors_of(path):
            return number_of_groups(self._opened(path, kind)[0])

    def _opened(self, path: Path, kind: str) -> tuple[Any, Any]:
        """Return pyarrow's reader and the schema of a table of which stretches are read; the last one stays open."""
        from suricate.io.table_reading import opened

        if self._table_open[0] != path:
            self._table_open = path, opened(path, kind)
        found: tuple[Any, Any] = self._table_open[1]
        return found

    def _learn(self, stretch: Stretch) -> None:
        """Learn from the first file what its first row says about all files."""
        path = stretch.path
        with open(path, "rb", buffering=0) as file:
            kind = table_format(path, file.read(8), None if self._format == "events" else self._format)
        if kind is not None:
            next(self._table(path, kind, range(0)), None)
        elif self._format != "events":
            self._begin_of(path)

    def _begin_of(self, path: Path) -> tuple[Layout, int]:
        if self._begin[0] != path:
            self._begin = path, begin_of(path, self._format, self._options)
        found: tuple[Layout, int] = self._begin[1]
        return found

    def _stretch(self, stretch: Stretch) -> Iterator[Chunk | _Mark]:
        """Yield the chunks of a stretch; malformed lines behind each of them are in ``held`` of its refusals."""
        path = stretch.path
        if stretch.kind == ALL:
            for _, chunk, bad in self._file(path, None):
                self._bad.hold(path, bad)
                yield chunk
        elif stretch.kind != TEXT:
            self._demand_utf8(path)
            yield from self._table(path, stretch.kind, range(stretch.begin, stretch.end))
        else:
            layout, header = self._begin_of(path)
            begin = max(stretch.begin, header)
            with ByteSource(path, None, self._encoding, span=(begin, stretch.end)) as source:
                rows = self._rows(source, source.chunks(), layout, 0, small=False)
                try:
                    for _, _, chunk, bad in rows:
                        before = self._lines_before(path, begin) if bad else 0
                        self._bad.hold(path, [each._replace(number=before + each.number) for each in bad])
                        yield chunk
                except FileFormatError as error:
                    if error.line is None:
                        raise
                    line = self._lines_before(path, begin) + error.line
                    raise FileFormatError(path, line, error.reason) from None

    def _lines_before(self, path: Path, begin: int) -> int:
        """Return how many lines begin before byte ``begin`` of a file, by which lines of its stretch are counted."""
        return self._lines.before(path, begin - 1) + 1 if begin else 0

    def is_untouched(self, position: Any) -> bool:
        """Return whether all files are as they were when reading ended at ``position``, by their times and sizes."""
        found = [(name, state_of(path)) for path, name in zip(self._paths, self._names(), strict=True)]
        return found == [(record[0], record[1] or ()) for record in _records_of(position)]

    def place(self, position: Any) -> str:
        """Return the name of the file that ``position`` is in."""
        return str(_records_of(position)[-1][0]) if position else str(self._paths[0])

    def _names(self) -> list[str]:
        """Return the names of the files; whole paths if names are not different."""
        names = [path.name for path in self._paths]
        return names if len({*names}) == len(names) else [*map(str, self._paths)]

    def _continued(self, path: Path, record: Any) -> Iterator[Any]:
        """Yield (what was read, chunk, malformed lines behind it) of a file behind its ``record``, None: all of it."""
        reader = self._file(path, record and record[2:])
        try:
            ahead = [*itertools.islice(reader, 1)]  # what was read is checked before this
        except ChangedError as error:
            if not self.restarts:
                advice = "on_replaced='restart' reads it from its beginning"
                raise ParameterError(f"scan: {path} {error} before: {advice}") from None
            reader, ahead = self._file(path, None), []
        return itertools.chain(ahead, reader)

    def reads(self, path: Path) -> bool:
        """Return whether ``path`` is one of the files, or would be if it were there."""
        real = Path(os.path.realpath(path))
        if any(os.path.realpath(each) == str(real) for each in self._paths):
            return True
        if isinstance(self._given, list | tuple) or real.name.startswith((".", "_")):
            return False
        place = Path(os.path.realpath(as_path(self._given)))
        inside = real.parts[len(place.parts) : -1]  # of a folder, what it is divided into is read, too
        return real.match(str(place)) or (
            place.is_dir() and place in real.parents and all("=" in folder for folder in inside)
        )

    def describe(self) -> str:
        """Return the format and the columns as a text, so that a checkpoint can tell sources apart."""
        return f"Scan({self._format}, {dict(self.columns)})"

    def _file(self, path: Path, read: Any) -> Iterator[Any]:
        """Yield what :meth:`_continued` does; ``read``: what was read so far, ``ChangedError`` if that is gone."""
        if self._format == "events":
            self._demand_utf8(path)
            return self._checked(_steps(path, open_ended=self.open_ended), read)
        head = b""
        if not is_special(path):  # what is read of a pipe is gone
            with open(path, "rb") as file:
                head = file.read(8)
        kind = table_format(path, head, self._format)
        if kind is not None:
            self._demand_utf8(path)
            return self._checked(self._table(path, kind), read)
        return self._text(path, read)

    def _checked(self, chunks: Iterator[Any], read: Any) -> Iterator[Any]:
        for after, chunk in rows_behind(chunks, read and read[:2], checked=self.checked):
            yield (*after, 0), chunk, ()

    def _demand_utf8(self, path: Path) -> None:
        if self._encoding != UTF8:
            raise ParameterError(f"scan: encoding is for text and CSV files, which {path} is not")

    def _table(self, path: Path, kind: str, groups: range | None = None) -> Iterator[Chunk]:
        """Yield the chunks of a table, of the format ``kind``; of these ``groups`` of its rows, None: all."""
        from suricate.io.sources.table_batches import event_columns
        from suricate.io.table_reading import errors_of, load_pyarrow, opened

        with errors_of(path):
            reader, schema = opened(path, kind) if groups is None else self._opened(path, kind)
            names = schema.names
            chosen = {**usual_values(names), **({"kind": "kind"} if "kind" in names else {}), **self.columns}
            chosen = usual_columns(path, names, chosen, None, SCAN)
            chosen |= {name: name for name in self.attributes if name not in chosen}
            demand_ends(path, chosen, names, None, SCAN)
            roles = {
                role: names[place_of(path, names, len(names), name)] for role, name in chosen.items()
                if role in COLUMNS or role in self.attributes
            }  # fmt: skip
            if groups is not None:  # what the schema says of all rows
                empty = load_pyarrow().RecordBatch.from_pylist([], schema=schema)
                event_columns(path, empty, roles, self._first, names=self.names, texts=self._texts)
            if kind == "parquet":
                wanted = range(reader.num_row_groups) if groups is None else groups
                batches = reader.iter_batches(ROWS, row_groups=[*wanted], columns=[*dict.fromkeys(roles.values())])
            elif hasattr(reader, "get_batch"):  # of the file format
                batches = map(reader.get_batch, range(reader.num_record_batches) if groups is None else groups)
            else:
                batches = reader
            for batch in batches:
                batch = event_columns(path, batch, roles, self._first, names=self.names, texts=self._texts)
                yield columns_of(batch, roles, self.attributes)

    @property
    def _options(self) -> ReadOptions:
        return ReadOptions(
            "text" if self._texts else True,
            {role: column for role, column in self.columns.items() if role in PARSED} or None,
            time_scale=NANOSECONDS[self.time_unit or "s"],
            names=self.names,
            first=self._first,
            advice=SCAN,
            encoding=self._encoding,
        )

    def _text(self, path: Path, read: Any) -> Iterator[Any]:
        """Yield what :meth:`_file` does, of a text file."""
        with ByteSource(path, None, self._encoding, open_ended=self.open_ended) as source:
            chunks = source.chunks()
            ahead = next(chunks, b"")
            if not ahead:  # not even a header
                if read and read[0]:
                    raise ChangedError(f"has none of the {read[0]} bytes that were read")
                return
            chunks = itertools.chain([ahead], chunks)
            head, layout = head_and_layout(path, chunks, self._format, self._options)
            chunks, small = rest_of(chunks, head) if source.is_ready() else (chunks, False)
            size, checksum, before = read if read and read[0] else (layout.header_bytes, None, 0)
            expected = checksum if self.checked else None
            body, checksum, lines, last = without(itertools.chain([head], chunks), size, expected)
            body = self._whole_lines(path, body, last)
            lines = lines if read and read[0] else layout.header_lines
            for piece, marks, found, bad in self._rows(source, body, layout, lines, before, small=small):
                size += len(piece)
                checksum = zlib.crc32(piece, checksum) if self.checked else 0
                yield (size, checksum, marks), found, bad

    def _rows(
        self, source: ByteSource, body: Iterator[bytes], layout: Layout, lines: int, before: int = 0, *, small: bool
    ) -> Iterator[tuple[memoryview, int, dict[str, Any], list[BadLine]]]:
        """Yield (bytes, kinds of numbers so far, columns, malformed lines behind them) of the lines in ``body``.

        ``lines``, ``before``: how many lines, and which kinds of numbers, there are before.
        """
        path, columns = source.path, self.columns
        further = {name: columns.get(name, name) for name in ("kind", *self.attributes)}
        if "kind" not in columns and "kind" not in layout.names:
            del further["kind"]
        fields = Fields(path, layout, further)
        # the window says which ids are vertices
        encoding = self._encoding if layout.text_ids or further else BYTES
        make = partial(Tokenizer, path, layout, id_limits=(2**64, 2**64), small=small, encoding=encoding)
        tokenizers, parse = [make()], partial(parse_pieces, raises=self._bad.raises)
        pieces = ((whole, *piece) for whole, found in parsed(source, body, parse, tokenizers, make, lines)
                  for piece in _placed(whole, found))  # fmt: skip
        for whole, begin, end, chunk, rows, bad in pieces:
            marks = reduce(operator.or_, (each.marks for each in tokenizers), before)
            found = columns_in(chunk, rows, layout, marks, path)
            for name, spans in fields.of(chunk, len(rows.src)).items():
                found[name] = texts_of(chunk, spans, quotes=layout.delimiter is not None)
            yield memoryview(whole)[begin:end], marks, found, bad

    def _whole_lines(self, path: Path, chunks: Iterator[bytes], last: bytes) -> Iterator[bytes]:
        """Return ``chunks`` behind bytes of which ``last`` is the last one; raise an error if it was within a line."""
        ahead = next(chunks, b"")
        if last != b"\n" and ahead.strip(b"\r")[:1] not in (b"", b"\n"):
            told = "was read without its end, and goes on now"
            raise ParameterError(f"scan: the last line of {path} {told}: {self.ends_of_lines}")
        return itertools.chain([ahead], chunks) if ahead else chunks


def divides(source: Source) -> bool:
    """Return whether several processes may read a source by :meth:`Scan.by_rank`: files that do not grow, no pipes."""
    return type(source) is Scan and not source.open_ended and not any(map(is_special, source._paths))


def _records_of(position: Any) -> list[Any]:
    return [] if position is None else [*position[0], position[1]]


def _placed(whole: bytes, pieces: Parsed) -> Iterator[tuple[int, int, bytes, Rows, list[BadLine]]]:
    """Yield ``pieces`` of the chunk ``whole``, each with the range of its bytes and of the malformed line behind it."""
    end = 0
    for chunk, rows, bad in pieces:
        begin, end = end, end + len(chunk)
        if bad:
            end = whole.find(b"\n", end) + 1 or len(whole)
        yield begin, end, chunk, rows, bad


def columns_in(chunk: bytes, rows: Rows, layout: Layout, marks: int, path: Path) -> dict[str, Any]:
    """Return the columns of ``rows``, parsed from ``chunk``: copies; ``marks``: kinds of numbers so far in ``path``."""
    found: dict[str, Any] = {"src": rows.src.copy(), "dst": rows.dst + np.uint64(layout.dst_offset)}
    for name, part in found.items():
        if layout.text_ids:
            found[name] = texts_of(chunk, part, quotes=layout.delimiter is not None)
        else:
            found[name] = original_ids(part, marks, path, layout)
    found |= {name: getattr(rows, name).copy() for name in ("weight", "time") if name in layout.fields}
    return found


def ordered(source: Source, order: str | None, prefetch: int | None) -> Source:
    """Return the source, sorted by time if ``order`` says so, which excludes ``prefetch``."""
    if order is None:
        return source
    if not isinstance(order, str) or order != "time":
        raise ParameterError(f"order must be None or 'time', got {shown(order)}")
    if prefetch:
        raise ParameterError(f"prefetch={prefetch}: a sorted source is read as a whole")
    if source.endless:
        raise ParameterError("order='time' sorts all events of a source; this one waits for further ones")
    return source._by_time()


@keywords(attributes="columns={'fee': ...}")
def scan(  # noqa: PLR0913 - what a user may choose, by keyword
    path: str | os.PathLike[str] | list[Any],
    *,
    columns: Mapping[str, str | int] | None = None,
    src: str | int | None = None,
    dst: str | int | None = None,
    weight: str | int | None = None,
    time: str | int | None = None,
    kind: str | int | None = None,
    time_unit: str | None = None,
    order: str | None = None,
    prefetch: int | None = None,
    on_error: Any = "raise",
    format: str | None = None,
    texts: bool = False,
    encoding: str = "utf-8",
    on_replaced: str = "raise",
) -> Source:
    """Return a source that reads files: text and CSV (compressed ones too), Parquet, Arrow, or event files.

    Args:
        path: a file, a folder, a pattern (``"pay/*.parquet"``) or a list of files; a list is read in its own order,
            others in the natural order of their names (``p9`` before ``p10``), as by ``suricate.read``.
        columns: where each value is found, by name or position: ``src``, ``dst``, ``weight``, ``time``, ``kind`` and
            the attributes of the window; by default under the usual names, attributes under their own.
        src, dst, weight, time, kind: short for an entry of ``columns``.
        time_unit: the unit of times that are numbers: ``"s"`` (the default), ``"ms"``, ``"us"`` or ``"ns"``. They may
            have fractions; the nearest nanosecond is taken. Texts in ISO 8601 are times, too, all of them with a zone
            or none.
        order, prefetch, on_error: as of ``st.source``; lines that cannot be parsed are refused as events are.
        format: ``"events"`` for event files (windows with ``slide="step"`` move by their steps), else one of the
            formats of ``suricate.read``; None: by the extension, else by the first bytes.
        texts: read sources and destinations as texts even if they look like integers; by default the first row decides
            for all files. Windows take texts with ``names=True``.
        encoding: of text and CSV files: a codec of Python (``"latin-1"``, ``"cp1252"``, ``"utf-16"``), or ``"bytes"``:
            names may have any bytes, which sinks write to CSV again; other ways out refuse them.
        on_replaced: what happens if a job goes on from a checkpoint, and a file has not the content any more that was
            read: ``"raise"``, or ``"restart"``: it is read from its beginning, as one that is new is.

    Raises:
        ParameterError: there is no such file, or an argument is of the wrong type.
        FileFormatError: raised while reading: a file is malformed; has the number of the line.
        MissingLibraryError: raised while reading: a file needs a package that is not installed.

    Example:
        >>> file = su.write(su.EdgeList(np.array([0, 1]), np.array([1, 2])), "edges.csv")
        >>> [w.events for w in st.Window(st.scan(file), size=2, slide=2, graph={"device": "cpu"})]
        [2]
    """
    roles = named_columns(columns, {"src": src, "dst": dst, "weight": weight, "time": time, "kind": kind})
    restarts = one_of("on_replaced", on_replaced, ("raise", "restart")) == "restart"
    unit = "s" if time_unit is None else time_unit
    found = Scan(
        path, checked_format(format), texts=flag("texts", texts), encoding=encoding, restarts=restarts,
        columns=roles, time_unit=unit, prefetch=prefetch, on_error=on_error,
    )  # fmt: skip
    return ordered(found, order, prefetch)


def named_columns(columns: Mapping[str, str | int] | None, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``columns`` and those that are ``named`` by role, unless None; ``ParameterError`` if one is in both."""
    named = {role: name for role, name in named.items() if name is not None}
    check_columns(columns)
    if twice := named.keys() & (columns or {}):
        raise ParameterError(f"scan: {min(twice)} is given twice, in columns as well")
    return {**named, **(columns or {})}


def checked_format(format: str | None) -> str | None:
    """Return ``format``, the name of one that sources read, or None; else raise."""
    return None if format is None else str(one_of("format", format, (*FORMATS, "events", "metis")))


def parse_pieces(parser: Tokenizer, chunk: bytes, lines: int, *, raises: bool = False) -> Parsed:
    """Return the rows of ``chunk``, cut at malformed lines: a list of (bytes, rows, malformed line behind, if any)."""
    try:
        return [(chunk, parser.parse(chunk, lines), [])]
    except FileFormatError as error:
        if raises or error.line is None:
            raise
        ends = np.flatnonzero(np.frombuffer(chunk, np.uint8) == NEWLINE) + 1
        if len(chunk) > BLOCK and len(ends) > 1:  # so that each of many malformed lines costs a block, not a chunk
            half = int(ends[np.searchsorted(ends, ends[-1] // 2)])
            half = half if half < len(chunk) else int(ends[-2])
            first = _copied(parse_pieces(parser, chunk[:half], lines))
            return first + parse_pieces(parser, chunk[half:], lines + int(np.searchsorted(ends, half)) + 1)
        at = error.line - lines - 1
        begin, end = int(ends[at - 1]) if at else 0, int(ends[at]) if at < len(ends) else len(chunk)
        bad = [BadLine(error.line, chunk[begin:end].decode("utf-8", "replace").strip(), error.reason)]
        first = _copied([(chunk[:begin], parser.parse(chunk[:begin], lines), bad)])
        return first + (parse_pieces(parser, chunk[end:], error.line) if end < len(chunk) else [])


def _copied(pieces: Parsed) -> Parsed:
    """Return ``pieces`` with copies of their rows: the parser overwrites its own when it parses the next chunk."""
    return [(chunk, Rows(*(column.copy() for column in rows)), bad) for chunk, rows, bad in pieces]


def texts_of(chunk: bytes, spans: np.ndarray, *, quotes: bool) -> Any:
    """Return the texts at ``spans`` of ``chunk``; with ``quotes`` a doubled quote stands for one."""
    doubled = quotes and b'""' in chunk
    return texts_at(chunk, spans, quotes=True) if doubled else Texts(np.frombuffer(chunk, np.uint8), spans)


def _steps(path: Path, *, open_ended: bool) -> Iterator[Any]:
    for step in steps.steps_of(path, open_ended=open_ended):
        yield step_columns(step)
        yield MARK


def step_columns(step: steps.EventStep) -> Chunk:
    """Return the columns of the events in a ``step`` of an event file; a new weight is an event of kind ``SET``."""
    kind = np.select([step.op == steps.INSERT, step.op == steps.DELETE], [INSERT, DELETE], SET).astype(np.int8)
    return {"src": step.src, "dst": step.dst, "kind": kind, **({} if step.weight is None else {"weight": step.weight})}
