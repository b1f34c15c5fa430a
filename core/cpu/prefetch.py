"""Prefetching: intrinsics that load memory into the cache before a CPU loop reads it."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from suricate.cpu.plain import intrinsic_or


def address_of(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """Return the LLVM pointer to ``array[index]``, for use in the code generator of an intrinsic."""
    view = context.make_array(array_type)(context, builder, array)
    return builder.gep(view.data, [index])


@intrinsic_or(lambda array, index: None)
def prefetch(typing_context, array, index):
    """``prefetch(array, index)``: start to load the cache line of ``array[index]`` (index: int64, not negative)."""

    def codegen(context, builder, signature, arguments):
        address = address_of(context, builder, signature.args[0], *arguments)
        pointer = builder.bitcast(address, ir.IntType(8).as_pointer())
        word = ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [pointer.type, word, word, word]),
            "llvm.prefetch.p0",
        )
        builder.call(function, [pointer, word(0), word(3), word(1)])  # read, keep, data
        return context.get_dummy_value()

    return types.void(array, types.int64), codegen
