"""Tables of cells that are not backend against backend: latencies, states, backend options, bytes, schemes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rich.table import Table

from suricate.bench import constants
from suricate.bench.report import backends_of, label, rate, seconds, what

SUITES = ("schemes", "sweep", "memory")  #: suites whose cells are in the tables of this module only
OPERATIONS = ("insert", "delete", "query")
Cells = list[dict[str, Any]]


def of(cells: Cells) -> list[Table]:
    """Return all tables that ``cells`` give."""
    good = [cell for cell in cells if cell["status"] == "ok"]
    groups: dict[str, Cells] = {}
    for cell in good:
        groups.setdefault(cell.get("suite", ""), []).append(cell)
    plain = [cell for cell in good if cell.get("suite") not in SUITES]
    makers: tuple[tuple[Callable[[Cells], list[Table]], Cells], ...] = (
        (latencies, plain), (storage, plain), (growth, plain), (schemes, groups.get("schemes", [])),
        (sweeps, groups.get("sweep", [])), (footprints, groups.get("memory", [])),
    )  # fmt: skip
    return [table for make, some in makers for table in make(some)]


def latencies(cells: Cells) -> list[Table]:
    """Return the times of small batches in microseconds: the median, and the 10th and 90th percentile."""
    small = [cell for cell in cells if cell["batch"] and cell["batch"] <= constants.SMALL_BATCH and cell.get("p10_s")]
    small = [cell for cell in small if cell["workload"] in OPERATIONS]

    def entry(cell: dict[str, Any]) -> str:
        return f"{cell['median_s'] * 1e6:.1f} ({cell['p10_s'] * 1e6:.1f} - {cell['p90_s'] * 1e6:.1f})"

    return _by_backend(small, "microseconds per batch: median (10th - 90th percentile)", entry)


def storage(cells: Cells) -> list[Table]:
    """Return the bytes per edge, without the operations on a fresh graph: they leave it as it was."""
    kept = [cell for cell in cells if cell["workload"] not in OPERATIONS or cell.get("state", "fresh") != "fresh"]
    sized = [cell for cell in kept if "bytes_per_edge" in cell["extra"]]
    return _by_backend(sized, "bytes per edge: used of allocated (share of the largest part that is used)", size)


def growth(cells: Cells) -> list[Table]:
    """Return the slowest and the median batch of growth."""
    grown = [cell for cell in cells if "slowest_batch_s" in cell["extra"]]

    def entry(cell: dict[str, Any]) -> str:
        extra = cell["extra"]
        batches = f"{seconds(extra['median_batch_s'])} / {seconds(extra['slowest_batch_s'])}"
        return f"{rate(cell['edges_per_s'])}; {batches}"

    return _by_backend(grown, "growth from an empty graph: rate of the whole; median / slowest batch", entry)


def schemes(cells: Cells) -> list[Table]:
    """Return, per graph and backend, the time of each pass by each scheme."""
    tables = []
    columns = list(dict.fromkeys(cell["extra"]["scheme"] for cell in cells))
    for graph, device, backend in _distinct(cells, "graph", "device", "backend"):
        group = [cell for cell in cells if (cell["graph"], cell["device"], cell["backend"]) == (graph, device, backend)]
        table = _table(
            f"{label(backend)}, {graph} on {device}: median time (edges per second) by scheme", "pass", columns
        )
        for workload, start in dict.fromkeys((cell["workload"], cell["extra"]["start"]) for cell in group):
            found = {
                cell["extra"]["scheme"]: cell
                for cell in group
                if (cell["workload"], cell["extra"]["start"]) == (workload, start)
            }
            entries = (_timed(found[scheme]) if scheme in found else "-" for scheme in columns)
            table.add_row(f"{workload}, {start}", *entries)
        tables.append(table)
    return tables


def sweeps(cells: Cells) -> list[Table]:
    """Return, per graph and backend, rates and bytes per edge of each setting of the backend's options."""
    tables = []
    for graph, device, backend in _distinct(cells, "graph", "device", "backend"):
        group = [cell for cell in cells if (cell["graph"], cell["device"], cell["backend"]) == (graph, device, backend)]
        rates = list(dict.fromkeys(_column(cell) for cell in group if cell["median_s"]))
        title = f"{label(backend)}, {graph} on {device}: rates and memory by option"
        table = _table(title, "option", [*rates, "B/edge used", "B/edge allocated", "utilisation"])
        for setting in dict.fromkeys(cell["setting"] for cell in group):
            some = [cell for cell in group if cell["setting"] == setting]
            found = {_column(cell): rate(cell["edges_per_s"]) for cell in some if cell["median_s"]}
            table.add_row(setting, *(found.get(name, "-") for name in rates), *_memory_of(some))
        tables.append(table)
    return tables


def footprints(cells: Cells) -> list[Table]:
    """Return the bytes of every graph, backend and width (Meerkat's table 5), in all and by part."""
    tables = []
    for device in dict.fromkeys(cell["device"] for cell in cells):
        group = [cell for cell in cells if cell["device"] == device]
        size, parts = _footprint_tables(device)
        for cell in group:
            extra, name = cell["extra"], f"{label(cell['backend'])} {cell['detail']}"
            degrees = f"{extra['mean_degree']:.1f} / {extra['max_degree']:,}"
            counts = f"{extra['vertices']:,}", f"{extra['edges']:,}", degrees
            churned = extra["churned"]
            total = sum(allocated for _, allocated in extra["parts"].values()) / 2**20
            size.add_row(cell["graph"], *counts, name, *_both(extra), f"{total:.1f}", *_both(churned))
            parts.add_row(cell["graph"], name, _parts(extra), _parts(churned))
        tables += [size, parts]
    return tables


def size(cell: dict[str, Any]) -> str:
    """Return the bytes per edge of a cell: used, allocated, and how full the largest part is, where that is told."""
    extra = cell["extra"]
    fill = f" ({100 * extra['fill']:.0f} %)" if "fill" in extra else ""
    allocated = extra.get("bytes_per_edge_allocated")
    return f"{extra['bytes_per_edge']:.1f} of {'?' if allocated is None else f'{allocated:.1f}'}{fill}"


# -- pieces ------------------------------------------------------------------------------------------------------------


def _by_backend(cells: Cells, title: str, entry: Callable[[dict[str, Any]], str]) -> list[Table]:
    """Return a table per graph and device: a row per workload and batch, a column per backend."""
    tables = []
    for graph, device in _distinct(cells, "graph", "device"):
        group = [cell for cell in cells if (cell["graph"], cell["device"]) == (graph, device)]
        columns = backends_of(group)
        table = _table(f"{graph} on {device}: {title}", "workload", ["batch", *map(label, columns)])
        for row, batch in dict.fromkeys((what(cell), cell["batch"]) for cell in group):
            found = {cell["backend"]: cell for cell in group if (what(cell), cell["batch"]) == (row, batch)}
            entries = (entry(found[backend]) if backend in found else "" for backend in columns)
            table.add_row(row, "" if batch is None else f"{batch:,}", *entries)
        tables.append(table)
    return tables


def _distinct(cells: Cells, *names: str) -> list[tuple]:
    return list(dict.fromkeys(tuple(cell[name] for name in names) for cell in cells))


def _table(title: str, first: str, columns: Iterable[str]) -> Table:
    table = Table(title=title, title_justify="left", min_width=len(title))
    table.add_column(first)
    for name in columns:
        table.add_column(name, justify="right")
    return table


def _timed(cell: dict[str, Any]) -> str:
    speed = rate(cell["edges_per_s"])
    return f"{seconds(cell['median_s'])}{f' ({speed})' if speed else ''}"


def _column(cell: dict[str, Any]) -> str:
    return cell["workload"] if cell["batch"] is None else f"{cell['workload']} {cell['batch']:,}"


def _memory_of(cells: Cells) -> tuple[str, str, str]:
    """Return bytes per edge used and allocated, and the share of what is used that ids and weights take."""
    for cell in cells:
        if cell["workload"] == "memory":
            extra = cell["extra"]
            used, allocated = f"{extra['bytes_per_edge']:.1f}", f"{extra['bytes_per_edge_allocated']:.1f}"
            return used, allocated, f"{extra['utilisation']:.0%}"
    return "-", "-", "-"


def _footprint_tables(device: str) -> tuple[Table, Table]:
    size = _table(f"bytes per edge on {device}, as built and after churn", "graph", ["vertices", "edges"])
    for name in ("mean / largest degree", "backend", "used", "allocated", "MiB", "used, churned", "allocated, churned"):
        size.add_column(name, justify="left" if name == "backend" else "right")
    parts = Table(
        "graph", "backend", "parts", "parts, churned", title=f"bytes per edge by part on {device}: used/allocated"
    )
    return size, parts


def _both(sizes: dict[str, Any]) -> tuple[str, str]:
    return f"{sizes['bytes_per_edge']:.2f}", f"{sizes['bytes_per_edge_allocated']:.2f}"


def _parts(sizes: dict[str, Any]) -> str:
    """Return the parts of at least a hundredth of a byte per edge."""
    total = sum(allocated for _, allocated in sizes["parts"].values())
    scale = sizes["bytes_per_edge_allocated"] / total if total else 0.0
    shown = {name: (used * scale, allocated * scale) for name, (used, allocated) in sizes["parts"].items()}
    return ", ".join(f"{name} {used:.2f}/{all_:.2f}" for name, (used, all_) in shown.items() if all_ >= 0.01)
