"""Write the typed tree of an edge function as CUDA C++.

A value is cast to its type wherever C++ would choose another, so that both devices agree.
"""

from __future__ import annotations

import numpy as np

from suricate.base.types import TOMBSTONE
from suricate.cuda.program import c_type
from suricate.edgefn.layout import cuda_decoded, cuda_encoded, cuda_put
from suricate.edgefn.tree import INFIX, Add, ArrayRef, Assign, Effect, Node, Return, Statement, Store, Tree, WordsRef
from suricate.edgefn.types import BOOL, cuda_type, is_float, storage

_WRAPPING = ("add", "sub", "mul", "neg")  # on integers, functions of edgefn.cuh,
_OWN = ("mixed", "shl", "shr", "floordiv", "mod", "minimum", "maximum", "square")  # as these are
#: operations by their operands, the type of the result, and the value of the node
_FORMS = {
    "cast": "({type})({0})", "truth": "({0} != 0)", "not": "(!{0})", "both": "({0} && {1})", "either": "({0} || {1})",
    "choose": "({0} ? {1} : {2})", "invert": "(~{0})", "power": "edgefn::power({0}, {value})",
    "min": "edgefn::min_({0}, {1})", "max": "edgefn::max_({0}, {1})", "isnan": "({0} != {0})",
    "isfinite": "({0} - {0} == 0)", "isinf": "({0} == {0} && {0} - {0} != 0)",
}  # fmt: skip
_C_NAMES = {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "arctan2": "atan2", "abs": "fabs",
}  # fmt: skip


def cuda_source(tree: Tree, parameters: list[str], headers: tuple[str, ...], name: str) -> str:
    """Return C++ text of the device function ``name``, which computes ``tree``; it includes ``headers`` first."""
    result = "void" if tree.result is None else cuda_type(tree.result)
    return "\n".join(
        [
            *(f'#include "{header}"' for header in ("edgefn.cuh", *headers)),
            f"__device__ __forceinline__ {result} {name}({', '.join(parameters)}) {{",
            *(f"    {cuda_type(kind)} x{local};" for local, kind in enumerate(tree.locals)),
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
            case Store(array, index, value):
                lines.append(f"{indent}{_cuda_store(array, _index(index, array), _cuda(value))}")
            case Add(accumulator, value):
                lines.append(f"{indent}a{accumulator.position}.add(({c_type(accumulator.dtype)})({_cuda(value)}));")
            case Effect():
                lines.append(f"{indent}{_cuda_effect(statement)}")
            case Return(value):
                lines.append(f"{indent}return{'' if value is None else ' ' + _cuda(value)};")
            case _:
                lines.append(f"{indent}if ({_cuda(statement.test)}) {{")
                lines += _cuda_block(statement.body, indent + "    ")
                if statement.orelse:
                    lines += [f"{indent}}} else {{", *_cuda_block(statement.orelse, indent + "    ")]
                lines.append(f"{indent}}}")
    return lines


def _cuda_effect(effect: Effect) -> str:
    name, (first, second) = f"a{effect.target.position}", effect.args
    if effect.kind == "unite":
        return f"unite({name}, {_vertex(first)}, {_vertex(second)});"
    if isinstance(effect.target, WordsRef):
        return f"words::lower({name} + {_index(first)}, {_cuda(second)});"
    value = f"({c_type(effect.target.dtype)})({_cuda(second)})"
    return f"effects::apply<FOLD_{effect.kind.upper()}>({name} + {_index(first)}, {value});"


def _vertex(node: Node) -> str:
    """Return C++ text: the vertex id ``node`` as ``unsigned int``, the type that cursors take."""
    return node.value if node.op == "parameter" else f"(unsigned int)({_cuda(node)})"


def _cuda_bits(held: str, to: str, value: str) -> str:
    """Return C++ text: a number of dtype ``to`` with the bits of ``value``, C++ text of a number of dtype ``held``."""
    if held == "float32":
        value = f"__float_as_uint({value})"
    if held == "float64":
        value = f"__double_as_longlong({value})"
    if to == "float32":
        return f"__uint_as_float((unsigned int)({value}))"
    return f"__longlong_as_double((long long)({value}))" if to == "float64" else f"({c_type(to)})({value})"


def _cuda_store(array: ArrayRef | WordsRef, index: str, value: str) -> str:
    if isinstance(array, WordsRef):
        return f"words::store(a{array.position} + {index}, {value});"
    return f"a{array.position}[{index}] = ({c_type(array.dtype)})({value});"


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
            return f"({cuda_type(kind)})({value})"
        case "local":
            return f"x{value}"
        case "load":
            return f"({cuda_type(kind)})(a{value.position}[{_index(node.args[0], value)}])"
        case "word":
            return f"words::load(a{value.position} + {_index(node.args[0])})"
        case "total":
            return f"({cuda_type(kind)})(a{value.position}.value)"
        case "contains" | "degree" | "get":
            return _cuda_question(node)
        case "after":  # the comma operator: what is stored in local variables first
            first = ", ".join(f"x{one.local} = {_cuda(one.value)}" for one in value)
            return f"({first}, {_cuda(node.args[0])})"
    args = [_cuda(arg) for arg in node.args]
    a, b = args[0], args[-1]
    match op:
        case "field":
            return f"({cuda_type(kind)})({cuda_decoded(value, a)})"
        case "bits":
            return f"({cuda_type(kind)})({_cuda_bits(value[0], value[1], a)})"
        case "put":
            return cuda_put(value, a, b)
        case "encode":
            return cuda_encoded(value, args)
        case "pair":
            return f"{cuda_type(kind)}{{{a}, {b}}}"
        case "narrow":
            return f"(long long)({c_type(value)})({a})"
        case "neg" if is_float(kind):
            return f"(-{a})"
        case "abs" if not is_float(kind):
            return f"({a} < 0 ? edgefn::neg({a}) : {a})"
    if op in _FORMS:
        return _FORMS[op].format(*args, type=cuda_type(kind), value=value)
    if op in _OWN or (op in _WRAPPING and not is_float(node.args[0].type)):
        return f"edgefn::{op}({', '.join(args)})"
    if op in INFIX:
        return f"({a} {INFIX[op]} {b})"
    return f"{_C_NAMES.get(op, op)}{'f' if kind == 'float32' else ''}({', '.join(args)})"


def _cuda_question(node: Node) -> str:
    """Return C++ text of ``node``, which looks up an edge, a degree or an edge's value in a graph or an edge set."""
    kind, value, ends = node.type, node.value, ", ".join(map(_vertex, node.args[:2]))
    if node.op == "contains":
        if value.kind != "graph":
            return f"contains(a{value.position}, {ends})"
        x = _vertex(node.args[1])  # words beyond the ids are those of free slots
        return f"({x} < {TOMBSTONE}u && find(a{value.position}, {ends}) >= 0)"
    if node.op == "degree":
        return f"({cuda_type(kind)})({'degree_of' if value.kind == 'answers' else 'degree'}(a{value.position}, {ends}))"
    held = c_type(value.dtype)
    return f"({cuda_type(kind)})(value_of<{held}>(a{value.position}, {ends}, ({held})({_cuda(node.args[2])})))"


def _index(index: Node, array: ArrayRef | WordsRef | None = None) -> str:
    """Return C++ text of ``index``, an index of ``array``; a parameter that is a vertex id keeps its unsigned type."""
    text = index.value if index.op == "parameter" else _cuda(index)
    if isinstance(array, ArrayRef) and array.columns is not None:
        return f"(long long)({text}) * a{array.columns} + j"
    if isinstance(array, ArrayRef) and array.mask is not None:
        return f"(long long)({text}) & a{array.mask}"
    return text
