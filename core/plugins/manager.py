"""The plugin manager: backends, algorithms, commands, sources and comms, all through the hooks of ``hookspecs``.

Plugins are loaded when something of a hook is first asked for. One that fails (on import, inside a hook, by what it
returns, by a name that is taken) is warned about and listed with its error; nothing that the failing hook returned is
used, and the other plugins work. Every plugin has a pluggy manager of its own, so that no plugin object is compared,
hashed or called on behalf of another. Built-ins come first, then the others by name; the first to take a name keeps it.
An interrupt (``KeyboardInterrupt``) stops loading between two plugins or two hooks, and the next call goes on there.
Warnings are given when all is loaded, so that a filter that turns them into errors cannot stop it.

``SURICATE_PLUGINS`` (entry-point or distribution names, separated by commas) loads exactly these, and none if it is
empty. ``SURICATE_TRACE_PLUGINS=1`` writes every hook call to stderr. ``SURICATE_BACKEND`` names the default backend.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, NoReturn

import pluggy

from suricate.base import cache
from suricate.base.devices import Device
from suricate.base.errors import DeviceError, ParameterError, PluginError, UnknownNameError
from suricate.base.forks import awaited, renewed
from suricate.base.parameters import shown
from suricate.comm.protocol import Comm
from suricate.plugins import hookspecs
from suricate.plugins.algorithm import Algorithm
from suricate.plugins.checks import HOOKS, items_of
from suricate.plugins.hookspecs import PROJECT, hookimpl
from suricate.store import Store


@dataclass
class Plugin:
    """One plugin; ``name`` is what it is listed as, ``source`` its distribution or file.

    ``hooks``: the names of the hooks that it implements. ``error``: what went wrong, as a text; None: nothing.
    ``cause``: the exception that ``error`` describes.
    """

    name: str
    version: str = ""
    source: str = ""
    hooks: tuple[str, ...] = ()
    error: str | None = None
    cause: BaseException | None = None
    manager: pluggy.PluginManager = field(default_factory=lambda: _new_manager(), repr=False, compare=False)


Entry = tuple[str, str, str, Callable[[], Any]]  # name, version, source, what loads the module

_lock = renewed(threading.RLock(), lambda: _forget_other_threads())
_plugins: dict[str, Plugin] = {}
_found: dict[str, dict[str, tuple[str, Any]]] = {hook: {} for hook in HOOKS}  # hook -> name -> (plugin, thing)
_asked: set[tuple[str, str]] = set()  # (hook, plugin)
_pending: deque[Entry] | None = None  # entry points that are still to be loaded; None: they have not been read
_busy: list[str] = []  # plugins being loaded or asked: a plugin may ask for others meanwhile
_warnings: deque[str] = deque()  # that are still to be given


def backends() -> dict[str, type[Store]]:
    """Return the installed storage backends by name."""
    return _answers("suricate_backends")


def algorithms() -> dict[str, type[Algorithm]]:
    """Return the installed algorithms by name."""
    return _answers("suricate_algorithms")


def commands() -> dict[str, Any]:
    """Return the installed commands (``click.Command``) by name."""
    return _answers("suricate_commands")


def sources() -> dict[str, Any]:
    """Return the installed sources of events by name: functions that make them."""
    return _answers("suricate_sources")


def functions() -> dict[str, Any]:
    """Return the installed functions over logs of events by name; ``su.NAME`` is the one called NAME."""
    return _answers("suricate_functions")


def comms() -> dict[str, type[Comm]]:
    """Return the installed communications by name; ``connect(name)`` joins a job by the one called ``name``."""
    return _answers("suricate_comms")


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
    """Return the algorithm ``name``; raises ``UnknownNameError``, or ``PluginError`` if its plugin failed.

    Example:
        >>> su.algorithm("bfs").update_kind
        'dynamic'
    """
    return _lookup("suricate_algorithms", "algorithm", name)


def origin(kind: type) -> tuple[str, str]:
    """Return the distribution (or file) and the version of the plugin that brought a backend or an algorithm.

    ``("", "")``: no plugin did.
    """
    for found in _found.values():
        for name, thing in found.values():
            if thing is kind:
                return _plugins[name].source, _plugins[name].version
    return "", ""


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
        PluginError: the plugin, or a name that it brings, is already installed or invalid; nothing has changed.
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
        try:
            entry = _add((name, "", source, lambda: plugin))
            for hook in entry.hooks:
                _ask(entry, hook)
            if entry.error:
                raise PluginError(f"plugin {name!r} failed: {entry.error}") from entry.cause
        except BaseException:
            _forget(name)
            raise
    return name


def unregister(name: str) -> None:
    """Forget the plugin ``name``, as :func:`register` returned it, and all that it brought."""
    with _lock:
        if name not in _plugins:
            owners = [f": {name!r} came with {found[name][0]!r}" for found in _found.values() if name in found]
            raise UnknownNameError(f"there is no plugin {name!r}{''.join(owners)}")
        _forget(name)


def _forget(name: str) -> None:
    for hook in HOOKS:
        _asked.discard((hook, name))
        _found[hook] = {key: entry for key, entry in _found[hook].items() if entry[0] != name}
    _plugins.pop(name, None)


def _lookup(hook: str, what: str, name: str) -> Any:
    if not isinstance(name, str):
        raise ParameterError(f"{what} must be a name or a class, got {shown(name)}")
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
        outermost = not _busy
        if outermost:
            _load()
        for plugin in list(_plugins.values()):
            if hook in plugin.hooks and (hook, plugin.name) not in _asked and not _ask(plugin, hook):
                _warn_of(plugin)
        answers = {name: thing for name, (_, thing) in _found[hook].items()}
    while outermost and _warnings:
        warnings.warn(_warnings.popleft(), stacklevel=3)
    return answers


def _ask(plugin: Plugin, hook: str) -> bool:
    """Call a ``hook`` of a ``plugin``, and store its answer; return whether it worked."""
    key = hook, plugin.name
    _asked.add(key)
    _busy.append(plugin.name)
    try:
        return _call(plugin, hook)
    except BaseException:
        _asked.discard(key)
        raise
    finally:
        _busy.pop()


def _call(plugin: Plugin, hook: str) -> bool:
    try:
        items = items_of(hook, getattr(plugin.manager.hook, hook)())
        for name, item in items.items():
            owner, known = _found[hook].get(name, (plugin.name, item))
            if known is not item:
                raise PluginError(f"{hook} returned the name {name!r}, which plugin {owner!r} has taken")
    except (Exception, SystemExit) as error:
        _fail(plugin, error)
    else:
        new = {name: (plugin.name, item) for name, item in items.items() if name not in _found[hook]}
        _found[hook] = {**_found[hook], **new}  # at once
        return True
    return False


def _load() -> None:
    global _pending
    if _pending is None:
        _pending = deque(_entries())
    if _pending and not cache.is_kept():
        importlib.import_module("suricate.cpu.jit")  # Numba's own cache, which plugins may use, finds a folder then
    while _pending:
        plugin = _add(_pending[0])
        _pending.popleft()
        if plugin.error:
            _warn_of(plugin)


def _entries() -> Iterator[Entry]:
    """Yield the plugins to load, each under a name that no other has."""
    found = sorted(
        ((_home(p), p) for p in metadata.entry_points(group=PROJECT)), key=lambda q: (q[0][0] != PROJECT, q[1].name)
    )
    wanted = os.environ.get("SURICATE_PLUGINS")
    if wanted is not None:
        chosen = {part.strip() for part in wanted.split(",") if part.strip()}
        found = [(home, p) for home, p in found if chosen & {p.name, home[0]}]
        for name in sorted(chosen - {known for home, p in found for known in (p.name, home[0])}):
            yield name, "", "SURICATE_PLUGINS", _not_installed
    names: set[str] = set()
    for (source, version), p in found:
        name = p.name if p.name not in names else f"{source}:{p.name}"
        names.add(name)
        yield name, version, source, p.load


def _not_installed() -> NoReturn:
    raise PluginError("no plugin or distribution of this name is installed")


def _new_manager() -> pluggy.PluginManager:
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(hookspecs)
    if os.environ.get("SURICATE_TRACE_PLUGINS", "0") not in ("", "0"):
        manager.add_hookcall_monitoring(lambda *_: None, _trace)
    return manager


def _home(point: metadata.EntryPoint) -> tuple[str, str]:
    """Return the name and version of the distribution that has the entry point; ``""`` for an unknown version."""
    try:
        return (str(point.dist.name), str(point.dist.version)) if point.dist else (point.value, "")
    except Exception:
        return point.value, ""


def _add(entry: Entry) -> Plugin:
    """Load the plugin of ``entry``, list it and return it, whether it fails or not."""
    name, version, source, load = entry
    plugin = Plugin(name, version, source)
    _busy.append(plugin.name)
    try:
        module = load()
        plugin.manager.register(module, plugin.name)
        hooks = sorted(caller.name for caller in plugin.manager.get_hookcallers(module) or ())
        if not hooks or not set(hooks) <= set(HOOKS):
            found = ", ".join(hooks) or f"nothing ({getattr(module, '__file__', module)})"
            raise PluginError(f"it implements {found}; the hooks are {', '.join(HOOKS)}")
        plugin.hooks = tuple(hooks)
    except (Exception, SystemExit) as error:
        _fail(plugin, error)
        plugin.error = f"{plugin.error}{_hidden(load)}"
    finally:
        _busy.pop()
    _plugins[plugin.name] = plugin
    return plugin


def _hidden(load: Callable[[], Any]) -> str:
    """Return a hint if a folder without Python files stands for the package of an entry point, else ""."""
    name = getattr(getattr(load, "__self__", None), "module", "").partition(".")[0]
    folders = getattr(sys.modules.get(name), "__path__", None) or ()
    if getattr(sys.modules.get(name), "__file__", None) or any(any(Path(each).glob("*.py")) for each in folders):
        return ""
    return "".join(f"; the folder {each} has no __init__.py, and hides an installed {name!r}" for each in folders)


def _fail(plugin: Plugin, error: BaseException) -> None:
    try:
        text = str(error)
    except Exception:
        text = "its message cannot be shown"
    plugin.cause, plugin.error = error, " ".join(f"{type(error).__name__}: {text}".split())


def _warn_of(plugin: Plugin) -> None:
    _warnings.append(f"suricate plugin {plugin.name!r} ({plugin.source}) failed: {plugin.error}")


def _forget_other_threads() -> None:
    """In a child of ``fork``, continue as if an interrupt had ended the thread that was loading plugins."""
    _busy.clear()


awaited(lambda seconds: _lock.acquire(timeout=seconds), _lock.release)


def _trace(outcome: pluggy.Result[Any], hook: str, impls: Sequence[pluggy.HookImpl], _: Any) -> None:
    result = outcome.exception or outcome.get_result()
    print(f"suricate: {hook} of {', '.join(impl.plugin_name for impl in impls)}: {result!r}", file=sys.stderr)
