"""``[source]`` at every entry: viewcode links what a class defines itself, here also what it has from its bases.

Each name is looked up where it is defined, and viewcode told so while it reads a page. The links back from the listed
sources are then led to the entry that was linked.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

BACK = re.compile(r'(<div class="viewcode-block" id="([\w.]+)">\s*)<a class="viewcode-back" href="[^"]*">\[docs\]</a>')
UNWRAP = ("fget", "func", "__func__", "py_func")  #: of properties, cached ones, class methods, compiled functions


def owner_of(kind: type, name: str) -> type:
    """Return the class that defines a member."""
    return next((base for base in kind.__mro__ if name in vars(base)), kind)


def defined(module: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield modules and names under which something may be defined, the best first; its class is the last resort."""
    *parents, last = name.split(".")
    parent = reduce(getattr, parents, importlib.import_module(module))
    if isinstance(parent, type):
        owner = owner_of(parent, last)
        value = vars(owner).get(last)
    else:
        owner, value = None, getattr(parent, last)
    for attribute in UNWRAP:
        value = getattr(value, attribute, None) or value
    value = inspect.unwrap(value) if callable(value) else value
    if getattr(value, "__module__", None) and hasattr(value, "__qualname__"):
        yield value.__module__, value.__qualname__
    if owner is not None:
        yield owner.__module__, owner.__qualname__


def place(module: str, name: str) -> tuple[str, str] | None:
    """Return the module and the name of the definition that a reader is shown, or None if there is none."""
    for there, found in defined(module, name):
        if there.startswith("suricate") and found in ModuleAnalyzer.for_module(there).find_tags():
            return there, found
    return None


def lead(app: Sphinx, doctree: nodes.document) -> None:
    """Before viewcode reads a page, say where its entries are defined."""
    backs: dict[tuple[str, str], tuple[str, str]] = app.env.__dict__.setdefault("source_backs", {})
    for sign in doctree.findall(addnodes.desc_signature):
        module, name = sign.get("module"), sign.get("fullname")
        found = place(module, name) if module and name else None
        if found is not None:
            sign["reference_name"] = module, name
            sign["module"], sign["fullname"] = found
            backs[found] = app.env.docname, sign["ids"][0] if sign["ids"] else ""


def restore(app: Sphinx, doctree: nodes.document) -> None:
    """Behind viewcode, put back what the page calls its entries."""
    for sign in doctree.findall(addnodes.desc_signature):
        if "reference_name" in sign:
            sign["module"], sign["fullname"] = sign.attributes.pop("reference_name")


def lead_back(app: Sphinx, exception: Exception | None) -> None:
    """Lead the links of the listed sources to the entries."""
    if exception is not None or app.builder.name != "html":
        return
    backs, root = app.env.__dict__.get("source_backs", {}), Path(app.outdir) / "_modules"
    for file in root.rglob("*.html"):
        where = file.relative_to(root).with_suffix("")
        module, up = ".".join(where.parts), "../" * len(where.parts)

        def back(found: re.Match[str], module: str = module, up: str = up) -> str:
            page, anchor = backs.get((module, found[2]), ("", ""))
            link = f'<a class="viewcode-back" href="{up}{page}.html#{anchor}">[docs]</a>'
            return found[1] + (link if page else "")

        file.write_text(BACK.sub(back, file.read_text()))


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect what is above, around viewcode."""
    app.connect("doctree-read", lead, priority=400)
    app.connect("doctree-read", restore, priority=600)
    app.connect("build-finished", lead_back)
    return {"parallel_read_safe": False}
