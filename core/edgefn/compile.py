"""Compiling edge functions: from a Python function and the types of its arguments to a :class:`TypedFunction`."""

from __future__ import annotations

import ast
import copy
import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from suricate.arrays import is_flat
from suricate.cuda.program import C_TYPES, c_type
from suricate.edgefn import emit_cuda, emit_numba
from suricate.edgefn.source import Source, find_source
from suricate.edgefn.tree import (
    INT,
    MISSING,
    ArrayRef,
    Name,
    Node,
    Tree,
    constant,
    look_up,
    storage,
    translate,
    type_of,
)
from suricate.errors import DTypeError, EdgeFunctionError, ShapeError

EDGE = ("u", "v", "w")  #: leading parameters of an edge function; a vertex predicate has ("v",)


class Argument(NamedTuple):
    """What is known of an argument: ``kind`` is ``"array"`` or ``"scalar"``.

    ``dtype`` is that of the array; for a scalar the one it is passed as: bool, int64, uint64, float32 or float64.
    """

    kind: str
    dtype: np.dtype


_ARRAYS = {np.dtype(name): Argument("array", np.dtype(name)) for name in C_TYPES}
_SCALARS = {
    bool: Argument("scalar", np.dtype(np.bool_)),
    int: Argument("scalar", np.dtype(np.int64)),
    float: Argument("scalar", np.dtype(np.float64)),
    np.float32: Argument("scalar", np.dtype(np.float32)),
    np.uint64: Argument("scalar", np.dtype(np.uint64)),
}


def argument_of(value: Any) -> Argument:
    """Return the :class:`Argument` that describes ``value``; pass scalars to kernels as ``argument.dtype.type(value)``.

    Raises:
        DTypeError, ShapeError: ``value`` cannot be an argument of an edge function.
    """
    dtype = getattr(value, "dtype", None)
    if dtype is None or isinstance(value, np.generic):
        return _scalar_of(value)
    argument = _ARRAYS.get(dtype)
    if argument is None:
        raise DTypeError(f"an array of dtype {dtype} cannot be used in an edge function, only {', '.join(C_TYPES)}")
    if not is_flat(value):
        raise ShapeError(f"an edge function takes contiguous one-dimensional arrays, not one of shape {value.shape}")
    return argument


def _scalar_of(value: Any) -> Argument:
    argument = _SCALARS.get(type(value))
    if argument is not None and (type(value) is not int or -(2**63) <= value < 2**63):
        return argument
    number = constant(value)
    if number is None:
        reason = "does not fit 64 bits" if isinstance(value, int) else f"is a {type(value).__name__}"
        raise DTypeError(f"an edge function takes arrays and numbers, but {value!r} {reason}")
    return Argument("scalar", np.dtype({"int": "int64", "float": "float64"}.get(number.type, number.type)))


@dataclass(frozen=True, eq=False)
class TypedFunction:
    """An edge function for given types; the same function and types give the same object.

    Attributes:
        result: dtype of the value (bool, int64, uint64, float32 or float64), or None if there is none.
        arguments: what comes after the leading parameters.
        leading: names of the leading parameters.
        weight_dtype: dtype of the weights, None if there are none.
        by_hand: whether it is an :class:`EdgeFunction`, whose Numba twin may allocate; what is translated does not.
    """

    result: np.dtype | None
    arguments: tuple[Argument, ...]
    leading: tuple[str, ...]
    weight_dtype: np.dtype | None
    _write_numba: Callable[[str], str] = field(repr=False)
    _write_cuda: Callable[[str], str] = field(repr=False)
    by_hand: bool = False

    @cached_property
    def key(self) -> str:
        """Hex digest of all that matters to a compiled kernel; the same in every process."""
        weight = "" if self.weight_dtype is None else self.weight_dtype.name
        arguments = " ".join(f"{kind}:{dtype.name}" for kind, dtype in self.arguments)
        parts = (self.numba_source("f"), self.cuda_source("f"), str(self.result), weight, arguments, *self.leading)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]

    def numba_source(self, name: str) -> str:
        """Return a Python function ``name`` for ``njit``; its globals need only ``np`` and ``math``."""
        return self._write_numba(name)

    def cuda_source(self, name: str) -> str:
        """Return a CUDA device function ``name`` of vertex ids (``unsigned int``), array pointers, scalars by value."""
        return self._write_cuda(name)


class EdgeFunction:
    """An edge function given as CUDA C++ with its Numba twin, for what the translation cannot do.

    Args:
        cuda: an expression, or a body with ``return`` statements. Parameters are named as the twin's: vertex ids are
            ``unsigned int``, the weight has the weight dtype (``int`` 1 without weights), arrays are pointers to their
            dtype, scalars ``bool``, ``long long``, ``unsigned long long``, ``float`` or ``double``.
        numba: the same as a plain Python function that Numba can compile in nopython mode. From outside it may use
            ``numpy``, ``math`` and built-ins, and numbers, which are read now.
        result: dtype of the value: bool, int64, uint64, float32 or float64; None for a function without a value.

    Raises:
        EdgeFunctionError: the source of ``numba`` is not available, or it uses something else from outside.
    """

    def __init__(self, *, cuda: str, numba: Callable[..., Any], result: Any = None) -> None:
        self.cuda = cuda
        self.result = None if result is None else np.dtype(result)
        if self.result is not None and self.result.name not in ("bool", "int64", "uint64", "float32", "float64"):
            raise EdgeFunctionError(
                f"the result of an EdgeFunction is bool, int64, uint64, float32 or float64, not {self.result}"
            )
        self._source = find_source(_plain_function(getattr(numba, "py_func", numba)))
        self._twin = _Twin(self._source, self.result).definition()
        self._typed: dict[Any, TypedFunction] = {}

    def typed(
        self, arguments: tuple[Argument, ...], weight_dtype: np.dtype | None, leading: tuple[str, ...]
    ) -> TypedFunction:
        """Return this function for the given types (see :func:`compile_function`)."""
        key = arguments, weight_dtype, leading
        found = self._typed.get(key)
        if found is None:
            names = self._source.parameters()
            _check_count(self._source, len(names), len(names), arguments, leading)
            specs = _specs(arguments, weight_dtype, leading)
            declarations = [f"{spec.declaration(const=False)} {name}" for spec, name in zip(specs, names, strict=True)]
            found = TypedFunction(
                self.result, arguments, leading, weight_dtype, self._numba,
                lambda name: self._cuda(name, declarations), by_hand=True,
            )  # fmt: skip
            self._typed[key] = found
        return found

    def _numba(self, name: str) -> str:
        twin = copy.copy(self._twin)
        twin.name = name
        return ast.unparse(twin) + "\n"

    def _cuda(self, name: str, declarations: list[str]) -> str:
        kind = "void" if self.result is None else c_type(self.result)
        is_body = ";" in self.cuda
        body = self.cuda if is_body else f"{self.cuda};" if self.result is None else f"return ({kind})({self.cuda});"
        return f"__device__ __forceinline__ {kind} {name}({', '.join(declarations)}) {{\n{body}\n}}\n"


class _Twin(ast.NodeTransformer):
    """Makes a Numba twin stand alone: numbers from outside inlined, values cast to the result dtype."""

    def __init__(self, source: Source, result: np.dtype | None) -> None:
        self.source = source
        self.result = result

    def definition(self) -> ast.FunctionDef:
        body = [self.visit(copy.deepcopy(statement)) for statement in self.source.body]
        names = [ast.arg(name) for name in self.source.parameters()]
        arguments = ast.arguments(posonlyargs=[], args=names, kwonlyargs=[], kw_defaults=[], defaults=[])
        twin = ast.FunctionDef("f", arguments, body or [ast.Pass()], [])
        return ast.fix_missing_locations(twin)

    def visit_Return(self, node: ast.Return) -> ast.Return:
        self.generic_visit(node)
        if self.result is not None and node.value is not None:
            cast = "bool" if self.result == np.bool_ else f"np.{self.result.name}"
            node.value = ast.Call(ast.parse(cast, mode="eval").body, [node.value], [])
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        function = self.source.function
        if node.id in function.__code__.co_varnames or node.id in function.__code__.co_cellvars:
            return node
        value = look_up(function, Name(None, node.id))
        if value is np or value is math:
            return ast.Name("np" if value is np else "math", ast.Load())
        number = constant(value)
        if number is not None:
            return ast.parse(emit_numba.numba_constant(number.type, number.value), mode="eval").body
        if value is MISSING or getattr(value, "__module__", None) == "builtins":
            return node
        self.source.fail(
            node, f"{node.id} is a {type(value).__name__}: the Numba twin can use NumPy, math and numbers only"
        )


def compile_function(
    fn: Callable[..., Any] | EdgeFunction,
    arguments: tuple[Argument, ...],
    *,
    weight_dtype: np.dtype | None,
    leading: tuple[str, ...] = EDGE,
) -> TypedFunction:
    """Translate ``fn`` for the given types; a repeated call costs about two microseconds.

    Args:
        fn: a function of the leading parameters and one more per argument (those left out take their default value), or
            an :class:`EdgeFunction`.
        arguments: what comes after the leading parameters (see :func:`argument_of`).
        weight_dtype: dtype of the weights, None if there are none.
        leading: the leading parameters: ``"w"`` is the weight, any other name a vertex id.

    Raises:
        EdgeFunctionError: ``fn`` cannot be translated; the message has file, line and the reason.
    """
    if isinstance(fn, EdgeFunction):
        return fn.typed(arguments, weight_dtype, leading)
    function = _plain_function(fn)
    key = (id(function.__code__), arguments, weight_dtype, leading)
    entry = _COMPILED.get(key)
    if entry is None:
        entry = _COMPILED[key] = _Entry(function.__code__)
    found = entry.variants.get(_values(function, entry.names))
    return found[0] if found is not None else _compile(function, entry, arguments, weight_dtype, leading)


class _Entry:
    """Translations of one code object for one set of types, by the values it takes from outside."""

    def __init__(self, code: Any) -> None:
        self.code = code  # held, so that its id stays taken
        self.names: tuple[Name, ...] = ()
        self.variants: dict[tuple[Any, ...], tuple[TypedFunction, Any]] = {}


_COMPILED: dict[Any, _Entry] = {}


def _values(function: FunctionType, names: tuple[Name, ...]) -> tuple[Any, ...]:
    """Return what tells variants apart: numbers by type and value, other objects by identity."""
    values: list[Any] = []
    for name in names:
        value = look_up(name.owner or function, name)
        is_number = isinstance(value, int | float | np.generic)
        values += (type(value), repr(value) if value == 0 else value) if is_number else (None, id(value))
    return tuple(values)


def _compile(
    function: FunctionType,
    entry: _Entry,
    arguments: tuple[Argument, ...],
    weight_dtype: np.dtype | None,
    leading: tuple[str, ...],
) -> TypedFunction:
    source = find_source(function)
    names = source.parameters()
    defaults = function.__defaults__ or ()
    _check_count(source, len(names) - len(defaults), len(names), arguments, leading)
    specs = _specs(arguments, weight_dtype, leading)
    labels = [*leading, *(f"a{i}" for i in range(len(arguments)))]
    bindings = dict(zip(names, map(_binding, specs, labels), strict=False))
    used: dict[Name, Any] = {}
    for i, name in enumerate(names[len(specs) :], start=len(specs) + len(defaults) - len(names)):
        number = constant(defaults[i])
        if number is None:
            source.fail(source.node, f"the default value of {name} is not a number")
        bindings[name] = number
        used[Name(None, i)] = defaults[i]
    tree = translate(source, bindings)
    used.update(tree.names)
    found = _typed(tree, specs, labels, arguments, weight_dtype, leading)
    if not set(used) <= set(entry.names):
        entry.names = tuple(dict.fromkeys((*entry.names, *used)))
        entry.variants = {}
    held = [look_up(name.owner or function, name) for name in entry.names]
    entry.variants[_values(function, entry.names)] = (found, held)  # held, so that their ids stay taken
    return found


def _typed(
    tree: Tree,
    specs: list[_Spec],
    labels: list[str],
    arguments: tuple[Argument, ...],
    weight_dtype: np.dtype | None,
    leading: tuple[str, ...],
) -> TypedFunction:
    declarations = [f"{spec.declaration(const=True)} {label}" for spec, label in zip(specs, labels, strict=True)]
    return TypedFunction(
        np.dtype(storage(tree.result)),
        arguments,
        leading,
        weight_dtype,
        lambda name: emit_numba.numba_source(tree, labels, name),
        lambda name: emit_cuda.cuda_source(tree, declarations, name),
    )


class _Spec(NamedTuple):
    """A parameter: ``kind`` is vertex, weight, array or scalar."""

    kind: str
    dtype: np.dtype | None

    def declaration(self, *, const: bool) -> str:
        """Return its C++ type."""
        if self.kind == "array":
            return f"{'const ' if const else ''}{c_type(self.dtype)}*"
        return c_type(self.dtype or np.int32)


def _specs(arguments: tuple[Argument, ...], weight_dtype: np.dtype | None, leading: tuple[str, ...]) -> list[_Spec]:
    vertex, weight = _Spec("vertex", np.dtype(np.uint32)), _Spec("weight", weight_dtype)
    return [*(weight if name == "w" else vertex for name in leading), *(_Spec(*argument) for argument in arguments)]


def _binding(spec: _Spec, label: str) -> Node | ArrayRef:
    """Return what a parameter stands for inside the function."""
    if spec.dtype is None:  # the weight of a graph that has none
        return Node("const", INT, value=1)
    if spec.kind == "array":
        return ArrayRef(int(label[1:]), spec.dtype)
    return Node("parameter", type_of(spec.dtype, scalar=spec.kind == "scalar"), value=label)


def _check_count(
    source: Source, least: int, most: int, arguments: tuple[Argument, ...], leading: tuple[str, ...]
) -> None:
    """Raise unless the function takes the leading parameters and ``arguments``."""
    if least <= len(leading) + len(arguments) <= most:
        return
    described = [f"{dtype} array" if kind == "array" else f"{dtype} number" for kind, dtype in arguments]
    source.fail(
        source.node,
        f"the function takes {most} parameters ({', '.join(source.parameters())}), but is called with "
        f"{len(leading) + len(arguments)}: ({', '.join((*leading, *described))})",
    )


def _plain_function(fn: Any) -> FunctionType:
    if isinstance(fn, FunctionType):
        return fn
    raise EdgeFunctionError(
        f"an edge function is a plain Python function (def or lambda) or an EdgeFunction, not a {type(fn).__name__}"
    )
