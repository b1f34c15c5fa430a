"""Edge lookups, methods and effects of an edge function: what it does with arguments that are not arrays or numbers."""

from __future__ import annotations

import ast

import numpy as np

from suricate.base import effects
from suricate.edgefn import operations
from suricate.edgefn.expressions import Expressions, construct
from suricate.edgefn.tree import Add, ArrayRef, Effect, Node, ObjectRef, Statement, WordsRef
from suricate.edgefn.types import BOOL, is_float, type_of

_ATOMIC_DTYPES = ("int32", "uint32", "int64", "uint64", "float32", "float64")
_OR_DTYPES = ("bool", "int32", "uint32", "int64", "uint64")


class Objects(Expressions):
    """Translates methods of arguments, ``(u, x) in graph``, and calls that are statements, like ``su.atomic.add``.

    Attributes:
        effects: by position of an argument, the kind of effects on it, as in ``Tree``.
        role: ``"edge"``, ``"vote"``, ``"vertex"`` or ``"effect"``: what the function may write (``suricate.edgefn``).
    """

    effects: dict[int, str]  # position of an argument -> kind of its effects

    def attribute(self, node: ast.Attribute) -> Node:
        """Return the node of ``scalar.value``, or of the number that an attribute of a module stands for."""
        bound = self.argument(node.value)
        if isinstance(bound, ObjectRef):
            if bound.kind == "accumulator" and node.attr == "value":
                assert bound.dtype is not None
                return Node("total", type_of(bound.dtype), value=bound)
            self.misused(node, bound)
        return super().attribute(node)

    def misused(self, node: ast.AST, bound: ObjectRef) -> None:
        """Raise ``EdgeFunctionError``: the expression ``node`` uses the argument ``bound`` in an unsupported way."""
        self.fail(node, f"{ast.unparse(node)}: the argument is {bound.use}")

    # questions

    def membership(self, node: ast.Compare) -> Node:
        """Return the node of ``(u, x) in graph`` or ``(u, x) in batch``."""
        bound = self.argument(node.comparators[0])
        if not isinstance(bound, ObjectRef) or bound.kind not in ("graph", "edges", "answers"):
            self.fail(
                node, f"{construct(node.ops[0])} cannot be used in an edge function, but for edges of an argument"
            )
        match node.left, node.comparators:
            case ast.Tuple(elts=[u, x]), [_]:
                found = Node("contains", BOOL, (self.row(u, bound), self.vertex(x)), bound)
                return operations.negation(found) if isinstance(node.ops[0], ast.NotIn) else found
        self.fail(node, f"ask for one edge: (u, x) in {ast.unparse(node.comparators[0])}")

    def row(self, node: ast.expr, bound: ObjectRef) -> Node:
        """Return the node of the vertex id ``node``, whose edges or degree are looked up in the argument ``bound``.

        Unless ``bound`` is an edge set, the id is recorded: it tells whether the function reads rows of other vertices.
        """
        value = self.vertex(node)
        if bound.kind != "edges":
            self.rows.setdefault(bound.position, set()).add(value)
        return value

    def vertex(self, node: ast.expr) -> Node:
        """Return the node of a vertex id; raises ``EdgeFunctionError`` if it is no integer."""
        value = self.expression(node)
        if value.type == BOOL or is_float(value.type):
            self.fail(node, f"a vertex id must be an integer, not {value.type}")
        return value

    def method(self, node: ast.Call, bound: ObjectRef) -> Node:
        """Return the node of a call of a method of ``bound``: ``graph.degree(u)`` or ``batch.get(u, x, default)``."""
        assert isinstance(node.func, ast.Attribute)
        match bound.kind, node.func.attr, node.args:
            case "graph" | "answers", "degree", [u]:
                return Node("degree", "int64", (self.row(u, bound),), bound)
            case "edges", "get", [u, x, default]:
                if bound.dtype is None:
                    self.fail(node, f"{ast.unparse(node.func.value)} has no values: make the edge set with values")
                value = self.expression(default)
                self.fits(node, "the edge set", bound.dtype, value)
                edge = self.vertex(u), self.vertex(x)
                return Node("get", type_of(bound.dtype), (*edge, operations.number(value)), bound)
        self.misused(node, bound)
        raise AssertionError

    # statements

    def effect(self, node: ast.Expr) -> tuple[Statement, ...]:
        """Return the statement of a call without a value: ``scalar.add(x)``, ``su.unite()`` or ``su.atomic.*()``."""
        call = node.value
        if not isinstance(call, ast.Call) or call.keywords:
            self.fail(node, f"{construct(node)} cannot be used in an edge function")
        if isinstance(call.func, ast.Attribute):
            bound = self.argument(call.func.value)
            if isinstance(bound, ObjectRef) and bound.kind == "accumulator":
                return self.add(call, bound)
        function = self.resolve(call.func)
        if not effects.is_effect(function):
            self.fail(node, f"{construct(node)} cannot be used in an edge function")
        if self.role == "edge":
            self.fail(
                node,
                f"{ast.unparse(call.func)} cannot be called in a function whose values are reduced: call it in then or "
                "commit, or in a function of edge_map, intersect or vertex_map",
            )
        if len(call.args) != 3:
            self.fail(node, f"{ast.unparse(call.func)} takes 3 arguments, not {len(call.args)}")
        return self.unite(call) if function is effects.unite else self.atomic(call, effects.ATOMICS[function])

    def add(self, call: ast.Call, bound: ObjectRef) -> tuple[Statement, ...]:
        """Return the translation of the statement ``scalar.add(x)``; ``call`` is its syntax, ``bound`` the scalar."""
        assert isinstance(call.func, ast.Attribute)
        assert bound.dtype is not None
        if call.func.attr != "add" or len(call.args) != 1:
            self.misused(call, bound)
        value = operations.number(self.expression(call.args[0]))
        self.fits(call, ast.unparse(call.func.value), bound.dtype, value)
        return (Add(bound, value),)

    def atomic(self, call: ast.Call, kind: str) -> tuple[Statement, ...]:
        """Return the statement of ``su.atomic.add(array, index, value)``, ``min``, ``max`` or ``or_``."""
        array = self.argument(call.args[0])
        if isinstance(array, WordsRef):
            return self.atomic_word(call, array, kind)
        if not isinstance(array, ArrayRef):
            self.fail(call, f"{ast.unparse(call.func)} changes an array that is a parameter")
        if array.columns is not None:
            self.fail(call, f"{ast.unparse(call.func)} takes an array of one dimension, not one with columns")
        allowed = _OR_DTYPES if kind == "or" else _ATOMIC_DTYPES
        if array.dtype.name not in allowed:
            self.fail(call, f"{ast.unparse(call.func)} takes arrays of {', '.join(allowed)}, not {array.dtype}")
        self.kind(call, array.position, kind)
        index = self.element(call, call.args[1])
        value = self.expression(call.args[2])
        self.fits(call, "the array", array.dtype, value)
        value = operations.truth(value) if array.dtype == np.bool_ else operations.number(value)
        return (Effect(kind, array, (index, value)),)

    def atomic_word(self, call: ast.Call, words: WordsRef, kind: str) -> tuple[Statement, ...]:
        """Return the statement of ``su.atomic.min(words, index, (a, b, ...))``, with a value for each field."""
        name = ast.unparse(call.func)
        if kind != "min":
            self.fail(call, f"{name} takes an array: of words, su.atomic.min keeps the smallest (keys, payload)")
        fields = ", ".join(field.name for field in words.layout.fields)
        given = call.args[2]
        if not isinstance(given, ast.Tuple) or len(given.elts) != len(words.layout.fields):
            self.fail(call, f"{name} of words takes a tuple with one value per field, ({fields}): {ast.unparse(given)}")
        self.kind(call, words.position, "argmin")
        index = self.element(call, call.args[1])
        word = self.encoded(given, words.layout, [self.expression(value) for value in given.elts])
        return (Effect("argmin", words, (index, word)),)

    def unite(self, call: ast.Call) -> tuple[Statement, ...]:
        """Return the translated statement ``su.unite(sets, u, v)``."""
        sets = self.argument(call.args[0])
        if not isinstance(sets, ObjectRef) or sets.kind != "sets":
            self.fail(call, f"{ast.unparse(call.func)} takes a UnionFind that is a parameter, u and v")
        self.kind(call, sets.position, "unite")
        return (Effect("unite", sets, (self.vertex(call.args[1]), self.vertex(call.args[2]))),)

    def kind(self, call: ast.Call, position: int, kind: str) -> None:
        """Record that the function has effects of ``kind`` on the argument at ``position``."""
        if self.effects.setdefault(position, kind) != kind:
            self.fail(call, "one function has one kind of effect per array: use another array, or another function")
