"""The byte-level loop that turns the lines of every text format into columns, compiled by Numba.

``parse_lines.py_func`` is the same loop interpreted: ``tokenizer`` runs it on single lines of small files.
"""

from __future__ import annotations

import numpy as np

from suricate.io.codes import (
    BAD_ID,
    BAD_QUOTE,
    BAD_RECORD,
    BAD_TIME,
    BAD_WEIGHT,
    BLANK,
    BREAK,
    COMMENT,
    DELIMITER,
    DST,
    EMPTY_FIELD,
    EXTRA,
    ID_RANGE,
    MISSING,
    NEWLINE,
    NO_DELIMITER,
    OK,
    SKIP,
    SRC,
    WEIGHT,
    WEIGHT_RANGE,
)  # fmt: skip
from suricate.jit import inner, kernel

MINUS, PLUS, POINT, QUOTE, LF = (np.uint8(ord(char)) for char in '-+."\n')
PERCENT, SPACE, TAB, RETURN = (np.uint8(ord(char)) for char in "% \t\r")
ZERO = np.uint8(ord("0"))
POWERS = np.array([10.0**k for k in range(23)])  # exact in double precision
EXACT = np.uint64(1 << 53)
LAST_SAFE = np.uint64((2**64 - 10) // 10)  # below it another digit fits into 64 bits
ONE, TEN, SIGN = np.uint64(1), np.uint64(10), np.uint64(1 << 63)


@inner
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


@inner
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


@inner
def text_end(data, p, classes, delimited):
    """Return where the text token from ``p`` ends; with a delimiter, blanks inside belong to it."""
    start, stops = p, NEWLINE | DELIMITER if delimited else BREAK
    while p < len(data) and not classes[data[p]] & stops:
        p += 1
    while p > start and classes[data[p - 1]] & BLANK:
        p -= 1
    return p


@inner
def closing_quote(data, p):
    """Return the position of the quote that closes the field whose text starts at ``p``, or -1 if the line has none."""
    while p < len(data) and data[p] != LF:
        if data[p] == QUOTE:
            if p + 1 == len(data) or data[p + 1] != QUOTE:
                return p
            p += 1
        p += 1
    return -1


@kernel
def parse_lines(
    data, classes, delimited, record_of, layout, widths, text, iso, first_id, limits, bounds,
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
        iso: whether times are text (ISO 8601); then ``time`` gets ``start << 32 | length``.
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
                return row, hards, plain, BAD_RECORD, line, 0, p, text_end(data, p, classes, delimited)
            p += 1
        for column in range(widths[record]):
            while p < n and classes[data[p]] & BLANK:
                p += 1
            if delimited and column > 0:
                if p == n or data[p] == LF:
                    return row, hards, plain, MISSING, line, column, p, p
                if not classes[data[p]] & DELIMITER:
                    return row, hards, plain, NO_DELIMITER, line, column, p, text_end(data, p, classes, delimited)
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
                    return row, hards, plain, BAD_QUOTE, line, column, p, text_end(data, p, classes, delimited)
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
            elif iso:
                p = close if close >= 0 else text_end(data, p, classes, delimited)
                time[row] = (start << 32) | (p - start)
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


@kernel
def parse_adjacency(data, skipped, weighted, most, src, dst, weight):
    """Parse rows of neighbours, counted from 1, after ``skipped`` numbers each, and each followed by its weight or not.

    Args:
        data: uint8[n], whole lines; those that start with % are no rows.
        most: uint64, the largest neighbour.
        src, weight: int64 and float64 [entries], the row from 0 and the weight. dst: uint32[entries].

    Returns:
        (rows, entries, error, line from 0, start of the token at fault).
    """
    n, p, row, line, entries = len(data), 0, 0, 0, 0
    while p < n:
        if data[p] == PERCENT:
            while p < n and data[p] != LF:
                p += 1
            p, line = p + 1, line + 1
            continue
        place = 0
        while True:
            while p < n and (data[p] == SPACE or data[p] == TAB or data[p] == RETURN):
                p += 1
            start = p
            if p == n or data[p] == LF:
                break
            value, p, fits = parse_whole(data, p)
            if p == start or (p < n and data[p] != SPACE and data[p] != TAB and data[p] != RETURN and data[p] != LF):
                return row, entries, BAD_ID, line, start
            if weighted and place >= skipped and (place - skipped) % 2:
                if not fits:
                    return row, entries, WEIGHT_RANGE, line, start
                weight[entries] = np.float64(value)
                entries += 1
            elif place >= skipped:
                if not fits or value == 0 or value > most:
                    return row, entries, ID_RANGE, line, start
                src[entries], dst[entries] = row, value - ONE
                entries += not weighted
            place += 1
        if 0 < place < skipped or (weighted and place > skipped and (place - skipped) % 2):
            return row, entries, MISSING, line, start
        p, row, line = p + 1, row + 1, line + 1
    return row, entries, OK, line, p
