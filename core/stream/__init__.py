"""Streams: events go in, a window over them is kept as a graph, and answers stay current slide by slide.

>>> import suricate.stream as st
>>> events = {"time": [1, 2, 3, 4], "src": [0, 1, 2, 0], "dst": [1, 2, 0, 1]}
>>> for w in st.Window(events, size="2", slide="1", graph={"device": "cpu"}):
...     print(w.end, w.events, w.graph.num_edges)
2 1 1
3 1 2
4 1 2
5 1 2

Where events come from is in ``suricate.io.sources``; further sources, such as ``st.kafka``, are plugins. The rule of
windows and exact multiplicity are in ``suricate.windows``, the loop that users see is in ``window``, and how it goes on
after a crash in ``checkpoint``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from suricate.base.public import listing, on_use
from suricate.base.types import DELETE, INSERT, SET

if TYPE_CHECKING:
    from suricate.io.sources.combined import Chain, Merge
    from suricate.io.sources.folder import files
    from suricate.io.sources.opening import source
    from suricate.io.sources.scan import scan
    from suricate.io.sources.source import MARK, Source
    from suricate.stream.filtered import Where
    from suricate.stream.window import Slide, Window

    chain, merge, where = Chain, Merge, Where
    kafka: Callable[..., Source]  # of plugins, which are found by their hook
    redis: Callable[..., Source]

__all__ = [
    "DELETE", "INSERT", "MARK", "SET", "Slide", "Source", "Window",
    "chain", "files", "merge", "scan", "source", "where",
]  # fmt: skip
__dir__ = listing(__all__)


def _plugins() -> Mapping[str, Any]:
    from suricate.plugins import sources

    return sources()


_SOURCES, _WINDOW = "suricate.io.sources", "suricate.stream.window"
if not TYPE_CHECKING:
    __getattr__ = on_use(
        __name__,
        {"MARK": f"{_SOURCES}.source", "Source": f"{_SOURCES}.source", "chain": f"{_SOURCES}.combined:Chain",
         "files": f"{_SOURCES}.folder", "merge": f"{_SOURCES}.combined:Merge", "scan": f"{_SOURCES}.scan",
         "source": f"{_SOURCES}.opening", "Slide": _WINDOW, "Window": _WINDOW,
         "where": "suricate.stream.filtered:Where"},
        others=_plugins,
    )  # fmt: skip
