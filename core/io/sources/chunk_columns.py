"""Columns of chunks: arrays, lists, or texts that stay in the bytes of their file."""

from __future__ import annotations

import decimal
import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suricate.base.errors import DTypeError, SuricateError
from suricate.base.parameters import is_number
from suricate.intake.arrays import is_cuda_array, on_host
from suricate.intake.names import Names
from suricate.intake.tables import nulls_of
from suricate.io.parsing.fields import numbers_of, texts_at

TEXTS_TOO = "texts have the rules first and last, all of them if edge_columns of the graph says str"


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts in the bytes of a file: ``data``, uint8, and ``spans``, uint64[n], each ``start << 32 | length``."""

    data: np.ndarray
    spans: np.ndarray

    def __len__(self) -> int:
        return len(self.spans)


def part_of(column: Any, begin: int, end: int | None = None) -> Any:
    """Return rows ``begin`` to ``end`` (exclusive; None: all further rows) of a column, without a copy."""
    return Texts(column.data, column.spans[begin:end]) if isinstance(column, Texts) else column[begin:end]


def as_array(column: Any) -> np.ndarray:
    """Return a column as a NumPy array; texts as an array of ``str``, bytes that are not UTF-8 as surrogates."""
    if isinstance(column, Texts):
        return texts_at(column.data.tobytes(), column.spans)
    return on_host(column) if is_cuda_array(column) else np.asarray(column)


def distinct(column: Any) -> tuple[list[str], np.ndarray]:
    """Return the distinct texts of ``column``, and for each row the index of its text."""
    if isinstance(column, Texts):
        names = Names("text")
        at = names.intern_spans(column.data, column.spans)
        return names[np.arange(len(names))].tolist(), at
    words, at = np.unique(np.asarray(column).astype(str), return_inverse=True)
    return words.tolist(), at


def numbers_in(array: np.ndarray, *, bools: bool = False) -> tuple[np.ndarray, np.ndarray | None]:
    """Return an array of objects as numbers, with a mask of those that are missing (None, NA, NaN); None: none are.

    Integers are ``int64`` (``uint64`` if one needs it), 0 where missing; decimals and floats are ``float64``, NaN where
    missing. An array with anything else is returned unchanged. ``bools``: those are 0 and 1.
    """
    items = [int(item) if bools and isinstance(item, (bool, np.bool_)) else item for item in array.tolist()]
    missing = nulls_of(array)
    rest = [item for item, gone in zip(items, missing.tolist(), strict=True) if not gone]
    if rest and all(is_number(item, numbers.Integral) and -(1 << 63) <= item < 1 << 64 for item in rest):
        found = np.zeros(len(items), np.uint64 if max(rest, default=0) >= 1 << 63 else np.int64)
    elif all(is_number(item) or isinstance(item, decimal.Decimal) for item in rest):
        found = np.full(len(items), np.nan)
        rest = [_as_float(item) for item in rest]
    else:
        return array, None
    found[~missing] = rest
    return found, missing if missing.any() else None


def _as_float(number: Any) -> float:
    try:
        return float(number)
    except (OverflowError, ValueError):  # beyond float64, or a signalling NaN
        return math.nan


def whole_numbers(array: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Return floats as ``int64``, and a mask of those not whole or too large, which become 0; others and None."""
    if array.dtype.kind != "f":
        return array, None
    bad = ~(abs(array) < 2.0**53) | (array != np.floor(array))
    return np.where(bad, 0, array).astype(np.int64), bad


def as_integers(array: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Return floats that are whole but for the ``missing`` as ``int64``, as some libraries have them; or ``array``."""
    whole, odd = whole_numbers(array)
    return whole if odd is not None and np.array_equal(odd, missing) else array


def as_numbers(column: Any, label: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Return a column as ``int64``, or as ``float64`` (empty texts: NaN), and a mask of missing or infinite numbers."""
    array, missing = as_array(column), None
    if array.dtype.kind == "O":
        array, missing = numbers_in(array, bools=True)
    if array.dtype.kind in "OUT":
        found = numbers_of(array)
        if found is None:
            raise DTypeError(f"{label} has values that are no numbers: such attributes are numbers; {TEXTS_TOO}")
        array = found
    if array.dtype.kind not in "biuf":
        raise DTypeError(f"{label} has dtype {array.dtype}: attributes are numbers or texts")
    array = widened(array, label, DTypeError)
    return array, ~np.isfinite(array) if array.dtype.kind == "f" else missing


def widened(array: np.ndarray, label: str, error: type[SuricateError]) -> np.ndarray:
    """Return ``array``, called ``label``, as ``int64`` or ``float64``; raise ``error`` if a number does not fit."""
    if array.dtype == np.uint64 and len(array) and int(array.max()) > np.iinfo(np.int64).max:
        raise error(f"{label}: {array.max()} is out of the range of int64")
    return array.astype(np.float64 if array.dtype.kind == "f" else np.int64, copy=False)


def has_texts(column: Any) -> bool:
    """Return whether a column has texts of which at least one is not a number (the text "12" is one)."""
    array = as_array(column)
    if array.dtype.kind == "O" and not any(isinstance(value, str) for value in array.tolist()):
        return False
    return array.dtype.kind in "OUT" and numbers_of(array) is None


def as_codes(column: Any, label: str, names: Names) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the ids of texts in ``names``, which gets new texts, and a mask of missing texts (None: none are)."""
    if isinstance(column, Texts):
        return names.intern_spans(column.data, column.spans).astype(np.int64), None
    array, missing = np.array(column, object) if isinstance(column, list) else np.asarray(column), None
    if array.dtype.kind == "O":
        missing = np.array([not isinstance(value, str) for value in array.tolist()], bool)
        array = np.where(missing, "", array) if missing.any() else array
    elif array.dtype.kind not in "UT":
        raise DTypeError(f"{label} has dtype {array.dtype}: texts so far")
    return names.intern(array).astype(np.int64), missing


def in_order(columns: Sequence[Any], order: np.ndarray) -> np.ndarray:
    """Return the concatenation of ``columns``, indexed by ``order``."""
    parts = [as_array(column) for column in columns]
    if {part.dtype.kind for part in parts} == {"i", "u"}:  # NumPy would make floats of both
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)[order]
