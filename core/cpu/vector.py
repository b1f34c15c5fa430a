"""Machine instructions for CPU loops that Numba does not offer: comparisons of eight values, bit counts and others."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types

from suricate.cpu.plain import PLAIN, intrinsic_or
from suricate.cpu.prefetch import address_of


def _compare8(relation, array, index, value):
    """Return signature and code of an intrinsic that compares eight entries with ``value``: a bit each."""

    def codegen(context, builder, signature, arguments):
        array_value, at, wanted = arguments
        vector = ir.VectorType(ir.IntType(32), 8)
        address = address_of(context, builder, signature.args[0], array_value, at)
        words = builder.load(builder.bitcast(address, vector.as_pointer()))
        words.align = 4
        splat = builder.insert_element(ir.Constant(vector, ir.Undefined), wanted, ir.IntType(32)(0))
        lanes = ir.Constant(vector, [0] * 8)
        splat = builder.shuffle_vector(splat, ir.Constant(vector, ir.Undefined), lanes)
        mask = builder.bitcast(builder.icmp_unsigned(relation, words, splat), ir.IntType(8))
        return builder.zext(mask, ir.IntType(64))

    return types.int64(array, types.int64, types.uint32), codegen


#: the mask of eight comparisons, by their bytes, in plain Python
_MASKS = {bytes(mask >> lane & 1 for lane in range(8)): mask for mask in range(256)} if PLAIN else {}


def _plain_copy8(into, at, array, index):
    into[at : at + 8] = array[index : index + 8]


@intrinsic_or(lambda array, index, value: _MASKS[(array[index : index + 8] == value).tobytes()])
def match8(typing_context, array, index, value):
    """``match8(array, index, value)``: int64 in which bit i, from 0 to 7, is ``array[index + i] == value`` (uint32)."""
    return _compare8("==", array, index, value)


@intrinsic_or(lambda array, index, value: _MASKS[(array[index : index + 8] >= value).tobytes()])
def reach8(typing_context, array, index, value):
    """``reach8(array, index, value)``: int64 in which bit i, from 0 to 7, is ``array[index + i] >= value`` (uint32)."""
    return _compare8(">=", array, index, value)


@intrinsic_or(_plain_copy8)
def copy8(typing_context, into, at, array, index):
    """``copy8(into, at, array, index)``: do ``into[at : at + 8] = array[index : index + 8]``.

    Both arrays have entries of 4 bytes.
    """

    def codegen(context, builder, signature, arguments):
        target, place, source, first = arguments
        pointer = ir.VectorType(ir.IntType(32), 8).as_pointer()
        words = builder.load(builder.bitcast(address_of(context, builder, array, source, first), pointer))
        words.align = 4
        builder.store(words, builder.bitcast(address_of(context, builder, into, target, place), pointer)).align = 4
        return context.get_dummy_value()

    return types.void(into, types.int64, array, types.int64), codegen


@intrinsic_or(lambda array, index: array[index : index + 8].view(np.uint64)[0])
def load_word(typing_context, array, index):
    """``load_word(array, index)``: return the bytes ``array[index : index + 8]`` of a uint8 array as one uint64."""

    def codegen(context, builder, signature, arguments):
        address = address_of(context, builder, signature.args[0], *arguments)
        word = builder.load(builder.bitcast(address, ir.IntType(64).as_pointer()))
        word.align = 1
        return word

    return types.uint64(array, types.int64), codegen


@intrinsic_or(lambda value: (int(value) & -int(value)).bit_length() - 1)
def trailing_zeros(typing_context, value):
    """``trailing_zeros(value)``: number of zero bits below the lowest one bit of an int64 that is not zero."""

    def codegen(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), codegen


@intrinsic_or(lambda value: (int(value) & (1 << 64) - 1).bit_count())
def one_bits(typing_context, value):
    """``one_bits(value)``: number of one bits of an int64."""

    def codegen(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), codegen


@intrinsic_or(lambda condition, one, other: one if condition else other)
def choose(typing_context, condition, one, other):
    """``choose(condition, one, other)``: return ``one`` if ``condition``, else ``other``, without a branch.

    Both are floats of one type, or become int64. A plain ``if`` would become a branch where the condition depends on a
    value that was just loaded, or where one of the two is loaded.
    """

    def codegen(context, builder, signature, arguments):
        chosen = builder.select(*arguments)
        chosen.set_metadata("unpredictable", builder.module.add_metadata([]))
        return chosen

    kind = one if isinstance(one, types.Float) else types.int64
    return kind(types.boolean, kind, kind), codegen
