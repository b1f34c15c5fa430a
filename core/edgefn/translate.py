"""The statements of an edge function: from its syntax tree to its typed tree (rules: ``suricate.edgefn``)."""

from __future__ import annotations

import ast

import numpy as np

from suricate.edgefn import operations
from suricate.edgefn.expressions import FieldPlace, Flow, construct
from suricate.edgefn.layout import Layout
from suricate.edgefn.objects import Objects
from suricate.edgefn.operations import Untranslatable
from suricate.edgefn.source import Source
from suricate.edgefn.tree import ArrayRef, Assign, Binding, If, Node, Return, Statement, Store, Tree
from suricate.edgefn.types import BOOL, PAIR, is_float, storage


def translate(source: Source, bindings: dict[str, Binding], role: str, layout: Layout | None) -> Tree:
    """Return the typed tree of the function ``source``.

    Args:
        source: the function.
        bindings: by name of a parameter, the expression or argument that it stands for.
        role: ``"edge"``, ``"vote"``, ``"vertex"`` or ``"effect"``: what the function may write (``suricate.edgefn``).
        layout: the fields of the word that it returns, None if it returns a number or nothing.
    """
    translator = _Translator(source, bindings, role, layout)
    while True:  # the type of a local variable is the common type of all that is assigned to it
        before = dict(translator.types)
        statements = translator.function()
        if translator.types == before:
            unused = BOOL  # of what is assigned only where constants say that it never is
            types = tuple(translator.types.get(name, unused) for name in translator.locals)
            writes = frozenset((*translator.written, *translator.effects))
            result = translator.types.get(_RESULT)
            own = {OWN_VERTEX, OWN_POSITION}
            used = [*translator.indices.items(), *translator.rows.items()]
            elsewhere = frozenset(position for position, at in used if not own.issuperset(at))
            names, effects = frozenset(translator.names), dict(translator.effects)
            return Tree(statements, types, result, names, writes, elsewhere, translator.indexed(), effects)


OWN_VERTEX = Node("parameter", "int64", value="v")  # where a function may write: its vertex,
OWN_POSITION = Node("parameter", "int64", value="i")  # or the position of its vertex among those that were given
_RESULT, _WEIGHT = "return", "return weight"  # no variable can have these names


class _Translator(Objects):
    """Translates the body of a Python function into typed statements.

    ``role`` says what the function may do: ``"edge"``: return a value; ``"vote"``: return a label and a weight;
    ``"vertex"``: also write at its own vertex; ``"effect"`` and ``"vertex"``: change arguments by ``su.atomic.*`` and
    ``su.unite``. The other parameters are those of :func:`translate`.
    """

    def __init__(self, source: Source, bindings: dict[str, Binding], role: str, layout: Layout | None) -> None:
        super().__init__(source, bindings, layout)
        self.role = role
        self.locals = _assigned_names(source.node)
        self.variables = tuple(self.locals)  # those of the function; words are held in further ones
        self.written: dict[int, ast.AST] = {}  # position of an argument -> where it is written
        self.effects: dict[int, str] = {}

    def indexed(self) -> dict[str, tuple[int, ...]]:
        """Return, by leading parameter, the positions of the arguments that the function indexes by this parameter."""
        found: dict[str, list[int]] = {}
        for position, indices in self.indices.items():
            for name in {node.value for node in indices if node.op == "parameter"}:
                found.setdefault(name, []).append(position)
        return {name: tuple(sorted(positions)) for name, positions in found.items()}

    def function(self) -> tuple[Statement, ...]:
        """Return the statements with the types known so far; it may widen types, and is repeated until they stay."""
        self.flow = Flow()
        node = self.scope.source.node
        copies = []
        for name in self.variables:
            value = self.scope.bindings.get(name)
            if value is not None and not isinstance(value, Node):
                kind = "an array" if isinstance(value, ArrayRef) else "no number"
                self.fail(node, f"{name} is {kind} and cannot be assigned to")
            if value is not None:  # a parameter that the function changes: a local variable with its value
                copies.append(self.assign(name, value))
        statements = self.block(self.scope.source.body)
        if not self.flow.returned:
            statements += self.fall_through(node)
        self.check_reads()
        if self.role == "vertex" and is_float(self.types[_RESULT]):
            self.fail(
                node,
                f"the function returns {storage(self.types[_RESULT])}: return whether the vertex is chosen, True or "
                "False (or an integer)",
            )
        return (*copies, *statements)

    def fall_through(self, node: ast.AST) -> tuple[Statement, ...]:
        """Return what a path without a ``return`` returns: ``return False`` in a vertex function, else ``return``."""
        if self.role == "vertex":
            return (self.result(Node("const", BOOL, value=False)),)
        has_result = _RESULT in self.types
        if self.role == "effect" and not has_result:
            return (Return(None),)
        self.fail(
            node, f"the function returns no value{' on some paths' if has_result else ''}: end it with 'return ...'"
        )

    def result(self, value: Node) -> Return:
        return Return(self.join(_RESULT, value))

    def returned(self, node: ast.expr) -> Return:
        value = self.expression(node)
        if self.role == "vote":
            return self.voted(node, value)
        if self.layout is not None and value.type != self.layout.type:
            value = self.encoded(node, self.layout, [value])
        return self.result(value)

    def voted(self, node: ast.expr, value: Node) -> Return:
        """Return the statement that returns the pair ``value``: the label as int64, the weight as int64 or float64."""
        if value.op != "pair":
            self.fail(node, "the function returns one number: for reduce='vote' return (label, weight)")
        weight = self.join(_WEIGHT, value.args[1])
        kind = "float64" if is_float(self.types[_WEIGHT]) else "int64"
        self.types[_RESULT] = PAIR + kind
        label, weight = operations.convert(value.args[0], "int64"), operations.convert(weight, kind)
        return Return(Node("pair", PAIR + kind, (label, weight)))

    def block(self, body: list[ast.stmt]) -> tuple[Statement, ...]:
        statements: list[Statement] = []
        for node in body:
            if self.flow.returned:
                break  # the rest is never reached
            pending, self.pending = self.pending, []
            try:
                found = self.statement(node)
            except Untranslatable as error:
                self.fail(node, str(error))
            statements += (*self.pending, *found)
            self.pending = pending
        return tuple(statements)

    def statement(self, node: ast.stmt) -> tuple[Statement, ...]:
        match node:
            case ast.Return(value=None) if self.role in ("edge", "vote"):
                self.fail(node, "return needs a value")
            case ast.Return(value=None):
                self.flow.returned = True
                return self.fall_through(node)
            case ast.Return(value=ast.IfExp(test=test, body=body, orelse=orelse)) if self.role == "vote":
                yes, no = (ast.copy_location(ast.Return(side), side) for side in (body, orelse))
                return self.branch(ast.copy_location(ast.If(test, [yes], [no]), node))
            case ast.Return(value=ast.expr() as value):
                self.flow.returned = True
                return (self.returned(value),)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return (self.assign(name, self.expression(value)),)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                return (self.assign(name, self.expression(value)),)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                held = self.name(ast.copy_location(ast.Name(name, ast.Load()), target))
                return (self.assign(name, self.arithmetic(node, op, held, self.expression(value))),)
            case ast.Assign(targets=[ast.Subscript() as target], value=value) if self.role == "vertex":
                return self.store(target, self.expression(value))
            case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value) if self.role == "vertex":
                held = self.load(target)
                return self.store(target, self.arithmetic(node, op, held, self.expression(value)))
            case ast.Assign(targets=[ast.Subscript()]) | ast.AugAssign(target=ast.Subscript()) if self.role == "effect":
                self.fail(
                    node,
                    "an edge function cannot write to an array, many edges run at the same time: use su.atomic.add, "
                    "min, max or or_",
                )
            case ast.Assign(targets=[ast.Subscript(), *_]) | ast.AugAssign(target=ast.Subscript()):
                self.fail(
                    node,
                    "an edge function cannot write to an array, many edges run at the same time: return the value and "
                    "let the operator combine it (out=..., reduce=...)",
                )
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign():
                self.fail(node, "only a single name can be assigned to")
            case ast.If():
                return self.branch(node)
            case ast.Pass():
                return ()
            case ast.Expr():
                return self.effect(node)
        self.fail(node, f"{construct(node)} cannot be used in an edge function")

    def branch(self, node: ast.If) -> tuple[Statement, ...]:
        test = operations.truth(self.expression(node.test))
        if test.is_const:  # decided by constants: the other side may not even be valid
            return self.block(node.body if test.value else node.orelse)
        before = self.flow.assigned
        self.flow = Flow(set(before))
        body, body_flow = self.block(node.body), self.flow
        self.flow = Flow(set(before))
        orelse, orelse_flow = self.block(node.orelse), self.flow
        open_ends = [flow.assigned for flow in (body_flow, orelse_flow) if not flow.returned]
        self.flow = Flow(set.intersection(*open_ends) if open_ends else before, returned=not open_ends)
        return (If(test, body, orelse),)

    def assign(self, name: str, value: Node) -> Assign:
        self.flow.assigned.add(name)
        self.forget("local", self.locals.index(name))
        return Assign(self.locals.index(name), self.join(name, value))

    def join(self, name: str, value: Node) -> Node:
        """Widen the type of variable ``name`` to the common type with ``value``; return ``value`` converted to it."""
        kind = operations.common(self.types.get(name, value.type), value.type)
        self.types[name] = kind
        return operations.convert(value, kind)

    # writes at the own vertex

    def store(self, target: ast.Subscript, value: Node) -> tuple[Statement, ...]:
        """Return the statements of ``target = value``, an element of an array or a field of words at the own vertex."""
        place = self.place(target)
        if place.at not in (OWN_VERTEX, OWN_POSITION):
            self.fail(target, f"only the own vertex can be written: {ast.unparse(target.value)}[v] = ...")
        if isinstance(place, FieldPlace):
            return self.store_field(target, place, value)
        array = place.array
        self.written.setdefault(array.position, target)
        self.fits(target, "the array", array.dtype, value)
        self.forget("load", array)
        value = operations.truth(value) if array.dtype == np.bool_ else value
        return (Store(array, place.at, value),)

    def store_field(self, target: ast.Subscript, place: FieldPlace, value: Node) -> tuple[Statement, ...]:
        words, field = place.words, place.field
        self.written.setdefault(words.position, target)
        self.fits(target, f"field {field.name}", field.dtype, value)
        word = self.word(words, place.at)
        self.forget("local", word.value)
        changed = Node("put", word.type, (word, operations.number(value)), field)
        return Assign(word.value, changed), Store(words, place.at, word)

    def check_reads(self) -> None:
        """Raise ``EdgeFunctionError`` if the function reads elements that other calls may be changing at this time."""
        for position in self.effects.keys() & self.indices.keys():
            node = next(iter(self.indices[position].values()))
            self.fail(
                node,
                "an array with effects is neither read nor written in the same function: others change it meanwhile",
            )
        for position in self.written:
            indices = self.indices[position]
            own = OWN_VERTEX if OWN_VERTEX in indices else OWN_POSITION
            for index, node in indices.items():
                if index != own:
                    name = own.value
                    self.fail(
                        node, f"an array that the function writes can only be read at the own vertex, array[{name}]"
                    )


def _assigned_names(node: ast.AST) -> list[str]:
    stored = (part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))
    return list(dict.fromkeys(stored))
