"""``suricate stream``: a window over a stream of events, answers slide by slide."""

from __future__ import annotations

import csv
import inspect
import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from suricate import plugins
from suricate.base.progress import DISPLAY, can_show, working
from suricate.cli.group import Failed
from suricate.cli.run import has_text, literal, options_for, value_of
from suricate.cli.sources import EVENTS, STDOUT, TARGET, ColumnsType, TargetType
from suricate.cli.terminal import console, name_cell, plain_table, printable_rows, records
from suricate.graph.naming import VERTICES
from suricate.parallel import connect

if TYPE_CHECKING:
    from suricate.stream import Slide, Source, Window
    from suricate.stream.report import Report

FACTS = "end", "events", "late", "vertices", "edges"  #: what is printed of each slide
Printing = AbstractContextManager[Callable[[dict[str, Any], dict[str, Any]], None]]
WATCHED = 0.1  #: seconds between two pictures
EDGES, RULES = "edges", ("above", "below", "grew", "shrank", "size_above", "merged")
OF_FILES = "follow", "on_error", "settle", "order", "on_replaced", "texts", "encoding"  #: what windows do not take
OF_TEXT = {"format": None, "texts": False, "encoding": "utf-8"}  #: what brokers do not take, and their defaults
COMBINE = click.Choice(["last", "first", "sum", "count", "min", "max"])


def number_or_text(ctx: click.Context, param: click.Parameter, text: str | None) -> int | str | None:
    """Return ``text`` as an int (a number of events) if it consists of digits, else unchanged (a duration)."""
    return int(text) if text and text.isdecimal() else text


def rules_of(ctx: click.Context, param: click.Parameter, attributes: tuple[str, ...]) -> dict[str, str]:
    """Return the texts ``NAME=RULE`` in ``attributes`` as a dict; raise ``click.BadParameter`` if one is malformed."""
    pairs = [attribute.partition("=") for attribute in attributes]
    for name, equals, rule in pairs:
        if not equals or rule not in COMBINE.choices:
            raise click.BadParameter(f"{name + equals + rule!r}: expected NAME=RULE, as fee=sum")
    return {name: rule for name, _, rule in pairs}


def alerts_of(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> dict[str, tuple[str, Any]]:
    """Return the texts ``TRACKER:RULE=VALUE`` as a dict to (tracker, keywords of ``Window.alert``)."""
    found = {}
    for text in texts:
        tracker, colon, rule = text.partition(":")
        name, equals, value = rule.partition("=")
        if not colon or not equals or name not in RULES:
            raise click.BadParameter(f"{text!r}: expected TRACKER:RULE=VALUE, RULE one of {', '.join(RULES)}")
        found[text] = tracker, {name: literal(value)}
    return found


@click.command()
@click.argument("file", type=EVENTS)
@click.option(
    "--window", "size", metavar="SIZE", callback=number_or_text,
    help="What a window holds: 7d, 90min; 5000 events; 3 steps. Default: all.",
)  # fmt: skip
@click.option(
    "--slide", required=True, callback=number_or_text,
    help="How far it moves: a duration, a number of events, or step.",
)  # fmt: skip
@click.option("--lateness", metavar="TIME", help="How long a slide waits for events behind the newest one.")
@click.option("--ahead", metavar="TIME", help="How far past the others a time may be before --on-error takes it.")
@click.option("--idle", metavar="TIME", help="With --follow: silence after which the wall clock closes slides, as 2s.")
@click.option(
    "--follow", is_flag=True, help="Wait for files that are added to the folder FILE, or messages, until Ctrl-C."
)
@click.option(
    "--settle", metavar="TIME", help="With --follow: a file counts once unchanged for so long.  [default: 1s]"
)
@click.option("--combine", type=COMBINE, default="last", show_default=True, help="Weight of an edge from its events.")
@click.option(
    "--max-late", type=click.FloatRange(0, 1), metavar="SHARE", help="End with an error if more of the events are late."
)
@click.option("--order", type=click.Choice(["time"]), help="Sort the events in memory first.")
@click.option("--late", default="drop", show_default=True, help="Late events: drop, raise, or a CSV file.")
@click.option(
    "--on-error", default="raise", show_default=True, help="Events that are not valid: raise, skip, a CSV file."
)
@click.option("--track", "algorithms", multiple=True, metavar="ALGORITHM", help="Keep its result current; repeatable.")
@click.option(
    "--param", "params", multiple=True, metavar="NAME=VALUE", help="Parameter of what is tracked; repeatable."
)
@click.option(
    "--alert", "alerts", multiple=True, callback=alerts_of, metavar="TRACKER:RULE=VALUE",
    help="Show when a rule begins to hold, as edges:grew=5x; see docs/commands.md; repeatable.",
)  # fmt: skip
@click.option("--alert-output", type=TargetType(dir_okay=True), help="Write alerts, as --output; each to its own file.")
@click.option(
    "--top", "most", default=10, show_default=True, type=click.IntRange(0), help="Vertices or groups per slide."
)
@click.option("--names", is_flag=True, help="Sources and destinations are names (texts, any integers), not ids from 0.")
@click.option("--texts", is_flag=True, help="Names are texts even if they look like integers.")
@click.option(
    "--columns",
    type=ColumnsType(),
    metavar="ROLE=COLUMN,...",
    help="As src=payer,dst=payee,time=ts; kind, attributes.",
)
@click.option(
    "--attribute",
    "attributes",
    multiple=True,
    callback=rules_of,
    metavar="NAME=RULE",
    help="A column as one of edges: fee=sum; rules as --combine, last and first for texts. --param weight=fee uses it; "
    "repeatable.",
)
@click.option(
    "--time-unit", type=click.Choice(["s", "ms", "us", "ns"]), help="Unit of times that are numbers.  [default: s]"
)
@click.option("--from", "source_format", metavar="NAME", help="Format of the file; events: an event file.")
@click.option("--encoding", default="utf-8", show_default=True, metavar="NAME", help="Of a text file: latin-1; bytes.")
@click.option("--backend", metavar="BACKEND", help="Storage backend; default: the one of highest priority.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N.")
@click.option("--directed/--undirected", default=None, help="Default: what the algorithms need, else directed.")
@click.option("--comm", metavar="NAME", help="Share the window with the processes of a launcher: auto, mpi.")
@click.option("--readers", type=click.Choice(["first", "all"]), default="first", show_default=True,
              help="With --comm: which processes read files or a topic.")  # fmt: skip
@click.option(
    "--on-replaced",
    type=click.Choice(["raise", "restart"]),
    default="raise",
    show_default=True,
    help="With --checkpoint: if a file has not the content any more that was read: restart reads it again.",
)
@click.option(
    "--checkpoint", type=TargetType(dir_okay=True), help="Folder that keeps the state; a job goes on from it."
)
@click.option("--checkpoint-every", default="10s", show_default=True, callback=number_or_text, metavar="TIME",
              help="A duration, or a number of slides.")  # fmt: skip
@click.option("--serve", type=click.IntRange(0, 65535), metavar="PORT", help="Serve metrics for Prometheus: 127.0.0.1.")
@click.option(
    "--output", type=TargetType(dir_okay=True), help="Write the top rows: .csv, .jsonl, else a folder of Parquet."
)
@click.option("--plot", type=TARGET, help="Write a picture of the job at its end: .svg, .png.")
@click.option("--html", type=TARGET, help="Write a page with pictures of the job, while it runs and at its end.")
@click.option(
    "--watch", is_flag=True, help="In a terminal: show the newest slide and what led to it, in place of lines."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json"]),
    default="table",
    show_default=True,
    help="Format of what is printed; csv and json have all digits, json a line per slide.",
)
def stream(
    file: Path | str, algorithms: tuple[str, ...], params: tuple[str, ...], most: int, columns: dict[str, Any] | None,
    time_unit: str | None, source_format: str | None, backend: str | None, device: str, directed: bool | None,
    output: Path | None, form: str, **options: Any,
) -> None:  # fmt: skip
    """Keep a window over the events in FILE as a graph.

    The sizes of the graph, and the top vertices of each tracked algorithm, are printed slide by slide.

    FILE may be text, CSV, Parquet, Arrow or an event file, a folder or a pattern of them, or - for standard input; or
    messages that are there: kafka://HOST:PORT/TOPIC, redis://HOST:PORT/STREAM (docs/commands.md).
    Ctrl-C and SIGTERM end the job after the current slide; with --checkpoint the next call goes on from there.
    With --follow it runs until then. With --comm all processes make this call, and the first one prints:
    mpiexec -n 4 python -m mpi4py -m suricate stream --comm mpi FILE ...
    """
    import suricate.stream as st
    from suricate.graph import frames
    from suricate.stream.report import picture_of

    kinds = {name: plugins.algorithm(name) for name in algorithms}
    given = params_of(kinds, params, options["attributes"])
    if output is not None and not kinds:
        raise click.UsageError("--output writes the top vertices of what is tracked: give --track")
    if options["alert_output"] is not None and not options["alerts"]:
        raise click.UsageError("--alert-output writes what alerts tell: give --alert")
    html, plot, watch = (options.pop(name) for name in ("html", "plot", "watch"))
    if watch and (form != "table" or output == STDOUT):
        raise click.UsageError("--watch takes the screen: it goes without --format, and without --output -")
    library = options.pop("comm")
    comm = None if library is None else connect(library)
    is_first = comm is None or comm.rank == 0
    if comm is not None and comm.size > 1 and (html is not None or plot is not None or watch):
        raise click.UsageError("--html, --plot and --watch are for one process, without --comm")
    reading: dict[str, Any] = {"columns": columns, "time_unit": time_unit, "format": source_format}
    reading |= {name: options.pop(name) for name in OF_FILES}
    source, serve = source_of(file, **reading), options.pop("serve")
    options["lateness"], max_late = options["lateness"] or 0, options.pop("max_late")
    rules, told = options.pop("alerts"), options.pop("alert_output")
    if unknown := {tracker for tracker, _ in rules.values()} - {EDGES, *kinds}:
        raise click.UsageError(f"--alert {min(unknown)}:...: it is not tracked; --track {min(unknown)} does")
    shared = {} if comm is None else {"comm": comm}
    job = st.Window(source, graph=graph_options(kinds, backend, device, directed) | shared, **options)
    trackers = {name: job.track(kind, **given[name]) for name, kind in kinds.items()}
    sinks = {name: job.sink(target_of(output, name, len(kinds))) for name in kinds} if output is not None else {}
    alerts = {
        name: job.alert(trackers.get(tracker, EDGES), **rule, sink=None if told is None else target_of(
            told, re.sub(r"\W+", "-", name), len(rules)))
        for name, (tracker, rule) in rules.items()
    }  # fmt: skip
    if serve is not None:
        port = job.serve(serve)
        if is_first:
            click.echo(f"metrics: http://127.0.0.1:{port}/metrics", err=True)
    report = job.report(html) if html is not None or plot is not None or watch else None
    if plot is not None:
        picture_of(job, plot)  # what is wrong with it shows before the file is read
    lines: Printing = nullcontext(PRINTERS[form]([*trackers, *alerts]))
    is_watched = report is not None and watch and sys.stdout.isatty()
    with (
        watching(report) if is_watched else lines as show,
        job,
        progress_line(shows=is_first and not is_watched) as progress,
    ):
        for w in job:
            tops = {name: frames.without_unreached(each.top(most), kinds[name]) for name, each in trackers.items()}
            for name, sink in sinks.items():
                sink.write(tops[name])
            tops |= {name: alert.fired for name, alert in alerts.items()}
            if is_first and output != STDOUT:
                show(facts_of(w), tops)
            progress(w, job)
    if plot is not None:
        job.plot(plot)
    if is_first:
        click.echo(summary(job), err=True)
    if max_late is not None and job.late > max_late * job.read:
        raise Failed(f"{job.late} of {job.read} events are late, more than --max-late {max_late:g} allows")


def source_of(
    file: Path | str, *, follow: bool, settle: str | None, order: str | None, on_replaced: str, **options: Any
) -> Source:
    """Return the source of the events in ``file``: a path, or an address ``NAME://...`` for ``st.NAME``.

    Raises:
        click.UsageError: options that do not go together, or do not fit what is read.
    """
    import suricate.stream as st

    if follow and (order or on_replaced != "raise"):
        raise click.UsageError("--order and --on-replaced are for files that are there, not for --follow")
    if settle is not None and (not follow or isinstance(file, str)):
        raise click.UsageError("--settle is for --follow and folders")
    if not isinstance(file, str):
        live = {"watch": True, **({} if settle is None else {"settle": settle})}
        whole = {"order": order, "on_replaced": on_replaced}
        return (st.files if follow else st.scan)(file, **options, **(live if follow else whole))
    scheme, known = file.partition("://")[0], plugins.sources()
    make = known.get(scheme, known.get(scheme.removesuffix("s")))  # rediss is redis over TLS
    if make is None:
        raise click.UsageError(f"{scheme}:// is none of the sources {', '.join(known)}")
    if order or on_replaced != "raise" or any(options.pop(name) != usual for name, usual in OF_TEXT.items()):
        raise click.UsageError(f"--order, --on-replaced, --from, --texts and --encoding are for files, not {scheme}")
    return make(file, live=follow, **{name: value for name, value in options.items() if value is not None})


def params_of(kinds: Mapping[str, Any], params: tuple[str, ...], rules: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return the parameters, a dict by name, of each algorithm in ``kinds``.

    Each text ``NAME=VALUE`` in ``params`` sets the parameter of all algorithms that have one of this name. If there
    are attributes, the keys of ``rules``, algorithms that read weights have ``weight`` too, the name of an attribute.

    Raises:
        click.BadParameter: a text has another form, no algorithm has the parameter, or the value is not allowed.
    """
    known = {name: set(inspect.signature(kind).parameters) for name, kind in kinds.items()}
    for name, kind in kinds.items():
        known[name] |= {"weight"} if rules and kind.uses_weights else set()
    given: dict[str, dict[str, Any]] = {name: {} for name in kinds}
    for param in params:
        label, equals, text = param.partition("=")
        takers = [name for name in kinds if label in known[name]]
        if not equals or not takers:
            wrong = f"nothing that is tracked has {label!r}" if equals else f"{param!r}: expected NAME=VALUE"
            raise click.BadParameter(wrong, param_hint="--param")
        for name in takers:
            given[name][label] = value_of(label, text)
    for name, kind in kinds.items():
        texts = {label: value for label, value in given[name].items() if label in VERTICES and has_text(value)}
        names = {label: 0 if isinstance(value, str) else [0] for label, value in texts.items()}  # stand for any vertex
        try:
            # a bad parameter shows before the file is read
            kind(**{label: value for label, value in (given[name] | names).items() if label != "weight" or not rules})
        except (TypeError, ValueError, ArithmeticError) as error:
            raise click.BadParameter(f"{name}: {error}", param_hint="--param") from error
    return given


def graph_options(kinds: Mapping[str, Any], backend: str | None, device: str, directed: bool | None) -> dict[str, Any]:
    """Return keyword arguments of ``Graph`` for the algorithms ``kinds``, with ``backend`` and ``device``.

    ``directed``: the choice of the user; None: the direction that the algorithms need, else True.
    """
    found = {"device": device, "directed": True, **options_for(kinds.values(), directed)}
    if backend is not None:
        plugins.backend(backend)  # an unknown name shows before the file is read
        found["backend"] = backend
    return found


def target_of(output: Path, name: str, number: int) -> Any:
    """Return where the rows of the algorithm ``name`` are written, a path or a :class:`RowPrinter`.

    ``number`` is how many algorithms there are. The path of a single one is ``output``; each of several has a file
    beside ``output``, ``STEM-NAME.SUFFIX``.

    Raises:
        click.BadParameter: ``output`` is standard output (``-``), which takes only one algorithm.
    """
    if output == STDOUT:
        if number > 1:
            raise click.BadParameter("- takes the rows of one algorithm", param_hint="--output")
        return RowPrinter(csv.writer(sys.stdout, lineterminator="\n"))
    return output if number == 1 else output.with_name(f"{output.stem}-{name}{output.suffix}")


class RowPrinter:
    """Writes the rows of an algorithm as CSV to stdout: a callable for ``Window.sink``.

    ``writer`` is a ``csv.writer`` on stdout.
    """

    def __init__(self, writer: Any) -> None:
        self._writer, self._begun = writer, False

    def __call__(self, end: Any, columns: Mapping[str, Any]) -> None:
        """Write the ``columns``, arrays by name, of the slide that ends at ``end``; the first call writes a header.

        A row has ``end`` and then one value of each column.
        """
        if not self._begun:
            self._writer.writerow(["end", *columns])
            self._begun = True
        self._writer.writerows([end, *row] for row in zip(*(part.tolist() for part in columns.values()), strict=True))
        sys.stdout.flush()


# -- what is printed ---------------------------------------------------------------------------------------------------


def facts_of(w: Slide) -> dict[str, Any]:
    """Return the numbers to print of the slide ``w``, by the names in :data:`FACTS`."""
    values = end_of(w), w.events, w.late, w.graph.num_live, w.graph.num_edges
    return dict(zip(FACTS, values, strict=True))


def end_of(w: Slide) -> int | str:
    """Return the end of a slide as it is printed: a number, or a date without zeros behind the second."""
    return w.end if isinstance(w.end, int) else str(w.end).removesuffix(".000000000")


def table_printer(_: list[str]) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    """Return a function ``show(facts, tops)`` that prints a line per slide, and below it a table per algorithm.

    ``facts`` come from :func:`facts_of`; ``tops`` has, by algorithm, the frame of its top vertices or groups. All
    printers get the names of the algorithms as an argument, which only :func:`csv_printer` uses.
    """

    def show(facts: dict[str, Any], tops: dict[str, Any]) -> None:
        click.echo("  ".join(str(value) if name == "end" else f"{name} {value}" for name, value in facts.items()))
        for name, frame in tops.items():
            if len(frame):
                click.echo(
                    f"{name}\n{plain_table(frame.columns, [[name_cell(cell) for cell in row] for row in frame])}\n"
                )

    return show


def csv_printer(names: list[str]) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    """Return a function ``show(facts, tops)``, as :func:`table_printer` does, that prints CSV with a header.

    ``names``: the algorithms. Without any a slide is one row, else a row per algorithm and top vertex or group, with
    the columns of all their frames; those that an algorithm has not are empty.
    """
    writer, head = csv.writer(sys.stdout, lineterminator="\n"), list[str]()

    def show(facts: dict[str, Any], tops: dict[str, Any]) -> None:
        rows: list[dict[str, Any]] = [facts]
        if names:
            rows = [
                {"end": facts["end"], "algorithm": name, **dict(zip(frame.columns, row, strict=True))}
                for name, frame in tops.items()
                for row in frame
            ]
        if not head:
            columns = dict.fromkeys(column for frame in tops.values() for column in frame.columns)
            head.extend(("end", "algorithm", *columns) if names else facts)
            writer.writerow(head)
        writer.writerows(printable_rows([row.get(column) for column in head] for row in rows))
        sys.stdout.flush()

    return show


def json_printer(_: list[str]) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    """Return a function ``show(facts, tops)``, as :func:`table_printer` does, that prints a slide as a line of JSON."""

    def show(facts: dict[str, Any], tops: dict[str, Any]) -> None:
        tables = {name: records(frame.columns, frame) for name, frame in tops.items()}
        click.echo(json.dumps({**facts, **tables}))
        sys.stdout.flush()

    return show


PRINTERS = {"table": table_printer, "csv": csv_printer, "json": json_printer}


@contextmanager
def watching(report: Report | None) -> Iterator[Callable[[dict[str, Any], dict[str, Any]], None]]:
    """Show sparklines of ``report`` in the terminal; yield a function to call with each slide, as printers are."""
    from rich.live import Live
    from rich.text import Text

    from suricate.pages.sparks import BARS, PLAIN, lines_of

    assert report is not None
    screen, shown_at = console(), 0.0
    bars = BARS if "utf" in screen.encoding.lower() else PLAIN

    def text() -> Text:
        story = report.story()
        head = ", ".join(f"{name} {value}" for name, value in story.facts.items())
        return Text("\n".join(lines_of(head, story.panels, screen.width, bars)), no_wrap=True, overflow="crop")

    DISPLAY.is_hidden = True
    with Live(console=screen, auto_refresh=False) as live:

        def show(facts: dict[str, Any], tops: dict[str, Any]) -> None:
            nonlocal shown_at
            if time.monotonic() - shown_at > WATCHED:
                live.update(text(), refresh=True)
                shown_at = time.monotonic()

        try:
            yield show
        finally:
            DISPLAY.is_hidden = False
            live.update(text(), refresh=True)


@contextmanager
def progress_line(shows: bool) -> Iterator[Callable[[Slide, Window], None]]:
    """Show events per second, lag and memory on a terminal; yield a function to call with each slide and the window."""
    begin, events, shown_at = time.perf_counter(), 0, 0.0
    if not shows:
        yield lambda w, job: None
        return
    is_shown = can_show()
    with working("reading") as row:

        def progress(w: Slide, job: Window) -> None:
            nonlocal events, shown_at
            events += w.events
            now = time.perf_counter()
            if now - shown_at < 0.2 or not is_shown:
                return
            shown_at = now
            lag = f"{w.lag / 1e9:.0f} s" if job.has_unit else w.lag
            memory = sum(w.memory.values()) / 2**20
            row.what = f"{end_of(w)}: {events / (now - begin):,.0f} events/s, lag {lag}, {memory:,.0f} MiB"

        yield progress


def summary(job: Window) -> str:
    """Return a line with the numbers of slides and events, and the rate, of ``job``, a window that has ended."""
    past = job.past
    parts = [f"{past.slides} slides, {past.events} events"]
    parts += [f"{count} {what}" for what, count in (("late", job.late), ("not valid", job.skipped)) if count]
    rate = f", {past.events / past.seconds:,.0f} events/s" if past.events else ""
    return ", ".join(parts) + rate + (f"; ended by {job.stopped}" if job.stopped else "")
