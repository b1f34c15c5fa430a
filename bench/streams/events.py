"""A stream of events with a sliding window: the events in the window, and the edges that a slide changes, by counting.

The stream repeats the list of edges of an input, in the order of time or of the generator, again and again. The window
holds half as many events as the list has. Nothing here uses a graph or ``suricate.stream``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from suricate.base.types import edge_keys, ends_of
from suricate.bench import constants
from suricate.bench.fixtures import Fixture
from suricate.bench.inputs import Input
from suricate.bench.verify.edges import EdgeModel


class EventStream:
    """The events of an input, repeated without end at the positions 0, 1, ..., with a window over the newest ones.

    Attributes:
        window: number of events in the window, half of the input's.
        end: number of events so far; the window holds the positions ``end - window`` to ``end - 1``.
    """

    def __init__(self, data: Input, *, directed: bool = True) -> None:
        self.data, self.directed = data, directed
        self.length = len(data.src)
        self.window = self.end = window_of(data)
        self._pair, self._keys = pairs_of(data, directed=directed)
        self._count = np.bincount(self._pair[: self.window], minlength=len(self._keys))

    def numbers(self, begin: int, end: int) -> np.ndarray:
        """Return the indices in the input's list of the events at positions ``begin`` to ``end - 1``, int64."""
        return np.arange(begin, end) % self.length

    def content(self) -> tuple[np.ndarray, np.ndarray]:
        """Return sources and destinations of the window's distinct edges, ``uint32[k]`` each."""
        return ends_of(self._keys[self._count > 0])

    def events(self) -> tuple[np.ndarray, np.ndarray]:
        """Return sources and destinations of the window's events in their order, ``uint32[window]`` each."""
        numbers = self.numbers(self.end - self.window, self.end)
        return self.data.src[numbers], self.data.dst[numbers]

    def model(self) -> EdgeModel:
        """Return the set of edges of the window, made from its events, without weights."""
        return EdgeModel(*self.events(), directed=self.directed)

    def slide(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Move the window by ``size`` events; return the keys of the edges that it loses, and of those that it gains.

        An edge with several events is lost when the last of them leaves. Keys are ``src << 32 | dst``, in the order of
        the events.
        """
        begin = self.end - self.window
        leaving, entering = (self._pair[self.numbers(at, at + size)] for at in (begin, self.end))
        self.end += size
        before = self._count[leaving] > 0, self._count[entering] > 0
        np.subtract.at(self._count, leaving, 1)
        np.add.at(self._count, entering, 1)
        gone = _firsts(leaving[before[0] & (self._count[leaving] == 0)])
        new = _firsts(entering[~before[1] & (self._count[entering] > 0)])
        return self._keys[gone], self._keys[new]

    def chunks(self, size: int) -> Iterator[dict[str, Any]]:
        """Yield the events from position 0 on, without end, in chunks of ``size``: dicts of arrays "src" and "dst"."""
        at = 0
        while True:
            begin = at % self.length
            part: Any = slice(begin, begin + size) if begin + size <= self.length else self.numbers(at, at + size)
            yield {"src": self.data.src[part], "dst": self.data.dst[part]}
            at += size


def stream_of(fixture: Fixture, *, directed: bool = True) -> EventStream:
    """Return a new stream over the input of a fixture, whose window holds the first events.

    ``directed``: False if both directions of an edge are the same edge.
    """
    return EventStream(fixture.data, directed=directed)


def window_of(data: Input) -> int:
    """Return the number of events that the window over an input holds: half of them."""
    return max(1, len(data.src) // 2)


def slide_of(data: Input, share: float) -> int:
    """Return the number of events in a slide that changes ``share`` of the input's edges, at most the window's."""
    return min(max(1, round(share * len(data.src))), window_of(data))


def pairs_of(data: Input, *, directed: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(pair, keys)`` of the events of ``data``; computed once per input.

    ``keys``: those of the distinct edges, uint64, ascending; ``pair``: for each event the index of its edge in
    ``keys``, int64. Unless ``directed``, both directions of an edge have one key.
    """
    name = "pairs of events", directed
    if name not in data.cache:
        src, dst = (
            (data.src, data.dst) if directed else (np.minimum(data.src, data.dst), np.maximum(data.src, data.dst))
        )
        keys, pair = np.unique(edge_keys(src, dst), return_inverse=True)
        data.cache[name] = pair, keys
    return data.cache[name]


def shares(quick: bool) -> tuple[float, ...]:
    """Return the shares of the edges that a slide changes, for the suite; ``quick``: those of a short run."""
    return constants.QUICK_SLIDE_SHARES if quick else constants.SLIDE_SHARES


def _firsts(numbers: np.ndarray) -> np.ndarray:
    """Return the distinct ``numbers`` in the order of their first occurrences."""
    return numbers[np.sort(np.unique(numbers, return_index=True)[1])]
