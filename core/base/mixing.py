"""``su.mixed``: a hash of 64 bits, the same in functions of operators on both devices, in NumPy and in CuPy.

Each argument is mixed in by a step of SplitMix64 (Steele, Lea and Flood, 2014): a permutation, if the others stay.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.errors import DTypeError

STEP, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_LOW = 2**64 - 1


def mixed(seed: Any, a: Any, b: Any = 0) -> Any:
    """Return a hash of the integers ``seed``, ``a`` and ``b``: 64 bits, as int64, so that it may be negative.

    Within functions of operators the arguments are integers. Elsewhere they may also be arrays of integers of NumPy or
    CuPy, of shapes that fit together; the result is then an ``int64`` array. Equal numbers give equal hashes
    everywhere, whatever their types: ``mixed(seed, u, v)`` serves as a random number of an edge, which depends neither
    on the order in which edges are stored nor on who computes it.

    Raises:
        DTypeError: an argument is not of integers.

    Example:
        >>> bool(su.mixed(7, 1) == su.mixed(7, np.arange(3))[1])
        True
    """
    with np.errstate(over="ignore"):
        found = step(step(step(_bits(seed)) ^ _bits(a)) ^ _bits(b))
        return found.view(np.int64) if getattr(found, "ndim", 0) else int(found.astype(np.int64))


def step(x: Any) -> Any:
    """Return what a step of SplitMix64 makes of ``x``, ``uint64``; NumPy warns of overflows unless told otherwise."""
    x = x + np.uint64(STEP)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(FIRST)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(SECOND)
    return x ^ (x >> np.uint64(31))


def _bits(value: Any) -> Any:
    """Return ``value``, an integer or an array of integers, as ``uint64``."""
    kind = getattr(getattr(value, "dtype", None), "kind", "i" if isinstance(value, int) else "")
    if kind not in ("i", "u", "b"):
        raise DTypeError(f"mixed takes integers, not {getattr(value, 'dtype', type(value).__name__)}")
    return value.astype(np.uint64) if getattr(value, "ndim", 0) else np.uint64(int(value) & _LOW)
