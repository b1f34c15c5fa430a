"""Kinds of events: an edge is inserted, deleted, or set."""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.errors import ParameterError
from suricate.io.sources.columns import Texts, distinct

DELETE, SET, INSERT = -1, 0, 1  #: kinds of events
_WORDS = {INSERT: ("insert", "i", "+", "1", "+1"), DELETE: ("delete", "d", "-", "-1"), SET: ("set", "s", "=", "0")}
_LETTERS = {word: kind for kind, words in _WORDS.items() for word in words}


def kinds_of(values: Any) -> np.ndarray | None:
    """Return kinds as ``int8``: 1 (insert), -1 (delete), 0 (set); None if all are insertions.

    Accepted are these numbers, also as texts, the words insert, delete and set, their first letters, and ``+ - =``.

    Raises:
        ParameterError: a kind is something else.
    """
    array = np.empty(0, object) if isinstance(values, Texts) else np.asarray(values)
    if array.dtype.kind == "b":
        raise ParameterError("kind must be 1 (insert), -1 (delete), 0 (set) or words, got truth values")
    if array.dtype.kind in "iu":
        if len(array) and not -1 <= int(array.min()) <= int(array.max()) <= 1:
            raise ParameterError("kind must be 1 (insert), -1 (delete) or 0 (set)")
        codes = array.astype(np.int8)
    else:
        words, at = distinct(values)
        unknown = [word for word in words if word.lower() not in _LETTERS]
        if unknown:
            raise ParameterError(f"kind must be insert, delete or set, got {unknown[0]!r}")
        codes = np.array([_LETTERS[word.lower()] for word in words], np.int8)[at]
    return None if (codes == INSERT).all() else codes
