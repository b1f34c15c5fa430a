"""Loops of the CPU on several cores: how many, and how a loop is cut and run.

A loop is a compiled function that releases the GIL and does a part of the work: a range of vertices or edges.
:func:`run` calls it for every part, in the calling thread and in threads of a pool that the process shares. What a part
returns or writes must not depend on who runs it, or when. Numba's own threads are not used: its ``workqueue`` ends the
process when two Python threads use it at once, and a child process inherits the others broken.

How many threads a call may use is, in this order: ``Graph(threads=)`` of the graph that it works on, the environment
variable ``SURICATE_THREADS``, the cores that the process may use. Work that is small stays in the calling thread. A
thread that finds the pool busy does the work itself, so threads never wait for each other's parts. After a fork the
child starts with a new pool.
"""

from __future__ import annotations

import _thread
import math
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from suricate.base.errors import ParameterError
from suricate.base.forks import in_child
from suricate.base.parameters import integer, shown

VARIABLE = "SURICATE_THREADS"
MOST = 1024  #: threads
GRAIN = 1 << 15  #: units of work (edges, say) that are worth a part of their own: about 50 microseconds at least
EACH = 4  #: parts per thread, so that one that is held up does not hold up all

Range = tuple[int, int]


def cores() -> int:
    """Return the number of cores that the process may use, by its CPU affinity and the CPU quota of its container."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return max(1, min(allowed, math.ceil(int(quota) / int(period))))
    except (OSError, ValueError):  # no such limit
        return allowed


@cache
def default() -> int:
    """Return the default limit of threads: ``SURICATE_THREADS`` if it is set, else the number of cores."""
    text = os.environ.get(VARIABLE)
    if not text:
        return min(cores(), MOST)
    if not text.isascii() or not text.removeprefix("-").isdigit():
        raise ParameterError(f"{VARIABLE} must be an integer, got {shown(text)}")
    return integer(VARIABLE, int(text[:10]), low=1, high=MOST)


def checked(threads: Any) -> int | None:
    """Return ``threads``, the parameter of a graph, if it is an integer from 1 to 1024 or None (use the default)."""
    default()
    return None if threads is None else integer("threads", threads, low=1, high=MOST)


class _Local(threading.local):
    """Per thread: ``limit``, the largest number of threads that a call from it may use (None: the default)."""

    limit: int | None = None


_local = _Local()


def limit() -> int:
    """Return the largest number of threads that a call made by the current thread may use."""
    return _local.limit or default()


class Limited:
    """A reentrant lock as a context manager; CPU loops run in its ``with`` block use at most ``threads`` threads.

    ``lock`` is the ``threading`` lock that it holds; None: a new ``RLock``.
    """

    __slots__ = ("_limit", "_lock", "_outer")

    def __init__(self, threads: int, lock: Any = None) -> None:
        self._lock, self._limit = lock or threading.RLock(), threads
        self._outer: list[int | None] = []  # the limits to go back to, the last of which is the holder's

    def __enter__(self) -> None:
        self._lock.acquire()
        self._outer.append(_local.limit)
        _local.limit = self._limit

    def __exit__(self, *_: object) -> None:
        _local.limit = self._outer.pop()
        self._lock.release()


def parts(work: int) -> int:
    """Return the number of parts into which a loop is cut; 1 if the loop is short or only one thread may be used.

    ``work`` is the number of vertices and edges (or similar units) that the loop visits.
    """
    threads = limit()
    if threads == 1 or work < 2 * GRAIN:
        return 1
    return min(threads * EACH, work // GRAIN)


def ranges(size: int, number: int) -> list[Range]:
    """Return ``number`` ranges ``(begin, end)`` of nearly equal length that make up ``[0, size)``."""
    return [(size * i // number, size * (i + 1) // number) for i in range(number)]


def over(size: int, function: Callable[..., Any], *arguments: Any, unit: float = 1) -> list[Any]:
    """Divide ``[0, size)`` into ranges, call ``function(*arguments, begin, end)`` for each; return the list of results.

    The calls run in several threads; the results are in the order of the ranges. A small ``size`` gives a single range.
    ``unit`` is the work per entry, where 1 is about the work on one edge: pass less for vector instructions or NumPy.
    """
    if size * unit < 2 * GRAIN:
        return [function(*arguments, 0, size)]
    return run(function, [(*arguments, *part) for part in ranges(size, parts(int(size * unit)))])


def run(function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Return ``[function(*call) for call in calls]``, computed by as many threads as are allowed and free.

    ``function`` must release the GIL. If calls raise, the remaining ones are skipped, and one of the exceptions is
    raised after all threads have ended.
    """
    wanted = min(limit(), len(calls)) - 1
    if wanted <= 0:
        return [function(*call) for call in calls]
    global shared
    shared += 1
    helpers: list[_Helper] = []
    pool, job, tickets = _pool, _Job(function, calls), []
    try:
        pool.take(wanted, helpers)
        while helpers:
            tickets.append(_Ticket(job))
            helpers.pop().start(tickets[-1])
        job.work()
    except BaseException:  # an interrupt, and a helper may have been in no list
        pool.retire()
        raise
    finally:
        try:
            job.close()
            while helpers:  # none, unless there was an exception above
                pool.give_back(helpers.pop())
        finally:  # also after an interrupt right here
            _wait(tickets)
    if job.error is not None:
        raise job.error
    return job.results


def _wait(tickets: list[_Ticket]) -> None:
    """Wait for each helper thread that has started on the job of its ticket; cancel the tickets of the other helpers.

    A KeyboardInterrupt during the wait is raised only after all helpers have ended. It may arrive before or after any
    step takes effect, so every step can be repeated without harm.
    """
    interrupt = None
    for ticket in tickets:
        while True:
            try:
                if ticket.takes("caller"):  # its helper will find the ticket taken, and do nothing
                    break
                while not ticket.ended:
                    ticket.done.acquire()
                break
            except BaseException as error:
                interrupt = error
    if interrupt is not None:
        raise interrupt


def compacted(queue: Any, ranges: Sequence[Range], lasts: Sequence[int]) -> int:
    """Close the gaps between the results of parallel parts in ``queue``, in place; return the total number of results.

    Part ``i`` has written its results to ``queue[ranges[i][0] : lasts[i]]``; they move to the front in the order of
    parts.
    """
    count = 0
    for (begin, _), last in zip(ranges, lasts, strict=True):
        if begin != count:
            queue[count : count + last - begin] = queue[begin:last]
        count += last - begin
    return count


shared = 0  #: how many calls of :func:`run` were for several threads


class _Job:
    """The list of calls of one :func:`run`: every participating thread repeatedly takes the next call and makes it."""

    def __init__(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> None:
        self._function, self._calls, self._next = function, calls, count()
        self._open = True
        self.results: list[Any] = [None] * len(calls)
        self.error: BaseException | None = None

    def work(self) -> None:
        """Make calls until all have been started or one has raised; fill ``results``, or set ``error``."""
        function, calls = self._function, self._calls
        while self._open:
            i = next(self._next)
            if i >= len(calls):
                return
            try:
                self.results[i] = function(*calls[i])
            except BaseException as error:
                self.error = error
                self._open = False

    def close(self) -> None:
        """Prevent further calls from starting, and drop the references to the arguments of all calls."""
        self._open, self._calls = False, ()


class _Ticket:
    """A request to one helper thread to join a job, which the helper accepts or the caller of ``run`` cancels."""

    __slots__ = ("_owner", "done", "ended", "job")

    def __init__(self, job: _Job) -> None:
        self.job, self.ended = job, False
        self._owner: dict[str, str] = {}
        self.done = _thread.allocate_lock()
        self.done.acquire()

    def takes(self, who: str) -> bool:
        """Claim the ticket for ``who``, ``"helper"`` or ``"caller"``; return whether ``who`` holds it now."""
        return self._owner.setdefault("owner", who) == who


class _Helper:
    """A thread of the pool: it sleeps until :meth:`start`, works on one job, and returns to the pool."""

    def __init__(self, pool: _Pool) -> None:
        self._pool = pool
        self._ticket: _Ticket | None = None
        self._go = _thread.allocate_lock()
        self._go.acquire()
        threading.Thread(target=self._serve, name="suricate", daemon=True).start()

    def start(self, ticket: _Ticket | None) -> None:
        """Wake the thread, which then tries to claim ``ticket`` and to work on its job; None: the thread ends."""
        self._ticket = ticket
        self._go.release()

    def _serve(self) -> None:
        while True:
            self._go.acquire()
            if self._ticket is None:
                return
            self._take_part()  # a call of its own: nothing of a job is held while it waits for the next

    def _take_part(self) -> None:
        ticket, self._ticket = self._ticket, None
        assert ticket is not None
        begins = ticket.takes("helper")
        if begins:
            ticket.job.work()
        self._pool.give_back(self)  # first, so that the next job finds it
        if begins:
            ticket.ended = True
            ticket.done.release()


class _Pool:
    """The pool of helper threads: a list of the idle ones, and the number of all that were started."""

    def __init__(self) -> None:
        self._free: list[_Helper] = []
        self._count = 0
        self._lock = threading.Lock()  # of making threads
        self._is_retired = False

    def take(self, number: int, taken: list[_Helper]) -> None:
        """Move idle helpers to the list ``taken`` until it has ``number`` entries."""
        while len(taken) < number:
            try:
                taken.append(self._free.pop())
            except IndexError:
                if self._count >= number or not self._add():
                    break

    def give_back(self, helper: _Helper) -> None:
        """Add ``helper``, which has worked on a job, to the idle helpers; in a retired pool all idle helpers end."""
        self._free.append(helper)
        if self._is_retired:
            self._end_idle()

    def retire(self) -> None:
        """End the idle helpers, and have later calls use a new pool: an interrupt may have lost helpers of this one."""
        global _pool
        if _pool is self:
            _pool = _Pool()
        self._is_retired = True
        self._end_idle()

    def _end_idle(self) -> None:
        with suppress(IndexError):  # another thread may take the last one
            while True:
                self._free.pop().start(None)

    def _add(self) -> bool:
        with self._lock:
            try:
                self._free.append(_Helper(self))
            except RuntimeError:  # the system gives no more threads, or the interpreter ends
                return False
            self._count += 1
            return True


_pool = _Pool()


@in_child
def _new_pool() -> None:
    global _pool
    _pool = _Pool()
