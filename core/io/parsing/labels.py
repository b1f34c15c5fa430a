"""Arbitrary ids to 0..n-1 in order of first appearance, in a dictionary: for small files.

``interning`` does the same for large ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

_LENGTH = (1 << 32) - 1


class Interned(NamedTuple):
    """Dense ids (uint32) of the sources and destinations of a chunk."""

    src: np.ndarray
    dst: np.ndarray


class Labels(Protocol):
    """Maps the ids of a file to 0..n-1, chunk by chunk."""

    def __len__(self) -> int:
        """Return the number of different ids so far."""

    def intern(self, src: np.ndarray, dst: np.ndarray, chunk: bytes) -> Interned:
        """Return the dense ids of two ``uint64[n]`` columns; of a new edge the source comes first.

        The columns hold numbers, or the places of texts in ``chunk`` (``start << 32 | length``).
        """

    def labels(self, first_id: int) -> np.ndarray:
        """Return the original ids by dense id: int64 (uint64 if one needs it), ``first_id`` added, or ``str``."""


class DictLabels:
    """Labels in a dictionary, of numbers or, if ``text``, of texts; ``quotes`` as in :func:`decoded`."""

    def __init__(self, *, text: bool, quotes: bool) -> None:
        self._text, self._quotes = text, quotes
        self._ids: dict[Any, int] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def intern(self, src: np.ndarray, dst: np.ndarray, chunk: bytes) -> Interned:
        """Return the dense ids of a chunk (see :class:`Labels`)."""
        keys: list[Any] = np.stack((src, dst), axis=1).ravel().tolist()
        if self._text:
            keys = [chunk[key >> 32 : (key >> 32) + (key & _LENGTH)] for key in keys]
        known = self._ids
        ids = np.array([known.setdefault(key, len(known)) for key in keys], np.uint32)
        return Interned(ids[0::2], ids[1::2])

    def labels(self, first_id: int) -> np.ndarray:
        """Return the original ids (see :class:`Labels`)."""
        if self._text:
            return decoded(list(self._ids), self._quotes)
        return shifted(np.array(list(self._ids), np.uint64), first_id)


def decoded(texts: list[bytes], quotes: bool) -> np.ndarray:
    """Return texts as ``str`` in an object array; bytes that are not UTF-8 become surrogates.

    ``quotes``: a doubled quote stands for one, as in CSV.
    """
    labels = np.empty(len(texts), object)
    labels[:] = [text.decode("utf-8", "surrogateescape") for text in texts]
    if quotes:
        labels[:] = [label.replace('""', '"') for label in labels]
    return labels


def shifted(numbers: np.ndarray, first_id: int) -> np.ndarray:
    """Return ``numbers + first_id`` of uint64 numbers as int64, or as uint64 if one does not fit."""
    labels = numbers + np.uint64(first_id)
    return labels if len(labels) and labels.max() >= 2**63 else labels.astype(np.int64)
