"""Columns of chunks: arrays, lists, or texts that stay in the bytes of their file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_LOW = np.uint64(0xFFFFFFFF)


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
    data = column.data.tobytes()
    begins, lengths = (column.spans >> np.uint64(32)).tolist(), (column.spans & _LOW).tolist()
    array = np.empty(len(column), object)
    array[:] = [data[a : a + n].decode("utf-8", "surrogateescape") for a, n in zip(begins, lengths, strict=True)]
    return array


def in_order(columns: Sequence[Any], order: np.ndarray) -> np.ndarray:
    """Return the rows of columns, one after the other, in an order."""
    return np.concatenate([as_array(column) for column in columns])[order]
