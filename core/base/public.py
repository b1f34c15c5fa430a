"""What a public room shows: the names in its ``__all__`` and no others; imported on first use where that takes long."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from suricate.base import renamed
from suricate.base.errors import MissingLibraryError


def listing(names: Iterable[str]) -> Callable[[], list[str]]:
    """Return the ``__dir__`` of a room with the public ``names``."""
    return lambda: sorted(names)


def on_use(
    package: str,
    homes: Mapping[str, str],
    *,
    extra: str = "",
    old: Mapping[str, str] | None = None,
    others: Callable[[], Mapping[str, Any]] = dict,
) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a room whose names are imported when they are read.

    Args:
        package: the module of the room.
        homes: the module that defines each name, ``module:other`` if it is called otherwise there;
            ``<package>.<name>`` is the module of that name itself.
        extra: the extra of suricate that installs a library without which some homes cannot be imported. If it is not
            installed, their names stand for :class:`Missing`, so that a room can be looked through without it.
        old: names that were renamed, each with what to write now.
        others: returns what plugins add, by name; called for a name that is none of these.
    """

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name not in homes:
            if not name.startswith("_") and name in (added := others()):
                return added[name]
            renamed.attribute(f"module {package!r}", name, old or {})
        home, _, other = homes[name].partition(":")
        try:
            module = importlib.import_module(home)
        except ModuleNotFoundError as error:
            if not extra or str(error.name).startswith("suricate"):
                raise
            return Missing(f"{package}.{name} needs {error.name}: pip install 'suricate[{extra}]'")
        value = module if home == f"{package}.{name}" else getattr(module, other or name)
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__


def public(name: str) -> Any:
    """Return what the package calls ``name``: for a method that makes what a room below defines."""
    return getattr(sys.modules[__name__.partition(".")[0]], name)


class Missing:
    """Stands for a name whose library is not installed: what uses it raises ``MissingLibraryError``, which says so."""

    def __init__(self, message: str) -> None:
        self._message = message

    def __repr__(self) -> str:
        return f"<missing: {self._message}>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            renamed.attribute(repr(self), name, {})
        self._refuse()

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise MissingLibraryError(self._message)

    __call__ = __mro_entries__ = __instancecheck__ = __subclasscheck__ = _refuse  # it is no base class and no type
