"""Sets of vertices on the CPU with one bit per vertex, so small that random queries find them in the cache.

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
    """Return the length of the ``uint64`` array of a set over ``num_vertices`` vertices."""
    return -(-num_vertices // BITS)


@intrinsic_or(lambda word: np.uint64((int(word) & -int(word)).bit_length() - 1))
def lowest(typing_context, word):
    """``lowest(word)``: return the index (0 to 63) of the lowest set bit of ``word``, a ``uint64`` other than 0."""

    def codegen(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), codegen


@inner
def holds(bits, v):
    """Return whether vertex ``v`` is in the set ``bits``."""
    return bits[np.uint64(v) >> _SHIFT] >> (np.uint64(v) & _PLACE) & ONE != ZERO


@inner
def include(bits, v):
    """Add vertex ``v`` to the set ``bits``, in place."""
    bits[np.uint64(v) >> _SHIFT] |= ONE << (np.uint64(v) & _PLACE)


@inner
def member(i, word):
    """Return the vertex that the lowest set bit of ``word`` stands for.

    ``word``, which is not 0, is entry ``i`` of the array of a set, or has some of the bits of that entry.
    """
    return np.uint32((np.uint64(i) << _SHIFT) | lowest(word))


@inner
def without_lowest(word):
    """Return ``word``, a ``uint64`` other than 0, with its lowest set bit cleared."""
    return word & (word - ONE)
