"""Edge functions given as CUDA C++ with a Numba twin, for what the translation cannot do."""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from suricate.base.errors import EdgeFunctionError
from suricate.cuda.program import c_type
from suricate.edgefn import emit_numba
from suricate.edgefn.names import MISSING, Name, look_up
from suricate.edgefn.parameters import Signature, check_count
from suricate.edgefn.source import Source, find_source, parsed_expression, plain_function
from suricate.edgefn.tree import constant
from suricate.edgefn.typed import TypedFunction


class EdgeFunction:
    """An edge function given as CUDA C++ with an equivalent Numba function, for what the translation cannot do.

    Args:
        cuda: an expression, or a body with ``return`` statements. Its parameters have the names of those of ``numba``:
            vertex ids are ``unsigned int``, the weight has the weight dtype (``int`` 1 without weights), arrays are
            pointers to their dtype, scalars ``bool``, ``long long``, ``unsigned long long``, ``float`` or ``double``.
        numba: the same as a plain Python function that Numba can compile in nopython mode. It may use ``numpy``,
            ``math``, built-ins, and outside numbers, whose values are read once, when this object is made.
        result: dtype of the value: bool, int64, uint64, float32 or float64; None for a function without a value.

    Raises:
        EdgeFunctionError: the source of ``numba`` is not available, or it uses another outside name.
    """

    def __init__(self, *, cuda: str, numba: Callable[..., Any], result: Any = None) -> None:
        self.cuda = cuda
        self.result = None if result is None else np.dtype(result)
        if self.result is not None and self.result.name not in ("bool", "int64", "uint64", "float32", "float64"):
            raise EdgeFunctionError(
                f"the result of an EdgeFunction is bool, int64, uint64, float32 or float64, not {self.result}"
            )
        self._source = find_source(plain_function(getattr(numba, "py_func", numba)))
        self._twin = _Twin(self._source, self.result).definition()
        self._typed: dict[Any, TypedFunction] = {}

    def typed(self, signature: Signature) -> TypedFunction:
        """Return this function for the types ``signature``; equal types give the same object."""
        found = self._typed.get(signature)
        if found is None:
            self._check(signature)
            names = self._source.parameters()
            check_count(self._source, len(names), len(names), signature)
            declarations = signature.declarations(names, frozenset(range(len(signature.arguments))))
            writes = self._writes(names[len(signature.leading) :])
            found = TypedFunction(
                self.result, signature, self._numba, lambda name: self._cuda(name, declarations), writes, by_hand=True
            )
            found = self._typed.setdefault(signature, found)
        return found

    def _check(self, signature: Signature) -> None:
        if signature.result_layout or any(parameter.layout for parameter in signature.parameters):
            raise EdgeFunctionError("an EdgeFunction takes and returns numbers and arrays, not words: translate it")

    def _writes(self, names: list[str]) -> frozenset[int]:
        """Return the indices in ``names``, the arguments, of the arrays whose elements the Numba function changes."""
        targets = (
            part.value.id
            for part in ast.walk(self._source.node)
            if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store) and isinstance(part.value, ast.Name)
        )
        return frozenset(names.index(target) for target in targets if target in names)

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
    """Makes a Numba function independent of its module: outside numbers become constants.

    Returned values are cast to the dtype ``result`` of the :class:`EdgeFunction`, if there is one.
    """

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
            node.value = ast.Call(parsed_expression(cast), [node.value], [])
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
            return parsed_expression(emit_numba.numba_constant(number.type, number.value))
        if value is MISSING or getattr(value, "__module__", None) == "builtins":
            return node
        self.source.fail(
            node, f"{node.id} is a {type(value).__name__}: the Numba twin can use NumPy, math and numbers only"
        )
