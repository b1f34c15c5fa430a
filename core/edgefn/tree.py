"""The typed tree of an edge function: the result of the translation, from which Numba and CUDA source is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from suricate.edgefn.layout import Layout
from suricate.edgefn.source import Name
from suricate.edgefn.types import BOOL, FLOAT, INT


@dataclass(frozen=True, slots=True)
class Node:
    """An expression.

    Attributes:
        op: the operation, such as ``"add"``, ``"load"`` (an element of an array), ``"local"`` or ``"const"``.
        type: the type of the result (``suricate.edgefn.types``).
        args: the operands.
        value: what the operation needs besides: the number of a constant, the array of a load, the field of a word.
    """

    op: str
    type: str
    args: tuple[Node, ...] = ()
    value: Any = None

    @property
    def is_const(self) -> bool:
        """Whether this is a constant, whose number is in ``value``."""
        return self.op == "const"

    def nodes(self) -> Iterator[Node]:
        """Yield this expression and all operands below it."""
        yield self
        for arg in self.args:
            yield from arg.nodes()


@dataclass(frozen=True, slots=True)
class Assign:
    """The statement that assigns ``value`` to the local variable number ``local``."""

    local: int
    value: Node


@dataclass(frozen=True, slots=True)
class Store:
    """The statement ``array[index] = value``; if ``array`` is an argument of words, ``value`` is a whole word."""

    array: ArrayRef | WordsRef
    index: Node
    value: Node


@dataclass(frozen=True, slots=True)
class Add:
    """The statement ``scalar.add(value)``; ``accumulator`` is the scalar."""

    accumulator: ObjectRef
    value: Node


@dataclass(frozen=True, slots=True)
class Effect:
    """The statement ``su.atomic.*(target, *args)`` or ``su.unite(target, *args)``.

    Attributes:
        kind: ``"sum"``, ``"min"``, ``"max"``, ``"or"``, ``"argmin"`` (of words) or ``"unite"``.
        target: the array, the words, or the sets.
        args: index and value (a word for words), or the two elements to unite.
    """

    kind: str
    target: ArrayRef | WordsRef | ObjectRef
    args: tuple[Node, Node]


@dataclass(frozen=True, slots=True)
class Return:
    """The statement that returns ``value``, or nothing if it is None."""

    value: Node | None


@dataclass(frozen=True, slots=True)
class If:
    """The statement that runs ``body`` if ``test`` is true, else ``orelse``."""

    test: Node
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...]


Statement = Assign | Store | Add | Effect | Return | If


class ArrayRef(NamedTuple):
    """An array argument: its position among the arguments, and its dtype.

    ``columns``: of an array with columns, ``x[v, j]``, the position of the argument that is their number; else None.
    ``mask``: of a column of events, in a ring, the position of the argument that numbers are masked by; else None.
    """

    position: int
    dtype: np.dtype
    columns: int | None = None
    mask: int | None = None


class WordsRef(NamedTuple):
    """A words argument: its position among the arguments, and its fields."""

    position: int
    layout: Layout


class ObjectRef(NamedTuple):
    """An argument with methods.

    Attributes:
        position: its position among the arguments.
        kind: ``"accumulator"``, ``"sets"``, ``"edges"``, ``"answers"`` or ``"graph"``, as in ``Argument``.
        dtype: dtype of the accumulator, or of the values of an edge set; else None.
        op: reduction of the accumulator; else None.
    """

    position: int
    kind: str
    dtype: np.dtype | None
    op: str | None

    @property
    def use(self) -> str:
        """How a function may use the argument, as a text for error messages."""
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
    """Return ``node`` with local variables replaced by the expressions in ``by``; keys are numbers of variables."""
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
        locals: types of its local variables, by their number.
        result: type of its value, None if it returns nothing.
        names: the globals, closure variables and default values that it uses.
        writes: positions of the arguments that it writes to.
        elsewhere: positions of the arguments, graphs included, that it uses at indices other than its own vertex.
        indexed: by leading parameter (``u``, ``v``), positions of the arguments that it indexes by this parameter.
        effects: by position of an argument, the kind of effects on it ("sum", "min", "max", "or", "argmin" or "unite").
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
    """Return the constant node of a Python or NumPy number; None for other values, and integers beyond 64 bits."""
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
