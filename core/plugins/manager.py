"""The plugin manager: backends, algorithms and commands, built in or installed, all through the hooks of ``hookspecs``.

Plugins are loaded when something of a hook is first asked for. One that fails (on import, inside a hook, by what it
returns, by a name that is taken) is warned about and listed with its error; nothing that the failing hook returned is
used, and the other plugins work. Every plugin has a pluggy manager of its own, so that no plugin object is compared,
hashed or called on behalf of another. Built-ins come first, then the others by name; the first to take a name keeps it.

``SURICATE_PLUGINS`` (entry-point or distribution names, separated by commas) loads exactly these, and none if it is
empty. ``SURICATE_TRACE_PLUGINS=1`` writes every hook call to stderr. ``SURICATE_BACKEND`` names the default backend.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

import pluggy

from suricate.algorithm import Algorithm
from suricate.devices import Device
from suricate.errors import DeviceError, PluginError, UnknownNameError
from suricate.plugins import hookspecs
from suricate.plugins.checks import HOOKS, items_of
from suricate.plugins.hookspecs import PROJECT, hookimpl
from suricate.store import Store


@dataclass
class Plugin:
    """One plugin; ``source`` is its distribution or file, ``hooks`` those it implements, ``error`` what went wrong."""

    name: str
    version: str = ""
    source: str = ""
    hooks: tuple[str, ...] = ()
    error: str | None = None
    cause: BaseException | None = None
    manager: pluggy.PluginManager = field(default_factory=lambda: _new_manager(), repr=False, compare=False)


_lock = threading.RLock()
_plugins: dict[str, Plugin] = {}
_found: dict[str, dict[str, tuple[str, Any]]] = {hook: {} for hook in HOOKS}  # hook -> name -> (plugin, thing)
_asked: set[tuple[str, str]] = set()  # (hook, plugin)
_loaded: list[bool] = []  # not empty once the entry points were loaded


def backends() -> dict[str, type[Store]]:
    """Return the installed storage backends by name."""
    return _answers("suricate_backends")


def algorithms() -> dict[str, type[Algorithm]]:
    """Return the installed algorithms by name."""
    return _answers("suricate_algorithms")


def commands() -> dict[str, Any]:
    """Return the installed commands (``click.Command``) by name."""
    return _answers("suricate_commands")


def installed() -> list[Plugin]:
    """Return all plugins, those that failed included, after calling every hook of each."""
    with _lock:
        for hook in HOOKS:
            _answers(hook)
        return list(_plugins.values())


def backend(name: str) -> type[Store]:
    """Return the backend ``name``; raises ``UnknownNameError``, or ``PluginError`` if its plugin failed."""
    return _lookup("suricate_backends", "backend", name)


def algorithm(name: str) -> type[Algorithm]:
    """Return the algorithm ``name``; raises as :func:`backend` does."""
    return _lookup("suricate_algorithms", "algorithm", name)


def default_backend(device: Device) -> type[Store]:
    """Return the backend that ``SURICATE_BACKEND`` names, else that of highest ``priority`` that runs on ``device``."""
    if os.environ.get("SURICATE_BACKEND"):
        return backend(os.environ["SURICATE_BACKEND"])
    able = [cls for cls in backends().values() if device.kind in cls.devices]
    if not able:
        raise DeviceError(f"no installed backend runs on {device}; `suricate plugins` lists what is installed")
    return max(able, key=lambda cls: cls.priority)


def register(plugin: Any, name: str | None = None) -> str:
    """Add a module or object with hooks, or one backend or algorithm class; return the name it is listed under.

    Raises:
        PluginError: the plugin, or a name that it brings, is there already or cannot be used; nothing has changed.
    """
    name = str(name or getattr(plugin, "__name__", None) or type(plugin).__name__)
    source = str(getattr(plugin, "__file__", None) or getattr(plugin, "__module__", ""))
    for hook, base in HOOKS.items():
        if base is not None and isinstance(plugin, type) and issubclass(plugin, base):
            plugin = type("OneClass", (), {hook: staticmethod(hookimpl(lambda thing=plugin: [thing]))})()
    with _lock:
        installed()
        if name in _plugins:
            raise PluginError(f"plugin {name!r} is there already; unregister({name!r}) removes it")
        entry = _add(Plugin(name, source=source), lambda: plugin)
        installed()
        if entry.error:
            unregister(name)
            raise PluginError(f"plugin {name!r} failed: {entry.error}") from entry.cause
    return name


def unregister(name: str) -> None:
    """Forget the plugin ``name`` and all that it brought."""
    with _lock:
        if _plugins.pop(name, None) is None:
            raise UnknownNameError(f"there is no plugin {name!r}")
        for hook in HOOKS:
            _asked.discard((hook, name))
            _found[hook] = {key: entry for key, entry in _found[hook].items() if entry[0] != name}


def _lookup(hook: str, what: str, name: str) -> Any:
    found = _answers(hook)
    if name in found:
        return found[name]
    failed = [plugin for plugin in list(_plugins.values()) if plugin.error]
    message = f"no {what} {name!r} is installed (there are: {', '.join(found) or 'none'})"
    message += "".join(f"; plugin {plugin.name!r} failed: {plugin.error}" for plugin in failed)
    for plugin in failed:
        if plugin.name == name:
            raise PluginError(message) from plugin.cause
    raise UnknownNameError(message)


def _answers(hook: str) -> dict[str, Any]:
    with _lock:
        _load()
        for plugin in list(_plugins.values()):
            if hook in plugin.hooks and (hook, plugin.name) not in _asked:
                _asked.add((hook, plugin.name))
                _ask(plugin, hook)
        return {name: thing for name, (_, thing) in _found[hook].items()}


def _ask(plugin: Plugin, hook: str) -> None:
    try:
        items = items_of(hook, getattr(plugin.manager.hook, hook)())
        for name, item in items.items():
            owner, known = _found[hook].get(name, (plugin.name, item))
            if known is not item:
                raise PluginError(f"{hook} returned the name {name!r}, which plugin {owner!r} has taken")
    except (Exception, SystemExit) as error:
        _fail(plugin, error)
    else:
        for name, item in items.items():
            _found[hook].setdefault(name, (plugin.name, item))


def _load() -> None:
    if _loaded:
        return
    _loaded.append(True)  # first: a plugin that asks while it is imported sees those before it
    found = sorted(
        ((_home(p), p) for p in metadata.entry_points(group=PROJECT)), key=lambda q: (q[0][0] != PROJECT, q[1].name)
    )
    wanted = os.environ.get("SURICATE_PLUGINS")
    if wanted is not None:
        chosen = {part.strip() for part in wanted.split(",") if part.strip()}
        found = [(home, p) for home, p in found if chosen & {p.name, home[0]}]
        for name in sorted(chosen - {known for home, p in found for known in (p.name, home[0])}):
            _plugins[name] = Plugin(name, source="SURICATE_PLUGINS")
            _fail(_plugins[name], PluginError("no plugin or distribution of this name is installed"))
    for (source, version), p in found:
        _add(Plugin(p.name if p.name not in _plugins else f"{source}:{p.name}", version, source), p.load)


def _new_manager() -> pluggy.PluginManager:
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(hookspecs)
    if os.environ.get("SURICATE_TRACE_PLUGINS", "0") not in ("", "0"):
        manager.add_hookcall_monitoring(lambda *_: None, _trace)
    return manager


def _home(point: metadata.EntryPoint) -> tuple[str, str]:
    """Return the name and version of the distribution, as far as its metadata can be read."""
    try:
        return (str(point.dist.name), str(point.dist.version)) if point.dist else (point.value, "")
    except Exception:
        return point.value, ""


def _add(plugin: Plugin, load: Callable[[], Any]) -> Plugin:
    _plugins[plugin.name] = plugin
    try:
        module = load()
        plugin.manager.register(module, plugin.name)
        hooks = sorted(caller.name for caller in plugin.manager.get_hookcallers(module) or ())
        if not hooks or not set(hooks) <= set(HOOKS):
            raise PluginError(f"it implements {', '.join(hooks) or 'nothing'}; the hooks are {', '.join(HOOKS)}")
        plugin.hooks = tuple(hooks)
    except (Exception, SystemExit) as error:
        _fail(plugin, error)
    return plugin


def _fail(plugin: Plugin, error: BaseException) -> None:
    try:
        text = str(error)
    except Exception:
        text = "its message cannot be shown"
    plugin.cause, plugin.error = error, " ".join(f"{type(error).__name__}: {text}".split())
    warnings.warn(f"suricate plugin {plugin.name!r} ({plugin.source}) failed: {plugin.error}", stacklevel=2)


def _trace(outcome: pluggy.Result[Any], hook: str, impls: Sequence[pluggy.HookImpl], _: Any) -> None:
    result = outcome.exception or outcome.get_result()
    print(f"suricate: {hook} of {', '.join(impl.plugin_name for impl in impls)}: {result!r}", file=sys.stderr)
