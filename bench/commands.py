"""The commands ``suricate demo`` and ``suricate bench``.

Exit codes: 0 all cells are verified, 1 a cell failed (FAIL or ERROR), 2 the command cannot run as asked (unknown
backend or graph, results file not writable).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from suricate.bench import constants
from suricate.errors import SuricateError

if TYPE_CHECKING:
    from suricate.bench.inputs import Input
    from suricate.bench.matrix import Plan
    from suricate.bench.results import ResultsFile
    from suricate.bench.runner import Limits, Task
    from suricate.devices import Device

SEED = click.option("--seed", default=constants.SEED, show_default=True, help="Of graphs, batches and weights.")
DEVICE = click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N.")
BACKEND = click.option("--backend", "chosen", multiple=True, help="Backend; repeatable. Default: all that run there.")
SUITE_NAMES = ("operations", "algorithms", "reduce", "schemes", "sweep", "memory", "all")


def limits_options(time_limit: float) -> Any:
    """Return the options that say how often a cell is repeated."""

    def add(command: Any) -> Any:
        for option in (
            click.option("--repeats", default=constants.MIN_REPEATS, show_default=True, help="Least number per cell."),
            click.option("--time-limit", default=time_limit, show_default=True, help="Seconds per cell."),
        ):
            command = option(command)
        return command

    return add


@click.command()
@DEVICE
@BACKEND
@click.option("--output", default="results/demo.jsonl", show_default=True, type=click.Path(path_type=Path))
@click.option("--batch", "batches", multiple=True, type=click.IntRange(1), help="Edges per batch; repeatable.")
@SEED
@limits_options(constants.DEMO_TIME_LIMIT)
def demo(
    device: str,
    chosen: tuple[str, ...],
    output: Path,
    batches: tuple[int, ...],
    seed: int,
    repeats: int,
    time_limit: float,
) -> None:
    """Run the head-to-head matrix on a real temporal graph (CollegeMsg).

    Every backend x (bulk build, insert, delete, query, stream) x (BFS, PageRank; from scratch and kept current), each
    cell verified against an independent oracle before it is timed.
    """
    with usage_errors():
        where = resolve(device)
        from suricate.bench import inputs, matrix

        names = matrix.backend_names(chosen, where)
        results = open_results(output)
        plan = matrix.Plan(names, where, seed=seed, batches=batches or (constants.DEMO_BATCH,))
        data = inputs.load(str(constants.COLLEGEMSG), seed=seed)
        tasks = [(data.name, task) for task in matrix.demo_tasks(plan, data)]
    failed = run_matrix(tasks, [data], plan, make_limits(repeats, time_limit), results, peak=measured_peak(where))
    raise SystemExit(1 if failed else 0)


@click.command()
@click.option(
    "--suite", type=click.Choice(SUITE_NAMES), default="all", show_default=True, help="'all': without sweep and memory."
)
@click.option("--graph", "graphs", multiple=True, help="rmat:SCALE[:EF], grid:WxH, uniform:N:M or a file; repeatable.")
@BACKEND
@click.option("--workload", "workloads", multiple=True, help="Only workloads whose name contains this; repeatable.")
@click.option("--batch", "batches", multiple=True, type=click.IntRange(1), help="Edges per batch; repeatable.")
@click.option("--pairs", type=click.Choice(["uniform", "existing", "mixed", "hub"]), help="Batches of the operations.")
@click.option("--hints", is_flag=True, help="Build graphs with the exact degrees of the input as degree hints.")
@click.option(
    "--state",
    type=click.Choice(["fresh", "aged", "full"]),
    default="fresh",
    show_default=True,
    help="Of the graph that operations meet.",
)
@click.option("--knob", "knobs", multiple=True, help="Backend option that the sweep varies; repeatable. Default: all.")
@click.option("--weighted", is_flag=True, help="Operations on weighted (float32) graphs.")
@click.option("--checks", type=click.Choice(["eager", "deferred"]), default="eager", show_default=True)
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE", help="Backend option; repeatable.")
@DEVICE
@SEED
@limits_options(constants.TIME_LIMIT)
@click.option("--output", default="results/bench.jsonl", show_default=True, type=click.Path(path_type=Path))
@click.option("--list", "listing", is_flag=True, help="List workloads and what the backends bring, and stop.")
@click.option("--report", is_flag=True, help="Print the tables of the results FILES, and stop.")
@click.option("--plot", type=click.Path(path_type=Path), help="With --report: write a plot of the rates, too.")
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def bench(
    suite: str,
    graphs: tuple[str, ...],
    chosen: tuple[str, ...],
    workloads: tuple[str, ...],
    batches: tuple[int, ...],
    pairs: str | None,
    hints: bool,
    state: str,
    knobs: tuple[str, ...],
    weighted: bool,
    checks: str,
    options: tuple[str, ...],
    device: str,
    seed: int,
    repeats: int,
    time_limit: float,
    output: Path,
    listing: bool,
    report: bool,
    plot: Path | None,
    files: tuple[Path, ...],
) -> None:
    """Run the full sweeps, or report results FILES (--report)."""
    if report:
        return print_report(files, plot)
    if files:
        raise click.UsageError("FILES go with --report; graphs are given with --graph")
    with usage_errors():
        where = resolve(device)
        from suricate.bench import inputs, matrix

        names = matrix.backend_names(chosen, where)
        if listing:
            return print_list(names)
        results = open_results(output)
        plan = matrix.Plan(
            names, where, seed, batches or constants.BATCHES, batches or None, pairs, weighted, checks, parse(options),
            hints=hints, state=state, knobs=knobs,
        )  # fmt: skip
        data = [inputs.load(spec, seed=seed) for spec in graphs or default_graphs(suite)]
        peak = measured_peak(where)
        tasks = [(item.name, task) for item in data for task in matrix.bench_tasks(suite, plan, item)]
        tasks = [(name, task) for name, task in tasks if any(part in task.workload for part in workloads or ("",))]
        if not tasks:
            raise ValueError(f"no workload of suite {suite!r} has a name with {' or '.join(map(repr, workloads))}")
    failed = run_matrix(tasks, data, plan, make_limits(repeats, time_limit), results, peak=peak)
    raise SystemExit(1 if failed else 0)


def default_graphs(suite: str) -> tuple[str, ...]:
    """Return the graphs of a suite unless some are named: all real ones for the memory suite, if they are here."""
    from suricate.bench import inputs

    real = inputs.real_graphs() if suite == "memory" else []
    return tuple(real) or (constants.DEFAULT_GRAPH,)


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turn what a user can cause into a usage error (exit code 2)."""
    try:
        yield
    except (SuricateError, ValueError) as error:
        raise click.UsageError(str(error)) from error


def open_results(path: Path) -> ResultsFile:
    """Open the results file; exit code 2 if that is not possible."""
    from suricate.bench.results import ResultsFile

    try:
        return ResultsFile(path)
    except OSError as error:
        raise click.BadParameter(f"cannot write {path}: {error.strerror}", param_hint="--output") from error


def resolve(device: str) -> Device:
    """Return the device, made the current one."""
    from suricate.devices import resolve_device

    where = resolve_device(device)
    if where.is_cuda:
        where.xp.cuda.Device(where.index).use()
    return where


def parse(options: tuple[str, ...]) -> dict[str, Any]:
    """Return backend options: Python literals where they are such, else strings."""
    parsed: dict[str, Any] = {}
    for option in options:
        name, equals, text = option.partition("=")
        if not equals or not name.isidentifier():
            raise click.BadParameter(f"{option!r} is not NAME=VALUE", param_hint="--option")
        try:
            parsed[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            parsed[name] = text
    return parsed


def make_limits(repeats: int, time_limit: float) -> Limits:
    """Return the limits of the options."""
    from suricate.bench.runner import Limits

    return Limits(min_repeats=max(1, repeats), time_limit=time_limit)


def measured_peak(device: Device) -> float | None:
    """Return the bandwidth of a device copy; None on the CPU."""
    from suricate.bench.bandwidth import copy_bandwidth

    return copy_bandwidth(device) if device.is_cuda else None


def run_matrix(
    tasks: list[tuple[str, Task]],
    data: list[Input],
    plan: Plan,
    limits: Limits,
    results: ResultsFile,
    *,
    peak: float | None,
) -> bool:
    """Run ``tasks`` with a progress display, write and print the results; return whether a cell failed."""
    from dataclasses import asdict

    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from suricate.bench import matrix, report
    from suricate.bench.results import Cell, environment, new_run, to_line
    from suricate.cli import console as make_console

    console = make_console()
    run = new_run()
    header = environment(run, plan.device, plan.seed, [item.describe() for item in data], peak)
    asked = {"options": plan.options, "checks": plan.checks, "hints": plan.hints, "state": plan.state}
    results.append({**header, **asked, "limits": asdict(limits)})
    console.print(report.environments([header]), markup=False)
    console.print(report.heading(), style="bold", markup=False, soft_wrap=True)
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("", total=len(tasks))

        def starting(task: Task) -> None:
            parts = (report.label(task.backend), task.workload, task.algorithm or "", task.detail)
            progress.update(bar, description=" ".join(part for part in parts if part))

        shown: list[str] = []

        def finished(cell: Cell) -> None:
            results.append(to_line(cell))
            if shown[-1:] != [cell.graph] and len(data) > 1:
                shown.append(cell.graph)
                console.print(cell.graph, style="bold", markup=False)
            style = {"FAIL": "bold red", "ERROR": "bold red", "skip": "dim"}.get(cell.status)
            console.print(report.line(to_line(cell)), style=style, markup=False, soft_wrap=True)
            progress.advance(bar)

        cells = matrix.run_tasks(tasks, limits, run, peak=peak, starting=starting, finished=finished)
    results.close()
    lines = [to_line(cell) for cell in cells]
    print_tables(console, lines)
    failed = [cell for cell in cells if cell.status in ("FAIL", "ERROR")]
    checked = sum(cell.verified is not None for cell in cells)
    console.print(
        f"{len(cells)} cells, {checked} verified, {len(failed)} failed; written to {results.path}", markup=False
    )
    return bool(failed)


def print_tables(console: Any, lines: list[dict[str, Any]]) -> None:
    """Print all tables that the cells give."""
    from suricate.bench import report, tables

    compared = [line for line in lines if line.get("suite") not in tables.SUITES]
    for table in (*report.matrix(compared), *report.ratios(compared), *tables.of(lines)):
        console.print(table)
    shares = report.bandwidths(compared)
    if shares:
        console.print(shares)


def print_report(files: tuple[Path, ...], plot: Path | None) -> None:
    """Print the tables of results files."""
    from suricate.bench import report, results
    from suricate.cli import console as make_console

    if not files:
        raise click.UsageError("--report needs results files")
    with usage_errors():
        headers, cells = results.read(files)
    console = make_console()
    console.print(report.environments(headers), markup=False)
    print_tables(console, report.latest(cells))
    if plot:
        try:
            report.plot(report.latest(cells), plot)
        except ImportError as error:
            raise click.UsageError("--plot needs matplotlib: pip install 'suricate[plot]'") from error


def print_list(names: tuple[str, ...]) -> None:
    """Print what is measured, what one repeat does, and which operations the backends bring themselves."""
    from rich.markup import escape
    from rich.table import Table

    from suricate.bench import builds, footprints, operations, report, schemes, traversals
    from suricate.cli import console as make_console
    from suricate.plugins import backends

    table = Table("workload", "one repeat", title="workloads", title_justify="left")
    kinds: list[type[Task]] = [builds.Build, builds.Growth]
    kinds += [*operations.OPERATIONS, operations.Churn, operations.Memory]
    kinds += [traversals.Scratch, traversals.Current]
    kinds += [traversals.Repair, traversals.Stream, traversals.Window, traversals.Reduce, traversals.Propagate]
    kinds += [schemes.Pull, schemes.Push, footprints.Footprint]
    for kind in kinds:
        table.add_row(kind.workload, escape(kind.does))
    console = make_console()
    console.print(table)
    console.print(report.capabilities(backends()[name] for name in names))
    knobs = Table("backend", "knob", "values of the sweep", title="backend options", title_justify="left")
    for name in names:
        for knob, values in backends()[name].knobs.items():
            knobs.add_row(name, knob, ", ".join(map(str, values)))
    if knobs.row_count:
        console.print(knobs)
