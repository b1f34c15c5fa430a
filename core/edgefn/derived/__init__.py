"""Functions derived from functions of users: each has one more argument, an array to which it writes its result.

A graph of several processes needs them. In ``converge`` a rank must know what ``then`` has returned for every vertex
(bit 1: the vertex stays active, bit 2: it activates its neighbours). The derived ``then`` writes that to the array; the
derived edge function takes the array too, but does not use it, since both functions of a call take the same arguments.
Both are made by a change of the function's syntax tree.
"""

from __future__ import annotations

import ast
import copy
import linecache
from collections.abc import Callable
from functools import lru_cache
from types import CellType, FunctionType
from typing import Any, ClassVar

from suricate.base.effects import atomic
from suricate.base.errors import EdgeFunctionError, RequirementError
from suricate.edgefn.source import find_source, parsed

Function = Callable[..., Any]
ANSWERS = "answers_"  #: name of the array


@lru_cache(maxsize=256)
def keeping_answers(
    fn: Function, then: Function, score: Function | None, count: int, fields: int, *, columns: bool = False
) -> tuple[Function, Function, Function | None]:
    """Return versions of ``fn``, ``then`` and ``score`` with an argument more: an array with the results of ``then``.

    It has one entry per vertex, or per vertex and column. ``count``: the number of arguments of the call, which all
    functions take last. ``fields``: how many parameters of ``then`` hold the reduced value: one, or one per field of a
    word or of a vote. ``score`` may be None.
    """
    column = find_source(then).parameters(rest=True)[1 + fields] if columns and isinstance(then, FunctionType) else ""
    scored = None if score is None else _made(score, 1 + fields + count, _Unchanged())
    kept = _made(then, 1 + fields + columns + count, _Keeping(column))
    return _made(fn, 3 + columns + count, _Unchanged()), kept, scored


@lru_cache(maxsize=256)
def adding_at_corners(fn: Function, count: int) -> Function:
    """Return a version of ``fn(u, v, x, ...)`` with one more argument, an array to which it adds what ``fn`` returns.

    The value is added at ``u``, ``v`` and ``x``. ``count`` is the number of arguments of ``fn`` behind these three.
    """
    names = find_source(fn).parameters(rest=True)[:3] if isinstance(fn, FunctionType) else []
    return _made(fn, 3 + count, _Adding(names))


@lru_cache(maxsize=256)
def over_wedges(fn: FunctionType, score: FunctionType | None, count: int) -> tuple[Function, Function | None]:
    """Return versions of ``fn(u, v, x, ...)`` and ``score(u, x, total, ...)`` for rows of wedges, for a vote.

    Both take the place ``i`` of a vertex in an array, their last argument, for ``u``. The first is a function of
    ``(i, x, v)`` that returns ``x`` and what ``fn`` does. ``count``: the number of arguments behind these three.
    """
    first = find_source(fn).parameters(rest=True)[:3]
    if len(first) < 3:
        raise EdgeFunctionError(
            f"{fn.__name__} takes {len(first)} parameters: wedges calls it with u, v, x and the args"
        )
    return _made(fn, 3 + count, _Voting(first[2])), None if score is None else _made(score, 3 + count, _OfPlaces())


class _Unchanged(ast.NodeTransformer):
    outside: ClassVar[dict[str, Any]] = {}  #: what it uses besides what the function does, by name

    def begin(self, first: str) -> list[ast.stmt]:
        """Return the statements to put ahead of the body: none; ``first`` is the name of the first parameter."""
        return []

    def order(self, parameters: list[ast.arg]) -> list[ast.arg]:
        """Return the parameters, the array not included, in the order in which the new function takes them."""
        return parameters


class _OfPlaces(_Unchanged):
    """Rewrites a function of a vertex so that it takes its place in the array."""

    def begin(self, first: str) -> list[ast.stmt]:
        """Return the statement that reads the vertex."""
        return parsed(f"{first} = {ANSWERS}[place_]").body

    def order(self, parameters: list[ast.arg]) -> list[ast.arg]:
        """Return the parameters with the place in front, for the vertex."""
        return [ast.arg("place_"), *parameters[1:]]


class _Voting(_OfPlaces):
    """Rewrites a function of a wedge so that it returns its end, the parameter ``x``, too."""

    def __init__(self, x: str) -> None:
        self.x = x

    def order(self, parameters: list[ast.arg]) -> list[ast.arg]:
        """Return the parameters in the order of an arc from the place to ``x``, whose weight is ``v``."""
        _, v, x, *others = parameters
        return [ast.arg("place_"), x, v, *others]

    def visit_Return(self, node: ast.Return) -> Any:
        """Replace ``return value`` by ``return x, value``."""
        if node.value is None:
            return node
        return ast.Return(ast.Tuple([ast.Name(self.x, ast.Load()), node.value], ast.Load()))


class _Keeping(_Unchanged):
    """Rewrites a function so that it writes its result to ``array[v]``, where ``v`` is its first parameter.

    ``column``: the name of the parameter ``j`` of a function that writes to ``array[v, j]``; else "".
    """

    def __init__(self, column: str = "") -> None:
        self.column = column

    def begin(self, first: str) -> list[ast.stmt]:
        """Return a statement to put ahead of the body: it sets ``array[first]`` to 0, for paths that return nothing."""
        self.place = f"{ANSWERS}[{first}, {self.column}]" if self.column else f"{ANSWERS}[{first}]"
        return parsed(f"{self.place} = 0").body

    def visit_Return(self, node: ast.Return) -> Any:
        """Replace ``return value`` by two statements: write ``value`` to the array, and return True."""
        if node.value is None:
            return node
        write = parsed(f"{self.place} = 0").body[0]
        assert isinstance(write, ast.Assign)
        write.value = node.value
        return [write, *parsed("def f():\n    return True").body[0].body]  # type: ignore[attr-defined]


class _Adding(_Unchanged):
    """Rewrites a function of ``u``, ``v`` and ``x`` so that it adds its result to an array, at each of these ids."""

    outside: ClassVar[dict[str, Any]] = {"atomic_": atomic}

    def __init__(self, corners: list[str]) -> None:
        self.corners = corners

    def visit_Return(self, node: ast.Return) -> Any:
        """Replace ``return value`` by statements that add ``value`` to the array at the three ids."""
        value = ast.Assign([ast.Name("value_", ast.Store())], node.value or ast.Constant(0))
        adds = [f"atomic_.add({ANSWERS}, {corner}, value_)" for corner in self.corners]
        return [value, *parsed("\n".join(adds)).body, ast.Return(None)]


def _made(function: Any, place: int, change: _Unchanged) -> Function:
    """Return a copy of ``function`` whose body ``change`` has rewritten, with an array as one more parameter."""
    if not isinstance(function, FunctionType):
        raise RequirementError("on a graph of several processes pass a plain function here")
    source = find_source(function)
    names, given = source.parameters(rest=True), copy.deepcopy(source.node.args)
    if given.vararg and len(names) <= place:  # every parameter has its argument, and so has every one of the rest
        names, given.defaults = [*names, *(f"other{i}_" for i in range(place - len(names)))], []
    given.posonlyargs, given.args, given.vararg = [], change.order([ast.arg(name) for name in names]), None
    given.args.insert(place, ast.arg(ANSWERS))
    ordinary = len(names) - len(given.defaults)
    if place > ordinary:  # what is ahead has defaults, and so must this; it is always given
        given.defaults.insert(place - ordinary, ast.Constant(0))
    name = "chosen" if function.__name__ == "<lambda>" else function.__name__
    begin = change.begin(names[0])
    body = [*begin, *(part for node in copy.deepcopy(source.body) for part in _listed(change.visit(node)))]
    made = ast.FunctionDef(name=name, args=given, body=body, decorator_list=[])
    file = f"<{function.__module__}.{function.__qualname__} {type(change).__name__}, {id(function)}>"
    return _with_outside(function, made, file, change.outside)


def _with_outside(function: FunctionType, made: ast.FunctionDef, file: str, more: dict[str, Any]) -> Function:
    """Return the function that the syntax tree ``made`` defines, with the globals and closure of ``function``."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells |= {name: CellType(value) for name, value in more.items()}
    around = parsed(f"def around({', '.join(cells)}):\n    return {made.name}").body[0]
    assert isinstance(around, ast.FunctionDef)
    around.body.insert(0, made)
    text = ast.unparse(ast.fix_missing_locations(ast.Module([around], []))) + "\n"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space: dict[str, Any] = {}
    exec(compile(text, file, "exec"), function.__globals__, space)
    inner: FunctionType = space["around"](*cells)
    closure = tuple(cells[cell] for cell in inner.__code__.co_freevars)
    return FunctionType(inner.__code__, function.__globals__, made.name, inner.__defaults__, closure)


def _listed(found: Any) -> list[ast.stmt]:
    return found if isinstance(found, list) else [found]
