"""What NetworkX reads about the backend when it is imported: names only, from the metadata of installed packages."""

from __future__ import annotations

from functools import cache
from importlib import metadata
from typing import Any

GROUP = "suricate.networkx"  #: of entry points ``name of a function in NetworkX = module:Served``


@cache
def offered() -> dict[str, metadata.EntryPoint]:
    """Return the entry points of functions that installed packages offer, by name in NetworkX; loads none."""
    points = sorted(metadata.entry_points(group=GROUP), key=lambda point: point.value)
    return {point.name: point for point in reversed(points)}  # of several packages the first one has a name


def backend_info() -> dict[str, Any]:
    """Return what NetworkX asks a backend for (``networkx.backend_info``): its names, functions and configuration."""
    return {
        **dict.fromkeys(("backend_name", "project", "package"), "suricate"),
        "short_summary": "Dynamic graphs on GPUs and CPUs; answers stay current while a graph is edited.",
        "functions": {name: {} for name in offered()},
        "default_config": {"device": "auto"},
    }
