"""Columns of chunks: arrays, lists, or texts that stay in the bytes of their file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suricate.base.errors import DTypeError
from suricate.intake.names import Names
from suricate.io.parsing.fields import numbers_of, texts_at


@dataclass(frozen=True, eq=False)
class Texts:
    """A column of texts in place: ``start << 32 | length`` (``uint64[n]``) in ``data`` (bytes)."""

    data: np.ndarray
    spans: np.ndarray

    def __len__(self) -> int:
        return len(self.spans)


def part_of(column: Any, begin: int, end: int | None = None) -> Any:
    """Return the rows of a column from ``begin`` to ``end``."""
    return Texts(column.data, column.spans[begin:end]) if isinstance(column, Texts) else column[begin:end]


def as_array(column: Any) -> np.ndarray:
    """Return a column as an array; texts as objects, bytes that are not UTF-8 as surrogates."""
    if not isinstance(column, Texts):
        return np.asarray(column)
    return texts_at(column.data, column.spans)


def distinct(column: Any) -> tuple[list[str], np.ndarray]:
    """Return the different words of a column of texts, and which one each row has."""
    if isinstance(column, Texts):
        names = Names("text")
        at = names.intern_spans(column.data, column.spans)
        return names[np.arange(len(names))].tolist(), at
    words, at = np.unique(np.asarray(column).astype(str), return_inverse=True)
    return words.tolist(), at


def as_numbers(column: Any, label: str) -> np.ndarray:
    """Return a column as numbers: whole ones as ``int64`` if all are, else ``float64``; empty texts are NaN.

    Raises:
        DTypeError: it holds something else.
    """
    array = as_array(column)
    if array.dtype.kind in "OUT":
        found = numbers_of(array)
        if found is None:
            raise DTypeError(f"{label} has values that are no numbers: attributes are numbers")
        array = found
    if array.dtype.kind not in "biuf":
        raise DTypeError(f"{label} has dtype {array.dtype}: attributes are numbers")
    wide = np.dtype(np.float64 if array.dtype.kind == "f" else np.int64)
    if array.dtype == np.uint64 and len(array) and int(array.max()) > np.iinfo(np.int64).max:
        raise DTypeError(f"{label}: {array.max()} is out of the range of int64")
    return array.astype(wide, copy=False)


def in_order(columns: Sequence[Any], order: np.ndarray) -> np.ndarray:
    """Return the rows of columns, one after the other, in an order."""
    return np.concatenate([as_array(column) for column in columns])[order]
