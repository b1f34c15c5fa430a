"""The expressions of an edge function: from the syntax tree to typed nodes (rules: ``suricate.edgefn``)."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any, NamedTuple, NoReturn

import numpy as np

from suricate.base.effects import Atomic, is_effect
from suricate.edgefn import functions, operations
from suricate.edgefn.layout import Field, Layout
from suricate.edgefn.operations import Untranslatable
from suricate.edgefn.source import MISSING, Name, Source, find_source, look_up
from suricate.edgefn.tree import ArrayRef, Assign, Binding, Node, ObjectRef, Reference, WordsRef, constant
from suricate.edgefn.types import BOOL, PAIR, is_float, is_word, storage, type_of

MAX_DEPTH = 16  # of functions called by functions

_CONSTRUCTS: dict[type[ast.AST], str] = {
    ast.For: "a for loop", ast.While: "a while loop", ast.ListComp: "a list comprehension",
    ast.SetComp: "a set comprehension", ast.DictComp: "a dict comprehension", ast.GeneratorExp: "a generator",
    ast.List: "a list", ast.Tuple: "a tuple", ast.Set: "a set", ast.Dict: "a dict", ast.JoinedStr: "an f-string",
    ast.Lambda: "a lambda", ast.FunctionDef: "a nested function", ast.ClassDef: "a class", ast.Yield: "yield",
    ast.YieldFrom: "yield", ast.Await: "await", ast.NamedExpr: "':='", ast.Starred: "'*'", ast.Try: "try",
    ast.With: "with", ast.Raise: "raise", ast.Assert: "assert", ast.Import: "import", ast.ImportFrom: "import",
    ast.Global: "global", ast.Nonlocal: "nonlocal", ast.Delete: "del", ast.Match: "match", ast.Slice: "a slice",
    ast.Is: "'is'", ast.IsNot: "'is not'", ast.In: "'in'", ast.NotIn: "'not in'", ast.MatMult: "'@'",
    ast.Expr: "an expression whose value is not used, other than an effect such as su.atomic.add,",
    ast.Break: "break", ast.Continue: "continue",
}  # fmt: skip


def construct(node: ast.AST) -> str:
    """Return the name by which error messages call the kind of syntax ``node``, such as ``"a for loop"``."""
    return _CONSTRUCTS.get(type(node), type(node).__name__)


@dataclass
class Scope:
    """A function that is being translated, and what its parameters stand for.

    ``owner``: the function if the edge function calls it, ``depth`` calls deep; None for the edge function itself.
    """

    source: Source
    owner: FunctionType | None
    bindings: dict[str, Binding]
    depth: int = 0


@dataclass
class Flow:
    """What is known at a point of a function.

    Attributes:
        assigned: local variables that have a value on every path to this point.
        returned: whether every path has returned before.
    """

    assigned: set[str] = field(default_factory=set)
    returned: bool = False


OWN_COLUMN = Node("parameter", "int64", value="j")  #: the only column that a function reads and writes


class ArrayPlace(NamedTuple):
    """One element of an array argument: the array, and the index ``at``."""

    array: ArrayRef
    at: Node


class FieldPlace(NamedTuple):
    """One field of an element of a words argument: the argument, the field, and the index ``at`` of the element."""

    words: WordsRef
    field: Field
    at: Node


class Expressions:
    """Translates the expressions of a function from Python's syntax tree to typed nodes.

    It collects on the way the function's local variables, the outside names that it uses, and how it indexes arguments.

    Args:
        source: the function.
        bindings: by name of a parameter, the expression or argument that it stands for.
        layout: the fields of the word that the function returns, None if it returns a number or nothing.
    """

    role: str  # what the function may write, and whether it votes

    def __init__(self, source: Source, bindings: dict[str, Binding], layout: Layout | None) -> None:
        self.layout = layout  # of the tuple that is returned
        self.scope = Scope(source, None, bindings)
        self.locals: list[str] = []
        self.types: dict[str, str] = {}
        self.names: set[Name] = set()
        self.flow = Flow()
        self.indices: dict[int, dict[Node, ast.AST]] = {}  # where each argument is indexed, by position and index
        self.rows: dict[int, set[Node]] = {}  # the vertices whose rows graphs are asked for, by position
        self.held: dict[tuple[int, Node], str] = {}  # words by argument and index -> the local variable that holds it
        self.pending: list[Assign] = []  # what is loaded before the current statement

    def fail(self, node: ast.AST, message: str) -> NoReturn:
        """Raise ``EdgeFunctionError`` with ``message``, for the source line of ``node``."""
        self.scope.source.fail(node, message)

    def expression(self, node: ast.expr) -> Node:
        """Return the typed node of the expression ``node``; errors of operations name its source line."""
        try:
            return self._expression(node)
        except Untranslatable as error:
            self.fail(node, str(error))

    def _expression(self, node: ast.expr) -> Node:
        match node:
            case ast.Constant(value=value):
                return operations.literal(value)
            case ast.Name():
                return self.name(node)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Subscript():
                return self.load(node)
            case ast.BinOp(left=left, op=op, right=right):
                return self.arithmetic(node, op, self.expression(left), self.expression(right))
            case ast.UnaryOp(op=op, operand=operand):
                return operations.unary(op, self.expression(operand))
            case ast.Compare(ops=[ast.In() | ast.NotIn()]):
                return self.membership(node)
            case ast.Compare():
                return self.comparison(node)
            case ast.BoolOp():
                return self.logic(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.conditional(test, body, orelse)
            case ast.Call():
                return self.call(node)
            case ast.Tuple(elts=values) if self.layout is not None:
                return self.encoded(node, self.layout, [self.expression(value) for value in values])
            case ast.Tuple(elts=[label, weight]) if self.role == "vote":
                return self.vote(node, self.expression(label), self.expression(weight))
        self.fail(node, f"{construct(node)} cannot be used in an edge function")

    def vote(self, node: ast.expr, label: Node, weight: Node) -> Node:
        """Return the node of the pair of ``label`` and ``weight``; ``EdgeFunctionError`` unless the label is whole."""
        if label.type == BOOL or is_float(label.type) or is_word(label.type):
            self.fail(node, f"a label is an integer, not {label.type}")
        return Node("pair", PAIR, (label, operations.number(weight)))

    def encoded(self, node: ast.expr, layout: Layout, values: list[Node]) -> Node:
        """Return the node of a word with these ``values``; ``EdgeFunctionError`` if they do not fit its fields."""
        names = ", ".join(field.name for field in layout.fields)
        if len(values) != len(layout.fields):
            self.fail(node, f"the function returns {len(values)} values: return one per field, ({names})")
        for one, value in zip(layout.fields, values, strict=True):
            self.fits(node, f"field {one.name}", one.dtype, value)
        return Node("encode", layout.type, tuple(map(operations.number, values)), layout)

    def fits(self, node: ast.AST, what: str, dtype: np.dtype, value: Node) -> None:
        """Raise ``EdgeFunctionError`` at ``node`` if ``value`` is a float and ``dtype``, which stores it, is not."""
        if is_float(value.type) and dtype.kind != "f":
            self.fail(
                node, f"{what} has dtype {dtype}, the value is {storage(value.type)}: use floats, or write int(...)"
            )

    def arithmetic(self, node: ast.AST, op: ast.operator, a: Node, b: Node) -> Node:
        """Return ``a op b`` as a node; raise ``EdgeFunctionError`` at ``node`` if the operator is not supported."""
        if type(op) not in operations.ARITHMETIC:
            self.fail(node, f"{construct(op)} cannot be used in an edge function")
        return operations.arithmetic(op, a, b)

    def comparison(self, node: ast.Compare) -> Node:
        """Return the node of a comparison such as ``a < b``, or of a chain of comparisons such as ``a < b <= c``."""
        operands = [self.expression(node.left), self.expression(node.comparators[0])]
        operands += map(self.lazily, node.comparators[1:])
        parts = []
        for op, a, b in zip(node.ops, operands, operands[1:], strict=False):
            if type(op) not in operations.COMPARISONS:
                self.fail(node, f"{construct(op)} cannot be used in an edge function")
            parts.append(operations.comparison(op, a, b))
        return operations.chain("both", parts)

    def logic(self, node: ast.BoolOp) -> Node:
        """Return the node of ``a and b ...`` or ``a or b ...``."""
        is_and = isinstance(node.op, ast.And)
        values: list[Node] = []
        for operand in node.values:
            value = self.lazily(operand) if values else self.expression(operand)
            values.append(value)
            if value.is_const and bool(value.value) != is_and:
                break  # decided: the operands after it are never looked at
        return operations.logic(is_and, values)

    def conditional(self, test: ast.expr, body: ast.expr, orelse: ast.expr) -> Node:
        """Return the node of ``body if test else orelse``."""
        decision = operations.truth(self.expression(test))
        if decision.is_const:
            return self.expression(body if decision.value else orelse)
        return operations.choose(decision, self.lazily(body), self.lazily(orelse))

    def lazily(self, node: ast.expr) -> Node:
        """Return the translation of an operand that is not always evaluated; its words are loaded when it is."""
        pending, assigned = self.pending, set(self.flow.assigned)
        self.pending = []
        value = self.expression(node)
        if self.pending and not value.is_const:
            value = Node("after", value.type, (value,), tuple(self.pending))
        self.pending, self.flow.assigned = pending, assigned
        return value

    def load(self, node: ast.Subscript) -> Node:
        """Return the node that reads an element of an array, or a field of an element of words."""
        place = self.place(node)
        if isinstance(place, ArrayPlace):
            return Node("load", type_of(place.array.dtype), (place.at,), place.array)
        return Node("field", type_of(place.field.dtype), (self.word(place.words, place.at),), place.field)

    def place(self, node: ast.Subscript) -> ArrayPlace | FieldPlace:
        """Return the array or field that the subscript ``node`` refers to, with its index."""
        owner = node.value
        if isinstance(owner, ast.Attribute) and isinstance(words := self.argument(owner.value), WordsRef):
            field = words.layout.field(owner.attr)
            if field is None:
                names = ", ".join(one.name for one in words.layout.fields)
                self.fail(node, f"{ast.unparse(owner.value)} has no field {owner.attr}: it has {names}")
            return FieldPlace(words, field, self.index(node, words.position, node.slice))
        array = self.argument(owner)
        if isinstance(array, WordsRef):
            self.fail(node, f"{ast.unparse(owner)} has fields: name one, {self.example(ast.unparse(owner), array)}")
        if not isinstance(array, ArrayRef):
            self.fail(node, "only an array that is a parameter can be indexed")
        return ArrayPlace(array, self.index(node, array.position, self.row_of(node, array)))

    def row_of(self, node: ast.Subscript, array: ArrayRef) -> ast.expr:
        """Return the syntax of the index of ``node``, an element of ``array``; of one with columns that of the row."""
        if array.columns is None:
            return node.slice
        if isinstance(node.slice, ast.Tuple) and len(node.slice.elts) == 2:
            row, column = node.slice.elts
            if self.expression(column) == OWN_COLUMN:
                return row
        self.fail(node, f"an array with columns is indexed by a vertex and the column: {ast.unparse(node.value)}[v, j]")

    def index(self, node: ast.expr, position: int, given: ast.expr) -> Node:
        """Return the translation of ``given``, recorded as an index of the argument at ``position``."""
        index = self.element(node, given)
        self.indices.setdefault(position, {})[index] = node
        return index

    def element(self, node: ast.expr, given: ast.expr) -> Node:
        """Return the translation of ``given``, an index of an array."""
        if isinstance(given, ast.Tuple | ast.Slice):
            self.fail(node, "an array takes one integer as its index")
        index = self.expression(given)
        if index.type == BOOL or is_float(index.type):
            self.fail(node, f"an index must be an integer, not {index.type}")
        if index.is_const and index.value < 0:
            self.fail(node, "a negative index does not count from the end in an edge function")
        return index

    def word(self, words: WordsRef, index: Node) -> Node:
        """Return the local variable that holds ``words[index]``; the first use adds a load before the statement."""
        name = self.held.setdefault((words.position, index), f"word {len(self.held)}")
        if name not in self.types:
            self.locals.append(name)
            self.types[name] = words.layout.type
        local = Node("local", words.layout.type, value=self.locals.index(name))
        if name not in self.flow.assigned:
            self.flow.assigned.add(name)
            self.pending.append(Assign(local.value, Node("word", local.type, (index,), words)))
        return local

    def forget(self, op: str, value: Any) -> None:
        """Make later uses load a word again if its index depends on a variable or an array that now changes.

        ``op`` and ``value`` are those of the changing node: ``"local"`` with the number of a variable, or ``"load"``
        with an array.
        """
        for (_, index), name in self.held.items():
            if any(node.op == op and node.value == value for node in index.nodes()):
                self.flow.assigned.discard(name)

    # arguments with methods

    def attribute(self, node: ast.Attribute) -> Node:
        """Return the node of the number that an attribute of a module stands for, such as ``math.pi``."""
        return self.outside(node)

    def membership(self, node: ast.Compare) -> Node:
        """Return the node of ``(u, x) in graph`` or ``(u, x) in batch``; subclasses define it."""
        raise NotImplementedError

    def method(self, node: ast.Call, bound: ObjectRef) -> Node:
        """Return the node of a call of a method of the argument ``bound``; subclasses define it."""
        raise NotImplementedError

    # names

    def name(self, node: ast.Name) -> Node:
        """Return the node of a variable, parameter or constant; raises ``EdgeFunctionError`` if it has no value."""
        name = node.id
        if self.scope.depth == 0 and name in self.locals:
            if name not in self.flow.assigned:
                self.fail(node, f"{name} may have no value here")
            return Node("local", self.types[name], value=self.locals.index(name))
        bound = self.scope.bindings.get(name)
        if isinstance(bound, ArrayRef):
            self.fail(node, f"{name} is an array: only an element can be used here, {name}[v] for instance")
        if isinstance(bound, WordsRef):
            self.fail(node, f"{name} has fields: only one of an element can be used, {self.example(name, bound)}")
        if isinstance(bound, ObjectRef):
            self.fail(node, f"{name} is {bound.use}")
        return bound if bound is not None else self.outside(node)

    def example(self, name: str, words: WordsRef) -> str:
        """Return a text for error messages: how to read a field of the words argument called ``name``."""
        return f"{name}.{words.layout.fields[0].name}[v] for instance"

    def argument(self, node: ast.expr) -> Reference | None:
        """Return the argument that ``node`` names: an array, words or an object with methods; else None."""
        bound = self.scope.bindings.get(node.id) if isinstance(node, ast.Name) else None
        return None if isinstance(bound, Node) else bound

    def outside(self, node: ast.expr) -> Node:
        """Return the node of the number that a global, a closure variable or an attribute of a module stands for."""
        value = self.resolve(node)
        found = constant(value)
        if found is None:
            kind = f"an integer beyond 64 bits ({value})" if isinstance(value, int) else f"a {type(value).__name__}"
            self.fail(
                node,
                f"{ast.unparse(node)} is {kind}, only numbers can be used: pass an array as an argument (args=...)",
            )
        return found

    def resolve(self, node: ast.expr) -> Any:
        """Return the object that an outside name, dotted or not, stands for; record that the function uses it."""
        path: list[str] = []
        inner = node
        while isinstance(inner, ast.Attribute):
            path.insert(0, inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name) or inner.id in self.scope.bindings:
            self.fail(
                node, f"{ast.unparse(node)}: only names from outside the function and attributes of modules can be used"
            )
        if inner.id == self.scope.source.rest:
            self.fail(node, f"*{inner.id} is what the function does not use: give what it uses a parameter")
        function = self.scope.source.function
        for length in range(len(path) + 1):
            key = Name(self.scope.owner, inner.id, tuple(path[:length]))
            value = look_up(function, key)
            if value is MISSING:
                self.fail(node, f"{'.'.join((inner.id, *key.path))} is not defined")
            if length < len(path) and not isinstance(value, ModuleType | Atomic):
                self.fail(node, f"{ast.unparse(node)}: an attribute can only be used if it is one of a module")
        # what NumPy and math hold does not change: it is enough that the name still means the module
        module = look_up(function, Name(self.scope.owner, inner.id))
        key = key._replace(path=()) if module is np or module is math else key
        self.names.add(key)
        return value

    # calls

    def call(self, node: ast.Call) -> Node:
        """Return the node of a call of a method, a known function such as ``math.sqrt``, or a function of the user."""
        if isinstance(node.func, ast.Attribute) and not node.keywords:
            bound = self.argument(node.func.value)
            if isinstance(bound, ObjectRef):
                return self.method(node, bound)
            if node.func.attr == "view" and len(node.args) == 1:
                return functions.bit_cast(self.expression(node.func.value), self.resolve(node.args[0]))
        function = self.resolve(node.func)
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            self.fail(node, "a call takes plain positional arguments")
        if not functions.is_known(function):
            if is_effect(function):
                self.fail(node, f"{ast.unparse(node.func)} has no value: call it in a statement of its own")
            if isinstance(function, FunctionType):
                return self.inline(node, function)
            self.fail(node, f"{ast.unparse(node.func)} cannot be called in an edge function")
        args = tuple(self.expression(argument) for argument in node.args)
        result = functions.call(function, args)
        if result is None:
            self.fail(node, f"{ast.unparse(node.func)} cannot be called with {len(args)} argument(s)")
        return result

    def inline(self, node: ast.Call, function: FunctionType) -> Node:
        """Return the node of a call of a user's function: its body, a single ``return``, translated in place."""
        source = find_source(function)
        parameters = source.parameters()
        if len(parameters) != len(node.args):
            self.fail(node, f"{function.__name__} takes {len(parameters)} arguments, not {len(node.args)}")
        if self.scope.depth >= MAX_DEPTH:
            self.fail(node, "the calls are nested too deeply (a function that calls itself cannot be translated)")
        bound = [self.argument(argument) or self.expression(argument) for argument in node.args]
        match source.body:
            case [ast.Return(value=ast.expr() as body)]:
                outer = self.scope
                bindings: dict[str, Binding] = dict(zip(parameters, bound, strict=True))
                self.scope = Scope(source, function, bindings, outer.depth + 1)
                result = self.expression(body)
                self.scope = outer
                return result
        self.fail(node, f"{function.__name__} cannot be called here: only functions that are a single 'return ...' can")
