"""Tables of what can be measured: workloads and what one repeat does, algorithms, operations, options of backends."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.markup import escape
from rich.table import Table

from suricate.bench.defaults import KERNELS
from suricate.bench.logs import passes, tasks
from suricate.bench.runner import Task
from suricate.bench.scaling.capacity import Capacity
from suricate.bench.scaling.vertices import Vertices
from suricate.bench.scaling.workloads import Build, Compute, Delete, Insert, Update, Workload
from suricate.bench.streams import curve, jobs, slides
from suricate.bench.workloads import (
    ablations,
    algorithms,
    builds,
    crossover,
    footprints,
    methods,
    operations,
    operators,
    qualities,
    replays,
    short,
    streams,
    usage,
    vertices,
    windows,
)
from suricate.bench.workloads.short.cuda import HostTime
from suricate.plugins.algorithm import Algorithm
from suricate.store import OPERATIONS, Store

WORKLOADS: dict[str, tuple[type[Task | Workload], ...]] = {  #: of each suite
    "operations": (
        builds.Build, builds.Growth, *operations.OPERATIONS, operations.Churn, operations.Memory,
        *vertices.VERTEX_TASKS,
    ),
    "algorithms": (
        algorithms.FromScratch, algorithms.KeptCurrent, algorithms.UpdateAlone, algorithms.TenBatches,
        vertices.KeptCurrentWithout, streams.Stream, streams.Window,
    ),
    **dict.fromkeys(KERNELS, (algorithms.FromScratch,)),
    "methods": (methods.Method, methods.StreamedMethod),
    "quality": (qualities.Quality,),
    "crossover": (crossover.Crossing,),
    "scaling": (Build, Insert, Delete, Compute, Update, Capacity, Vertices),
    "reduce": (operators.Reduce, operators.Propagate),
    "sweep": (builds.Build, operations.Memory, operators.Reduce, *operations.OPERATIONS),
    "memory": (footprints.Footprint,),
    "window": (windows.LongWindow,),
    "usage": (*operations.OPERATIONS, usage.ReadsAndWrites, *vertices.VERTEX_TASKS, usage.Peak),
    "replay": (replays.Replay,),
    "events": (
        tasks.LogBuild, tasks.LogSingles, tasks.LogAppend, tasks.LogSlide, tasks.LogSample, passes.WindowWithLog,
        passes.EarliestArrival, passes.TimeWalks,
    ),
    "short": (short.ShortCalls, HostTime),
    "ablations": (
        *operations.OPERATIONS, algorithms.FromScratch, algorithms.UpdateAlone, *ablations.ABLATIONS,
        ablations.ComponentsByEdges, ablations.NewDegrees,
    ),
    "stream": (
        slides.Slide, slides.JobSlide, curve.CurveSlide, jobs.FromCsv, jobs.FromParquet, jobs.JobAlone, jobs.LongJob,
        jobs.MadeOnDevice,
    ),
}  # fmt: skip


def listing(suites: Collection[str], stores: Sequence[type[Store]], kinds: Sequence[type[Algorithm]]) -> list[Table]:
    """Return the tables of ``suricate bench --list``: workloads, algorithms, operations of backends, and their options.

    They show the workloads of ``suites``, the algorithms ``kinds`` and the backends ``stores``; empty tables are left
    out.
    """
    knobs = Table("backend", "knob", "values of the sweep", title="backend options", title_justify="left")
    for store in stores:
        for knob, values in store.knobs.items():
            knobs.add_row(store.name, knob, ", ".join(map(str, values)))
    tables = [workloads(suites), algorithms_table(kinds), capabilities(stores), knobs]
    return [table for table in tables if table.row_count]


def workloads(suites: Collection[str]) -> Table:
    """Return a table of the workloads of ``suites``: their names, their suites, and what one repeat does."""
    table = Table("workload", "suites", "one repeat", title="workloads", title_justify="left")
    for kind in dict.fromkeys(kind for suite in suites for kind in WORKLOADS[suite]):
        having = [suite for suite in suites if kind in WORKLOADS[suite]]
        table.add_row(kind.workload, ", ".join(having), escape(kind.does))
    return table


def algorithms_table(kinds: Sequence[type[Algorithm]]) -> Table:
    """Return a table of the algorithms ``kinds``: the suites that measure them, and what they are verified against."""
    table = Table("algorithm", "suites", "verified against", title="algorithms", title_justify="left")
    for kind in kinds:
        oracle = "its reference()" if kind.has_reference() else "nothing: it brings no reference() and is skipped"
        table.add_row(kind.name, ", ".join(kind.suites), oracle)
    return table


def capabilities(stores: Sequence[type[Store]]) -> Table:
    """Return a table of the operations that each backend implements itself ("native") or by a generic fallback."""
    table = Table("operation", *(store.name for store in stores), title="native or fallback", title_justify="left")
    for operation in OPERATIONS:
        table.add_row(operation, *(store.capabilities()[operation] for store in stores))
    return table
