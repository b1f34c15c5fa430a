"""Further columns of text and CSV files: attributes and kinds of events, found in lines that were parsed before."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from suricate.base.errors import FileFormatError
from suricate.io.formats import Layout, place_of

_BLANKS = (ord(" "), ord("\t"), ord("\r"))


class Fields:
    """Finds further columns in the lines of a file: ``columns`` maps names to names in the header or positions."""

    def __init__(self, path: Path, layout: Layout, columns: Mapping[str, str | int]) -> None:
        self._layout, self._path = layout, path
        width = len(layout.fields)
        self.places = {role: place_of(path, layout.names, width, column) for role, column in columns.items()}
        self._blank, self._comment = np.zeros((2, 256), bool)
        self._blank[[code for code in _BLANKS if layout.delimiter is None or code != ord(layout.delimiter)]] = True
        self._comment[list(layout.comments)] = True

    def of(self, chunk: bytes, rows: int) -> dict[str, np.ndarray]:
        """Return, by name, where the texts of a column are in ``chunk``: ``uint64[rows]``, ``start << 32 | length``."""
        if not self.places:
            return {}
        from suricate.io.parsing.field_loops import list_fields  # compiles something

        data, found = np.frombuffer(chunk, np.uint8), {}
        delimiter = -1 if self._layout.delimiter is None else ord(self._layout.delimiter)
        for role, place in self.places.items():
            spans = np.empty(rows, np.uint64)
            if list_fields(data, self._blank, self._comment, delimiter, place, spans) != rows:
                raise FileFormatError(self._path, None, f"column {place} cannot be read: lines and rows do not agree")
            found[role] = spans
        return found


def texts_at(data: bytes, spans: np.ndarray, *, quotes: bool = False) -> np.ndarray:
    """Return the texts at ``spans`` (``start << 32 | length``) of ``data``, as an array of objects.

    Bytes that are not UTF-8 become surrogates. With ``quotes`` a doubled quote stands for one.
    """
    array = np.empty(len(spans), object)
    begins, lengths = (spans >> np.uint64(32)).tolist(), (spans & np.uint64(0xFFFFFFFF)).tolist()
    array[:] = [data[a : a + n].decode("utf-8", "surrogateescape") for a, n in zip(begins, lengths, strict=True)]
    if quotes and b'""' in data:
        array[:] = [text.replace('""', '"') for text in array]
    return array


def numbers_of(texts: np.ndarray) -> np.ndarray | None:
    """Return ``texts`` as ``int64``, else as ``float64`` (empty texts: NaN); None if one is not a number."""
    given = texts.astype("U")
    try:
        return given.astype(np.int64)
    except (ValueError, OverflowError):
        pass
    try:
        return floats_of(given)
    except ValueError:
        return None


def floats_of(texts: np.ndarray) -> np.ndarray:
    """Return texts as ``float64`` (empty ones: NaN); ``ValueError`` if one is not a number."""
    given = texts.astype("U")
    return np.where(given == "", "nan", given).astype(np.float64)
