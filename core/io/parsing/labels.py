"""Arbitrary ids to 0..n-1 in order of first appearance: a dictionary for small files, ``Names`` for large."""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.intake.names import Names

_LENGTH = (1 << 32) - 1


class DictLabels:
    """Maps ids by a dictionary. ``text``: ids are texts, not numbers. ``quotes``: ``""`` in a text means one quote."""

    def __init__(self, *, text: bool, quotes: bool) -> None:
        self._text, self._quotes = text, quotes
        self._ids: dict[Any, int] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def intern(self, src: np.ndarray, dst: np.ndarray, chunk: bytes) -> tuple[np.ndarray, np.ndarray]:
        """Return the dense ids (uint32) of a chunk's ``src`` and ``dst``, ``uint64[n]``; new ids are numbered by edge.

        The columns hold numbers, or spans of texts in ``chunk`` (``start << 32 | length``).
        """
        keys: list[Any] = np.stack((src, dst), axis=1).ravel().tolist()
        if self._text:
            keys = [chunk[key >> 32 : (key >> 32) + (key & _LENGTH)] for key in keys]
            if self._quotes:
                keys = [key.replace(b'""', b'"') for key in keys]
        known = self._ids
        ids = np.array([known.setdefault(key, len(known)) for key in keys], np.uint32)
        return ids[0::2], ids[1::2]

    def labels(self, first_id: int) -> np.ndarray:
        """Return the original ids: ``str``, or numbers with ``first_id`` added (int64, else uint64)."""
        if not self._text:
            return shifted(np.array(list(self._ids), np.uint64), first_id)
        labels = np.empty(len(self._ids), object)
        labels[:] = [text.decode("utf-8", "surrogateescape") for text in self._ids]
        return labels


class TableLabels:
    """Maps ids by the hash table :class:`Names`, for large files; arguments as of :class:`DictLabels`."""

    def __init__(self, *, text: bool, quotes: bool) -> None:
        self._text, self._quotes = text, quotes
        self.names = Names("text" if text else "uint64")

    def __len__(self) -> int:
        return len(self.names)

    def intern(self, src: np.ndarray, dst: np.ndarray, chunk: bytes) -> tuple[np.ndarray, np.ndarray]:
        """Return what :meth:`DictLabels.intern` returns."""
        keys = np.stack((src, dst), axis=1).ravel()
        if self._text:
            if self._quotes and b'""' in chunk:
                chunk, keys = _with_single_quotes(chunk, keys)
            ids = self.names.intern_spans(np.frombuffer(chunk, np.uint8), keys)
        else:
            ids = self.names.intern(keys)
        return ids[0::2], ids[1::2]

    def labels(self, first_id: int) -> np.ndarray:
        """Return what :meth:`DictLabels.labels` returns."""
        return self.names[:] if self._text else shifted(self.names[:], first_id)


def _with_single_quotes(chunk: bytes, spans: np.ndarray) -> tuple[bytes, np.ndarray]:
    """Replace doubled quotes by single ones in the texts at ``spans`` (``start << 32 | length``) of ``chunk``.

    Returns the chunk with the changed texts appended, and a copy of ``spans`` that refers to them.
    """
    is_quote = np.frombuffer(chunk, np.uint8) == ord('"')
    doubled = np.zeros(len(chunk) + 1, np.int64)
    np.cumsum(is_quote[:-1] & is_quote[1:], out=doubled[2:])  # pairs that end before a position
    starts, lengths = (spans >> np.uint64(32)).astype(np.int64), (spans & np.uint64(_LENGTH)).astype(np.int64)
    found = np.flatnonzero((lengths > 1) & (doubled[starts + lengths] > doubled[np.minimum(starts + 1, len(chunk))]))
    parts, size, spans = [chunk], len(chunk), spans.copy()
    for at in found.tolist():
        text = chunk[starts[at] : starts[at] + lengths[at]].replace(b'""', b'"')
        spans[at] = size << 32 | len(text)
        parts.append(text)
        size += len(text)
    return b"".join(parts), spans


def shifted(numbers: np.ndarray, first_id: int) -> np.ndarray:
    """Return ``numbers + first_id`` as int64, or as uint64 if a sum needs it; ``numbers`` is uint64."""
    labels = numbers + np.uint64(first_id)
    return labels if len(labels) and labels.max() >= 2**63 else labels.astype(np.int64)
