"""Arbitrary ids to 0..n-1 in order of first appearance: open-addressing hash tables in Numba, for large files."""

from __future__ import annotations

import itertools

import numpy as np

from suricate.io.labels import Interned, decoded, shifted
from suricate.jit import inner, kernel
from suricate.types import EMPTY, MAX_VERTICES

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FNV_START, _FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_FREE = np.uint32(EMPTY)
_SHIFT, _LENGTH = np.uint64(32), np.uint64(0xFFFFFFFF)


@inner
def mix(key):
    """Spread a 64-bit key over all bits."""
    key = (key ^ (key >> np.uint64(30))) * _GOLDEN
    return key ^ (key >> np.uint64(29))


@kernel
def insert_hashes(hashes, count, table):
    """Fill an empty ``table`` (uint32, a power of two) with the ids 0..count-1."""
    mask = np.uint64(len(table) - 1)
    for index in range(count):
        at = mix(hashes[index]) & mask
        while table[at] != _FREE:
            at = (at + np.uint64(1)) & mask
        table[at] = index


@kernel
def intern_numbers(keys, begin, ids, table, labels, count):
    """Map ``keys[begin:]`` (uint64) to ``ids`` (uint32); stop when ``labels`` is full; return (position, count)."""
    mask = np.uint64(len(table) - 1)
    for index in range(begin, len(keys)):
        key = keys[index]
        at = mix(key) & mask
        while table[at] != _FREE and labels[table[at]] != key:
            at = (at + np.uint64(1)) & mask
        if table[at] == _FREE:
            if count == len(labels):
                return index, count
            table[at] = count
            labels[count] = key
            count += 1
        ids[index] = table[at]
    return len(keys), count


@kernel
def intern_texts(data, spans, begin, ids, table, hashes, ends, names, count):
    """Map the texts ``spans[begin:]`` of ``data`` (``start << 32 | length``) to ``ids``; return (position, count).

    The text of id k is ``names[ends[k]:ends[k + 1]]``. Stops when ``hashes`` or ``names`` is full.
    """
    mask = np.uint64(len(table) - 1)
    for index in range(begin, len(spans)):
        start, length = np.int64(spans[index] >> _SHIFT), np.int64(spans[index] & _LENGTH)
        code = _FNV_START
        for at in range(start, start + length):
            code = (code ^ np.uint64(data[at])) * _FNV_PRIME
        slot = mix(code) & mask
        while table[slot] != _FREE:
            other = table[slot]
            if hashes[other] == code and ends[other + 1] - ends[other] == length:
                same = True
                for at in range(length):
                    if names[ends[other] + at] != data[start + at]:
                        same = False
                        break
                if same:
                    break
            slot = (slot + np.uint64(1)) & mask
        if table[slot] == _FREE:
            if count == len(hashes) or ends[count] + length > len(names):
                return index, count
            table[slot] = count
            hashes[count] = code
            for at in range(length):  # a slice assignment takes a second to compile
                names[ends[count] + at] = data[start + at]
            ends[count + 1] = ends[count] + length
            count += 1
        ids[index] = table[slot]
    return len(spans), count


class NumberLabels:
    """Maps 64-bit numbers to 0..n-1."""

    def __init__(self) -> None:
        self._count = 0
        self._labels = np.empty(1 << 14, np.uint64)
        self._table = np.full(1 << 15, EMPTY, np.uint32)

    def __len__(self) -> int:
        return self._count

    def intern(self, src: np.ndarray, dst: np.ndarray, chunk: bytes) -> Interned:
        """Return the dense ids of two ``uint64[n]`` columns; of a new edge the source comes first."""
        keys = np.stack((src, dst), axis=1).ravel()
        ids, done = np.empty(len(keys), np.uint32), 0
        while True:
            done, self._count = intern_numbers(keys, done, ids, self._table, self._labels, self._count)
            if done == len(keys):
                return Interned(ids[0::2], ids[1::2])
            self._grow()

    def _grow(self) -> None:
        _check_count(self._count)
        self._labels.resize(2 * len(self._labels), refcheck=False)
        self._table = np.full(2 * len(self._table), EMPTY, np.uint32)
        insert_hashes(self._labels, self._count, self._table)

    def labels(self, first_id: int) -> np.ndarray:
        """Return the numbers by dense id: int64, or uint64 if one does not fit; ``first_id`` is added to each."""
        return shifted(self._labels[: self._count], first_id)


class TextLabels:
    """Maps texts to 0..n-1; ``quotes`` says that a doubled quote stands for one, as in CSV."""

    def __init__(self, quotes: bool) -> None:
        self._quotes = quotes
        self._count = 0
        self._hashes = np.empty(1 << 14, np.uint64)
        self._ends = np.zeros((1 << 14) + 1, np.int64)
        self._names = np.empty(1 << 18, np.uint8)
        self._table = np.full(1 << 15, EMPTY, np.uint32)

    def __len__(self) -> int:
        return self._count

    def intern(self, src: np.ndarray, dst: np.ndarray, chunk: bytes) -> Interned:
        """Return the dense ids of two columns of spans (``start << 32 | length``) of ``chunk``."""
        spans, data = np.stack((src, dst), axis=1).ravel(), np.frombuffer(chunk, np.uint8)
        ids, done = np.empty(len(spans), np.uint32), 0
        while True:
            done, self._count = intern_texts(
                data, spans, done, ids, self._table, self._hashes, self._ends, self._names, self._count
            )
            if done == len(spans):
                return Interned(ids[0::2], ids[1::2])
            self._grow(int(spans[done] & _LENGTH))

    def _grow(self, length: int) -> None:
        _check_count(self._count)
        if self._ends[self._count] + length > len(self._names):
            self._names.resize(2 * len(self._names) + length, refcheck=False)
        if self._count == len(self._hashes):
            self._hashes.resize(2 * len(self._hashes), refcheck=False)
            self._ends.resize(len(self._hashes) + 1, refcheck=False)
            self._table = np.full(2 * len(self._table), EMPTY, np.uint32)
            insert_hashes(self._hashes, self._count, self._table)

    def labels(self, first_id: int) -> np.ndarray:
        """Return the texts by dense id, ``str`` in an object array; bytes that are not UTF-8 are surrogates."""
        names, ends = self._names.tobytes(), self._ends[: self._count + 1].tolist()
        return decoded([names[a:b] for a, b in itertools.pairwise(ends)], self._quotes)


def _check_count(count: int) -> None:
    if count >= MAX_VERTICES:
        raise OverflowError(f"more than {MAX_VERTICES} different ids")
