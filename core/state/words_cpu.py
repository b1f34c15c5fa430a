"""Reading a field of words on the CPU (see ``suricate.state.words``)."""

from __future__ import annotations

import numpy as np

from suricate.base.types import EMPTY
from suricate.cpu.jit import inner, kernel


@inner
def field_of(data, i, half, right, left):
    """Return the bits of a field of word ``i`` of ``data``, ``uint64[n, halves]``; bits above its width are arbitrary.

    The field begins in half ``half`` at bit ``right``. If ``left`` is not 0, the field continues in half 1, whose bits
    are shifted left by ``left``.
    """
    bits = data[i, half] >> right
    return bits | data[i, 1] << left if left else bits


@kernel
def decode(data, half, right, left, flipped, sign, values, first, last):
    """Decode a field of the words ``first`` to ``last`` (exclusive) and write its bits to ``values[first:last]``.

    ``values`` has the unsigned dtype of the field's width. ``data``, ``half``, ``right`` and ``left``: see
    :func:`field_of`. ``flipped`` is the sign bit if the field is a signed integer, ``sign`` if it is a float; else 0.
    """
    for i in range(first, last):
        bits = field_of(data, i, half, right, left) ^ flipped
        if sign:
            bits = bits ^ sign if bits & sign else ~bits
        values[i] = bits


@kernel
def decode_ids(data, half, right, left, ids, first, last):
    """Write a ``uint32`` field, which holds vertices, to ``ids[first:last]`` (int64); ``EMPTY`` becomes -1."""
    for i in range(first, last):
        v = np.uint32(field_of(data, i, half, right, left))
        ids[i] = np.int64(v) if v != EMPTY else np.int64(-1)
