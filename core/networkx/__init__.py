"""NetworkX: a backend for its dispatch, and graphs whose edits reach the algorithms as batches (docs/networkx.md).

``Graph`` and ``DiGraph`` are NetworkX's, kept on the device as well; ``served`` declares a function that the backend
offers. Importing this loads neither NetworkX nor anything that computes.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_LIVE, _FUNCTIONS = "suricate.networkx.live", "suricate.networkx.functions"
_HOME = {
    "Converted": "suricate.networkx.converted", "DiGraph": _LIVE, "Graph": _LIVE, "Served": _FUNCTIONS,
    "Table": "suricate.networkx.table", "release": _LIVE, "served": _FUNCTIONS,
}  # fmt: skip
__all__ = ["Converted", "DiGraph", "Graph", "Served", "Table", "release", "served"]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'suricate.networkx' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from suricate.networkx.converted import Converted as Converted
    from suricate.networkx.functions import Served as Served
    from suricate.networkx.functions import served as served
    from suricate.networkx.live import DiGraph as DiGraph
    from suricate.networkx.live import Graph as Graph
    from suricate.networkx.live import release as release
    from suricate.networkx.table import Table as Table
