"""Graph files as arguments of commands: the options that say how to read one, and reading it."""

from __future__ import annotations

import glob
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from suricate.base.errors import SuricateError

if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.io import EdgeFile

SNAPSHOT = ".npz"  #: what the name of a snapshot ends in
STDOUT = Path("/dev/stdout")
RELABEL = ("auto", "text")  #: values of ``--relabel``

Function = TypeVar("Function", bound=Callable[..., Any])


class SourceType(click.Path):
    """An existing file; ``-`` is standard input. With ``parts=True`` also a folder, or a pattern with ``*``."""

    def __init__(self, *, parts: bool = False) -> None:
        super().__init__(exists=True, dir_okay=parts, path_type=Path)
        self._parts = parts

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path to read; ``-`` is standard input, and a pattern is not expanded."""
        if str(value) == "-":
            return Path("/dev/stdin")
        if self._parts and glob.has_magic(str(value)) and not Path(value).exists():
            return Path(value)  # what it matches, if anything, shows when it is read
        return super().convert(value, param, ctx)


class EventsType(SourceType):
    """What a stream is read from: files as of :class:`SourceType`; or ``NAME://...``, which ``st.NAME`` takes."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path to read, or the text of an address."""
        return value if "://" in str(value) else super().convert(value, param, ctx)


class TargetType(click.Path):
    """A file to write; ``-`` is standard output."""

    def __init__(self, *, dir_okay: bool = False) -> None:
        super().__init__(dir_okay=dir_okay, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path to write; ``-`` is standard output."""
        return STDOUT if str(value) == "-" else super().convert(value, param, ctx)


FILE, GRAPH_FILE, EVENTS, TARGET = SourceType(), SourceType(parts=True), EventsType(parts=True), TargetType()


class ReadingCommand(click.Command):
    """A command with :func:`reading_options`, whose ``--relabel`` needs no value, even if a file name follows."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse ``args``: ``--relabel`` takes the next argument if that is one of its values, else ``auto``."""
        given: list[str] = []
        for at, arg in enumerate(args):
            if arg == "--relabel" and "--" not in args[:at]:
                given.append(arg if args[at + 1 : at + 2] in [[kind] for kind in RELABEL] else "--relabel=auto")
            else:
                given.append(arg)
        return super().parse_args(ctx, given)


class ColumnsType(click.ParamType):
    """``ROLE=COLUMN`` pairs, separated by commas; a column is a name, or a position from 0."""

    name = "columns"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, str | int]:
        """Return a dict from ROLE to column, the argument ``columns`` of ``suricate.read``."""
        columns: dict[str, str | int] = {}
        for pair in value.split(","):
            role, equals, place = pair.partition("=")
            if not (role and equals and place) or role in columns:
                self.fail(f"{pair!r}: expected ROLE=COLUMN[,ROLE=COLUMN...], each role once", param, ctx)
            columns[role] = int(place) if place.isdecimal() and len(place) < 5 else place
        return columns


class FurtherType(click.ParamType):
    """``NAME[=COLUMN]`` entries, separated by commas: columns of edges; a column is a name, or a position from 0."""

    name = "columns"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, str | int]:
        """Return a dict from NAME to column, the argument ``edge_columns`` of ``suricate.read``."""
        if isinstance(value, dict) or not value:
            return value or {}
        pairs = [entry if "=" in entry else f"{entry}={entry}" for entry in value.split(",")]
        return ColumnsType().convert(",".join(pairs), param, ctx)


class RulesType(click.ParamType):
    """``RULE``, or ``NAME=RULE`` entries separated by commas: how the weights of one edge become one."""

    name = "rules"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | dict[str, str]:
        """Return a rule, or a dict from column to rule, the argument ``combine`` of ``EdgeFile.to_graph``."""
        from suricate.graph.edge_columns.repeats import checked_rules

        rules = value if "=" not in value else dict(entry.rpartition("=")[::2] for entry in value.split(","))
        try:
            checked_rules(rules)
        except SuricateError as error:
            self.fail(str(error), param, ctx)
        return rules


def _relabel(ctx: click.Context, param: click.Parameter, value: str | None) -> bool | str:
    """Return the argument ``relabel`` of ``suricate.read``: "text" if ``value`` is, False if it is None, else True."""
    return "text" if value == "text" else value is not None


def reading_options(function: Function) -> Function:
    """Decorate a :class:`ReadingCommand` with ``--from``, ``--relabel``, ``--encoding`` and columns."""
    for option in (
        click.option("--edge-columns", type=FurtherType(), default="", metavar="NAME[=COLUMN],...", help=(
            "Further columns of such a file, which edges keep: fee, or fee=4 by position. --param weight=fee uses one."
        )),
        click.option("--columns", type=ColumnsType(), metavar="ROLE=COLUMN,...", help=(
            "Columns of a CSV, text, Parquet or Arrow file, by name or position from 0; "
            "roles: src, dst, weight, time. Example: src=payer,dst=payee,weight=amount,time=ts."
        )),
        click.option("--relabel", type=click.Choice(RELABEL), callback=_relabel, help=(
            "Map arbitrary ids to 0, 1, 2, ... in order of appearance; text: even if they are numbers."
        )),
        click.option("--encoding", default="utf-8", show_default=True, metavar="NAME", help=(
            "Encoding of a text file: latin-1, cp1252, utf-16, ...; bytes: texts may have any bytes."
        )),
        click.option("--from", "format", metavar="NAME", help="Format of the file; default: by its name and content."),
    ):  # fmt: skip
        function = option(function)
    return function


def is_snapshot(path: Path) -> bool:
    """Return whether ``path`` is a snapshot, as ``Graph.save`` writes it, by its name or content."""
    return path.is_file() and (path.suffix == SNAPSHOT or zipfile.is_zipfile(path))


def read_file(path: Path, **reading: Any) -> EdgeFile:
    """Return the edges of the graph file at ``path``, read with the options ``reading`` of ``suricate.read``."""
    from suricate.io import read

    return read(path, **reading)


def load_snapshot(path: Path, reading: dict[str, Any], **options: Any) -> Graph:
    """Load the snapshot at ``path`` with ``options`` of ``Graph.load``.

    Raises:
        click.UsageError: ``reading`` has options, which apply to edge files only.
    """
    from suricate.graph import Graph

    options_of = {"format": "from", "edge_columns": "edge-columns"}
    reading = {**reading, "encoding": reading.get("encoding", "utf-8") != "utf-8"}
    given = ", ".join(f"--{options_of.get(name, name)}" for name, value in reading.items() if value)
    if given:
        raise click.UsageError(f"{path} is a snapshot: {given} cannot be used with it")
    return Graph.load(path, **options)


def describe(graph: Graph) -> str:
    """Return a line with a graph's vertices, edges, direction, weights, backend and device."""
    direction = "directed" if graph.directed else "undirected"
    weights = "unweighted" if graph.weight_dtype is None else f"{graph.weight_dtype} weights"
    deleted = f" (and {len(graph.deleted_vertices)} deleted)" if graph.most_deleted else ""
    sizes = f"{graph.num_live} vertices{deleted}, {graph.num_edges} edges"
    return f"{sizes}, {direction}, {weights}; {graph.store('out').name} on {graph.device}"
