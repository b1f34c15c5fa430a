"""The types that values have inside an edge function (rules: ``suricate.edgefn``).

A type is a string: ``bool``, ``int64``, ``uint64``, ``float32``, ``float64``, or one of the weak types ``int`` and
``float`` of Python numbers, which are held as int64 and float64 and give way to whatever they meet. ``word64`` and
``word128`` hold several fields (``suricate.edgefn.layout``); they are no operands.
"""

from __future__ import annotations

import numpy as np

from suricate.cuda.program import c_type

BOOL, INT, FLOAT = "bool", "int", "float"
WEAK = {INT: "int64", FLOAT: "float64"}


def is_float(kind: str) -> bool:
    """Return whether values of this type are floats."""
    return "float" in kind


def is_word(kind: str) -> bool:
    """Return whether values of this type are words of several fields."""
    return kind.startswith("word")


def type_of(dtype: np.dtype, *, scalar: bool = False) -> str:
    """Return the type that a value of ``dtype`` has once loaded; int64 and float64 *scalars* are weak."""
    if dtype.kind == "b":
        return BOOL
    wide = "int64" if dtype.kind in "iu" and dtype != np.uint64 else dtype.name
    return {"int64": INT, "float64": FLOAT}.get(wide, wide) if scalar else wide


def storage(kind: str) -> str:
    """Return the name of the dtype in which values of type ``kind`` are stored."""
    return WEAK.get(kind, kind)


def promote(a: str, b: str) -> str | None:
    """Return the common type of the types ``a`` and ``b``; None for int64 and uint64, which have none."""
    if a == b:
        return a
    kinds = {INT if kind == BOOL else kind for kind in (a, b)}
    if len(kinds) > 1:
        kinds.discard(INT)
    if len(kinds) == 1:
        return kinds.pop()
    if kinds == {"int64", "uint64"}:
        return None
    return "float32" if kinds == {FLOAT, "float32"} else "float64"


def cuda_type(kind: str) -> str:
    """Return the C++ type of values of type ``kind``: ``"float"`` for ``"float32"``, a word for a tuple."""
    return f"words::Word{kind[4:]}" if kind.startswith("word") else c_type(storage(kind))
