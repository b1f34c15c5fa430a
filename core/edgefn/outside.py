"""The values that an edge function takes from outside: closure variables, globals, attributes of modules, defaults.

They are read at each call of an operator; if one has changed, the function is translated again with the new value.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from functools import reduce
from types import CodeType, FunctionType
from typing import Any, NamedTuple

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
