"""What there is to measure: workloads, what one repeat does, what backends bring themselves, and their options."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from suricate.algorithm import Algorithm
from suricate.bench.runner import Task
from suricate.bench.workloads import (
    ablations,
    algorithms,
    builds,
    crossover,
    footprints,
    large,
    methods,
    operations,
    operators,
    schemes,
    streams,
    usage,
    vertices,
    windows,
)
from suricate.store import OPERATIONS, Store

WORKLOADS: tuple[type[Task], ...] = (
    builds.Build, builds.Growth, *operations.OPERATIONS, operations.Churn, operations.Memory,
    algorithms.FromScratch, algorithms.KeptCurrent, algorithms.UpdateAlone, algorithms.TenBatches, streams.Stream,
    streams.Window, methods.Method, methods.StreamedMethod, crossover.Crossing, *vertices.VERTEX_TASKS,
    operators.Reduce, operators.Propagate, schemes.Pull, schemes.Push, footprints.Footprint,
    windows.LongWindow, large.LargeBuild, *large.LARGE_OPERATIONS, large.LargeRank,
    usage.ReadsAndWrites, usage.Peak, *ablations.ABLATIONS, ablations.ComponentsByEdges,
)  # fmt: skip


def listing(stores: Sequence[type[Store]], kinds: Sequence[type[Algorithm]]) -> list[Table]:
    """Return the tables of ``suricate bench --list``."""
    knobs = Table("backend", "knob", "values of the sweep", title="backend options", title_justify="left")
    for store in stores:
        for knob, values in store.knobs.items():
            knobs.add_row(store.name, knob, ", ".join(map(str, values)))
    return [workloads(), algorithms_table(kinds), capabilities(stores), *([knobs] if knobs.row_count else [])]


def workloads() -> Table:
    """Return a table of what one repeat of each workload does."""
    table = Table("workload", "one repeat", title="workloads", title_justify="left")
    for kind in WORKLOADS:
        table.add_row(kind.workload, escape(kind.does))
    return table


def algorithms_table(kinds: Sequence[type[Algorithm]]) -> Table:
    """Return a table of the suites that the algorithms join, and how they are verified."""
    table = Table("algorithm", "suites", "verified against", title="algorithms", title_justify="left")
    for kind in kinds:
        oracle = "its reference()" if kind.has_reference() else "nothing: it brings no reference() and is skipped"
        table.add_row(kind.name, ", ".join(kind.suites), oracle)
    return table


def capabilities(stores: Sequence[type[Store]]) -> Table:
    """Return a table of which operations each backend brings itself, and which fall back to the generic ones."""
    table = Table("operation", *(store.name for store in stores), title="native or fallback", title_justify="left")
    for operation in OPERATIONS:
        table.add_row(operation, *(store.capabilities()[operation] for store in stores))
    return table
