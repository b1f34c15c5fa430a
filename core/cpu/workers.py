"""Worker processes that compile CPU loops in advance, and store the machine code in the cache on disk.

Numba compiles one function at a time in a process. A worker, a process of low priority, calls the functions that the
program may need later; when the program needs one, it loads the machine code from disk, or compiles it itself if it is
not there yet: it does not wait for a worker. There are at most as many workers as other cores, and none on fewer than
:data:`LEAST_CORES`: on two cores, a worker delayed the program's first results.

A worker ends when it has received no call for some seconds, or when the program has ended. It is a new Python process,
not a fork: it imports the modules of the functions that it calls.
"""

from __future__ import annotations

import atexit
import os
import pickle
import select
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from suricate.base import cache
from suricate.base.forks import in_child, renewed

MOST = 4  #: processes
LEAST_CORES = 4  #: from which on there are any
IDLE = 10.0  #: seconds after which a process without work ends
MOST_ASKED = 60_000  #: bytes of what a program asks at most, so that no pipe is ever full
SCRIPT = "from suricate.cpu.workers import main; main()"
_SIZE = struct.Struct("<Q")


class Workers:
    """The worker processes of this program."""

    def __init__(self) -> None:
        self._lock = renewed(threading.Lock())
        self.forget()

    def forget(self) -> None:
        """Forget all processes and submitted calls, in a child of ``fork``: the processes belong to the parent."""
        self._processes: list[subprocess.Popen[bytes]] = []
        self._asked, self._turn, self._left = set[str](), 0, MOST_ASKED

    def submit(self, name: str, function: Callable[..., None], *given: Any) -> None:
        """Have a worker process call ``function(*given)``, unless a call named ``name`` was submitted before.

        ``function`` and ``given`` are pickled. The request is dropped if that fails, if there are too few cores or too
        many requests, or if the worker cannot import the function.
        """
        folder, most = cache.cache_folder(), min(MOST, cores() - 1)
        if folder is None or not can_work():
            return
        with self._lock, suppress(OSError):
            if name in self._asked:
                return
            self._asked.add(name)
            try:
                task = pickle.dumps((function, given))
            except Exception:  # whatever an object's own methods raise
                return
            self._left -= _SIZE.size + len(task)
            if self._left < 0:
                return
            self._processes = [one for one in self._processes if one.poll() is None]
            if len(self._processes) < most:
                if not self._processes:
                    atexit.unregister(self.stop)
                    atexit.register(self.stop)  # again, since it has to come before the end of a private folder
                self._processes.append(_started(str(folder)))
                chosen = self._processes[-1]
            else:
                self._turn += 1
                chosen = self._processes[self._turn % most]
            assert chosen.stdin is not None
            chosen.stdin.write(_SIZE.pack(len(task)) + task)
            chosen.stdin.flush()

    def stop(self) -> None:
        """Terminate the worker processes, even in the middle of a call, and wait until they have ended."""
        with self._lock:
            for process in self._processes:
                process.terminate()
            for process in self._processes:
                process.wait()
            self._processes = []

    def wait(self) -> None:
        """Wait until the worker processes have finished all submitted calls and ended."""
        with self._lock:
            for process in self._processes:
                with suppress(OSError):
                    process.communicate()
            self._processes = []


def can_work() -> bool:
    """Return whether this program may start worker processes: it needs ``LEAST_CORES`` cores and an interpreter.

    A frozen program is its own executable: there is no interpreter that could run a worker.
    """
    return cores() >= LEAST_CORES and bool(sys.executable) and not getattr(sys, "frozen", False)


def cores() -> int:
    """Return the number of cores that this process may use according to its CPU affinity."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _started(folder: str) -> subprocess.Popen[bytes]:
    own = {
        "SURICATE_AHEAD": "0", "SURICATE_QUIET": "1", "SURICATE_CACHE_DIR": folder,
        "PYTHONPATH": os.pathsep.join(part or os.getcwd() for part in sys.path), "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], env=os.environ | own, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    threading.Thread(target=process.wait, name="suricate-workers", daemon=True).start()  # leaves no zombie
    return process


WORKERS = Workers()
in_child(WORKERS.forget)


# -- in a process beside the program -----------------------------------------------------------------------------------


def main() -> None:
    """Run a worker process: make the calls that arrive, pickled, on standard input.

    It ends when the input ends, or when nothing has arrived for ``IDLE`` seconds.
    """
    os.nice(19)
    if hasattr(os, "SCHED_IDLE"):
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    while (task := _next(sys.stdin.fileno())) is not None:
        with suppress(Exception):  # the program itself will meet it, if it matters
            function, given = pickle.loads(task)
            function(*given)


def _next(pipe: int) -> bytes | None:
    """Read the next pickled call from the file descriptor ``pipe``; None at its end or after ``IDLE`` seconds."""
    if not select.select([pipe], [], [], IDLE)[0]:
        return None
    size = _exactly(pipe, _SIZE.size)
    return None if size is None else _exactly(pipe, *_SIZE.unpack(size))


def _exactly(pipe: int, size: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < size:
        part = os.read(pipe, size - len(parts))
        if not part:
            return None
        parts += part
    return bytes(parts)
