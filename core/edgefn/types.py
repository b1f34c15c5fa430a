"""The types that values have inside an edge function (rules: ``suricate.edgefn``).

A type is a string: ``bool``, ``int64``, ``uint64``, ``float32``, ``float64``, or one of the weak types ``int`` and
``float`` of Python numbers. Weak numbers are stored as int64 and float64; an operation with another type takes the
other type. ``word64`` and ``word128`` are words of several fields (``suricate.edgefn.layout``), which operators do not
take.
``pair int64`` and ``pair float64`` are votes: a label, and a weight of the type named.
"""

from __future__ import annotations

import numpy as np

from suricate.cuda.program import c_type

BOOL, INT, FLOAT = "bool", "int", "float"
PAIR = "pair "  #: what the type of a vote begins with
WEAK = {INT: "int64", FLOAT: "float64"}


def is_float(kind: str) -> bool:
    """Return whether ``kind`` is a floating-point type."""
    return "float" in kind


def is_word(kind: str) -> bool:
    """Return whether ``kind`` is a type of several numbers together: of words, or of votes."""
    return kind.startswith(("word", PAIR))


def type_of(dtype: np.dtype, *, scalar: bool = False) -> str:
    """Return the type of an entry of ``dtype``, or of a ``scalar`` argument, which is weak if int64 or float64."""
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
    """Return the C++ type of values of type ``kind``, such as ``"float"`` for ``"float32"``."""
    if kind.startswith(PAIR):
        return f"edgefn::Vote<{c_type(kind.removeprefix(PAIR))}>"
    return f"words::Word{kind[4:]}" if kind.startswith("word") else c_type(storage(kind))
