"""Edge functions given as CUDA C++ with a Numba twin, for what the translation cannot do."""

from __future__ import annotations

import ast
import copy
import math
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

from suricate.base.errors import EdgeFunctionError
from suricate.base.types import WEIGHT_DTYPES
from suricate.cuda.program import c_type
from suricate.edgefn import emit_numba
from suricate.edgefn.parameters import EVENT, WEIGHT_AND_ROW, Signature, check_count, refuse_row
from suricate.edgefn.source import MISSING, Name, Source, find_source, look_up, parsed_expression, plain_function
from suricate.edgefn.tree import constant
from suricate.edgefn.typed import TypedFunction


class EdgeFunction:
    """An edge function given as CUDA C++ with an equivalent Numba function, for what the translation cannot do.

    Args:
        cuda: an expression, or a body with ``return`` statements. Its parameters have the names of those of ``numba``:
            vertex ids and rows are ``unsigned int``, the weight has the weight dtype (``int`` 1 without weights),
            arrays are pointers to their dtype, scalars ``bool``, ``long long``, ``unsigned long long``, ``float`` or
            ``double``.
        numba: the same as a plain Python function that Numba can compile in nopython mode. It may use ``numpy``,
            ``math``, built-ins, and outside numbers, whose values are read once, when this object is made.
        result: dtype of the value: bool, int64, uint64, float32 or float64; None for a function without a value.

    Raises:
        EdgeFunctionError: the source of ``numba`` is not available, or it uses another outside name.

    Example:
        >>> double = su.EdgeFunction(cuda="2 * u", numba=lambda u, v, w: 2 * u, result="int64")
        >>> g = su.Graph.from_coo([1, 2], [0, 0], in_edges=True, device="cpu")
        >>> su.neighbor_reduce(g, None, double, reduce="sum", over="in").tolist()
        [6, 0, 0]
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
            refuse_row(self._source, names, signature)
            writes, first = self._writes(names[len(signature.names) :]), ("", "")
            if WEIGHT_AND_ROW in signature.leading:
                at = signature.leading.index(WEIGHT_AND_ROW)
                first = _weight_by_row(signature, *names[at : at + 2])
                names = [*names[:at], *names[at + 1 :]]
            names += [_WEIGHTS + "_" * i for i in range(len(signature.arguments) - len(signature.given))]
            declarations = signature.declarations(names, frozenset(range(len(signature.arguments))))
            found = TypedFunction(
                self.result, signature, lambda name: self._numba(name, names, first[0]),
                lambda name: self._cuda(name, declarations, first[1]), writes, by_hand=True,
            )  # fmt: skip
            found = self._typed.setdefault(signature, found)
        return found

    def _check(self, signature: Signature) -> None:
        layouts = signature.result_layout, *(parameter.layout for parameter in signature.parameters)
        if signature.role == "vote" or any(layouts):
            raise EdgeFunctionError("an EdgeFunction takes and returns numbers and arrays, not words: translate it")
        if EVENT in signature.leading:
            raise EdgeFunctionError("an EdgeFunction takes no events: pass a plain function")

    def _writes(self, names: list[str]) -> frozenset[int]:
        """Return the indices in ``names``, the arguments, of the arrays whose elements the Numba function changes."""
        targets = (
            part.value.id
            for part in ast.walk(self._source.node)
            if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store) and isinstance(part.value, ast.Name)
        )
        return frozenset(names.index(target) for target in targets if target in names)

    def _numba(self, name: str, parameters: list[str], first: str) -> str:
        body = "\n".join([first, *(ast.unparse(statement) for statement in self._twin.body)])
        return f"def {name}({', '.join(parameters)}):\n{textwrap.indent(body, '    ')}\n"

    def _cuda(self, name: str, declarations: list[str], first: str) -> str:
        kind = "void" if self.result is None else c_type(self.result)
        is_body = ";" in self.cuda
        body = self.cuda if is_body else f"{self.cuda};" if self.result is None else f"return ({kind})({self.cuda});"
        return f"__device__ __forceinline__ {kind} {name}({', '.join(declarations)}) {{\n{first}{body}\n}}\n"


_WEIGHTS = "weights_by_row"  # the parameter with the weights of edges by row


def _weight_by_row(signature: Signature, weight: str, row: str) -> tuple[str, str]:
    """Return the statements, in Python and in C++, that set ``weight`` to the weight of the edge in ``row``."""
    if signature.weights is None:
        return f"{weight} = 1", f"const int {weight} = 1;\n"
    held = signature.arguments[signature.weights].dtype
    dtype = held if held in WEIGHT_DTYPES else np.dtype(np.float64)
    read = f"{_WEIGHTS}[{row}]"
    return f"{weight} = np.{dtype}({read})", f"const {c_type(dtype)} {weight} = ({c_type(dtype)}){read};\n"


class _Twin(ast.NodeTransformer):
    """Makes a Numba function independent of its module: outside numbers become constants."""

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
