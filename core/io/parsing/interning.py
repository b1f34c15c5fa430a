"""Arbitrary ids to 0..n-1 in order of first appearance: open-addressing hash tables in Numba, for large files."""

from __future__ import annotations

import itertools

import numpy as np

from suricate.base.types import EMPTY, MAX_VERTICES
from suricate.cpu.jit import inner, kernel
from suricate.cpu.prefetch import prefetch
from suricate.cpu.vector import load_word
from suricate.io.parsing.labels import Interned, decoded, shifted

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_SPREAD = np.uint32(0x9E3779B1)
_FREE = np.uint32(EMPTY)
_SHIFT, _LENGTH = np.uint64(32), np.uint64(0xFFFFFFFF)
_WIDTH, _LONGEST, _ONE = np.uint64(24), np.uint64(0xFFFFFF), np.uint64(1)  # bits of the length of a name
_AHEAD = 16  # texts ahead at which their slots are prefetched


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


@inner
def word_at(data, at, length):
    """Return the next ``min(length, 8)`` bytes from ``at`` as a uint64 (the first byte is the lowest)."""
    if at + 8 <= len(data):
        word = load_word(data, at)
        return word if length >= 8 else word & ((_ONE << np.uint64(8 * length)) - _ONE)
    word = np.uint64(0)
    for byte in range(min(length, 8)):
        word |= np.uint64(data[at + byte]) << np.uint64(8 * byte)
    return word


@inner
def same_text(data, at, names, place, length):
    """Return whether ``length`` bytes of ``data`` from ``at`` are those of ``names`` from ``place``."""
    while length > 0:
        if word_at(data, at, length) != word_at(names, place, length):
            return False
        at, place, length = at + 8, place + 8, length - 8
    return True


@kernel
def hash_texts(data, spans, codes):
    """Write a hash (uint32, not 0) of every text ``spans[i]`` of ``data`` (``start << 32 | length``) to ``codes``."""
    for index in range(len(spans)):
        at, length = np.int64(spans[index] >> _SHIFT), np.int64(spans[index] & _LENGTH)
        code = np.uint64(length) * _GOLDEN
        while length > 0:
            code = (code ^ word_at(data, at, length)) * _GOLDEN
            code ^= code >> _SHIFT
            at, length = at + 8, length - 8
        codes[index] = np.uint32(mix(code) >> _SHIFT) | np.uint32(1)


@inner
def slot_of(code, shift):
    """Return the first slot of a text with this hash in a table of ``2 ** (32 - shift)`` slots."""
    return np.int64(np.uint32(code * _SPREAD)) >> shift  # Numba would multiply in 64 bits


@kernel
def rehash_texts(old, table, shift):
    """Move the entries of ``old`` to the empty ``table`` (both uint64[slots, 2], see :class:`TextLabels`)."""
    last = len(table) - 1
    for entry in range(len(old)):
        if old[entry, 0] != 0:
            slot = slot_of(np.uint32(old[entry, 0] >> _SHIFT), shift)
            while table[slot, 0] != 0:
                slot = (slot + 1) & last
            table[slot, 0], table[slot, 1] = old[entry, 0], old[entry, 1]


@kernel
def intern_texts(data, spans, codes, begin, ids, table, shift, ends, names, count):
    """Map the texts ``spans[begin:]`` of ``data``, with hashes ``codes``, to ``ids``; return (position, count).

    The text of id k is ``names[ends[k]:ends[k + 1]]``. Stops when ``ends`` or ``names`` is full. Slots are asked for
    :data:`_AHEAD` texts ahead, and the names that they point to half as many.
    """
    last, total = len(table) - 1, len(spans)
    flat = table.reshape(-1)
    for index in range(begin, total):
        if index + _AHEAD < total:
            prefetch(flat, 2 * slot_of(codes[index + _AHEAD], shift))
            near = slot_of(codes[index + _AHEAD // 2], shift)
            if table[near, 0] != 0:
                prefetch(names, np.int64(table[near, 1] >> _WIDTH))
        start, length = np.int64(spans[index] >> _SHIFT), np.int64(spans[index] & _LENGTH)
        code = codes[index]
        slot = slot_of(code, shift)
        while table[slot, 0] != 0:
            fits = np.uint32(table[slot, 0] >> _SHIFT) == code and np.int64(table[slot, 1] & _LONGEST) == length
            if fits and same_text(data, start, names, np.int64(table[slot, 1] >> _WIDTH), length):
                break
            slot = (slot + 1) & last
        if table[slot, 0] == 0:
            place = ends[count]
            if count + 1 == len(ends) or place + length > len(names):
                return index, count
            table[slot, 0] = (np.uint64(code) << _SHIFT) | np.uint64(count)
            table[slot, 1] = (np.uint64(place) << _WIDTH) | np.uint64(length)
            for at in range(length):  # a slice assignment takes a second to compile
                names[place + at] = data[start + at]
            ends[count + 1] = place + length
            count += 1
        ids[index] = np.uint32(table[slot, 0] & _LENGTH)
    return total, count


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
    """Maps texts to 0..n-1; ``quotes`` says that a doubled quote stands for one, as in CSV.

    An entry of the table is two words: hash (not 0) and id (32 bits each); place of the name (40 bits) and its length.
    """

    def __init__(self, quotes: bool) -> None:
        self._quotes = quotes
        self._count = 0
        self._ends = np.zeros((1 << 14) + 1, np.int64)
        self._names = np.empty(1 << 18, np.uint8)
        self._table, self._shift = np.zeros((1 << 15, 2), np.uint64), 32 - 15

    def __len__(self) -> int:
        return self._count

    def intern(self, src: np.ndarray, dst: np.ndarray, chunk: bytes) -> Interned:
        """Return the dense ids of two columns of spans (``start << 32 | length``) of ``chunk``."""
        spans, data = np.stack((src, dst), axis=1).ravel(), np.frombuffer(chunk, np.uint8)
        ids, codes, done = np.empty(len(spans), np.uint32), np.empty(len(spans), np.uint32), 0
        hash_texts(data, spans, codes)
        while True:
            done, self._count = intern_texts(
                data, spans, codes, done, ids, self._table, self._shift, self._ends, self._names, self._count
            )
            if done == len(spans):
                return Interned(ids[0::2], ids[1::2])
            self._grow(int(spans[done] & _LENGTH))

    def _grow(self, length: int) -> None:
        _check_count(self._count)
        if self._ends[self._count] + length > len(self._names):
            self._names.resize(2 * len(self._names) + length, refcheck=False)
        if self._count + 1 == len(self._ends):
            self._ends.resize(2 * self._count + 1, refcheck=False)
            old, self._shift = self._table, max(self._shift - 1, 0)
            self._table = np.zeros((2 * len(old), 2), np.uint64)
            rehash_texts(old, self._table, self._shift)

    def labels(self, first_id: int) -> np.ndarray:
        """Return the texts by dense id, ``str`` in an object array; bytes that are not UTF-8 are surrogates."""
        names, ends = self._names.tobytes(), self._ends[: self._count + 1].tolist()
        return decoded([names[a:b] for a, b in itertools.pairwise(ends)], self._quotes)


def _check_count(count: int) -> None:
    if count >= MAX_VERTICES:
        raise OverflowError(f"more than {MAX_VERTICES} different ids")
