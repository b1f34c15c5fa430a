"""Ctrl-C waits until a store is whole again.

Python raises ``KeyboardInterrupt`` between any two steps of the main thread, which may be half-way through a change.
No other thread runs signal handlers, so they need no protection.

On CUDA only changes of the live set use this: deleted and added vertices, and batches of edges while there may be
deleted vertices, which edges revive. Other batches do not: to replace the handler and put it back takes the host up to
5 us, and a whole batch takes it 6. A batch is a few launches, microseconds apart, and what was launched is carried out.
An interrupt between two of them may leave the stores of a graph with in-edges apart (``Graph.check`` tells); the
graph's version grows where a batch may have been launched, so that trackers compute from scratch. An interrupt while
the host waits for a batch does no harm.
"""

from __future__ import annotations

import _signal  # the functions of ``signal`` without its enumerations: half a microsecond instead of several
import threading
from collections.abc import Callable
from signal import SIGINT
from types import FrameType
from typing import Any

from suricate.base.forks import in_child

_main = threading.main_thread().ident  #: of this process


class Uninterrupted:
    """Delays ``KeyboardInterrupt`` to the end of a ``with`` block, if the signal has a handler in Python.

    Of blocks of one object within each other the outermost delays it; :attr:`open` counts them, for ``fork``.
    """

    open = 0
    _handler: Callable[[int, FrameType | None], Any] | None = None
    _frame: FrameType | None = None  # what was interrupted

    def __enter__(self) -> None:
        if not self.open:
            self._handler = self._frame = None
            if threading.get_ident() == _main and callable(handler := _signal.getsignal(SIGINT)):
                self._handler = handler
                _signal.signal(SIGINT, self._note)
        self.open += 1

    def __exit__(self, *_: object) -> None:
        self.open -= 1
        if self._handler is not None and not self.open:
            _signal.signal(SIGINT, self._handler)
            if self._frame is not None:
                self._handler(SIGINT, self._frame)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._frame = frame


@in_child
def _know_main_thread() -> None:
    """In the child of a fork, take the thread that forked as the main one, as Python does."""
    global _main
    _main = threading.main_thread().ident
