"""Waiting for the other processes of an MPI job, with a time limit, and the end of the job if one does not come.

Besides the collectives, processes send each other notes: that one has ended, and, at intervals, that it is busy (it
compiles, it reads a source) or at which collective it waits. One that has said neither for the time limit, while others
wait for it or read a source, does not come. A job that cannot continue is aborted: every process of it ends, and one
prints the reason.
"""

from __future__ import annotations

import atexit
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from mpi4py import MPI

from suricate.base.notice import NOTICE
from suricate.comm.busy import Busy
from suricate.comm.messages import limit, not_come

SPIN = 0.05  #: seconds for which a request is polled without a pause: MPI makes progress only while it is polled
PAUSE, LONGEST = 2e-5, 1e-3  #: seconds between polls from then on: the first, and the longest
TICK = 0.25  #: seconds after which others are told that this process is busy or waits
GRACE = 1.0  #: seconds for such notes, once the limit has passed
BEATS = 4  #: further notes of it within the limit
LEFT = 10.0  #: seconds for what is queued on a device, once another process has ended: then it waits for that one
ENDED, BUSY, WAITS = "ended", "busy", "waits"  #: kinds of notes


class Watch:
    """Waits for MPI requests; ends the job if another process has ended or does not come. ``world``: of the notes."""

    def __init__(self, world: MPI.Comm) -> None:
        limit()  # that raises, if at all, before others wait
        self._world, self._rank = world, world.Get_rank()
        self._others = [rank for rank in range(world.Get_size()) if rank != self._rank]
        self._number, self._place = 0, ""  # of the collective that this process has come to
        self._ended: dict[int, tuple[int, str]] = {}  # by rank: collectives that it has come to, and how it ended
        self._heard = dict.fromkeys(self._others, -math.inf)  # by rank: when it was busy, or came to this collective
        self.busy = Busy()  #: the work of this process alone
        self._waits, self._said, self._said_at = False, "", 0.0  # whether it waits; the last note of that, and when
        #: of a communication of devices: marks the end of what is queued there; returns whether it has been reached
        self.mark_queue: Callable[[], Callable[[], bool]] | None = None
        self._mark: tuple[float, Callable[[], bool]] = 0.0, lambda: True  # when it was made, the last of them
        self._notes, self._sent, self._over = threading.Lock(), list[Any](), False
        atexit.register(self._say_end)
        self._hook = sys.excepthook
        sys.excepthook = self._end_by_error
        if MPI.Query_thread() >= MPI.THREAD_MULTIPLE:
            threading.Thread(target=self._beat, daemon=True, name="suricate: busy").start()

    def come(self, name: str, site: str) -> None:
        """Record that this process has reached the collective ``name``, called at ``site``."""
        self._number += 1
        self._place = f"{name} at {site}"

    def wait(self, request: MPI.Request) -> None:
        """Return when the request is complete; abort the job if it cannot be, or takes longer than the time limit."""
        began, pause = time.monotonic(), PAUSE
        while time.monotonic() - began < SPIN:
            if request.Test():
                return
            os.sched_yield()
        while not request.Test():
            time.sleep(pause)
            pause = min(2 * pause, LONGEST)
            self._listen()
            for rank, (number, how) in self._ended.items():
                if number < self._number:
                    self._give_up(request, f"rank {rank} {how} while others are at {self._place}")
            if time.monotonic() - began > TICK:
                self._waits = True
                self._say()
            if missing := self._missing(began):
                self._give_up(request, not_come(missing, self._place))
        self._waits = False

    def abort(self, reason: str) -> None:
        """Print the reason, and end all processes of the job."""
        print(f"suricate: rank {self._rank}: {reason}", file=sys.stderr, flush=True)
        self._world.Abort(1)

    # -- notes ---------------------------------------------------------------------------------------------------------

    def _send(self, *note: Any) -> None:
        with self._notes:
            if not self._over:
                self._sent = [one for one in self._sent if not one.Test()]
                self._sent += [self._world.isend((self._rank, *note), dest=rank) for rank in self._others]
            self._over = self._over or note[0] == ENDED

    def _say(self) -> None:
        """Tell the others that this process waits or is busy: at once when that begins, and then at intervals."""
        says, now = WAITS if self._waits else BUSY if self.busy or NOTICE.is_busy else "", time.monotonic()
        if says and (says != self._said or now - self._said_at > min(limit() / BEATS, 30.0)):
            self._said_at = now
            self._send(says, self._number, "")
        self._said = says

    def _listen(self) -> None:
        with self._notes:
            while not self._over and self._world.iprobe():
                rank, kind, number, text = self._world.recv()
                if kind == ENDED:
                    self._ended[rank] = number, text
                elif kind == BUSY or number >= self._number:
                    self._heard[rank] = time.monotonic()

    def _missing(self, began: float) -> list[int]:
        """Return the ranks that have not come since ``began``, and were not busy, for longer than the time limit."""
        longest = time.monotonic() - limit() - GRACE
        return [each for each, heard in self._heard.items() if max(began, heard) < longest and each not in self._ended]

    def _give_up(self, request: MPI.Request, reason: str) -> None:
        if not request.Test():
            self.abort(reason)

    def _beat(self) -> None:
        """Say what this process does, and end the job if a source is quiet for too long, or another process hangs."""
        while not self._over:
            time.sleep(TICK)
            self._listen()
            self._say()
            if overdue := self.busy.overdue(self._rank):
                self.abort(overdue)
            if not self._waits and (missing := self._missing(self.busy.reads_since)):
                self.abort(not_come(missing, "the next collective"))
            if self._ended and self.mark_queue is not None:
                self._look_at_queue(self.mark_queue)

    def _look_at_queue(self, mark_queue: Callable[[], Callable[[], bool]]) -> None:
        """End the job if a device does not end what is queued on it: a collective to which another one did not come."""
        began, is_reached = self._mark
        if is_reached():
            self._mark = time.monotonic(), mark_queue()
        elif time.monotonic() - began > LEFT:
            rank, (_, how) = next(iter(self._ended.items()))
            self.abort(f"rank {rank} {how} while a collective that is queued on a device waits for it")

    # -- the end -------------------------------------------------------------------------------------------------------

    def _say_end(self) -> None:
        self._send(ENDED, self._number, "has ended")

    def _end_by_error(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Handle an uncaught exception: print it, and end all processes, as others would wait for this one."""
        self._hook(kind, error, trace)
        self.abort(f"has raised {kind.__name__}")
