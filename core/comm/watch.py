"""Waiting for the other processes of an MPI job, with a time limit, and the end of the job if one does not come.

Besides the collectives, processes send each other notes: that one has ended, that it is busy and the limit must not
count (it compiles, it reads a file), and, once the limit has passed, at which collective it is. A process that
waits reads them. A job that cannot continue is aborted: every process of it ends, and one prints the reason.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from types import TracebackType
from typing import Any

from mpi4py import MPI

from suricate.base.notice import NOTICE
from suricate.comm.messages import limit

SPIN = 0.05  #: seconds for which a request is polled without a pause: MPI makes progress only while it is polled
PAUSE, LONGEST = 2e-5, 1e-3  #: seconds between polls from then on: the first, and the longest
GRACE = 1.0  #: seconds for the notes of others, once the limit has passed
BEATS = 4  #: notes of a busy process within the limit
ENDED, BUSY, WAITS = "ended", "busy", "waits"  #: kinds of notes


class Watch:
    """Waits for MPI requests, and ends the job if another process has ended, or does not come within the time limit.

    Args:
        world: the communicator of the notes, used for nothing else.
    """

    def __init__(self, world: MPI.Comm) -> None:
        limit()  # that raises, if at all, before others wait
        self._world, self._rank = world, world.Get_rank()
        self._others = [rank for rank in range(world.Get_size()) if rank != self._rank]
        self._number, self._place = 0, ""  # of the collective that this process has come to
        self._ended: dict[int, tuple[int, str]] = {}  # by rank: collectives that it has come to, and how it ended
        self._waiting: dict[int, tuple[int, str]] = {}  # by rank: where it waits, once the limit has passed
        self._heard = 0.0  # when a busy process was last heard of
        self._sending, self._sent, self._over = threading.Lock(), list[Any](), False
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
            if time.monotonic() - max(began, self._heard) > limit():
                self._time_out(request)

    def abort(self, reason: str) -> None:
        """Print the reason, and end all processes of the job."""
        print(f"suricate: rank {self._rank}: {reason}", file=sys.stderr, flush=True)
        self._world.Abort(1)

    # -- notes ---------------------------------------------------------------------------------------------------------

    def _send(self, *note: Any) -> None:
        with self._sending:
            if not self._over:
                self._sent = [one for one in self._sent if not one.Test()]
                self._sent += [self._world.isend((self._rank, *note), dest=rank) for rank in self._others]
            self._over = self._over or note[0] == ENDED

    def _listen(self) -> None:
        while self._world.iprobe():
            rank, kind, number, text = self._world.recv()
            if kind == BUSY:
                self._heard = time.monotonic()
            else:
                {ENDED: self._ended, WAITS: self._waiting}[kind][rank] = number, text

    def _time_out(self, request: MPI.Request) -> None:
        """Ask at which collective each process is; abort the job, saying so, unless ``request`` completes meanwhile."""
        self._send(WAITS, self._number, self._place)
        end = time.monotonic() + GRACE
        while time.monotonic() < end and not request.Test():
            time.sleep(LONGEST)
            self._listen()
        absent = [rank for rank in self._others if rank not in self._waiting]
        reason = f"ranks {absent} did not come to {self._place} within {limit():g} s"
        for rank, (number, place) in sorted(self._waiting.items()):
            if (number, place) != (self._number, self._place):
                reason += f"; rank {rank} is at {place}"
        self._give_up(request, reason)

    def _give_up(self, request: MPI.Request, reason: str) -> None:
        if not request.Test():
            self.abort(reason)

    def _beat(self) -> None:
        """While this process is busy, send the others a note of that at intervals; runs for ever, in its own thread."""
        while True:
            time.sleep(min(limit() / BEATS, 30.0))
            if NOTICE.is_busy:
                self._send(BUSY, self._number, "")

    # -- the end -------------------------------------------------------------------------------------------------------

    def _say_end(self) -> None:
        self._send(ENDED, self._number, "has ended")

    def _end_by_error(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Handle an uncaught exception: print it, and end all processes, as others would wait for this one.

        It is called as ``sys.excepthook`` is: with the class, the exception and its traceback.
        """
        self._hook(kind, error, trace)
        self.abort(f"has raised {kind.__name__}")
