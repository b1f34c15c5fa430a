"""Kinds of events: an edge is inserted, deleted, or set."""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.errors import ParameterError
from suricate.base.types import DELETE, INSERT, SET
from suricate.io.sources.chunk_columns import Texts, distinct, whole_numbers

NO_KIND = 2  #: in place of what is none of them
_WORDS = {INSERT: ("insert", "i", "+", "1", "+1"), DELETE: ("delete", "d", "-", "-1"), SET: ("set", "s", "=", "0")}
_LETTERS = {word: kind for kind, words in _WORDS.items() for word in words}


def kinds_of(values: Any, *, skips: bool = False) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return kinds as ``int8``: 1 (insert), -1 (delete), 0 (set); None if all are insertions; and a mask of bad ones.

    Accepted are these numbers, also as texts, the words insert, delete and set, their first letters, and ``+ - =``.
    Others raise ``ParameterError`` or, with ``skips``, are :data:`NO_KIND`.
    """
    array = np.empty(0, object) if isinstance(values, Texts) else np.asarray(values)
    if array.dtype.kind == "b":
        raise ParameterError("kind must be 1 (insert), -1 (delete), 0 (set) or words, got truth values")
    if array.dtype.kind in "iuf":
        whole, odd = whole_numbers(array)  # floats: of pandas, beside missing ones
        outside = (whole < DELETE) | (whole > INSERT) | (False if odd is None else odd)
        codes = np.where(outside, NO_KIND, whole).astype(np.int8)
        wrong = ParameterError("kind must be 1 (insert), -1 (delete) or 0 (set)")
    else:
        words, at = distinct(values)
        codes = np.array([_LETTERS.get(word.lower(), NO_KIND) for word in words], np.int8)[at]
        unknown = next((word for word in words if word.lower() not in _LETTERS), "")
        wrong = ParameterError(f"kind must be insert, delete or set, got {unknown!r}")
    bad = codes == NO_KIND
    if not bad.any():
        return None if (codes == INSERT).all() else codes, None
    if not skips:
        raise wrong
    return codes, bad
