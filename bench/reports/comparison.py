"""Tables that compare backends: times and rates, ratios, shares of the memory bandwidth.

``rows`` are rows of results files, as dicts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from rich.table import Table

from suricate.bench import constants
from suricate.bench.defaults import BASELINE
from suricate.bench.reports.results import what
from suricate.bench.reports.text import backends_of, count, label, new_table, seconds, time_and_rate
from suricate.bench.workloads.references import DUMMY, LIBRARIES, SCIPY
from suricate.cli.terminal import plain_table

Rows = list[dict[str, Any]]


def matrix(rows: Rows) -> list[Table]:
    """Return a table of times and rates per graph and device: a line per workload and batch size, a column per backend.

    Skipped rows are shown as "-"; lines of which all rows are skipped are left out.
    """
    tables = []
    for title, group in _groups(rows):
        columns = backends_of(group)
        table = _by_backend(f"{title}: median time (rate in edges per second)", columns)
        for (name, batch), found in _lines(group):
            if any(row["status"] != "skip" for row in found.values()):
                table.add_row(name, count(batch), *(_entry(found.get(backend)) for backend in columns))
        if table.row_count:
            tables.append(table)
    return tables


def ratios(rows: Rows) -> list[Table]:
    """Return a table per graph and device: how many times as fast each row is as two others, a column per backend.

    The two are the same row of the baseline backend (``defaults.BASELINE``) and of SciPy.
    """
    tables = []
    for title, group in _groups(rows):
        timed = [row for row in group if row["median_s"]]
        columns = [backend for backend in backends_of(timed) if backend not in (*LIBRARIES, DUMMY)]
        table = _by_backend(f"{title}: times as fast as {BASELINE} / as scipy", columns)
        for (name, batch), found in _lines(timed):
            if set(found) & set(columns) and {BASELINE, SCIPY} & set(found):
                table.add_row(name, count(batch), *(_ratio(found, backend) for backend in columns))
        if table.row_count:
            tables.append(table)
    return tables


def against(rows: Rows) -> list[Table]:
    """Return a table per graph and device of algorithms by turns with other libraries.

    A column is of a backend and a library. It shows both times, and how many times as fast the backend is.
    """
    tables = []
    for title, group in _groups([row for row in rows if "times_beside" in row["extra"] and "against" in row["extra"]]):
        columns = [*dict.fromkeys((row["backend"], row["extra"]["against"]) for row in group)]
        heads = [f"{backend} / {other}" for backend, other in columns]
        table = new_table(f"{title}: from scratch by turns, backend / library (times as fast)", "algorithm", heads)
        for name in dict.fromkeys(row["algorithm"] for row in group):
            found = {
                (row["backend"], row["extra"]["against"]): row["extra"] for row in group if row["algorithm"] == name
            }
            table.add_row(name, *(_turns(found.get(column)) for column in columns))
        tables.append(table)
    return tables


def _turns(extra: dict[str, Any] | None) -> str:
    if extra is None:
        return ""
    return f"{seconds(extra['ours_s'])} / {seconds(extra['beside_s'])} ({extra['times_beside']:.3g})"


def overview(rows: Rows) -> list[str]:
    """Return a text per graph and device: milliseconds by backend (lines) and workload; losing times have a star.

    A star is at an update of a result that takes longer than computing it from scratch, by the same backend or by
    SciPy, and at a computation from scratch that takes longer than SciPy's.
    """
    texts = []
    for title, group in _groups(rows):
        found = {(row["backend"], _column(row)): row for row in group if _column(row)}
        columns = [*dict.fromkeys(column for _, column in found)]
        lines = [
            [{SCIPY: "SciPy"}.get(backend, backend), *(_starred(found, backend, column) for column in columns)]
            for backend in backends_of(group)
        ]
        batches = [(row["batch"], "kept" if row["algorithm"] else "others") for row in found.values() if row["batch"]]
        edges = ", ".join(f"{count(size)} ({which})" for size, which in dict.fromkeys(batches))
        texts.append(f"{title}: ms (* loses); edges of a batch: {edges}\n{plain_table(['', *columns], lines)}")
    return texts


def _column(row: dict[str, Any]) -> str:
    """Return the column of a row in the overview; empty if it is not shown."""
    if row["algorithm"]:
        return f"{row['algorithm']} kept" if row["workload"] == "stream" else row["algorithm"]
    return row["workload"] if row["batch"] and row["workload"] != "stream" else ""


def _starred(found: dict[tuple[str, str], dict[str, Any]], backend: str, column: str) -> str:
    row = found.get((backend, column))
    if row is None or row["median_s"] is None:
        return "" if row is None else row["status"]
    scratch = column.removesuffix(" kept")
    others = [found.get(other) for other in ((backend, scratch), (SCIPY, scratch)) if other != (backend, column)]
    lost = row["algorithm"] and any(other and (other["median_s"] or math.inf) < row["median_s"] for other in others)
    return f"{1000 * row['median_s']:.3g}{'*' if lost else ''}"


def bandwidths(rows: Rows) -> Table | None:
    """Return a table of the share of the measured bandwidth that each row's least traffic needs, a line per row.

    Rows without that share are left out; None if no row has it.
    """
    shares = [row for row in rows if row["bandwidth_share"]]
    if not shares:
        return None
    title = "least memory traffic / time, against a device copy"
    table = new_table(title, "graph", ["backend", "workload", "GB/s", "share of peak"])
    for row in shares:
        share, speed = f"{100 * row['bandwidth_share']:.0f} %", f"{row['bytes_per_s'] / 1e9:.0f}"
        table.add_row(row["graph"], label(row["backend"]), what(row), speed, share)
    return table


def _groups(rows: Rows) -> Iterator[tuple[str, Rows]]:
    """Yield ``(title, rows)`` of each graph and device; those of other libraries to what their run measured."""
    devices: dict[str, str] = {row["run"]: row["device"] for row in rows if row["backend"] not in LIBRARIES}
    groups: dict[tuple[str, str], Rows] = {}
    for row in rows:
        device = row["device"]
        if row["backend"] in LIBRARIES and row["run"] in devices:
            device = devices[row["run"]]
        groups.setdefault((row["graph"], device), []).append(row)
    for (graph, device), group in groups.items():
        yield f"{graph} on {device}", group


def _lines(rows: Rows) -> Iterator[tuple[tuple[str, int | None], dict[str, dict[str, Any]]]]:
    """Yield ``((workload, batch size), {backend: row})`` for each line of a table."""
    lines: dict[tuple[str, int | None], dict[str, dict[str, Any]]] = {}
    for row in rows:
        lines.setdefault((what(row), row["batch"]), {})[row["backend"]] = row
    yield from lines.items()


def _by_backend(title: str, backends: list[str]) -> Table:
    return new_table(title, "workload", ["batch", *map(label, backends)])


def _entry(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    if row["status"] != "ok":
        return {"FAIL": "[bold red]FAIL[/]", "ERROR": "[bold red]ERROR[/]"}.get(row["status"], "-")
    if row["median_s"] is None:
        return f"{row['extra']['bytes_per_edge']:.1f} B/edge" if "bytes_per_edge" in row["extra"] else ""
    return time_and_rate(row) + (" !" if row["noise"] > constants.NOISY else "")


def _ratio(found: dict[str, dict[str, Any]], backend: str) -> str:
    if backend not in found:
        return ""
    own = found[backend]["median_s"]
    return " / ".join(f"{found[other]['median_s'] / own:.2f}" if other in found else "-" for other in (BASELINE, SCIPY))
