"""The statements of an edge function: from its syntax tree to its typed tree (rules: ``suricate.edgefn``)."""

from __future__ import annotations

import ast

from suricate.edgefn import operations
from suricate.edgefn.expressions import OWN_VERTEX, Expressions, Flow, construct
from suricate.edgefn.operations import Untranslatable
from suricate.edgefn.source import Source
from suricate.edgefn.tree import ArrayRef, Assign, If, Node, Return, Statement, Store, Tree
from suricate.edgefn.types import BOOL, is_float, storage, type_of


def translate(source: Source, bindings: dict[str, Node | ArrayRef], role: str) -> Tree:
    """Return the typed tree of ``source``, whose parameters stand for ``bindings``."""
    translator = _Translator(source, bindings, role)
    while True:  # the type of a local variable is the common type of all that is assigned to it
        before = dict(translator.types)
        statements = translator.function()
        if translator.types == before:
            types = tuple(translator.types[name] for name in translator.locals)
            writes = frozenset(translator.written)
            return Tree(statements, types, translator.types.get(_RESULT), frozenset(translator.names), writes)


_RESULT = "return"  # no variable can have this name


class _Translator(Expressions):
    """Walks the statements of a function of the given role."""

    def __init__(self, source: Source, bindings: dict[str, Node | ArrayRef], role: str) -> None:
        super().__init__(source, bindings)
        self.role = role
        self.locals = _assigned_names(source.node)
        self.written: dict[int, ast.AST] = {}  # position of an argument -> where it is written

    def function(self) -> tuple[Statement, ...]:
        """Translate the whole function with the types known so far."""
        self.flow = Flow()
        node = self.scope.source.node
        copies = []
        for name in self.locals:
            value = self.scope.bindings.get(name)
            if isinstance(value, ArrayRef):
                self.fail(node, f"{name} is an array and cannot be assigned to")
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
        """Return what a function does that ends without 'return'."""
        if self.role == "vertex":
            return (self.result(Node("const", BOOL, value=False)),)
        has_result = _RESULT in self.types
        self.fail(
            node, f"the function returns no value{' on some paths' if has_result else ''}: end it with 'return ...'"
        )

    def result(self, value: Node) -> Return:
        return Return(self.join(_RESULT, value))

    def block(self, body: list[ast.stmt]) -> tuple[Statement, ...]:
        statements: list[Statement] = []
        for node in body:
            if self.flow.returned:
                break  # the rest is never reached
            try:
                statements += self.statement(node)
            except Untranslatable as error:
                self.fail(node, str(error))
        return tuple(statements)

    def statement(self, node: ast.stmt) -> tuple[Statement, ...]:
        match node:
            case ast.Return(value=None) if self.role == "edge":
                self.fail(node, "return needs a value")
            case ast.Return(value=None):
                self.flow.returned = True
                return self.fall_through(node)
            case ast.Return(value=ast.expr() as value):
                self.flow.returned = True
                return (self.result(self.expression(value)),)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return (self.assign(name, self.expression(value)),)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                return (self.assign(name, self.expression(value)),)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                held = self.name(ast.copy_location(ast.Name(name, ast.Load()), target))
                return (self.assign(name, self.arithmetic(node, op, held, self.expression(value))),)
            case ast.Assign(targets=[ast.Subscript() as target], value=value) if self.role == "vertex":
                return (self.store(target, self.expression(value)),)
            case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value) if self.role == "vertex":
                held = self.load(target)
                return (self.store(target, self.arithmetic(node, op, held, self.expression(value))),)
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
        return Assign(self.locals.index(name), self.join(name, value))

    def join(self, name: str, value: Node) -> Node:
        """Widen the type of a variable (or the result) to take ``value``; return ``value`` in that type."""
        kind = operations.common(self.types.get(name, value.type), value.type)
        self.types[name] = kind
        return operations.convert(value, kind)

    # writes at the own vertex

    def store(self, target: ast.Subscript, value: Node) -> Store:
        """Return the statement that writes ``value`` to ``target``."""
        place = self.load(target)
        array, index = place.value, place.args[0]
        if index != OWN_VERTEX:
            self.fail(target, f"only the own vertex can be written: {ast.unparse(target.value)}[v] = ...")
        self.written.setdefault(array.position, target)
        kind = type_of(array.dtype)
        if is_float(value.type) and not is_float(kind):
            self.fail(
                target,
                f"the array has dtype {array.dtype}, the value is {storage(value.type)}: use a float array, or write "
                "int(...)",
            )
        return Store(array, index, operations.truth(value) if kind == BOOL else value)

    def check_reads(self) -> None:
        """Raise if an array that is written is also read at another vertex, which may be written at the same time."""
        for position, node in self.read_elsewhere.items():
            if position in self.written:
                self.fail(node, "an array that the function writes can only be read at the own vertex, array[v]")


def _assigned_names(node: ast.AST) -> tuple[str, ...]:
    stored = (part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))
    return tuple(dict.fromkeys(stored))
