"""NetworkX: a backend for its dispatch (docs/networkx.md).

``served`` declares a function that the backend offers. Importing this loads neither NetworkX nor what computes.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "Converted": "suricate.networkx.converted",
    "Served": "suricate.networkx.functions",
    "Table": "suricate.networkx.table",
    "served": "suricate.networkx.functions",
}

__all__ = ["Converted", "Served", "Table", "served"]


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
    from suricate.networkx.table import Table as Table
