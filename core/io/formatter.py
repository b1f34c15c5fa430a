"""From columns to bytes: the lines of a chunk of edges."""

from __future__ import annotations

import numpy as np


def format_chunk(prefix: bytes, separator: bytes, columns: list[np.ndarray], *, small: bool) -> bytes:
    """Return one line per row of ``columns`` (integers below 2**63, or dtype ``S``), each behind ``prefix``.

    ``small``: do not compile anything; for files of some ten thousand lines at most.
    """
    if not small:
        return _format_large(prefix, separator, columns)
    texts = [col.tolist() if col.dtype.kind == "S" else [b"%d" % value for value in col.tolist()] for col in columns]
    return b"".join(prefix + separator.join(row) + b"\n" for row in zip(*texts, strict=True))


def _format_large(prefix: bytes, separator: bytes, columns: list[np.ndarray]) -> bytes:
    from suricate.io.format_loops import format_lines

    is_text = np.array([column.dtype.kind == "S" for column in columns])
    rows, width = len(columns[0]), max((each.dtype.itemsize for each in columns if each.dtype.kind == "S"), default=0)
    wholes = np.zeros((len(columns), rows), np.int64)
    texts = np.zeros((len(columns), rows if width else 0, width), np.uint8)
    for place, column in enumerate(columns):
        if is_text[place]:
            size = column.dtype.itemsize
            texts[place, :, :size] = np.ascontiguousarray(column).view(np.uint8).reshape(rows, size)
        else:
            wholes[place] = column
    longest = len(prefix) + len(columns) * (max(20, width) + 1)
    out = np.empty(rows * longest, np.uint8)
    size = format_lines(np.frombuffer(prefix, np.uint8), np.uint8(separator[0]), is_text, wholes, texts, out)
    return out[:size].tobytes()
