"""Suites: which tasks they have for a selection of backends, algorithms and graphs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from suricate.base.devices import Device
from suricate.base.types import Checks
from suricate.bench import constants
from suricate.bench.defaults import ALL, BASELINE, KERNELS, SUITES
from suricate.bench.drawn import DrawnFixture, DrawnInput
from suricate.bench.fixtures import Fixture
from suricate.bench.inputs import Input
from suricate.bench.logs.passes import EarliestArrival, TimeWalks, WindowWithLog
from suricate.bench.logs.tasks import LogAppend, LogBuild, LogSample, LogSingles, LogSlide
from suricate.bench.peers import libraries_of
from suricate.bench.runner import Task
from suricate.bench.streams import curve, jobs, slides
from suricate.bench.streams.events import shares, slide_of
from suricate.bench.workloads import methods, qualities, references
from suricate.bench.workloads.ablations import ABLATIONS, ComponentsByEdges, NewDegrees
from suricate.bench.workloads.algorithms import (
    DELETION_SHARES,
    DELETIONS,
    INSERTIONS,
    FromScratch,
    KeptCurrent,
    TenBatches,
    UpdateAlone,
)
from suricate.bench.workloads.builds import ORDERS, Build, Growth
from suricate.bench.workloads.crossover import USES, Crossing, Rebuilding, power_near
from suricate.bench.workloads.footprints import Footprint
from suricate.bench.workloads.methods import Method, StreamedMethod
from suricate.bench.workloads.operations import OPERATIONS, Churn, Memory
from suricate.bench.workloads.operators import Propagate, Reduce
from suricate.bench.workloads.replays import Replay
from suricate.bench.workloads.short import ShortCalls
from suricate.bench.workloads.short.cuda import HostTime
from suricate.bench.workloads.streams import Stream, Window
from suricate.bench.workloads.sweeps import KnobFixture, label, settings, switches, widths
from suricate.bench.workloads.usage import PEAKS, READ_SHARES, Peak, ReadsAndWrites
from suricate.bench.workloads.vertices import VERTEX_TASKS, KeptCurrentWithout
from suricate.bench.workloads.windows import LongWindow
from suricate.graph import Graph
from suricate.plugins import algorithm, algorithms, backend, backends, default_backend

DEMO = "demo"  #: the suite of ``suricate demo``


@dataclass(frozen=True)
class Selection:
    """What to measure.

    Attributes:
        backends: names of the backends to measure.
        device: the device of the backends' rows.
        batches: batch sizes of the operations.
        updates: batch sizes of all other workloads; None: those of the suite, in part chosen by the number of edges.
        pairs: kind of the operations' batches (``fixtures.PAIRS``), or None for the default of each operation.
        algorithms: names; empty: those whose attribute ``suites`` names the suite.
        hints: whether graphs are built with the exact degrees of the input as hints.
        scenario: the condition of the graph for operations, see ``suricate.bench.scenarios``.
        knobs: names of the options that the sweep varies; empty: all that the backend declares.
        dummy: whether to measure the store that does nothing, too.
        quick: whether to run the short version of the suite on streams.
        against: other libraries that algorithms take turns with; empty: none.
        processor_time: whether seconds are those of the processor.
    """

    backends: tuple[str, ...]
    device: Device
    seed: int = constants.SEED
    batches: tuple[int, ...] = constants.BATCHES
    updates: tuple[int, ...] | None = None
    pairs: str | None = None
    weighted: bool = False
    checks: Checks = "eager"
    options: dict[str, Any] = field(default_factory=dict)
    algorithms: tuple[str, ...] = ()
    dummy: bool = True
    hints: bool = False
    scenario: str = "fresh"
    knobs: tuple[str, ...] = ()
    quick: bool = False
    against: tuple[str, ...] = ()
    processor_time: bool = False

    def fixture(self, backend: str, data: Input, *, hints: bool | None = None) -> Fixture:
        """Return a fixture of ``backend`` on ``data``; ``hints``: whether with degree hints, None: as selected."""
        hints = self.hints if hints is None else hints
        kind = DrawnFixture if isinstance(data, DrawnInput) else Fixture
        given = label(self.options) if self.options else ""
        return kind(backend, data, self.device, options=self.options, hints=hints, label=given, **self.shared)

    def knob_fixture(self, backend: str, data: Input, change: dict[str, Any]) -> Fixture:
        """Return a fixture of ``backend`` on ``data`` with the further backend options ``change``, which rows show."""
        options = {**self.options, **change}
        return KnobFixture(
            backend, data, self.device, options=options, hints=self.hints,
            label=label(options if self.options else change), **self.shared,
        )  # fmt: skip

    def dummy_fixture(self, data: Input) -> Fixture:
        """Return a fixture on ``data`` whose backend is the store that does nothing."""
        return Fixture(references.DummyStore, data, self.device, silent=True, hints=self.hints, **self.shared)

    @property
    def shared(self) -> dict[str, Any]:
        """The keyword arguments of ``Fixture`` that all fixtures of this selection share: seed, weighted, checks."""
        return {"seed": self.seed, "weighted": self.weighted, "checks": self.checks}

    def algorithms_of(self, suite: str) -> tuple[str, ...]:
        """Return the names of the selected algorithms; if none are, those of the suite, or that join it."""
        fixed = tuple(SUITES[suite].algorithms) if suite in SUITES else ()
        return self.algorithms or fixed or tuple(name for name, kind in algorithms().items() if suite in kind.suites)

    def params_of(self, suite: str, name: str) -> dict[str, Any]:
        """Return the parameters that ``suite`` gives an algorithm besides its sample parameters."""
        return SUITES[suite].algorithms.get(name, {})

    def weighs(self, suite: str, name: str) -> bool:
        """Return whether ``suite`` gives the graphs of an algorithm weights."""
        return name in SUITES[suite].weighted

    def update_sizes(self, data: Input) -> tuple[int, ...]:
        """Return the batch sizes for algorithms kept current: the selected ones, else small shares of the edges."""
        if self.updates is not None:
            return self.updates
        most = max(1, int(constants.UPDATE_SHARE * len(data.model)))
        return tuple(size for size in constants.UPDATE_BATCHES if size <= most) or (most,)

    def growth_sizes(self, data: Input) -> tuple[int, ...]:
        """Return the batch sizes of 'growth': the selected ones, else one power of two that suits ``data``."""
        if self.updates is not None:
            return self.updates
        most = max(1, len(data.src) // constants.GROWTH_BATCHES)
        return (min(constants.GROWTH_BATCH, 1 << (most.bit_length() - 1)),)

    def vertex_sizes(self, data: Input) -> tuple[int, ...]:
        """Return the batch sizes of workloads that delete vertices: at most half of the vertices of ``data``."""
        most = max(1, data.num_vertices // 2)
        return tuple(size for size in constants.VERTEX_BATCHES if size <= most) or (most,)

    @property
    def main_backend(self) -> str:
        """The backend of tasks that run on one backend only: the default one if selected, else the first selected."""
        default = default_backend(self.device).name
        return default if default in self.backends else self.backends[0]

    def sweep_sizes(self) -> tuple[int, ...]:
        """Return the batch sizes of the suite 'sweep': the selected ones, else ``SWEEP_BATCHES``."""
        return constants.SWEEP_BATCHES if self.updates is None else self.updates


def backend_names(chosen: tuple[str, ...], device: Device) -> tuple[str, ...]:
    """Return the names of the ``chosen`` backends; if none are chosen, of all that run on ``device``.

    Raises:
        UnknownNameError: there is no backend of a chosen name.
    """
    if chosen:
        return tuple(backend(name).name for name in chosen)
    return tuple(name for name, cls in backends().items() if device.kind in cls.devices)


def algorithm_names(chosen: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the ``chosen`` algorithms; raises ``UnknownNameError`` for an unknown one."""
    return tuple(algorithm(name).name for name in chosen)


def joining(names: Collection[str]) -> tuple[str, ...]:
    """Return the names of the algorithms that the suites ``names`` measure by default; all, if these are all suites."""
    return tuple(
        name
        for name, kind in algorithms().items()
        if set(kind.suites) & set(names)
        or ("methods" in names and kind.variants())
        or set(names) >= SUITES.keys()
        or any(name in SUITES[suite].algorithms for suite in names if suite in SUITES)
    )


def demo_tasks(selection: Selection, data: Input) -> list[Task]:
    """Return the tasks of ``suricate demo`` on ``data``, ordered by workload: those that compile least come first."""
    fixtures = [selection.fixture(name, data) for name in selection.backends]
    host = fixtures[0]
    tasks: list[Task] = [references.ScipyBuild(host), *(Build(fixture) for fixture in fixtures)]
    for operation in OPERATIONS:
        tasks += [operation(fixture, batch, selection.pairs) for batch in selection.batches for fixture in fixtures]
    tasks += [Stream(fixture) for fixture in fixtures]
    for name in selection.algorithms_of(DEMO):
        tasks += [
            *_peers(host, name, (references.SCIPY, references.IGRAPH)),
            *(FromScratch(fixture, name) for fixture in fixtures),
        ]
        tasks += [Stream(fixture, name) for fixture in fixtures]
    return tasks


def bench_tasks(suite: str, selection: Selection, data: Any) -> list[Task]:
    """Return the tasks of ``suite``, ordered by backend, so that the graphs of one are freed before those of the next.

    The tasks of the crossover map are ordered by form of the graph first. "all" stands for several suites, whose tasks
    share no graphs. ``data`` is an ``Input``, or a ``DrawnInput`` for suites that draw their graphs in pieces.
    """
    if selection.against:
        return against(suite, selection, data)
    tasks: list[Task] = []
    for name in selection.backends:
        for part in parts_of(suite):
            tasks += _of(part, BACKEND_TASKS[part](selection, selection.fixture(name, data)))
    for part in parts_of(suite):
        if part in REFERENCE_TASKS:
            tasks += _of(part, REFERENCE_TASKS[part](selection, data))
    return _form_by_form(tasks) if suite == "crossover" else tasks


def parts_of(suite: str) -> tuple[str, ...]:
    """Return the names of the suites that ``suite`` stands for: several if it is "all", else itself."""
    return ALL if suite == "all" else (suite,)


def _of(suite: str, tasks: list[Task]) -> list[Task]:
    for task in tasks:
        task.suite = suite
    return tasks


def _operations(selection: Selection, fixture: Fixture) -> list[Task]:
    scenario, batches = selection.scenario, selection.batches
    sweep: list[Task] = [kind(fixture, batch, selection.pairs, scenario) for kind in OPERATIONS for batch in batches]
    if scenario != "fresh":
        return [Memory(fixture, scenario), *sweep]
    churned = selection.fixture(fixture.backend, fixture.data)  # a graph of its own: churn does not restore it
    churns = [Churn(churned, batch) for batch in batches]
    vertices = [kind(fixture, size) for kind in VERTEX_TASKS for size in selection.vertex_sizes(fixture.data)]
    return [*_builds(selection, fixture), Memory(fixture), *sweep, *churns, *vertices]


def _builds(selection: Selection, fixture: Fixture) -> list[Task]:
    """Return bulk builds in every order of edges (with hints, too, if selected), and growth without hints."""
    plain = selection.fixture(fixture.backend, fixture.data, hints=False)
    built = [plain, fixture] if fixture.hints else [plain]
    growths = [Growth(plain, size) for size in selection.growth_sizes(fixture.data)]
    return [*(Build(each, order) for each in built for order in ORDERS), *growths]


def _operation_references(selection: Selection, data: Input) -> list[Task]:
    if selection.scenario != "fresh":
        return []
    tasks: list[Task] = [references.ScipyBuild(selection.fixture(references.SCIPY, data))]
    if selection.dummy:
        fixture = selection.dummy_fixture(data)
        tasks += [kind(fixture, batch, selection.pairs) for kind in OPERATIONS for batch in selection.batches]
    return tasks


def _algorithms(selection: Selection, fixture: Fixture) -> list[Task]:
    names, sizes = selection.algorithms_of("algorithms"), selection.update_sizes(fixture.data)
    tasks: list[Task] = []
    for name in names:
        tasks.append(FromScratch(fixture, name))
        tasks += [
            task(fixture, name, size, kind)
            for task in (KeptCurrent, UpdateAlone)
            for kind in DELETION_SHARES
            for size in sizes
        ]
        size = min(constants.SPEEDUP_BATCH, sizes[-1])
        tasks += [TenBatches(fixture, name, size, kind) for kind in (INSERTIONS, DELETIONS)]
        tasks.append(KeptCurrentWithout(fixture, name, min(sizes[0], max(1, fixture.data.num_vertices // 2))))
    if fixture.data.temporal:
        tasks += [kind(fixture, name) for kind in (Stream, Window) for name in (None, *names)]
    return tasks


def _methods(selection: Selection, fixture: Fixture) -> list[Task]:
    tasks: list[Task] = []
    for name in selection.algorithms or tuple(algorithms()):
        for variant in algorithm(name).variants():
            tasks += [Method(fixture, name, size, variant) for size in methods.sizes(len(fixture.data.model))]
            tasks += [StreamedMethod(fixture, name, variant)] if fixture.data.temporal else []
    return tasks


def _quality(selection: Selection, fixture: Fixture) -> list[Task]:
    names = selection.algorithms_of("quality")
    return [task for name in names for task in qualities.tasks_of(fixture, name, peers=False)]


def _quality_peers(selection: Selection, data: Input) -> list[Task]:
    fixture, names = selection.fixture(selection.main_backend, data), selection.algorithms_of("quality")
    return [task for name in names for task in qualities.tasks_of(fixture, name, peers=True)]


def _crossover(selection: Selection, fixture: Fixture) -> list[Task]:
    return _cells(selection, fixture, Crossing)


def _rebuilds(selection: Selection, data: Input) -> list[Task]:
    if BASELINE not in selection.backends:
        return []
    return _cells(selection, selection.fixture(BASELINE, data), Rebuilding)


def _cells(selection: Selection, fixture: Fixture, kind: type[Crossing]) -> list[Task]:
    """Return tasks of the class ``kind``, one for each use and batch size of the crossover map.

    Batch sizes above the power of two nearest to the number of edges are left out, unless they were selected.
    """
    asked = selection.updates or constants.CROSSOVER_BATCHES
    sizes = tuple(size for size in asked if size <= power_near(fixture.data.edges_given))
    uses = selection.algorithms or (*USES, *selection.algorithms_of("crossover"))
    return [kind(fixture, use, size, sizes) for use in uses for size in selection.updates or sizes]


def _form_by_form(tasks: list[Any]) -> list[Task]:
    """Return ``tasks`` of the crossover map, sorted by the form of their graph (weights, directions, in-edges).

    The sort is stable. If the run is interrupted, all backends have rows for the forms that were measured until then.
    """
    forms: dict[str, tuple[bool, ...]] = {}
    for task in tasks:
        forms.setdefault(task.use, task.graph_form)
    order = list(dict.fromkeys(forms.values()))
    return sorted(tasks, key=lambda task: order.index(forms[task.use]))


def _algorithm_references(selection: Selection, data: Input) -> list[Task]:
    fixture = selection.fixture(references.SCIPY, data)
    return [task for name in selection.algorithms_of("algorithms") for task in _peers(fixture, name)]


def _peers(fixture: Fixture, name: str, libraries: tuple[str, ...] = references.USUAL) -> list[Task]:
    return [references.Peer(fixture, name, each) for each in libraries_of(algorithm(name), libraries)]


def _kernels(suite: str) -> Callable[[Selection, Fixture], list[Task]]:
    """Return the tasks of a ``suite`` of algorithms from scratch."""
    return lambda selection, fixture: [
        FromScratch(fixture, name, selection.params_of(suite, name), weighted=selection.weighs(suite, name))
        for name in selection.algorithms_of(suite)
    ]


def against(suite: str, selection: Selection, data: Input) -> list[Task]:
    """Return the tasks of ``--against``: algorithms of ``suite`` from scratch, by turns with each library selected.

    Raises:
        ValueError: a library has none of the algorithms.
    """
    pairs = [
        (name, each)
        for name in selection.algorithms_of(suite)
        for each in libraries_of(algorithm(name), selection.against)
        if not selection.params_of(suite, name)
    ]
    if lacking := set(selection.against) - {each for _, each in pairs}:
        raise ValueError(f"{min(lacking)} has none of these algorithms, or is not installed")
    fixtures = [selection.fixture(name, data) for name in selection.backends]
    how, weighs = {"processor_time": selection.processor_time}, selection.weighs
    tasks: list[Task] = [
        references.Against(fixture, name, each, weighted=weighs(suite, name), **how)
        for fixture in fixtures
        for name, each in pairs
    ]
    return _of(suite, tasks)


def _reduce(selection: Selection, fixture: Fixture) -> list[Task]:
    return [*(Reduce(fixture, *case) for case in _sums()), Propagate(fixture)]


def _reduce_references(selection: Selection, data: Input) -> list[Task]:
    fixture = selection.fixture(references.SCIPY, data)
    return [*(references.ScipyReduce(fixture, *case) for case in _sums()), references.ScipyLevels(fixture)]


def _sums() -> list[tuple[str, str]]:
    return [(function, dtype) for function in ("sum", "product") for dtype in constants.VALUE_DTYPES]


def _sweep(selection: Selection, fixture: Fixture) -> list[Task]:
    tasks: list[Task] = []
    for change in settings(backends()[fixture.backend], selection.options, selection.knobs):
        turned, sizes = selection.knob_fixture(fixture.backend, fixture.data, change), selection.sweep_sizes()
        tasks += [Build(turned), Memory(turned), Reduce(turned, "sum", "float32")]
        tasks += [kind(turned, batch, selection.pairs, selection.scenario) for batch in sizes for kind in OPERATIONS]
    return tasks


def _memory(selection: Selection, fixture: Fixture) -> list[Task]:
    changes = widths(backends()[fixture.backend], selection.options)
    return [Footprint(selection.knob_fixture(fixture.backend, fixture.data, change)) for change in changes]


def _short(selection: Selection, fixture: Fixture) -> list[Task]:
    kind, usual = (
        (HostTime, constants.BESIDE_BATCHES) if fixture.device.is_cuda else (ShortCalls, constants.SHORT_BATCHES)
    )
    sizes = selection.updates or usual
    return [
        *(kind(fixture, size) for size in sizes),
        *(kind(fixture, size, in_edges=True) for size in sizes),
        *(kind(fixture, size, name) for name in selection.algorithms_of("short") for size in sizes),
    ]


def _replay(selection: Selection, fixture: Fixture) -> list[Task]:
    names, sizes = (None, *selection.algorithms_of("replay")), selection.updates or (None,)
    return [Replay(fixture, name, size) for name in names for size in sizes]


def _usage(selection: Selection, fixture: Fixture) -> list[Task]:
    sizes = selection.updates or constants.USAGE_BATCHES
    single = [kind(fixture, 1) for kind in OPERATIONS]
    for task in single:
        task.least_repeats = constants.LATENCY_REPEATS
    return [
        *single,
        *(kind(fixture, size, pairs) for pairs in ("hub", "sorted") for kind in OPERATIONS for size in sizes),
        *(ReadsAndWrites(fixture, size, share) for share in READ_SHARES for size in sizes),
        *(kind(fixture, size) for kind in VERTEX_TASKS for size in selection.vertex_sizes(fixture.data)),
        Peak(fixture, "bulk build"), *(Peak(fixture, kind, size) for kind in PEAKS for size in sizes),
    ]  # fmt: skip


def _ablations(selection: Selection, fixture: Fixture) -> list[Task]:
    sizes = selection.updates or (constants.ABLATION_BATCH,)
    tasks: list[Task] = []
    for change in switches(backends()[fixture.backend], selection.options, selection.knobs):
        turned = selection.knob_fixture(fixture.backend, fixture.data, change)
        tasks += [kind(turned, size) for kind in OPERATIONS for size in sizes]
        for name in selection.algorithms_of("ablations"):
            tasks += [FromScratch(turned, name), *(UpdateAlone(turned, name, size, INSERTIONS) for size in sizes)]
        tasks += [kind(turned, scheme) for kind in ABLATIONS for scheme in kind.schemes]
        inserted = ((kind, scheme) for kind in (ComponentsByEdges, NewDegrees) for scheme in kind.schemes)
        tasks += [kind(turned, scheme, size) for kind, scheme in inserted for size in sizes]
    return tasks


def _stream(selection: Selection, fixture: Fixture) -> list[Task]:
    data, names = fixture.data, selection.algorithms_of("stream")
    sizes = selection.updates or dict.fromkeys(slide_of(data, share) for share in shares(selection.quick))
    tasks: list[Task] = []
    for size in sizes:
        for name in (None, *names):
            tasks += [slides.Slide(fixture, size, name), slides.JobSlide(fixture, size, name)]
            tasks += [slides.Slide(fixture, size, name, copied=True)] if fixture.device.is_cuda else []
    for task in tasks:
        task.least_repeats = constants.QUICK_SLIDES if selection.quick else constants.SLIDES
    return tasks + (_curve_and_jobs(selection, fixture) if fixture.backend == selection.main_backend else [])


def _curve_and_jobs(selection: Selection, fixture: Fixture) -> list[Task]:
    data, names = fixture.data, selection.algorithms_of("stream")
    at_once = (selection.updates or (constants.JOB_SLIDE,))[0]
    times = constants.QUICK_LONG_TIMES if selection.quick else constants.LONG_TIMES
    return [
        *(curve.CurveSlide(fixture, size, name, way)
          for name in names for size in _curve_sizes(selection, data) for way in curve.WAYS),
        jobs.FromCsv(fixture, at_once), jobs.FromParquet(fixture, at_once), jobs.JobAlone(fixture, at_once),
        jobs.LongJob(fixture, at_once, times * len(data.src)), *(
            [jobs.MadeOnDevice(fixture, at_once, len(data.src), times * constants.DEVICE_TIMES * len(data.src))]
            if fixture.device.is_cuda else []
        ),
    ]  # fmt: skip


def _curve_sizes(selection: Selection, data: Input) -> list[int]:
    """Return the numbers of events per slide for the curve, without repeats.

    They are the selected ones, else fixed shares of the number of the input's events.
    """
    usual = constants.QUICK_CURVE_SHARES if selection.quick else constants.CURVE_SHARES
    return [*dict.fromkeys(selection.updates or [slide_of(data, share) for share in usual])]


def _stream_references(selection: Selection, data: Input) -> list[Task]:
    """Return tasks of SciPy and igraph for the curve, with one size of slide: their time does not depend on it."""
    sizes, fixture = _curve_sizes(selection, data), selection.fixture(references.SCIPY, data)
    return [
        task
        for name in selection.algorithms_of("stream")
        for task in curve.peers_of(fixture, sizes[len(sizes) // 2], name)
    ]


def _window(selection: Selection, fixture: Fixture) -> list[Task]:
    return [LongWindow(fixture, size) for size in selection.updates or (None,)]


def _events(selection: Selection, fixture: Fixture) -> list[Task]:
    """Return tasks on logs, which have no backend, and on windows, for the main backend alone."""
    if fixture.backend != selection.main_backend:
        return []
    on_cuda = fixture.device.is_cuda
    sizes = selection.updates or (constants.CUDA_EVENTS if on_cuda else constants.EVENTS,)
    tasks: list[Task] = [LogBuild(fixture), LogSingles(fixture)]
    tasks += [kind(fixture, size) for size in sizes for kind in (LogAppend, LogSlide, WindowWithLog)]
    tasks += [
        LogSample(fixture, seeds, [*constants.FAN], take)
        for seeds in constants.EVENT_SEEDS
        for take in ("uniform", "recent")
    ]
    walks = (TimeWalks(fixture, *constants.WALKS, bias) for bias in ("uniform", "exponential"))
    return [*tasks, EarliestArrival(fixture), *walks]


BACKEND_TASKS: dict[str, Callable[[Selection, Fixture], list[Task]]] = {
    "operations": _operations, "algorithms": _algorithms, "reduce": _reduce, "sweep": _sweep,
    "memory": _memory, "methods": _methods, "crossover": _crossover, "window": _window,
    "usage": _usage, "short": _short, "ablations": _ablations, "stream": _stream,
    "replay": _replay, "quality": _quality, "events": _events, **{suite: _kernels(suite) for suite in KERNELS},
}  # fmt: skip
REFERENCE_TASKS: dict[str, Callable[[Selection, Input], list[Task]]] = {
    "operations": _operation_references, "algorithms": _algorithm_references, "reduce": _reduce_references,
    "crossover": _rebuilds, "stream": _stream_references,
    "quality": _quality_peers,
}  # fmt: skip


def check_options(selection: Selection) -> None:
    """Raise ``ValueError``, which names the backend, if a selected backend refuses the selected options."""
    for name in selection.backends:
        try:
            Graph(1, backend=name, device=selection.device, checks=selection.checks, **selection.options)
        except (ValueError, TypeError, MemoryError) as error:
            raise ValueError(f"backend {name!r} refuses the options: {error}") from error
