"""NetworkX: a backend for its dispatch, and graphs whose edits reach the algorithms as batches (docs/networkx.md).

``Graph`` and ``DiGraph`` are NetworkX's, kept on the device as well; ``served`` declares a function that the backend
offers. Importing this loads neither NetworkX nor anything that computes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from suricate.base.public import listing, on_use

if TYPE_CHECKING:
    from suricate.networkx.converted import Converted
    from suricate.networkx.functions import Served, served
    from suricate.networkx.live import DiGraph, Graph, release
    from suricate.networkx.table import Table

__all__ = ["Converted", "DiGraph", "Graph", "Served", "Table", "release", "served"]
__dir__ = listing(__all__)

_LIVE, _FUNCTIONS = "suricate.networkx.live", "suricate.networkx.functions"
if not TYPE_CHECKING:
    __getattr__ = on_use(
        __name__,
        {"Converted": "suricate.networkx.converted", "DiGraph": _LIVE, "Graph": _LIVE, "Served": _FUNCTIONS,
         "Table": "suricate.networkx.table", "release": _LIVE, "served": _FUNCTIONS},
        extra="networkx",
    )  # fmt: skip
