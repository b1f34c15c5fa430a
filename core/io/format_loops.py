"""The byte-level loop that writes columns as lines of text, compiled by Numba."""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner, kernel

_ZERO, _TEN, _LF = np.uint8(ord("0")), np.uint64(10), np.uint8(10)


@inner
def write_whole(out, at, value):
    """Write an int64 in decimal at ``out[at:]``; return the position after it."""
    rest = np.uint64(value)
    if value < 0:
        out[at] = np.uint8(45)
        at += 1
        rest = ~rest + np.uint64(1)
    digits = 1
    power = _TEN
    while digits < 19 and rest >= power:
        power *= _TEN
        digits += 1
    for place in range(at + digits - 1, at - 1, -1):
        out[place] = _ZERO + np.uint8(rest % _TEN)
        rest //= _TEN
    return at + digits


@kernel
def format_lines(prefix, separator, is_text, wholes, texts, out):
    """Write a line per row to ``out`` (uint8, large enough), behind ``prefix`` (uint8[k]); return the number of bytes.

    Args:
        separator: uint8, between columns. is_text: bool[columns]: a column is read from ``texts``, not ``wholes``.
        wholes: int64[columns, rows]. texts: uint8[columns, rows, width], a text ends at a zero byte or the width.
    """
    at = 0
    for row in range(wholes.shape[1]):
        for byte in prefix:
            out[at] = byte
            at += 1
        for column in range(len(is_text)):
            if column > 0:
                out[at] = separator
                at += 1
            if is_text[column]:
                for byte in texts[column, row]:
                    if byte == 0:
                        break
                    out[at] = byte
                    at += 1
            else:
                at = write_whole(out, at, wholes[column, row])
        out[at] = _LF
        at += 1
    return at
