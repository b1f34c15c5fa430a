"""Progress of what takes longer than two seconds: lines on stderr, in a terminal or a notebook, never in a pipe.

A thread looks at what is going on; it ends when nothing is. ``SURICATE_QUIET=1`` shows nothing.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from suricate.base.forks import in_child, renewed
from suricate.base.visible import visible

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

F = TypeVar("F", bound=Callable[..., Any])

PATIENCE = 2.0  #: seconds after which something is shown
TICK, LINGER = 0.2, 5  #: seconds between looks, and looks at nothing before the thread ends


class working:  # noqa: N801 - used as contextmanager functions are
    """A context for work called ``what``, a text or a function of one, which may be changed meanwhile.

    Calling what it yields with (done, total) says how far it is.
    """

    __slots__ = ("_is_shown", "began", "done", "row", "total", "what")

    def __init__(self, what: str | Callable[[], str]) -> None:
        self.what, self.done, self.total = what, 0, 0
        self.row: TaskID | None = None  #: what is shown of it
        self._is_shown = False

    def __enter__(self) -> working:
        self.began = time.monotonic()
        self._is_shown = can_show()
        if self._is_shown:
            DISPLAY.add(self)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._is_shown:
            DISPLAY.remove(self)

    def __call__(self, done: int, total: int) -> None:
        """Say that ``done`` of ``total`` are done."""
        self.done, self.total = done, total


def worked(what: str) -> Callable[[F], F]:
    """Return a decorator of functions: their calls are work called ``what``."""

    def decorate(function: F) -> F:
        @wraps(function)
        def shown(*args: Any, **kwargs: Any) -> Any:
            with working(what):
                return function(*args, **kwargs)

        return cast(F, shown)

    return decorate


def can_show() -> bool:
    """Return whether stderr is a terminal or a notebook, and nobody wants quiet."""
    if DISPLAY.is_hidden or not (is_terminal(sys.stderr) or is_notebook()):
        return False
    return os.environ.get("SURICATE_QUIET", "") in ("", "0")


def is_terminal(stream: Any) -> bool:
    """Return whether a stream is a terminal; programs close them, or put objects that only write in their place."""
    try:
        return bool(stream.isatty())
    except (AttributeError, OSError, ValueError):
        return False


def is_notebook() -> bool:
    """Return whether stderr is that of a notebook."""
    return type(sys.stderr).__module__.startswith("ipykernel.")


class Display:
    """What is shown: a row for each work that has gone on for long, in the order in which they began.

    ``is_hidden``: nothing is, as something else has the screen.
    """

    is_hidden = False

    def __init__(self) -> None:
        self._lock = renewed(threading.RLock())
        self._works: list[working] = []
        self._rows: Progress | None = None
        self._is_watched = False  # whether the thread runs

    def add(self, work: working) -> None:
        """Begin to look at ``work``."""
        with self._lock:
            self._works.append(work)
            if not self._is_watched:
                self._is_watched = True
                threading.Thread(target=self._watch, name="suricate progress", daemon=True).start()

    def remove(self, work: working) -> None:
        """Show ``work`` no longer."""
        with self._lock:
            if work in self._works:
                self._works.remove(work)
            if self._rows is not None and work.row is not None:
                self._rows.remove_task(work.row)
                if not self._rows.tasks:
                    with self._while_there_is_a_terminal():
                        self._rows.stop()
                    self._rows = None

    def _watch(self) -> None:
        idle = 0
        while True:
            time.sleep(TICK)
            with self._lock:
                idle = 0 if self._works else idle + 1
                if idle > LINGER:
                    self._is_watched = False
                    return
                with self._while_there_is_a_terminal():
                    self.refresh()

    @contextmanager
    def _while_there_is_a_terminal(self) -> Iterator[None]:
        """Show nothing from now on if stderr cannot be written to any more: the terminal of a job may be closed."""
        try:
            yield
        except (OSError, ValueError):
            self.is_hidden, self._works = True, []

    def refresh(self) -> None:
        """Show what has gone on for long, as far as it is."""
        long = [work for work in self._works if time.monotonic() - work.began > PATIENCE]
        if long and self._rows is None:
            self._rows = rows()
            self._rows.start()
        for work in long:
            assert self._rows is not None
            if work.row is None:
                work.row = self._rows.add_task("", total=None)
            what = visible(work.what if isinstance(work.what, str) else work.what())
            text = f"{what}, {time.monotonic() - work.began:.0f} s"
            self._rows.update(work.row, description=text, completed=work.done, total=work.total or None)
        if self._rows is not None:
            self._rows.refresh()

    def forget(self) -> None:
        """Forget everything, in a child of ``fork``: its thread is not there, nor what keeps rows below other lines."""
        self._works, self._rows, self._is_watched = [], None, False
        for name in ("stdout", "stderr"):
            setattr(sys, name, getattr(getattr(sys, name), "rich_proxied_file", getattr(sys, name)))


def rows() -> Progress:
    """Return rows of ``rich`` on stderr; what the program prints meanwhile to the same terminal is above them."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TaskProgressColumn, TextColumn

    options: dict[str, Any] = {"force_jupyter": False, "force_terminal": True, "width": 100} if is_notebook() else {}
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TaskProgressColumn()
    return Progress(
        *columns, console=Console(stderr=True, **options), transient=True, auto_refresh=False,
        redirect_stdout=is_terminal(sys.stdout), redirect_stderr=not is_notebook(),
    )  # fmt: skip


DISPLAY = Display()
in_child(DISPLAY.forget)
