"""Public words that were settled before the first release: an old one raises an error that names the new one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar, cast

from suricate.base.errors import ParameterError

F = TypeVar("F", bound=Callable[..., Any])


def keywords(order: str = "", /, **now: str) -> Callable[[F], F]:
    """Decorate a function whose keywords were renamed, each ``old="what to write now"``.

    A call with an old keyword raises :class:`ParameterError`; others cost one more call, unless the function has a list
    ``refusals`` (see ``suricate.state.locks``). ``order``: what a call is told that passes a function as the second
    argument, or more than three without names, which was right before.
    """

    def refuse(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        name = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
        for old in kwargs.keys() & now.keys():
            raise ParameterError(f"{name}({old}=...) is written {now[old]} now") from None
        if order and (len(args) > 3 or any(map(callable, args[1:2]))):
            raise ParameterError(f"{name}: {order}") from None

    def decorate(function: F) -> F:
        if hasattr(function, "refusals"):
            function.refusals.append(refuse)
            return function

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except Exception:  # an old keyword may be among options, and another error come first
                refuse(function, args, kwargs)
                raise

        return cast("F", call)

    return decorate


def attribute(owner: str, name: str, now: Mapping[str, str]) -> NoReturn:
    """Raise what ``__getattr__`` of ``owner`` raises: the error for ``name`` says what to write if ``now`` has it."""
    told = f"; it is written {now[name]} now" if name in now else ""
    raise AttributeError(f"{owner} has no attribute {name!r}{told}", name=name)


class Old:
    """An attribute of a class that was renamed; a method ``__getattr__`` would make all its attributes slower."""

    def __init__(self, now: str) -> None:
        self._now = now

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, thing: Any, owner: type) -> NoReturn:
        attribute(f"{owner.__name__!r} object", self._name, {self._name: self._now})


class HidesOld(type):
    """Metaclass of classes with attributes :class:`Old`: ``dir`` does not show them."""

    def __dir__(cls) -> list[str]:
        return [name for name in super().__dir__() if hasattr(cls, name)]


class Imports:
    """For ``sys.meta_path``; finds no module: importing an old name of ``package`` raises an error with the new one."""

    def __init__(self, package: str, now: Mapping[str, str]) -> None:
        self._now = {f"{package}.{old}": new for old, new in now.items()}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Raise ``ImportError`` if ``name`` is an old one."""
        if name in self._now:
            raise ImportError(f"{name} is written {self._now[name]} now", name=name)
