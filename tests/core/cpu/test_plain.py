"""Intrinsics of the CPU loops: the same answers compiled, and as plain Python under ``NUMBA_DISABLE_JIT=1``."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from suricate.cpu import atomics, bitmap, prefetch, scratch, vector

pytestmark = pytest.mark.plain


@njit
def masks(array, value):
    return vector.match8(array, 1, value), vector.reach8(array, 1, value)


@njit
def copied(into, array):
    prefetch.prefetch(array, 0)
    vector.copy8(into, 1, array, 8)


@njit
def loaded(array):
    return vector.load_word(array, 3)


@njit
def bits(number, word):
    return vector.trailing_zeros(number), vector.one_bits(number), bitmap.lowest(word)


@njit
def chosen(one, other):
    return vector.choose(one < other, one, other)


@njit
def exchanged(array, old, new):
    return atomics.exchange(array, 1, old, new)


@njit
def added(array, value):
    return atomics.add(array, 1, value)


@njit
def exchanged_pair(words, old, new):
    return atomics.exchange_pair(words, 1, old, new), atomics.load_pair(words, 1)


@njit
def scratch_words():
    words = scratch.scratch()
    words[:] = np.uint32(7)
    return len(words), words[0] + words[-1]


def test_eight_words_are_compared_and_copied() -> None:
    array = np.array([5, 1, 5, 2**32 - 1, 5, 0, 4, 6, 5, 5, 0, 0, 0, 0, 0, 8], np.uint32)
    assert masks(array, np.uint32(5)) == (0b10001010, 0b11001110)
    into = np.zeros(10, np.uint32)
    copied(into, array)
    assert into.tolist() == [0, 5, 5, 0, 0, 0, 0, 0, 8, 0]


def test_eight_bytes_are_loaded_from_any_place() -> None:
    array = np.arange(16, dtype=np.uint8)
    assert loaded(array) == int.from_bytes(bytes(range(3, 11)), "little")


def test_bits_are_counted() -> None:
    assert bits(np.int64(0b101000), np.uint64(1 << 63)) == (3, 2, 63)
    assert bits(np.int64(-(2**63)), np.uint64(6)) == (63, 1, 1)
    assert bits(np.int64(-1), np.uint64(1)) == (0, 64, 0)


def test_one_of_two_is_chosen() -> None:
    assert [chosen(1, 2), chosen(2, 1)] == [1, 1]


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint32", "int64"])
def test_words_are_exchanged(dtype: str) -> None:
    one = np.dtype(dtype).type
    array = np.array([1, 2, 3], dtype)
    assert not exchanged(array, one(1), one(9))
    assert array.tolist() == [1, 2, 3]
    assert exchanged(array, one(2), one(9))
    assert array.tolist() == [1, 9, 3]


def test_bits_decide_and_not_values() -> None:
    array = np.array([0.0, -0.0, 0.0])
    assert not exchanged(array, 0.0, 1.0)
    array[1] = np.nan
    assert exchanged(array, np.nan, 1.0)


def test_an_addition_returns_what_was_there() -> None:
    array = np.array([1, 2, 3], np.int64)
    assert added(array, np.int64(5)) == 2
    assert array.tolist() == [1, 7, 3]


def test_pairs_are_exchanged_whole() -> None:
    words = np.zeros((3, 4), np.uint64)[:, :2].copy()
    words[1] = 5, 6
    one, two = np.uint64(5), np.uint64(6)
    assert exchanged_pair(words, (one, one), (two, two)) == (False, (5, 6))
    assert exchanged_pair(words, (one, two), (two, one)) == (True, (6, 5))
    assert words.tolist() == [[0, 0], [6, 5], [0, 0]]


def test_words_of_the_stack_hold_what_is_written() -> None:
    assert scratch_words() == (scratch.WORDS, 14)
