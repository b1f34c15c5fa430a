"""From bytes to columns: chunks of whole lines, parsed by a layout (see ``formats``).

Large files go through the compiled loop of ``parse_loops``. Small files go through ``lines``, which uses the same loop,
interpreted, for the few lines that are not ordinary, so that nothing has to be compiled for them. Decimals of more than
15 digits go through ``float`` to be rounded correctly.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from suricate.base.errors import FileFormatError
from suricate.base.types import MAX_VERTICES
from suricate.io import times
from suricate.io.encodings import BYTES, first_wrong, why_wrong
from suricate.io.formats import Layout
from suricate.io.parsing import codes
from suricate.io.parsing.lines import End, OrdinaryLines, Rows
from suricate.io.times import LOOKS_DECIMAL, zone_message


class Tokenizer:
    """Parses chunks of a file of lines.

    Attributes:
        marks: the kinds of numbers found so far, bits ``DECIMAL``, ``NEGATIVE`` and ``LARGE`` of ``codes``.

    Args:
        id_limits: number of sources and number of destinations; ids less ``first_id`` must be below.
        weight_bounds: least and largest weight allowed. whole_weights: refuse a weight with a fraction.
        small: parse without compiled code; for files of a few chunks at most.
        encoding: of the file, if texts are read, ``"bytes"``: they may have any bytes.
    """

    def __init__(
        self,
        path: Path,
        layout: Layout,
        *,
        id_limits: tuple[int, int] = (MAX_VERTICES, MAX_VERTICES),
        weight_bounds: tuple[float, float] = (-np.finfo(np.float64).max, np.finfo(np.float64).max),
        whole_weights: bool = False,
        small: bool = False,
        encoding: str = BYTES,
    ) -> None:
        self.path, self.layout, self.marks, self._encoding = path, layout, 0, encoding
        self._has_vertices = min(id_limits) > 0
        self._limits = np.array([min(max(limit, 1) + layout.first_id, 2**64) - 1 for limit in id_limits], np.uint64)
        self._bounds = np.array(weight_bounds, np.float64)
        self._whole = whole_weights and "weight" in layout.fields
        self._small, self._ordinary = small, dict[int, OrdinaryLines]()  # by ticks
        self._tables()
        self._reserve(0)

    @property
    def plain_weights(self) -> bool:
        """Whether no weight had a point or an exponent so far."""
        return not self.marks & codes.DECIMAL

    def _tables(self) -> None:
        layout = self.layout
        classes = np.zeros(256, np.uint8)
        classes[[ord(char) for char in " \t\r"]] = codes.BLANK
        classes[ord("\n")] = codes.NEWLINE
        classes[list(layout.comments)] |= codes.COMMENT
        if layout.delimiter is not None:
            classes[ord(layout.delimiter)] = codes.DELIMITER
        record_of = np.full(256, -1, np.int8)
        kinds = np.zeros((len(layout.records), max(map(len, layout.records.values()))), np.int8)
        widths = np.zeros(len(layout.records), np.int64)
        for index, (letter, fields) in enumerate(layout.records.items()):
            record_of[ord(letter) if letter else 0] = index
            kinds[index, : len(fields)] = [codes.FIELDS[field] for field in fields]
            widths[index] = len(fields)
        self._classes, self._record_of, self._kinds, self._widths = classes, record_of, kinds, widths

    def _reserve(self, rows: int) -> None:
        dtypes = (np.uint64, np.uint64, np.float64, np.int64, np.uint8)
        self._rows, self._hard = Rows(*(np.empty(rows, dtype) for dtype in dtypes)), np.empty((rows, 4), np.int64)

    def parse(self, chunk: bytes, lines_before: int) -> Rows:
        """Return the rows of ``chunk`` (whole lines), which follows ``lines_before`` lines of the file.

        The columns are views of buffers, valid until the next chunk; those that the layout lacks have arbitrary values.
        Times are ``int64``, or ``datetime64`` if their unit is known.

        Raises:
            FileFormatError: with the number of the first line that is wrong.
        """
        if len(chunk) // 4 >= len(self._rows.src):  # the shortest line is "0 0" and a newline
            self._reserve(len(chunk) // 4 + 1)
        ticks, finer = self.layout.time_ticks, self.layout.finer_ticks
        end = self._parse(chunk, ticks)
        fraction = end.error == codes.BAD_TIME and ticks == 1 and b"." in chunk[end.start : end.stop]
        if finer is not None and (fraction or end.error == codes.FINE_TIME):
            ticks, end = finer, self._parse(chunk, finer)
        if self._encoding != BYTES:
            self._check_texts(chunk, end, lines_before)
        self.marks |= int(end.marks)
        hard = self._hard[: end.hards]
        self._round(chunk, hard[hard[:, 0] < end.rows], lines_before)
        if self._whole:
            self._check_whole(chunk, end.rows, lines_before)
        if end.error:
            token, letter = chunk[end.start : end.stop], chr(self._rows.op[end.rows])
            at_end = end.stop == len(chunk) and not chunk.endswith(b"\n")
            reason = self._reason(end.error, end.column, token, letter, at_end, ticks)
            raise FileFormatError(self.path, lines_before + end.line + 1, reason)
        if end.rows and not self._has_vertices:
            line = lines_before + _line_of_row(chunk, 0, self._classes) + 1
            raise FileFormatError(self.path, line, "there is an edge, but the number of vertices is declared as 0")
        rows = Rows(*(column[: end.rows] for column in self._rows))
        return rows._replace(time=rows.time.view({0: "M8[us]", 1: "int64"}.get(ticks, "M8[ns]")))

    def _parse(self, chunk: bytes, ticks: int) -> End:
        """Parse ``chunk`` into the buffers, times as ``ticks`` says (see ``parse_lines``); return where it ended."""
        end = None
        if self._small:
            if ticks not in self._ordinary:
                limits, bounds = self._limits.tolist(), self._bounds.tolist()
                self._ordinary[ticks] = OrdinaryLines(self.layout, (*limits,), (*bounds,), ticks)
            end = self._ordinary[ticks].parse(chunk, self._rows, partial(self._parse_odd, ticks))
        return self._run(_loop(), chunk, self._rows, ticks) if end is None else end

    def _run(self, loop: Callable[..., tuple], chunk: bytes, rows: Rows, ticks: int) -> End:
        """Parse ``chunk`` into ``rows`` by ``loop``, ``parse_lines`` compiled or interpreted; return where it ended."""
        layout = self.layout
        ids = codes.TEXTS * layout.text_ids + codes.SIGNED * layout.signed_ids + codes.CANONICAL * layout.canonical_ids
        form = (
            self._classes, layout.delimiter is not None, self._record_of, self._kinds, self._widths, ids,
            np.int64(ticks), 1 + layout.zoned, np.uint64(layout.first_id), self._limits, self._bounds,
        )  # fmt: skip
        return End(*loop(np.frombuffer(chunk, np.uint8), form, rows, self._hard))

    def _parse_odd(self, ticks: int, line: bytes, at: int, row: int) -> End:
        """Parse the line at byte ``at`` of its chunk to row ``row``, by ``parse_lines`` run as plain Python."""
        rows = Rows(*(column[row : row + 1] for column in self._rows))
        with np.errstate(over="ignore"):  # the loop wraps unsigned integers on purpose
            end = self._run(getattr(_loop(), "py_func", _loop()), line, rows, ticks)
        if end.hards and not end.error:
            _, start, stop, _ = self._hard[0].tolist()
            rows.weight[0] = float(line[start:stop])
            if not self._bounds[0] <= rows.weight[0] <= self._bounds[1]:
                end = end._replace(error=codes.WEIGHT_RANGE, start=start, stop=stop)
        if self.layout.text_ids:
            for column in (rows.src, rows.dst):
                column += np.uint64(at << 32)
        return end._replace(hards=0, start=at + end.start, stop=at + end.stop)

    def _round(self, chunk: bytes, hard: np.ndarray, lines_before: int) -> None:
        values = np.array([float(chunk[start:stop]) for _, start, stop, _ in hard.tolist()])
        bad = np.flatnonzero((values < self._bounds[0]) | (values > self._bounds[1]))
        if len(bad):
            _, start, stop, line = hard[bad[0]].tolist()
            reason = self._reason(codes.WEIGHT_RANGE, 0, chunk[start:stop])
            raise FileFormatError(self.path, lines_before + line + 1, reason)
        self._rows.weight[hard[:, 0]] = values

    def _check_texts(self, chunk: bytes, end: End, lines_before: int) -> None:
        """Raise ``FileFormatError`` if a line is not in the file's encoding, unless ``end`` has an earlier error."""
        found = first_wrong(chunk, self.layout.comments)
        if found is not None:
            start, at = found
            line = chunk.count(b"\n", 0, start)
            if not end.error or line <= end.line:
                raise FileFormatError(self.path, lines_before + line + 1, why_wrong(chunk, at, self._encoding))

    def _check_whole(self, chunk: bytes, rows: int, lines_before: int) -> None:
        weight = self._rows.weight[:rows]
        bad = np.flatnonzero(weight != np.floor(weight))
        if len(bad):
            line = lines_before + _line_of_row(chunk, int(bad[0]), self._classes) + 1
            raise FileFormatError(self.path, line, f"weight {weight[bad[0]]} is not a whole number")

    def _reason(
        self, error: int, column: int, token: bytes, letter: str = "", at_end: bool = False, ticks: int = 1
    ) -> str:
        layout = self.layout
        fields = layout.records.get(letter, next(iter(layout.records.values())))
        if any(byte < 32 and byte not in b"\t\r" for byte in token):
            return f"not a text file: {token[:20]!r}"
        shown = repr(token[:40].decode("utf-8", "replace"))
        free = layout.format in ("snap", "temporal", "csv")
        if error == codes.MISSING:
            count = f"{column} of {len(fields)} columns"
            return f"the file ends in the middle of a line ({count})" if at_end else f"missing column ({count})"
        if error == codes.EXTRA:
            return f"more than {len(fields)} columns{f': {shown}' if token else ''}"
        if error == codes.NO_DELIMITER:
            return f"expected {layout.delimiter!r} before {shown}"
        if error == codes.EMPTY_FIELD:
            return f"column {column + 1} ({fields[column]}) is empty"
        if error == codes.BAD_QUOTE:
            return f"a quoted field is not closed on its line, and line breaks within fields are not read: {shown}"
        if error == codes.BAD_RECORD:
            return f"a line must start with one of {', '.join(layout.records)}, not {shown}"
        if error == codes.OTHER_ZONE:
            return zone_message(_unquoted(token), zoned=layout.zoned)
        if error == codes.FINE_TIME:
            return f"time {_unquoted(token)!r} is finer than microseconds"
        if error == codes.BAD_TIME and ticks <= 0:
            return times.reason(_unquoted(token))
        if error == codes.BAD_TIME and ticks > 1:
            unit = "time_unit= (--time-unit) says which unit they have"
            return f"time {shown} is no number, or out of range: {unit}{_hint_of_date(token)}"
        if error == codes.BAD_TIME:
            hint = " (a window reads fractions of s, ms and us)" if LOOKS_DECIMAL.fullmatch(token) else ""
            return f"time {shown} is not a whole number of 64 bits{hint}{_hint_of_date(token)}"
        if error == codes.WEIGHT_RANGE:
            hint = "" if abs(self._bounds[1]) > 2**32 else " (weight_dtype='float64' takes it)"
            return f"weight {shown} is not between {self._bounds[0]:.10g} and {self._bounds[1]:.10g}{hint}"
        if error == codes.BAD_WEIGHT:
            finite = token.lower().lstrip(b"+-") not in (b"nan", b"inf", b"infinity")
            hint = f"; {layout.advice.columns} leaves other columns out" if free and finite else ""
            return f"weight {shown} is not {'a number' if finite else 'finite'}{hint}"
        digits = token[: len(token) - len(token.lstrip(b"0123456789"))]
        if error == codes.BAD_ID and token[:1] == b"-" and token[1:].isdigit():
            return f"id {shown} is negative{layout.advice.numbers if free else ''}"
        if error == codes.ID_RANGE and token[:1] == b"-":
            return f"id {shown} is too large: ids have at most 64 bits"
        if layout.canonical_ids and error in (codes.BAD_ID, codes.NOT_CANONICAL):
            reason = f"id {_unquoted(token[:40])!r} is not the text of an integer, as the ids before it"
            return f"{reason}: {layout.advice.texts} takes texts"
        if error == codes.BAD_ID or token not in (digits, digits + b'"'):
            return f"id {shown} is not a whole number{f' ({layout.advice.texts} takes texts)' if free else ''}"
        return self._range_reason(shown, digits, fields[column])

    def _range_reason(self, shown: str, digits: bytes, field: str) -> str:
        layout = self.layout
        if int(digits.lstrip(b"0")[:20] or b"0") < layout.first_id:  # 20 digits are beyond 64 bits
            return f"id {shown} is below {layout.first_id}: ids of this file are counted from {layout.first_id}"
        highest = int(self._limits[codes.FIELDS[field] - codes.SRC])
        if highest == 2**64 - 1:
            return f"id {shown} is too large: ids have at most 64 bits ({layout.advice.texts} takes any texts)"
        if highest - layout.first_id >= MAX_VERTICES - 1:
            hint = "" if layout.format == "events" else layout.advice.numbers
            return f"id {shown} is too large: ids go up to {highest}{hint}"
        return f"id {shown} is too large: with the number of vertices that is declared, ids go up to {highest}"


def _hint_of_date(token: bytes) -> str:
    """Return how dates are written, if ``token`` looks like one of another form: 1.3.2026, 3/1/2026."""
    return "; dates are read in the form 2026-03-01T22:00:00" if re.search(rb"\d[-/.]\d+[-/.]\d", token) else ""


def _unquoted(token: bytes) -> str:
    return token.removesuffix(b'"').decode("utf-8", "replace")


def _loop() -> Any:
    """Return the compiled ``parse_lines``; it is imported late, since small files mostly do without Numba."""
    from suricate.io.parsing.parse_loops import parse_lines

    return parse_lines


def _line_of_row(chunk: bytes, row: int, classes: np.ndarray) -> int:
    """Return the number, from 0, of the line of ``chunk`` that gave row ``row``; blank lines and comments give none."""
    for line, text in enumerate(chunk.split(b"\n")):
        text = text.strip(b" \t\r")
        if text and not classes[text[0]] & codes.COMMENT:
            if row == 0:
                return line
            row -= 1
    raise AssertionError("the chunk has fewer rows")
