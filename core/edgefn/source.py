"""Find the syntax tree of a Python function in its file; of several lambdas on a line, the right one."""

from __future__ import annotations

import ast
import builtins
import linecache
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, reduce
from types import CodeType, FunctionType
from typing import Any, NamedTuple, NoReturn

from suricate.base.errors import EdgeFunctionError
from suricate.edgefn.interpreted import typed_lines

FunctionNode = ast.FunctionDef | ast.Lambda

_PARSING = threading.RLock()  # a finalizer that runs in the middle may parse, too


@dataclass(frozen=True)
class Source:
    """A function with its syntax tree ``node``, the name of its file, and the lines of the file."""

    function: FunctionType
    node: FunctionNode
    file: str
    lines: tuple[str, ...]

    def fail(self, node: ast.AST, message: str) -> NoReturn:
        """Raise ``EdgeFunctionError`` with file, line, ``message`` and the source line of ``node``."""
        line = getattr(node, "lineno", self.node.lineno)
        raise EdgeFunctionError(f"{self.file}:{line}: {message}\n    {self.lines[line - 1].strip()}")

    @property
    def body(self) -> list[ast.stmt]:
        """The statements of the function, without the docstring; a lambda has one ``return`` statement."""
        if isinstance(self.node, ast.Lambda):
            return [ast.copy_location(ast.Return(self.node.body), self.node.body)]
        body = self.node.body
        has_docstring = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
        return body[1:] if has_docstring else body

    def parameters(self, *, rest: bool = False) -> list[str]:
        """Return the names of the positional parameters, with ``rest`` before ``*others``; others raise."""
        spec = self.node.args
        if (spec.vararg and not rest) or spec.kwarg or spec.kwonlyargs:
            allowed = "no **kwargs or keyword-only ones" if rest else "no *args, **kwargs or keyword-only ones"
            self.fail(self.node, f"an edge function takes plain positional parameters: {allowed}")
        return [parameter.arg for parameter in (*spec.posonlyargs, *spec.args)]

    @property
    def rest(self) -> str | None:
        """The name of the parameter ``*others``, which takes all arguments beyond the named ones, or None."""
        return self.node.args.vararg.arg if self.node.args.vararg else None


def find_source(function: FunctionType) -> Source:
    """Return the source of ``function`` from its file; ``EdgeFunctionError`` if missing, changed or ambiguous."""
    code = function.__code__
    where = f"{code.co_filename}:{code.co_firstlineno}"
    with _PARSING:
        lines = tuple(linecache.getlines(code.co_filename, function.__globals__)) or typed_lines(code)
    if not lines:
        raise EdgeFunctionError(
            f"{where}: the source of {code.co_name} is not available, it was read from a pipe, passed to python -c or "
            "made by exec: put the function into a file, a notebook cell, or type it into an interpreter in a terminal"
        )
    found = [node for node in _functions(lines) if _matches(node, code)]
    if len(found) > 1:
        found = [node for node in found if isinstance(node, ast.Lambda) and _extent(node.body) == _code_extent(code)]
    if not found or _parameter_names(found[0]) != code.co_varnames[: code.co_argcount]:
        raise EdgeFunctionError(
            f"{where}: {code.co_name} is not there any more: the file has changed since it was loaded"
        )
    if len(found) > 1:
        raise EdgeFunctionError(f"{where}: several lambdas share this line: give each a line of its own, or use def")
    return Source(function, found[0], code.co_filename, lines)


def parsed(text: str) -> ast.Module:
    """Return the syntax tree of Python text; only one thread parses at a time, as CPython 3.11 may fail otherwise."""
    with _PARSING:
        return ast.parse(text)


def parsed_expression(text: str) -> ast.expr:
    """Return the syntax tree of the text of a Python expression; only one thread parses at a time."""
    with _PARSING:
        return ast.parse(text, mode="eval").body


@lru_cache(maxsize=32)
def _functions(lines: tuple[str, ...]) -> tuple[FunctionNode, ...]:
    try:
        tree = parsed("".join(lines))
    except SyntaxError:  # the file was edited while the program runs
        return ()
    return tuple(node for node in ast.walk(tree) if isinstance(node, FunctionNode))


def _matches(node: FunctionNode, code: CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
    first = node.decorator_list[0] if node.decorator_list else node
    return node.name == code.co_name and first.lineno == code.co_firstlineno


def _parameter_names(node: FunctionNode) -> tuple[str, ...]:
    return tuple(parameter.arg for parameter in (*node.args.posonlyargs, *node.args.args))


def _extent(node: ast.expr) -> tuple[int | None, ...]:
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def _code_extent(code: CodeType) -> tuple[int | None, ...]:
    """Return (first line, first column, last line, last column) of the expression of ``code``; () if unknown."""
    spans = [span for span in code.co_positions() if None not in span and (span[0], span[2]) != (span[1], span[3])]
    begins = [(line, column) for line, _, column, _ in spans]
    ends = [(line, column) for _, line, _, column in spans]
    return (*min(begins), *max(ends)) if spans else ()


def plain_function(fn: Any) -> FunctionType:
    """Return ``fn`` if it is a plain Python function; else raise ``EdgeFunctionError``."""
    if isinstance(fn, FunctionType):
        return fn
    raise EdgeFunctionError(
        f"an edge function is a plain Python function (def or lambda) or an EdgeFunction, not {type(fn).__name__}"
    )


MISSING = object()


class Name(NamedTuple):
    """The name of a value from outside a function that its translation uses.

    Attributes:
        owner: the function that uses the value, if the edge function calls it; None for the edge function itself.
        name: a closure variable, global or built-in; or, if it is an int, the index of a default value.
        path: names of attributes, each of the one before: ``("pi",)`` with the name ``math`` is ``math.pi``.
    """

    owner: Any
    name: str | int
    path: tuple[str, ...] = ()


def look_up(function: FunctionType, name: Name) -> Any:
    """Return the present value of ``name`` for ``function``; ``MISSING`` if it is not defined."""
    return reader(function.__code__, name)(function)


def reader(code: CodeType, name: Name) -> Callable[[FunctionType], Any]:
    """Return a function that maps any function whose code is ``code`` to the present value of ``name`` in it.

    It returns ``MISSING`` if the name is not defined. If the name has an owner, the value is read from the owner,
    whichever function is passed.
    """
    if name.owner is not None:
        found = reader(name.owner.__code__, name._replace(owner=None))
        return lambda function: found(name.owner)
    key, path = name.name, name.path
    if isinstance(key, int):
        return lambda function: function.__defaults__[key]  # type: ignore[index]
    outer = _cell(code.co_freevars.index(key)) if key in code.co_freevars else _from_globals(key)
    return outer if not path else lambda function: reduce(_attribute, path, outer(function))


def _cell(place: int) -> Callable[[FunctionType], Any]:
    """Return a function that maps a function to the value of its closure variable ``place``, or to ``MISSING``."""

    def read(function: FunctionType) -> Any:
        try:
            return function.__closure__[place].cell_contents  # type: ignore[index]
        except ValueError:  # not assigned yet
            return MISSING

    return read


def _from_globals(key: str) -> Callable[[FunctionType], Any]:
    """Return a function that maps a function to the value of its global or built-in ``key``, or to ``MISSING``."""

    def read(function: FunctionType) -> Any:
        value = function.__globals__.get(key, MISSING)
        return getattr(builtins, key, MISSING) if value is MISSING else value

    return read


def _attribute(value: Any, name: str) -> Any:
    return getattr(value, name, MISSING)
