"""Which code was measured: distribution, version and a digest of the sources of a backend or an algorithm."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from suricate import plugins

SUFFIXES = {".py", ".cu", ".cuh", ".h", ".hpp", ".c", ".cpp", ".pyx", ".so", ".pyd"}  #: of the files in a digest
KINDS: dict[str, Callable[[], Mapping[str, type]]] = {"backend": plugins.backends, "algorithm": plugins.algorithms}
Identity = dict[str, str]  #: "distribution" (or file), "version", "digest"


def identities(backend: str, algorithm: str | None) -> dict[str, Identity]:
    """Return the identity of each plugin behind a row, by "backend" and "algorithm"; references have none."""
    named = ("backend", backend), ("algorithm", algorithm or "")
    found = {kind: KINDS[kind]().get(name) for kind, name in named}
    return {kind: _identity(plugin) for kind, plugin in found.items() if plugin is not None}


def conflict(rows: list[dict[str, Any]], others: list[dict[str, Any]]) -> str | None:
    """Return an error message if ``rows`` and ``others`` have one plugin in two versions, else None.

    Rows of early files, which do not say what was measured, are passed over.
    """
    known = {key: identity for row in rows for key, identity in _named(row)}
    for key, identity in (each for row in others for each in _named(row)):
        if (before := known.setdefault(key, identity)) != identity:
            return f"{' '.join(key)!r} was measured as {_told(before)} and as {_told(identity)}"
    return None


def _named(row: dict[str, Any]) -> list[tuple[tuple[str, str], Identity]]:
    return [((kind, row[kind]), identity) for kind, identity in row.get("plugins", {}).items()]


def _told(identity: Identity) -> str:
    return f"{identity['distribution']} {identity['version']} (digest {identity['digest']})".replace("  ", " ")


@cache
def _identity(plugin: type) -> Identity:
    source, version = plugins.origin(plugin)
    return {"distribution": source, "version": version, "digest": _digest(plugin)}


def _digest(plugin: type) -> str:
    """Return a digest of the package of a class, or of its module; of suricate's own, of the part that is the plugin.

    "": there is no file, as of a class that was typed in.
    """
    names = plugin.__module__.split(".")
    depths = range(3 if names[0] == "suricate" else 1, len(names) + 1)
    modules = [sys.modules.get(".".join(names[:depth])) for depth in depths]
    paths = [getattr(module, "__file__", None) for module in modules]
    file = next((Path(path) for path in paths if path), None)
    if file is None or not file.exists():
        return ""
    files = sorted(file.parent.rglob("*")) if file.name == "__init__.py" else [file]
    sha = hashlib.sha256()
    for each in files:
        if each.suffix in SUFFIXES and each.is_file():
            sha.update(f"{each.relative_to(file.parent)}\0".encode() + each.read_bytes() + b"\0")
    return sha.hexdigest()[:16]
