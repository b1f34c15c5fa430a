"""Numba modules generated from templates, kept as files so that Numba's disk cache works for them.

Numba cannot keep closures on disk, so a loop over a backend's cursor is written as a Python file of its own. Its name
is a digest of its text and of what it imports, so a file never changes and Numba's cache, which lies beside it, stays
valid. The folder is ``$SURICATE_CACHE_DIR``, else ``$XDG_CACHE_HOME/suricate``, else ``~/.cache/suricate``; where that
cannot be written, a temporary folder that lives as long as the process.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
import tempfile
import threading
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np

from suricate.cursors import OWNER
from suricate.files import replacing
from suricate.forks import renewed
from suricate.types import StoreView

IF_ABSENT = {
    "ahead": "@inner\ndef ahead(g, u):\n    pass",
    "common": "@inner\ndef common(g, u, v, into):\n    return np.uint64(0)",
    "copied": "@inner\ndef copied(g, c, into, at):\n    return at",
    "later": "@inner\ndef later(g, i):\n    return np.uint32(0)",
}  #: what takes the place of optional functions of a cursor; only ``ahead`` is called then

_lock = renewed(threading.Lock())  # of loading modules


def load_module(template: str, text: str, cursor: str | None) -> ModuleType:
    """Import the module with this text from its file in the cache folder, written there if it is new.

    Args:
        template: what it was made from; part of its name.
        text: its source.
        cursor: the module of a cursor that it imports, if any: Numba does not notice when that changes.
    """
    import numba

    versions = (numba.__version__, np.__version__, sys.version, _source_digest(cursor))
    digest = hashlib.sha256("\0".join((text, *versions)).encode()).hexdigest()[:24]
    name = f"suricate_{template}_{digest}"
    path = cache_folder() / f"{name}.py"
    if not path.exists():
        with replacing(path) as file:
            file.write(text.encode())
    with _lock:  # another thread may be loading it
        return sys.modules.get(name) or _imported(name, path)


def cursor_functions(view: StoreView, names: set[str], *, absent_weight: int) -> str:
    """Return the source by which a module takes ``names`` from the cursor of ``view``; it uses ``inner``.

    ``weight`` is ``absent_weight`` where the view has none; what the cursor lacks comes from ``IF_ABSENT``;
    ``owner(g, c, slot)`` is that of the segment or the slot.
    """
    names, functions = set(names), []
    if "weight" in names and view.weight_dtype is None:
        names.remove("weight")
        functions.append(f"@inner\ndef weight(g, slot):\n    return {absent_weight}")
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
    """Return whether the cursor of ``view`` has the optional function ``name``."""
    return hasattr(importlib.import_module(view.cursor), name)


def _imported(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module  # where Numba looks for it when it loads machine code from disk; not half executed
    return module


@cache
def _source_digest(cursor: str | None) -> str:
    """Return a digest of the package of a cursor module."""
    if cursor is None:
        return ""
    file = importlib.import_module(cursor).__file__
    assert file is not None
    sources = sorted(Path(file).parent.glob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


@cache
def cache_folder() -> Path:
    """Return the folder of the generated modules; it exists and can be written."""
    named = os.environ.get("SURICATE_CACHE_DIR")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(named) if named else Path(base) / "suricate"
    writable = _existing_ancestor(folder)
    if os.access(writable, os.W_OK | os.X_OK) and writable.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    return Path(_temporary_folder().name)


def _existing_ancestor(folder: Path) -> Path:
    return next(parent for parent in (folder, *folder.parents) if parent.exists())


@cache
def _temporary_folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="suricate-")
