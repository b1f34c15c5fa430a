"""Numba modules generated from templates: each loop over a backend's cursor is a module of its own, made from text.

Numba cannot store closures on disk, but it can store functions of modules (see ``suricate.cpu.jit``). A module's name
contains a digest of its text. The functions that it imports are not part of this digest: machine code is stored under a
digest that covers them.
"""

from __future__ import annotations

import hashlib
import importlib
import linecache
import marshal
import re
import sys
import threading
from types import CodeType, ModuleType

from suricate.base import cache
from suricate.base.forks import renewed
from suricate.base.types import StoreView
from suricate.cursors import OWNER

IF_ABSENT = {
    "ahead": "@inner\ndef ahead(g, u):\n    pass",
    "common": "@inner\ndef common(g, u, v, into):\n    return np.uint64(0)",
    "copied": "@inner\ndef copied(g, c, into, at):\n    return at",
    "copied_weights": (
        "@inner\ndef copied_weights(g, c, into, at, count):\n"
        "    for i in range(count):\n        into[at + i] = weight(g, begin(g, c) + i)"
    ),
    "later": "@inner\ndef later(g, i):\n    return np.uint32(0)",
    "run": "@inner\ndef run(g, u):\n    return np.int64(-1)",
}  #: what takes the place of optional functions of a cursor; only ``ahead`` and ``copied_weights`` are called then

ROW = frozenset({"begin", "buckets", "end", "first", "following", "key"})  #: what a loop over ``neighbors`` calls
_ROW_LOOP = re.compile(r"for (\w+), (\w+) in (\w*)neighbors\((\w+), (\w+)\):")
_LOOP = re.compile(r"(for|while)\b")

_lock = renewed(threading.Lock())  # of loading modules


def load_module(template: str, text: str) -> ModuleType:
    """Return the module with the source ``text``, created once per process.

    Loops over ``neighbors`` in the text are expanded first (:func:`rows_written_out`). ``template`` is the name of the
    template that the text was made from, and becomes part of the module's name.
    """
    text = rows_written_out(text)
    digest = hashlib.sha256("\0".join((text, str(sys.implementation.cache_tag))).encode()).hexdigest()[:24]
    name = f"suricate_{template}_{digest}"
    with _lock:  # another thread may be making it
        return sys.modules.get(name) or _made(name, text)


def rows_written_out(text: str) -> str:
    """Return ``text`` with loops over ``neighbors(g, u)`` expanded; ``ValueError`` if one contains a ``break``."""
    lines: list[str] = []
    loops: list[tuple[int, str]] = []  # those that the line is in, over rows or not: indent, and how to go on in a row
    for number, line in enumerate([*text.split("\n"), "end"] if "neighbors(" in text else ()):
        code, rows = line.lstrip(), sum(bool(further) for _, further in loops)
        indent = len(line) - len(code)
        while code and loops and indent <= loops[-1][0]:
            start, further = loops.pop()
            rows -= bool(further)
            lines += [" " * (start + 8 * rows) + further] if further else []
        margin = " " * (indent + 8 * rows)
        if found := _ROW_LOOP.fullmatch(code):
            v, slot, right, g, u = found.groups()
            k, c, slot = f"k{number}", f"c{number}", f"slot{number}" if slot == "_" else slot
            lines += [
                f"{margin}for {k} in range({right}buckets({g}, {u})):",
                f"{margin}    {c} = {right}first({g}, {u}, {k})",
                f"{margin}    while {c} >= 0:",
                f"{margin}        for {slot} in range({right}begin({g}, {c}), {right}end({g}, {c})):",
                f"{margin}            {v} = {right}key({g}, {slot})",
                f"{margin}            if {v} >= TOMBSTONE:",
                f"{margin}                continue",
            ]
            loops.append((indent, f"        {c} = {right}following({g}, {c})"))
            continue
        if code == "break" and loops and loops[-1][1]:
            raise ValueError(f"line {number + 1}: break in a loop over neighbors")
        if _LOOP.match(code):
            loops.append((indent, ""))
        lines.append(margin + code if code else "")
    return "\n".join(lines[:-1]) if lines else text


def cursor_functions(view: StoreView, names: set[str]) -> str:
    """Return source text that imports or defines the functions ``names`` of the cursor of ``view``.

    The text uses the decorator ``inner``, which the module has to import. ``weight`` returns 1 if the view has no
    weights. Functions that the cursor lacks are taken from ``IF_ABSENT``. ``owner(g, c, slot)`` returns the owner of
    the segment or of the slot. For ``neighbors`` the functions are included that its expansion calls
    (:func:`rows_written_out`).
    """
    names, functions = set(names), []
    if "neighbors" in names:
        names = names - {"neighbors"} | ROW
        functions.append("from suricate.base.types import TOMBSTONE")
    if "weight" in names and view.weight_dtype is None:
        names.remove("weight")
        functions.append("@inner\ndef weight(g, slot):\n    return 1")
    for name, function in IF_ABSENT.items():
        if name in names and not offers(view, name):
            names.remove(name)
            functions.append(function)
    if "owner" in names:
        names.remove("owner")
        names.add(OWNER[view.owner_per])
        place = "slot" if view.owner_per == "slot" else "c"
        functions.append(f"@inner\ndef owner(g, c, slot):\n    return {OWNER[view.owner_per]}(g, {place})")
    return "\n\n".join([f"from {view.cursor} import {', '.join(sorted(names))}", *functions])


def offers(view: StoreView, name: str) -> bool:
    """Return whether the cursor module of ``view`` defines the optional function ``name``."""
    return hasattr(importlib.import_module(view.cursor), name)


def _made(name: str, text: str) -> ModuleType:
    module = ModuleType(name)
    file = module.__file__ = f"<{name}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file  # for tracebacks
    exec(_byte_code(name, text, file), vars(module))
    sys.modules[name] = module  # where Numba looks for it when it loads machine code from disk; not half executed
    return module


def _byte_code(name: str, text: str, file: str) -> CodeType:
    """Return the byte code of the source ``text`` of the module ``name``, compiled or read from the cache on disk."""
    held = cache.get(f"{name}.code")
    if held is not None:
        return marshal.loads(held)
    code = compile(text, file, "exec", dont_inherit=True)
    cache.put(f"{name}.code", marshal.dumps(code))
    return code
