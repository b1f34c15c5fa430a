"""The loop that finds one column in lines which were parsed before."""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner, kernel

_NEWLINE, _QUOTE = ord("\n"), ord('"')


@inner
def trimmed(data, start, stop, blank):
    """Return ``start << 32 | length`` of a field without blanks and quotes around it."""
    while start < stop and blank[data[start]]:
        start += 1
    while start < stop and blank[data[stop - 1]]:
        stop -= 1
    if stop - start > 1 and data[start] == _QUOTE and data[stop - 1] == _QUOTE:
        start, stop = start + 1, stop - 1
    return np.uint64(start) << np.uint64(32) | np.uint64(stop - start)


@inner
def field_end(data, at, stop, delimiter, blank):
    """Return where the field that begins at ``at`` ends; a quoted one may hold delimiters."""
    quoted = False
    while at < stop and (quoted or not (blank[data[at]] if delimiter < 0 else data[at] == delimiter)):
        if delimiter >= 0 and data[at] == _QUOTE:
            quoted = not quoted
        at += 1
    return at


@kernel
def list_fields(data, blank, comment, delimiter, column, spans):
    """List one column of the lines that are neither blank nor comments; return their number."""
    begin, row, size = 0, 0, len(data)
    while begin < size:
        stop = begin
        while stop < size and data[stop] != _NEWLINE:
            stop += 1
        at = begin
        while at < stop and blank[data[at]]:
            at += 1
        if at < stop and not comment[data[at]]:
            number, end = 0, field_end(data, at, stop, delimiter, blank)
            while number < column and end < stop:
                at = end + 1
                while delimiter < 0 and at < stop and blank[data[at]]:
                    at += 1
                number, end = number + 1, field_end(data, at, stop, delimiter, blank)
            if row < len(spans):
                spans[row] = trimmed(data, at, end, blank) if number == column else np.uint64(0)
            row += 1
        begin = stop + 1
    return row
