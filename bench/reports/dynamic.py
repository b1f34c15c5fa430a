"""Tables of updating against computing from scratch: times by batch, Meerkat's speed-up, where updating is slower.

``rows`` are rows of results files, as dicts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.table import Table

from suricate.bench import constants
from suricate.bench.reports.text import count, label, new_table, seconds
from suricate.bench.workloads.algorithms import DELETIONS, INSERTIONS, FromScratch, KeptCurrent, TenBatches, UpdateAlone
from suricate.bench.workloads.methods import Method, StreamedMethod

Rows = list[dict[str, Any]]
Place = tuple[str, str, str, str]  #: graph, device, algorithm, backend

SIGNS = {INSERTIONS: "+", DELETIONS: "-"}  #: of batches in the heads of columns; a mixed one has both


def of(rows: Rows) -> list[Table]:
    """Return all tables of this module for which ``rows`` have measurements."""
    timed = [row for row in rows if row["algorithm"] and row["status"] == "ok"]
    methods = [row for row in timed if row["workload"] in (Method.workload, StreamedMethod.workload)]
    current = [row for row in timed if row["workload"] == KeptCurrent.workload]
    if not current:
        return _methods(methods)
    scratch = {_place(row): row["median_s"] for row in timed if row["workload"] == FromScratch.workload}
    return [*_times(timed, current, scratch), *_losses(timed, scratch), *_methods(methods)]


def _times(timed: Rows, current: Rows, scratch: dict[Place, float]) -> list[Table]:
    """Return a table per graph and device: the time of store and answer, a column per kind and size of batch.

    ``timed``: all rows with a time; ``current``: those of algorithms kept current; ``scratch``: seconds from scratch,
    by (graph, device, algorithm, backend).
    """
    speedups = {(_place(row), _kind(row)): row for row in timed if row["workload"] == TenBatches.workload}
    tables = []
    for graph, device in _distinct((row["graph"], row["device"]) for row in current):
        group = [row for row in current if (row["graph"], row["device"]) == (graph, device)]
        columns = _distinct((_kind(row), row["batch"]) for row in group)
        heads = [f"{SIGNS.get(kind, '+/-')}{count(batch)}" for kind, batch in columns]
        title = (
            f"{graph} on {device}: store and answer after a batch; speed-up over computing from scratch in ten batches"
        )
        table = new_table(title, "algorithm", ["backend", "from scratch", *heads, "speed-up + / -"])
        for place in _distinct(map(_place, group)):
            found = {(_kind(row), row["batch"]): row["median_s"] for row in group if _place(row) == place}
            ups = [speedups.get((place, kind)) for kind in (INSERTIONS, DELETIONS)]
            table.add_row(
                place[2], label(place[3]), seconds(scratch[place]) if place in scratch else "-",
                *(seconds(found[column]) if column in found else "-" for column in columns),
                " / ".join(map(_speedup, ups)),
            )  # fmt: skip
        tables.append(table)
    return tables


def _losses(timed: Rows, scratch: dict[Place, float]) -> list[Table]:
    """Return a table of the updates that take more than ``LOSES`` times as long as computing from scratch.

    ``timed``: all rows with a time; ``scratch``: seconds from scratch, by (graph, device, algorithm, backend).
    Algorithms that recompute every answer are left out. The list is empty if no update was timed.
    """
    alone = [row for row in timed if row["workload"] == UpdateAlone.workload and _place(row) in scratch]
    alone = [row for row in alone if row["extra"].get("update_kind") != "recompute"]
    lost = [row for row in alone if row["median_s"] > constants.LOSES * scratch[_place(row)]]
    if not alone:
        return []
    told = f"{len(lost)} of {len(alone)} cases (the answer alone, graph stored)"
    title = f"updating loses to computing from scratch in {told}"
    table = new_table(title, "graph", ["device", "algorithm", "backend", "batch", "update", "from scratch", "ratio"])
    for row in sorted(lost, key=lambda row: -row["median_s"] / scratch[_place(row)]):
        scratch_s, batch = scratch[_place(row)], f"{count(row['batch'])} {_kind(row)}"
        ratio = f"{row['median_s'] / scratch_s:.2f}"
        table.add_row(
            row["graph"], row["device"], row["algorithm"], label(_place(row)[3]), batch,
            seconds(row["median_s"]), seconds(scratch_s), ratio,
        )  # fmt: skip
    return [table]


def _methods(rows: Rows) -> list[Table]:
    """Return a table per graph, device, algorithm and backend: time and error by variant (line) and batch (column)."""
    tables = []
    for place in _distinct(map(_place, rows)):
        group = [row for row in rows if _place(row) == place]
        columns = _distinct((row["workload"], row["batch"]) for row in group)
        heads = [f"{count(batch)}{' of the stream' if work != Method.workload else ''}" for work, batch in columns]
        graph, device, algorithm, backend = place
        title = f"{algorithm} on {graph}, {label(backend)} on {device}: time (error) by method and batch"
        table = new_table(title, "method", heads)
        for method in _distinct(map(_kind, group)):
            found = {(row["workload"], row["batch"]): row for row in group if _kind(row) == method}
            table.add_row(method, *(_time_and_error(found.get(column)) for column in columns))
        tables.append(table)
    return tables


def _time_and_error(row: dict[str, Any] | None) -> str:
    if row is None:
        return "-"
    error = row["extra"].get("error")
    return seconds(row["median_s"]) + ("" if error is None else f" ({error:.1e})")


def _speedup(row: dict[str, Any] | None) -> str:
    """Return median and quartiles of a row's speed-ups in ten batches as text; "-" for None or without them."""
    extra = {} if row is None else row["extra"]
    if "speedup_low" not in extra:
        return "-"
    return f"{extra['speedup']:.2g}x ({extra['speedup_low']:.2g}-{extra['speedup_high']:.2g})"


def _place(row: dict[str, Any]) -> Place:
    backend = f"{row['file']}: {label(row['backend'])}" if row.get("file") else row["backend"]
    return row["graph"], row["device"], row["algorithm"], backend


def _kind(row: dict[str, Any]) -> str:
    return row["detail"].split(",")[0]


def _distinct(items: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(items))
