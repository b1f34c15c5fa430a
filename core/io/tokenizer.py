"""From bytes to columns: one byte-level loop for every text format, about a nanosecond per byte.

A *layout* (see ``formats``) says what the columns of a line are; :class:`Tokenizer` turns it into small tables and
runs :func:`parse_lines` over chunks of whole lines. Nothing is done per line in Python, except for decimals of more
than 15 digits, which go through ``float`` to be rounded correctly.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit

from suricate.errors import FileFormatError
from suricate.io.formats import Layout
from suricate.types import MAX_VERTICES

BLANK, NEWLINE, DELIMITER, COMMENT = 1, 2, 4, 8  # classes of bytes
BREAK = BLANK | NEWLINE | DELIMITER
SKIP, SRC, DST, WEIGHT, TIME = range(5)  # fields of a line
FIELDS = {"-": SKIP, "src": SRC, "dst": DST, "weight": WEIGHT, "time": TIME}

OK, MISSING, EXTRA, EMPTY_FIELD, BAD_ID, ID_RANGE, BAD_WEIGHT, WEIGHT_RANGE, BAD_TIME, BAD_RECORD, BAD_QUOTE = range(11)
NO_DELIMITER = 11

MINUS, PLUS, POINT, QUOTE, LF = (np.uint8(ord(char)) for char in '-+."\n')
ZERO = np.uint8(ord("0"))
POWERS = np.array([10.0**k for k in range(23)])  # exact in double precision
EXACT = np.uint64(1 << 53)
LAST_SAFE = np.uint64((2**64 - 10) // 10)  # below it another digit fits into 64 bits
ONE, TEN, SIGN = np.uint64(1), np.uint64(10), np.uint64(1 << 63)


@njit(cache=True, nogil=True)
def parse_whole(data, p):
    """Read digits from ``p``: return (value, position after them, whether the value fits into 64 bits)."""
    value, fits = np.uint64(0), True
    while p < len(data):
        digit = np.uint8(data[p] - ZERO)
        if digit > 9:
            break
        if value > LAST_SAFE and (value > LAST_SAFE + ONE or digit > 5):  # 2**64 - 1 ends in 5
            fits = False
        value = value * TEN + np.uint64(digit)
        p += 1
    return value, p, fits


@njit(cache=True, nogil=True)
def parse_decimal(data, p):
    """Read a decimal number from ``p``: return (value, position after it, whether exact, whether it has only digits).

    The value is correctly rounded if ``exact``: the digits fit into 53 bits and the power of ten is one of
    :data:`POWERS`, so there is a single rounding. The position is that of the start if there is no number.
    """
    start, n = p, len(data)
    negative = p < n and data[p] == MINUS
    if p < n and (negative or data[p] == PLUS):
        p += 1
    mantissa, digits, exponent = np.uint64(0), 0, np.int64(0)
    exact, plain, fraction = True, True, False
    while p < n:
        byte = data[p]
        if byte == POINT and not fraction:
            fraction, plain = True, False
        else:
            digit = np.uint8(byte - ZERO)
            if digit > 9:
                break
            digits += 1
            if mantissa <= LAST_SAFE:
                mantissa = mantissa * TEN + np.uint64(digit)
                if fraction:
                    exponent -= 1
            else:
                exact = False
        p += 1
    if digits == 0:
        return 0.0, start, True, True
    if p + 1 < n and (data[p] | 32) == 101:  # e or E
        at = p + 1
        sign = -1 if data[at] == MINUS else 1
        if data[at] == MINUS or data[at] == PLUS:
            at += 1
        power, end, fits = parse_whole(data, at)
        if end > at:
            plain, p = False, end
            exponent += sign * np.int64(min(power, np.uint64(99999)) if fits else np.uint64(99999))
    if mantissa > EXACT or exponent < -22 or exponent > 22:
        exact = False
    value = np.float64(mantissa)
    if exact:
        value = value * POWERS[exponent] if exponent >= 0 else value / POWERS[-exponent]
    return -value if negative else value, p, exact, plain


@njit(cache=True, nogil=True)
def text_end(data, p, classes, delimited):
    """Return where the text token from ``p`` ends; with a delimiter, blanks inside belong to it."""
    start, stops = p, NEWLINE | DELIMITER if delimited else BREAK
    while p < len(data) and not classes[data[p]] & stops:
        p += 1
    while p > start and classes[data[p - 1]] & BLANK:
        p -= 1
    return p


@njit(cache=True, nogil=True)
def closing_quote(data, p):
    """Return the position of the quote that closes the field whose text starts at ``p``, or -1 if the line has none."""
    while p < len(data) and data[p] != LF:
        if data[p] == QUOTE:
            if p + 1 == len(data) or data[p + 1] != QUOTE:
                return p
            p += 1
        p += 1
    return -1


@njit(cache=True, nogil=True)
def parse_lines(
    data, classes, delimited, record_of, layout, widths, text, first_id, limits, bounds,
    src, dst, weight, time, op, hard,
):  # fmt: skip
    """Parse the lines of ``data`` (uint8[n]) into columns; stop at the first line that is wrong.

    Args:
        data: whole lines; the last may lack its newline, which then is the end of the file.
        classes: uint8[256], the class bits of every byte.
        delimited: whether columns are separated by a delimiter (and may be quoted) rather than by blanks.
        record_of: int8[256], which row of ``layout`` a line has by its first letter, -1 if none; ``record_of[0]`` is 0
            where lines have no letter in front.
        layout: int8[records, columns], the field of every column. ``widths``: int64[records], columns of a record.
        text: whether ids are text; then ``src`` and ``dst`` get ``start << 32 | length`` of the token.
        first_id: uint64, subtracted from every id. ``limits``: uint64[2], largest src and dst before that.
        bounds: float64[2], least and largest weight. ``op``: uint8[rows], the letter.
        src, dst: uint64[rows]. weight: float64[rows]. time: int64[rows].
        hard: int64[rows, 4], row, start, stop and line of the weights that need ``float``.

    Returns:
        (rows, hard weights, whether all weights are plain integers, error, line from 0, column from 0, start and stop
        of the token at fault).
    """
    n, p, line, row, hards = len(data), 0, 0, 0, 0
    plain = True
    prefixed = record_of[0] != 0
    while p < n:
        while p < n and classes[data[p]] & BLANK:
            p += 1
        if p == n:
            break
        if data[p] == LF:
            p += 1
            line += 1
            continue
        if classes[data[p]] & COMMENT:
            while p < n and data[p] != LF:
                p += 1
            continue
        record = 0
        if prefixed:
            record = record_of[data[p]]
            op[row] = data[p]
            if record < 0 or (p + 1 < n and not classes[data[p + 1]] & BREAK):
                return row, hards, plain, BAD_RECORD, line, 0, p, text_end(data, p, classes, False)
            p += 1
        for column in range(widths[record]):
            while p < n and classes[data[p]] & BLANK:
                p += 1
            if delimited and column > 0:
                if p == n or data[p] == LF:
                    return row, hards, plain, MISSING, line, column, p, p
                if not classes[data[p]] & DELIMITER:
                    return row, hards, plain, NO_DELIMITER, line, column, p, text_end(data, p, classes, True)
                p += 1
                while p < n and classes[data[p]] & BLANK:
                    p += 1
            field = layout[record, column]
            start = p
            if p == n or data[p] == LF or classes[data[p]] & DELIMITER:
                if delimited and field == SKIP:
                    continue
                if not delimited or p == n:
                    return row, hards, plain, MISSING, line, column, p, p
                return row, hards, plain, EMPTY_FIELD, line, column, p, p
            close = -1
            if delimited and data[p] == QUOTE:
                start = p + 1
                close = closing_quote(data, start)
                if close < 0:
                    return row, hards, plain, BAD_QUOTE, line, column, p, text_end(data, p, classes, True)
                p = start
            error = OK
            if field == SKIP:
                p = close if close >= 0 else text_end(data, p, classes, delimited)
            elif field <= DST:
                if text:
                    p = close if close >= 0 else text_end(data, p, classes, delimited)
                    value = (np.uint64(start) << np.uint64(32)) | np.uint64(p - start)
                    if p == start:
                        error = EMPTY_FIELD
                else:
                    value, p, fits = parse_whole(data, p)
                    if p == start:
                        error = BAD_ID
                    elif not fits or value > limits[field - SRC] or value < first_id:
                        error = ID_RANGE
                    value -= first_id
                if field == SRC:
                    src[row] = value
                else:
                    dst[row] = value
            elif field == WEIGHT:
                number, p, exact, digits_only = parse_decimal(data, p)
                plain = plain and digits_only
                weight[row] = number
                if p == start:
                    error = BAD_WEIGHT
                elif not exact:
                    hard[hards, 0], hard[hards, 1], hard[hards, 2], hard[hards, 3] = row, start, p, line
                    hards += 1
                elif number < bounds[0] or number > bounds[1]:
                    error = WEIGHT_RANGE
            else:
                negative = data[p] == MINUS
                value, p, fits = parse_whole(data, p + negative)
                if p == start + negative or not fits or value > SIGN or (value == SIGN and not negative):
                    error = BAD_TIME
                time[row] = -np.int64(value) if negative else np.int64(value)
            if close >= 0:
                clean = p == close
                p = close + 1
            else:
                clean = p == n or classes[data[p]] & BREAK != 0
            if error == OK and not clean:
                error = BAD_ID if field <= DST else BAD_WEIGHT if field == WEIGHT else BAD_TIME
            if error != OK:
                return row, hards, plain, error, line, column, start, text_end(data, start, classes, delimited)
        while p < n and classes[data[p]] & BLANK:
            p += 1
        if p < n and data[p] != LF:
            return row, hards, plain, EXTRA, line, widths[record], p, text_end(data, p, classes, delimited)
        row += 1
    return row, hards, plain, OK, line, 0, p, p


class Rows(NamedTuple):
    """Parsed lines: views of the tokenizer's buffers, valid until the next chunk. Columns that are absent are unset."""

    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray
    time: np.ndarray
    op: np.ndarray


class Tokenizer:
    """Parses chunks of the file ``path`` by ``layout``; ``plain_weights`` tells whether no weight had a point so far.

    Args:
        path: for messages.
        layout: what a line is.
        id_limits: number of sources and of destinations that there are (ids are below).
        weight_bounds: least and largest weight allowed.
        whole_weights: refuse a weight with a fraction.
    """

    def __init__(
        self,
        path: Path,
        layout: Layout,
        *,
        id_limits: tuple[int, int] = (MAX_VERTICES, MAX_VERTICES),
        weight_bounds: tuple[float, float] = (-np.finfo(np.float64).max, np.finfo(np.float64).max),
        whole_weights: bool = False,
    ) -> None:
        self.path, self.layout, self.plain_weights = path, layout, True
        self._limits = np.array([min(limit + layout.first_id, 2**64) - 1 for limit in id_limits], np.uint64)
        self._bounds = np.array(weight_bounds, np.float64)
        self._whole = whole_weights
        self._tables()
        self._reserve(0)

    def _tables(self) -> None:
        layout = self.layout
        classes = np.zeros(256, np.uint8)
        classes[[ord(char) for char in " \t\r"]] = BLANK
        classes[LF] = NEWLINE
        classes[list(layout.comments)] |= COMMENT
        if layout.delimiter is not None:
            classes[ord(layout.delimiter)] = DELIMITER
        record_of = np.full(256, -1, np.int8)
        kinds = np.zeros((len(layout.records), max(map(len, layout.records.values()))), np.int8)
        widths = np.zeros(len(layout.records), np.int64)
        for index, (letter, fields) in enumerate(layout.records.items()):
            record_of[ord(letter) if letter else 0] = index
            kinds[index, : len(fields)] = [FIELDS[field] for field in fields]
            widths[index] = len(fields)
        self._classes, self._record_of, self._kinds, self._widths = classes, record_of, kinds, widths

    def _reserve(self, rows: int) -> None:
        self._src, self._dst = np.empty(rows, np.uint64), np.empty(rows, np.uint64)
        self._weight, self._time = np.empty(rows, np.float64), np.empty(rows, np.int64)
        self._op, self._hard = np.empty(rows, np.uint8), np.empty((rows, 4), np.int64)

    def parse(self, chunk: bytes, lines_before: int) -> Rows:
        """Return the rows of ``chunk`` (whole lines), which follows ``lines_before`` lines of the file.

        Raises:
            FileFormatError: with the number of the first line that is wrong.
        """
        data = np.frombuffer(chunk, np.uint8)
        if len(data) // 4 >= len(self._src):  # the shortest line is "0 0" and a newline
            self._reserve(len(data) // 4 + 1)
        rows, hards, plain, error, line, column, start, stop = parse_lines(
            data, self._classes, self.layout.delimiter is not None, self._record_of, self._kinds, self._widths,
            self.layout.text_ids, np.uint64(self.layout.first_id), self._limits, self._bounds,
            self._src, self._dst, self._weight, self._time, self._op, self._hard,
        )  # fmt: skip
        self.plain_weights &= bool(plain)
        self._round(chunk, self._hard[:hards], lines_before)
        if self._whole:
            self._check_whole(chunk, rows, lines_before)
        if error:
            token = chunk[start:stop]
            at_end = stop == len(chunk) and not chunk.endswith(b"\n")
            self._fail(lines_before + line + 1, error, column, token, chr(self._op[rows]), at_end)
        return Rows(*(part[:rows] for part in (self._src, self._dst, self._weight, self._time, self._op)))

    def _round(self, chunk: bytes, hard: np.ndarray, lines_before: int) -> None:
        values = np.array([float(chunk[start:stop]) for _, start, stop, _ in hard.tolist()])
        bad = np.flatnonzero((values < self._bounds[0]) | (values > self._bounds[1]))
        if len(bad):
            _, start, stop, line = hard[bad[0]].tolist()
            self._fail(lines_before + line + 1, WEIGHT_RANGE, 0, chunk[start:stop])
        self._weight[hard[:, 0]] = values

    def _check_whole(self, chunk: bytes, rows: int, lines_before: int) -> None:
        weight = self._weight[:rows]
        bad = np.flatnonzero(weight != np.floor(weight))
        if len(bad):
            line = lines_before + _line_of_row(chunk, int(bad[0]), self._classes) + 1
            raise FileFormatError(self.path, line, f"weight {weight[bad[0]]} is not a whole number")

    def _fail(self, line: int, error: int, column: int, token: bytes, letter: str = "", at_end: bool = False) -> None:
        raise FileFormatError(self.path, line, self._reason(error, column, token, letter, at_end))

    def _reason(self, error: int, column: int, token: bytes, letter: str, at_end: bool) -> str:
        layout = self.layout
        fields = layout.records.get(letter, next(iter(layout.records.values())))
        if any(byte < 32 and byte not in b"\t\r" for byte in token):
            return f"not a text file: {token[:20]!r}"
        shown = repr(token[:40].decode("utf-8", "replace"))
        if error == MISSING:
            count = f"{column} of {len(fields)} columns"
            return f"the file ends in the middle of a line ({count})" if at_end else f"missing column ({count})"
        if error == EXTRA:
            return f"more than {len(fields)} columns: {shown}"
        if error == NO_DELIMITER:
            return f"expected {layout.delimiter!r} before {shown}"
        if error == EMPTY_FIELD:
            return f"column {column + 1} ({fields[column]}) is empty"
        if error == BAD_QUOTE:
            return f"a quoted field is not closed on its line: {shown}"
        if error == BAD_RECORD:
            return f"a line must start with one of {', '.join(layout.records)}, not {shown}"
        if error == BAD_TIME:
            return f"time {shown} is not a whole number of 64 bits"
        if error == WEIGHT_RANGE:
            return f"weight {shown} is not between {self._bounds[0]:.9g} and {self._bounds[1]:.9g}"
        if error == BAD_WEIGHT:
            finite = token.lower().lstrip(b"+-") not in (b"nan", b"inf", b"infinity")
            return f"weight {shown} is not {'a number' if finite else 'finite'}"
        if error == BAD_ID and token[:1] == b"-" and token[1:].isdigit():
            return f"id {shown} is negative"
        if error == BAD_ID:
            return f"id {shown} is not a whole number"
        return self._range_reason(shown, int(token), fields[column])

    def _range_reason(self, shown: str, value: int, field: str) -> str:
        layout = self.layout
        if value < layout.first_id:
            return f"id {shown} is below {layout.first_id}: ids of this file are counted from {layout.first_id}"
        highest = int(self._limits[FIELDS[field] - SRC])
        if highest == 2**64 - 1:
            return f"id {shown} is too large: ids have at most 64 bits"
        if highest - layout.first_id >= MAX_VERTICES - 1:
            return f"id {shown} is too large: ids go up to {highest} (relabel=True maps any 64-bit ids to 0..n-1)"
        return f"id {shown} is too large: with the number of vertices that is declared, ids go up to {highest}"


def _line_of_row(chunk: bytes, row: int, classes: np.ndarray) -> int:
    """Return the line (from 0) of a parsed row: the row-th line that is neither blank nor a comment."""
    for line, text in enumerate(chunk.split(b"\n")):
        text = text.strip(b" \t\r")
        if text and not classes[text[0]] & COMMENT:
            if row == 0:
                return line
            row -= 1
    raise AssertionError("the chunk has fewer rows")
