"""The command line: ``suricate run | convert | info | plugins``, and the commands that plugins bring.

Exit codes: 0 done; 1 the run failed (a plugin is broken, memory ran out, a result is wrong); 2 bad usage or bad input
(unknown name, malformed or missing file, a graph that lacks what the algorithm needs). Results go to stdout, progress
and errors to stderr.
"""

from __future__ import annotations

import ast
import errno
import inspect
import os
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from suricate import __version__, plugins
from suricate.errors import CheckFailed, PluginError, SuricateError
from suricate.files import check_writable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from suricate.algorithm import Requirements
    from suricate.graph import Graph
    from suricate.io import EdgeFile

SNAPSHOT = ".npz"
FAILED, MISUSED = 1, 2  #: exit codes besides 0
PIPE_WIDTH = 160  #: columns of a table that is not printed to a terminal

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
TARGET = click.Path(dir_okay=False, path_type=Path)
FORMAT = click.option(
    "--format", "file_format", metavar="NAME", help="Format of the file; default: by its name and text."
)
RELABEL = click.option("--relabel", is_flag=True, help="Map arbitrary ids to 0, 1, 2, ... in order of appearance.")


class Failed(click.ClickException):
    """The run failed: one line on stderr."""

    exit_code = FAILED


class Misused(click.ClickException):
    """Bad usage or bad input: one line on stderr."""

    exit_code = MISUSED


class Commands(click.Group):
    """The built-in commands and those of plugins; a built-in keeps its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted({*self.commands, *plugins.commands()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; plugins are only loaded for one that is not built in."""
        return self.commands.get(cmd_name) or plugins.commands().get(cmd_name)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what a user or a machine can cause becomes one line and an exit code."""
        try:
            return super().invoke(ctx)
        except (SuricateError, OSError, MemoryError) as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                raise
            failed = isinstance(error, (PluginError, CheckFailed, MemoryError))
            line = " ".join(str(error).split()) or type(error).__name__
            raise (Failed if failed else Misused)(line) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="suricate")
def cli() -> None:
    """Dynamic graphs on GPUs and CPUs.

    Exit codes: 0 done, 1 the run failed, 2 bad usage or bad input.
    """


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line with ``args`` (default: those of the process); ends in ``SystemExit``."""
    warnings.formatwarning = lambda message, *_, **__: f"suricate: warning: {message}\n"
    cli.main(None if args is None else list(args), prog_name="suricate")


# -- plugins -----------------------------------------------------------------------------------------------------------


@cli.command("plugins")
@click.pass_context
def show_plugins(ctx: click.Context) -> None:
    """List the plugins: version, source, hooks, state. Exit code 1 if one failed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the table says it
        found = plugins.installed()
    table = new_table("name", "version", "source", "hooks", "state")
    for plugin in found:
        state = f"failed: {plugin.error}" if plugin.error else "ok"
        table.add_row(plugin.name, plugin.version, plugin.source, " ".join(plugin.hooks), state)
    console().print(table)
    ctx.exit(FAILED if any(plugin.error for plugin in found) else 0)


# -- run ---------------------------------------------------------------------------------------------------------------


@cli.command()
@click.argument("algorithm")
@click.argument("file", type=FILE)
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="Parameter of the algorithm; repeatable.")
@click.option("--backend", metavar="BACKEND", help="Storage backend; default: the one of highest priority.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N.")
@click.option("--directed/--undirected", default=None, help="Default: what the file says or the algorithm needs.")
@FORMAT
@RELABEL
@click.option("--top", default=10, show_default=True, type=click.IntRange(0), help="Vertices to print.")
@click.option("--output", type=TARGET, help="Write all values: .npz (arrays), else CSV.")
def run(
    algorithm: str,
    file: Path,
    params: tuple[str, ...],
    backend: str | None,
    device: str,
    directed: bool | None,
    file_format: str | None,
    relabel: bool,
    top: int,
    output: Path | None,
) -> None:
    """Run ALGORITHM on the graph in FILE and print the vertices of highest value.

    The graph is built as the algorithm needs it (direction, in-edges, weights).
    """
    kind = plugins.algorithm(algorithm)
    arguments = parse_params(kind, params)
    try:
        kind(**arguments)  # a bad parameter shows before the file is read
    except (TypeError, ValueError) as error:
        raise click.BadParameter(str(error), param_hint="--param") from error
    if output is not None:
        check_writable(output)  # before anything is computed
    if backend is not None:
        plugins.backend(backend)  # an unknown name shows before the file is read
    graph, labels = build_graph(file, file_format, relabel, kind.requires, directed, device=device, backend=backend)
    with working(f"computing {algorithm}"):
        columns, scalars = per_vertex(graph.compute(kind, **arguments), graph)
    click.echo(describe(graph))
    for name, value in scalars.items():
        click.echo(f"{name}: {value}")
    if columns and top:
        console().print(top_table(columns, labels, top))
    if output is not None:
        write_columns(output, {**({} if labels is None else {"label": labels}), **columns})
        click.echo(f"written to {output}", err=True)


def build_graph(
    path: Path,
    file_format: str | None,
    relabel: bool,
    requires: Requirements,
    directed: bool | None,
    **options: Any,
) -> tuple[Graph, Any]:
    """Return the graph of an edge file, built as an algorithm requires it, or of a snapshot; and the original ids."""
    if is_snapshot(path):
        from suricate.graph import Graph

        if directed is not None or file_format is not None or relabel:
            raise click.UsageError(f"{path} is a snapshot: --format, --relabel, --directed and --undirected do not fit")
        with working(f"loading {path.name}"):
            return Graph.load(path, **options), None
    data = read_file(path, file_format, relabel)
    options["in_edges"] = requires.in_edges
    if directed is None and requires.undirected is not None:
        directed = not requires.undirected
    if directed is not None:
        options["directed"] = directed
    if requires.weighted is False:
        options["weight_dtype"] = None
    with working("building the graph"):
        return data.to_graph(**options), data.labels


def is_snapshot(path: Path) -> bool:
    """Return whether ``path`` is a snapshot, as ``Graph.save`` writes it."""
    return zipfile.is_zipfile(path)


def parse_params(kind: type, params: Sequence[str]) -> dict[str, Any]:
    """Return ``NAME=VALUE`` pairs as keyword arguments of an algorithm: Python literals where they are such."""
    known = {name: p for name, p in inspect.signature(kind).parameters.items() if p.kind is not p.VAR_KEYWORD}
    parsed: dict[str, Any] = {}
    for param in params:
        name, equals, text = param.partition("=")
        if not equals or name not in known:
            raise click.BadParameter(f"{param!r}: NAME=VALUE, NAME one of {', '.join(known)}", param_hint="--param")
        try:
            parsed[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            parsed[name] = text
    missing = [name for name, p in known.items() if p.default is p.empty and name not in parsed]
    if missing:
        raise click.BadParameter(f"{kind.__name__} needs {', '.join(missing)}", param_hint="--param")
    return parsed


def per_vertex(result: Any, graph: Graph) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the host arrays with an entry per vertex, and everything else, of a result by name."""
    import numpy as np

    fields = result._asdict() if hasattr(result, "_asdict") else {"value": result}
    columns: dict[str, Any] = {}
    scalars: dict[str, Any] = {}
    for name, part in fields.items():
        host = graph.device.to_numpy(part) if isinstance(part, graph.device.xp.ndarray) else np.asarray(part)
        (columns if host.shape == (graph.num_vertices,) else scalars)[name] = host
    return columns, scalars


def top_table(columns: dict[str, Any], labels: Any, top: int) -> Table:
    """Return a table of the ``top`` vertices by the first column, ties by id."""
    import numpy as np

    ranked = next(iter(columns.values()))
    table = new_table("vertex", *columns)
    for v in np.lexsort((np.arange(len(ranked)), -ranked.astype(np.float64)))[:top]:
        table.add_row(str(v if labels is None else labels[v]), *(f"{column[v]:.6g}" for column in columns.values()))
    return table


def write_columns(path: Path, columns: dict[str, Any]) -> None:
    """Write one row per vertex, replacing ``path`` at once: ``.npz``, or CSV with a header."""
    import numpy as np

    from suricate.io.files import writing

    with writing(path) as file:
        if path.suffix == ".npz":
            np.savez(file, **columns)
            return
        file.write((",".join(["vertex", *columns]) + "\n").encode())
        for v, row in enumerate(zip(*(column.tolist() for column in columns.values()), strict=True)):
            file.write((",".join([str(v), *(quoted(str(value)) for value in row)]) + "\n").encode())


def quoted(text: str) -> str:
    """Return ``text`` as a CSV field."""
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n') else text


# -- convert -----------------------------------------------------------------------------------------------------------


@cli.command()
@click.argument("source", type=FILE, metavar="IN")
@click.argument("target", type=TARGET, metavar="OUT")
@FORMAT
@click.option("--to", "target_format", metavar="NAME", help="Format of OUT; default: by its name.")
@RELABEL
@click.option("--labels", is_flag=True, help="With --relabel: write the original ids after all (not to mtx and gr).")
def convert(
    source: Path, target: Path, file_format: str | None, target_format: str | None, relabel: bool, labels: bool
) -> None:
    """Convert the graph file IN to OUT.

    OUT is replaced when all of it is written; a device or pipe (/dev/stdout, for instance) is written through. A name
    that ends in .npz is a snapshot, which loads fastest; it keeps no times, no duplicates and no original ids.
    """
    from suricate.io import write

    check_writable(target)
    if labels and not relabel:
        raise click.UsageError("--labels goes with --relabel")
    if is_snapshot(source):
        from suricate.graph import Graph

        data: Any = Graph.load(source, device="cpu")
    else:
        data = read_file(source, file_format, relabel)
    if target.suffix == SNAPSHOT and target_format is None:
        with working(f"writing {target.name}"):
            (data if is_snapshot(source) else data.to_graph(device="cpu")).save(target)
    else:
        with progress_bar(f"writing {target.name}") as progress:
            try:
                write(data, target, target_format, labels=labels, progress=progress)
            except ValueError as error:  # the format cannot hold it
                raise click.UsageError(str(error)) from error
    click.echo(f"{target} is written", err=True)


# -- info --------------------------------------------------------------------------------------------------------------


@cli.command()
@click.argument("file", type=FILE, required=False)
@FORMAT
@RELABEL
def info(file: Path | None, file_format: str | None, relabel: bool) -> None:
    """Show versions, devices and caches; or, given a graph FILE, the facts of the graph."""
    if file is None:
        facts = machine_facts()
    elif is_snapshot(file):
        facts = snapshot_facts(file)
    else:
        facts = file_facts(read_file(file, file_format, relabel))
    table = new_table("what", "value")
    for name, value in facts.items():
        table.add_row(name, str(value))
    console().print(table)


def machine_facts() -> dict[str, Any]:
    """Return versions, devices, backends and caches of this installation."""
    import platform
    from importlib import metadata

    from suricate.devices import cuda_device_count, resolve_device

    facts: dict[str, Any] = {"suricate": __version__, "python": platform.python_version()}
    for name in ("numpy", "scipy", "numba", "cupy-cuda12x", "cupy-cuda13x"):
        try:
            facts[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            facts[name] = "not installed"
    device = resolve_device("auto")
    facts["CUDA devices"] = cuda_device_count()
    facts["default device"] = device
    facts["backends"] = ", ".join(plugins.backends()) or "none"
    if plugins.backends():
        facts["default backend"] = plugins.default_backend(device).name
    facts["algorithms"] = ", ".join(plugins.algorithms()) or "none"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "suricate"
    facts["CPU kernel cache"] = os.environ.get("SURICATE_CACHE_DIR") or cache
    facts["CUDA kernel cache"] = os.environ.get("CUPY_CACHE_DIR") or Path.home() / ".cupy" / "kernel_cache"
    return facts


def snapshot_facts(path: Path) -> dict[str, Any]:
    """Return what is worth knowing about a snapshot."""
    from suricate.graph import Graph

    graph = Graph.load(path, device="cpu")
    usage = graph.memory_usage()
    memory = f"{usage.used} bytes used, {usage.allocated} allocated, {usage.bytes_per_edge:.1f} per edge"
    return {"file": path, "format": "snapshot", "graph": describe(graph), "memory": memory}


def file_facts(data: EdgeFile) -> dict[str, Any]:
    """Return what is worth knowing about the edges of a file."""
    import numpy as np

    from suricate.arrays import sorted_distinct
    from suricate.types import edge_keys

    keys = sorted_distinct(edge_keys(data.src, data.dst))
    facts: dict[str, Any] = {"file": data.path, "format": data.format, "vertices": data.num_vertices}
    facts["edges"] = f"{len(data)} ({len(keys)} distinct, {int((data.src == data.dst).sum())} self-loops)"
    facts["directed"] = {True: "yes", False: "no", None: "the file does not say"}[data.directed]
    facts["weights"] = "none" if data.weight is None else extent(data.weight)
    facts["times"] = "none" if data.time is None else extent(data.time)
    for name, ends in (("out", data.src), ("in", data.dst)):
        counts = np.unique(ends, return_counts=True)[1]
        without = data.num_vertices - len(counts)
        facts[f"lines per vertex ({name})"] = f"at most {counts.max(initial=0)}, {without} vertices without"
    facts["sha256"] = data.sha256
    return facts


def extent(values: Any) -> str:
    """Return dtype and range of an array in words."""
    return f"{values.dtype}, {values.min()} to {values.max()}" if len(values) else str(values.dtype)


def describe(graph: Graph) -> str:
    """Return one line about a graph."""
    direction = "directed" if graph.directed else "undirected"
    weights = "unweighted" if graph.weight_dtype is None else f"{graph.weight_dtype} weights"
    sizes = f"{graph.num_vertices} vertices, {graph.num_edges} edges"
    return f"{sizes}, {direction}, {weights}; {graph.store('out').name} on {graph.device}"


# -- terminal ----------------------------------------------------------------------------------------------------------


def console(*, stderr: bool = False) -> Console:
    """Return a console; wide where the output is not a terminal, so that nothing is cut."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, highlight=False, width=None if stream.isatty() else PIPE_WIDTH)


def new_table(*columns: str) -> Table:
    """Return an empty table whose cells are folded, not cut."""
    from rich.table import Table

    table = Table()
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that something is going on."""
    with console(stderr=True).status(what):
        yield


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on a terminal; yields what to call with (done, total)."""
    from rich.progress import Progress

    with Progress(console=console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        bar = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(bar, completed=done, total=total)


def read_file(path: Path, file_format: str | None, relabel: bool) -> EdgeFile:
    """Read a graph file with a progress bar."""
    from suricate.io import read

    with progress_bar(f"reading {path.name}") as progress:
        return read(path, file_format, relabel=relabel, progress=progress)


if __name__ == "__main__":
    main()
