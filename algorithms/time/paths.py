"""Paths in time: earliest arrival, latest departure, and the fastest path, by one pass over the events of a log.

On CUDA arrivals and departures are found by label correcting (``suricate.algorithms.time.arrivals_cuda``, or with
operators ``correcting``), and the fastest paths by labels of events (``fastest_cuda``).

A path goes from event to event, each with a later time than the one before; ``through=True``: with the same time, too.
An event takes no time. Since events are read in order of time, the first that arrives at a vertex is the earliest (Wu,
Cheng, Huang, Ke, Lu and Xu, *Path problems in temporal graphs*, 2014), and of all paths that have arrived at a vertex
by now only the one that departed last can begin a fastest path. With ``through`` the events of one time are repeated,
forwards and backwards by turns, until nothing changes, as they may stand in any order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate.algorithms.time.limits import FIRST, LAST, NONE
from suricate.base.html import result_html
from suricate.base.parameters import flag, shown
from suricate.errors import ParameterError
from suricate.graph.naming import vertices_of

if TYPE_CHECKING:
    from suricate.base.devices import ReturnedArray
    from suricate.events import Events


class Arrivals(NamedTuple):
    """When a vertex is reached first: ``time``, ``int64[n]``, 2^63 - 1 for never, and the last ``event`` of the path.

    ``event``, ``int64[n]``: numbers, -1 at the source and where it does not lead. The source of an event is the vertex
    before on the path.
    """

    time: ReturnedArray
    event: ReturnedArray

    def _repr_html_(self) -> str:
        return result_html(self)


class Departures(Arrivals):
    """When a vertex has to be left: ``time``, ``int64[n]``, -2^63 if it is too late, and the path's first ``event``.

    ``event``: -1 at the target and where it is too late. The destination of an event is the next vertex of the path.
    """


class Fastest(NamedTuple):
    """The shortest ``duration`` of paths to a vertex, 2^63 - 1 if there is none, and of the first path of it to arrive:

    ``departure``: the time of its first event; ``event``: the number of the last one, -1 at the source and where it
    does not lead. ``int64[n]`` each.
    """

    duration: ReturnedArray
    departure: ReturnedArray
    event: ReturnedArray

    def _repr_html_(self) -> str:
        return result_html(self)


class Passed(NamedTuple):
    """The events of a pass, in its order: loops read them as arrays. ``both``: they lead in both directions."""

    time: Any  # int64[k]
    src: Any  # uint32[k]
    dst: Any  # uint32[k]
    alive: Any  # uint8[k]; empty if none was removed
    first: Any  # the number of the first one
    both: Any
    through: Any


def earliest_arrival(
    log: Events, source: Any, *, start: int | None = None, end: int | None = None, through: bool = False
) -> Arrivals:
    """Return when each vertex is reached first from ``source``, by events of ascending time.

    Args:
        log: the events.
        source: a vertex: an id or a name. Its own time is ``start``, or that of the oldest event.
        start, end: events with ``start <= time < end`` count; None: however old, or new, they are.
        through: whether an event can follow one of the same time, wherever it stands in the log.

    Returns:
        Times and last events, on the log's device, where both are equal. Without ``through`` that is the first event
        that arrives at this time.

    Raises:
        ParameterError, DTypeError, VertexRangeError, UnknownNameError: an argument is invalid.
    """
    with _checked(log, "earliest_arrival")._lock:
        vertex, through = _vertex(log, "source", source), flag("through", through)
        time, event = _arrived(log, vertex, start, end, through, backwards=False)
        time[vertex : vertex + 1] = _oldest(log) if start is None else start
    return Arrivals(time, event)


def latest_departure(
    log: Events, target: Any, *, start: int | None = None, end: int | None = None, through: bool = False
) -> Departures:
    """Return until when each vertex can be left to reach ``target`` by events of ascending time.

    Args, errors: as of :func:`earliest_arrival`. The time of the target itself is ``end``, or that of the newest event.

    Returns:
        Times and first events. Without ``through`` that is the last event that departs at this time.
    """
    with _checked(log, "latest_departure")._lock:
        vertex, through = _vertex(log, "target", target), flag("through", through)
        time, event = _arrived(log, vertex, start, end, through, backwards=True)
        time[vertex] = (log.newest or 0) if end is None else end
    return Departures(time, event)


def fastest(
    log: Events, source: Any, *, start: int | None = None, end: int | None = None, through: bool = False
) -> Fastest:
    """Return the shortest duration of paths from ``source`` to each vertex, by events of ascending time.

    It is the time of the last event less that of the first; one event alone takes none. The source has the duration 0.

    Args, errors: as of :func:`earliest_arrival`; ``CapacityError`` if there is not enough memory.

    Returns:
        Durations, and of the fastest paths to a vertex that of the lowest last event.
    """
    with _checked(log, "fastest")._lock:
        vertex, n = _vertex(log, "source", source), log.num_vertices
        passed = _passed(log, start, end, flag("through", through))
        if log.device.is_cuda:
            from suricate.algorithms.time.fastest_cuda import find_fastest as on_cuda

            found = Fastest(*on_cuda(passed, vertex, log.device, n))
        else:
            from suricate.algorithms.time.paths_cpu import find_fastest

            found = Fastest(*(np.full(n, fill) for fill in (LAST, LAST, NONE)))
            find_fastest(passed, vertex, *(np.full(n, FIRST) for _ in range(3)), *found)
        found.duration[vertex] = 0
        found.departure[vertex : vertex + 1] = _oldest(log) if start is None else start
    return found


def _arrived(
    log: Events, vertex: int, start: int | None, end: int | None, through: bool, *, backwards: bool
) -> tuple[Any, Any]:
    """Return the times and last events of earliest arrivals from ``vertex``, which is there before all events.

    ``backwards``: of those in the log read backwards, which are the latest departures.
    """
    if log.device.is_cuda and not through and log.over in ("both", "in" if backwards else "out"):
        from suricate.algorithms.time.arrivals_cuda import find_arrivals as on_cuda

        return on_cuda(log, vertex, start, end, backwards=backwards)
    if log.device.is_cuda:
        from suricate.algorithms.time.correcting import arrived

        return arrived(log, vertex, start, end, through=through, backwards=backwards)
    from suricate.algorithms.time.paths_cpu import find_arrivals

    passed = _passed(log, start, end, through)
    time, event = np.full(log.num_vertices, LAST), np.full(log.num_vertices, NONE)
    time[vertex] = FIRST
    if not backwards:
        find_arrivals(passed, time, event)
        return time, event
    parts = ~passed.time, passed.dst, passed.src, passed.alive
    when, dst, src, alive = (np.ascontiguousarray(part[::-1]) for part in parts)
    find_arrivals(Passed(when, dst, src, alive, *passed[4:]), time, event)
    return ~time, np.where(event < 0, NONE, 2 * passed.first + len(passed.time) - 1 - event)


def _checked(log: Events, name: str) -> Events:
    """Return ``log``; raise ``ParameterError`` unless it is one."""
    if not hasattr(log, "_record"):
        raise ParameterError(f"{name} takes a log of events, su.Events, got {shown(log)}")
    return log


def _vertex(log: Any, name: str, vertex: Any) -> int:
    """Return the id of ``vertex``, the parameter ``name``, checked."""
    if np.ndim(vertex):
        raise ParameterError(f"{name} is one vertex, got {shown(vertex)}")
    return int(vertices_of(log, [vertex], name)[0])


def _oldest(log: Events) -> Any:
    """Return the time of the oldest event, where it is, ``int64[1]``; 0 if there is none."""
    record = log._record
    at = record.first & (record.capacity - 1)
    return record.time[at : at + 1] if record.next > record.first else 0


def _passed(log: Events, start: int | None, end: int | None, through: bool) -> Passed:
    """Return the events with ``start <= time < end``, where the log is; times are checked."""
    record, (first, upto) = log._record, log._numbers_between(start, end)
    alive = log.device.xp.empty(0, np.uint8) if record.alive is None else record.listed(record.alive, first, upto)
    time = record.listed(record.time, first, upto)
    return Passed(time, *record.ends(first, upto), alive, first, not log.directed, through)
