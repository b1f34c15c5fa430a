"""Which edges an edge function looks up in its graph, as expressions, and the values of these for many calls at once.

A graph of several processes fetches these edges from other ranks before the function runs. If a function looks up edges
in branches only, those of all branches count; if it assigns to a variable more than once, every value counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from suricate.base.devices import Array
from suricate.edgefn.tree import Add, Assign, Effect, If, Node, Return, Statement, Store
from suricate.edgefn.types import storage

MOST_WAYS = 64  #: expressions that one may stand for
Ask = tuple[Node, Node]
Bindings = Mapping[str, Any]

_OPERATIONS: dict[str, str] = {
    "add": "add", "sub": "subtract", "mul": "multiply", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "floordiv": "floor_divide", "mod": "remainder", "shl": "left_shift", "shr": "right_shift", "neg": "negative",
    "invert": "invert", "min": "minimum", "max": "maximum", "abs": "absolute",
}  # fmt: skip
_AS_IT_IS = ("const", "cast", "narrow")


class Asks(NamedTuple):
    """Which edges and degrees a function looks up in graphs.

    Attributes:
        edges: the two ends of every edge that it looks up, as expressions.
        unknown: True if an edge has an end that cannot be computed before the call, by :func:`value_of`.
        degrees: whether it looks up degrees.
    """

    edges: tuple[Ask, ...] = ()
    unknown: bool = False
    degrees: bool = False


def asks_of(statements: Iterable[Statement], known: Callable[[str], bool], writes: frozenset[int]) -> Asks:
    """Return which edges and degrees the statements of a function look up.

    Args:
        statements: the statements of the function.
        known: returns whether the parameter of this label (such as ``u`` or ``a0``) has its value before the call.
        writes: positions of the arguments that the function writes to.
    """
    nodes, given = list(_nodes(statements)), dict[int, list[Node]]()
    for one in _assigned(statements, nodes):
        given.setdefault(one.local, []).append(one.value)
    edges, unknown = dict[Ask, None](), False
    for node in nodes:
        if node.op == "contains" and node.value.kind == "graph":
            ways = [_ways(end, given, frozenset()) for end in node.args]
            pairs = list(product(*ways))
            unknown |= not pairs or not all(_is_known(end, known, writes) for pair in pairs for end in pair)
            edges |= dict.fromkeys((u, x) for u, x in pairs)
    degrees = any(node.op == "degree" for node in nodes)
    return Asks(tuple(edges), unknown, degrees)


def reads(statements: Iterable[Statement], label: str) -> bool:
    """Return whether the statements of a function use its parameter ``label``."""
    return any(node.op == "parameter" and node.value == label for node in _nodes(statements))


def _statements(statements: Iterable[Statement]) -> Iterator[Statement]:
    for one in statements:
        yield one
        if isinstance(one, If):
            yield from _statements((*one.body, *one.orelse))


def _nodes(statements: Iterable[Statement]) -> Iterator[Node]:
    """Yield every expression in ``statements``, and all parts of each."""
    for one in _statements(statements):
        match one:
            case Assign(value=value) | Add(value=value):
                found: tuple[Node | None, ...] = (value,)
            case Store(index=index, value=value):
                found = index, value
            case Effect(args=args):
                found = args
            case Return(value=value):
                found = (value,)
            case If(test=test):
                found = (test,)
        for node in found:
            if node is not None:
                yield from _parts(node)


def _parts(node: Node) -> Iterator[Node]:
    """Yield ``node`` and all expressions below it."""
    for one in node.nodes():
        yield one
        for before in one.value if one.op == "after" else ():
            yield from _parts(before.value)


def _assigned(statements: Iterable[Statement], nodes: Iterable[Node]) -> Iterator[Assign]:
    yield from (one for one in _statements(statements) if isinstance(one, Assign))
    for node in nodes:
        if node.op == "after":
            yield from node.value


def _ways(node: Node, given: Mapping[int, list[Node]], within: frozenset[int]) -> list[Node]:
    """Return all expressions without local variables that ``node`` may stand for; none if there are too many."""
    if node.op == "local":
        if node.value in within:
            return []
        ways = [_ways(value, given, within | {node.value}) for value in given.get(node.value, ())]
        return [one for way in ways for one in way] if all(ways) and sum(map(len, ways)) <= MOST_WAYS else []
    if node.op == "choose":
        ways = [_ways(part, given, within) for part in node.args[1:]]
        return [one for way in ways for one in way] if all(ways) else []
    parts = list(product(*(_ways(part, given, within) for part in node.args)))
    return [Node(node.op, node.type, part, node.value) for part in parts] if len(parts) <= MOST_WAYS else []


def _is_known(node: Node, known: Callable[[str], bool], writes: frozenset[int]) -> bool:
    match node.op:
        case "parameter":
            return known(node.value)
        case "load" | "word":
            fits = node.value.position not in writes
        case _:
            fits = node.op in _OPERATIONS or node.op in _AS_IT_IS or node.op == "field"
    if node.op == "field" and node.args[0].op != "word":
        return False
    return fits and all(_is_known(part, known, writes) for part in node.args)


def value_of(node: Node, columns: Bindings, values: tuple[Any, ...], xp: Any) -> Any:
    """Return the values of an expression in many calls of a function, an array with one per call.

    Where an index is out of range the value is arbitrary. An expression without leading parameters gives one number.

    Args:
        node: an expression that can be computed before the call: an end of an edge in :class:`Asks`.
        columns: for each leading parameter the array of its values, ``int64``, one per call, by name.
        values: the arguments, the same for all calls.
        xp: NumPy or CuPy.
    """
    if node.op == "parameter":
        return columns[node.value] if node.value in columns else values[int(node.value[1:])]
    if node.op == "const":
        return node.value
    if node.op == "field":
        word = node.args[0]
        return _taken(getattr(values[word.value.position], node.value.name), word, columns, values, xp)
    if node.op == "load":
        return _taken(values[node.value.position], node, columns, values, xp)
    parts = [value_of(part, columns, values, xp) for part in node.args]
    dtype = np.dtype(node.value if node.op == "narrow" else storage(node.type))
    if node.op in _AS_IT_IS:
        return xp.asarray(parts[0]).astype(dtype)
    with np.errstate(all="ignore"):
        return getattr(xp, _OPERATIONS[node.op])(*(xp.asarray(part) for part in parts)).astype(dtype)


def _taken(array: Array, node: Node, columns: Bindings, values: tuple[Any, ...], xp: Any) -> Any:
    """Return ``array`` at the indices that the operand of ``node`` gives, clipped to its ends; of an empty one 0."""
    index = xp.asarray(value_of(node.args[0], columns, values, xp)).astype(np.int64)
    return array[xp.clip(index, 0, len(array) - 1)] if len(array) else xp.zeros_like(index)
