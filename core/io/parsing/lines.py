"""The ordinary lines of a layout, recognised by a regular expression: small files are read without compiled code.

What the expression does not match (errors, rare spellings of numbers) is left to the loop of ``parse_loops``, which
decides. A line that it does match means the same to that loop.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from suricate.io.formats import Layout
from suricate.io.parsing.codes import DECIMAL, LARGE, NEGATIVE
from suricate.io.times import decimal_ticks, parse

MOST_ODD_LINES = 256  #: with more lines left to the interpreted loop in a chunk, compiling it takes less time

_TIME = rb"-?\d{1,18}"  # fits into 64 bits, as ids of 19 digits do
_TOP, _MASK = 1 << 63, (1 << 64) - 1
_WEIGHT = rb"[+-]?(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?\d{1,4})?"
_ROLES = ("src", "dst", "weight", "time")
_QUOTE = ord('"')


class Rows(NamedTuple):
    """Columns of parsed lines: ``src`` and ``dst`` (uint64), ``weight`` (float64), ``time`` (int64), ``op`` (uint8).

    Ids that are texts are ``start << 32 | length`` in the chunk; ``op`` is the first byte of the line.
    """

    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray
    time: np.ndarray
    op: np.ndarray


class End(NamedTuple):
    """Where the parsing of a chunk ended: the result of ``parse_loops.parse_lines``."""

    rows: int
    hards: int  #: number of weights with too many digits, which are left to the caller
    marks: int  #: the kinds of numbers found, bits of ``codes``
    error: int = 0  #: code of the first error, 0 if there is none; the fields below say where it is
    line: int = 0
    column: int = 0
    start: int = 0  #: of the wrong token in the chunk
    stop: int = 0


class OrdinaryLines:
    """Parses chunks of ordinary lines by a regular expression; arguments as of ``parse_loops.parse_lines``."""

    def __init__(self, layout: Layout, limits: tuple[int, int], bounds: tuple[float, float], ticks: int) -> None:
        self._blanks = b" \t\r".replace((layout.delimiter or "\n").encode(), b"")
        self._comments = tuple(layout.comments)
        self._text, self._signed, self._ticks = layout.text_ids, layout.signed_ids, ticks
        self._zoned = layout.zoned
        self._first_id, self._limits, self._bounds = layout.first_id, limits, bounds
        self._records = {
            letter.encode(): _pattern(letter, fields, layout, self._blanks, ticks)
            for letter, fields in layout.records.items()
        }
        self._lettered = "" not in layout.records

    def parse(self, chunk: bytes, rows: Rows, parse_odd: Callable[[bytes, int, int], End]) -> End | None:
        """Parse a chunk into the columns ``rows``, in place; return where parsing ended, or the first error.

        A line that is not ordinary is parsed by ``parse_odd(line, at, row)`` into row ``row``; ``at`` is the position
        of its first byte in the chunk. None: more than :data:`MOST_ODD_LINES` lines are not ordinary.
        """
        row, at, odd, marks = 0, 0, 0, 0
        for number, line in enumerate(chunk.split(b"\n")):
            text = line.strip(self._blanks)
            if text and text[0] not in self._comments:
                values = self._read(text, at + line.index(text))
                if values is not None:
                    rows.src[row], rows.dst[row], rows.weight[row], rows.time[row], found = values
                    rows.op[row] = text[0]
                    marks |= found
                else:
                    odd += 1
                    if odd > MOST_ODD_LINES:
                        return None
                    end = parse_odd(chunk[at : at + len(line) + 1], at, row)
                    marks |= end.marks
                    if end.error:
                        return end._replace(rows=row, line=number, marks=marks)
                row += 1
            at += len(line) + 1
        return End(row, 0, marks)

    def _read(self, line: bytes, at: int) -> tuple[int, int, float, int, int] | None:
        """Return (src, dst, weight, time, marks) of a line, 0 for what it lacks; None if it is not an ordinary one."""
        pattern, groups = self._records.get(line[:1] if self._lettered else b"", (None, ()))
        found = pattern.fullmatch(line) if pattern else None
        if found is None:
            return None
        src_group, dst_group, weight_group, time_group = groups
        marks = 0
        if self._text:
            src, dst = self._span(line, found.span(src_group), at), self._span(line, found.span(dst_group), at)
            if not (src and dst):
                return None
        else:
            src, dst, first = int(found[src_group]), int(found[dst_group]), self._first_id
            if self._signed and min(src, dst) >= -_TOP:
                marks = (NEGATIVE if min(src, dst) < 0 else 0) | (LARGE if max(src, dst) >= _TOP else 0)
                src, dst = src & _MASK, dst & _MASK
            if not (first <= src <= self._limits[0] and first <= dst <= self._limits[1]):
                return None
            src, dst = src - first, dst - first
        weight = 0.0
        if weight_group:
            token = found[weight_group]
            weight, marks = float(token), marks | (0 if token.lstrip(b"+-").isdigit() else DECIMAL)
            if not self._bounds[0] <= weight <= self._bounds[1]:
                return None
        time = 0
        if time_group and self._ticks > 1:
            value = decimal_ticks(found[time_group], self._ticks)
            if value is None:
                return None
            time = value
        elif time_group and self._ticks <= 0:
            try:
                moment = parse(found[time_group].strip(self._blanks).strip(b'"').decode("latin1"))
            except ValueError:
                return None
            if moment.zoned != self._zoned or (self._ticks == 0 and moment.nanoseconds % 1000):
                return None
            time = moment.ticks(nanoseconds=self._ticks < 0)
        elif time_group:
            time = int(found[time_group])
        return src, dst, weight, time, marks

    def _span(self, line: bytes, span: tuple[int, int], at: int) -> int:
        """Return where a text is in the chunk, without quotes or blanks: ``start << 32 | length``; 0 if it is empty."""
        start, stop = span
        if start < stop and line[start] == _QUOTE:
            start, stop = start + 1, stop - 1
        else:
            text = line[start:stop]
            start += len(text) - len(text.lstrip(self._blanks))
            stop -= len(text) - len(text.rstrip(self._blanks))
        return 0 if stop <= start else (at + start) << 32 | (stop - start)


def _pattern(
    letter: str, fields: Sequence[str], layout: Layout, blanks: bytes, ticks: int
) -> tuple[re.Pattern[bytes], tuple[int, ...]]:
    """Return the regular expression of a line, and its groups of source, destination, weight and time (0: none)."""
    spaces = b"[" + blanks + b"]"
    if layout.delimiter is None:
        texts, separator, around = rb"([^ \t\r\n]++)", spaces + b"++", b""
    else:
        sign = re.escape(layout.delimiter.encode())
        texts, separator, around = b'("[^"\\n]*+"|[^"\\n' + sign + b"]*+)", sign, spaces + b"*+"
    kinds = {"-": texts, "weight": b"(" + _WEIGHT + b")"}
    digits = (b"-?" if layout.signed_ids else b"") + (rb"[1-9]\d{0,18}|0" if layout.canonical_ids else rb"\d{1,19}")
    kinds["src"] = kinds["dst"] = texts if layout.text_ids else b"(" + digits + b")"
    kinds["time"] = b"(" + _TIME + (rb"(?:\.\d++)?" if ticks > 1 else b"") + b")"
    if ticks <= 0:
        kinds["time"] = texts
    columns = [around + kinds[field] + around for field in fields]
    line = separator.join([re.escape(letter.encode()), *columns] if letter else columns)
    return re.compile(line), tuple(fields.index(role) + 1 if role in fields else 0 for role in _ROLES)
