"""Tables (and a plot) of cells: a line per result as it comes, the matrix, rates, ratios."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from rich.table import Table

from suricate.bench import constants
from suricate.bench.reference import DUMMY, SCIPY

BASELINE = "csr_baseline"  #: the backend that ratios refer to
REFERENCE_LABEL = "scipy (reference, CPU)"

WIDTHS = (22, 44, 9, 9, 18, 11, 7, 9, 0)
TITLES = ("backend", "workload", "batch", "median", "10th - 90th pct", "rate", "noise", "compile", "verified against")


def heading() -> str:
    """Return the heading over the lines of :func:`line`."""
    return _columns(TITLES)


def line(cell: dict[str, Any]) -> str:
    """Return one line for a cell; a cell that failed shows its status and reason, and no time."""
    batch = "" if cell["batch"] is None else f"{cell['batch']:,}"
    start = (label(cell["backend"]), what(cell), batch)
    told = facts(cell["extra"])
    if cell["status"] != "ok":
        return _columns((*start, cell["status"], cell["reason"]), (*WIDTHS[:4], 0))
    if cell["median_s"] is None:
        return _columns((*start, told), (*WIDTHS[:3], 0))
    verified = cell["verified"] or "reference: not verified"
    return _columns(
        (
            *start, seconds(cell["median_s"]), _percentiles(cell), rate(cell["edges_per_s"]), noise(cell["noise"]),
            seconds(cell["compile_s"]), f"{verified}; {told}" if told else verified,
        )
    )  # fmt: skip


def matrix(cells: list[dict[str, Any]]) -> list[Table]:
    """Return a table per graph: a row per workload, algorithm and batch; a column per backend."""
    tables = []
    for graph, device in dict.fromkeys((cell["graph"], _group_device(cells, cell)) for cell in cells):
        group = [cell for cell in cells if cell["graph"] == graph and _group_device(cells, cell) == device]
        columns = backends_of(group)
        table = _table(f"{graph} on {device}: median time (rate in edges per second)", columns)
        for row in dict.fromkeys(_row(cell) for cell in group):
            found = {cell["backend"]: cell for cell in group if _row(cell) == row}
            batch = "" if row[1] is None else f"{row[1]:,}"
            table.add_row(row[0], batch, *(_entry(found.get(backend)) for backend in columns))
        tables.append(table)
    return tables


def ratios(cells: list[dict[str, Any]]) -> list[Table]:
    """Return a table per graph: how many times faster than the baseline, and than the reference, each cell is."""
    tables = []
    for graph, device in dict.fromkeys((cell["graph"], _group_device(cells, cell)) for cell in cells):
        group = [
            cell
            for cell in cells
            if cell["graph"] == graph and _group_device(cells, cell) == device and cell["median_s"]
        ]
        columns = [backend for backend in backends_of(group) if backend not in (SCIPY, DUMMY)]
        table = _table(f"{graph} on {device}: times as fast as {BASELINE} / as scipy", columns)
        for row in dict.fromkeys(_row(cell) for cell in group):
            found = {cell["backend"]: cell["median_s"] for cell in group if _row(cell) == row}
            if not set(found) & set(columns) or not {BASELINE, SCIPY} & set(found):
                continue
            entries = (_ratio(found, backend) for backend in columns)
            table.add_row(row[0], "" if row[1] is None else f"{row[1]:,}", *entries)
        if table.row_count:
            tables.append(table)
    return tables


def bandwidths(cells: list[dict[str, Any]]) -> Table | None:
    """Return a table of the achieved share of the measured peak bandwidth, or None if no cell has one."""
    shares = [cell for cell in cells if cell["bandwidth_share"]]
    if not shares:
        return None
    table = Table("graph", "backend", "workload", title="least memory traffic / time, against a device copy")
    table.add_column("GB/s", justify="right")
    table.add_column("share of peak", justify="right")
    for cell in shares:
        share, speed = f"{100 * cell['bandwidth_share']:.0f} %", f"{cell['bytes_per_s'] / 1e9:.0f}"
        table.add_row(cell["graph"], label(cell["backend"]), what(cell), speed, share)
    return table


def environments(headers: Iterable[dict[str, Any]]) -> str:
    """Return a paragraph per run: date, machine, software, commit."""
    return "\n".join(_environment(header) for header in headers)


def capabilities(stores: Iterable[Any]) -> Table:
    """Return a table of which operations each backend brings itself, and which fall back to the generic ones."""
    from suricate.store import OPERATIONS

    stores = list(stores)
    table = Table("operation", *(store.name for store in stores), title="native or fallback", title_justify="left")
    for operation in OPERATIONS:
        table.add_row(operation, *(store.capabilities()[operation] for store in stores))
    return table


def latest(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one cell per backend, device, graph and workload: the last measured."""
    return list({(cell["graph"], cell["device"], cell["backend"], _row(cell)): cell for cell in cells}.values())


def plot(cells: list[dict[str, Any]], path: Path) -> None:
    """Write a plot of the rates over the batch sizes, one panel per graph and operation; needs matplotlib."""
    from matplotlib.figure import Figure

    swept = [cell for cell in cells if cell["batch"] and cell["edges_per_s"]]
    panels = list(dict.fromkeys((cell["graph"], what(cell)) for cell in swept))
    figure = Figure(figsize=(5 * max(1, len(panels)), 4), layout="constrained")
    for number, panel in enumerate(panels):
        axes = figure.add_subplot(
            1, len(panels), number + 1, title=f"{panel[1]}, {panel[0]}", xscale="log", yscale="log"
        )
        group = [cell for cell in swept if (cell["graph"], what(cell)) == panel]
        for backend in backends_of(group):
            points = sorted((cell["batch"], cell["edges_per_s"]) for cell in group if cell["backend"] == backend)
            axes.plot(*zip(*points, strict=True), marker="o", label=label(backend))
        axes.set(xlabel="edges in the batch", ylabel="edges per second")
        axes.legend()
    figure.savefig(path)


def facts(extra: dict[str, Any]) -> str:
    """Return the numbers that a cell tells besides its time, in words."""
    shown = {name: value for name, value in extra.items() if isinstance(value, int | float) and name in FACTS}
    return ", ".join(FACTS[name](value) for name, value in shown.items())


# -- pieces ------------------------------------------------------------------------------------------------------------


def label(backend: str) -> str:
    """Return the name to show for a backend or reference."""
    return {SCIPY: REFERENCE_LABEL, DUMMY: "dummy (does nothing)"}.get(backend, backend)


def what(cell: dict[str, Any]) -> str:
    """Return workload, algorithm and detail in words."""
    return " ".join(part for part in (cell["workload"], cell["algorithm"], cell["detail"]) if part)


def seconds(value: float) -> str:
    """Return a duration with a fitting unit."""
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if value * factor >= 1:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e6:.3g} us"


def rate(value: float | None) -> str:
    """Return edges per second in G, M or k."""
    if not value:
        return ""
    for factor, unit in ((1e9, "G"), (1e6, "M")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}/s"
    return f"{value / 1e3:.3g} k/s"


def noise(value: float) -> str:
    """Return the noise in percent, flagged with an exclamation mark when it is high."""
    return f"{100 * value:.1f} %" + ("!" if value > constants.NOISY else "")


def _table(title: str, backends: list[str]) -> Table:
    """Return an empty table with a column per backend."""
    table = Table(title=title, title_justify="left", min_width=len(title))
    table.add_column("workload")
    for name in ("batch", *map(label, backends)):
        table.add_column(name, justify="right")
    return table


def _percentiles(cell: dict[str, Any]) -> str:
    if not cell.get("p10_s"):  # files that were written without
        return ""
    return f"{seconds(cell['p10_s'])} - {seconds(cell['p90_s'])}"


FACTS: dict[str, Callable[[Any], str]] = {  #: how the numbers of ``Cell.extra`` are told
    "iterations": "{} iterations".format,
    "bytes_per_edge": "{:.1f} B/edge".format,
    "bytes_per_edge_allocated": "{:.1f} allocated".format,
    "fill": "{:.0%} full".format,
    "median_batch_s": lambda value: f"median batch {seconds(value)}",
    "slowest_batch_s": lambda value: f"slowest batch {seconds(value)}",
}


def _columns(parts: Iterable[str], widths: Iterable[int] = WIDTHS) -> str:
    return " ".join(f"{part:<{width}}" for part, width in zip(parts, widths, strict=True)).rstrip()


def _row(cell: dict[str, Any]) -> tuple[str, int | None]:
    return what(cell), cell["batch"]


def backends_of(cells: list[dict[str, Any]]) -> list[str]:
    """Return the backends in order of appearance, references last."""
    return sorted(dict.fromkeys(cell["backend"] for cell in cells), key=lambda name: (SCIPY, DUMMY).count(name))


def _group_device(cells: list[dict[str, Any]], cell: dict[str, Any]) -> str:
    """Return the device of the table that ``cell`` belongs to: a reference's is that of its run's backends."""
    if cell["backend"] != SCIPY:
        return cell["device"]
    return next(
        (other["device"] for other in cells if other["run"] == cell["run"] and other["backend"] != SCIPY),
        cell["device"],
    )


def _entry(cell: dict[str, Any] | None) -> str:
    if cell is None:
        return ""
    if cell["status"] != "ok":
        return {"FAIL": "[bold red]FAIL[/]", "ERROR": "[bold red]ERROR[/]"}.get(cell["status"], "skipped")
    if cell["median_s"] is None:
        return f"{cell['extra']['bytes_per_edge']:.1f} B/edge" if "bytes_per_edge" in cell["extra"] else ""
    speed = rate(cell["edges_per_s"])
    flag = " !" if cell["noise"] > constants.NOISY else ""
    return f"{seconds(cell['median_s'])}{f' ({speed})' if speed else ''}{flag}"


def _ratio(found: dict[str, float], backend: str) -> str:
    if backend not in found:
        return ""
    parts = (f"{found[other] / found[backend]:.2f}" if other in found else "-" for other in (BASELINE, SCIPY))
    return " / ".join(parts)


def _environment(header: dict[str, Any]) -> str:
    git = header["git"]
    commit = f"commit {git['commit'][:10]}{' (dirty)' if git['dirty'] else ''}" if git else "no checkout"
    gpu = header["gpu"]
    card = f"; {gpu['name']}, driver {gpu['driver']}, CuPy {gpu['cupy']}" if gpu else ""
    versions = ", ".join(f"{name} {version}" for name, version in header["versions"].items() if version)
    machine = f"{header['cpu']}, {header['cores']} cores{card}"
    return f"{header['run']}: {machine}; Python {header['python']}, {versions}; {commit}; seed {header['seed']}"
