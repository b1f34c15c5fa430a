"""The matrix: which tasks a suite has, and running them one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from suricate.bench import constants, reference
from suricate.bench.beds import Bed
from suricate.bench.builds import ORDERS, Build, Growth
from suricate.bench.footprints import Footprint
from suricate.bench.inputs import Input
from suricate.bench.operations import OPERATIONS, Churn, Memory
from suricate.bench.results import Cell
from suricate.bench.runner import Limits, Measurement, Task, measure
from suricate.bench.schemes import scheme_tasks
from suricate.bench.sweeps import KnobBed, label, settings, widths
from suricate.bench.traversals import ORACLES, Current, Propagate, Reduce, Repair, Scratch, Stream, Window
from suricate.devices import Device
from suricate.plugins import backends

SUITES = ("operations", "algorithms", "reduce", "schemes", "sweep", "memory")
ALL = SUITES[:4]  #: the suites of "all": backend against backend, as they are
REFERENCES = {"bfs": reference.ScipyBFS, "pagerank": reference.ScipyPageRank}


@dataclass(frozen=True)
class Plan:
    """What to measure.

    Attributes:
        backends: names; see :func:`backend_names`.
        device: of the backends' rows.
        batches: batch sizes of the operations.
        updates: batch sizes of the kept-current algorithms and of growth; None: by the number of the graph's edges.
        pairs: kind of the operations' batches, or None for each operation's own.
        hints: whether graphs are built with the exact degrees of the input as hints.
        state: of the graph that operations meet, see ``suricate.bench.states``.
        knobs: names of the options that the sweep varies; none: all that the backend declares.
        dummy: whether the store that does nothing is measured, too.
    """

    backends: tuple[str, ...]
    device: Device
    seed: int = constants.SEED
    batches: tuple[int, ...] = constants.BATCHES
    updates: tuple[int, ...] | None = None
    pairs: str | None = None
    weighted: bool = False
    checks: str = "eager"
    options: dict[str, Any] = field(default_factory=dict)
    dummy: bool = True
    hints: bool = False
    state: str = "fresh"
    knobs: tuple[str, ...] = ()

    def bed(self, backend: str, data: Input, *, hints: bool | None = None) -> Bed:
        """Return a bed of ``backend`` on ``data``."""
        hints = self.hints if hints is None else hints
        return Bed(backend, data, self.device, options=self.options, hints=hints, **self.shared)

    def knob_bed(self, backend: str, data: Input, change: dict[str, Any]) -> Bed:
        """Return a bed of ``backend`` with further options, which rows name."""
        options = {**self.options, **change}
        return KnobBed(
            backend, data, self.device, options=options, hints=self.hints, label=label(change), **self.shared
        )

    def dummy_bed(self, data: Input) -> Bed:
        """Return the bed of the store that does nothing."""
        return Bed(reference.DummyStore, data, self.device, silent=True, hints=self.hints, **self.shared)

    @property
    def shared(self) -> dict[str, Any]:
        """What all beds have in common."""
        return {"seed": self.seed, "weighted": self.weighted, "checks": self.checks}

    def update_sizes(self, data: Input) -> tuple[int, ...]:
        """Return the batch sizes of the kept-current algorithms."""
        if self.updates is not None:
            return self.updates
        return tuple(sorted({max(1, int(share * len(data.model))) for share in constants.UPDATE_SHARES}))

    def growth_sizes(self, data: Input) -> tuple[int, ...]:
        """Return the batch sizes of growth: by default a power of two that there are enough batches of."""
        if self.updates is not None:
            return self.updates
        most = max(1, len(data.src) // constants.GROWTH_BATCHES)
        return (min(constants.GROWTH_BATCH, 1 << (most.bit_length() - 1)),)

    def sweep_sizes(self) -> tuple[int, ...]:
        """Return the batch sizes of the sweep."""
        return constants.SWEEP_BATCHES if self.updates is None else self.updates


def backend_names(chosen: tuple[str, ...], device: Device) -> tuple[str, ...]:
    """Return the ``chosen`` backends, or all that run on ``device``; raises ``UnknownNameError`` for an unknown one."""
    from suricate.plugins import backend

    if chosen:
        return tuple(backend(name).name for name in chosen)
    return tuple(name for name, cls in backends().items() if device.kind in cls.devices)


def demo_tasks(plan: Plan, data: Input) -> list[Task]:
    """Return the demo's tasks, workload by workload, so that the first results need the least compilation."""
    beds = [plan.bed(name, data) for name in plan.backends]
    host = beds[0]
    tasks: list[Task] = [reference.ScipyBuild(host), *(Build(bed) for bed in beds)]
    for operation in OPERATIONS:
        tasks += [operation(bed, batch, plan.pairs) for batch in plan.batches for bed in beds]
    tasks += [Stream(bed) for bed in beds]
    for algorithm in ORACLES:
        tasks += [REFERENCES[algorithm](host), *(Scratch(bed, algorithm) for bed in beds)]
        tasks += [Stream(bed, algorithm) for bed in beds]
    return tasks


def bench_tasks(suite: str, plan: Plan, data: Input) -> list[Task]:
    """Return the tasks of a suite, backend by backend, so that the memory of one is free before the next.

    Each suite starts with a graph of its own.
    """
    suites = ALL if suite == "all" else (suite,)
    tasks: list[Task] = []
    for backend in plan.backends:
        for name in suites:
            tasks += _of(name, BACKEND_TASKS[name](plan, plan.bed(backend, data)))
    for name in suites:
        if name in REFERENCE_TASKS:
            tasks += _of(name, REFERENCE_TASKS[name](plan, data))
    return tasks


def _of(suite: str, tasks: list[Task]) -> list[Task]:
    for task in tasks:
        task.suite = suite
    return tasks


def _operations(plan: Plan, bed: Bed) -> list[Task]:
    sweep: list[Task] = [kind(bed, batch, plan.pairs, plan.state) for kind in OPERATIONS for batch in plan.batches]
    if plan.state != "fresh":
        return [Memory(bed, plan.state), *sweep]
    churned = plan.bed(bed.backend, bed.data)  # a graph of its own: it is not what it was afterwards
    churns = [Churn(churned, batch) for batch in plan.batches]
    return [*_builds(plan, bed), Memory(bed), *sweep, *churns]


def _builds(plan: Plan, bed: Bed) -> list[Task]:
    """Return the bulk builds, in every order, and growth; with hints and (growth: only) without."""
    plain = plan.bed(bed.backend, bed.data, hints=False)
    built = [plain, bed] if bed.hints else [plain]
    growths = [Growth(plain, size) for size in plan.growth_sizes(bed.data)]
    return [*(Build(each, order) for each in built for order in ORDERS), *growths]


def _operation_references(plan: Plan, data: Input) -> list[Task]:
    if plan.state != "fresh":
        return []
    tasks: list[Task] = [reference.ScipyBuild(plan.bed(reference.SCIPY, data))]
    if plan.dummy:
        bed = plan.dummy_bed(data)
        tasks += [kind(bed, batch, plan.pairs) for kind in OPERATIONS for batch in plan.batches]
    return tasks


def _algorithms(plan: Plan, bed: Bed) -> list[Task]:
    tasks: list[Task] = []
    for algorithm in ORACLES:
        tasks.append(Scratch(bed, algorithm))
        for kind in (Current, Repair):
            tasks += [kind(bed, algorithm, size) for size in plan.update_sizes(bed.data)]
    if bed.data.temporal:
        tasks += [kind(bed, algorithm) for kind in (Stream, Window) for algorithm in (None, *ORACLES)]
    return tasks


def _algorithm_references(plan: Plan, data: Input) -> list[Task]:
    bed = plan.bed(reference.SCIPY, data)
    return [kind(bed) for kind in REFERENCES.values()]


def _reduce(plan: Plan, bed: Bed) -> list[Task]:
    cases = [(function, dtype) for function in ("sum", "product") for dtype in constants.VALUE_DTYPES]
    return [*(Reduce(bed, *case) for case in cases), Propagate(bed)]


def _reduce_references(plan: Plan, data: Input) -> list[Task]:
    bed = plan.bed(reference.SCIPY, data)
    cases = [(function, dtype) for function in ("sum", "product") for dtype in constants.VALUE_DTYPES]
    return [*(reference.ScipyReduce(bed, *case) for case in cases), reference.ScipyPropagate(bed)]


def _schemes(plan: Plan, bed: Bed) -> list[Task]:
    return [*scheme_tasks(bed, plan.bed(bed.backend, bed.data))]


def _sweep(plan: Plan, bed: Bed) -> list[Task]:
    tasks: list[Task] = []
    for change in settings(backends()[bed.backend], plan.options, plan.knobs):
        turned, sizes = plan.knob_bed(bed.backend, bed.data, change), plan.sweep_sizes()
        tasks += [Build(turned), Memory(turned), Reduce(turned, "sum", "float32")]
        tasks += [kind(turned, batch, plan.pairs, plan.state) for batch in sizes for kind in OPERATIONS]
    return tasks


def _memory(plan: Plan, bed: Bed) -> list[Task]:
    changes = widths(backends()[bed.backend], plan.options)
    return [Footprint(plan.knob_bed(bed.backend, bed.data, change)) for change in changes]


BACKEND_TASKS: dict[str, Callable[[Plan, Bed], list[Task]]] = {
    "operations": _operations, "algorithms": _algorithms, "reduce": _reduce, "schemes": _schemes, "sweep": _sweep,
    "memory": _memory,
}  # fmt: skip
REFERENCE_TASKS: dict[str, Callable[[Plan, Input], list[Task]]] = {
    "operations": _operation_references, "algorithms": _algorithm_references, "reduce": _reduce_references,
}  # fmt: skip


def run_tasks(
    tasks: list[tuple[str, Task]],
    limits: Limits,
    run: str,
    *,
    peak: float | None = None,
    starting: Callable[[Task], None] = lambda task: None,
    finished: Callable[[Cell], None] = lambda cell: None,
) -> list[Cell]:
    """Measure ``(graph name, task)`` one after the other; return the cells.

    ``starting`` and ``finished`` are told before and after each. A task is forgotten when it is done, and with its last
    task a bed and its graphs. ``tasks`` is empty afterwards.
    """
    cells = []
    while tasks:
        graph, task = tasks.pop(0)
        starting(task)
        cell = _record(run, graph, task, measure(task, limits), peak)
        finished(cell)
        cells.append(cell)
    return cells


def _record(run: str, graph: str, task: Task, found: Measurement, peak: float | None) -> Cell:
    return Cell.of(run, graph, task, found, None if task.backend == reference.SCIPY else peak)
