"""Ranks that are threads of one process: for tests, and to try a program for several processes without starting any.

Ranks wait for each other at every collective. If one calls another collective or from another line than the others, or
ends while they wait, all of them raise an error that names both lines; so they do if one that is not busy does not come
within ``SURICATE_TIMEOUT`` seconds (default 600).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from suricate.base.devices import Array, module_of
from suricate.base.errors import CommunicationError, ParameterError
from suricate.base.notice import NOTICE
from suricate.base.parameters import integer
from suricate.comm.asked import Asked, AskingComm, apart
from suricate.comm.busy import Busy
from suricate.comm.context import using
from suricate.comm.messages import limit, not_come
from suricate.comm.protocol import Comm, call_site, is_array

MOST_RANKS = 64


class Meeting:
    """The state that the ranks of one job, which are threads, share to run collectives."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.changed = threading.Condition()
        self.deposited: dict[int, tuple[str, str, Any, Asked | None]] = {}  # by rank: name, call site, value
        self.left = 0  # ranks that have not taken the values yet
        self.values: list[Any] | None = None  # of all ranks, until each has taken them
        self.differ: str | None = None  # how the values of ``same_soon`` differ between ranks
        self.ended: dict[int, str] = {}  # by rank: how it has ended
        self.busy = [Busy() for _ in range(size)]  # by rank
        self.reason: str | None = None  # why the job ends

    def end(self, rank: int, how: str) -> None:
        """Record that ``rank`` has ended; ``how`` says so in error messages, such as "has ended"."""
        with self.changed:
            self.ended[rank] = how
            self.changed.notify_all()

    def wait_for_ends(self, number: int) -> None:
        """Wait until ``number`` ranks have ended; unlike joining threads, this can be interrupted and repeated."""
        with self.changed:
            self.changed.wait_for(lambda: len(self.ended) >= number)

    def abort(self, reason: str) -> None:
        """End the job: ranks that wait now or later raise ``CommunicationError`` with ``reason``."""
        with self.changed:
            self.reason = self.reason or reason
            self.changed.notify_all()

    def gather(self, rank: int, name: str, site: str, value: Any, asked: Asked | None = None) -> list[Any]:
        """Return the ``value`` of every rank, in rank order, see ``Comm.gather``; waits for them."""
        with self.changed:
            self._wait_for(lambda: self.values is None, name, site)  # the last collective is over
            self.deposited[rank] = name, site, value, asked
            if len(self.deposited) == self.size:
                self.values, self.left = self._compared(), self.size
            self.changed.notify_all()
            self._wait_for(lambda: self.values is not None, name, site)
            found, differ = self.values, self.differ
            self.left -= 1
            if self.left == 0:
                self.values = None
                self.deposited.clear()
                self.changed.notify_all()
            if differ is not None:
                raise ParameterError(differ)
            return [_copied(each) for each in found or []]

    def _compared(self) -> list[Any]:
        """Return the values of all ranks, after comparing their collectives and the values of ``same_soon``."""
        parts, self.differ = [self.deposited[rank] for rank in range(self.size)], None
        try:
            error = apart(
                [f"{name} at {site}" for name, site, *_ in parts], [one.texts if one else None for *_, one in parts]
            )
        except ParameterError as difference:
            self.differ = str(difference)
        else:
            self.reason = self.reason or (None if error is None else str(error))
        return [value for _, _, value, _ in parts]

    def _wait_for(self, is_there: Callable[[], bool], name: str, site: str) -> None:
        began = time.monotonic()
        while not is_there() and self._broken() is None:
            left = min(self._ends(began).values(), default=began + limit()) - time.monotonic()
            if left <= 0:
                break
            self.changed.wait(min(left, threading.TIMEOUT_MAX))
            if NOTICE.is_busy:
                began = time.monotonic()
        if self.reason is None and is_there():
            return
        self.reason = self._broken() or self._missing(began, f"{name} at {site}")
        self.changed.notify_all()
        raise CommunicationError(self.reason)

    def _ends(self, began: float) -> dict[int, float]:
        """Return until when to wait for each rank that is not at the collective, where others are since ``began``."""
        absent = {rank: self.busy[rank] for rank in range(self.size) if rank not in self.deposited}
        return {rank: busy.end if busy else max(began, busy.ended) + limit() for rank, busy in absent.items()}

    def _missing(self, began: float, place: str) -> str:
        """Return which ranks did not come to the collective ``place`` in time."""
        absent = [rank for rank, end in self._ends(began).items() if end <= time.monotonic()]
        overdue = [text for rank in absent if (text := self.busy[rank].overdue(rank))]
        return overdue[0] if overdue else not_come(absent, place)

    def _broken(self) -> str | None:
        """Return why the collective cannot come about (a rank has ended, or the job was aborted), or None."""
        if self.reason is not None:
            return self.reason
        gone = [rank for rank in self.ended if rank not in self.deposited]
        if gone and self.values is None:
            where = next(iter(self.deposited.values()), ("", "", None, None))
            return f"rank {gone[0]} {self.ended[gone[0]]} while others are at {where[0]} at {where[1]}"
        return None


def _copied(value: Any) -> Any:
    """Return a copy of ``value`` if it is an array, else ``value``; waits until a copy on a device is complete."""
    if not is_array(value):
        return value
    copy = value.copy()
    if not isinstance(copy, np.ndarray):
        module_of(copy).cuda.get_current_stream().synchronize()
    return copy


class ThreadComm(AskingComm):
    """Communication of a rank that is a thread; see :func:`run`."""

    name = "threads"

    def __init__(self, meeting: Meeting, rank: int) -> None:
        self.meeting, self.rank, self.size = meeting, rank, meeting.size

    def gather(self, name: str, value: Any) -> list[Any]:
        """Return the ``value`` of every rank, in rank order; waits for them. ``name``: that of the collective."""
        return self.meeting.gather(self.rank, name, call_site(), _copied(value), self.take_asked())

    def exchange(self, parts: list[Array]) -> list[Array]:
        """Send ``parts[r]`` to each rank ``r``; return the arrays received, in rank order; no rank reads any others."""
        given = [_copied(part) for part in parts]
        name = f"exchange of {parts[0].dtype}"
        found = self.meeting.gather(self.rank, name, call_site(), given, self.take_asked())
        return [each[self.rank] for each in found]

    @contextmanager
    def busy(self, most: float | None = None, *, reads: bool = False) -> Iterator[None]:
        """Return a context for work of this rank alone, see :meth:`Comm.busy`."""
        try:
            with self.meeting.busy[self.rank].span(most, reads=reads):
                yield
        finally:
            with self.meeting.changed:
                self.meeting.changed.notify_all()

    def abort(self, reason: str) -> None:
        """End the job on all ranks; they raise ``CommunicationError`` with this reason."""
        self.meeting.abort(reason)


def run(fn: Callable[[Comm], Any], ranks: int = 2) -> list[Any]:
    """Call ``fn(comm)`` in ``ranks`` threads, where ``connect()`` returns ``comm``; return the results, in rank order.

    Raises:
        ParameterError: ``ranks`` is not an integer from 1 to 64.
        Exception: the exception of the first rank that failed by itself.
    """
    ranks = integer("ranks", ranks, low=1, high=MOST_RANKS)
    if not callable(fn):
        raise ParameterError("fn must be a function of a Comm")
    meeting, results, errors = Meeting(ranks), [None] * ranks, dict[int, BaseException]()

    def work(rank: int) -> None:
        try:
            with using(ThreadComm(meeting, rank)) as comm:
                results[rank] = fn(comm)
            meeting.end(rank, "has ended")
        except BaseException as error:
            errors[rank] = error
            meeting.end(rank, f"has raised {type(error).__name__}: {error}")

    workers = [threading.Thread(target=work, args=(rank,), name=f"rank {rank}") for rank in range(ranks)]
    try:
        for worker in workers:
            worker.start()
        meeting.wait_for_ends(ranks)
    except BaseException as interrupt:  # from the keyboard: ranks end at the next collective
        meeting.abort(f"{type(interrupt).__name__} in the thread that waits for the ranks")
        meeting.wait_for_ends(sum(worker.ident is not None for worker in workers))
        raise
    for by_itself in (True, False):
        for _, error in sorted(errors.items()):
            if isinstance(error, CommunicationError) != by_itself:
                raise error
    return results
