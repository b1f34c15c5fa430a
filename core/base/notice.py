"""Messages on stderr, each written once per process; ``SURICATE_QUIET=1`` suppresses them.

One of them explains why the first run on a machine is slow: it compiles kernels, which later runs load from disk. It is
written when a process has spent a second compiling; ``suricate warmup`` compiles ahead of time.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from suricate.base.forks import in_child, renewed

_told: set[str] = set()
PATIENCE = 1.0  #: seconds of compilation in a process before the line is written
LINE = (
    "suricate: compiling kernels, once on this machine "
    "(ahead of time: `suricate warmup`; without this line: SURICATE_QUIET=1)"
)


def tell(line: str) -> None:
    """Write ``line`` to stderr, unless this process has written it before or ``SURICATE_QUIET`` is set."""
    if line not in _told and os.environ.get("SURICATE_QUIET", "") in ("", "0"):
        _told.add(line)
        print(line, file=sys.stderr, flush=True)


def caution(message: str, category: type[Warning] = UserWarning) -> None:
    """Give a warning at the line that has called this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("suricate."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def deprecated(old: str, now: str, gone: str) -> None:
    """Give a ``DeprecationWarning`` at the line that has called this package: ``old`` still works, until it is gone.

    A name that was released warns for one release before it goes (see ``docs/plugins.md``). Afterwards it raises an
    error that says what to write (``renamed``).

    Args:
        old, now: what is written and what to write, as text.
        gone: the version that no longer has ``old``.
    """
    caution(f"{old} is deprecated and will be gone in suricate {gone}: write {now}", DeprecationWarning)


class CompilationNotice:
    """Adds up the seconds spent compiling; writes :data:`LINE` to stderr when they exceed :data:`PATIENCE`.

    Compilations may nest (a kernel compiles the functions it calls) and run in several threads; overlapping time
    counts once.
    """

    def __init__(self) -> None:
        self._lock = renewed(threading.Lock())
        self._depth = 0
        self._began = 0.0
        self.seconds = 0.0  #: that this process has spent in outermost compilations which have ended
        self._written = False

    def start(self) -> None:
        """Record that a compilation begins; write :data:`LINE` after :data:`PATIENCE` seconds in all."""
        with self._lock:
            now = time.monotonic()
            if self._depth == 0:
                self._began = now
            self._depth += 1
            if not self._written and self.seconds + now - self._began > PATIENCE:
                self._write()

    def end(self) -> None:
        """Record that a compilation has ended."""
        with self._lock:
            self._depth = max(0, self._depth - 1)
            if self._depth == 0:
                self.seconds += time.monotonic() - self._began

    @property
    def is_busy(self) -> bool:
        """Whether a compilation is in progress in any thread."""
        return self._depth > 0

    def _write(self) -> None:
        self._written = True
        tell(LINE)

    def forget_others(self) -> None:
        """Forget the compilations in progress, in a child of ``fork``, where the threads that made them are missing."""
        self._depth = 0


NOTICE = CompilationNotice()
in_child(NOTICE.forget_others)


@contextmanager
def compiling() -> Iterator[None]:
    """Count the time spent inside the ``with`` block as compilation."""
    NOTICE.start()
    try:
        yield
    finally:
        NOTICE.end()
