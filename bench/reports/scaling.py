"""Tables and picture of the suite on scaling: each workload by number of ranks, compared with one rank and a model.

The time on one rank and the times of the collectives may come from other runs or files than a row. ``rows`` are
rows of results files, as dicts.
"""

from __future__ import annotations

from typing import Any

from rich.table import Table

from suricate.bench.reports.text import count, new_table, rate, seconds
from suricate.bench.scaling.model import Model

Row = dict[str, Any]
Rows = list[Row]
COLUMNS = ("batch", "ranks", "time", "of 1 rank", "model", "collectives", "received", "exchange", "waiting")
PANELS = {
    "bulk build and batches": ("scaling build", "scaling insert", "scaling delete"),
    "from scratch": ("scaling compute",),
    "kept current": ("scaling update",),
}  #: of the picture: what is in each


def of(rows: Rows) -> list[Table]:
    """Return a table of collectives per device, and a table per graph, device and kind of scaling (strong, weak)."""
    groups: dict[str, Rows] = {}
    for row in rows:
        title = f"{row['graph']}, {_kind(row)} scaling" if row["graph"] else "collectives"
        groups.setdefault(f"{title}, on {row['device']}", []).append(row)
    return [
        _graph(title, some, rows) if some[0]["graph"] else _collectives(title, some) for title, some in groups.items()
    ]


def picture(rows: Rows) -> Any:
    """Return a figure of the speedups of strong scaling, a row of panels per graph and device; or None."""
    runs = _speedups(rows)
    if not runs:
        return None
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.9 * len(PANELS), 4.2 * len(runs)), layout="constrained")
    panels = figure.subplots(len(runs), len(PANELS), squeeze=False)
    for line, ((graph, device), found) in zip(panels, runs.items(), strict=True):
        for axes, (title, workloads) in zip(line, PANELS.items(), strict=True):
            axes.set_title(f"{title}\n{graph} on {device}", fontsize=9)
            _lines(axes, {key: points for key, points in found.items() if key[0] in workloads})
    return figure


def _speedups(rows: Rows) -> dict[tuple[str, str], dict[tuple[str, str, int], dict[int, float]]]:
    """Return the speedups of strong scaling over one rank, as three levels of dicts.

    Their keys are (graph, device), then (workload, algorithm, batch size), then the number of ranks; 1 rank has speedup
    1.
    """
    found: dict[tuple[str, str], dict[tuple[str, str, int], dict[int, float]]] = {}
    for row in rows:
        if row.get("suite") == "scaling" and row["status"] == "ok" and row["graph"] and _kind(row) == "strong":
            before, ranks = _alone(row, rows), row["extra"]["ranks"]
            if before is not None and ranks > 1:
                points = found.setdefault((row["graph"], row["device"]), {}).setdefault(_key(row), {1: 1.0})
                points[ranks] = before / row["median_s"]
    return found


def _lines(axes: Any, found: dict[tuple[str, str, int], dict[int, float]]) -> None:
    ranks = sorted({1}.union(*found.values()))
    axes.set(xscale="log", yscale="log", xlabel="ranks", ylabel="times as fast as 1 rank")
    axes.set_xticks(ranks, [str(each) for each in ranks], minor=False)
    axes.set_yticks([0.125, 0.25, 0.5, 1, 2, 4, 8], ["1/8", "1/4", "1/2", "1", "2", "4", "8"])
    axes.minorticks_off()
    axes.plot(ranks, ranks, color="black", linestyle="--", linewidth=1, label="as many times as ranks")
    for (workload, algorithm, batch), points in sorted(found.items()):
        name = algorithm or workload.removeprefix("scaling ")
        label = f"{name}, {count(batch)} edges" if batch else name
        axes.plot(*zip(*sorted(points.items()), strict=True), marker="o", markersize=3, label=label)
    axes.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.16))


def _collectives(title: str, rows: Rows) -> Table:
    table = new_table(title, "call", ["time", "rate"])
    for row in rows:
        speed = row["extra"].get("bytes_per_s")
        table.add_row(row["detail"], seconds(row["median_s"]), "" if speed is None else f"{speed / 1e9:.3g} GB/s")
    return table


def _graph(title: str, rows: Rows, every: Rows) -> Table:
    table = new_table(title, "workload", COLUMNS)
    for row in sorted(rows, key=lambda row: (_key(row), row["extra"]["ranks"])):
        extra, before = row["extra"], _alone(row, every)
        model = _model(row, before, every)
        table.add_row(
            f"{row['workload']} {row['algorithm'] or ''}".strip(), count(row["batch"]), str(extra["ranks"]),
            f"{seconds(row['median_s'])} ({rate(row['edges_per_s'])})",
            "" if before is None else f"{before / row['median_s']:.2f}x", "" if model is None else seconds(model),
            count(extra["collectives"]), f"{extra['comm_bytes'] / 1e6:.4g} MB", seconds(extra["comm_s"]),
            seconds(extra["wait_s"]),
        )  # fmt: skip
    return table


def _alone(row: Row, rows: Rows) -> float | None:
    """Return the seconds that one rank takes for as many edges as ``row`` has; None if unknown.

    For weak scaling: the seconds of one rank on a part of the graph, times the number of ranks; None if the row is of
    a batch.
    """
    if _kind(row) == "weak" and row["batch"]:
        return None
    graph = row["graph"].removesuffix(f" x {row['extra']['ranks']}") if _kind(row) == "weak" else row["graph"]
    found = [other for other in _beside(row, rows, 1) if other["graph"] == graph and _key(other) == _key(row)]
    return float(found[-1]["median_s"]) * row["items"] / found[-1]["items"] if found else None


def _model(row: Row, before: float | None, rows: Rows) -> float | None:
    """Return the seconds that the model expects of ``row``.

    They are in the row, or follow from the times of collectives in ``rows`` and from ``before``, the seconds on one
    rank; None if these are unknown.
    """
    extra = row["extra"]
    if extra.get("model_s") is not None or before is None or extra["ranks"] == 1:
        return extra.get("model_s")
    shares = {}
    for other in _beside(row, rows, extra["ranks"]):
        call, _, rest = other["detail"].partition(", ")
        if call == "share" and not other["graph"]:
            shares[int(rest.partition(" ")[0])] = other["median_s"]
    if len(shares) < 2:
        return None
    return Model.of(shares, extra["ranks"]).expected(before, extra["ranks"], extra["collectives"], extra["comm_bytes"])


def _kind(row: Row) -> str:
    """Return the kind of scaling that a row measures, "strong" or "weak"."""
    return str(row["detail"].partition(",")[0])


def _beside(row: Row, rows: Rows, ranks: int) -> Rows:
    """Return those of ``rows`` with ``ranks`` ranks and the backend and device of ``row``.

    Rows of the same results file as ``row`` come last.
    """
    found = [
        other for other in rows
        if (other["backend"], other["device"]) == (row["backend"], row["device"])
        and other["extra"].get("ranks") == ranks and other.get("suite") == "scaling"
    ]  # fmt: skip
    return sorted(found, key=lambda other: other.get("file") == row.get("file"))


def _key(row: Row) -> tuple[str, str, int]:
    return row["workload"], row["algorithm"] or "", row["batch"] or 0
