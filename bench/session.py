"""One run of the benchmark: time the tasks with a progress display, write the rows, print the tables."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from suricate.base.progress import working
from suricate.bench.inputs import Input
from suricate.bench.machine.bandwidth import copy_bandwidth
from suricate.bench.machine.environment import environment
from suricate.bench.machine.sources import identities
from suricate.bench.reports import comparison, crossover, dynamic, maps, tables, text
from suricate.bench.reports.results import ResultsFile, Row, grid, latest_of_files, new_run, to_line
from suricate.bench.runner import Limits, Task, measure
from suricate.bench.suites import Selection
from suricate.bench.workloads.references import LIBRARIES
from suricate.cli.grids import Grid
from suricate.cli.terminal import MARKUPS, grid_of, show, show_rich

Rows = list[dict[str, Any]]
STYLES = {"FAIL": "bold red", "ERROR": "bold red"}


def run(
    tasks: list[tuple[str, Task]],
    inputs: Sequence[Input],
    selection: Selection,
    limits: Limits,
    results: ResultsFile,
    console: Console,
    table_format: str = "table",
    *,
    brief: bool = False,
) -> bool:
    """Run ``(graph name, task)`` pairs one after the other; return whether a row failed. Empties ``tasks`` in place.

    Args:
        tasks: graph names and tasks.
        inputs: the graphs, described in the header of the results.
        selection: what was chosen, written to the header.
        limits: how often a task is repeated.
        results: the file to which the header and the rows are appended; it is closed at the end.
        console: where progress and rows are printed, and the final tables if ``table_format`` is "table".
        table_format: format of the final tables; in any other than "table" :func:`grids_of` is printed to stdout.
        brief: whether to print an overview in place of rows and tables, and of rows only those that failed.
    """
    run_id = new_run()
    peak = copy_bandwidth(selection.device) if selection.device.is_cuda else None
    found = [each for _, task in tasks for each in identities(task.backend, task.algorithm).values()]
    brought = {each["distribution"]: each["version"] for each in found if each["version"]}
    described = [item.describe() for item in inputs]
    header = environment(run_id, selection.device, selection.seed, described, peak, brought)
    asked = {
        "options": selection.options, "checks": selection.checks, "hints": selection.hints,
        "scenario": selection.scenario, "limits": asdict(limits),
    }  # fmt: skip
    results.append({**header, **asked})
    if not brief:
        console.print(text.environments([header]), markup=False)
        console.print(text.heading(), style="bold", markup=False, soft_wrap=True)
    with working("measuring") as progress:
        count, done = len(tasks), 0
        shown: list[str] = []

        def starting(task: Task) -> None:
            parts = (text.label(task.backend), task.workload, task.algorithm or "", task.detail)
            progress.what = f"{done + 1} of {count}: {' '.join(part for part in parts if part)}"

        def finished(row: Row) -> None:
            nonlocal done
            results.append(to_line(row))
            if shown[-1:] != [row.graph] and len(inputs) > 1:
                shown.append(row.graph)
                console.print(row.graph, style="bold", markup=False)
            if row.status in (STYLES if brief else ("ok", *STYLES)):
                console.print(text.line(to_line(row)), style=STYLES.get(row.status), markup=False, soft_wrap=True)
            done += 1
            progress(done, count)

        rows = run_tasks(tasks, limits, run_id, peak=peak, starting=starting, finished=finished)
    results.close()
    lines = [to_line(row) for row in rows]
    if table_format != "table":
        show(table_format, grids_of(lines, table_format))
    elif brief:
        console.print("\n".join(comparison.overview(lines)), markup=False, soft_wrap=True)
    else:
        print_tables(console, lines)
    failed = [row for row in rows if row.status in ("FAIL", "ERROR")]
    for reason, count in Counter(row.reason for row in rows if row.status == "skip").items():
        console.print(f"{count} rows left out: {reason}", markup=False, soft_wrap=True)
    checked = sum(row.verified is not None for row in rows)
    console.print(
        f"{len(rows)} rows, {checked} verified, {len(failed)} failed; written to {results.path}", markup=False
    )
    return bool(failed)


def run_tasks(
    tasks: list[tuple[str, Task]],
    limits: Limits,
    run_id: str,
    *,
    peak: float | None = None,
    starting: Callable[[Task], None] = lambda task: None,
    finished: Callable[[Row], None] = lambda row: None,
) -> list[Row]:
    """Measure ``(graph name, task)`` pairs one after the other; return the rows. Empties ``tasks`` in place.

    ``run_id`` is written to each row; ``peak`` is the measured memory bandwidth in bytes per second. ``starting(task)``
    is called before each task, ``finished(row)`` after it. Each task is removed from ``tasks`` when it starts, so that
    the graphs of a fixture are freed after the last task that uses them.
    """
    rows = []
    gc.collect()
    gc.freeze()  # what is there by now stays: the collections between tasks need not look at it
    while tasks:
        graph, task = tasks.pop(0)
        starting(task)
        found = measure(task, limits)
        row = Row.of(run_id, graph, task, found, None if task.backend in LIBRARIES else peak)
        finished(row)
        rows.append(row)
    return rows


def report(
    files: Sequence[Path], outputs: dict[str, Path | None], console: Console, table_format: str = "table"
) -> None:
    """Print the tables of the results ``files``, and write the reports in ``outputs``: a path (or None) by kind.

    Kinds are: ``plot``: pictures; ``html``: a page with tables and pictures; ``page``: the crossover map as Markdown
    with pictures; ``save_map``: the data of ``suricate advise``. Tables are printed to ``console``; if ``table_format``
    is not ``"table"``, the rows to stdout.

    Raises:
        ValueError: a line of a file is neither a header nor a row, or there is nothing to draw.
        OSError: a file cannot be written.
        ImportError: pictures were requested without matplotlib.
    """
    headers, rows = latest_of_files(files)
    if table_format == "table":
        _print_report(console, headers, rows)
    else:
        show(table_format, grids_of(rows, table_format))
    for kind, path in outputs.items():
        for file in _WRITERS[kind](path, headers, rows) if path else ():
            console.print(f"written to {file}", markup=False)


def _write_plots(path: Path, headers: Rows, rows: Rows) -> list[Path]:
    from suricate.bench.reports.plot import plot

    files = plot(rows, path, maps.machines(headers), _peaks(headers))
    if not files:
        raise ValueError(f"{path} is not written: no operation was measured with batches of several sizes")
    return files


def _write_html(path: Path, headers: Rows, rows: Rows) -> list[Path]:
    from suricate.bench.reports import html
    from suricate.bench.reports.plot import pictures

    names = text.backends_of(rows)
    titles = maps.machines(headers)
    made = {**maps.choices(rows, titles), **pictures(rows, titles, _peaks(headers))}
    html.write(path, text.environments(headers), names, map(grid_of, tables_of(rows)), made)
    return [path]


def _peaks(headers: Rows) -> dict[str, float]:
    """Return the measured memory bandwidth, in bytes per second, by run id; runs without a measurement are left out."""
    return {header["run"]: header["peak_bytes_per_s"] for header in headers if header.get("peak_bytes_per_s")}


def _write_map(path: Path, headers: Rows, rows: Rows) -> list[Path]:
    maps.save(path, headers, rows)
    return [path]


_WRITERS: dict[str, Callable[[Path, Rows, Rows], list[Path]]] = {
    "plot": _write_plots, "html": _write_html, "page": maps.write_page, "save_map": _write_map,
}  # fmt: skip


def _print_report(console: Console, headers: list[dict[str, Any]], rows: list[dict[str, Any]]) -> None:
    console.print(text.environments(headers), markup=False)
    print_tables(console, rows)


def print_tables(console: Console, rows: list[dict[str, Any]]) -> None:
    """Print every kind of table for which ``rows`` have measurements."""
    for table in tables_of(rows):
        show_rich(console, table)


def grids_of(rows: Rows, table_format: str) -> list[Grid]:
    """Return what formats other than "table" print: in a markup the same tables, else one of all rows, in full."""
    return [grid_of(table) for table in tables_of(rows)] if table_format in MARKUPS else [grid(rows)]


def tables_of(rows: list[dict[str, Any]]) -> list[Table]:
    """Return every kind of table for which ``rows`` have measurements."""
    compared = [row for row in rows if row.get("suite") not in tables.SUITES]
    makers = comparison.against, comparison.matrix, comparison.ratios, dynamic.of
    shares = comparison.bandwidths(compared)
    return [
        *chain(*(make(compared) for make in makers), tables.of(rows)),
        *crossover.of(rows),
        *([] if shares is None else [shares]),
    ]
