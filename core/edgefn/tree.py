"""The typed tree of an edge function: what is translated once, and written in both languages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from suricate.edgefn.layout import Layout
from suricate.edgefn.names import Name
from suricate.edgefn.types import BOOL, FLOAT, INT


@dataclass(frozen=True, slots=True)
class Node:
    """An expression: what to do (``op``), the type of the value, operands, and a constant part."""

    op: str
    type: str
    args: tuple[Node, ...] = ()
    value: Any = None

    @property
    def is_const(self) -> bool:
        """Whether the value is known."""
        return self.op == "const"

    def nodes(self) -> Iterator[Node]:
        """Yield this expression and all below it."""
        yield self
        for arg in self.args:
            yield from arg.nodes()


@dataclass(frozen=True, slots=True)
class Assign:
    """Give local variable number ``local`` a value."""

    local: int
    value: Node


@dataclass(frozen=True, slots=True)
class Store:
    """Write a value to an element of an array argument, or a word to one of a words argument."""

    array: ArrayRef | WordsRef
    index: Node
    value: Node


@dataclass(frozen=True, slots=True)
class Add:
    """The statement that adds a value to a scalar: ``scalar.add(value)``."""

    accumulator: ObjectRef
    value: Node


@dataclass(frozen=True, slots=True)
class Effect:
    """Change an element of an array as a whole (sum, min, max, or), or unite two sets ("unite")."""

    kind: str
    target: ArrayRef | ObjectRef
    args: tuple[Node, Node]


@dataclass(frozen=True, slots=True)
class Return:
    """Return a value, or nothing."""

    value: Node | None


@dataclass(frozen=True, slots=True)
class If:
    """Run one of two blocks."""

    test: Node
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...]


Statement = Assign | Store | Add | Effect | Return | If


class ArrayRef(NamedTuple):
    """An array argument: its position among the arguments, and its dtype."""

    position: int
    dtype: np.dtype


class WordsRef(NamedTuple):
    """A words argument: its position among the arguments, and its fields."""

    position: int
    layout: Layout


class ObjectRef(NamedTuple):
    """An argument with methods: an accumulator, sets, edges or a graph."""

    position: int
    kind: str
    dtype: np.dtype | None
    op: str | None

    @property
    def use(self) -> str:
        """How a function may use the argument, for messages."""
        return _USES[self.kind]


_USES = {
    "accumulator": "a Scalar, use its .add(x) and .value",
    "sets": "a UnionFind, use su.unite(sets, u, v)",
    "edges": "an EdgeSet, use '(u, x) in' it or its .get(u, x, default)",
    "answers": "a graph, use '(u, x) in' it or its .degree(u)",
    "graph": "a graph, use '(u, x) in' it or its .degree(u)",
}
Reference = ArrayRef | WordsRef | ObjectRef
Binding = Node | Reference  # what a name of the function stands for


def replaced(node: Node, by: dict[int, Node]) -> Node:
    """Return ``node`` with other expressions in place of some local variables."""
    if node.op == "local":
        return by.get(node.value, node)
    value = node.value
    if node.op == "after":
        value = tuple(Assign(one.local, replaced(one.value, by)) for one in value)
    return Node(node.op, node.type, tuple(replaced(arg, by) for arg in node.args), value)


@dataclass(frozen=True)
class Tree:
    """A translated function.

    Attributes:
        statements: its statements.
        locals: types of its local variables.
        result: type of its value, None if it returns nothing.
        names: the globals, closure variables and default values that it uses.
        writes: positions of the arguments that it writes to.
        elsewhere: positions of the arguments, graphs included, that it uses at other places than its own vertex.
        indexed: positions of the arguments that it indexes by a leading parameter (``u``, ``v``), by its name.
        effects: kind of its effects ("sum", "min", "max", "or", "unite") by position of the argument.
    """

    statements: tuple[Statement, ...]
    locals: tuple[str, ...]
    result: str | None
    names: frozenset[Name]
    writes: frozenset[int]
    elsewhere: frozenset[int]
    indexed: dict[str, tuple[int, ...]]
    effects: dict[int, str]


#: operations that are an infix operator in Python and in C++ alike
INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "and": "&", "or": "|", "xor": "^",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
}  # fmt: skip


def constant(value: Any) -> Node | None:
    """Return a Python or NumPy number as a constant, None for other values (and numbers of more than 64 bits)."""
    if isinstance(value, bool | np.bool_):
        return Node("const", BOOL, value=bool(value))
    if isinstance(value, np.float32):
        return Node("const", "float32", value=float(value))
    if isinstance(value, float):
        return Node("const", FLOAT, value=float(value))
    if isinstance(value, int | np.integer) and -(2**63) <= value < 2**64:
        is_unsigned = isinstance(value, np.uint64) or value >= 2**63
        return Node("const", "uint64" if is_unsigned else INT, value=int(value))
    return None
