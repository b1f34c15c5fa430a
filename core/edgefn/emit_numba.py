"""Write the typed tree of an edge function as Numba Python.

A value is cast to its type wherever Numba would choose another, so that both devices agree.
"""

from __future__ import annotations

import math

import numpy as np

from suricate.base.types import TOMBSTONE
from suricate.edgefn import bounds
from suricate.edgefn.layout import HALF, numba_decoded, numba_encoded, numba_put
from suricate.edgefn.tree import (
    INFIX,
    Add,
    ArrayRef,
    Assign,
    Effect,
    Node,
    Reference,
    Return,
    Statement,
    Store,
    Tree,
    WordsRef,
    replaced,
)
from suricate.edgefn.types import BOOL, is_float, is_word, storage

#: operations by their operands, the type of the result, and the value of the node
_FORMS = {
    "narrow": "np.int64(np.{value}({0}))", "truth": "({0} != 0)", "not": "(not {0})", "both": "({0} and {1})",
    "either": "({0} or {1})", "choose": "({1} if {0} else {2})", "invert": "(~{0})",
    "div": "np.true_divide({0}, {1})",  # `/` would raise for 0
    "power": "np.{type}({0} ** {value})", "pow": "np.power({0}, {1})", "min": "min({0}, {1})", "max": "max({0}, {1})",
    "abs": "abs({0})", "erf": "np.{type}(math.erf({0}))", "erfc": "np.{type}(math.erfc({0}))",
    "lgamma": "np.{type}(math.lgamma({0}))", "mixed": "mixed_bits({0}, {1}, {2})",
}  # fmt: skip


def numba_source(tree: Tree, parameters: list[str], name: str, carried: tuple[int, ...] = ()) -> str:
    """Return the source of ``name(parameters)``, for globals with ``np``, ``math`` and the imports of the function.

    ``carried``: positions of all scalars, whose numbers a loop carries along in registers: the function has a further
    parameter ``totals``, a tuple of the total to read and that of the running operator for each, and returns its result
    and ``totals``. In memory a total takes as long as a store and a load per vertex, since arrays may overlap.
    """
    lines = _numba_block(tree.statements, "    ", carried)
    if carried:
        lines.insert(0, f"    {_totals(carried)} = totals")
        parameters = [*parameters, "totals"]
    text = "\n".join([f"def {name}({', '.join(parameters)}):", *lines]) + "\n"
    for position in carried:
        text = text.replace(f"a{position}[0][0]", f"r{position}")
    return text


def _totals(carried: tuple[int, ...]) -> str:
    return f"({', '.join(f'r{position}, t{position}' for position in carried)})"


def _numba_block(statements: tuple[Statement, ...], indent: str, carried: tuple[int, ...] = ()) -> list[str]:
    lines = []
    for statement in statements:
        match statement:
            case Assign(local, value):
                lines.append(f"{indent}x{local} = {_numba(value)}")
            case Store(array, index, value):
                lines += [f"{indent}{line}" for line in _numba_store(array, _index(index, array), _numba(value))]
            case Add(accumulator, value):
                place, given = accumulator.position, f"np.{accumulator.dtype}({_numba(value)})"
                into = f"np.{accumulator.dtype}(total_{accumulator.op}(t{place}, {given}))"
                lines.append(
                    f"{indent}t{place} = {into}" if carried
                    else f"{indent}apply_{accumulator.op}(a{place}[1], 0, {given})"
                )  # fmt: skip
            case Effect():
                lines.append(f"{indent}{_numba_effect(statement)}")
            case Return(value) if carried:
                lines.append(f"{indent}return {'False' if value is None else _numba(value)}, {_totals(carried)}")
            case Return(value):
                lines.append(f"{indent}return{'' if value is None else ' ' + _numba(value)}")
            case _:
                lines.append(f"{indent}if {_numba(statement.test)}:")
                lines += _numba_block(statement.body, indent + "    ", carried)
                if statement.orelse:
                    lines += [f"{indent}else:", *_numba_block(statement.orelse, indent + "    ", carried)]
    return lines or [f"{indent}pass"]


def _numba_effect(effect: Effect) -> str:
    name, (first, second) = f"a{effect.target.position}", effect.args
    if effect.kind == "unite":
        return f"unite({name}, {_vertex(first)}, {_vertex(second)})"
    if isinstance(effect.target, WordsRef):
        kind = "min" if effect.target.layout.bits == HALF else "argmin"
        return f"effect_{kind}({name}, {_index(first, effect.target)}, {_numba(second)})"
    dtype = effect.target.dtype
    value = _numba(second) if dtype == np.bool_ else f"np.{dtype}({_numba(second)})"
    return f"effect_{effect.kind}({name}, {_index(first, effect.target)}, {value})"


def _vertex(node: Node) -> str:
    """Return Python text: the vertex id ``node`` as ``uint32``, the type that cursors take."""
    return node.value if node.op == "parameter" else f"np.uint32({_numba(node)})"


def _numba_store(array: ArrayRef | WordsRef, index: str, value: str) -> list[str]:
    name = f"a{array.position}"
    if isinstance(array, ArrayRef) or array.layout.bits == HALF:
        return [f"{name}[{index}] = {value}"]
    return [f"{name}[{index}, {half}] = {value}[{half}]" for half in (0, 1)]


def _numba_word(words: WordsRef, index: str) -> str:
    name = f"a{words.position}"
    return f"{name}[{index}]" if words.layout.bits == HALF else f"load_pair({name}, {index})"


def _numba_after(node: Node) -> str:
    """Return text of an ``after`` node: values in place of variables, as no other thread changes words here."""
    by: dict[int, Node] = {}
    for one in node.value:
        by[one.local] = replaced(one.value, by)
    return _numba(replaced(node.args[0], by))


def _numba_cast(kind: str, text: str) -> str:
    return f"bool({text})" if kind == BOOL else f"np.{storage(kind)}({text})"


def numba_constant(kind: str, value: float) -> str:
    """Return Python text of the constant ``value``, to which Numba gives the type ``kind``."""
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
            return value if is_word(kind) else _numba_cast(kind, value)
        case "local":
            return f"x{value}"
        case "load":
            return _numba_cast(kind, f"a{value.position}[{_index(node.args[0], value)}]")
        case "word":
            return _numba_word(value, _index(node.args[0], value))
        case "after":
            return _numba_after(node)
        case "total":
            return _numba_cast(kind, f"a{value.position}[0][0]")
        case "contains" | "degree" | "get":
            return _numba_question(node)
    args = [_numba(arg) for arg in node.args]
    a, b = args[0], args[-1]
    match op:
        case "field":
            return _numba_cast(kind, numba_decoded(int(node.args[0].type[4:]), value, a))
        case "bits":
            return _numba_cast(kind, f"np.{value[0]}({a}).view(np.{value[1]})")
        case "put":
            return numba_put(int(kind[4:]), value, a, b)
        case "encode":
            return numba_encoded(value, args)
        case "pair":
            return f"({a}, {b})"
        case "cast":
            return _numba_cast(kind, a)
        case "neg":
            return f"(np.uint64(0) - {a})" if kind == "uint64" else f"(-{a})"
        case "floordiv" | "mod":
            return _numba_floor(op, kind, a, b, node.args[1])
        case "shl" | "shr":
            return _numba_shift(op, kind, a, b, node.args[1])
    if op in _FORMS:
        return _FORMS[op].format(*args, type=storage(kind), value=value)
    if op in INFIX:
        return f"({a} {INFIX[op]} {b})"
    return f"np.{op}({', '.join(args)})"


def _numba_question(node: Node) -> str:
    """Return Python text of ``node``, which looks up an edge, a degree or an edge's value in a graph or an edge set."""
    kind, value, ends = node.type, node.value, ", ".join(map(_vertex, node.args[:2]))
    if node.op == "contains":
        if value.kind != "graph":
            return f"contains(a{value.position}, {ends})"
        x = _vertex(node.args[1])  # words beyond the ids are those of free slots
        return f"({x} < {TOMBSTONE} and find(a{value.position}, {ends}) >= 0)"
    if node.op == "degree":
        return _numba_cast(kind, f"{'degree_of' if value.kind == 'answers' else 'degree'}(a{value.position}, {ends})")
    default = f"np.{value.dtype}({_numba(node.args[2])})"
    return _numba_cast(kind, f"value_of(a{value.position}, {ends}, {default})")


def _index(index: Node, array: Reference) -> str:
    """Return Python text of an index of ``array``, checked if indices are; vertex ids stay unsigned."""
    text = index.value if index.op == "parameter" else _numba(index)
    if isinstance(array, ArrayRef) and array.columns is not None:
        text = f"np.uint64({text}) * np.uint64(a{array.columns}) + np.uint64(j)"
    if isinstance(array, ArrayRef) and array.mask is not None:
        text = f"np.uint64({text}) & np.uint64(a{array.mask})"
    return f"inside_{array.position}({text}, len(a{array.position}))" if bounds.CHECKED else text


def _numba_floor(op: str, kind: str, a: str, b: str, divisor: Node) -> str:
    symbol = "//" if op == "floordiv" else "%"
    if divisor.is_const and divisor.value > 0:
        return f"({a} {symbol} {b})"
    if is_float(kind):
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
