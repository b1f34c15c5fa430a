"""Plugins: the backends, algorithms, commands and sources that are installed, and how to add one (see ``manager``)."""

from __future__ import annotations

from suricate.base.public import listing
from suricate.plugins.hookspecs import hookimpl
from suricate.plugins.manager import (
    Plugin,
    algorithm,
    algorithms,
    backend,
    backends,
    commands,
    comms,
    default_backend,
    functions,
    installed,
    origin,
    register,
    sources,
    unregister,
)

__all__ = [
    "API", "Plugin", "algorithm", "algorithms", "backend", "backends", "commands", "comms", "default_backend",
    "functions", "hookimpl", "installed", "origin", "register", "sources", "unregister",
]  # fmt: skip
__dir__ = listing(__all__)

API = 1  #: what is promised to packages with plugins (docs/plugins.md); raised when something of it goes
