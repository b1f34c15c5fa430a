"""Sets of vertices on the CPU with one bit per vertex: loops that ask for vertices at random find them in the cache.

A set is a ``uint64`` array; vertex ``v`` is bit ``v % 64`` of word ``v // 64``. The functions are compiled into loops.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types

from suricate.cpu.jit import inner
from suricate.cpu.plain import intrinsic_or

BITS = 64  #: of a word
_SHIFT, _PLACE, ZERO, ONE = (np.uint64(one) for one in (6, 63, 0, 1))


def words_for(num_vertices: int) -> int:
    """Return the number of words of 64 bits in a set of vertices."""
    return -(-num_vertices // BITS)


@intrinsic_or(lambda word: np.uint64((int(word) & -int(word)).bit_length() - 1))
def lowest(typing_context, word):
    """``lowest(word)``: the place of the lowest one bit of a ``uint64`` that is not zero."""

    def codegen(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), codegen


@inner
def holds(bits, v):
    """Return whether ``v`` is in the set whose bits, in words of 64, are ``bits``."""
    return bits[np.uint64(v) >> _SHIFT] >> (np.uint64(v) & _PLACE) & ONE != ZERO


@inner
def include(bits, v):
    """Put ``v`` into the set whose bits, in words of 64, are ``bits``."""
    bits[np.uint64(v) >> _SHIFT] |= ONE << (np.uint64(v) & _PLACE)


@inner
def member(i, word):
    """Return the vertex of the lowest one bit of ``word``, which is word ``i`` of a set and not zero."""
    return np.uint32((np.uint64(i) << _SHIFT) | lowest(word))


@inner
def without_lowest(word):
    """Return ``word``, which is not zero, without its lowest one bit."""
    return word & (word - ONE)
