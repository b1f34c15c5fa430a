"""Events: the columns of a source, checked: arrays of equal length."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from suricate.base.devices import module_of
from suricate.base.types import INSERT

KIND = 3  #: the place of the kinds among the columns behind the times


class Events(NamedTuple):
    """Checked events, as columns.

    Attributes:
        time: ``int64[n]``, nanoseconds since 1970 if times have a unit, else the numbers given; or a range of
            consecutive positions.
        src, dst: ``uint32[n]``, ids of vertices; on a CUDA device if they were given there.
        weight: ``float64[n]`` or ``int64[n]``, or None.
        kind: ``int8[n]``: 1: insertion, 0: set, -1: deletion; None if all are insertions.
        attributes: a structured array ``[n]`` with a field, ``int64`` or ``float64``, per attribute; or None.
        position: ``int64[n]``: numbers that grow in the order of the source, if all ranks read it; else None.
    """

    time: np.ndarray | range
    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray | None = None
    kind: np.ndarray | None = None
    attributes: np.ndarray | None = None
    position: np.ndarray | None = None

    @property
    def number(self) -> int:
        """Return the number of events."""
        return len(self.time)

    def taken(self, which: Any) -> Events:
        """Return the events that ``which`` selects: an array of positions, a slice or a mask."""
        time, src, dst, weight, kind, attributes, position = self
        time = time if isinstance(which, slice) else times_of(time)
        return Events(
            time[which], src[which], dst[which], None if weight is None else weight[which],
            None if kind is None else kind[which], None if attributes is None else attributes[which],
            None if position is None else position[which],
        )  # fmt: skip

    def cut(self, end: int) -> tuple[Events, Events | None]:
        """Return the events before ``end``, whose times ascend, and the others; None in place of none."""
        number = number_before(self.time, end)
        if number == len(self.time):
            return self, None
        before, behind = list[Any](), list[Any]()
        for column in self:
            before.append(None if column is None else column[:number])
            behind.append(None if column is None else column[number:])
        return Events(*before), Events(*behind)


def times_of(time: np.ndarray | range) -> np.ndarray:
    """Return times as an array, ``int64[n]``; a range becomes one."""
    return np.arange(time.start, time.stop, dtype=np.int64) if isinstance(time, range) else time


def number_before(time: np.ndarray | range, end: int) -> int:
    """Return how many of the ascending times ``time`` are below ``end``."""
    if isinstance(time, range):
        return min(max(end - time.start, 0), len(time))
    return int(time.searchsorted(end))


def joined(parts: Sequence[Events]) -> Events:
    """Return the concatenation of events; a part without kinds consists of insertions."""
    if len(parts) == 1:
        return parts[0]
    times, *columns = zip(*parts, strict=True)
    if {*map(type, columns[KIND])} != {NoneType}:
        parts = [part._replace(kind=np.full(part.number, INSERT, np.int8)) if part.kind is None else part
                 for part in parts]  # fmt: skip
        times, *columns = zip(*parts, strict=True)
    made: list[Any] = [] if range not in map(type, times) else [_one_time(times)]
    for column in columns if made else (times, *columns):  # a comprehension is a call more, and most are on the host
        plain = {*map(type, column)} == {np.ndarray}
        made.append(np.concatenate(column) if plain else None if column[0] is None else _on_one_device(column))
    return Events(*made)


def in_time(parts: Sequence[Events]) -> Events:
    """Return the concatenation of events, in the order of their times."""
    events = joined(parts)
    time = events.time
    if isinstance(time, range) or not np.logical_or.reduce(time[1:] < time[:-1]):
        return events
    return events.taken(np.argsort(time, kind="stable"))


def in_order(events: Events) -> Events:
    """Return events of several ranks, one after the other, in the order of (time, position), without positions."""
    assert events.position is not None
    order = np.lexsort((events.position, times_of(events.time)))  # which merges what is in order already
    return events._replace(position=None).taken(order)


def _one_time(times: Sequence[np.ndarray | range]) -> np.ndarray | range:
    """Return times, some of them ranges, as one column: an array, or a range if they are consecutive ranges."""
    ranges = [time for time in times if isinstance(time, range)]
    if len(ranges) == len(times) and all(after.start == before.stop for before, after in pairwise(ranges)):
        return range(ranges[0].start, ranges[-1].stop)
    return np.concatenate([times_of(time) for time in times])


def _on_one_device(parts: Sequence[Any]) -> Any:
    """Return the concatenation of arrays, some of them on a device, there."""
    there = module_of(next(part for part in parts if not isinstance(part, np.ndarray)))
    return there.concatenate([there.asarray(part) for part in parts])


def nothing(weight_dtype: np.dtype | None, attributes: np.dtype | None = None) -> Events:
    """Return :class:`Events` without rows; weights and attributes have the dtypes given, None: there are none."""
    dtypes = np.int64, np.uint32, np.uint32, weight_dtype, None, attributes
    return Events(*(None if dtype is None else np.empty(0, dtype) for dtype in dtypes))  # type: ignore[arg-type]
