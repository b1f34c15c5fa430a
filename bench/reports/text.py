"""Texts for results: numbers with units, one line per row, names of backends, the environment of a run.

Rows and headers are those of results files, as dicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rich.table import Table

from suricate.bench import constants
from suricate.bench.reports.results import what
from suricate.bench.workloads.references import DUMMY, LIBRARIES

LABELS = {**{name: f"{name} (reference, CPU)" for name in LIBRARIES}, DUMMY: "dummy (does nothing)"}
WIDTHS = (22, 44, 9, 9, 18, 11, 7, 9, 0)
TITLES = ("backend", "workload", "batch", "median", "10th - 90th pct", "rate", "noise", "compile", "verified against")


def heading() -> str:
    """Return the heading above the lines of text that :func:`line` makes of rows: the names of their columns."""
    return _columns(TITLES)


def line(row: dict[str, Any]) -> str:
    """Return one line of text for a row; if its status is not "ok", it shows status and reason in place of times."""
    start = (label(row["backend"]), what(row), count(row["batch"]))
    told = facts(row)
    if row["status"] != "ok":
        return _columns((*start, row["status"], row["reason"]), (*WIDTHS[:4], 0))
    if row["median_s"] is None:
        return _columns((*start, told), (*WIDTHS[:3], 0))
    verified = row["verified"] or "reference: not verified"
    return _columns(
        (
            *start, seconds(row["median_s"]), _percentiles(row), rate(row["edges_per_s"]), noise(row["noise"]),
            seconds(row["compile_s"]), f"{verified}; {told}" if told else verified,
        )
    )  # fmt: skip


def label(backend: str) -> str:
    """Return the name to show for ``backend``, the name of a backend, a reference library or the dummy."""
    return LABELS.get(backend, backend)


def backends_of(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Return the names of the backends in ``rows`` in order of appearance, other libraries and the dummy last."""
    return sorted(dict.fromkeys(row["backend"] for row in rows), key=lambda name: name in LABELS)


def facts(row: dict[str, Any]) -> str:
    """Return the numbers in ``extra`` of a row, and its time on a quiet core if there is one, as text."""
    extra = row["extra"]
    shown = [tell(extra[name]) for name, tell in FACTS.items() if isinstance(extra.get(name), int | float)]
    if row.get("quiet_core_median_s"):
        shown.append(f"on a quiet core {seconds(row['quiet_core_median_s'])}")
    return ", ".join(shown)


def count(value: int | None) -> str:
    """Return a number as text with thousands separators; "" for None."""
    return "" if value is None else f"{value:,}"


def seconds(value: float) -> str:
    """Return a duration in seconds as text, in s, ms or us."""
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if value * factor >= 1:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e6:.3g} us"


def rate(value: float | None) -> str:
    """Return a rate in edges per second as text, in G, M or k; "" for None or 0."""
    if not value:
        return ""
    for factor, unit in ((1e9, "G"), (1e6, "M")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}/s"
    return f"{value / 1e3:.3g} k/s"


def time_and_rate(row: dict[str, Any]) -> str:
    """Return the median time of a row as text, followed by its rate in brackets if it has one."""
    speed = rate(row["edges_per_s"])
    return f"{seconds(row['median_s'])}{f' ({speed})' if speed else ''}"


def noise(value: float) -> str:
    """Return the noise ``value``, a share of the median, as a text in percent; "!" is appended if it is high."""
    return f"{100 * value:.1f} %" + ("!" if value > constants.NOISY else "")


def new_table(title: str, first: str, columns: Iterable[str]) -> Table:
    """Return an empty table with a left column titled ``first``, and right-aligned ``columns``.

    Texts that are too wide are wrapped.
    """
    table = Table(title=title, title_justify="left", min_width=len(title))
    table.add_column(first, overflow="fold")
    for name in columns:
        table.add_column(name, justify="right", overflow="fold")
    return table


def environments(headers: Iterable[dict[str, Any]]) -> str:
    """Return a line of text per run: date, machine, software, commit and seed."""
    return "\n".join(_environment(header) for header in headers)


FACTS: dict[str, Callable[[Any], str]] = {  #: how the numbers of ``Row.extra`` are told
    "iterations": "{} iterations".format,
    "bytes_per_edge": "{:.1f} B/edge".format,
    "bytes_per_edge_allocated": "{:.1f} allocated".format,
    "fill": "{:.0%} full".format,
    "median_batch_s": lambda value: f"median batch {seconds(value)}",
    "peak_bytes_per_edge": "{:.1f} at the peak".format,
    "bytes_per_edge_after": "{:.1f} after".format,
    "cpu_p50_s": lambda value: f"processor time {seconds(value)}",
    "host_p50_s": lambda value: f"host {seconds(value)}",
    "host_p99_s": lambda value: f"99 %: {seconds(value)}",
    "host_p999_s": lambda value: f"99.9 %: {seconds(value)}",
    "cpu_p99_s": lambda value: f"99 %: {seconds(value)}",
    "cpu_p999_s": lambda value: f"99.9 %: {seconds(value)}",
    "calls": "{} calls".format,
    "files": "in {} files".format,
    "edges_per_s": rate,
    "updates_per_s": lambda value: f"{rate(value)} in and out",
    "error": "error {:.2e}".format,
    "speedup": "updating {:.3g}x as fast as computing from scratch (median)".format,
    "times_beside": "{:.2f} times as fast as the other by turns".format,
    "index_bytes_per_event": "index {:.1f} B/event".format,
    "record_bytes_per_event": "record {:.1f} B/event".format,
    "slowest_batch_s": lambda value: f"slowest batch {seconds(value)}",
}


def _percentiles(row: dict[str, Any]) -> str:
    if not row.get("p10_s"):  # early files have none
        return ""
    return f"{seconds(row['p10_s'])} - {seconds(row['p90_s'])}"


def _columns(parts: Iterable[str], widths: Iterable[int] = WIDTHS) -> str:
    return " ".join(f"{part:<{width}}" for part, width in zip(parts, widths, strict=True)).rstrip()


def _environment(header: dict[str, Any]) -> str:
    git = header["git"]
    commit = f"commit {git['commit'][:10]}{' (dirty)' if git['dirty'] else ''}" if git else "no checkout"
    gpu = header["gpu"]
    card = f"; {gpu['name']}, driver {gpu['driver']}, CuPy {gpu['cupy']}" if gpu else ""
    versions = ", ".join(f"{name} {version}" for name, version in header["versions"].items() if version)
    machine = f"{header['cpu']}, {header['cores']} cores{card}"
    return f"{header['run']}: {machine}; Python {header['python']}, {versions}; {commit}; seed {header['seed']}"
