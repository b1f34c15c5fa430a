"""Atomic changes of arrays on the CPU, for loops on several threads: compare-and-swap, and operations made of it.

In such loops they replace plain functions of the same names, and behave like these: a NaN is never smaller or larger,
and words are compared with their payload. An entry is loaded before the first exchange, and again only after one that
failed, so that an offer that changes nothing costs only a load.
"""

from __future__ import annotations

import platform
from threading import Lock
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from suricate.cpu.jit import inner
from suricate.cpu.plain import intrinsic_or

ORDER = "monotonic"  #: nothing but the word itself is published by an exchange: parts meet at the end of a loop
WORDS_OF_128_BITS = platform.machine().lower() in ("x86_64", "amd64", "aarch64", "arm64")  #: can be exchanged at once


def _place(context: Any, builder: Any, array_type: Any, array: Any, index_type: Any, index: Any) -> Any:
    """Return the LLVM pointer to ``array[index]``, or to row ``index`` of a two-dimensional array."""
    view = context.make_array(array_type)(context, builder, array)
    at = context.cast(builder, index, index_type, types.intp)
    for dimension in range(1, array_type.ndim):
        at = builder.mul(at, cgutils.unpack_tuple(builder, view.shape)[dimension])
    return builder.gep(view.data, [at])


def _stored(context: Any, builder: Any, dtype: Any, value: Any) -> Any:
    """Return the LLVM value ``value`` converted to how an array of ``dtype`` stores it (a bool takes a byte)."""
    return context.data_model_manager[dtype].as_data(builder, value)


_lock = Lock()  # of exchanges in plain Python, which another thread may interrupt


def _plain_exchange(array, index, old, new):
    """Write ``new`` to ``array[index]`` if the entry equals ``old`` bit for bit; return whether it did."""
    with _lock:
        if array[index : index + 1].tobytes() != array.dtype.type(old).tobytes():
            return False
        array[index] = new
        return True


def _plain_add(array, index, value):
    with _lock:
        old = array[index]
        array[index] = old + value
        return old


def _plain_exchange_pair(array, index, old, new):
    with _lock:
        if tuple(array[index]) != tuple(old):
            return False
        array[index] = new
        return True


@intrinsic_or(_plain_exchange)
def exchange(typing_context, array, index, old, new):
    """``exchange(array, index, old, new)``: atomic compare-and-swap of ``array[index]``; return whether it was written.

    ``new`` is written if the entry equals ``old`` bit for bit.
    """
    held = array.dtype

    def codegen(context, builder, signature, arguments):
        place = _place(context, builder, array, arguments[0], index, arguments[1])
        word = ir.IntType(8 * context.get_abi_sizeof(context.get_data_type(held)))
        values = (builder.bitcast(_stored(context, builder, held, each), word) for each in arguments[2:])
        done = builder.cmpxchg(builder.bitcast(place, word.as_pointer()), *values, ORDER, ORDER)
        return builder.extract_value(done, 1)

    return types.boolean(array, index, held, held), codegen


@intrinsic_or(_plain_add)
def add(typing_context, array, index, value):
    """``add(array, index, value)``: atomically add ``value`` to the integer ``array[index]``; return its old value."""

    def codegen(context, builder, signature, arguments):
        place = _place(context, builder, array, arguments[0], index, arguments[1])
        return builder.atomic_rmw("add", place, arguments[2], ORDER)

    return array.dtype(array, index, array.dtype), codegen


_PAIR = types.UniTuple(types.uint64, 2)
_HALF, _WHOLE = ir.IntType(64), ir.IntType(128)


@intrinsic_or(lambda array, index: (array[index, 0], array[index, 1]))
def load_pair(typing_context, array, index):
    """``load_pair(array, index)``: atomically load row ``index`` of ``uint64[n, 2]``, as one word of 128 bits.

    Returns a pair of uint64, the low half first.
    """

    def codegen(context, builder, signature, arguments):
        place = builder.bitcast(_place(context, builder, array, arguments[0], index, arguments[1]), _WHOLE.as_pointer())
        whole = builder.load_atomic(place, ORDER, 16)
        low = builder.trunc(whole, _HALF)
        high = builder.trunc(builder.lshr(whole, _WHOLE(64)), _HALF)
        return context.make_tuple(builder, _PAIR, [low, high])

    return _PAIR(array, index), codegen


@intrinsic_or(_plain_exchange_pair)
def exchange_pair(typing_context, array, index, old, new):
    """``exchange_pair(array, index, old, new)``: atomic compare-and-swap of row ``index`` of ``uint64[n, 2]``.

    ``new`` is written if the row equals ``old``; both are pairs of uint64, the low half first. Returns whether it was
    written.
    """

    def codegen(context, builder, signature, arguments):
        place = builder.bitcast(_place(context, builder, array, arguments[0], index, arguments[1]), _WHOLE.as_pointer())
        words = []
        for pair in arguments[2:]:
            low, high = (builder.zext(half, _WHOLE) for half in cgutils.unpack_tuple(builder, pair))
            words.append(builder.or_(low, builder.shl(high, _WHOLE(64))))
        return builder.extract_value(builder.cmpxchg(place, *words, ORDER, ORDER), 1)

    return types.boolean(array, index, _PAIR, _PAIR), codegen


# -- effects -----------------------------------------------------------------------------------------------------------


@inner
def effect_sum(array, index, value):
    """Atomically do ``array[index] += value``; implements ``su.atomic.add`` on several threads."""
    old = array[index]
    while not exchange(array, index, old, old + value):
        old = array[index]


@inner
def effect_min(array, index, value):
    """Atomically set ``array[index]`` to ``value`` if ``value`` is smaller; implements ``su.atomic.min``."""
    old = array[index]
    while value < old and not exchange(array, index, old, value):
        old = array[index]


@inner
def effect_max(array, index, value):
    """Atomically set ``array[index]`` to ``value`` if ``value`` is larger; implements ``su.atomic.max``."""
    old = array[index]
    while value > old and not exchange(array, index, old, value):
        old = array[index]


@inner
def effect_or(array, index, value):
    """Atomically do ``array[index] |= value``; implements ``su.atomic.or_`` on several threads."""
    old = array[index]
    while not exchange(array, index, old, old | value):
        old = array[index]


@inner
def effect_argmin(words, index, word):
    """Atomically set word ``index`` of ``words``, ``uint64[n, 2]``, to ``word`` if that is smaller."""
    old = load_pair(words, index)
    while (word[1] < old[1] or (word[1] == old[1] and word[0] < old[0])) and not exchange_pair(words, index, old, word):
        old = load_pair(words, index)
