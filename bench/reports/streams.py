"""Tables and pictures of the suite on streams: slides, the curve, whole jobs, memory over time.

``rows`` are rows of results files, as dicts. Pictures are matplotlib figures.
"""

from __future__ import annotations

from typing import Any

from rich.table import Table

from suricate.bench.reports.results import what
from suricate.bench.reports.text import backends_of, label, new_table, rate, seconds
from suricate.bench.streams.curve import CURVE
from suricate.bench.streams.slides import CURRENT, SCRATCH
from suricate.bench.workloads.references import IGRAPH, SCIPY

SLIDES, LONG = ("slide", "slide of a job"), ("long job", "long job made on the device")
LINES = {CURRENT: ("kept current", "C0"), SCRATCH: ("from scratch", "C1"), SCIPY: ("SciPy, built from scratch", "C2"),
         IGRAPH: ("igraph, built from scratch", "C3")}  # fmt: skip
HELD = {
    "used": "in use by the graph",
    "allocated": "allocated by graph and job",
    "process": "of the process",
    "device": "taken from the device",
}
Rows = list[dict[str, Any]]


def of(rows: Rows) -> list[Table]:
    """Return all tables of this module for which ``rows``, those of the suite on streams, have measurements."""
    whole = [row for row in rows if row["workload"] not in (*SLIDES, CURVE, *LONG)]
    return [*slides(rows), *curves(rows), *jobs(whole), *memory([row for row in rows if row["workload"] in LONG])]


def slides(rows: Rows) -> list[Table]:
    """Return a table per graph and device: median, 99 % and 99.9 % of the times of slides, and rates, by backend."""
    tables = []
    for (graph, device), group in _groups([row for row in rows if row["workload"] in SLIDES], "graph", "device"):
        columns = backends_of(group)
        title = f"{graph} on {device}: slides, 50 / 99 / 99.9 %, and events per second"
        table = new_table(title, "workload", ["events", "share", *map(label, columns)])
        lines: dict[tuple[str, int], dict[str, Any]] = {}
        for row in group:
            lines.setdefault((what(row), row["batch"]), {})[row["backend"]] = row
        for (name, batch), found in lines.items():
            share = next(iter(found.values()))["extra"]["share"]
            entries = (times(found[backend]) if backend in found else "" for backend in columns)
            table.add_row(name, f"{batch:,}", f"{100 * share:.3g} %", *entries)
        tables.append(table)
    return tables


def times(row: dict[str, Any]) -> str:
    """Return a text with median, 99th and 99.9th percentile of a row's times ("-" if unknown), and its rate."""
    known = (row.get(name) for name in ("median_s", "p99_s", "p999_s"))
    return f"{' / '.join('-' if value is None else seconds(value) for value in known)}, {rate(row['edges_per_s'])}"


def curves(rows: Rows) -> list[Table]:
    """Return a table per graph, device and algorithm: milliseconds per slide, by the share of the edges that change."""
    tables = []
    for (graph, algorithm, device), lines in curves_of(rows).items():
        table = new_table(f"{graph} on {device}: {algorithm}, ms per slide", "share of the edges", [
            LINES[name][0] for name in LINES if name in lines
        ])  # fmt: skip
        shares = sorted({share for name in (CURRENT, SCRATCH) for share, _ in lines.get(name, ())})
        for share in shares:
            entries = []
            for name in LINES:
                if name in lines:
                    found = dict(lines[name]) if name in (CURRENT, SCRATCH) else {share: lines[name][0][1]}
                    entries.append(f"{found[share]:.3g}" if share in found else "")
            table.add_row(f"{100 * share:.3g} %", *entries)
        tables.append(table)
    return tables


def curves_of(rows: Rows) -> dict[tuple[str, str, str], dict[str, list[tuple[float, float]]]]:
    """Return the points of the curve, by (graph, algorithm, device), then by the name of a line.

    A point is (share of the edges that a slide changes, ms per slide). SciPy and igraph have one each, which is in the
    curves of all devices.
    """
    found: dict[tuple[str, str, str], dict[str, list[tuple[float, float]]]] = {}
    good = [row for row in rows if row["workload"] == CURVE and row["status"] == "ok"]
    own = [row for row in good if row["backend"] not in (SCIPY, IGRAPH)]
    for row in own:
        place, name = (row["graph"], row["algorithm"], row["device"]), row["detail"].partition(",")[0]
        found.setdefault(place, {}).setdefault(name, []).append((row["extra"]["share"], 1000 * row["median_s"]))
    for row in good:
        for place in found:
            if row["backend"] in (SCIPY, IGRAPH) and place[:2] == (row["graph"], row["algorithm"]):
                found[place].setdefault(row["backend"], []).append((row["extra"]["share"], 1000 * row["median_s"]))
    return {place: {name: sorted(points) for name, points in lines.items()} for place, lines in found.items()}


def picture(rows: Rows) -> Any:
    """Return a figure of the curves: a row of panels per graph and device, a panel per algorithm.

    None: ``rows`` have no curve.
    """
    found = curves_of(rows)
    if not found:
        return None
    from matplotlib.figure import Figure

    runs = list(dict.fromkeys((graph, device) for graph, _, device in found))
    algorithms = list(dict.fromkeys(algorithm for _, algorithm, _ in found))
    figure = Figure(figsize=(3.6 * len(algorithms), 2.9 * len(runs) + 0.5), layout="constrained")
    panels = figure.subplots(len(runs), len(algorithms), squeeze=False)
    shown: dict[str, Any] = {}
    for i, (graph, device) in enumerate(runs):
        for k, algorithm in enumerate(algorithms):
            axes, lines = panels[i][k], found.get((graph, algorithm, device), {})
            axes.set(xscale="log", yscale="log", xlabel="share of the edges that enter, %", ylabel="ms per slide")
            axes.set_title(f"{algorithm}, {graph} on {device}", fontsize=9)
            for name, points in lines.items():
                words, colour = LINES[name]
                if name in (SCIPY, IGRAPH):
                    shown[words] = axes.axhline(points[0][1], color=colour, linestyle="--", linewidth=1)
                else:
                    share, ms = zip(*points, strict=True)
                    (shown[words],) = axes.plot(
                        [100 * each for each in share], ms, marker="o", markersize=3, color=colour
                    )
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=4)
    return figure


def jobs(rows: Rows) -> list[Table]:
    """Return a table of rates and times of the tasks on whole files and on a job's own cost; [] without ``rows``."""
    if not rows:
        return []
    columns = "graph", "device", "events per slide", "rate", "of the processor", "slides, 50 / 99 %"
    table = new_table("jobs", "workload", [*columns, "ring, ns per event", "job / batch", "rest of the job"])
    for row in rows:
        extra = row["extra"]
        slide = " / ".join(seconds(extra[f"slide_{name}_s"]) for name in ("p50", "p99"))
        table.add_row(
            what(row), row["graph"], row["device"], f"{row['batch']:,}", rate(row["edges_per_s"]),
            rate(extra.get("cpu_events_per_s")), slide,
            f"{extra['ring_ns_per_event']:.0f}" if "ring_ns_per_event" in extra else "",
            f"{seconds(extra['job_s'])} / {seconds(extra['batch_s'])}" if "job_s" in extra else "",
            f"{100 * extra['rest_share']:.1f} %" if "rest_share" in extra else "",
        )  # fmt: skip
    return [table]


def memory(rows: Rows) -> list[Table]:
    """Return a table per row of a long job: its rate and its bytes over time."""
    tables = []
    for row in rows:
        extra = row["extra"]
        spread = f"second half within {100 * extra['spread']:.1f} %"
        if "process_spread" in extra:  # early files have none
            spread += f", the process {100 * extra['process_spread']:.1f} %"
        columns = ["rate", *(f"MiB {words}" for words in HELD.values())]
        table = new_table(f"{_title(row)}: {spread}", "events so far", columns)
        for moment in extra["moments"]:
            sizes = (f"{moment[name] / 2**20:.1f}" if moment.get(name) else "" for name in HELD)
            table.add_row(f"{moment['edges']:,}", rate(moment["updates_per_s"]), *sizes)
        tables.append(table)
    return tables


def memory_picture(rows: Rows) -> Any:
    """Return a figure of the bytes of long jobs over the number of events, a panel per job; None if there is none."""
    found = [row for row in rows if row["workload"] in LONG and row["status"] == "ok"]
    if not found:
        return None
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3 * len(found)), layout="constrained")
    for axes, row in zip(figure.subplots(len(found), squeeze=False).flat, found, strict=True):
        moments = row["extra"]["moments"]
        axes.set(xlabel="events", ylabel="MiB")
        axes.set_title(_title(row), fontsize=9)
        for name, words in HELD.items():
            if all(moment.get(name) for moment in moments):
                sizes = [moment[name] / 2**20 for moment in moments]
                axes.plot([moment["edges"] for moment in moments], sizes, label=words)
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8)
    return figure


def _title(row: dict[str, Any]) -> str:
    extra = row["extra"]
    return f"long job, {extra['events']:,} events through a window of {extra['window']:,} on {row['device']}"


def _groups(rows: Rows, *names: str) -> list[tuple[tuple[Any, ...], Rows]]:
    found: dict[tuple[Any, ...], Rows] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return [*found.items()]
