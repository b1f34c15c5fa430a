"""Streams: events go in, a window over them is kept as a graph, and answers stay current slide by slide.

>>> import suricate.stream as st
>>> events = {"time": [1, 2, 3, 4], "src": [0, 1, 2, 0], "dst": [1, 2, 0, 1]}
>>> for w in st.Window(events, size="2", slide="1", graph={"device": "cpu"}):
...     print(w.end, w.events, w.graph.num_edges)
2 1 1
3 1 2
4 1 2
5 1 2

Where events come from is in ``suricate.io.sources``, the rule of windows and exact multiplicity are in
``suricate.windows``, the loop that users see is in ``window``, and how it goes on after a crash in ``checkpoint``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from suricate.base.public import listing, on_use
from suricate.base.types import DELETE, INSERT, SET

if TYPE_CHECKING:
    from suricate.io.sources.scan import scan
    from suricate.io.sources.source import MARK, Chain, Function, Merge, Source
    from suricate.stream.window import Slide, Window

    chain, merge, source = Chain, Merge, Function

__all__ = ["DELETE", "INSERT", "MARK", "SET", "Slide", "Source", "Window", "chain", "merge", "scan", "source"]
__dir__ = listing(__all__)

_SOURCE, _WINDOW = "suricate.io.sources.source", "suricate.stream.window"
__getattr__ = on_use(
    __name__,
    {"MARK": _SOURCE, "Source": _SOURCE, "chain": f"{_SOURCE}:Chain", "merge": f"{_SOURCE}:Merge",
     "scan": "suricate.io.sources.scan", "source": f"{_SOURCE}:Function", "Slide": _WINDOW, "Window": _WINDOW},
)  # fmt: skip
