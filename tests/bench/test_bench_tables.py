"""The tables that are not backend against backend, made of rows as they are read from files."""

import numpy as np
import pytest
from bench_cases import text_of

from suricate.bench.reports import comparison, tables, text
from suricate.bench.reports.results import Row, latest, to_line
from suricate.bench.runner import Measurement, Task, Timing

SAMPLES = np.linspace(20e-6, 30e-6, 11).tolist()


class Example(Task):
    workload, backend, batch, items, oracle, detail = "insert", "slabhash", 1024, 1024, "an oracle", "uniform pairs"


def row(extra=None, timed=True, **changes):
    task = Example()
    for name, value in changes.items():
        setattr(task, name, value)
    task.extra = lambda: extra or {}
    found = Measurement("ok", "", Timing.of(SAMPLES) if timed else None, 0.1, 0.1)
    return to_line(Row.of("run1", "tiny", task, found))


def test_small_batches_are_shown_in_microseconds():
    rows = [row(), row(batch=2**20), row(workload="churn"), row(backend="other")]
    (table,) = tables.latencies(rows)
    assert table.row_count == 1
    assert "25.0 (21.0 - 29.0)" in text_of(table)
    assert "21 us - 29 us" in text.line(rows[0])


def test_rows_of_older_files_are_shown():
    old = {name: value for name, value in row({"bytes_per_edge": 9.0, "bytes_per_edge_allocated": 9.5}).items()
           if name not in ("p10_s", "p90_s", "suite", "hints", "scenario", "options", "setting")}  # fmt: skip
    assert tables.of([old]) == []
    assert "25 us" in text.line(old)
    older = {**old, "workload": "memory", "median_s": None, "extra": {"bytes_per_edge": 9.25}}
    assert "9.2 of ?" in text_of(*tables.of([older]))


def test_bytes_are_shown_where_operations_did_not_meet_a_fresh_graph():
    sizes = {"bytes_per_edge": 9.0, "bytes_per_edge_allocated": 9.5, "utilisation": 0.44}
    fresh, full = row(sizes), row({**sizes, "fill": 0.93}, scenario="full", detail="full graph")
    (table,) = tables.storage([fresh, full])
    assert table.row_count == 1
    assert "9.0 of 9.5 (93 %)" in text_of(table)
    assert text.line(full).endswith("an oracle; 9.0 B/edge, 9.5 allocated, 93% full")


def test_growth_shows_the_median_and_the_slowest_batch():
    grown = row({"batches": 8, "slowest_batch_s": 4e-3, "median_batch_s": 3e-4}, workload="growth", items=8192)
    assert "328 M/s; 300 us / 4 ms" in text_of(*tables.growth([grown, row()]))


def test_a_sweep_has_a_row_per_setting():
    sizes = {"bytes_per_edge": 9.0, "bytes_per_edge_allocated": 9.5, "utilisation": 4 / 9}
    rows = [
        made
        for setting in ("defaults", "width=32")
        for made in (
            row(suite="sweep", setting=setting),
            row(sizes, timed=False, workload="memory", batch=None, suite="sweep", setting=setting),
        )
    ]
    (table,) = tables.of(rows[:3])  # of the last setting there is no memory
    assert table.row_count == 2
    assert [line.split()[1:] for line in text_of(table).splitlines() if "width" in line] == [
        ["width=32", "│", "41", "M/s", "│", "-", "│", "-", "│"]
    ]
    assert "44%" in text_of(table)


@pytest.mark.parametrize("name", ["insert", "delete", "query"])
def test_rows_with_and_without_hints_are_apart(name):
    plain, hinted = row(workload=name), row(workload=name, detail="uniform pairs, with hints", hints=True)
    assert len(latest([plain, hinted])) == 2
    (table,) = comparison.matrix([plain, hinted])
    assert table.row_count == 2
