"""Results of algorithms on a graph, kept current from the second time that they are requested."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

import numpy as np

from suricate import plugins
from suricate.graph import Graph
from suricate.graph.tracker import Tracker

MOST_TRACKED = 8  #: trackers of a graph; the least recently used one makes place for another
PLAIN = (bool, int, float, str, type(None))  #: types of parameters
MOST_SEEN = 64  #: questions remembered, to notice that one comes again


class Answers:
    """Computes results on one graph; a result that is requested a second time is kept current from then on."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.tracked: OrderedDict[Hashable, Tracker] = OrderedDict()  #: the least recently used first
        self._seen: OrderedDict[Hashable, None] = OrderedDict()

    def result(self, algorithm: str, params: dict[str, Any], *, keep: bool = True) -> Any:
        """Return the result of ``algorithm`` with the parameters ``params``, with arrays on the graph's device.

        ``keep=False``: do not keep it current, since it is one of many different requests.
        """
        key = question(algorithm, params) if keep else None
        tracker = None if key is None else self.tracked.pop(key, None)
        if tracker is None:
            kind = plugins.algorithm(algorithm)
            if key is None or not self._comes_again(key):
                return self.graph.compute(kind, **params)
            tracker = self.graph.track(kind, **params)
            if len(self.tracked) >= MOST_TRACKED:
                self.tracked.popitem(last=False)[1].close()
        self.tracked[key] = tracker
        return tracker.result

    def _comes_again(self, key: Hashable) -> bool:
        if key in self._seen:
            del self._seen[key]
            return True
        self._seen[key] = None
        if len(self._seen) > MOST_SEEN:
            self._seen.popitem(last=False)
        return False


def question(algorithm: str, params: dict[str, Any]) -> Hashable | None:
    """Return a hashable key of a call of ``algorithm`` with ``params``; None if a parameter cannot be compared."""
    parts: list[Any] = [algorithm]
    for name, value in params.items():
        kind = type(value)
        parts.append((name, kind, value if kind in PLAIN else _comparable(value)))
    try:
        hash(key := tuple(parts))
    except TypeError:
        return None
    return key


def _comparable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.tobytes()
    return tuple(value.items() if isinstance(value, dict) else value) if isinstance(value, (dict, list)) else value
