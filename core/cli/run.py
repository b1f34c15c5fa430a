"""``suricate run``: one algorithm on one graph file."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from suricate import plugins
from suricate.base.errors import SuricateError
from suricate.base.files import check_writable
from suricate.base.progress import working
from suricate.cli.grids import Grid
from suricate.cli.sources import (
    GRAPH_FILE,
    STDOUT,
    TARGET,
    ReadingCommand,
    RulesType,
    describe,
    is_snapshot,
    load_snapshot,
    read_file,
    reading_options,
)
from suricate.cli.terminal import show, table_format

if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.plugins.algorithm import Algorithm


@click.command(cls=ReadingCommand)
@click.argument("algorithm")
@click.argument("file", type=GRAPH_FILE)
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="Parameter, as alpha=0.9; repeatable.")
@click.option("--backend", metavar="BACKEND", help="Storage backend; default: the one of highest priority.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N.")
@click.option("--directed/--undirected", default=None, help="Default: what the file says or the algorithm needs.")
@click.option(
    "--combine", type=RulesType(), metavar="RULE", help="Weight of an edge that is in several lines: last, first, sum, "
    "count, min or max; NAME=RULE,... by column. Default: last, with a warning if weights differ.",
)  # fmt: skip
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
    combine: Any,
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
    has_columns = bool(reading["edge_columns"]) or is_snapshot(file)
    arguments = parse_params(kind, params, columns=has_columns)
    named = named_vertices(arguments, params)
    if not reading["relabel"]:
        named = {name: texts for name, texts in named.items() if is_snapshot(file) and has_text(arguments[name])}
    try:
        # a bad one shows before the file is read
        kind(**own_params(kind, {**arguments, **replaced(arguments, named, lambda text: 0)}))
    except (TypeError, ValueError, ArithmeticError) as error:
        raise click.BadParameter(str(error), param_hint="--param") from error
    if output is not None:
        check_output(output)  # before anything is computed
    if backend is not None:
        plugins.backend(backend)  # an unknown name shows before the file is read
    graph = build_graph(file, reading, kind, directed, combine, device=device, backend=backend)
    arguments.update(replaced(arguments, named, lambda text: vertex_of(text, graph, file)))
    with working(f"computing {algorithm}"):
        result = graph.compute(kind, **arguments)
        columns, rest = per_vertex(graph, result, kind)
    written = columns if output is None or output.suffix != ".npz" else {**columns, **rest}
    if output is not None and not written:
        reason = f"{algorithm} gives no value per vertex, as CSV files have: name a file that ends in .npz"
        raise click.BadParameter(reason, param_hint="--output")
    facts = {"graph": describe(graph), **{name: value for name, value in rest.items() if value.ndim < 2}}
    grids = [Grid(name, ("row", name), list_rows(value, graph, top)) for name, value in rest.items() if value.ndim >= 2]
    if columns:
        grids.append(top_grid(graph, result, kind, top, merged=table_format == "table"))
    if output == STDOUT:
        click.echo(facts["graph"], err=True)  # stdout has the values, and nothing else
    else:
        show(table_format, grids if top else [], facts)
    if output is not None:
        write_columns(output, written if columns else {**columns_of(graph), **written})
        click.echo(f"written to {output}", err=True)


def build_graph(
    path: Path, reading: dict[str, Any], kind: type[Algorithm], directed: bool | None, combine: Any, **options: Any
) -> Graph:
    """Return the graph in the edge file or snapshot at ``path``.

    From an edge file, read with the options ``reading``, the graph is built as the algorithm ``kind`` requires.
    ``directed``: the choice of the user, or None; ``combine``: that of ``EdgeFile.to_graph``; ``options`` are further
    arguments of ``Graph``.
    """
    if is_snapshot(path):
        if combine is not None:
            raise click.UsageError(f"{path} is a snapshot, which has each edge once: --combine does not fit")
        if directed is not None:
            raise click.UsageError(
                f"{path} is a snapshot: it has its direction, --directed and --undirected do not fit"
            )
        return load_snapshot(path, reading, **options)
    data = read_file(path, **reading)
    with working("building the graph"):
        needed = {"in_edges": kind.requires.in_edges, **options_for([kind], directed)}
        return data.to_graph(combine=combine, **options, **needed)


def options_for(kinds: Iterable[type[Algorithm]], directed: bool | None) -> dict[str, Any]:
    """Return the keyword arguments of ``Graph`` that the algorithms ``kinds`` need.

    ``directed``: the choice of the user; None: what the algorithms need decides.

    Raises:
        click.UsageError: some need a directed graph, others an undirected one.
    """
    requires = [kind.requires for kind in kinds]
    needed = {not each.undirected for each in requires if each.undirected is not None}
    if len(needed) > 1:
        raise click.UsageError("one of the algorithms needs a directed graph, another one an undirected graph")
    found: dict[str, Any] = {}
    if needed or directed is not None:
        found["directed"] = needed.pop() if directed is None else directed
    if any(each.weighted is False for each in requires):
        found["weight_dtype"] = None
    return found


def own_params(kind: type[Algorithm], arguments: dict[str, Any]) -> dict[str, Any]:
    """Return ``arguments`` without ``weight``, unless the algorithm ``kind`` has a parameter of that name.

    If it has none, ``--param weight=fee`` does not set a parameter, but names the column of edges with the weights.
    """
    own = inspect.signature(kind).parameters
    return {name: value for name, value in arguments.items() if name != "weight" or name in own}


def parse_params(kind: type[Algorithm], params: Sequence[str], *, columns: bool) -> dict[str, Any]:
    """Return ``params``, pairs ``NAME=VALUE``, as keyword arguments of the algorithm ``kind``.

    Values are Python literals, else texts. ``columns``: the edges have columns, and ``weight`` may name one of them.

    Raises:
        click.BadParameter: a pair is malformed, there is no such parameter, or a required one is missing.
    """
    known = {name: p for name, p in inspect.signature(kind).parameters.items() if p.kind is not p.VAR_KEYWORD}
    names = ", ".join(known) or "none"
    if columns and (kind.uses_weights or "weighted" in known):
        known.setdefault("weight", inspect.Parameter("weight", inspect.Parameter.KEYWORD_ONLY, default=None))
    parsed: dict[str, Any] = {}
    for param in params:
        name, equals, text = param.partition("=")
        if not equals or name not in known:
            wrong = f"there is no {name!r}" if equals else f"{param!r}: expected NAME=VALUE"
            raise click.BadParameter(f"{wrong}; the parameters of {kind.__name__} are: {names}", param_hint="--param")
        parsed[name] = text if name == "weight" and columns else value_of(name, text)
    missing = [name for name, p in known.items() if p.default is p.empty and name not in parsed]
    if missing:
        raise click.BadParameter(f"{kind.__name__} needs {', '.join(missing)}", param_hint="--param")
    return parsed


def named_vertices(arguments: dict[str, Any], params: Sequence[str]) -> dict[str, list[str]]:
    """Return, by name of an argument in ``arguments``, the list of the vertices in it: original ids, as texts.

    Only arguments that name vertices (such as ``source``: its value) and dicts (their keys) are in the result.
    ``params`` are the texts ``NAME=VALUE`` that ``arguments`` were parsed from.
    """
    from suricate.graph.naming import VERTICES

    texts, found = dict(param.partition("=")[::2] for param in params), {}
    for name, value in arguments.items():
        if isinstance(value, dict) or (name in VERTICES and isinstance(value, (list, tuple, set))):
            found[name] = [str(each) for each in value]
        elif name in VERTICES and value is not None:
            found[name] = [texts[name]]
    return found


def replaced(arguments: dict[str, Any], named: dict[str, list[str]], vertex: Callable[[str], int]) -> dict[str, Any]:
    """Return the arguments that are keys of ``named``, with ``vertex(text)`` in place of each original id ``text``.

    ``named`` is the result of :func:`named_vertices`.
    """
    found: dict[str, Any] = {}
    for name, texts in named.items():
        ids, value = [vertex(text) for text in texts], arguments[name]
        if isinstance(value, dict):
            found[name] = dict(zip(ids, value.values(), strict=True))
        else:
            found[name] = ids[0] if name == "source" else ids
    return found


def has_text(value: Any) -> bool:
    """Return whether the value of a parameter is a text, or a list or dict whose first item or key is a text."""
    return isinstance(value, str) or (isinstance(value, Iterable) and isinstance(next(iter(value), None), str))


def vertex_of(text: str, graph: Graph, path: Path) -> int:
    """Return the vertex of ``graph`` with the original id ``text``.

    Raises:
        click.BadParameter: there is no such vertex; the message names the file ``path``.
    """
    names, found = graph.names, -1
    if names is not None:
        with suppress(SuricateError):  # it is no number, where names are numbers
            found = names.find(text if names.dtype == "text" else literal(text))
    if found < 0:
        raise click.BadParameter(f"{path} has no vertex {text!r}", param_hint="--param")
    return found


def value_of(name: str, text: str) -> Any:
    """Return the value of the parameter ``name``; of several vertices a list, of one too; commas may divide them."""
    from suricate.graph.naming import VERTICES

    value = literal(text)
    if name not in VERTICES or name == "source" or value is None or isinstance(value, (list, tuple, set)):
        return value
    return text.split(",") if isinstance(value, str) else [value]


def literal(text: str) -> Any:
    """Return the value of ``text`` if it is a Python literal, or true or false in any letter case; else ``text``."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


def per_vertex(graph: Graph, result: Any, kind: type[Algorithm]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a result of the algorithm ``kind`` into ``(columns, rest)``, both host arrays by name.

    ``columns`` are those of a frame of all live vertices, empty if there is no value per vertex; ``rest``: the fields
    that are not in it and not None, as what was not asked for.
    """
    import numpy as np

    from suricate.graph import frames

    to_numpy, whole = graph.device.to_numpy, frames.per_vertex(graph, result)
    rest = {
        name: to_numpy(part) if isinstance(part, graph.device.xp.ndarray) else np.asarray(part)
        for name, part in frames.fields_of(result).items()
        if name not in whole and part is not None
    }
    frame = frames.without_unreached(frames.full(graph, result, kind), kind) if whole else None
    return {} if frame is None else {name: frame[name] for name in frame.columns}, rest


def columns_of(graph: Graph) -> dict[str, Any]:
    """Return columns of the live vertices: ``vertex`` and, if the graph has names, ``name`` (None for none)."""
    from suricate.graph import naming

    return naming.columns_of(graph, graph.device.to_numpy(graph.live_vertices))


def list_rows(array: Any, graph: Graph, top: int) -> list[list[Any]]:
    """Return ``[row, vertices]`` for each of the first ``top`` rows of ``array`` that are not all EMPTY.

    ``array`` has vertex ids in rows, which end by EMPTY if shorter than others. ``row`` is the index of a row,
    ``vertices`` a text: the names or ids in the row up to its first EMPTY, with blanks between.
    """
    from suricate.base.types import EMPTY

    filled = (array != EMPTY).any(axis=1).nonzero()[0][:top]
    rows = [(int(i), array[i][: (*array[i].tolist(), EMPTY).index(EMPTY)]) for i in filled]
    return [[i, " ".join(map(str, called(graph, row)))] for i, row in rows]


def called(graph: Graph, vertices: Any) -> list[Any]:
    """Return, for each of ``vertices`` (array of ids), its name, or its id if it has none."""
    from suricate.graph import naming

    ids = vertices.tolist()
    if graph.names is None:
        return ids
    names = naming.names_of(graph.names, vertices).tolist()
    return [vertex if name is None else name for vertex, name in zip(ids, names, strict=True)]


def top_grid(graph: Graph, result: Any, kind: type[Algorithm], top: int, *, merged: bool) -> Grid:
    """Return a table of the ``top`` vertices by the first array of a ``result``, or of the largest groups.

    ``kind`` is the algorithm; if its result is a partition of the vertices (``kind.groups``), groups are listed. If
    ``merged``, and in groups, vertices are shown by name, those without one by id; else the columns are those of
    ``--output``.
    """
    from suricate.graph import frames

    frame = frames.without_unreached(frames.top(graph, result, kind, top, None, True), kind)
    cells = {column: frame[column].tolist() for column in frame.columns}
    if "rank" not in frames.fields_of(result):  # else it is the value, not the place
        del cells["rank"]
    rows_are = "vertices" if "vertex" in cells else "edges"
    if not merged and "size" not in cells:
        return Grid(rows_are, tuple(cells), [list(row) for row in zip(*cells.values(), strict=True)], True)
    named = ("vertex", "name"), ("source", "source_name")
    for column, names in (*named, *((pointer, f"{pointer}_name") for pointer in kind.pointers)):
        if names in cells:
            known = zip(cells[column], cells.pop(names), strict=True)
            cells[column] = [vertex if name is None else name for vertex, name in known]
    if "size" in cells and kind.groups:
        return Grid("groups", (kind.groups, "vertices"), list(zip(cells["vertex"], cells["size"], strict=True)), True)
    rows = [list(row) for row in zip(*cells.values(), strict=True)]
    return Grid(rows_are, tuple(cells), rows, True)


def check_output(path: Path) -> None:
    """Raise ``click.BadParameter`` unless ``path`` ends in .npz, .csv, .csv.gz or the like, or has no extension.

    Raises:
        OSError: it cannot be written.
    """
    from suricate.io.files import split_suffix

    extension, compression = split_suffix(path)
    if extension not in ("", ".csv", ".npz") or (extension == ".npz" and compression):
        reason = (
            f"{path.name!r} ends in {extension}{compression}: values are written to .npz, .csv, .csv.gz and the like"
        )
        raise click.BadParameter(reason, param_hint="--output")
    check_writable(path)


def write_columns(path: Path, columns: dict[str, Any]) -> None:
    """Write ``columns``, arrays by name, to the file ``path``, which appears when it is complete.

    If the name ends in ``.npz``, each array is an entry, as the result has it: -1 or ``EMPTY`` where there is no
    vertex, "" for no name. Else the file is CSV, all arrays have the same length, and fields are empty there.
    """
    import numpy as np

    from suricate.io.files import writing
    from suricate.io.writing import quoted

    with writing(path) as file:
        if path.suffix == ".npz":
            plain: dict[str, Any] = {name: np.ma.getdata(part) for name, part in columns.items()}
            # texts that are no objects are loaded without pickle
            texts = {name: np.where(part == None, "", part).astype(str)  # noqa: E711 - by element
                     for name, part in plain.items() if part.dtype == object}  # fmt: skip
            np.savez(file, **{**plain, **texts})
            return
        file.write((",".join(columns) + "\n").encode())
        for row in zip(*(column.tolist() for column in columns.values()), strict=True):
            file.write(
                (",".join("" if value is None else quoted(str(value)) for value in row) + "\n").encode(
                    "utf-8", "surrogateescape"
                )
            )
