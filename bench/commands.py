"""The commands ``suricate demo`` and ``suricate bench``: options, and the checks of them before any work.

Exit codes: 0 all rows are verified, 1 a row failed (FAIL or ERROR), 2 the command cannot run as asked (unknown
backend or graph, impossible option, results file not writable). ``table_format``: a format of ``cli.terminal.show``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from suricate.bench import constants
from suricate.bench.defaults import KERNELS, SUITES
from suricate.cli.run import literal
from suricate.cli.sources import FILE, STDOUT, TargetType
from suricate.cli.terminal import table_format
from suricate.errors import SuricateError

if TYPE_CHECKING:
    from suricate.base.devices import Device
    from suricate.bench.reports.results import ResultsFile
    from suricate.bench.runner import Limits
    from suricate.bench.suites import Selection

SEED = click.option(
    "--seed", default=constants.SEED, show_default=True, type=click.IntRange(0), help="Of graphs, batches and weights."
)
DEVICE = click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N.")
BACKEND = click.option("--backend", "backends", multiple=True, help="Backend; repeatable. Default: all that run there.")
BATCH = click.option("--batch", "batches", multiple=True, type=click.IntRange(1), help="Edges per batch; repeatable.")
ALGORITHM = click.option(
    "--algorithm", "algorithms", multiple=True, help="Algorithm; repeatable. Default: all that join the suite."
)
QUIET_CORE = click.option(
    "--quiet-core", is_flag=True, help="Besides, time each row of a CUDA device on a core that is quiet at the moment."
)
SCALING = "scaling"  #: the suite on graphs of several processes, which all of them run together
FIRST = "first"  #: the suite of first calls, each in a process of its own
FITTING = {  #: option -> the suites that it applies to; options that are not here apply to all
    "pairs": ("operations", "sweep"),
    "scenario": ("operations", "sweep"),
    "weighted": ("operations", "sweep", "memory"),
    "batches": (
        "operations",
        "algorithms",
        "sweep",
        "crossover",
        "window",
        "usage",
        "short",
        "ablations",
        "stream",
        "replay",
        "events",
        SCALING,
    ),
    "edges": ("window",),
    "knobs": ("sweep", "ablations"),
    "algorithms": (
        "algorithms",
        "methods",
        "quality",
        "crossover",
        "short",
        "ablations",
        "stream",
        "replay",
        SCALING,
        *KERNELS,
    ),
    "against": ("algorithms", *KERNELS),
    "quick": ("stream",),
    "ranks": (SCALING,),
}

SUITABLE = {  #: what does not run workloads -> the options that go with it
    "listing": ("suite", "backends", "algorithms", "device", "table_format"),
    "report": ("files", "plot", "html", "page", "save_map", "table_format"),
}

OUTPUTS = "plot", "html", "page", "save_map"  #: options that say where a report goes
SELECTED = "seed", "pairs", "weighted", "checks", "hints", "scenario", "knobs", "quick", "against", "processor_time"
"""Those of ``Selection``."""

SUITE_DEFAULTS: dict[tuple[str, str], Any] = {  #: (suite, option) -> its default there
    ("crossover", "repeats"): constants.CROSSOVER_REPEATS,
    ("crossover", "time_limit"): constants.CROSSOVER_TIME_LIMIT,
    ("stream", "time_limit"): constants.STREAM_TIME_LIMIT,
    **{(suite, "repeats"): constants.QUICK_REPEATS for suite in ("usage", "ablations")},
    **{(suite, "time_limit"): constants.QUICK_TIME_LIMIT for suite in ("usage", "ablations")},
}


RESULTS = TargetType(dir_okay=True)  #: a folder is refused when the file is opened


class Seconds(click.ParamType):
    """A finite number of seconds, at least 0."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return ``value`` as a float; fail with a usage error unless it is finite and at least 0."""
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not 0 <= number < math.inf:
            self.fail(f"{value!r} is not a finite number of at least 0", param, ctx)
        return number


def limits_options(time_limit: float) -> Any:
    """Return a decorator that gives a command ``--repeats`` and ``--time-limit`` (default: ``time_limit`` seconds)."""

    def add(command: Any) -> Any:
        for option in (
            click.option(
                "--repeats", default=constants.MIN_REPEATS, show_default=True,
                type=click.IntRange(1, constants.MAX_REPEATS), help="Least number per row.",
            ),
            click.option(
                "--time-limit", default=time_limit, show_default=True, type=Seconds(), help="Seconds per row."
            ),
        ):  # fmt: skip
            command = option(command)
        return command

    return add


@click.command()
@click.option(
    "--graph", default=str(constants.COLLEGEMSG), show_default="CollegeMsg", help="A file of edges with times."
)
@DEVICE
@BACKEND
@ALGORITHM
@click.option("--output", default="results/demo.jsonl", show_default=True, type=RESULTS)
@BATCH
@SEED
@QUIET_CORE
@limits_options(constants.DEMO_TIME_LIMIT)
@table_format
def demo(
    graph: str,
    device: str,
    backends: tuple[str, ...],
    algorithms: tuple[str, ...],
    output: Path,
    batches: tuple[int, ...],
    seed: int,
    quiet_core: bool,
    repeats: int,
    time_limit: float,
    table_format: str,
) -> None:
    """Compare the backends on a real temporal graph.

    Every backend x (bulk build, insert, delete, query, stream) x algorithms (from scratch and kept current), each row
    verified against an independent oracle before it is timed. A star is at what loses: an update to computing from
    scratch, a computation to SciPy's. `suricate bench --report FILE` prints all tables of the results.
    """
    with usage_errors():
        where = resolve(device)
        limits = make_limits(where, repeats, time_limit, quiet_core)
        from suricate.bench import inputs, suites
        from suricate.bench.reports.results import check_versions

        selection = suites.Selection(
            suites.backend_names(backends, where), where, seed=seed, batches=batches or (constants.DEMO_BATCH,),
            algorithms=suites.algorithm_names(algorithms),
        )  # fmt: skip
        results = open_results(output)
        data = [inputs.load(graph, seed=seed)]
        tasks = [(item.name, task) for item in data for task in suites.demo_tasks(selection, item)]
        check_versions(results.path, [(task.backend, task.algorithm) for _, task in tasks])
    run_session(tasks, data, selection, limits, results, table_format, brief=True)


@click.command()
@click.option(
    "--suite", type=click.Choice((*SUITES, SCALING, FIRST, "all")), default="all", show_default=True, metavar="NAME",
    help=f"{', '.join((*SUITES, SCALING, FIRST))}; all: {', '.join(name for name in SUITES if SUITES[name].in_all)}.",
)  # fmt: skip
@click.option(
    "--graph", "graphs", multiple=True,
    help="rmat:SCALE[:EF], grid:WxH, uniform:N:M or a file; repeatable. Default: those of the suite, mostly rmat:16.",
)  # fmt: skip
@click.option("--edges", type=click.IntRange(16), help="Size of the stream that suite window draws in pieces.")
@BACKEND
@ALGORITHM
@click.option(
    "--against", multiple=True, type=click.Choice([*constants.LIBRARIES]),
    help="Only algorithms from scratch, verified, then timed by turns with this library; repeatable.",
)  # fmt: skip
@click.option("--workload", "workloads", multiple=True, help="Only workloads whose name contains this; repeatable.")
@BATCH
@click.option(
    "--pairs", type=click.Choice(["uniform", "sorted", "existing", "mixed", "hub"]), help="Batches of the operations."
)
@click.option("--hints", is_flag=True, help="Build graphs with the exact degrees of the input as degree hints.")
@click.option(
    "--scenario", type=click.Choice(["fresh", "aged", "full"]), default="fresh", show_default=True,
    help="Condition of the graph that operations meet.",
)  # fmt: skip
@click.option("--knob", "knobs", multiple=True, help="Backend option that the sweep varies; repeatable. Default: all.")
@click.option("--weighted", is_flag=True, help="Operations on weighted (float32) graphs.")
@click.option("--checks", type=click.Choice(["eager", "deferred"]), default="eager", show_default=True)
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE", help="Option of graphs; repeatable.")
@DEVICE
@SEED
@QUIET_CORE
@limits_options(constants.TIME_LIMIT)
@click.option("--output", default="results/bench.jsonl", show_default=True, type=RESULTS)
@click.option(
    "--processor-time", is_flag=True,
    help="On the CPU, count the seconds of the processor, which other programs disturb little, not those of the clock.",
)  # fmt: skip
@click.option("--quick", is_flag=True, help="Suite stream: small graphs, few shares and slides.")
@click.option("--ranks", type=click.IntRange(1, 64), help="Suite scaling: as threads, without a launcher of MPI.")
@click.option("--resume", is_flag=True, help="Leave out rows that the output file has already.")
@click.option(
    "--list",
    "listing",
    is_flag=True,
    help="List workloads (of the suite if one is given), algorithms and what the backends bring.",
)
@click.option("--report", is_flag=True, help="Print the tables of the results FILES, and stop.")
@click.option("--plot", type=click.Path(path_type=Path), help="With --report: write pictures (.png or .svg), too.")
@click.option(
    "--html", type=click.Path(path_type=Path), help="With --report: write tables and pictures as a page, too."
)
@click.option(
    "--page", type=click.Path(path_type=Path), help="With --report: write the crossover map as Markdown with pictures."
)
@click.option("--save-map", type=click.Path(path_type=Path), help="With --report: write the data of 'suricate advise'.")
@table_format
@click.argument("files", nargs=-1, type=FILE)
def bench(
    suite: str, graphs: tuple[str, ...], backends: tuple[str, ...], algorithms: tuple[str, ...], device: str,
    output: Path, listing: bool, report: bool, table_format: str, files: tuple[Path, ...], **options: Any,
) -> None:  # fmt: skip
    """Run the full sweeps, or report results FILES (--report)."""
    outputs = {name: options[name] for name in OUTPUTS}
    for mode, is_on in {"report": report, "listing": listing}.items():
        if is_on:
            check_suitable(mode)
    if report:
        return print_report(files, outputs, table_format)
    if files:
        raise click.UsageError("FILES go with --report; graphs are given with --graph")
    for name, path in outputs.items():
        if path:
            raise click.UsageError(f"--{name.replace('_', '-')} goes with --report")
    if options["resume"] and output == STDOUT:
        raise click.UsageError("--resume needs a file that can be read: it does not go with --output -")
    if options["edges"] and graphs:
        raise click.UsageError("--edges stands for graphs of that size: give it or --graph")
    if options["against"] and not is_given("suite"):
        suite = "algorithms"
    check_fitting(suite)
    if suite == SCALING and not listing:
        return run_scaling(graphs, device, backends, algorithms, output, options)
    if suite == FIRST and not listing:
        return run_first(graphs, device, output, options["workloads"], table_format)
    with usage_errors():
        where = resolve(device)
        repeats, time_limit = (given(name, options[name], suite) for name in ("repeats", "time_limit"))
        limits = make_limits(where, repeats, time_limit, options["quiet_core"], options["processor_time"])
        from suricate.bench import drawn, inputs, suites
        from suricate.bench.reports.results import check_versions, measured, place

        names, batches, quick = suites.backend_names(backends, where), options["batches"], options["quick"]
        if listing:
            return print_list(suite, names, suites.algorithm_names(algorithms), table_format)
        selection = suites.Selection(
            names, where, batches=batches or constants.BATCHES, updates=batches or None,
            options=parse(options["options"]), algorithms=suites.algorithm_names(algorithms),
            **{name: options[name] for name in SELECTED},
        )  # fmt: skip
        suites.check_options(selection)
        specs = [inputs.parse(spec) for spec in graphs or default_graphs(suite, options["edges"], where, quick=quick)]
        results = open_results(output)
        data: list[Any] = [
            (drawn if is_drawn(suite, inputs.size_of(spec)) else inputs).load(spec, seed=options["seed"])
            for spec in specs
        ]
        tasks = [(item.name, task) for item in data for task in suites.bench_tasks(suite, selection, item)]
        parts = options["workloads"]
        tasks = [(name, task) for name, task in tasks if any(part in task.workload for part in parts or ("",))]
        if not tasks:
            named = f" has a name with {' or '.join(map(repr, parts))}" if parts else " fits these options"
            raise ValueError(f"no workload of suite {suite!r}{named}")
        check_versions(results.path, [(task.backend, task.algorithm) for _, task in tasks])
        if options["resume"]:
            done = measured(results.path)
            tasks = [(name, task) for name, task in tasks if place(name, task) not in done]
    run_session(tasks, data, selection, limits, results, table_format)


def run_scaling(
    graphs: tuple[str, ...], device: str, backends: tuple[str, ...], algorithms: tuple[str, ...], output: Path,
    options: Mapping[str, Any],
) -> None:  # fmt: skip
    """Run the suite on scaling on the chosen graphs and backend; exit with code 1 if a row failed, else 0.

    ``options``: the remaining options of the command line, by name; rows are written to ``output``.
    """
    with usage_errors():
        from suricate.base.devices import resolve_device
        from suricate.bench import scaling, suites
        from suricate.bench.reports.results import check_versions
        from suricate.bench.scaling.session import Plan
        from suricate.plugins import default_backend

        if len(backends) > 1:
            raise ValueError("suite 'scaling' measures one backend")
        backend = suites.backend_names(backends, resolve_device(device)) if backends else ()
        sizes = options["batches"] or constants.SCALING_BATCHES
        repeats = options["repeats"] if is_given("repeats") else constants.SCALING_REPEATS
        plan = Plan(
            backend[0] if backend else default_backend(resolve_device(device)).name,
            parse(options["options"]), sizes, sizes,
            suites.algorithm_names(algorithms), repeats, options["workloads"], options["seed"],
        )  # fmt: skip
        check_versions(output, [(plan.backend, algorithm) for algorithm in (None, *plan.names())])
        failed = scaling.run(graphs or constants.SCALING_GRAPHS, device, plan, output, options["ranks"])
    raise SystemExit(1 if failed else 0)


def run_first(
    graphs: tuple[str, ...], device: str, output: Path, workloads: tuple[str, ...], table_format: str
) -> None:
    """Run the suite of first calls, whose graph on CUDA is R-MAT 20 or the one of ``graphs``, and print its table."""
    with usage_errors():
        scale = (graphs or ("rmat:20",))[-1].removeprefix("rmat:")
        if not scale.isdecimal():
            raise ValueError(f"suite 'first' draws its graph: rmat:SCALE, got {graphs[-1]!r}")
        where = resolve(device)
        from suricate.bench import first
        from suricate.cli import console
        from suricate.cli.terminal import show

    say = console(stderr=True).print
    grid = first.run(where, None if output == STDOUT else output, int(scale), workloads, say)
    show(table_format, [grid])
    raise SystemExit(1 if any(row[-1] for row in grid.rows) else 0)


def run_session(
    tasks: Any,
    data: Sequence[Any],
    selection: Selection,
    limits: Limits,
    results: ResultsFile,
    table_format: str,
    *,
    brief: bool = False,
) -> None:
    """Run ``tasks``, pairs (graph name, task) on the inputs ``data``, write their rows to ``results`` and print them.

    ``selection``: what the user chose, for the header of the results; ``limits``: how often a task is repeated;
    ``brief``: whether to print an overview only. The process exits with code 1 if a row failed, else 0.
    """
    from suricate.bench import session
    from suricate.cli import console

    to_stdout = table_format == "table" and results.path != STDOUT  # else stdout has the tables or rows alone
    where = console(stderr=not to_stdout)
    failed = session.run(tasks, data, selection, limits, results, where, table_format, brief=brief)
    raise SystemExit(1 if failed else 0)


def is_given(name: str) -> bool:
    """Return whether the option ``name`` was given on the command line."""
    return click.get_current_context().get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def shown(name: str) -> str:
    """Return how users write the option ``name`` ("--name"), or the name of a positional argument."""
    found = next(param for param in click.get_current_context().command.params if param.name == name)
    return found.opts[0] if isinstance(found, click.Option) else found.human_readable_name


def check_suitable(mode: str) -> None:
    """Raise a usage error if an option was given that has no effect with ``mode``, "listing" or "report"."""
    for param in click.get_current_context().command.params:
        name = param.name or ""
        if name not in (mode, *SUITABLE[mode]) and is_given(name):
            raise click.UsageError(f"{shown(name)} does not go with {shown(mode)}")


def check_fitting(suite: str) -> None:
    """Raise a usage error if an option was given that has no effect in ``suite``."""
    from suricate.bench.suites import parts_of

    for name, fitting in FITTING.items():
        if is_given(name) and not set(parts_of(suite)) & set(fitting):
            raise click.UsageError(f"{shown(name)} does not apply to suite {suite!r}, only to {', '.join(fitting)}")


def given(name: str, value: Any, suite: str) -> Any:
    """Return the value of the option ``name``: ``value`` if the user gave it, else the default of ``suite``.

    If the suite has no default of its own, that is ``value``, too.
    """
    own = SUITE_DEFAULTS.get((suite, name), value)
    return value if is_given(name) else own


def is_drawn(suite: str, size: int) -> bool:
    """Return whether ``suite`` draws a graph of ``size`` edges in pieces on the device."""
    if suite == "crossover":
        return size >= constants.DRAWN_FROM
    return suite != "all" and SUITES[suite].edges_per_vertex > 0


def default_graphs(
    suite: str, edges: int | None = None, device: Device | None = None, *, quick: bool = False
) -> Sequence[str]:
    """Return the graphs that ``suite`` is measured on by default: specifications, or paths of real graphs.

    ``edges``: number of edges of graphs that are drawn in pieces, None for the default. On a CUDA ``device`` a suite
    may have further graphs. ``quick``: the graphs of a short run.
    """
    from suricate.bench import drawn, inputs

    if is_drawn(suite, 0):
        return (drawn.spec_of(edges or constants.DRAWN_EDGES, SUITES[suite].edges_per_vertex),)
    usual = next(each.graphs for each in SUITES.values() if each.graphs)
    further = SUITES[suite].on_cuda if suite != "all" and device is not None and device.is_cuda else ()
    if suite != "all" and SUITES[suite].temporal:
        generated = SUITES[suite].quick if quick else SUITES[suite].graphs or ()
        return (*generated, *further, *((str(constants.COLLEGEMSG),) if quick else inputs.temporal_graphs()))
    chosen = usual if suite == "all" else SUITES[suite].graphs
    return (*chosen, *further) if chosen else tuple(inputs.real_graphs()) or usual


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turn exceptions in the ``with`` block that a user's input can cause into usage errors (exit code 2)."""
    try:
        yield
    except BrokenPipeError:
        raise  # click ends quietly when nobody reads the output any more
    except (SuricateError, ValueError, OSError, MemoryError) as error:
        raise click.UsageError(str(error) or "there is not enough memory") from error


def open_results(path: Path) -> ResultsFile:
    """Return the results file at ``path``, open for appending; exit with code 2 if that is not possible."""
    from suricate.bench.reports.results import ResultsFile

    try:
        return ResultsFile(path)
    except OSError as error:
        raise click.BadParameter(f"cannot write {path}: {error.strerror}", param_hint="--output") from error


def resolve(device: str) -> Device:
    """Return the device named ``device``; a CUDA device is made the current one."""
    from suricate.base.devices import resolve_device

    where = resolve_device(device)
    if where.is_cuda:
        where.xp.cuda.Device(where.index).use()
    return where


def parse(options: tuple[str, ...]) -> dict[str, Any]:
    """Return backend options by name, from texts ``NAME=VALUE``.

    A value is a Python literal, ``true``, ``false``, or else a string.
    """
    parsed: dict[str, Any] = {}
    for option in options:
        name, equals, text = option.partition("=")
        if not equals or not name.isidentifier():
            raise click.BadParameter(f"{option!r} is not NAME=VALUE", param_hint="--option")
        parsed[name] = literal(text)
    return parsed


def make_limits(
    device: Device, repeats: int, time_limit: float, quiet_core: bool, processor_time: bool = False
) -> Limits:
    """Return the limits of repeats on ``device`` that the options of the command line set.

    Raises:
        ValueError: a quiet core or processor time is requested, and the device or the system does not allow it.
    """
    from suricate.bench.machine.cores import reason_against
    from suricate.bench.runner import Limits

    reason = reason_against(device) if quiet_core else None
    if reason:
        raise ValueError(f"--quiet-core is not possible: {reason}")
    if processor_time and device.is_cuda:
        raise ValueError("--processor-time is for the CPU: the processor waits for a GPU")
    return Limits(repeats, time_limit=time_limit, quiet_core=quiet_core, processor_time=processor_time)


def print_report(files: tuple[Path, ...], outputs: dict[str, Path | None], table_format: str) -> None:
    """Print the tables of the results ``files``; write the reports in ``outputs``: a path (or None) by kind."""
    from suricate.bench import session
    from suricate.cli import console

    if not files:
        raise click.UsageError("--report needs results files")
    try:
        with usage_errors():
            session.report(files, outputs, console(stderr=table_format != "table"), table_format)
    except ImportError as error:
        raise click.UsageError("pictures need matplotlib: pip install 'suricate[plot]'") from error


def print_list(suite: str, names: tuple[str, ...], chosen: tuple[str, ...], table_format: str) -> None:
    """Print the workloads of ``suite`` (of all suites if none is named), with algorithms and backends.

    ``names``: the backends, shown with their options and capabilities; ``chosen``: the algorithms, by default those of
    the suites.
    """
    from suricate.bench.reports.listing import listing
    from suricate.bench.suites import joining, parts_of
    from suricate.cli.terminal import console, grid_of, show, show_rich
    from suricate.plugins import algorithms, backends

    suites = parts_of(suite) if is_given("suite") else tuple(SUITES)
    kinds = [kind for name, kind in algorithms().items() if name in (chosen or joining(suites))]
    found = listing(suites, [backends()[name] for name in names], kinds)
    if table_format != "table":
        return show(table_format, [grid_of(table) for table in found])
    for table in found:
        show_rich(console(), table)
