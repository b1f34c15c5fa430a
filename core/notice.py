"""The line on stderr that says why the first run on a machine is slow: it compiles kernels.

Compiled kernels are kept on disk, so later runs load them. The line comes once per process, when compilation has taken
a second in all; ``SURICATE_QUIET=1`` keeps it away, ``suricate warmup`` compiles ahead of time.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 1.0  #: seconds of compilation in a process before the line is written
LINE = (
    "suricate: compiling kernels, once on this machine "
    "(ahead of time: `suricate warmup`; without this line: SURICATE_QUIET=1)"
)


class CompilationNotice:
    """Adds up the time spent compiling; writes :data:`LINE` when it passes :data:`PATIENCE`.

    Compilations may nest (a kernel compiles the functions it calls), and run in several threads; what overlaps counts
    once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth = 0
        self._began = 0.0
        self._seconds = 0.0  # of outermost compilations that have ended
        self._written = False

    def start(self) -> None:
        """Note that a compilation begins."""
        with self._lock:
            now = time.monotonic()
            if self._depth == 0:
                self._began = now
            self._depth += 1
            if not self._written and self._seconds + now - self._began > PATIENCE:
                self._write()

    def end(self) -> None:
        """Note that a compilation has ended."""
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self._seconds += time.monotonic() - self._began

    @property
    def seconds(self) -> float:
        """Seconds spent compiling in this process so far."""
        return self._seconds

    def _write(self) -> None:
        self._written = True
        if os.environ.get("SURICATE_QUIET", "") in ("", "0"):
            print(LINE, file=sys.stderr, flush=True)


NOTICE = CompilationNotice()


@contextmanager
def compiling() -> Iterator[None]:
    """Count what happens inside as compilation."""
    NOTICE.start()
    try:
        yield
    finally:
        NOTICE.end()
