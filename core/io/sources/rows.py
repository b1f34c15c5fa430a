"""Events one by one, rows, and asynchronous sources: a thread reads them, and joins rows to chunks of columns."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np

from suricate.base.errors import ParameterError, WeightError
from suricate.base.parameters import shown
from suricate.base.types import INSERT

TICK = 0.02  #: seconds without an event after which a source that a thread reads says that it has none
MAX_WAIT, MAX_ROWS = 0.01, 10_000  #: by default: seconds that a row waits for further ones, and rows in a chunk
FIELDS = "time", "src", "dst", "weight", "kind"  #: of tuples; those with two values are ``src, dst``
NOTHING: Mapping[str, Any] = {"src": (), "dst": ()}  #: a chunk: no events have come for a while
WAITING: Mapping[str, Any] = {"src": (), "dst": ()}  #: a chunk: no events yet, which is not said to be silence


CHUNK, ROW, MORE = range(3)  # what the thread has read; a position is behind ROW, but not behind MORE


def rows_in(item: Any) -> list[Any] | None:
    """Return the events of an item of a source if it is a row (a tuple or a dict of values) or a list of rows."""
    if _is_row(item):
        return [item]
    return item if isinstance(item, list) and all(map(_is_row, item)) else None


def _is_row(item: Any) -> bool:
    return isinstance(item, tuple) or (type(item) is dict and bool(item) and not any(map(_is_column, item.values())))


def _is_column(value: Any) -> bool:
    return (
        not isinstance(value, str | bytes)
        and (hasattr(value, "__len__") or hasattr(value, "__array__"))
        and (getattr(value, "ndim", 1) > 0)
    )


class Rows:
    """Makes columns of rows. The first row says which there are, so that it does not matter how rows are joined.

    ``columns``: names, or positions in tuples, by role, as ``st.source`` takes them.
    """

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self._columns, self._kind = columns, columns.get("kind", "kind")
        self._names: list[Any] = []
        self._whole = True  # whether the first weight is

    def values(self, row: Any) -> tuple[Any, ...]:
        """Return the values of a row, a copy; what a dict lacks is None, or an insertion."""
        if not self._names:
            self._begin(row)
        if isinstance(row, dict):
            return (*map(row.get, self._names[:-1]), row.get(self._kind, INSERT))
        if len(row) != len(self._names):
            raise ParameterError(f"a row has {len(row)} values, the first one has {len(self._names)}: {shown(row)}")
        return tuple(row)

    def _begin(self, row: Any) -> None:
        if isinstance(row, dict):
            self._names = [*[name for name in row if name != self._kind], self._kind]
        elif self._columns:
            self._names = [*getattr(row, "_fields", range(len(row)))]
        elif 2 <= len(row) <= len(FIELDS):
            self._names = [*getattr(row, "_fields", FIELDS[1:3] if len(row) == 2 else FIELDS[: len(row)])]
        else:
            raise ParameterError(f"a row is (src, dst) or {FIELDS}, or columns={{'src': 0, ...}} says it: {shown(row)}")
        name = self._columns.get("weight", "weight")
        first = dict(zip(self._names, self.values(row), strict=True)).get(name, 0)
        self._whole = not isinstance(first, float | np.floating)

    def chunk(self, rows: list[tuple[Any, ...]]) -> dict[Any, list[Any]]:
        """Return the columns of rows, as :meth:`values` returned them."""
        found = dict(zip(self._names, map(list, zip(*rows, strict=True)), strict=True))
        weights = found.get(self._columns.get("weight", "weight"), ()) if self._whole else ()
        if any(isinstance(each, float | np.floating) for each in weights):
            raise WeightError("weights were whole numbers so far: give them as floats from the beginning")
        return found


def joined(begin: Any, items: Any, rows: Rows, max_wait: float, max_rows: int) -> Iterator[tuple[Any, Any]]:
    """Yield the positions and chunks of ``items``, which has pairs of a position and an item; rows become chunks.

    ``begin`` is the position where they begin. Once there was a row, or if ``items`` is asynchronous, a thread reads
    them, and ``NOTHING`` says that none came.
    """
    if not hasattr(items, "__aiter__"):
        items = iter(items)
        for position, item in items:
            first = next(iter(item.values()), None) if type(item) is dict else None
            is_chunk = isinstance(first, np.ndarray) or getattr(first, "ndim", 0) > 0  # as most are
            if not is_chunk and rows_in(item) is not None:
                items = chain([(position, item)], items)
                break
            begin = position
            yield position, item
        else:
            return
    feed = Feed(begin, rows, max_wait, max_rows)
    threading.Thread(target=feed.fill, args=(items,), name="suricate rows", daemon=True).start()
    try:
        yield from feed
    finally:
        feed.close()


def of_list(items: Any, rows: Rows, max_rows: int) -> Iterator[Any]:
    """Yield the chunks of a list of chunks and rows; no thread is needed, as all rows are there."""
    waiting: list[Any] = []
    for item in items:
        found = rows_in(item)
        waiting += [] if found is None else map(rows.values, found)
        if waiting and (found is None or len(waiting) >= max_rows):
            yield rows.chunk(waiting)
            waiting = []
        if found is None:
            yield item
    if waiting:
        yield rows.chunk(waiting)


class Feed:
    """What a thread has read: rows and chunks with their positions, in order; iterate over it to get chunks.

    The thread is at most ``max_rows`` rows or two chunks ahead, so a slow loop holds it back. A row waits at most
    ``max_wait`` seconds until the loop may have it.
    """

    def __init__(self, begin: Any, rows: Rows, max_wait: float, max_rows: int) -> None:
        self._position, self._rows, self._max_wait, self._max_rows = begin, rows, max_wait, max_rows
        self._changed, self._items = threading.Condition(), deque[tuple[Any, Any, int]]()  # the last: of CHUNK, ...
        self._chunks = 0  # among the items
        self._since = 0.0  # when the oldest item came
        self._error: BaseException | None = None
        self._ended = self._closed = False
        self._stop: Callable[[], Any] = lambda: None  # the event loop of an asynchronous source

    def fill(self, items: Any) -> None:
        """Read all ``items``; runs in the thread."""
        try:
            if hasattr(items, "__aiter__"):
                asyncio.run(self._fill_from(items))
            else:
                for position, item in items:
                    self._put(position, item)
                    with self._changed:
                        self._changed.wait_for(self._has_capacity)
                    if self._closed:
                        break
        except BaseException as error:
            self._error = error
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    async def _fill_from(self, items: Any) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        self._stop = lambda: loop.call_soon_threadsafe(task.cancel)
        async for position, item in items:
            self._put(position, item)
            while not self._has_capacity():
                await asyncio.sleep(self._max_wait / 10)

    def _has_capacity(self) -> bool:
        return (len(self._items) < self._max_rows and self._chunks < 2) or self._closed

    def _put(self, position: Any, item: Any) -> None:
        found = rows_in(item)
        new: list[tuple[Any, Any, int]] = [(position, item, CHUNK)]
        if found is not None:
            new = [(position, self._rows.values(row), MORE) for row in found]
            new[-1:] = [(*each[:2], ROW) for each in new[-1:]]
        with self._changed:
            was_empty = not self._items
            self._items += new
            self._chunks += found is None
            if was_empty:
                self._since = time.monotonic()
            if (was_empty and new) or found is None or len(self._items) >= self._max_rows:
                self._changed.notify_all()

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._items or self._ended, TICK)
                taken = self._taken()
                if not taken and self._ended:
                    if self._error is not None:
                        raise self._error
                    return
            if not taken:
                yield self._position, NOTHING
                continue
            self._position, item, kind = taken[-1]
            yield self._position, item if kind == CHUNK else self._rows.chunk([row for _, row, _ in taken])

    def _taken(self) -> list[tuple[Any, Any, int]]:
        """Wait for rows that may be joined to the first one, and remove them; or remove a chunk, if there is one."""
        if self._items and not self._chunks:
            self._changed.wait_for(
                lambda: len(self._items) >= self._max_rows or self._ended or self._chunks,
                self._since + self._max_wait - time.monotonic(),
            )
        taken: list[tuple[Any, Any, int]] = []
        while self._items and (not taken or (taken[-1][2] and self._items[0][2])):
            taken.append(self._items.popleft())
            if len(taken) >= self._max_rows and taken[-1][2] == ROW:
                break
        self._chunks -= bool(taken) and taken[-1][2] == CHUNK
        self._since = time.monotonic()
        self._changed.notify_all()
        return taken

    def close(self) -> None:
        """Let the thread end, which nobody needs any more."""
        self._closed = True
        with self._changed:
            self._changed.notify_all()
            if not self._ended:
                with contextlib.suppress(RuntimeError):  # the event loop has ended meanwhile
                    self._stop()
