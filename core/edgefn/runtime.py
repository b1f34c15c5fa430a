"""The functions that translated edge functions call on the CPU; generated modules import them.

The CUDA twins are in ``words.cuh``: ``encode_T(x)`` gives the bits of a field of a word as ``uint64``, in the order of
the numbers, and ``decode_T`` gives the number again. ``apply_*`` reduce into a ``su.Scalar``, of which each thread has
its own; ``effect_*`` into an array of the user, for which loops of several threads use the atomic versions of
``suricate.cpu.atomics``.
"""

from __future__ import annotations

import numpy as np

from suricate.cpu.jit import inner

_STEP, _FIRST, _SECOND = (np.uint64(one) for one in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
_TOP32, _TOP64 = np.uint32(1 << 31), np.uint64(1 << 63)


@inner
def encode_uint32(x):
    """Return the ``uint32`` number ``x`` as ``uint64``."""
    return np.uint64(np.uint32(x))


@inner
def decode_uint32(raw):
    """Return the ``uint32`` number that ``encode_uint32`` encodes as ``raw``."""
    return np.uint32(raw)


@inner
def encode_uint64(x):
    """Return the ``uint64`` number ``x`` unchanged."""
    return np.uint64(x)


@inner
def decode_uint64(raw):
    """Return the ``uint64`` number that ``encode_uint64`` encodes as ``raw``."""
    return np.uint64(raw)


@inner
def encode_int32(x):
    """Return ``x``, an ``int32``, as a ``uint64`` that keeps the order of numbers: its bits with the sign flipped."""
    return np.uint64(np.int32(x).view(np.uint32) ^ _TOP32)


@inner
def decode_int32(raw):
    """Return the ``int32`` number that ``encode_int32`` encodes as ``raw``."""
    return np.uint32(np.uint32(raw) ^ _TOP32).view(np.int32)


@inner
def encode_int64(x):
    """Return ``x``, an ``int64``, as a ``uint64`` that keeps the order of numbers: its bits with the sign flipped."""
    return np.int64(x).view(np.uint64) ^ _TOP64


@inner
def decode_int64(raw):
    """Return the ``int64`` number that ``encode_int64`` encodes as ``raw``."""
    return np.uint64(raw ^ _TOP64).view(np.int64)


@inner
def encode_float32(x):
    """Return ``x``, a ``float32``, as a ``uint64`` that keeps the order of numbers.

    Of a negative number all bits are flipped, else only the sign; -0 is encoded as 0, NaN as the largest.
    """
    y = np.float32(x)
    if y != y:
        return np.uint64(0xFFFFFFFF)
    bits = np.float32(y + np.float32(0)).view(np.uint32)
    return np.uint64(~bits if bits & _TOP32 else bits | _TOP32)


@inner
def decode_float32(raw):
    """Return the ``float32`` number that ``encode_float32`` encodes as ``raw``."""
    bits = np.uint32(raw)
    return np.uint32(bits ^ _TOP32 if bits & _TOP32 else ~bits).view(np.float32)


@inner
def encode_float64(x):
    """Return ``x``, a ``float64``, as a ``uint64`` that keeps the order of numbers; -0 counts as 0, NaN as largest."""
    y = np.float64(x)
    if y != y:
        return np.uint64(0xFFFFFFFFFFFFFFFF)
    bits = np.float64(y + 0.0).view(np.uint64)
    return ~bits if bits & _TOP64 else bits | _TOP64


@inner
def decode_float64(raw):
    """Return the ``float64`` number that ``encode_float64`` encodes as ``raw``."""
    return np.uint64(raw ^ _TOP64 if raw & _TOP64 else ~raw).view(np.float64)


@inner
def load_pair(words, index):
    """Return word ``index`` of ``words``, ``uint64[n, 2]``, as a tuple of its halves, the less significant first."""
    return words[index, 0], words[index, 1]


@inner
def next_bits(x):
    """Return what a step of SplitMix64 makes of ``x``, a ``uint64`` (``suricate.base.mixing``)."""
    y = np.uint64(x + _STEP)
    y = np.uint64((y ^ (y >> np.uint64(30))) * _FIRST)
    y = np.uint64((y ^ (y >> np.uint64(27))) * _SECOND)
    return y ^ (y >> np.uint64(31))


@inner
def mixed_bits(seed, a, b):
    """Return the hash ``su.mixed(seed, a, b)`` of three ``int64`` numbers."""
    first, second = np.int64(a).view(np.uint64), np.int64(b).view(np.uint64)
    found = next_bits(next_bits(next_bits(np.int64(seed).view(np.uint64)) ^ first) ^ second)
    return np.uint64(found).view(np.int64)


# -- accumulators and effects (for several threads: ``atomics.py``); a NaN never is smaller or larger -----------------


@inner
def apply_sum(array, index, value):
    """Add ``value`` to ``array[index]``, an accumulator."""
    array[index] += value


@inner
def apply_min(array, index, value):
    """Set ``array[index]``, an accumulator, to ``value`` if that is smaller."""
    if value < array[index]:
        array[index] = value


@inner
def apply_max(array, index, value):
    """Set ``array[index]``, an accumulator, to ``value`` if that is larger."""
    if value > array[index]:
        array[index] = value


@inner
def apply_or(array, index, value):
    """Set ``array[index]``, an accumulator, to its bitwise or with ``value``."""
    array[index] |= value


@inner
def total_sum(total, value):
    """Return ``total``, which a loop carries along, with ``value`` added."""
    return total + value


@inner
def total_min(total, value):
    """Return ``value`` if that is smaller than ``total``, else ``total``."""
    return value if value < total else total


@inner
def total_max(total, value):
    """Return ``value`` if that is larger than ``total``, else ``total``."""
    return value if value > total else total


@inner
def total_or(total, value):
    """Return the bitwise or of ``total`` and ``value``."""
    return total | value


@inner
def effect_sum(array, index, value):
    """Add ``value`` to ``array[index]``, in loops of one thread (``su.atomic.add``)."""
    array[index] += value


@inner
def effect_min(array, index, value):
    """Set ``array[index]`` to ``value`` if that is smaller, in loops of one thread (``su.atomic.min``)."""
    if value < array[index]:
        array[index] = value


@inner
def effect_max(array, index, value):
    """Set ``array[index]`` to ``value`` if that is larger, in loops of one thread (``su.atomic.max``)."""
    if value > array[index]:
        array[index] = value


@inner
def effect_or(array, index, value):
    """Set ``array[index]`` to its bitwise or with ``value``, in loops of one thread (``su.atomic.or_``)."""
    array[index] |= value


@inner
def effect_argmin(words, index, word):
    """Set word ``index`` of ``words``, ``uint64[n, 2]``, to ``word`` if that is smaller, in loops of one thread."""
    if word[1] < words[index, 1] or (word[1] == words[index, 1] and word[0] < words[index, 0]):
        words[index, 0] = word[0]
        words[index, 1] = word[1]
