"""Operations on typed values: given operands, each function returns the node of the result, with its type.

Operations on constants are computed at once, as Python computes them. If the types do not allow an operation, it raises
:class:`Untranslatable`, to which the translator adds file and line.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from suricate.edgefn.tree import Node, constant
from suricate.edgefn.types import BOOL, FLOAT, INT, is_float, is_word, promote, storage


class Untranslatable(Exception):  # noqa: N818
    """An operation is not possible for these operands; the message is for the user."""


ARITHMETIC: dict[type[ast.operator], tuple[str, str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("add", "+", operator.add),
    ast.Sub: ("sub", "-", operator.sub),
    ast.Mult: ("mul", "*", operator.mul),
    ast.Div: ("div", "/", operator.truediv),
    ast.FloorDiv: ("floordiv", "//", operator.floordiv),
    ast.Mod: ("mod", "%", operator.mod),
    ast.Pow: ("power", "**", operator.pow),
    ast.LShift: ("shl", "<<", operator.lshift),
    ast.RShift: ("shr", ">>", operator.rshift),
    ast.BitAnd: ("and", "&", operator.and_),
    ast.BitOr: ("or", "|", operator.or_),
    ast.BitXor: ("xor", "^", operator.xor),
}
COMPARISONS: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], bool]]] = {
    ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le),
    ast.Gt: ("gt", operator.gt),
    ast.GtE: ("ge", operator.ge),
    ast.Eq: ("eq", operator.eq),
    ast.NotEq: ("ne", operator.ne),
}


# -- types -------------------------------------------------------------------------------------------------------------


def literal(value: Any) -> Node:
    """Return the constant node of a Python number."""
    found = constant(value)
    if found is None:
        reason = "does not fit 64 bits" if isinstance(value, int) else "is not a number"
        raise Untranslatable(f"the constant {value!r} {reason}")
    return found


def common(a: str, b: str) -> str:
    """Return the type of an operation on ``a`` and ``b``; raises :class:`Untranslatable`, as for int64 and uint64."""
    if a != b and (is_word(a) or is_word(b)):
        raise Untranslatable("a tuple and a number have no common type")
    kind = promote(a, b)
    if kind is None:
        raise Untranslatable("int64 and uint64 have no common type: convert one of them, np.int64(x) or np.uint64(x)")
    return kind


def convert(value: Node, kind: str) -> Node:
    """Return the node of ``value`` converted to type ``kind``."""
    if value.type == kind:
        return value
    if value.is_const:
        return _converted_constant(value, kind)
    if storage(value.type) == storage(kind):
        return replace(value, type=kind)
    return Node("cast", kind, (value,))


def _converted_constant(value: Node, kind: str) -> Node:
    if kind == "uint64" and value.value < 0:
        raise Untranslatable(f"the constant {value.value} cannot become uint64")
    if is_float(kind):
        with np.errstate(over="ignore"):
            return Node("const", kind, value=float(np.dtype(storage(kind)).type(value.value)))
    if not math.isfinite(value.value):
        raise Untranslatable(f"the constant {value.value} cannot become {kind}")
    return Node("const", kind, value=int(value.value))


def _in_common(a: Node, b: Node) -> tuple[str, tuple[Node, Node]]:
    """Return the common type of two numbers, and ``a`` and ``b`` converted to it."""
    kind = common(a.type, b.type)
    return kind, (convert(a, kind), convert(b, kind))


def number(value: Node) -> Node:
    """Return ``value`` as a number: a bool becomes a weak integer, 0 or 1, a number is returned unchanged."""
    if is_word(value.type):
        raise Untranslatable("a tuple can only be returned")
    if value.type != BOOL:
        return value
    return Node("const", INT, value=int(value.value)) if value.is_const else Node("cast", INT, (value,))


def _integer(value: Node, what: str) -> Node:
    if is_float(value.type):
        raise Untranslatable(f"{what} takes integers, not {value.type}: convert with int(x)")
    return number(value)


def floating(value: Node) -> Node:
    """Return the node of ``value`` as an operand of ``/`` or ``sqrt``: bools and integers become floats."""
    kind = {BOOL: FLOAT, INT: FLOAT, "int64": "float64", "uint64": "float64"}.get(value.type, value.type)
    return convert(value, kind)


def truth(value: Node) -> Node:
    """Return the node of ``bool(value)``."""
    if value.type == BOOL:
        return value
    if value.is_const:
        return Node("const", BOOL, value=bool(value.value))
    return Node("truth", BOOL, (value,))


def fold(python: Callable[..., Any], *args: Node) -> Node | None:
    """Return the constant that ``python(*args)`` computes from Python constants; None unless all ``args`` are such."""
    if not all(arg.is_const and arg.type in (BOOL, INT, FLOAT) for arg in args):
        return None
    try:
        value = python(*(arg.value for arg in args))
    except (ArithmeticError, ValueError, TypeError) as error:
        raise Untranslatable(f"this constant cannot be computed: {error}") from error
    return literal(value)


# -- operators ---------------------------------------------------------------------------------------------------------


def arithmetic(op: ast.operator, a: Node, b: Node) -> Node:
    """Return the node of ``a op b``, where ``op`` is a binary operator of :data:`ARITHMETIC`."""
    name, symbol, python = ARITHMETIC[type(op)]
    folded = fold(python, a, b)
    if folded is not None:
        return folded
    if name == "power":
        return power(a, b)
    if name in ("shl", "shr"):
        return _shift(name, symbol, a, b)
    if name in ("and", "or", "xor"):
        return _bitwise(name, symbol, a, b)
    if name == "div":
        a, b = floating(a), floating(b)
    kind, operands = _in_common(number(a), number(b))
    return Node(name, kind, operands)


def _shift(name: str, symbol: str, a: Node, b: Node) -> Node:
    a, b = _integer(a, symbol), _integer(b, symbol)
    if b.is_const and not 0 <= b.value < 64:
        raise Untranslatable(f"a shift by {b.value}: the integers have 64 bits")
    kind = "int64" if a.type == INT and b.type != INT else a.type
    return Node(name, kind, (convert(a, kind), convert(b, INT)))


def _bitwise(name: str, symbol: str, a: Node, b: Node) -> Node:
    if a.type == b.type == BOOL:
        return Node(name, BOOL, (a, b))
    kind, operands = _in_common(_integer(a, symbol), _integer(b, symbol))
    return Node(name, kind, operands)


def power(a: Node, b: Node) -> Node:
    """Return the node of ``a ** b``."""
    a, b = number(a), number(b)
    if not is_float(a.type) and not is_float(b.type):
        if not (b.is_const and 0 <= b.value < 64):
            raise Untranslatable("an integer power needs a constant exponent from 0 to 63: convert with float(x)")
        return Node("power", a.type, (a,), b.value)
    if b.is_const and b.value == 2:
        return Node("square", a.type, (a,))
    if b.is_const and b.value == 0.5:
        return Node("sqrt", floating(a).type, (floating(a),))
    return float_function("pow", (a, b))


def unary(op: ast.unaryop, value: Node) -> Node:
    """Return the node of ``op`` applied to ``value``: ``+value``, ``-value``, ``~value`` or ``not value``."""
    if isinstance(op, ast.Not):
        return negation(value)
    if isinstance(op, ast.Invert):
        if value.type == BOOL:
            return negation(value)
        folded = fold(operator.invert, value) if value.type == INT else None
        return folded or Node("invert", value.type, (_integer(value, "~"),))
    value = number(value)
    if isinstance(op, ast.UAdd):
        return value
    return fold(operator.neg, value) or Node("neg", value.type, (value,))


def negation(value: Node) -> Node:
    """Return the node of ``not value``."""
    value = truth(value)
    return Node("const", BOOL, value=not value.value) if value.is_const else Node("not", BOOL, (value,))


def comparison(op: ast.cmpop, a: Node, b: Node) -> Node:
    """Return the node of ``a op b``, where ``op`` is an operator of :data:`COMPARISONS`."""
    name, python = COMPARISONS[type(op)]
    a, b = number(a), number(b)
    _, pair = _in_common(a, b)
    return fold(python, a, b) or Node(name, BOOL, pair)


def chain(op: str, values: list[Node]) -> Node:
    """Return the node of ``values``, bools, joined by ``op``, "both" or "either", without constants of no effect."""
    decides = op == "either"
    result: Node | None = None
    for value in values:
        if value.is_const and value.value != decides:
            continue
        result = value if result is None else Node(op, BOOL, (result, value))
    return Node("const", BOOL, value=not decides) if result is None else result


def logic(is_and: bool, values: list[Node]) -> Node:
    """Return the node of ``values`` joined by ``and`` (``is_and``) or ``or``: a bool if all are, else one of them."""
    if all(value.type == BOOL for value in values):
        return chain("both" if is_and else "either", values)
    result = values[-1]
    for value in reversed(values[:-1]):
        test = truth(value)
        result = choose(test, result, value) if is_and else choose(test, value, result)
    return result


def choose(test: Node, a: Node, b: Node) -> Node:
    """Return the node of ``a if test else b``."""
    kind, (a, b) = _in_common(a, b)
    if test.is_const:
        return a if test.value else b
    return Node("choose", kind, (test, a, b))


def float_function(op: str, args: tuple[Node, ...]) -> Node:
    """Return the node of the floating-point function ``op`` of ``args``, all converted to their common type."""
    args = tuple(map(floating, args))
    kind = args[0].type
    for arg in args[1:]:
        kind = common(kind, arg.type)
    return Node(op, kind, tuple(convert(arg, kind) for arg in args))


def extreme(op: str, args: tuple[Node, ...]) -> Node:
    """Return the node of the extreme of ``args``; ``minimum`` and ``maximum`` give NaN if an operand is NaN."""
    result = number(args[0])
    for arg in args[1:]:
        kind, operands = _in_common(result, number(arg))
        result = Node(op if is_float(kind) else op[:3], kind, operands)
    return result


def magnitude(value: Node) -> Node:
    """Return the node of ``abs(value)``."""
    return value if value.type == "uint64" else Node("abs", value.type, (value,))
