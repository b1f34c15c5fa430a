"""The CUDA programs of a backend."""

from __future__ import annotations

import importlib
import importlib.util

from suricate.cuda.program import Program


def own_programs(store: object) -> list[Program]:
    """Return the CUDA programs of the backend of ``store``, or an empty list.

    They are the result of ``programs(store)`` in the module ``programs``, or else ``cuda``, of the backend's package.
    That module must be importable without CuPy.
    """
    package = type(store).__module__.rpartition(".")[0]
    for name in ("programs", "cuda"):
        if package and importlib.util.find_spec(f"{package}.{name}"):
            listed = getattr(importlib.import_module(f"{package}.{name}"), "programs", None)
            return [] if listed is None else list(listed(store))
    return []
