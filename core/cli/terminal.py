"""What commands print to: consoles, tables, progress."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

PIPE_WIDTH = 160  #: columns of a table that is not printed to a terminal


def console(*, stderr: bool = False) -> Console:
    """Return a console; wide where the output is not a terminal, so that nothing is cut."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, highlight=False, width=None if stream.isatty() else PIPE_WIDTH)


def print_table(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print a table whose cells are folded, not cut."""
    from rich.markup import escape
    from rich.table import Table

    table = Table()
    for column in columns:
        table.add_column(escape(column), overflow="fold")
    for row in rows:
        table.add_row(*(escape(str(cell)) for cell in row))
    console().print(table)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that something is going on."""
    from rich.markup import escape

    with console(stderr=True).status(escape(what)):
        yield


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on a terminal; yields what to call with (done, total)."""
    from rich.markup import escape
    from rich.progress import Progress

    with Progress(console=console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        bar = progress.add_task(escape(what), total=None)
        yield lambda done, total: progress.update(bar, completed=done, total=total)
