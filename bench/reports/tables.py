"""Tables on one aspect each: latencies, scenarios, backend options, bytes, growth, windows.

``rows`` are rows of results files, as dicts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.table import Table

from suricate.bench import constants
from suricate.bench.reports import scaling, streams
from suricate.bench.reports.results import what
from suricate.bench.reports.text import backends_of, count, label, new_table, rate, seconds, time_and_rate

SUITES = (
    "sweep",
    "memory",
    "crossover",
    "window",
    "ablations",
    "stream",
    "scaling",
)  #: suites whose rows have tables of their own only
OPERATIONS = ("insert", "delete", "query")
Rows = list[dict[str, Any]]


def of(rows: Rows) -> list[Table]:
    """Return all tables of this module for which ``rows`` have measurements; only rows of status "ok" count."""
    good = [row for row in rows if row["status"] == "ok"]
    groups: dict[str, Rows] = {}
    for row in good:
        groups.setdefault(row.get("suite", ""), []).append(row)
    plain = [row for row in good if row.get("suite") not in SUITES]
    makers: tuple[tuple[Callable[[Rows], list[Table]], Rows], ...] = (
        (latencies, plain), (storage, plain), (growth, plain),
        (sweeps, groups.get("sweep", [])), (footprints, groups.get("memory", [])), (windows, groups.get("window", [])),
        (ablations, groups.get("ablations", [])), (streams.of, groups.get("stream", [])),
        (scaling.of, groups.get("scaling", [])),
    )  # fmt: skip
    return [table for make, some in makers for table in make(some)]


def latencies(rows: Rows) -> list[Table]:
    """Return tables of the microseconds of small batches: median, 10th and 90th percentile, and the 99th if known."""
    small = [row for row in rows if row["batch"] and row["batch"] <= constants.SMALL_BATCH and row.get("p10_s")]
    small = [row for row in small if row["workload"] in OPERATIONS]

    def entry(row: dict[str, Any], prefix: str = "") -> str:
        median, low, high = (1e6 * row[f"{prefix}{name}_s"] for name in ("median", "p10", "p90"))
        return f"{median:.1f} ({low:.1f} - {high:.1f})"

    def both(row: dict[str, Any]) -> str:
        tail = f", p99 {1e6 * row['p99_s']:.1f}" if row.get("p99_s") else ""
        quiet = f"; quiet core {entry(row, 'quiet_core_')}" if row.get("quiet_core_median_s") else ""
        return entry(row) + tail + quiet

    return _by_backend(small, "microseconds per batch: median (10th - 90th percentile)", both)


def storage(rows: Rows) -> list[Table]:
    """Return tables of the bytes per edge; operations on a fresh graph are left out, since they restore the graph."""
    kept = [row for row in rows if row["workload"] not in OPERATIONS or row.get("scenario", "fresh") != "fresh"]
    sized = [row for row in kept if "bytes_per_edge" in row["extra"]]
    return _by_backend(sized, "bytes per edge: used of allocated (share of the largest part that is used)", size)


def growth(rows: Rows) -> list[Table]:
    """Return tables of the workloads that fill a graph: rate of the whole, seconds of the median and slowest batch."""
    grown = [row for row in rows if "slowest_batch_s" in row["extra"]]

    def entry(row: dict[str, Any]) -> str:
        extra = row["extra"]
        batches = f"{seconds(extra['median_batch_s'])} / {seconds(extra['slowest_batch_s'])}"
        return f"{rate(extra.get('edges_per_s') or row['edges_per_s'])}; {batches}"

    return _by_backend(grown, "growth from an empty graph: rate of the whole; median / slowest batch", entry)


def sweeps(rows: Rows) -> list[Table]:
    """Return a table per graph and backend: rates and bytes per edge, a line per setting of the backend's options."""
    tables = []
    for graph, device, backend in _distinct(rows, "graph", "device", "backend"):
        group = [row for row in rows if (row["graph"], row["device"], row["backend"]) == (graph, device, backend)]
        sizes = {row["batch"] for row in group if row["batch"]}
        group = [{**row, "batch": None} for row in group] if len(sizes) == 1 else group
        rates = list(dict.fromkeys(_column(row) for row in group if row["median_s"]))
        title = f"{label(backend)}, {graph} on {device}: rates and memory by option"
        title += f", batches of {sizes.pop():,}" if len(sizes) == 1 else ""
        table = new_table(title, "option", [*rates, "B/edge, allocated", "slots in use"])
        for setting in dict.fromkeys(row["setting"] for row in group):
            some = [row for row in group if row["setting"] == setting]
            found = {_column(row): rate(row["edges_per_s"]) for row in some if row["median_s"]}
            table.add_row(setting, *(found.get(name, "-") for name in rates), *_memory_of(some))
        tables.append(table)
    return tables


def footprints(rows: Rows) -> list[Table]:
    """Return tables of the bytes per edge, in total and by part, of each graph, backend and size of storage units."""
    tables = []
    for device in dict.fromkeys(row["device"] for row in rows):
        group = [row for row in rows if row["device"] == device]
        size, parts = _footprint_tables(device)
        for row in group:
            extra, name = row["extra"], f"{label(row['backend'])} {row['detail']}"
            degrees = f"{extra['mean_degree']:.1f} / {extra['max_degree']:,}"
            counts = f"{extra['vertices']:,} / {extra['edges']:,}", degrees
            churned = extra["churned"]
            total = sum(allocated for _, allocated in extra["parts"].values()) / 2**20
            size.add_row(row["graph"], *counts, name, _both(extra), f"{total:.1f}", _both(churned))
            parts.add_row(row["graph"], name, _parts(extra), _parts(churned))
        tables += [size, parts]
    return tables


def ablations(rows: Rows) -> list[Table]:
    """Return a table per graph and backend: the time of each workload, a column per setting of the on-off options."""
    tables = []
    for graph, device, backend in _distinct(rows, "graph", "device", "backend"):
        group = [row for row in rows if (row["graph"], row["device"], row["backend"]) == (graph, device, backend)]
        columns = list(dict.fromkeys(row["setting"] for row in group))
        title = f"{label(backend)}, {graph} on {device}: median time (edges per second) by option"
        table = new_table(title, "workload", ["batch", *columns])
        found = {(_without_setting(row), row["batch"], row["setting"]): time_and_rate(row) for row in group}
        for name, batch in dict.fromkeys(place[:2] for place in found):
            table.add_row(name, count(batch), *(found.get((name, batch, column), "-") for column in columns))
        tables.append(table)
    return tables


def _without_setting(row: dict[str, Any]) -> str:
    return what(row).removesuffix(row["setting"]).rstrip(", ")


def windows(rows: Rows) -> list[Table]:
    """Return a table per graph and slide: rate and bytes over the length of the stream, a column per backend."""
    tables = []
    for graph, device, batch in _distinct(rows, "graph", "device", "batch"):
        group = [row for row in rows if (row["graph"], row["device"], row["batch"]) == (graph, device, batch)]
        columns, window = backends_of(group), group[0]["extra"]["window"]
        title = f"{graph} on {device}, {batch:,} edges in and out of a window of {window:,}: rate, bytes per edge"
        table = new_table(title, "edges so far", map(label, columns))
        found = {row["backend"]: row["extra"]["moments"] for row in group}
        for number, moment in enumerate(group[0]["extra"]["moments"]):
            moments = ((found[backend] + [None] * number)[number] for backend in columns)
            table.add_row(f"{moment['edges']:,}", *("" if each is None else _moment(each, window) for each in moments))
        tables.append(table)
    return tables


def _moment(moment: dict[str, Any], window: int) -> str:
    sizes = f"{moment['used'] / window:.1f} of {moment['allocated'] / window:.1f}"
    return f"{rate(moment['updates_per_s'])} {sizes}".strip()


def size(row: dict[str, Any]) -> str:
    """Return a row's bytes per edge, used and allocated, as text.

    If known, the used share of the store's largest part and the bytes per edge at the peak of an update follow.
    """
    extra = row["extra"]
    fill = f" ({100 * extra['fill']:.0f} %)" if "fill" in extra else ""
    allocated = extra.get("bytes_per_edge_allocated")
    peak = f", {extra['peak_bytes_per_edge']:.1f} at the peak" if "peak_bytes_per_edge" in extra else ""
    return f"{extra['bytes_per_edge']:.1f} of {'?' if allocated is None else f'{allocated:.1f}'}{fill}{peak}"


# -- pieces ------------------------------------------------------------------------------------------------------------


def _by_backend(rows: Rows, title: str, entry: Callable[[dict[str, Any]], str]) -> list[Table]:
    """Return a table per graph and device: a line per workload and batch size, a column per backend.

    ``title`` follows graph and device in the tables' titles; ``entry(row)`` returns the text for a row.
    """
    tables = []
    for graph, device in _distinct(rows, "graph", "device"):
        group = [row for row in rows if (row["graph"], row["device"]) == (graph, device)]
        columns = backends_of(group)
        table = new_table(f"{graph} on {device}: {title}", "workload", ["batch", *map(label, columns)])
        lines: dict[tuple[str, int | None], dict[str, str]] = {}
        for row in group:
            lines.setdefault((what(row), row["batch"]), {})[row["backend"]] = entry(row)
        for (name, batch), entries in lines.items():
            table.add_row(name, count(batch), *(entries.get(backend, "") for backend in columns))
        tables.append(table)
    return tables


def _distinct(rows: Rows, *names: str) -> list[tuple]:
    return list(dict.fromkeys(tuple(row[name] for name in names) for row in rows))


def _column(row: dict[str, Any]) -> str:
    return row["workload"] if row["batch"] is None else f"{row['workload']} {row['batch']:,}"


def _memory_of(rows: Rows) -> tuple[str, str]:
    """Return two texts: bytes per edge (used, allocated), and the share of the used bytes that ids and weights take.

    They come from the row of the workload "memory"; both are "-" if ``rows`` has none.
    """
    for row in rows:
        if row["workload"] == "memory":
            extra = row["extra"]
            bytes_per_edge = f"{extra['bytes_per_edge']:.1f}, {extra['bytes_per_edge_allocated']:.1f}"
            return bytes_per_edge, f"{extra['utilisation']:.0%}"
    return "-", "-"


def _footprint_tables(device: str) -> tuple[Table, Table]:
    title = f"bytes per edge on {device}, used of allocated, as built and after churn"
    counts = ["vertices / edges", "mean / largest degree"]
    size = new_table(title, "graph", [*counts, "backend", "as built", "MiB", "churned"])
    parts = new_table(f"bytes per edge by part on {device}: used/allocated", "graph", [])
    for name in ("backend", "parts", "parts, churned"):
        parts.add_column(name, overflow="fold")
    return size, parts


def _both(sizes: dict[str, Any]) -> str:
    return f"{sizes['bytes_per_edge']:.2f} of {sizes['bytes_per_edge_allocated']:.2f}"


def _parts(sizes: dict[str, Any]) -> str:
    """Return as text, for each part of a store, its name and the bytes per edge used/allocated.

    Parts with less than 0.01 bytes per edge allocated are left out. ``sizes``: the numbers in ``extra`` of a row.
    """
    total = sum(allocated for _, allocated in sizes["parts"].values())
    scale = sizes["bytes_per_edge_allocated"] / total if total else 0.0
    shown = {name: (used * scale, allocated * scale) for name, (used, allocated) in sizes["parts"].items()}
    return ", ".join(f"{name} {used:.2f}/{all_:.2f}" for name, (used, all_) in shown.items() if all_ >= 0.01)
