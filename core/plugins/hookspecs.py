"""The hooks of suricate: what a plugin may return, and the check of what it did return.

A plugin is a module or object that implements any of these functions with ``@suricate.hookimpl`` and is named in the
entry-point group ``suricate`` of its package. Hooks return classes and commands; nothing heavy is imported to do so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pluggy

from suricate.algorithm import Algorithm
from suricate.errors import PluginError
from suricate.store import Store

if TYPE_CHECKING:
    import click

PROJECT = "suricate"  #: the pluggy project and the entry-point group

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def suricate_backends() -> list[type[Store]]:  # type: ignore[empty-body]
    """Return the storage backends that the plugin brings."""


@hookspec
def suricate_algorithms() -> list[type[Algorithm]]:  # type: ignore[empty-body]
    """Return the algorithms that the plugin brings."""


@hookspec
def suricate_commands() -> list[click.Command]:  # type: ignore[empty-body]
    """Return the commands that the plugin adds to the ``suricate`` command line."""


HOOKS: dict[str, type | None] = {  # hook -> base class of what it returns; None: commands
    "suricate_backends": Store,
    "suricate_algorithms": Algorithm,
    "suricate_commands": None,
}


def name_of(hook: str, thing: Any) -> str:
    """Return the name of a thing that ``hook`` returned; raises ``PluginError`` if it cannot be what it has to be."""
    base = HOOKS[hook]
    if base is None:
        import click

        if not isinstance(thing, click.Command) or not thing.name:
            raise PluginError(f"{hook} returned {thing!r}, which is no click.Command with a name")
        return thing.name
    if not (isinstance(thing, type) and issubclass(thing, base)):
        raise PluginError(f"{hook} returned {thing!r}, which is no subclass of {base.__name__}")
    missing = ", ".join(sorted(getattr(thing, "__abstractmethods__", ())))
    name = getattr(thing, "name", None)
    if missing or not isinstance(name, str) or not name:
        raise PluginError(f"{hook} returned {thing.__qualname__}, which lacks {missing or 'a name'}")
    return name
