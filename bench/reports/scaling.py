"""Tables of the suite on scaling: a row per workload and number of ranks, with what was exchanged and expected."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from suricate.bench.reports.text import count, new_table, rate, seconds

Rows = list[dict[str, Any]]
COLUMNS = ("batch", "ranks", "time", "of 1 rank", "model", "collectives", "received", "exchange", "waiting")


def of(rows: Rows) -> list[Table]:
    """Return the tables of collectives, and of each graph, by strong and by weak scaling."""
    groups: dict[str, Rows] = {}
    for row in rows:
        title = f"{row['graph']}, {row['detail'].partition(',')[0]} scaling" if row["graph"] else "collectives"
        groups.setdefault(f"{title}, on {row['device']}", []).append(row)
    return [
        _collectives(title, some) if not some[0]["graph"] else _graph(title, some) for title, some in groups.items()
    ]


def _collectives(title: str, rows: Rows) -> Table:
    table = new_table(title, "call", ["time", "rate"])
    for row in rows:
        speed = row["extra"].get("bytes_per_s")
        table.add_row(row["detail"], seconds(row["median_s"]), "" if speed is None else f"{speed / 1e9:.3g} GB/s")
    return table


def _graph(title: str, rows: Rows) -> Table:
    table = new_table(title, "workload", COLUMNS)
    alone = {_key(row): row["median_s"] for row in rows if row["extra"]["ranks"] == 1}
    for row in sorted(rows, key=lambda row: (_key(row), row["extra"]["ranks"])):
        extra, before = row["extra"], alone.get(_key(row))
        speedup = "" if before is None else f"{before / row['median_s']:.2f}x"
        table.add_row(
            f"{row['workload']} {row['algorithm'] or ''}".strip(), count(row["batch"]), str(extra["ranks"]),
            f"{seconds(row['median_s'])} ({rate(row['edges_per_s'])})", speedup,
            "" if extra.get("model_s") is None else seconds(extra["model_s"]), count(extra["collectives"]),
            f"{extra['comm_bytes'] / 1e6:.4g} MB", seconds(extra["comm_s"]), seconds(extra["wait_s"]),
        )  # fmt: skip
    return table


def _key(row: dict[str, Any]) -> tuple[str, str, int]:
    return row["workload"], row["algorithm"] or "", row["batch"] or 0
