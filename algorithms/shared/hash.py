"""Hashes of vertices: priorities and random numbers that are the same on both devices and in NumPy.

The functions work on integers within edge functions, and on NumPy and CuPy arrays: of ``uint64`` with a key of that
type, or of ``uint32``, whose products wrap around, with a Python number as the key.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

LOW = 0xFFFFFFFF
FIRST, SECOND = 0x7FEB352D, 0x846CA68B
FIRST_INVERSE, SECOND_INVERSE = pow(FIRST, -1, 1 << 32), pow(SECOND, -1, 1 << 32)


def _spread(x: Any) -> Any:
    return ((x ^ (x >> 16)) * FIRST) & LOW


def _again(x: Any) -> Any:
    return ((x ^ (x >> 15)) * SECOND) & LOW


def _last(x: Any) -> Any:
    return x ^ (x >> 16)


def mixed(x: Any, key: Any) -> Any:
    """Return a 32-bit hash of the 32-bit ``x``, which depends on ``key``; for one key this is a permutation.

    Shifts and multiplications with the constants of C. Wellons' hash prospector.
    """
    return _last(_again(_spread(x ^ (key & LOW)) ^ (key >> 32)))


def _unlast(x: Any) -> Any:
    return x ^ (x >> 16)


def _unshifted(x: Any) -> Any:
    return x ^ (x >> 15) ^ (x >> 30)


def _unagain(x: Any) -> Any:
    return _unshifted((x * SECOND_INVERSE) & LOW)


def _unspread(x: Any) -> Any:
    return _unlast((x * FIRST_INVERSE) & LOW)


def unmixed(x: Any, key: Any) -> Any:
    """Return the id whose hash ``mixed(id, key)`` is ``x``: the inverse of :func:`mixed`."""
    return _unspread(_unagain(_unlast(x)) ^ (key >> 32)) ^ (key & LOW)


def _spread64(x: Any) -> Any:
    return (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9


def _again64(x: Any) -> Any:
    return (x ^ (x >> 27)) * 0x94D049BB133111EB


def _last64(x: Any) -> Any:
    return x ^ (x >> 31)


def mixed64(x: Any) -> Any:
    """Return a 64-bit hash of a ``uint64``: the permutation of SplitMix64 (Steele, Lea and Flood, 2014)."""
    return _last64(_again64(_spread64(x)))


def key_of(seed: int) -> int:
    """Return a key for :func:`mixed`: 63 bits that depend on every bit of ``seed``."""
    digest = hashlib.sha256(str(seed).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def mixed_ids(xp: Any, begin: int, end: int, key: int) -> Any:
    """Return the hashes ``mixed(id, key)`` of the ids from ``begin`` to ``end - 1``, a ``uint32`` array of ``xp``."""
    return mixed(xp.arange(begin, end, dtype=np.uint32), key)
