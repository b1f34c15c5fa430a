"""The byte-level loop that turns the lines of every text format into columns, compiled by Numba.

``parse_lines.py_func`` is the same loop interpreted: ``tokenizer`` runs it on single lines of small files.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner, kernel
from suricate.io.parsing import codes

MINUS, PLUS, POINT, QUOTE, LF = (np.uint8(ord(char)) for char in '-+."\n')
PERCENT, SPACE, TAB, RETURN = (np.uint8(ord(char)) for char in "% \t\r")
COLON, COMMA, LOWER_T, LOWER_Z, OPEN, CLOSE = (np.uint8(ord(char)) for char in ":,tz[]")
CASE = np.uint8(32)  # the bit that makes a letter lower case
DAYS_BEFORE = np.array([0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365])  # a month starts
ZERO = np.uint8(ord("0"))
POWERS = np.array([10.0**k for k in range(23)])  # exact in double precision
EXACT = np.uint64(1 << 53)
LAST_SAFE = np.uint64((2**64 - 10) // 10)  # below it another digit fits into 64 bits
ONE, TEN, SIGN, MOST_TICKS = np.uint64(1), np.uint64(10), np.uint64(1 << 63), np.uint64(1 << 62)
LARGEST, MOST_SECONDS = np.int64(2**63 - 1), np.int64(2**63 // 10**9 - 1)
NO_TIME, NAIVE, ZONED = 0, 1, 2  # what a text is: no time, one without a zone, one with a zone


@inner
def parse_whole(data, p):
    """Read digits from ``data[p]`` on: return (value, position after them, whether the value fits into 64 bits)."""
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
    """Read a decimal number from ``data[p]``: return (value, position after it, whether exact, whether only digits).

    The value is correctly rounded if ``exact``: the digits fit into 53 bits and the power of ten is one of
    :data:`POWERS`, so there is a single rounding. If there is no number, the position is ``p``.
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
def parse_two(data, p):
    """Return the number that the digits ``data[p]`` and ``data[p + 1]`` form, or -1 if one is not a digit."""
    tens, ones = np.uint8(data[p] - ZERO), np.uint8(data[p + 1] - ZERO)
    return np.int64(tens) * 10 + np.int64(ones) if tens <= 9 and ones <= 9 else np.int64(-1)


@inner
def days_of(year, month, day):
    """Return (days from 1970 to a date, whether there is such a date)."""
    if month < 1 or month > 12 or day < 1 or year < 1:
        return np.int64(0), False
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if day > DAYS_BEFORE[month] - DAYS_BEFORE[month - 1] + (leap and month == 2):
        return np.int64(0), False
    past = year - 1
    days = past * 365 + past // 4 - past // 100 + past // 400 + DAYS_BEFORE[month - 1] + (leap and month > 2)
    return days + day - 719_163, True  # 1 January 1970 is day 719,163


@inner
def parse_zone(data, p, stop):
    """Parse the zone ``data[p:stop]``, which may be empty, and have a name in brackets behind it.

    Returns (minutes ahead of UTC, position after it, ``NAIVE`` or ``ZONED``; ``NO_TIME`` if it is no zone).
    """
    ahead, kind = np.int64(0), NAIVE  # minutes of the zone ahead of UTC
    if p < stop and (data[p] | CASE) == LOWER_Z:
        p, kind = p + 1, ZONED
    elif stop - p >= 3 and (data[p] == PLUS or data[p] == MINUS):
        hours, minutes, sign = parse_two(data, p + 1), np.int64(0), 1 if data[p] == PLUS else -1
        p, kind = p + 3, ZONED
        p += p < stop and data[p] == COLON and stop - p >= 3
        if stop - p >= 2 and data[p] != OPEN:
            minutes = parse_two(data, p)
            p += 2
        if hours < 0 or hours > 23 or minutes < 0 or minutes > 59:
            return np.int64(0), p, NO_TIME
        ahead = sign * (hours * 60 + minutes)
    if kind == ZONED and stop - p > 2 and data[p] == OPEN and data[stop - 1] == CLOSE:
        p = stop  # the name of the zone
    return ahead, p, kind


@inner
def parse_iso(data, p, stop):
    """Parse the ISO 8601 time ``data[p:stop]``.

    It accepts the forms that ``suricate.io.times.parse`` accepts. Returns (seconds since 1970, nanoseconds after them,
    ``NAIVE`` or ``ZONED``; ``NO_TIME`` if it is no time).
    """
    none = np.int64(0), np.int64(0), NO_TIME
    if stop - p < 10:
        return none
    dashes = data[p + 4] == MINUS
    century, year = parse_two(data, p), parse_two(data, p + 2)
    month, day = parse_two(data, p + 4 + dashes), parse_two(data, p + 6 + 2 * dashes)
    if century < 0 or year < 0 or (dashes and data[p + 7] != MINUS):
        return none
    days, fine = days_of(century * 100 + year, month, day)
    p += 8 + 2 * dashes
    if not fine or (p == stop and dashes):
        return days * 86_400, np.int64(0), NAIVE if fine else NO_TIME
    if stop - p < 5 or ((data[p] | CASE) != LOWER_T and data[p] != SPACE):
        return none
    colons = data[p + 3] == COLON
    hour, minute, second, fraction = parse_two(data, p + 1), np.int64(-1), np.int64(0), np.int64(0)
    p += 3 + colons
    if stop - p >= 2:
        minute = parse_two(data, p)
        p += 2
    if stop - p >= 2 + colons and (data[p] == COLON if colons else np.uint8(data[p] - ZERO) <= 9):
        second = parse_two(data, p + colons)
        p += 2 + colons
        if p < stop and (data[p] == POINT or data[p] == COMMA):
            p += 1
            start, unit = p, np.int64(100_000_000)
            while p < stop:
                digit = np.uint8(data[p] - ZERO)
                if digit > 9:
                    break
                if unit == 0 and digit != 0:
                    return none
                fraction += unit * np.int64(digit)
                unit //= 10
                p += 1
            if p == start:
                return none
    if hour < 0 or hour > 23 or minute < 0 or minute > 59 or second < 0 or second > 59:
        return none
    ahead, p, kind = parse_zone(data, p, stop)
    seconds = days * 86_400 + hour * 3_600 + (minute - ahead) * 60 + second
    return seconds, fraction, kind if p == stop else NO_TIME


@inner
def parse_time(data, p, stop, ticks, zone):
    """Parse the ISO 8601 time ``data[p:stop]``; return (time, error, ``OK`` if there is none).

    The time is in microseconds if ``ticks`` is 0, else in nanoseconds; if these do not fit, the largest or least int64.
    ``zone``: ``NAIVE`` or ``ZONED``, which the time has to be; 0: either.
    """
    seconds, fraction, kind = parse_iso(data, p, stop)
    if kind == NO_TIME:
        return np.int64(0), codes.BAD_TIME
    if zone and kind != zone:
        return np.int64(0), codes.OTHER_ZONE
    if ticks == 0:
        return seconds * 1_000_000 + fraction // 1_000, codes.FINE_TIME if fraction % 1_000 else codes.OK
    if seconds > MOST_SECONDS or seconds < -MOST_SECONDS:
        return LARGEST if seconds > 0 else -LARGEST, codes.OK
    return seconds * 1_000_000_000 + fraction, codes.OK


@inner
def parse_ticks(data, p, ticks):
    """Read a decimal number from ``data[p]``; return (number times ``ticks``, position after it, whether valid).

    ``ticks`` is a power of ten; the product is rounded to an integer, as by ``suricate.io.times.decimal_ticks``. Of a
    whole number whose product does not fit, it is the largest or least int64.
    """
    negative = data[p] == MINUS
    start = p + negative
    value, p, fits = parse_whole(data, start)
    fine = p > start and fits and value < SIGN
    fits = value < MOST_TICKS // np.uint64(ticks)
    total, part = np.int64(value if fits else np.uint64(0)) * ticks, ticks
    if p < len(data) and data[p] == POINT:
        p += 1
        start = p
        while p < len(data) and np.uint8(data[p] - ZERO) <= 9:
            digit = np.int64(data[p] - ZERO)
            if part > 1:
                part //= 10
                total += digit * part
            elif part == 1:
                total += digit >= 5
                part = 0
            p += 1
        fine = fine and fits and p > start
    elif not fits:
        total = LARGEST
    return -total if negative else total, p, fine


@kernel
def parse_times(data, starts, ticks, zone, times):
    """Parse the times ``data[starts[i]:starts[i + 1]]`` into ``times``; return the first wrong row or -1, the error."""
    for row in range(len(times)):
        times[row], error = parse_time(data, starts[row], starts[row + 1], ticks, zone)
        if error != codes.OK:
            return row, error
    return -1, codes.OK


@inner
def text_end(data, p, classes, delimited):
    """Return where the text at ``data[p]`` ends (exclusive), without blanks; it has some within if ``delimited``."""
    start, stops = p, codes.NEWLINE | codes.DELIMITER if delimited else codes.BREAK
    while p < len(data) and not classes[data[p]] & stops:
        p += 1
    while p > start and classes[data[p - 1]] & codes.BLANK:
        p -= 1
    return p


@inner
def closing_quote(data, p):
    """Return the position of the quote that closes the quoted field whose text starts at ``p``; -1 if there is none."""
    while p < len(data) and data[p] != LF:
        if data[p] == QUOTE:
            if p + 1 == len(data) or data[p + 1] != QUOTE:
                return p
            p += 1
        p += 1
    return -1


@kernel
def parse_lines(data, form, rows, hard):
    """Parse the lines of ``data`` (uint8[n]) into columns; stop at the first line that is wrong.

    Args:
        data: whole lines; the last one may lack its newline at the end of the file.
        form: ``classes, delimited, record_of, layout, widths, ids, ticks, zone, first_id, limits, bounds``.
        rows: ``lines.Rows``, the columns to fill.
        classes: uint8[256], the class bits of every byte.
        delimited: whether columns are separated by a delimiter (and may be quoted) rather than by blanks.
        record_of: int8[256], the row of ``layout`` for a line by its first letter, -1 if none; ``record_of[0]`` is 0
            if lines have no letter in front.
        layout: int8[records, columns], the field of every column. ``widths``: int64[records], columns of a record.
        ids: bits ``TEXTS`` (``start << 32 | length`` of the token is stored), ``SIGNED`` (negative ids are stored as
            two's complement) and ``CANONICAL`` (a leading zero is an error).
        ticks: int64: 1: times are whole numbers; above 1: decimal numbers, stored multiplied by ``ticks``; 0: ISO 8601,
            stored as microseconds since 1970; -1: the same as nanoseconds.
        zone: what :func:`parse_time` takes.
        first_id: uint64, subtracted from every id. ``limits``: uint64[2], largest src and dst before that.
        bounds: float64[2], least and largest weight.
        hard: int64[rows, 4]: row, start, stop and line of weights with too many digits, which the caller converts by
            ``float``.

    Returns the fields of ``lines.End``.
    """
    classes, delimited, record_of, layout, widths, ids, ticks, zone, first_id, limits, bounds = form
    src, dst, weight, time, op = rows
    n, p, line, row, hards, marks = len(data), 0, 0, 0, 0, 0
    prefixed = record_of[0] != 0
    while p < n:
        while p < n and classes[data[p]] & codes.BLANK:
            p += 1
        if p == n:
            break
        if data[p] == LF:
            p += 1
            line += 1
            continue
        if classes[data[p]] & codes.COMMENT:
            while p < n and data[p] != LF:
                p += 1
            continue
        record = 0
        if prefixed:
            record = record_of[data[p]]
            op[row] = data[p]
            if record < 0 or (p + 1 < n and not classes[data[p + 1]] & codes.BREAK):
                return row, hards, marks, codes.BAD_RECORD, line, 0, p, text_end(data, p, classes, delimited)
            p += 1
        for column in range(widths[record]):
            while p < n and classes[data[p]] & codes.BLANK:
                p += 1
            if delimited and column > 0:
                if p == n or data[p] == LF:
                    return row, hards, marks, codes.MISSING, line, column, p, p
                if not classes[data[p]] & codes.DELIMITER:
                    return row, hards, marks, codes.NO_DELIMITER, line, column, p, text_end(data, p, classes, delimited)
                p += 1
                while p < n and classes[data[p]] & codes.BLANK:
                    p += 1
            field = layout[record, column]
            start = p
            if p == n or data[p] == LF or classes[data[p]] & codes.DELIMITER:
                if delimited and field == codes.SKIP:
                    continue
                if not delimited or p == n:
                    return row, hards, marks, codes.MISSING, line, column, p, p
                return row, hards, marks, codes.EMPTY_FIELD, line, column, p, p
            close = -1
            if delimited and data[p] == QUOTE:
                start = p + 1
                close = closing_quote(data, start)
                if close < 0:
                    return row, hards, marks, codes.BAD_QUOTE, line, column, p, text_end(data, p, classes, delimited)
                p = start
            error = codes.OK
            if field == codes.SKIP:
                p = close if close >= 0 else text_end(data, p, classes, delimited)
            elif field <= codes.DST:
                if ids & codes.TEXTS:
                    p = close if close >= 0 else text_end(data, p, classes, delimited)
                    value = (np.uint64(start) << np.uint64(32)) | np.uint64(p - start)
                    if p == start:
                        error = codes.EMPTY_FIELD
                else:
                    negative = ids & codes.SIGNED != 0 and data[p] == MINUS
                    value, p, fits = parse_whole(data, p + negative)
                    if p == start + negative:
                        error = codes.BAD_ID
                    elif ids & codes.CANONICAL and data[start + negative] == ZERO and (negative or p > start + 1):
                        error = codes.NOT_CANONICAL
                    elif negative:
                        if not fits or value > SIGN:
                            error = codes.ID_RANGE
                        marks |= codes.NEGATIVE if value else 0
                        value = ~value + ONE
                    else:
                        if not fits or value > limits[field - codes.SRC] or value < first_id:
                            error = codes.ID_RANGE
                        marks |= codes.LARGE if value >= SIGN else 0
                        value -= first_id
                if field == codes.SRC:
                    src[row] = value
                else:
                    dst[row] = value
            elif field == codes.WEIGHT:
                number, p, exact, digits_only = parse_decimal(data, p)
                marks |= 0 if digits_only else codes.DECIMAL
                weight[row] = number
                if p == start:
                    error = codes.BAD_WEIGHT
                elif not exact:
                    hard[hards, 0], hard[hards, 1], hard[hards, 2], hard[hards, 3] = row, start, p, line
                    hards += 1
                elif number < bounds[0] or number > bounds[1]:
                    error = codes.WEIGHT_RANGE
            elif ticks > 1:
                time[row], p, fine = parse_ticks(data, p, ticks)
                if not fine:
                    error = codes.BAD_TIME
            elif ticks <= 0:
                p = close if close >= 0 else text_end(data, p, classes, delimited)
                time[row], error = parse_time(data, start, p, ticks, zone)
            else:
                negative = data[p] == MINUS
                value, p, fits = parse_whole(data, p + negative)
                if p == start + negative or not fits or value > SIGN or (value == SIGN and not negative):
                    error = codes.BAD_TIME
                time[row] = -np.int64(value) if negative else np.int64(value)
            if close >= 0:
                clean = p == close
                p = close + 1
            else:
                clean = p == n or classes[data[p]] & codes.BREAK != 0
            if error == codes.OK and not clean:
                error = codes.WRONG[field]
            if error != codes.OK:
                return row, hards, marks, error, line, column, start, text_end(data, start, classes, delimited)
        while p < n and classes[data[p]] & codes.BLANK:
            p += 1
        if p < n and data[p] != LF:
            return row, hards, marks, codes.EXTRA, line, widths[record], p, text_end(data, p, classes, delimited)
        row += 1
    return row, hards, marks, codes.OK, line, 0, p, p


@kernel
def parse_adjacency(data, skipped, weighted, most, src, dst, weight):
    """Parse rows of neighbours (ids from 1), each neighbour followed by its weight if ``weighted``.

    Args:
        data: uint8[n], whole lines; those that start with % are skipped.
        skipped: how many numbers at the beginning of each row to skip.
        most: uint64, the largest neighbour allowed.
        src, dst, weight: int64, uint32 and float64 [entries], get the row, the neighbour (both from 0) and the weight.

    Returns:
        (rows, entries, error, line from 0, start of the wrong token).
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
                return row, entries, codes.BAD_ID, line, start
            if weighted and place >= skipped and (place - skipped) % 2:
                if not fits:
                    return row, entries, codes.WEIGHT_RANGE, line, start
                weight[entries] = np.float64(value)
                entries += 1
            elif place >= skipped:
                if not fits or value == 0 or value > most:
                    return row, entries, codes.ID_RANGE, line, start
                src[entries], dst[entries] = row, value - ONE
                entries += not weighted
            place += 1
        if 0 < place < skipped or (weighted and place > skipped and (place - skipped) % 2):
            return row, entries, codes.MISSING, line, start
        p, row, line = p + 1, row + 1, line + 1
    return row, entries, codes.OK, line, p
