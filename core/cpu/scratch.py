"""A few words on the stack of a CPU loop, which may not allocate (see ``suricate.cpu.jit``)."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.np.arrayobj import populate_array

from suricate.cpu.plain import intrinsic_or

WORDS = 1024 + 64  #: of a scratch array


@intrinsic_or(lambda: np.empty(WORDS, np.uint32))
def scratch(typing_context):
    """``scratch()``: return an uninitialised ``uint32[WORDS]`` on the stack, valid until the calling loop returns."""
    array_type = types.Array(types.uint32, 1, "C")

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word, size = ir.IntType(32), context.get_constant(types.intp, WORDS)
        with builder.goto_entry_block():  # not by alloca_once, which writes zeros
            memory = builder.alloca(ir.ArrayType(word, WORDS))
        array, width = context.make_array(array_type)(context, builder), context.get_constant(types.intp, 4)
        populate_array(
            array, builder.bitcast(memory, word.as_pointer()), [size], [width], width, meminfo=None, parent=None
        )
        return array._getvalue()

    return array_type(), codegen
