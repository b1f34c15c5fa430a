"""The loop that finds the texts of one column in lines."""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner, kernel

_NEWLINE, _QUOTE = ord("\n"), ord('"')


@inner
def trimmed(data, start, stop, blank):
    """Return ``data[start:stop]`` without blanks and quotes around it, as ``start << 32 | length``."""
    while start < stop and blank[data[start]]:
        start += 1
    while start < stop and blank[data[stop - 1]]:
        stop -= 1
    if stop - start > 1 and data[start] == _QUOTE and data[stop - 1] == _QUOTE:
        start, stop = start + 1, stop - 1
    return np.uint64(start) << np.uint64(32) | np.uint64(stop - start)


@inner
def field_end(data, at, stop, delimiter, blank):
    """Return where the field that begins at ``data[at]`` ends (exclusive); ``stop`` is the end of the line.

    ``delimiter`` is a byte, which quoted fields may contain, or -1 for fields separated by blanks.
    """
    quoted = False
    while at < stop and (quoted or not (blank[data[at]] if delimiter < 0 else data[at] == delimiter)):
        if delimiter >= 0 and data[at] == _QUOTE:
            quoted = not quoted
        at += 1
    return at


@kernel
def list_fields(data, blank, comment, delimiter, column, spans):
    """Find one column in each line that is neither blank nor a comment; return the number of these lines.

    Args:
        data: bytes of whole lines. blank, comment: bool[256], what a byte is, at the start of a line.
        delimiter: a byte, or -1 for columns between blanks. column: from 0.
        spans: uint64[k], gets ``start << 32 | length`` of the text in the first k lines; 0 if a line is too short.
    """
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
