"""What commands print to: consoles, tables in five formats, progress."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import click

from suricate.base.visible import visible
from suricate.cli.grids import Grid, printable, rounded

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PIPE_WIDTH = 160  #: columns of running text that is not printed to a terminal; tables there are as wide as they need
MARKUPS = "markdown", "latex"  #: formats for other texts, see ``markup``
GAP = "  "  #: between the columns of a plain table
FRAME = 3  #: characters that a frame takes per column

#: the option of every command that prints tables; its value is for :func:`show`
table_format = click.option(
    "--format", "table_format", type=click.Choice(["table", "csv", "json", *MARKUPS]), default="table",
    show_default=True, help="Format of what is printed; csv and json have all digits.",
)  # fmt: skip


def console(*, stderr: bool = False) -> Console:
    """Return a ``rich`` console; for a pipe or a file it has no colours, and the width ``COLUMNS`` if that is set."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    if stream.isatty():
        return Console(stderr=stderr, highlight=False)
    width = columns_of_pipes() or PIPE_WIDTH
    return Console(stderr=stderr, highlight=False, width=width, force_terminal=False, color_system=None)


def columns_of_pipes() -> int | None:
    """Return the characters per line that the environment variable ``COLUMNS`` sets; None if it sets none."""
    text = os.environ.get("COLUMNS", "")
    return int(text) if text.isdecimal() and int(text) > 0 else None


def show(format: str, grids: Sequence[Grid], facts: Mapping[str, Any] | None = None) -> None:
    """Print facts and tables to stdout in a format of :data:`table_format`.

    "table": a line per fact, then the tables. "csv": tables separated by a blank line; facts are printed to stderr.
    "json": one object with facts and tables by name, a table being a list of objects; one table alone is that list.
    "markdown", "latex": facts as text or comments, then the tables, with six digits.
    """
    facts = facts or {}
    if format in MARKUPS:
        from suricate.cli.markup import marked_up

        return click.echo(marked_up(format, grids, facts), nl=False)
    if format == "json":
        tables = {grid.name: records(grid.columns, grid.rows) for grid in grids}
        content = {**{name: as_json(value) for name, value in facts.items()}, **tables}
        click.echo(json.dumps(next(iter(tables.values())) if len(content) == len(tables) == 1 else content, indent=1))
        return
    for name, value in facts.items():
        click.echo(value if name == "graph" else f"{name}: {value}", err=format == "csv")
    for number, grid in enumerate(grids):
        if format == "csv":
            click.echo("\n" * bool(number) + _csv(grid), nl=False)
        else:
            click.echo("\n" * bool(number), nl=False)
            _print_table(grid)


def records(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the rows of a table as dicts from column to a value that JSON can hold (see :func:`as_json`)."""
    return [dict(zip(columns, map(as_json, row), strict=True)) for row in rows]


def as_json(value: Any) -> Any:
    """Return a value that JSON can hold: NumPy's converted to Python's, NaN and infinity to None, others to text."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (int, float, str, list)) or value is None else str(value)


def _csv(grid: Grid) -> str:
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(grid.columns)
    writer.writerows(printable_rows(grid.rows))
    return text.getvalue()


def _print_table(grid: Grid) -> None:
    """Print a table to stdout; cells that are too long go on in further lines, between words."""
    cells = [[name_cell(value) if grid.has_names else rounded(value) for value in row] for row in grid.rows]
    if not sys.stdout.isatty():
        click.echo(plain_table(grid.columns, cells, columns_of_pipes()))
        return
    from rich.markup import escape
    from rich.table import Table

    table = Table(*map(escape, grid.columns))
    for row in cells:
        table.add_row(*map(escape, row))
    show_rich(console(), table)


def name_cell(value: Any) -> str:
    """Return :func:`rounded` ``value``; in a terminal cut to a third of its width, so that no name takes the screen."""
    text = rounded(value)
    return visible(text, max(24, console().width // 3)) if len(text) > 24 and sys.stdout.isatty() else text


def printable_rows(rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """Return rows of numbers and texts, the texts made :func:`printable`, in a terminal :func:`visible`."""
    text = visible if sys.stdout.isatty() else printable
    return [[text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]


def plain_table(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None) -> str:
    """Return a table with the headers ``columns`` and these ``rows`` as text without a frame.

    Args:
        columns: texts. rows: a text per column.
        width: most characters of a line, None: no limit. Cells are broken between words only; where words are too long
            for that, each cell follows the name of its column, and a blank line each row.
    """
    cells = [list(map(str, row)) for row in (columns, *rows)]
    widths = fitting_widths(cells, None if width is None else width - len(GAP) * (len(columns) - 1))
    if widths is None:
        pairs = ([f"{name}: {cell}" for name, cell in zip(cells[0], row, strict=True)] for row in cells[1:])
        return "\n\n".join("\n".join(line for pair in row for line in wrapped(pair, width or 0)) for row in pairs)
    lines = [line for row in cells[1:] for line in _wrapped(row, widths)]
    return "\n".join([*_wrapped(cells[0], widths), GAP.join("-" * width for width in widths), *lines])


def fitting_widths(cells: Sequence[Sequence[str]], most: int | None) -> list[int] | None:
    """Return a width for each column of ``cells``, ``most`` together; None if that needs breaks inside words."""
    columns = list(zip(*cells, strict=True))
    widths = [max(map(len, column)) for column in columns]
    least = [max((len(word) for cell in column for word in cell.split()), default=0) for column in columns]
    while most is not None and sum(widths) > most:
        wide = [place for place, width in enumerate(widths) if width > least[place]]
        if not wide:
            return None
        widths[max(wide, key=widths.__getitem__)] -= 1
    return widths


def _wrapped(row: list[str], widths: list[int]) -> list[str]:
    """Return the lines of text of ``row``; a cell longer than the width of its column goes on in the next line."""
    parts = [wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
    lines = zip_longest(*parts, fillvalue="")
    return [GAP.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def wrapped(text: str, width: int) -> list[str]:
    """Return a text as lines of at most ``width`` characters, or of one word."""
    import textwrap

    return [text] if len(text) <= width else textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def grid_of(table: Table) -> Grid:
    """Return the plain texts of a ``rich`` table as a :class:`Grid`, whose name is the title of the table."""
    from rich.text import Text

    def text(cell: Any) -> str:
        return cell.plain if isinstance(cell, Text) else Text.from_markup(str(cell)).plain

    columns = [text(column.header) for column in table.columns]
    cells = ([text(cell) for cell in column.cells] for column in table.columns)
    return Grid(text(table.title or ""), columns, list(zip(*cells, strict=True)))


def show_rich(console: Console, table: Table) -> None:
    """Print a ``rich`` table; without colours and frame if that is a pipe or a file, or too narrow for its words."""
    grid, limit = grid_of(table), columns_of_pipes()
    if console.is_terminal or console.record:
        limit = console.width
        widths = fitting_widths([grid.columns, *grid.rows], limit - FRAME * len(grid.columns) - 1)
        if widths is not None:
            for column, width in zip(table.columns, widths, strict=True):
                column.width = width
            console.print(table)
            return
    lines = [*([grid.name] if grid.name else []), plain_table(grid.columns, grid.rows, limit)]
    console.print("\n".join(lines), markup=False, soft_wrap=True)
