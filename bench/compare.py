"""The command ``suricate compare``: which measurements of two sides differ, as a paper or a pull request needs it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from suricate.bench import constants
from suricate.cli.grids import Grid
from suricate.cli.sources import GRAPH_FILE
from suricate.cli.terminal import show, table_format

if TYPE_CHECKING:
    from suricate.bench.reports.sides import Difference, Side


@click.command()
@click.argument("a", type=GRAPH_FILE)
@click.argument("b", type=GRAPH_FILE)
@click.option(
    "--across", multiple=True, type=click.Choice(constants.ACROSS),
    help="The sides differ in this: compare them all the same; repeatable.",
)  # fmt: skip
@click.option("--workload", "workloads", multiple=True, help="Only workloads whose name contains this; repeatable.")
@table_format
def compare(a: Path, b: Path, across: tuple[str, ...], workloads: tuple[str, ...], table_format: str) -> None:
    """Compare the results of processes A with those of B.

    A and B are results files of `suricate bench`, each with the runs of several processes; also folders of such files,
    or patterns in quotes. A ratio is the time of B over that of A, with an interval of 95 %. With at least 5 processes
    on each side, by turns, a difference is reported where Mann and Whitney's test has p < 0.01, corrected by Holm for
    the number of rows, and the ratio is beyond 10 %.
    """
    from suricate.bench.commands import usage_errors
    from suricate.bench.reports import sides

    with usage_errors():
        one, other = (
            chosen(sides.side_of(name, files_of(path), across), workloads)
            for name, path in {"A": a, "B": b}.items()
        )  # fmt: skip
        if problem := sides.refusal(one, other, across):
            raise ValueError(f"{a} and {b} are not compared: {problem}")
        found = sides.compared(one, other)
    facts = {**about(one, a), **about(other, b), **told(one, other, found)}
    show(table_format, [Grid("rows", sides.Difference._fields, found)], facts)


def files_of(path: Path) -> list[Path]:
    """Return the results files that ``path`` names: itself, those of a folder, or those that match a pattern."""
    if path.is_dir():
        return sorted(path.glob("*.jsonl"))
    return [path] if path.exists() else sorted(Path(path.anchor or ".").glob(str(path.relative_to(path.anchor))))


def chosen(side: Side, parts: Iterable[str]) -> Side:
    """Return ``side`` with the workloads whose names contain one of ``parts``; with all if there are none."""
    from suricate.bench.reports.sides import PLACE

    at, parts = PLACE.index("workload"), tuple(parts) or ("",)
    held = [
        {place: each for place, each in process.seconds.items() if any(part in place[at] for part in parts)}
        for process in side.processes
    ]
    kept = [process._replace(seconds=seconds) for process, seconds in zip(side.processes, held, strict=True)]
    return side._replace(processes=kept)


def about(side: Side, path: Path) -> dict[str, Any]:
    """Return what is said of a side, by its name: files, processes, machine, commit."""
    header = side.processes[-1].header
    git, gpu = header.get("git") or {}, header.get("gpu") or {}
    commit = f", commit {git['commit'][:10]}{' (dirty)' if git['dirty'] else ''}" if git else ""
    machine = gpu.get("name") or f"{header['cpu']}, {header['cores']} cores"
    return {side.name: f"{path}, {len(side.processes)} processes on {machine}{commit}"}


def told(a: Side, b: Side, found: list[Difference]) -> dict[str, Any]:
    """Return in words what was tested, what was found, and what is left out."""
    from suricate.bench.reports.sides import processes_needed

    tested = [row for row in found if row.p is not None]
    facts: dict[str, Any] = {"ratio": "time of B / time of A"}
    if not tested:
        few = min(len(a.processes), len(b.processes)) < constants.LEAST_PROCESSES
        reason = f"a side has less than {constants.LEAST_PROCESSES} processes" if few else "the processes took no turns"
        facts["tested"] = f"nothing: {reason}"
    else:
        needed, least = processes_needed(len(tested)), min(min(row[5:7]) for row in tested)
        facts["tested"] = f"{len(tested)} rows: Mann-Whitney, two-sided, corrected by Holm, p < {constants.ALPHA}"
        facts["differences"] = sum(row.verdict in ("faster", "slower") for row in tested)
        facts["processes needed"] = f"{needed} per side for {len(tested)} rows, here are {least}" + (
            "" if least >= needed else ": not every difference can show, choose rows (--workload) or run more processes"
        )
    failed = sum(row["status"] in ("FAIL", "ERROR") for side in (a, b) for row in side.rows)
    alone = len(a.places().keys() ^ b.places().keys())
    return {**facts, **({"failed rows": failed} if failed else {}), **({"rows of one side": alone} if alone else {})}
