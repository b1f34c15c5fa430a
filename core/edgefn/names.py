"""What an edge function takes from outside: names of its closure, its globals, modules and defaults, and their values.

They are looked up again at each call of an operator, so that a changed number gives a new translation.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from functools import reduce
from types import CodeType, FunctionType
from typing import Any, NamedTuple

MISSING = object()


class Name(NamedTuple):
    """A value from outside a function that the translation relies on: attribute ``path`` of ``name``.

    ``owner`` is the function that uses it, None for the edge function itself. A ``name`` that is an int is the index
    of a default value.
    """

    owner: Any
    name: str | int
    path: tuple[str, ...] = ()


def look_up(function: FunctionType, name: Name) -> Any:
    """Return the value of ``name`` in the closure, the globals or the built-ins of ``function``, or ``MISSING``."""
    return reader(function.__code__, name)(function)


def reader(code: CodeType, name: Name) -> Callable[[FunctionType], Any]:
    """Return a function that returns the value of name ``name`` for a function with this ``code``, as ``look_up`` does.

    If the name has an owner, the value is that of the owner.
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
    """Return a function that returns the closure variable number ``place`` of its argument, or ``MISSING``."""

    def read(function: FunctionType) -> Any:
        try:
            return function.__closure__[place].cell_contents  # type: ignore[index]
        except ValueError:  # not assigned yet
            return MISSING

    return read


def _from_globals(key: str) -> Callable[[FunctionType], Any]:
    """Return a function that returns the global or built-in ``key`` of its argument, or ``MISSING``."""

    def read(function: FunctionType) -> Any:
        value = function.__globals__.get(key, MISSING)
        return getattr(builtins, key, MISSING) if value is MISSING else value

    return read


def _attribute(value: Any, name: str) -> Any:
    return getattr(value, name, MISSING)
