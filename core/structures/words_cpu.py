"""Reading a field of words on the CPU (see ``suricate.structures.words``)."""

from __future__ import annotations

import numpy as np

from suricate.jit import inner, kernel
from suricate.types import EMPTY

UNSIGNED, SIGNED, FLOAT = 0, 1, 2  #: kinds of fields


@inner
def field_of(data, i, half, right, left):
    """Return the bits of a field of word ``i`` of ``data``, ``uint64[n, halves]``; bits above its width are arbitrary.

    They begin in ``half``, at bit ``right``, and with ``left`` go on in half 1, where they belong so far to the left.
    """
    bits = data[i, half] >> right
    return bits | data[i, 1] << left if left else bits


@kernel
def decode(data, half, right, left, kind, top, values, first, last):
    """Write a field to ``values[first:last]``, of the unsigned dtype of its width; ``top`` is its highest bit."""
    for i in range(first, last):
        bits = field_of(data, i, half, right, left)
        if kind == SIGNED:
            bits ^= top
        elif kind == FLOAT:
            bits = bits ^ top if bits & top else ~bits
        values[i] = bits


@kernel
def decode_ids(data, half, right, left, ids, first, last):
    """Write a ``uint32`` field of vertices to ``ids[first:last]``, int64: -1 for EMPTY."""
    for i in range(first, last):
        v = np.uint32(field_of(data, i, half, right, left))
        ids[i] = np.int64(v) if v != EMPTY else np.int64(-1)
