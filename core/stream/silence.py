"""Silence of a source: slides that the wall clock closes, and how a resumed job closes them at the same events."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from suricate.io.sources.chunk_columns import part_of

INSIDE = object()  #: in place of a position: within a chunk, where reading cannot be continued


class Silence:
    """Says for how long a source has been silent, and which slides closed meanwhile in a run that this one continues.

    Args:
        after: seconds of silence after which the clock closes slides; None: it never does.

    Attributes:
        clock: returns seconds; tests set another.
        rows: number of events that the job took, by which the moment of a close is known.
        closes: ``[rows, end, position]`` of the closes that are still to be repeated, in order.
    """

    def __init__(self, after: float | None) -> None:
        self.clock: Callable[[], float] = time.monotonic
        self.rows = 0
        self.closes = deque[Any]()
        self._after = after
        self._since: float | None = None

    def elapsed(self, asked: float, *, silent: bool) -> float | None:
        """Return for how many seconds the source has been silent, None if that is not long enough.

        ``asked``: when it was asked for the chunk that came now; time before is the loop's. ``silent``: no rows came.
        """
        self._since = (asked if self._since is None else self._since) if silent else None
        if self._after is None or self._since is None:
            return None
        elapsed = self.clock() - self._since
        return elapsed if elapsed >= self._after else None

    def cut(self, position: Any, chunks: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
        """Yield positions and chunks, cut where slides are to be closed again, and there the end in place of a chunk.

        ``position`` is that where reading begins.
        """
        rows, left = self.rows, deque(self.closes)
        while left and left[0][0] <= rows:
            yield position, left.popleft()[1]
        for position, chunk in chunks:
            while left and isinstance(chunk, Mapping) and left[0][0] < rows + len(chunk["src"]):
                at, end, _ = left.popleft()
                yield INSIDE, {name: part_of(column, 0, at - rows) for name, column in chunk.items()}
                yield INSIDE, end
                chunk, rows = {name: part_of(column, at - rows) for name, column in chunk.items()}, at
            yield position, chunk
            rows += len(chunk["src"]) if isinstance(chunk, Mapping) else 0
            while left and left[0][0] <= rows:
                yield position, left.popleft()[1]
