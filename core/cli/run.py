"""``suricate run``: one algorithm on one graph file."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from suricate import plugins
from suricate.base.files import check_writable
from suricate.cli.sources import (
    GRAPH_FILE,
    STDOUT,
    TARGET,
    ReadingCommand,
    describe,
    is_snapshot,
    load_snapshot,
    read_file,
    reading_options,
)
from suricate.cli.terminal import Grid, show, table_format, working

if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.plugins.algorithm import Requirements


@click.command(cls=ReadingCommand)
@click.argument("algorithm")
@click.argument("file", type=GRAPH_FILE)
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="Parameter, as alpha=0.9; repeatable.")
@click.option("--backend", metavar="BACKEND", help="Storage backend; default: the one of highest priority.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N.")
@click.option("--directed/--undirected", default=None, help="Default: what the file says or the algorithm needs.")
@reading_options
@click.option("--top", default=10, show_default=True, type=click.IntRange(0), help="Vertices or components to print.")
@click.option("--output", type=TARGET, help="Write all values: .npz (arrays), else CSV; - is standard output.")
@table_format
def run(
    algorithm: str,
    file: Path,
    params: tuple[str, ...],
    backend: str | None,
    device: str,
    directed: bool | None,
    top: int,
    output: Path | None,
    table_format: str,
    **reading: Any,
) -> None:
    """Run ALGORITHM on the graph in FILE, print the top vertices.

    Of components, and other groups, the largest are printed.

    FILE may be - for standard input, or a folder or pattern of Parquet or Arrow files. The graph is built as the
    algorithm needs it (direction, in-edges, weights).
    """
    kind = plugins.algorithm(algorithm)
    arguments = parse_params(kind, params)
    texts = dict(param.partition("=")[::2] for param in params)
    original = {"source": texts["source"]} if reading["relabel"] and "source" in arguments else {}
    try:
        kind(**{**arguments, **dict.fromkeys(original, 0)})  # a bad parameter shows before the file is read
    except (TypeError, ValueError, ArithmeticError) as error:
        raise click.BadParameter(str(error), param_hint="--param") from error
    if output is not None:
        check_output(output)  # before anything is computed
    if backend is not None:
        plugins.backend(backend)  # an unknown name shows before the file is read
    graph, labels = build_graph(file, reading, kind.requires, directed, device=device, backend=backend)
    arguments.update({name: vertex_of(value, labels, file) for name, value in original.items()})
    with working(f"computing {algorithm}"):
        columns, rest = per_vertex(graph.compute(kind, **arguments), graph)
    vertices = graph.device.to_numpy(graph.live_vertices)
    written = columns if output is None or output.suffix != ".npz" else {**columns, **rest}
    if output is not None and not written:
        reason = f"{algorithm} gives no value per vertex, as CSV files have: name a file that ends in .npz"
        raise click.BadParameter(reason, param_hint="--output")
    facts = {"graph": describe(graph), **{name: value for name, value in rest.items() if value.ndim < 2}}
    grids = [
        Grid(name, ("row", name), list_rows(value, labels, top)) for name, value in rest.items() if value.ndim >= 2
    ]
    if kind.groups in columns:
        grids.append(largest_groups(kind.groups, columns[kind.groups], labels, top))
    elif columns:
        grids.append(Grid("vertices", ("vertex", *columns), top_rows(columns, vertices, labels, top, kind.pointers)))
    if output == STDOUT:
        click.echo(facts["graph"], err=True)  # stdout has the values, and nothing else
    else:
        show(table_format, grids if top else [], facts)
    if output is not None:
        write_columns(output, {"vertex": vertices, **({} if labels is None else {"name": labels[vertices]}), **written})
        click.echo(f"written to {output}", err=True)


def build_graph(
    path: Path, reading: dict[str, Any], requires: Requirements, directed: bool | None, **options: Any
) -> tuple[Graph, Any]:
    """Return the graph of an edge file, built as an algorithm requires it, or of a snapshot; and the original ids."""
    if is_snapshot(path):
        if directed is not None:
            raise click.UsageError(
                f"{path} is a snapshot: it has its direction, --directed and --undirected do not fit"
            )
        return load_snapshot(path, reading, **options), None
    data = read_file(path, **reading)
    options["in_edges"] = requires.in_edges
    if directed is None and requires.undirected is not None:
        directed = not requires.undirected
    if directed is not None:
        options["directed"] = directed
    if requires.weighted is False:
        options["weight_dtype"] = None
    with working("building the graph"):
        return data.to_graph(**options), data.labels


def parse_params(kind: type, params: Sequence[str]) -> dict[str, Any]:
    """Return ``NAME=VALUE`` pairs as keyword arguments of an algorithm: Python literals where they are such."""
    known = {name: p for name, p in inspect.signature(kind).parameters.items() if p.kind is not p.VAR_KEYWORD}
    names = ", ".join(known) or "none"
    parsed: dict[str, Any] = {}
    for param in params:
        name, equals, text = param.partition("=")
        if not equals or name not in known:
            wrong = f"there is no {name!r}" if equals else f"{param!r}: expected NAME=VALUE"
            raise click.BadParameter(f"{wrong}; the parameters of {kind.__name__} are: {names}", param_hint="--param")
        parsed[name] = literal(text)
    missing = [name for name, p in known.items() if p.default is p.empty and name not in parsed]
    if missing:
        raise click.BadParameter(f"{kind.__name__} needs {', '.join(missing)}", param_hint="--param")
    return parsed


def vertex_of(text: str, labels: Any, path: Path) -> int:
    """Return the vertex of an original id; raises ``click.BadParameter`` if there is none."""
    import numpy as np

    found = np.flatnonzero(labels == (text if labels.dtype == object else literal(text)))
    if not len(found):
        raise click.BadParameter(f"{path} has no vertex {text!r}", param_hint="--param")
    return int(found[0])


def literal(text: str) -> Any:
    """Return the value of a Python literal, of true or false, or the text if it is none of them."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


def per_vertex(result: Any, graph: Graph) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return host arrays with an entry per live vertex, ascending by id, and everything else, of a result by name."""
    import numpy as np

    live = graph.device.to_numpy(graph.live)
    fields = result._asdict() if hasattr(result, "_asdict") else {"value": result}
    columns: dict[str, Any] = {}
    scalars: dict[str, Any] = {}
    for name, part in fields.items():
        host = graph.device.to_numpy(part) if isinstance(part, graph.device.xp.ndarray) else np.asarray(part)
        if host.shape == live.shape:
            columns[name] = host[live]
        else:
            scalars[name] = host
    return columns, scalars


def list_rows(array: Any, labels: Any, top: int) -> list[list[Any]]:
    """Return the cells of the first ``top`` rows of an array of vertices that have any, each up to its first EMPTY."""
    from suricate.base.types import EMPTY

    names = (lambda v: v) if labels is None else labels.__getitem__
    filled = (array != EMPTY).any(axis=1).nonzero()[0][:top]
    rows = [(i, array[i].tolist()) for i in filled.tolist()]
    return [[i, " ".join(str(names(v)) for v in row[: (*row, EMPTY).index(EMPTY)])] for i, row in rows]


def top_rows(columns: dict[str, Any], vertices: Any, labels: Any, top: int, pointers: Sequence[str]) -> list[list[Any]]:
    """Return the cells of the ``top`` of these ``vertices`` by the first column, ties by id.

    Vertices are shown by their original ids, those of the columns ``pointers`` too.
    """
    import numpy as np

    ranked = next(iter(columns.values()))
    best = np.lexsort((np.arange(len(ranked)), -ranked.astype(np.float64)))[:top]
    shown = {"vertex": vertices[best], **{name: column[best] for name, column in columns.items()}}
    if labels is not None:
        for name in ("vertex", *(name for name in pointers if name in columns)):
            ids = shown[name].tolist()
            shown[name] = np.array([labels[v] if v >= 0 else v for v in ids], object)
    return [list(row) for row in zip(*(part.tolist() for part in shown.values()), strict=True)]


def largest_groups(name: str, values: Any, labels: Any, top: int) -> Grid:
    """Return the ``top`` largest groups of vertices with the same value, which is one of the vertices; ties by id."""
    import numpy as np

    found, sizes = np.unique(values, return_counts=True)
    best = np.lexsort((found, -sizes))[:top]
    names = found[best] if labels is None else labels[found[best]]
    return Grid("groups", (name, "vertices"), list(zip(names.tolist(), sizes[best].tolist(), strict=True)))


def check_output(path: Path) -> None:
    """Raise ``click.BadParameter`` or ``OSError`` if the values cannot be written to ``path``."""
    from suricate.io.files import split_suffix

    extension, compression = split_suffix(path)
    if extension not in ("", ".csv", ".npz") or (extension == ".npz" and compression):
        reason = (
            f"{path.name!r} ends in {extension}{compression}: values are written to .npz, .csv, .csv.gz and the like"
        )
        raise click.BadParameter(reason, param_hint="--output")
    check_writable(path)


def write_columns(path: Path, columns: dict[str, Any]) -> None:
    """Write one row per vertex, replacing ``path`` at once: ``.npz``, or CSV with a header."""
    import numpy as np

    from suricate.io.files import writing

    with writing(path) as file:
        if path.suffix == ".npz":
            texts = {name: part.astype(str) for name, part in columns.items() if part.dtype == object}
            np.savez(file, **{**columns, **texts})  # texts that are no objects are loaded without pickle
            return
        file.write((",".join(columns) + "\n").encode())
        for row in zip(*(column.tolist() for column in columns.values()), strict=True):
            file.write((",".join(quoted(str(value)) for value in row) + "\n").encode("utf-8", "surrogateescape"))


def quoted(text: str) -> str:
    """Return ``text`` as a CSV field."""
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n\r') else text
