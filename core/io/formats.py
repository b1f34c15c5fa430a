"""Formats of files of lines: their headers, and how the format of an unknown file is recognised.

A :class:`Layout` is all that the tokenizer needs to know. It is made from the *head* of a file: its first chunk, which
reaches at least to the first line that is no comment. ``path`` names the file in messages; ``options`` are those of
``suricate.read``.
"""

from __future__ import annotations

import numbers
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from suricate.base.errors import FileFormatError, ParameterError, UnknownNameError
from suricate.base.parameters import is_number, shown
from suricate.base.types import MAX_VERTICES
from suricate.intake.tables import ENDS, end_of
from suricate.io.comments import Konect, direction, konect_header
from suricate.io.files import split_suffix
from suricate.io.first_row import has_texts, time_facts
from suricate.io.options import READ, SCAN, Advice, Columns, ReadOptions
from suricate.io.times import LOOKS_LIKE_TIME

TABLE_FORMATS = ("parquet", "arrow")  #: formats of columns with types; the others are text
#: formats of :func:`suricate.read` and :func:`suricate.write`
FORMATS = ("snap", "temporal", "mtx", "gr", "csv", *TABLE_FORMATS)

BY_SUFFIX = {
    ".mtx": "mtx", ".gr": "gr", ".csv": "csv", ".tsv": "csv",
    ".parquet": "parquet", ".arrow": "arrow", ".arrows": "arrow", ".feather": "arrow", ".ipc": "arrow",
}  # fmt: skip
STREAM_SUFFIX = ".arrows"  #: of the stream format of Arrow
READ_ONLY = {".metis": "metis", ".graph": "metis"}  #: formats that :func:`suricate.read` alone knows
TEXT_SUFFIXES = ("", ".txt", ".el", ".edges", ".edgelist", ".snap", ".dat")  #: written as plain text
_ROLES = ("src", "dst", "weight", "time")
_COLUMN_NAMES = {
    **ENDS,
    "weight": ("weight", "w", "wgt", "value", "rating"),
    "time": ("time", "timestamp", "t", "unixtime", "unixts"),
}
_TIME_DIGITS = 9  # a third column of integers with at least this number of digits is a time, not a weight
MOST_EDGES = 2**63 - 1
_ANY_COMMENT, _TEXT_COMMENT, _CSV_COMMENT, _MTX_COMMENT, _GR_COMMENT = r"[#%]|c(\s|$)", "[#%]", "#", "%", r"c(\s|$)"
_NO_COMMENT = r"\Z"
_TABLE_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}  # the last: an Arrow stream
_NUMBER = re.compile(rb"[+-]?(\d++(\.\d*+)?+|\.\d++)([eE][+-]?\d++)?")


@dataclass(frozen=True)
class Layout:
    """Describes the lines of a file: their fields, ids, times and header.

    A field is ``"src"``, ``"dst"``, ``"weight"``, ``"time"``, or ``"-"`` to skip.
    """

    format: str  #: one of :data:`FORMATS`, ``"metis"`` or ``"events"``
    records: Mapping[str, Sequence[str]]  #: the fields of a line by its first letter; ``""`` if lines have none
    comments: bytes = b""  #: first bytes of lines to skip
    delimiter: str | None = None  #: what separates columns; None: blanks and tabs
    first_id: int = 0  #: the least id of the file; after reading ids are counted from 0
    text_ids: bool = False  #: ids are text, not numbers
    signed_ids: bool = False  #: they are numbers that may be negative
    canonical_ids: bool = False  #: ids that are numbers have no + and no leading zeros
    #: 1: times are whole numbers; above 1: decimals, multiplied by this; 0: ISO 8601, as microseconds; -1: nanoseconds
    time_ticks: int = 1
    finer_ticks: int | None = None  #: for chunks with a time that ``time_ticks`` cannot hold; None: that is an error
    zoned: bool = False  #: whether times in ISO 8601 have a zone
    header_bytes: int = 0  #: length of the header, which the tokenizer does not see
    header_lines: int = 0
    counts_line: int = 0  #: number of the header's line that declares the counts
    num_vertices: tuple[int, int] | None = None  #: (sources, destinations) declared, which ids may not exceed
    least_vertices: int = 0  #: the least number of vertices of the file
    num_edges: int | None = None  #: declared by the header
    whole_weights: bool = False  #: weights are integers
    skipped: int = 0  #: how many numbers precede the neighbours in a row of a METIS file
    dst_offset: int = 0  #: added to destinations, which a bipartite file counts separately from the sources
    directed: bool | None = None  #: what the header says
    advice: Advice = READ
    names: Sequence[str] = ()  #: of the columns, in the header of CSV
    fields: Sequence[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", next(iter(self.records.values())))

    @property
    def iso_times(self) -> bool:
        """Whether times are texts in ISO 8601."""
        return self.time_ticks <= 0


class Line(NamedTuple):
    """A line of the head: its number from 1, its text without the newline, and where the next line starts."""

    number: int
    text: bytes
    end: int


def lines_of(head: bytes) -> Iterator[Line]:
    """Yield the lines of ``head``, stripped of blanks at both ends."""
    at, number = 0, 0
    while at < len(head):
        newline = head.find(b"\n", at)
        end = len(head) if newline < 0 else newline + 1
        number += 1
        yield Line(number, head[at:end].strip(), end)
        at = end


def _body(head: bytes, comment: str) -> Iterator[Line]:
    """Yield the lines of ``head`` that are neither blank nor comments; ``comment`` matches the start of a comment."""
    pattern = re.compile(comment.encode())
    return (line for line in lines_of(head) if line.text and not pattern.match(line.text))


def head_of(chunks: Iterator[bytes]) -> bytes:
    """Return the first chunks of a file, up to the first one that has a line which is not a comment in any format."""
    head = next(chunks, b"")
    while not any(True for _ in _body(head, _ANY_COMMENT)) and (more := next(chunks, b"")):
        head += more
    return head


def detect(path: Path, head: bytes, advice: Advice) -> str:
    """Return the format of a file by the extension of ``path``, else by its first lines, in ``head``."""
    by_suffix = {**BY_SUFFIX, **READ_ONLY}.get(split_suffix(path)[0])
    if by_suffix:
        return by_suffix
    if head.startswith(b"%%MatrixMarket"):
        return "mtx"
    body = [line.text for line, _ in zip(_body(head, _ANY_COMMENT), range(64), strict=False)]
    if not body:
        return "snap"
    if re.match(rb"p\s+\w+\s+\d+\s+\d+$", body[0]):
        return "gr"
    if re.match(rb"[ID+=-]\s+\d+\s+\d+(\s|$)", body[0]):
        raise FileFormatError(path, None, f"this is a stream of events: read it with {advice.events}")
    first = re.split(rb"[,;\t |]\s*", body[0])
    if re.search(rb"[,;|]", body[0]) or any(token.lower().decode("latin1") in ENDS["src"] for token in first):
        return "csv"
    if _konect(path, head) is not None:
        return "snap"
    return "temporal" if _looks_temporal(path, head, body) else "snap"


def _looks_temporal(path: Path, head: bytes, body: list[bytes]) -> bool:
    rows = [line.split() for line in body]
    if len(rows[0]) != 3:
        return False
    named = _named_columns(head)
    if named:
        return "time" in named
    third = [row[2] for row in rows if len(row) == 3]
    return "temporal" in path.name or all(map(_is_time, third))


def _is_time(token: bytes) -> bool:
    """Return whether ``token``, in the third column, is a time and not a weight: a large Unix time, or ISO 8601."""
    return LOOKS_LIKE_TIME.fullmatch(token) is not None or (token.isdigit() and len(token.lstrip(b"0")) >= _TIME_DIGITS)


def _named_columns(head: bytes) -> list[str]:
    """Return the roles of the columns if the last comment before the edges names them (``# src dst time``), else []."""
    roles: list[str] = []
    for line in lines_of(head):
        if not line.text.startswith((b"#", b"%")):
            break
        names = line.text.lstrip(b"#% ").decode("latin1").lower().split()
        found = [next((role for role in _ROLES if name in _COLUMN_NAMES[role]), "-") for name in names]
        roles = found if {"src", "dst"} <= set(found) and len(set(found)) == len(found) else []
    return roles


def table_format(path: Path, start: bytes, format: str | None) -> str | None:
    """Return the format of a Parquet or Arrow file: ``format``, else by extension or ``start``; None if it is text."""
    if format is not None and not (isinstance(format, str) and format in (*FORMATS, "metis")):
        raise UnknownNameError(f"unknown format {shown(format)}: there are {', '.join(FORMATS)}, metis")
    if format is None:
        magic = next((name for magic, name in _TABLE_MAGIC.items() if start.startswith(magic)), None)
        format = BY_SUFFIX.get(split_suffix(path)[0], magic)
    return format if format in TABLE_FORMATS else None


def make_layout(path: Path, head: bytes, format: str | None, options: ReadOptions) -> Layout:
    """Return the layout of the text file at ``path`` that starts with ``head``; ``format`` None: it is detected."""
    format = detect(path, head, options.advice) if format is None else format
    fixed = {"mtx": _mtx_layout, "gr": _gr_layout, "metis": _metis_layout}
    if format in fixed:
        if options.columns is not None or options.delimiter is not None or options.first_id not in (None, 1):
            raise ParameterError(f"format {format!r} fixes its columns and its delimiter, and counts ids from 1")
        if format == "metis" and options.advice is SCAN:
            raise FileFormatError(path, None, "METIS files list neighbours, not events")
        if format == "metis" and (options.relabel or options.num_vertices is not None):
            raise ParameterError("format 'metis' has its ids and its number of vertices: no relabel, no num_vertices")
        return replace(fixed[format](path, head), advice=options.advice)
    layout = _csv_layout(path, head, options) if format == "csv" else _text_layout(path, head, format, options)
    tokens = _first_tokens(layout, head)
    text_ids = options.relabel == "text" or (options.relabel and has_texts(layout.first_id, tokens, options))
    if text_ids and layout.dst_offset:
        raise ParameterError("the ids of a bipartite file are numbers that count apart: they are not read as texts")
    first_id = layout.first_id if options.first_id is None else options.first_id
    numbers = options.relabel is True and not text_ids
    return replace(
        layout,
        first_id=first_id,
        text_ids=bool(text_ids),
        signed_ids=numbers and first_id == 0,
        canonical_ids=numbers and options.names is not False and layout.first_id == 0,
        advice=options.advice,
        **time_facts(tokens.get("time", b""), options),
    )


def head_and_layout(
    path: Path, chunks: Iterator[bytes], format: str | None, options: ReadOptions
) -> tuple[bytes, Layout]:
    """Return ``(head, layout)`` of a text file: its first chunks, up to one that has a row, and how lines are built.

    Several chunks are needed if the first one ends right behind the header: that happens with pipes, and if the only
    row lacks its newline. ``format`` and exceptions are as for :func:`make_layout`.
    """
    head = head_of(chunks)
    layout = make_layout(path, head, format, options)
    while first_row(layout, head) is None and (more := next(chunks, b"")):
        head += more
        layout = make_layout(path, head, format, options)
    return head, layout


def first_row(layout: Layout, head: bytes) -> Line | None:
    """Return the first line after the header; None: ``head`` has none."""
    return next(_body(head[layout.header_bytes :], _TEXT_COMMENT if layout.comments else _NO_COMMENT), None)


def _first_tokens(layout: Layout, head: bytes) -> dict[str, bytes]:
    """Return the tokens of the first line after the header, by their roles in the ``layout``."""
    line = first_row(layout, head)
    tokens = [] if line is None else split_columns(line.text, layout.delimiter)
    return dict(zip(layout.fields, tokens, strict=False))


def split_columns(line: bytes, delimiter: str | None) -> list[bytes]:
    """Return the columns of one line, without quotes around them; ``delimiter`` None: they are split at blanks."""
    if delimiter is None:
        return line.split()
    sign = re.escape(delimiter.encode())
    tokens = re.findall(rb'\s*("(?:[^"]|"")*"|[^' + sign + rb"]*)\s*(?:" + sign + rb"|$)", line)
    tokens = tokens[:-1] if len(tokens) > 1 and not line.endswith(delimiter.encode()) else tokens
    return [token.strip().removeprefix(b'"').removesuffix(b'"') for token in tokens]


def place_columns(
    path: Path, names: Sequence[str] | None, count: int, columns: Columns, line: int | None, advice: Advice = READ
) -> list[str]:
    """Return the field (``"src"``, ``"-"`` for none, ...) of each of ``count`` columns, which may have ``names``.

    ``columns`` gives the column of each role, by name or position; ``line`` and ``advice`` are for messages.
    """
    fields = ["-"] * count
    for role, place in columns.items():
        if role not in _ROLES:
            raise UnknownNameError(f"unknown column role {role!r}: there are {', '.join(_ROLES)}")
        if isinstance(place, str):
            if names is None or place not in names:
                known = "the file has no header" if names is None else f"there are {', '.join(names)}"
                raise UnknownNameError(f"{path} has no column {place!r}: {known}")
            if names.count(place) > 1:
                reason = f"{names.count(place)} columns have the name {place!r}: give the position for {role}"
                raise FileFormatError(path, line, reason)
            place = names.index(place)
        if not 0 <= place < count:
            raise FileFormatError(path, line, f"there is no column {place} for {role}: there are {count}")
        if fields[place] != "-":
            raise FileFormatError(path, line, f"column {place} cannot be both {fields[place]} and {role}")
        fields[place] = role
    demand_ends(path, fields, names, line, advice)
    return fields


def demand_ends(
    path: Path, roles: Collection[str], names: Sequence[str] | None, line: int | None, advice: Advice
) -> None:
    """Raise ``FileFormatError`` unless ``roles`` of columns, which may have ``names``, include both ends of edges."""
    missing = [role for role in ENDS if role not in roles]
    if missing:
        known = f" among {', '.join(names)}" if names else ""
        raise FileFormatError(path, line, f"no column for {' and '.join(missing)}{known}: give {advice.columns}")


def place_of(path: Path, names: Sequence[str], count: int, column: Any) -> int:
    """Return the position of a further ``column``, given by name or position; ``ParameterError`` if there is none."""
    place = names.index(column) if isinstance(column, str) and column in names else column
    if not is_number(place, numbers.Integral) or not 0 <= place < count:
        known = f"it has {', '.join(names)}" if names else f"it has {count} columns and no header: give positions"
        raise ParameterError(f"{path} has no column {shown(column)}; {known}")
    return int(place)


def usual_columns(
    path: Path, names: Sequence[str], columns: Columns | None, line: int | None = None, advice: Advice = READ
) -> dict[str, str | int]:
    """Return, by role, the columns in ``names`` with usual names (``"source"``, ``"Timestamp"``).

    If ``columns`` are given, these, and the ends of edges that are not among them; two candidates are an error.
    """
    found = dict(usual_values(names) if columns is None else columns)
    try:
        ends = {end: end_of(end, names) for end in ENDS if end not in found}
    except ParameterError as error:
        raise FileFormatError(path, line, f"{error}, by {advice.columns}") from error
    return {end: name for end, name in ends.items() if name is not None} | found


def usual_values(names: Sequence[str]) -> dict[str, str | int]:
    """Return the first columns in ``names`` with usual names of weights and of times, by role."""
    columns: dict[str, str | int] = {}
    lower = [name.lower() for name in names]
    for role in ("weight", "time"):
        known = next((name for name in _COLUMN_NAMES[role] if name in lower), None)
        if known is not None:
            columns[role] = names[lower.index(known)]
    return columns


def _text_layout(path: Path, head: bytes, format: str, options: ReadOptions) -> Layout:
    first = next(_body(head, _TEXT_COMMENT), None)
    count = len(first.text.split()) if first else 2
    number = first.number if first else 1
    konect = _konect(path, head)
    if options.columns is not None:
        fields = place_columns(path, None, count, options.columns, number, options.advice)
    elif format == "temporal":
        fields = ["src", "dst", "weight", "time"] if count == 4 else ["src", "dst", "time"]
    else:
        third = "-" if konect and not konect.weighted else "weight"
        fields = ["src", "dst", third, "time"][: max(count, 2)]
    if first and count > len(fields):
        raise FileFormatError(path, number, f"{count} columns: give {options.advice.columns}, for instance")
    if konect is not None:
        return _konect_layout(format, fields, konect)
    comments = _comments(head)
    nodes = re.search(r"nodes:?\s*(\d+)", " ".join(comments).lower())
    least = declared_count(path, number, nodes[1].encode(), "vertices", MAX_VERTICES) if nodes else 0
    return Layout(format, {"": fields}, comments=b"#%", directed=direction(comments), least_vertices=least)


def _comments(head: bytes) -> list[str]:
    """Return the comments among the first 16 lines of ``head``, as texts."""
    lines = (line.text for line, _ in zip(lines_of(head), range(16), strict=False))
    return [line.decode("latin1") for line in lines if line[:1] in (b"#", b"%")]


def _konect(path: Path, head: bytes) -> Konect | None:
    try:
        return konect_header(_comments(head)[:2])
    except ValueError as error:
        raise FileFormatError(path, 1, str(error)) from error


def _konect_layout(format: str, fields: list[str], header: Konect) -> Layout:
    """Return the layout of a KONECT file with columns ``fields``, according to its ``header``."""
    return Layout(
        format,
        {"": fields},
        comments=b"#%",
        first_id=1,
        num_vertices=header.parts,
        least_vertices=header.least_vertices,
        dst_offset=header.parts[0] if header.parts else 0,
        directed=header.directed,
    )


def _csv_layout(path: Path, head: bytes, options: ReadOptions) -> Layout:
    columns, delimiter = options.columns, options.delimiter
    header = next(_body(head, _CSV_COMMENT), None)
    if header is None:
        return Layout("csv", {"": ["src", "dst"]}, comments=b"#", delimiter=delimiter or ",")
    if delimiter is None:
        counts = {sign: header.text.count(sign.encode()) for sign in ",;\t|"}
        delimiter = max(counts, key=lambda sign: counts[sign])
        delimiter = delimiter if counts[delimiter] else None
    tokens = split_columns(header.text, delimiter)
    if all(_NUMBER.fullmatch(token) or LOOKS_LIKE_TIME.fullmatch(token) for token in tokens):  # no header
        skipped = next((line.end for line in lines_of(head) if line.number == header.number - 1), 0)
        roles = ("src", "dst", "time") if LOOKS_LIKE_TIME.fullmatch(tokens[-1]) and len(tokens) == 3 else _ROLES
        usual = columns or {role: place for place, role in enumerate(roles[: len(tokens)])}
        fields = place_columns(path, None, len(tokens), usual, header.number, options.advice)
        return Layout("csv", {"": fields}, delimiter=delimiter, header_bytes=skipped, header_lines=header.number - 1)
    names = [token.decode("utf-8", "replace").replace('""', '"') for token in tokens]
    columns = usual_columns(path, names, columns, header.number, options.advice)
    fields = place_columns(path, names, len(names), columns, header.number, options.advice)
    return Layout(
        "csv", {"": fields}, delimiter=delimiter, header_bytes=header.end, header_lines=header.number, names=names
    )


def declared_count(path: Path, line: int, digits: bytes, what: str, most: int) -> int:
    """Return ``digits``, the number of ``what`` ("edges", ...) that a line declares; it may be at most ``most``."""
    digits = digits.lstrip(b"0") or b"0"
    if len(digits) > len(str(most)) or int(digits) > most:
        raise FileFormatError(path, line, f"{digits[:40].decode()} {what} are declared: at most {most} are possible")
    return int(digits)


def _header(path: Path, head: bytes, comment: str, pattern: bytes, form: str) -> tuple[Line, re.Match[bytes]]:
    """Return the first line of ``head`` that is not a comment, and its match with ``pattern``, a regular expression."""
    line = next(_body(head, comment), None)
    if line is None:
        raise FileFormatError(path, head.count(b"\n") + 1, f"the line '{form}' is missing")
    match = re.fullmatch(pattern, line.text)
    if match is None:
        raise FileFormatError(path, line.number, f"expected '{form}'")
    return line, match


def _counts(line: Line, vertices: tuple[int, int], edges: int) -> dict[str, Any]:
    """Return, as a dict, fields of ``Layout`` for a header, up to line ``line``, that declares these counts."""
    header = {"header_bytes": line.end, "header_lines": line.number, "counts_line": line.number}
    return {**header, "first_id": 1, "num_vertices": vertices, "least_vertices": max(vertices), "num_edges": edges}


def _mtx_layout(path: Path, head: bytes) -> Layout:
    banner = next(lines_of(head), Line(1, b"", 0)).text.lower().split()
    if len(banner) != 5 or banner[0] != b"%%matrixmarket" or banner[1] != b"matrix":
        raise FileFormatError(path, 1, "the first line must be '%%MatrixMarket matrix coordinate FIELD SYMMETRY'")
    shape, values, symmetry = (word.decode("latin1") for word in banner[2:])
    for word, allowed in (
        (shape, ("coordinate",)),
        (values, ("pattern", "real", "double", "integer", "unsigned-integer")),
        (symmetry, ("general", "symmetric")),
    ):
        if word not in allowed:
            raise FileFormatError(path, 1, f"{word!r} matrices are not read here, only {' or '.join(allowed)} ones")
    sizes, match = _header(path, head, _MTX_COMMENT, rb"(\d+)\s+(\d+)\s+(\d+)", "ROWS COLUMNS ENTRIES")
    rows, cols = (declared_count(path, sizes.number, match[i], "vertices", MAX_VERTICES) for i in (1, 2))
    entries = declared_count(path, sizes.number, match[3], "entries", MOST_EDGES)
    return Layout(
        "mtx",
        {"": ["src", "dst"] if values == "pattern" else ["src", "dst", "weight"]},
        comments=b"%",
        **_counts(sizes, (rows, cols), entries),
        whole_weights=values in ("integer", "unsigned-integer"),
        directed=symmetry == "general",
    )


def _gr_layout(path: Path, head: bytes) -> Layout:
    problem, match = _header(path, head, _GR_COMMENT, rb"p\s+sp\s+(\d+)\s+(\d+)", "p sp VERTICES ARCS")
    vertices = declared_count(path, problem.number, match[1], "vertices", MAX_VERTICES)
    arcs = declared_count(path, problem.number, match[2], "arcs", MOST_EDGES)
    return Layout(
        "gr",
        {"a": ["src", "dst", "weight"]},
        comments=b"c",
        **_counts(problem, (vertices, vertices), arcs),
        directed=True,
    )


def _metis_layout(path: Path, head: bytes) -> Layout:
    pattern = rb"(\d+)\s+(\d+)(?:\s+([01]{1,3})(?:\s+(\d{1,3}))?)?"
    header, match = _header(path, head, "%", pattern, "VERTICES EDGES [FORMAT [WEIGHTS]]")
    vertices = declared_count(path, header.number, match[1], "vertices", MAX_VERTICES)
    edges = declared_count(path, header.number, match[2], "edges", MOST_EDGES)
    has_size, has_weights, weighted = (digit == "1" for digit in (match[3] or b"0").decode().zfill(3))
    return Layout(
        "metis",
        {"": ["src", "dst", "weight"] if weighted else ["src", "dst"]},
        comments=b"%",
        **_counts(header, (vertices, vertices), edges),
        whole_weights=True,
        skipped=has_size + (int(match[4] or 1) if has_weights else 0),
        directed=False,
    )
