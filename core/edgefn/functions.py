"""The functions of Python, ``math`` and NumPy that an edge function may call, and the nodes that such calls become."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from suricate.base.mixing import mixed
from suricate.edgefn.operations import (
    Untranslatable,
    choose,
    convert,
    extreme,
    float_function,
    floating,
    fold,
    magnitude,
    number,
    power,
    truth,
)
from suricate.edgefn.tree import Node
from suricate.edgefn.types import BOOL, INT, is_float, storage, type_of

# NumPy name -> name in C and in the ``math`` module
_FLOAT_FUNCTIONS = {
    "sqrt": "sqrt", "cbrt": "cbrt", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2",
    "log10": "log10", "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos",
    "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh", "arctan2": "atan2", "hypot": "hypot", "copysign": "copysign", "fmod": "fmod",
}  # fmt: skip
_PREDICATES = ("isnan", "isinf", "isfinite")
_ROUNDING = ("floor", "ceil", "trunc")  # integers from ``math``, floats from NumPy
_BINARY = ("arctan2", "hypot", "copysign", "fmod")
_NARROW = ("int8", "int16", "int32", "uint8", "uint16", "uint32")


def _table() -> dict[Any, tuple[str, str]]:
    """Return the functions and types that may be called: {object: (kind of translation, name of the operation)}."""
    table: dict[Any, tuple[str, str]] = {
        abs: ("abs", ""), np.abs: ("abs", ""), np.fabs: ("fabs", ""), math.fabs: ("fabs", ""),
        min: ("extreme", "min"), max: ("extreme", "max"),
        np.minimum: ("extreme", "minimum"), np.maximum: ("extreme", "maximum"),
        pow: ("power", ""), math.pow: ("float power", ""), np.power: ("power", ""), np.square: ("square", ""),
        np.where: ("where", ""), bool: ("truth", ""), np.bool_: ("truth", ""),
        int: ("cast", "int64"), float: ("cast", "float64"), math.erf: ("float", "erf"), math.erfc: ("float", "erfc"),
        math.lgamma: ("float", "lgamma"), mixed: ("mixed", ""),
    }  # fmt: skip
    for name, in_math in _FLOAT_FUNCTIONS.items():
        table[getattr(np, name)] = table[getattr(math, in_math)] = ("float", name)
    for name in _PREDICATES:
        table[getattr(np, name)] = table[getattr(math, name)] = ("predicate", name)
    for name in _ROUNDING:
        table[getattr(np, name)] = ("float", name)
        table[getattr(math, name)] = ("whole", name)
    for name in ("int64", "uint64", "float32", "float64"):
        table[getattr(np, name)] = ("cast", name)
    for name in _NARROW:
        table[getattr(np, name)] = ("narrow", name)
    return table


_TABLE, _ZERO = _table(), Node("const", INT, value=0)


def is_known(function: Any) -> bool:
    """Return whether an edge function may call ``function``, one of Python's, ``math``'s or NumPy's."""
    return type(function).__hash__ is not None and function in _TABLE


def call(function: Any, args: tuple[Node, ...]) -> Node | None:
    """Return the node of a call of a known function with ``args``; None if it does not take that many arguments."""
    how, what = _TABLE[function]
    match how, args:
        case "extreme", (_, _, *_):
            return extreme(what, args)
        case "float", _ if len(args) == (2 if what in _BINARY else 1):
            return float_function(what, args)
        case "whole", (x,):
            return _whole(what, x)
        case "predicate", (x,):
            return Node(what, BOOL, (floating(x),))
        case "abs", (x,):
            return magnitude(number(x))
        case "fabs", (x,):
            return magnitude(floating(x))
        case "power", (a, b):
            return fold(pow, a, b) or power(a, b)
        case "float power", (a, b):
            return power(floating(a), floating(b))
        case "square", (x,):
            return Node("square", number(x).type, (number(x),))
        case "where", (test, a, b):
            return choose(truth(test), a, b)
        case "truth", (x,):
            return truth(x)
        case "cast", (x,):
            return convert(number(x), what)
        case "mixed", (_, _) | (_, _, _):
            if any(is_float(one.type) for one in args):
                raise Untranslatable("mixed takes integers: convert with int(x)")
            return Node("mixed", "int64", tuple(convert(number(one), "int64") for one in (*args, _ZERO)[:3]))
        case "narrow", (x,):
            wide = x if x.type == "uint64" else convert(number(x), "int64")
            return Node("narrow", "int64", (wide,), what)
    return None


def _whole(op: str, value: Node) -> Node:
    """Return the node of ``math.floor``, ``ceil`` or ``trunc`` (``op``) of ``value``: of a float an ``int64``."""
    if not is_float(value.type):
        return number(value)
    return Node("cast", "int64", (Node(op, value.type, (value,)),))


_BITS = {getattr(np, name): name for name in ("uint32", "int32", "float32", "uint64", "int64", "float64")}


def bit_cast(value: Node, target: Any) -> Node:
    """Return the node of ``value.view(target)``: the number of dtype ``target``, of equal width, with the same bits."""
    to = _BITS.get(target) if type(target).__hash__ is not None else None
    if to is None:
        raise Untranslatable(
            f"the bits of a number can be seen as {', '.join(f'np.{name}' for name in _BITS.values())}"
        )
    value = number(value)
    held = _bits_of(value)
    if held.itemsize != np.dtype(to).itemsize:
        width = 8 * held.itemsize
        raise Untranslatable(
            f"np.{to} has not the {width} bits of this number: convert it first, np.uint{96 - width}(x)"
        )
    return Node("bits", type_of(np.dtype(to)), (value,), (held.name, to))


def _bits_of(value: Node) -> np.dtype:
    """Return the dtype whose bits ``value.view(...)`` reinterprets.

    This is the dtype of the array that ``value`` is read from, or of the conversion that makes it, such as
    ``np.uint32(x)``; else the type of ``value`` itself. Dtypes of less than 32 bits count as ``int64``.
    """
    match value.op:
        case "narrow":
            found = np.dtype(value.value)
        case "load" | "field":
            found = value.value.dtype
        case "bits":
            found = np.dtype(value.value[1])
        case _:
            found = np.dtype(storage(value.type))
    return found if found.itemsize >= 4 else np.dtype(np.int64)
