"""Write ``.ci/surface.txt``: every public name with its signature, so that a change of one is a decision.

Run it after public names or signatures have changed, and commit what it writes: ``python .ci/surface.py``.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import suricate as su

FILE = Path(__file__).with_name("surface.txt")
AUTHORS = ("suricate.cursors", "suricate.replaying", "suricate.state", "suricate.store")  #: public, beside those of su
KINDS = inspect.Parameter
PAGE = FILE.parents[1] / "docs" / "plugins.md"
ROW = re.compile(r"^\| ((?:`suricate[\w.]*`(?:, )?)+) \| (.+) \|$", re.MULTILINE)


def rooms() -> list[ModuleType]:
    """Return the public rooms, the package first."""
    found = [value for name in su.__all__ if inspect.ismodule(value := getattr(su, name))]
    return [su, *sorted([*found, *map(importlib.import_module, AUTHORS)], key=lambda room: room.__name__)]


def promised() -> dict[str, tuple[str, ...]]:
    """Return the names that the page on plugins promises to their authors, by module; all public ones of a room."""
    found: dict[str, tuple[str, ...]] = {}
    for modules, names in ROW.findall(PAGE.read_text()):
        for module in re.findall(r"`([\w.]+)`", modules):
            is_room = names.startswith("all public names")
            found[module] = tuple(importlib.import_module(module).__all__ if is_room else re.findall(r"`(\w+)`", names))
    return found


def shown(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter without its type; a default that has no text of its own is shown as three dots."""
    default = parameter.default
    if default is not KINDS.empty and repr(default).startswith("<"):
        default = ...
    return parameter.replace(annotation=KINDS.empty, default=default)


def signature(value: Any) -> str:
    """Return the parameters of something that can be called, with defaults and without types."""
    try:
        found = inspect.signature(getattr(value, "py_func", value))
    except (TypeError, ValueError):
        return "(...)"
    parameters = [*map(shown, found.parameters.values())]
    return str(found.replace(parameters=parameters, return_annotation=KINDS.empty)).replace("Ellipsis", "...")


def members(kind: type) -> Iterator[str]:
    """Yield name and signature of the public members that a class has from suricate, but not the tests of a kit."""
    for name in sorted(name for name in dir(kind) if not name.startswith(("_", "test_"))):
        owner = next((base for base in kind.__mro__ if name in vars(base)), object)
        if not owner.__module__.startswith("suricate"):
            continue
        value = vars(owner)[name]
        if isinstance(value, (classmethod, staticmethod)):
            yield f"{name}{signature(getattr(kind, name))}  [{type(value).__name__}]"
        elif inspect.isfunction(value):
            yield f"{name}{signature(value)}"
        else:
            yield f"{name}  [{'property' if inspect.isdatadescriptor(value) else 'attribute'}]"


def lines() -> Iterator[str]:
    """Yield a line for each public name; the members of a class only where it is first."""
    first: dict[int, str] = {}
    public = {room.__name__: tuple(room.__all__) for room in rooms()}
    for room, names in (
        public | {module: names for module, names in promised().items() if module not in public}
    ).items():
        for name in sorted(names):
            value, path = getattr(importlib.import_module(room), name), f"{room}.{name}"
            if not isinstance(value, type) and not callable(value):
                yield f"{path}  [{type(value).__name__}]"
            elif id(value) in first:
                yield f"{path} = {first[id(value)]}"
            else:
                first[id(value)] = path
                yield path + (heading(value) if isinstance(value, type) else signature(value))
                yield from (f"{path}.{member}" for member in (members(value) if isinstance(value, type) else ()))


def heading(kind: type) -> str:
    """Return how a class is made, nothing if Python or a library says so; of an exception, what it is."""
    if issubclass(kind, BaseException):
        return f"  [{', '.join(base.__name__ for base in kind.__bases__)}]"
    made_by = next(base for base in kind.__mro__ if vars(base).keys() & {"__init__", "__new__"})
    return signature(kind) if made_by.__module__.startswith("suricate") else ""


def generated() -> str:
    """Return the text of the list."""
    return "".join(f"{line}\n" for line in lines())


if __name__ == "__main__":
    FILE.write_text(generated())
    print(f"{FILE}: {len(FILE.read_text().splitlines())} lines")
