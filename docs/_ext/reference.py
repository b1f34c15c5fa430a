"""Write the pages of the reference, ``docs/reference/*.rst``, from the public lists, before Sphinx looks for pages.

The lists are those that ``.ci/surface.py`` reads: what the package and its rooms name in ``__all__``, and the members
that classes have from suricate. Everything else on a page is a docstring, which autodoc takes.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from textwrap import indent
from types import ModuleType
from typing import Any

import surface
import tables
from see_also import BY_PATH, see_also
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.ext.napoleon import GoogleDocstring

import suricate as su
from suricate import operators, plugins

CHECKOUT = Path(__file__).resolve().parents[2]
FOLDER = CHECKOUT / "docs" / "reference"
VERSION = ".".join(su.__version__.split(".")[:2])
#: pages of their own, made of the names of ``su``
OPERATORS = [name for name in su.__all__ if name in {*operators.__all__, "contract", "wedges", "sample", "Repeated",
                                                     "Contraction", "Sample"}]  # fmt: skip


PLAIN = re.compile(r"^\.\. py:data:: (\w+)\n   :module: ([\w.]+)$", re.MULTILINE)


class Writer:
    """Writes a text to a page of the reference, if it differs from what is there, and remembers its name."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.text = ""

    def __call__(self, name: str, title: str, *parts: str) -> None:
        """Write a page: a title, and parts, which blank lines separate."""
        text = "\n\n".join((f"{title}\n{'=' * len(title)}", *(part for part in parts if part))) + "\n"
        file = FOLDER / f"{name}.rst"
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
        self.written.append(name)
        self.text += text


def released() -> dict[str, str]:
    """Return in which version each public name came: of the public lists that were kept at releases, the oldest."""
    found: dict[str, str] = {}
    files = (CHECKOUT / ".ci").glob("surface-*.txt")
    for file in sorted(files, key=lambda file: [int(part) for part in file.stem.partition("-")[2].split(".")]):
        for name in re.findall(r"^[\w.]+", file.read_text(), re.MULTILINE):
            found.setdefault(name, file.stem.partition("-")[2])
    return found


RELEASED = released()


def since(path: str) -> str:
    """Return the version in which a public name came: this one, if no release before had it."""
    return RELEASED.get(path, VERSION)


def entry(directive: str, path: str, inside: str = "", margin: str = "") -> str:
    """Return a directive of autodoc; ``inside`` are more lines of its content.

    The version is said at each name, and at a member if it is another one than that of its class.
    """
    owner = path.rpartition(".")[0]
    is_news = not margin or since(path) != since(owner)
    added = f"{margin}   .. versionadded:: {since(path)}\n\n" if is_news else ""
    return f"{margin}.. {directive}:: {path}\n\n{added}{see_also(path, margin + '   ')}\n{inside}"


def members(kind: type, path: str, known: dict[int, str]) -> Iterator[str]:
    """Yield the entries of the members of a class; those of a class that is on another page are left there."""
    for line in surface.members(kind):
        name = re.match(r"\w+", line)[0]  # type: ignore[index]
        owner = next(base for base in kind.__mro__ if name in vars(base))
        if owner is not kind and id(owner) in known:
            continue
        if re.search(r"\[property\]$", line):
            directive = "autoproperty" if isinstance(vars(owner)[name], property) else "autoattribute"
        else:
            directive = "autoattribute" if line.endswith("[attribute]") else "automethod"
        yield entry(directive, f"{path}.{name}", margin="   ")


def described(value: Any, path: str, known: dict[int, str]) -> str:
    """Return the entry of a public name."""
    if inspect.ismodule(value):
        return f"* :doc:`{path} <{path}>`: {inspect.getdoc(value).partition(chr(10))[0]}"  # type: ignore[union-attr]
    if isinstance(value, type):
        value.__name__ = path.rpartition(".")[2]  # else autodoc calls it an alias of its other name
        return entry("autoclass", path, "\n".join(members(value, path, known)))
    if callable(value):
        return entry("autofunction", path)
    if type(value).__module__.startswith("suricate."):
        return instance(value, path)
    shown = repr(value) if isinstance(value, (int, str, tuple)) and len(repr(value)) < 80 else ""
    return data(path) + (f"\n   :value: {shown}" if shown else "")


def data(path: str, directive: str = "data", called: str = "") -> str:
    """Return the beginning of an entry that autodoc does not make; ``called`` is its signature without the module."""
    module = path.rpartition(".")[0]
    return f".. py:{directive}:: {called or path.rpartition('.')[2]}\n   :module: {module}"


def instance(value: Any, path: str) -> str:
    """Return the entry of an object whose methods are called by its name, as those of ``su.atomic``."""
    methods = {line.partition("(")[0]: line for line in surface.members(type(value)) if "(" in line}
    name = path.rpartition(".")[2]
    parts = [data(path), indent(inspect.getdoc(type(value)) or "", "   "),
             f"   .. versionadded:: {since(path)}", see_also(path, "   ")]  # fmt: skip
    for method, line in methods.items():
        called = name + "." + line.partition("  [")[0].replace("(self, ", "(").replace("(self)", "()")
        parts += [indent(data(path, "method", called), "   "),
                  indent(str(GoogleDocstring(inspect.getdoc(getattr(value, method)) or "")), "      ")]  # fmt: skip
    return "\n\n".join(parts)


def room(module: ModuleType, write: Writer, known: dict[int, str]) -> None:
    """Write the page of a public room."""
    path, names = module.__name__, sorted(module.__all__, key=str.lower)
    parts = [f".. module:: {path}", summary(module)]
    elsewhere = known.copy()
    known |= {id(value): f"{path}.{name}" for name in names if isinstance(value := getattr(module, name), type)}
    for name in names:
        value = getattr(module, name)
        there = elsewhere.get(id(value))
        parts.append(f"``{path}.{name}`` is :py:obj:`{there}`." if there else described(value, f"{path}.{name}", known))
    write(path, path, *parts)


def summary(module: ModuleType) -> str:
    """Return the docstring of a module as text for a page."""
    return inspect.getdoc(module) or ""


def algorithms(write: Writer) -> None:
    """Write a page per algorithm that comes along: what it computes, its result, its method and papers."""
    names = []
    for name, kind in sorted(plugins.algorithms().items()):
        module = importlib.import_module(kind.__module__)
        if not module.__name__.startswith("suricate.algorithms."):
            continue
        call = f'``graph.track("{name}")``, ``graph.compute("{name}")``; after a batch: *{kind.update_kind}*.'
        own = [value for value in vars(module).values() if getattr(value, "__module__", "") == module.__name__]
        kinds = [kind, *(value for value in own if isinstance(value, type) and hasattr(value, "_fields"))]
        entries = [entry("autoclass", f"{module.__name__}.{value.__name__}") for value in kinds]
        write(
            f"algorithms/{name}",
            name,
            call,
            *entries,
            see_also(f"@{name}"),
            "Method and papers\n-----------------",
            summary(module),
        )
        names.append(f"algorithms/{name}")
    write("algorithms", "Algorithms", tables.algorithms(), toctree(names, "hidden:"))


def toctree(names: Iterable[str], option: str) -> str:
    """Return a table of contents."""
    return f".. toctree::\n   :{option}\n\n" + "\n".join(f"   {name}" for name in names)


def generate(app: Sphinx) -> None:
    """Write all pages, and remove those that are no longer written."""
    write, rooms = Writer(), surface.rooms()
    public = {name: getattr(su, name) for name in sorted(su.__all__, key=str.lower) if name != "__version__"}
    public = {name: value for name, value in public.items() if not inspect.ismodule(value)}
    known = {id(value): f"suricate.{name}" for name, value in public.items() if isinstance(value, type)}
    entries = {name: described(value, f"suricate.{name}", known) for name, value in public.items()}
    write("graph", "Graph", entries.pop("Graph"))
    write("operators", "Operators", *(entries.pop(name) for name in OPERATORS))
    write("suricate", "suricate", ".. module:: suricate", summary(su), *entries.values())
    for module in rooms[1:]:
        room(module, write, known)
    algorithms(write)
    for name, (title, table) in TABLES.items():
        write(name, title, table())
    entries_written = set(re.findall(r"^ *\.\. auto\w+:: ([\w.]+)$", write.text, re.MULTILINE))
    entries_written |= {f"{module}.{name}" for name, module in PLAIN.findall(write.text)}
    algorithms_written = {f"@{name.partition('/')[2]}" for name in write.written if name.startswith("algorithms/")}
    if missing := sorted(BY_PATH.keys() - entries_written - algorithms_written):
        raise ExtensionError(f"docs/_ext/see_also.py names what is in no page: {', '.join(missing)}")
    first = ["suricate", "graph", "operators", "algorithms", *(module.__name__ for module in rooms[1:]), *TABLES]
    write("index", "Reference", INTRODUCTION, toctree(first, "maxdepth: 1"))
    for file in FOLDER.rglob("*.rst"):
        if str(file.relative_to(FOLDER).with_suffix("")) not in write.written:
            file.unlink()


INTRODUCTION = """Every public name, with its signature, parameters and errors. In the examples ``su`` is
``import suricate as su``, ``st`` is ``import suricate.stream as st``, ``np`` is ``import numpy as np``."""
TABLES: dict[str, tuple[str, Callable[[], str]]] = {
    "errors": ("Error classes", tables.errors),
    "commands": ("Command line", tables.commands),
    "networkx-functions": ("Functions of NetworkX", tables.networkx_functions),
}


def plain_defaults(
    app: Sphinx, what: str, name: str, value: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Return a signature whose defaults are values, where these can be written: modules by name, objects as dots."""
    if signature is not None:
        signature = re.sub(r"<module '(\w+)' from '[^']*'>", r"\1", signature)
        signature = re.sub(r"<(?:object object[^>]*|factory)>", "...", signature)
        signature = re.sub(r"<class '([\w.]+)'>", lambda found: found[1].rpartition(".")[2], signature)
    return signature, returned


def setup(app: Sphinx) -> dict[str, Any]:
    """Generate the pages when a build begins."""
    app.connect("builder-inited", generate)
    app.connect("autodoc-process-signature", plain_defaults)
    return {"parallel_read_safe": True}
