"""Write the typed tree of an edge function as Numba Python and as CUDA C++.

Every value is cast to its type where the language would choose another, so that the two agree.
"""

from __future__ import annotations

import math

import numpy as np

from suricate.cuda import c_type
from suricate.edgefn_tree import BOOL, Assign, Node, Return, Statement, Tree, storage

_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "and": "&", "or": "|", "xor": "^",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
}  # fmt: skip
_WRAPPING = ("add", "sub", "mul", "neg")  # on integers
_C_NAMES = {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "arctan2": "atan2", "abs": "fabs",
}  # fmt: skip


def _is_float(kind: str) -> bool:
    return "float" in kind


# -- Numba -------------------------------------------------------------------------------------------------------------


def numba_source(tree: Tree, parameters: list[str], name: str) -> str:
    """Return ``def name(parameters): ...``; its globals need only ``np`` and ``math``."""
    return "\n".join([f"def {name}({', '.join(parameters)}):", *_numba_block(tree.statements, "    ")]) + "\n"


def _numba_block(statements: tuple[Statement, ...], indent: str) -> list[str]:
    lines = []
    for statement in statements:
        match statement:
            case Assign(local, value):
                lines.append(f"{indent}x{local} = {_numba(value)}")
            case Return(value):
                lines.append(f"{indent}return {_numba(value)}")
            case _:
                lines.append(f"{indent}if {_numba(statement.test)}:")
                lines += _numba_block(statement.body, indent + "    ")
                if statement.orelse:
                    lines += [f"{indent}else:", *_numba_block(statement.orelse, indent + "    ")]
    return lines or [f"{indent}pass"]


def _numba_cast(kind: str, text: str) -> str:
    return f"bool({text})" if kind == BOOL else f"np.{storage(kind)}({text})"


def numba_constant(kind: str, value: float) -> str:
    """Return a constant of the given type."""
    kind = storage(kind)
    if kind in (BOOL, "int64"):
        return f"({value})" if value < 0 else str(value)
    if kind == "float64" and math.isfinite(value):
        return f"({value!r})"
    text = {"inf": "np.inf", "-inf": "-np.inf", "nan": "np.nan"}.get(str(value), repr(value))
    return f"np.{kind}({text})"


def _numba(node: Node) -> str:
    op, kind, value = node.op, node.type, node.value
    match op:
        case "const":
            return numba_constant(kind, value)
        case "parameter":
            return _numba_cast(kind, value)
        case "local":
            return f"x{value}"
        case "load":
            index = node.args[0]
            at = index.value if index.op == "parameter" else _numba(index)  # an unsigned index has no sign to test
            return _numba_cast(kind, f"a{value.position}[{at}]")
    args = [_numba(arg) for arg in node.args]
    a, b = args[0], args[-1]
    match op:
        case "cast":
            return _numba_cast(kind, a)
        case "narrow":
            return f"np.int64(np.{value}({a}))"
        case "truth":
            return f"({a} != 0)"
        case "not":
            return f"(not {a})"
        case "both":
            return f"({a} and {b})"
        case "either":
            return f"({a} or {b})"
        case "choose":
            return f"({args[1]} if {a} else {b})"
        case "neg":
            return f"(np.uint64(0) - {a})" if kind == "uint64" else f"(-{a})"
        case "invert":
            return f"(~{a})"
        case "div":
            return f"np.true_divide({a}, {b})"  # `/` would raise for 0
        case "floordiv" | "mod":
            return _numba_floor(op, kind, a, b, node.args[1])
        case "shl" | "shr":
            return _numba_shift(op, kind, a, b, node.args[1])
        case "power":
            return f"np.{storage(kind)}({a} ** {value})"
        case "min" | "max" | "abs":
            return f"{op}({', '.join(args)})"
        case "pow":
            return f"np.power({a}, {b})"
        case "erf" | "erfc" | "lgamma":
            return f"np.{storage(kind)}(math.{op}({a}))"
    if op in _INFIX:
        return f"({a} {_INFIX[op]} {b})"
    return f"np.{op}({', '.join(args)})"


def _numba_floor(op: str, kind: str, a: str, b: str, divisor: Node) -> str:
    symbol = "//" if op == "floordiv" else "%"
    if divisor.is_const and divisor.value > 0:
        return f"({a} {symbol} {b})"
    if _is_float(kind):
        return f"({a} {symbol} {b} if {b} != 0 else np.{'true_divide' if op == 'floordiv' else 'fmod'}({a}, {b}))"
    function = "floor_divide" if op == "floordiv" else "remainder"
    if kind == "uint64":
        return f"np.{function}({a}, {b})"
    overflow = f"(-{a})" if op == "floordiv" else "0"  # the hardware traps on the least integer // -1
    return f"({overflow} if {b} == -1 else np.{function}({a}, {b}))"


def _numba_shift(op: str, kind: str, a: str, b: str, count: Node) -> str:
    symbol, dtype = "<<" if op == "shl" else ">>", storage(kind)
    if count.is_const:
        return f"np.{dtype}({a} {symbol} np.{dtype}({count.value}))"
    beyond = f"({a} >> 63)" if op == "shr" and dtype == "int64" else f"np.{dtype}(0)"
    return f"(np.{dtype}({a} {symbol} np.{dtype}({b} & 63)) if 0 <= {b} < 64 else {beyond})"


# -- CUDA --------------------------------------------------------------------------------------------------------------


def cuda_source(tree: Tree, parameters: list[str], name: str) -> str:
    """Return the device function ``name`` with the declared ``parameters``."""
    return "\n".join(
        [
            '#include "edgefn.cuh"',
            f"__device__ __forceinline__ {c_type(storage(tree.result))} {name}({', '.join(parameters)}) {{",
            *(f"    {c_type(storage(kind))} x{local};" for local, kind in enumerate(tree.locals)),
            *_cuda_block(tree.statements, "    "),
            "}",
            "",
        ]
    )


def _cuda_block(statements: tuple[Statement, ...], indent: str) -> list[str]:
    lines = []
    for statement in statements:
        match statement:
            case Assign(local, value):
                lines.append(f"{indent}x{local} = {_cuda(value)};")
            case Return(value):
                lines.append(f"{indent}return {_cuda(value)};")
            case _:
                lines.append(f"{indent}if ({_cuda(statement.test)}) {{")
                lines += _cuda_block(statement.body, indent + "    ")
                if statement.orelse:
                    lines += [f"{indent}}} else {{", *_cuda_block(statement.orelse, indent + "    ")]
                lines.append(f"{indent}}}")
    return lines


def _cuda_const(kind: str, value: float) -> str:
    kind = storage(kind)
    if kind == BOOL:
        return str(value).lower()
    if kind == "uint64":
        return f"{value}ull"
    if kind == "int64":
        return "(-9223372036854775807ll - 1ll)" if value == -(2**63) else f"({value}ll)" if value < 0 else f"{value}ll"
    number = np.dtype(kind).type(value)
    if not np.isfinite(number):  # no header: infinity and NaN by their bits
        bits = f"{number.view(f'u{number.itemsize}'):#x}"
        return f"__int_as_float({bits})" if kind == "float32" else f"__longlong_as_double({bits}ll)"
    text = repr(float(number)) + ("f" if kind == "float32" else "")
    return f"({text})" if text.startswith("-") else text


def _cuda(node: Node) -> str:
    op, kind, value = node.op, node.type, node.value
    match op:
        case "const":
            return _cuda_const(kind, value)
        case "parameter":
            return f"({c_type(storage(kind))})({value})"
        case "local":
            return f"x{value}"
        case "load":
            index = node.args[0]
            at = index.value if index.op == "parameter" else _cuda(index)
            return f"({c_type(storage(kind))})(a{value.position}[{at}])"
    args = [_cuda(arg) for arg in node.args]
    a, b = args[0], args[-1]
    operands = node.args[0].type
    match op:
        case "cast":
            return f"({c_type(storage(kind))})({a})"
        case "narrow":
            return f"(long long)({c_type(value)})({a})"
        case "truth":
            return f"({a} != 0)"
        case "not":
            return f"(!{a})"
        case "both":
            return f"({a} && {b})"
        case "either":
            return f"({a} || {b})"
        case "choose":
            return f"({a} ? {args[1]} : {b})"
        case "invert":
            return f"(~{a})"
        case "power":
            return f"edgefn::power({a}, {value})"
        case "min" | "max":
            return f"edgefn::{op}_({a}, {b})"
        case "shl" | "shr" | "floordiv" | "mod" | "minimum" | "maximum" | "square":
            return f"edgefn::{op}({', '.join(args)})"
        case "isnan":
            return f"({a} != {a})"
        case "isfinite":
            return f"({a} - {a} == 0)"
        case "isinf":
            return f"({a} == {a} && {a} - {a} != 0)"
        case "neg" if _is_float(kind):
            return f"(-{a})"
        case "abs" if not _is_float(kind):
            return f"({a} < 0 ? edgefn::neg({a}) : {a})"
    if op in _WRAPPING and not _is_float(operands):
        return f"edgefn::{op}({', '.join(args)})"
    if op in _INFIX:
        return f"({a} {_INFIX[op]} {b})"
    return f"{_C_NAMES.get(op, op)}{'f' if kind == 'float32' else ''}({', '.join(args)})"
