"""Checks of what a hook returned: a plugin with wrong types is refused when it is loaded, not when it is used.

A class attribute that a base class declares keeps the type it has there: ``priority`` is an int, ``devices`` a tuple of
device names, ``knobs`` a dictionary of tuples, ``requires`` a ``Requirements`` of bools. The constructor of a backend
takes the keyword arguments that a graph passes.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from suricate.base.errors import PluginError
from suricate.comm.connect import LIBRARIES
from suricate.comm.protocol import Comm
from suricate.plugins.algorithm import UPDATE_KINDS, Algorithm, Requirements
from suricate.store import Store

HOOKS: dict[str, type | None] = {  # hook -> base class of what it returns; None: commands, functions
    "suricate_backends": Store,
    "suricate_algorithms": Algorithm,
    "suricate_commands": None,
    "suricate_sources": None,
    "suricate_functions": None,
    "suricate_comms": Comm,
}
DEVICE_KINDS = ("cpu", "cuda")

_NAME = re.compile(r"[\w.-]+")
_STORE_ARGUMENTS = ("device", "weight_dtype", "degree_hints", "memory_limit")


def items_of(hook: str, answers: Sequence[Any]) -> dict[str, Any]:
    """Return the classes or commands that a plugin returned for ``hook``, by name."""
    items: dict[str, Any] = {}
    for answer in answers or [None]:  # pluggy leaves out an answer that is None
        if not isinstance(answer, (list, tuple)):
            raise PluginError(f"{hook} returned {_shown(answer)}, which is no list")
        for item in answer:
            name = _checked_name(hook, item)
            if items.setdefault(name, item) is not item:
                raise PluginError(f"{hook} returned the name {name!r} twice")
    return items


def _checked_name(hook: str, item: Any) -> str:
    base = HOOKS[hook]
    if base is None:
        return _check_command(hook, item) if hook == "suricate_commands" else _check_function(hook, item)
    if not (isinstance(item, type) and issubclass(item, base)):
        raise PluginError(f"{hook} returned {_shown(item)}, which is no subclass of {base.__name__}")
    name = getattr(item, "name", None)
    missing = ", ".join(sorted(getattr(item, "__abstractmethods__", ())))
    if missing:
        raise PluginError(f"{hook} returned {item.__qualname__}, which lacks {missing}")
    if not _is_name(name):
        raise _wrong(item, "name", name, "expected text of letters, digits, '_', '-' and '.'")
    if issubclass(item, Comm):
        _check_comm(item)
        return str(name)
    _check_attributes(item, base)
    if issubclass(item, Store):
        _check_store(item)
    return str(name)


def _check_command(hook: str, command: Any) -> str:
    import click

    if not isinstance(command, click.Command) or not _is_name(command.name):
        raise PluginError(f"{hook} returned {_shown(command)}, which is no click.Command with a name")
    command.get_short_help_str()  # the list of commands shows it: a bad text must not break that
    return str(command.name)


def _check_function(hook: str, function: Any) -> str:
    name = getattr(function, "__name__", None)
    if not callable(function) or not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
        raise PluginError(f"{hook} returned {_shown(function)}, which is no function with a name")
    return name


def _check_attributes(item: type, base: type) -> None:
    """Raise ``PluginError`` unless the class attributes of ``item`` have the types they have in ``base``."""
    for name, default in vars(base).items():
        kind = type(default)
        if name.startswith("_") or kind not in (bool, int, tuple, dict, Requirements):
            continue
        value = getattr(item, name)
        if type(value) is not kind and (kind is not Requirements or not isinstance(value, Requirements)):
            raise _wrong(item, name, value, f"expected {'an' if kind is int else 'a'} {kind.__name__}")
        if isinstance(value, Requirements):
            _check_requirements(item, value)
    if issubclass(item, Algorithm) and item.update_kind not in UPDATE_KINDS:
        raise _wrong(item, "update_kind", item.update_kind, f"expected one of {', '.join(UPDATE_KINDS)}")


def _check_requirements(item: type, requires: Requirements) -> None:
    for field in fields(Requirements):
        value = getattr(requires, field.name)
        if not (isinstance(value, bool) or (value is None and field.default is None)):
            raise _wrong(
                item,
                f"requires.{field.name}",
                value,
                "expected True or False" + (", or None" if field.default is None else ""),
            )


def _check_comm(item: type[Comm]) -> None:
    if item.name in LIBRARIES:
        raise _wrong(item, "name", item.name, f"{', '.join(LIBRARIES)} are taken")
    if item.join.__func__ is Comm.join.__func__:  # type: ignore[attr-defined]
        raise PluginError(f"{item.__qualname__} has no class method join(), which connect({item.name!r}) calls")


def _check_store(item: type[Store]) -> None:
    if not item.devices or not set(item.devices) <= set(DEVICE_KINDS):
        raise _wrong(item, "devices", item.devices, f"expected some of {', '.join(DEVICE_KINDS)}")
    for option, values in item.knobs.items():
        if not isinstance(option, str) or not isinstance(values, (tuple, list)):
            raise _wrong(item, "knobs", item.knobs, "expected names of options with a tuple of values each")
    try:
        inspect.signature(item).bind(0, **dict.fromkeys(_STORE_ARGUMENTS))
    except TypeError as error:
        needed = ", ".join(f"{name}=" for name in _STORE_ARGUMENTS)
        raise PluginError(f"{item.__qualname__} cannot be built with (num_vertices, {needed}): {error}") from error
    for name in sorted(Store.__abstractmethods__):
        wanted = inspect.signature(getattr(Store, name)).parameters.values()
        named = {p.name: None for p in wanted if p.kind is p.KEYWORD_ONLY}
        try:
            inspect.signature(getattr(item, name)).bind(*[None] * (len(wanted) - len(named)), **named)
        except TypeError as error:
            called = ", ".join([p.name for p in wanted if p.name not in named][1:] + [f"{name}=" for name in named])
            raise PluginError(f"{item.__qualname__}.{name} cannot be called with ({called}): {error}") from error


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def _wrong(item: type, name: str, value: Any, expected: str) -> PluginError:
    return PluginError(f"{item.__qualname__}.{name} is {_shown(value)}: {expected}")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
