"""The public objects whose docstrings have examples, and what is wrong with the examples of one."""

from __future__ import annotations

import doctest
import inspect
import re
from types import FunctionType
from typing import Any

import suricate as su
from suricate import plugins
from suricate.graph.interface.running import Listing

PARSER = doctest.DocTestParser()


def methods(kind: type) -> dict[str, Any]:
    """The public functions that a class has from suricate, by name; those of a base class are there."""
    found = {}
    for name in dir(kind):
        owner = next((base for base in kind.__mro__ if name in vars(base)), object)
        value = vars(owner)[name]
        value = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        public = isinstance(value, (FunctionType, Listing)) and not name.startswith("_")
        overrides = (
            issubclass(owner, su.stream.Source) and owner is not su.stream.Source and hasattr(su.stream.Source, name)
        )
        if public and owner.__module__.startswith("suricate") and not overrides:
            found[name] = value
    return found


def documented() -> dict[str, Any]:
    """All functions, classes and methods of ``su`` and ``su.stream``, and the classes of algorithms, each once."""
    found: dict[str, Any] = {}
    for path, public in (("su", su), ("su.stream", su.stream)):
        for name in sorted(public.__all__):
            value = getattr(public, name)
            if not isinstance(value, (type, FunctionType)):
                continue
            found[f"{path}.{name}"] = value
            if isinstance(value, type):
                found |= {f"{path}.{name}.{method}": function for method, function in methods(value).items()}
    for name, kind in sorted(plugins.algorithms().items()):
        if kind.__module__.startswith("suricate.algorithms."):
            found[f"algorithm {name}"] = kind
    names: dict[int, str] = {}
    for path, value in found.items():
        named = path.endswith(f".{value.__name__}")
        if id(value) not in names or (named and not names[id(value)].endswith(f".{value.__name__}")):
            names[id(value)] = path
    return {path: value for path, value in found.items() if names[id(value)] == path}


def examples(value: Any) -> list[doctest.Example]:
    """The examples in a docstring."""
    return PARSER.get_examples(inspect.getdoc(value) or "")


def fault(path: str, value: Any) -> str:
    """Why the examples of an object are none, or ``""``."""
    found = examples(value)
    if not found:
        return "no example"
    word = re.compile(rf"\b{path.split()[-1].rpartition('.')[2]}\b")
    calls = [number for number, example in enumerate(found) if word.search(example.source)]
    if not calls:
        return "the example does not use it"
    return "" if any(example.want for example in found[calls[0] :]) else "the example shows no result"
