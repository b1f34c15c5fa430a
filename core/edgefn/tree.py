"""From the syntax tree of an edge function to one typed tree, from which both languages are written.

The rules are those of ``suricate.edgefn``. A type is a string: ``bool``, ``int64``, ``uint64``, ``float32``,
``float64``, or one of the weak types ``int`` and ``float`` of Python numbers, which are held as int64 and float64 and
give way to whatever they meet.
"""

from __future__ import annotations

import ast
import builtins
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import FunctionType, ModuleType
from typing import Any, NamedTuple, NoReturn

import numpy as np

from suricate.edgefn.source import Source, find_source

BOOL, INT, FLOAT = "bool", "int", "float"
WEAK = {INT: "int64", FLOAT: "float64"}
MISSING = object()
MAX_DEPTH = 16  # of functions called by functions


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


@dataclass(frozen=True, slots=True)
class Assign:
    """Give local variable number ``local`` a value."""

    local: int
    value: Node


@dataclass(frozen=True, slots=True)
class Return:
    """Return a value."""

    value: Node


@dataclass(frozen=True, slots=True)
class If:
    """Run one of two blocks."""

    test: Node
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...]


Statement = Assign | Return | If


class ArrayRef(NamedTuple):
    """An array argument: its position among the arguments, and its dtype."""

    position: int
    dtype: np.dtype


class Name(NamedTuple):
    """A value from outside that the translation relies on: attribute ``path`` of ``name``, as ``owner`` sees it.

    ``owner`` is None for the edge function itself, else a function it calls. A ``name`` that is an int is the number of
    a default value.
    """

    owner: Any
    name: str | int
    path: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tree:
    """A translated function: statements, types of its local variables and of its result, what it relies on."""

    statements: tuple[Statement, ...]
    locals: tuple[str, ...]
    result: str
    names: Mapping[Name, Any]


# -- names and numbers -------------------------------------------------------------------------------------------------


def look_up(function: FunctionType, name: Name) -> Any:
    """Return the value of ``name`` in the closure, the globals or the built-ins of ``function``, or ``MISSING``."""
    key = name.name
    if isinstance(key, int):
        return function.__defaults__[key]  # type: ignore[index]
    if key in function.__code__.co_freevars:
        try:
            value = function.__closure__[function.__code__.co_freevars.index(key)].cell_contents  # type: ignore[index]
        except ValueError:  # not assigned yet
            return MISSING
    else:
        value = function.__globals__.get(key, MISSING)
        if value is MISSING:
            value = getattr(builtins, key, MISSING)
    for attribute in name.path:
        value = getattr(value, attribute, MISSING)
    return value


def constant(value: Any) -> Node | None:
    """Return a Python or NumPy number as a constant, or None if it is none (or does not fit 64 bits)."""
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


def type_of(dtype: np.dtype, *, scalar: bool = False) -> str:
    """Return the type that a value of ``dtype`` has once loaded; int64 and float64 *scalars* are weak."""
    if dtype.kind == "b":
        return BOOL
    wide = "int64" if dtype.kind in "iu" and dtype != np.uint64 else dtype.name
    return {"int64": INT, "float64": FLOAT}.get(wide, wide) if scalar else wide


def storage(kind: str) -> str:
    """Return the dtype name a type is held in."""
    return WEAK.get(kind, kind)


def promote(a: str, b: str) -> str | None:
    """Return the common type of two, or None for the pair int64 and uint64, which has none."""
    if a == b:
        return a
    kinds = {INT if kind == BOOL else kind for kind in (a, b)}
    if len(kinds) > 1:
        kinds.discard(INT)
    if len(kinds) == 1:
        return kinds.pop()
    if kinds == {"int64", "uint64"}:
        return None
    return "float32" if kinds == {FLOAT, "float32"} else "float64"


# -- what may be called ------------------------------------------------------------------------------------------------

# NumPy name -> name in C and in the ``math`` module
_FLOAT_FUNCTIONS = {
    "sqrt": "sqrt", "cbrt": "cbrt", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2",
    "log10": "log10", "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos",
    "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh", "arctan2": "atan2", "hypot": "hypot", "copysign": "copysign", "fmod": "fmod",
}  # fmt: skip
_PREDICATES = ("isnan", "isinf", "isfinite")
_ROUNDING = ("floor", "ceil", "trunc")  # integers from ``math``, floats from NumPy
_BINARY = ("arctan2", "hypot", "copysign", "fmod")
_NARROW = ("int8", "int16", "int32", "uint8", "uint16", "uint32")


def _callables() -> dict[Any, tuple[str, str]]:
    """Return {function or type: (how it is translated, with what)}."""
    table: dict[Any, tuple[str, str]] = {
        abs: ("abs", ""), np.abs: ("abs", ""), np.fabs: ("fabs", ""), math.fabs: ("fabs", ""),
        min: ("fold", "min"), max: ("fold", "max"), np.minimum: ("fold", "minimum"), np.maximum: ("fold", "maximum"),
        pow: ("power", ""), math.pow: ("float power", ""), np.power: ("power", ""), np.square: ("square", ""),
        np.where: ("where", ""), bool: ("truth", ""), np.bool_: ("truth", ""),
        int: ("cast", "int64"), float: ("cast", "float64"), math.erf: ("float", "erf"), math.erfc: ("float", "erfc"),
        math.lgamma: ("float", "lgamma"),
    }  # fmt: skip
    for name, in_math in _FLOAT_FUNCTIONS.items():
        table[getattr(np, name)] = table[getattr(math, in_math)] = ("float", name)
    for name in _PREDICATES:
        table[getattr(np, name)] = table[getattr(math, name)] = ("predicate", name)
    for name in _ROUNDING:
        table[getattr(np, name)] = ("float", name)
        table[getattr(math, name)] = ("whole", name)
    for name in ("int64", "uint64", "float32", "float64"):
        table[getattr(np, name)] = ("cast", name)
    for name in _NARROW:
        table[getattr(np, name)] = ("narrow", name)
    return table


_CALLABLES = _callables()

_ARITHMETIC: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("add", operator.add),
    ast.Sub: ("sub", operator.sub),
    ast.Mult: ("mul", operator.mul),
    ast.Div: ("div", operator.truediv),
    ast.FloorDiv: ("floordiv", operator.floordiv),
    ast.Mod: ("mod", operator.mod),
    ast.Pow: ("power", operator.pow),
    ast.LShift: ("shl", operator.lshift),
    ast.RShift: ("shr", operator.rshift),
    ast.BitAnd: ("and", operator.and_),
    ast.BitOr: ("or", operator.or_),
    ast.BitXor: ("xor", operator.xor),
}
_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "power": "**", "shl": "<<",
    "shr": ">>", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], bool]]] = {
    ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le),
    ast.Gt: ("gt", operator.gt),
    ast.GtE: ("ge", operator.ge),
    ast.Eq: ("eq", operator.eq),
    ast.NotEq: ("ne", operator.ne),
}
_CONSTRUCTS: dict[type[ast.AST], str] = {
    ast.For: "a for loop", ast.While: "a while loop", ast.ListComp: "a list comprehension",
    ast.SetComp: "a set comprehension", ast.DictComp: "a dict comprehension", ast.GeneratorExp: "a generator",
    ast.List: "a list", ast.Tuple: "a tuple", ast.Set: "a set", ast.Dict: "a dict", ast.JoinedStr: "an f-string",
    ast.Lambda: "a lambda", ast.FunctionDef: "a nested function", ast.ClassDef: "a class", ast.Yield: "yield",
    ast.YieldFrom: "yield", ast.Await: "await", ast.NamedExpr: "':='", ast.Starred: "'*'", ast.Try: "try",
    ast.With: "with", ast.Raise: "raise", ast.Assert: "assert", ast.Import: "import", ast.ImportFrom: "import",
    ast.Global: "global", ast.Nonlocal: "nonlocal", ast.Delete: "del", ast.Match: "match", ast.Slice: "a slice",
    ast.Is: "'is'", ast.IsNot: "'is not'", ast.In: "'in'", ast.NotIn: "'not in'", ast.MatMult: "'@'",
    ast.Expr: "an expression whose value is not used", ast.Break: "break", ast.Continue: "continue",
}  # fmt: skip


def _construct(node: ast.AST) -> str:
    return _CONSTRUCTS.get(type(node), type(node).__name__)


# -- the translation ---------------------------------------------------------------------------------------------------


@dataclass
class _Scope:
    """A function being translated: what its parameters stand for."""

    source: Source
    owner: FunctionType | None
    bindings: dict[str, Node | ArrayRef]
    depth: int = 0


@dataclass
class _Flow:
    """What is known at a point of the function: the local variables that surely have a value."""

    assigned: set[str] = field(default_factory=set)
    returned: bool = False


def translate(source: Source, bindings: dict[str, Node | ArrayRef]) -> Tree:
    """Return the typed tree of ``source``, whose parameters stand for ``bindings``."""
    translator = _Translator(source, bindings)
    while True:  # the type of a local variable is the common type of all that is assigned to it
        before = dict(translator.types)
        statements = translator.function()
        if translator.types == before:
            result = translator.types[_RESULT]
            types = tuple(translator.types[name] for name in translator.locals)
            return Tree(statements, types, result, translator.names)


_RESULT = "return"  # no variable can have this name


class _Translator:
    def __init__(self, source: Source, bindings: dict[str, Node | ArrayRef]) -> None:
        self.scope = _Scope(source, None, bindings)
        self.locals = _assigned_names(source.node)
        self.types: dict[str, str] = {}
        self.names: dict[Name, Any] = {}
        self.flow = _Flow()

    def fail(self, node: ast.AST, message: str) -> NoReturn:
        self.scope.source.fail(node, message)

    # statements

    def function(self) -> tuple[Statement, ...]:
        """Translate the whole function with the types known so far."""
        self.flow = _Flow()
        node = self.scope.source.node
        copies = []
        for name in self.locals:
            value = self.scope.bindings.get(name)
            if isinstance(value, ArrayRef):
                self.fail(node, f"{name} is an array and cannot be assigned to")
            if value is not None:  # a parameter that the function changes: a local variable with its value
                copies.append(self.assign(node, name, value))
        statements = self.block(self.scope.source.body)
        if not self.flow.returned:
            has_result = _RESULT in self.types
            self.fail(
                node, f"the function returns no value{' on some paths' if has_result else ''}: end it with 'return ...'"
            )
        return (*copies, *statements)

    def block(self, body: list[ast.stmt]) -> tuple[Statement, ...]:
        statements: list[Statement] = []
        for node in body:
            if self.flow.returned:
                break  # the rest is never reached
            statements += self.statement(node)
        return tuple(statements)

    def statement(self, node: ast.stmt) -> tuple[Statement, ...]:
        match node:
            case ast.Return(value=None):
                self.fail(node, "return needs a value")
            case ast.Return(value=ast.expr() as value):
                result = self.join(node, _RESULT, self.expression(value))
                self.flow.returned = True
                return (Return(result),)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return (self.assign(node, name, self.expression(value)),)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                return (self.assign(node, name, self.expression(value)),)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                held = self.name(ast.copy_location(ast.Name(name, ast.Load()), target))
                return (self.assign(node, name, self.arithmetic(node, op, held, self.expression(value))),)
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
        self.fail(node, f"{_construct(node)} cannot be used in an edge function")

    def branch(self, node: ast.If) -> tuple[Statement, ...]:
        test = self.truth(self.expression(node.test))
        if test.is_const:  # decided by constants: the other side may not even be valid
            return self.block(node.body if test.value else node.orelse)
        before = self.flow.assigned
        self.flow = _Flow(set(before))
        body, body_flow = self.block(node.body), self.flow
        self.flow = _Flow(set(before))
        orelse, orelse_flow = self.block(node.orelse), self.flow
        open_ends = [flow.assigned for flow in (body_flow, orelse_flow) if not flow.returned]
        self.flow = _Flow(set.intersection(*open_ends) if open_ends else before, returned=not open_ends)
        return (If(test, body, orelse),)

    def assign(self, node: ast.AST, name: str, value: Node) -> Assign:
        self.flow.assigned.add(name)
        return Assign(self.locals.index(name), self.join(node, name, value))

    def join(self, node: ast.AST, name: str, value: Node) -> Node:
        """Widen the type of a variable (or the result) to take ``value``; return ``value`` in that type."""
        kind = self.common(node, self.types.get(name, value.type), value.type)
        self.types[name] = kind
        return self.convert(node, value, kind)

    # types

    def common(self, node: ast.AST, a: str, b: str) -> str:
        kind = promote(a, b)
        if kind is None:
            self.fail(node, "int64 and uint64 have no common type: convert one of them, np.int64(x) or np.uint64(x)")
        return kind

    def convert(self, node: ast.AST, value: Node, kind: str) -> Node:
        if value.type == kind:
            return value
        if value.is_const:
            if kind == "uint64" and value.value < 0:
                self.fail(node, f"the constant {value.value} cannot become uint64")
            if "float" in kind:
                with np.errstate(over="ignore"):
                    return Node("const", kind, value=float(np.dtype(storage(kind)).type(value.value)))
            if not math.isfinite(value.value):
                self.fail(node, f"the constant {value.value} cannot become {kind}")
            return Node("const", kind, value=int(value.value))
        if storage(value.type) == storage(kind):
            return replace(value, type=kind)
        return Node("cast", kind, (value,))

    def number(self, value: Node) -> Node:
        """Return a bool as the weak integer that it counts as."""
        if value.type != BOOL:
            return value
        return Node("const", INT, value=int(value.value)) if value.is_const else Node("cast", INT, (value,))

    def integer(self, node: ast.AST, value: Node, what: str) -> Node:
        if "float" in value.type:
            self.fail(node, f"{what} takes integers, not {value.type}: convert with int(x)")
        return self.number(value)

    def floating(self, node: ast.AST, value: Node) -> Node:
        """Return ``value`` as the floating-point type it has in ``/`` and in functions such as ``sqrt``."""
        kind = {BOOL: FLOAT, INT: FLOAT, "int64": "float64", "uint64": "float64"}.get(value.type, value.type)
        return self.convert(node, value, kind)

    def truth(self, value: Node) -> Node:
        if value.type == BOOL:
            return value
        if value.is_const:
            return Node("const", BOOL, value=bool(value.value))
        return Node("truth", BOOL, (value,))

    # expressions

    def expression(self, node: ast.expr) -> Node:
        match node:
            case ast.Constant(value=value):
                return self.literal(node, value)
            case ast.Name():
                return self.name(node)
            case ast.Attribute():
                return self.outside(node)
            case ast.Subscript():
                return self.load(node)
            case ast.BinOp(left=left, op=op, right=right):
                return self.arithmetic(node, op, self.expression(left), self.expression(right))
            case ast.UnaryOp(op=op, operand=operand):
                return self.unary(node, op, self.expression(operand))
            case ast.Compare():
                return self.comparison(node)
            case ast.BoolOp():
                return self.logic(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.conditional(node, test, body, orelse)
            case ast.Call():
                return self.call(node)
        self.fail(node, f"{_construct(node)} cannot be used in an edge function")

    def literal(self, node: ast.AST, value: Any) -> Node:
        found = constant(value)
        if found is None:
            reason = "does not fit 64 bits" if isinstance(value, int) else "is not a number"
            self.fail(node, f"the constant {value!r} {reason}")
        return found

    def name(self, node: ast.Name) -> Node:
        name = node.id
        if self.scope.depth == 0 and name in self.locals:
            if name not in self.flow.assigned:
                self.fail(node, f"{name} may have no value here")
            return Node("local", self.types[name], value=self.locals.index(name))
        bound = self.scope.bindings.get(name)
        if isinstance(bound, ArrayRef):
            self.fail(node, f"{name} is an array: only an element can be used here, {name}[v] for instance")
        return bound if bound is not None else self.outside(node)

    def resolve(self, node: ast.expr) -> Any:
        """Return the Python object that a name or a dotted name stands for, and remember that we rely on it."""
        path: list[str] = []
        inner = node
        while isinstance(inner, ast.Attribute):
            path.insert(0, inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name) or inner.id in self.scope.bindings:
            self.fail(
                node, f"{ast.unparse(node)}: only names from outside the function and attributes of modules can be used"
            )
        function = self.scope.source.function
        for length in range(len(path) + 1):
            key = Name(self.scope.owner, inner.id, tuple(path[:length]))
            value = look_up(function, key)
            if value is MISSING:
                self.fail(node, f"{'.'.join((inner.id, *key.path))} is not defined")
            if length < len(path) and not isinstance(value, ModuleType):
                self.fail(node, f"{ast.unparse(node)}: an attribute can only be used if it is one of a module")
        # what NumPy and math hold does not change: it is enough that the name still means the module
        module = look_up(function, Name(self.scope.owner, inner.id))
        key = key._replace(path=()) if module is np or module is math else key
        self.names[key] = look_up(function, key)
        return value

    def outside(self, node: ast.expr) -> Node:
        value = self.resolve(node)
        found = constant(value)
        if found is None:
            kind = f"an integer beyond 64 bits ({value})" if isinstance(value, int) else f"a {type(value).__name__}"
            self.fail(
                node,
                f"{ast.unparse(node)} is {kind}, only numbers can be used: pass an array as an argument (args=...)",
            )
        return found

    def load(self, node: ast.Subscript) -> Node:
        array = self.array(node.value)
        if array is None:
            self.fail(node, "only an array that is a parameter can be indexed")
        if isinstance(node.slice, ast.Tuple | ast.Slice):
            self.fail(node, "an array takes one integer as its index")
        index = self.expression(node.slice)
        if index.type == BOOL or "float" in index.type:
            self.fail(node, f"an index must be an integer, not {index.type}")
        if index.is_const and index.value < 0:
            self.fail(node, "a negative index does not count from the end in an edge function")
        return Node("load", type_of(array.dtype), (index,), array)

    def array(self, node: ast.expr) -> ArrayRef | None:
        """Return the array that ``node`` names, or None."""
        bound = self.scope.bindings.get(node.id) if isinstance(node, ast.Name) else None
        return bound if isinstance(bound, ArrayRef) else None

    def arithmetic(self, node: ast.AST, op: ast.operator, a: Node, b: Node) -> Node:
        if type(op) not in _ARITHMETIC:
            self.fail(node, f"{_construct(op)} cannot be used in an edge function")
        name, python = _ARITHMETIC[type(op)]
        folded = self.fold(node, python, a, b)
        if folded is not None:
            return folded
        if name == "power":
            return self.power(node, a, b)
        if name in ("shl", "shr"):
            return self.shift(node, name, a, b)
        if name in ("and", "or", "xor"):
            return self.bitwise(node, name, a, b)
        if name == "div":
            a, b = self.floating(node, a), self.floating(node, b)
        a, b = self.number(a), self.number(b)
        kind = self.common(node, a.type, b.type)
        return Node(name, kind, (self.convert(node, a, kind), self.convert(node, b, kind)))

    def fold(self, node: ast.AST, python: Callable[..., Any], *args: Node) -> Node | None:
        """Return what Python makes of Python constants, or None if not all are."""
        if not all(arg.is_const and arg.type in (BOOL, INT, FLOAT) for arg in args):
            return None
        try:
            value = python(*(arg.value for arg in args))
        except (ArithmeticError, ValueError, TypeError) as error:
            self.fail(node, f"this constant cannot be computed: {error}")
        return self.literal(node, value)

    def shift(self, node: ast.AST, name: str, a: Node, b: Node) -> Node:
        symbol = _SYMBOLS[name]
        a, b = self.integer(node, a, symbol), self.integer(node, b, symbol)
        if b.is_const and not 0 <= b.value < 64:
            self.fail(node, f"a shift by {b.value}: the integers have 64 bits")
        kind = "int64" if a.type == INT and b.type != INT else a.type
        return Node(name, kind, (self.convert(node, a, kind), self.convert(node, b, INT)))

    def bitwise(self, node: ast.AST, name: str, a: Node, b: Node) -> Node:
        if a.type == b.type == BOOL:
            return Node(name, BOOL, (a, b))
        a, b = self.integer(node, a, _SYMBOLS[name]), self.integer(node, b, _SYMBOLS[name])
        kind = self.common(node, a.type, b.type)
        return Node(name, kind, (self.convert(node, a, kind), self.convert(node, b, kind)))

    def power(self, node: ast.AST, a: Node, b: Node) -> Node:
        a, b = self.number(a), self.number(b)
        if "float" not in a.type and "float" not in b.type:
            if not (b.is_const and 0 <= b.value < 64):
                self.fail(node, "an integer power needs a constant exponent from 0 to 63: convert with float(x)")
            return Node("power", a.type, (a,), b.value)
        if b.is_const and b.value == 2:
            return Node("square", a.type, (a,))
        if b.is_const and b.value == 0.5:
            return Node("sqrt", self.floating(node, a).type, (self.floating(node, a),))
        return self.floats(node, "pow", (a, b))

    def unary(self, node: ast.AST, op: ast.unaryop, value: Node) -> Node:
        if isinstance(op, ast.Not):
            return self.negation(value)
        if isinstance(op, ast.Invert):
            if value.type == BOOL:
                return self.negation(value)
            folded = self.fold(node, operator.invert, value) if value.type == INT else None
            return folded or Node("invert", value.type, (self.integer(node, value, "~"),))
        value = self.number(value)
        if isinstance(op, ast.UAdd):
            return value
        return self.fold(node, operator.neg, value) or Node("neg", value.type, (value,))

    def negation(self, value: Node) -> Node:
        value = self.truth(value)
        return Node("const", BOOL, value=not value.value) if value.is_const else Node("not", BOOL, (value,))

    def comparison(self, node: ast.Compare) -> Node:
        operands = [self.expression(operand) for operand in (node.left, *node.comparators)]
        parts = []
        for op, a, b in zip(node.ops, operands, operands[1:], strict=False):
            if type(op) not in _COMPARISONS:
                self.fail(node, f"{_construct(op)} cannot be used in an edge function")
            name, python = _COMPARISONS[type(op)]
            a, b = self.number(a), self.number(b)
            kind = self.common(node, a.type, b.type)
            pair = (self.convert(node, a, kind), self.convert(node, b, kind))
            parts.append(self.fold(node, python, a, b) or Node(name, BOOL, pair))
        return self.chain("both", parts)

    def logic(self, node: ast.BoolOp) -> Node:
        """Translate ``and`` / ``or``: of bools it is a bool, else one of the operands, as in Python."""
        is_and = isinstance(node.op, ast.And)
        values = []
        for operand in node.values:
            value = self.expression(operand)
            values.append(value)
            if value.is_const and bool(value.value) != is_and:
                break  # decided: the operands after it are never looked at
        if all(value.type == BOOL for value in values):
            return self.chain("both" if is_and else "either", values)
        result = values[-1]
        for value in reversed(values[:-1]):
            test = self.truth(value)
            result = self.choose(node, test, result, value) if is_and else self.choose(node, test, value, result)
        return result

    def chain(self, op: str, values: list[Node]) -> Node:
        """Join bools by ``and`` ("both") or ``or`` ("either"), leaving out constants that decide nothing."""
        decides = op == "either"
        result: Node | None = None
        for value in values:
            if value.is_const and value.value != decides:
                continue
            result = value if result is None else Node(op, BOOL, (result, value))
        return Node("const", BOOL, value=not decides) if result is None else result

    def conditional(self, node: ast.AST, test: ast.expr, body: ast.expr, orelse: ast.expr) -> Node:
        decision = self.truth(self.expression(test))
        if decision.is_const:
            return self.expression(body if decision.value else orelse)
        return self.choose(node, decision, self.expression(body), self.expression(orelse))

    def choose(self, node: ast.AST, test: Node, a: Node, b: Node) -> Node:
        kind = self.common(node, a.type, b.type)
        a, b = self.convert(node, a, kind), self.convert(node, b, kind)
        if test.is_const:
            return a if test.value else b
        return Node("choose", kind, (test, a, b))

    # calls

    def call(self, node: ast.Call) -> Node:
        function = self.resolve(node.func)
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            self.fail(node, "a call takes plain positional arguments")
        how, what = _CALLABLES.get(function, ("", "")) if _is_hashable(function) else ("", "")
        if not how and isinstance(function, FunctionType):
            return self.inline(node, function)
        if not how:
            self.fail(node, f"{ast.unparse(node.func)} cannot be called in an edge function")
        args = tuple(self.expression(argument) for argument in node.args)
        match how, args:
            case "fold", (_, _, *_):
                return self.smallest(node, what, args)
            case "float", _ if len(args) == (2 if what in _BINARY else 1):
                return self.floats(node, what, args)
            case "whole", (x,):
                return self.whole(node, what, x)
            case "predicate", (x,):
                return Node(what, BOOL, (self.floating(node, x),))
            case "abs", (x,):
                return self.magnitude(self.number(x))
            case "fabs", (x,):
                return self.magnitude(self.floating(node, x))
            case "power", (a, b):
                return self.fold(node, pow, a, b) or self.power(node, a, b)
            case "float power", (a, b):
                return self.power(node, self.floating(node, a), self.floating(node, b))
            case "square", (x,):
                return Node("square", self.number(x).type, (self.number(x),))
            case "where", (test, a, b):
                return self.choose(node, self.truth(test), a, b)
            case "truth", (x,):
                return self.truth(x)
            case "cast", (x,):
                return self.convert(node, self.number(x), what)
            case "narrow", (x,):
                wide = x if x.type == "uint64" else self.convert(node, self.number(x), "int64")
                return Node("narrow", "int64", (wide,), what)
        self.fail(node, f"{ast.unparse(node.func)} cannot be called with {len(args)} argument(s)")

    def smallest(self, node: ast.AST, op: str, args: tuple[Node, ...]) -> Node:
        result = self.number(args[0])
        for arg in args[1:]:
            arg = self.number(arg)
            kind = self.common(node, result.type, arg.type)
            name = op if "float" in kind else op[:3]
            result = Node(name, kind, (self.convert(node, result, kind), self.convert(node, arg, kind)))
        return result

    def floats(self, node: ast.AST, op: str, args: tuple[Node, ...]) -> Node:
        args = tuple(self.floating(node, arg) for arg in args)
        kind = args[0].type
        for arg in args[1:]:
            kind = self.common(node, kind, arg.type)
        return Node(op, kind, tuple(self.convert(node, arg, kind) for arg in args))

    def whole(self, node: ast.AST, op: str, value: Node) -> Node:
        if "float" not in value.type:
            return self.number(value)
        return Node("cast", "int64", (Node(op, value.type, (value,)),))

    def magnitude(self, value: Node) -> Node:
        return value if value.type == "uint64" else Node("abs", value.type, (value,))

    def inline(self, node: ast.Call, function: FunctionType) -> Node:
        """Translate a call of another Python function that is a single ``return``, in place."""
        source = find_source(function)
        parameters = source.parameters()
        if len(parameters) != len(node.args):
            self.fail(node, f"{function.__name__} takes {len(parameters)} arguments, not {len(node.args)}")
        if self.scope.depth >= MAX_DEPTH:
            self.fail(node, "the calls are nested too deeply (a function that calls itself cannot be translated)")
        bound = [self.array(argument) or self.expression(argument) for argument in node.args]
        match source.body:
            case [ast.Return(value=ast.expr() as body)]:
                outer = self.scope
                bindings: dict[str, Node | ArrayRef] = dict(zip(parameters, bound, strict=True))
                self.scope = _Scope(source, function, bindings, outer.depth + 1)
                result = self.expression(body)
                self.scope = outer
                return result
        self.fail(node, f"{function.__name__} cannot be called here: only functions that are a single 'return ...' can")


def _assigned_names(node: ast.AST) -> tuple[str, ...]:
    stored = (part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))
    return tuple(dict.fromkeys(stored))


def _is_hashable(value: Any) -> bool:
    return type(value).__hash__ is not None
