"""What an edge function takes from outside: names of its closure, its globals, modules and defaults, and their values.

They are looked up again at each call of an operator, so that a changed number gives a new translation.
"""

from __future__ import annotations

import builtins
from types import FunctionType
from typing import Any, NamedTuple

MISSING = object()


class Name(NamedTuple):
    """A value from outside that the translation relies on: attribute ``path`` of ``name``, as ``owner`` sees it.

    ``owner`` is None for the edge function itself, else a function it calls. A ``name`` that is an int is the number of
    a default value.
    """

    owner: Any
    name: str | int
    path: tuple[str, ...] = ()


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
