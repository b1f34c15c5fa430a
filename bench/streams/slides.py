"""Workloads on slides of a window, as Sha et al. (2017) measure them.

The window holds half of the events and moves by a share of them; after each slide there is an answer. Components, ranks
and the like are kept current by a tracker; algorithms with a source search from a random one after each slide. A slide
is made *by hand*, as one batch that lies on the device already or is copied from the host in the timed call, or by a
*job* (``suricate.stream.Window``), timed end to end from arrays on the host.

Whatever their names, the argument of ``action`` is what ``prepare`` returned for the repeat, and the arguments of
``check`` and ``restore`` are that and what ``action`` returned.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

import suricate.stream as st
from suricate.base.types import ends_of
from suricate.bench import constants
from suricate.bench.fixtures import Fixture
from suricate.bench.runner import Skipped
from suricate.bench.streams.events import EventStream, stream_of, window_of
from suricate.bench.verify.edges import check_content
from suricate.bench.workloads.algorithms import Subject
from suricate.bench.workloads.base import FixtureTask
from suricate.graph.delta import Batch
from suricate.plugins import algorithm as algorithm_named

STORE, CURRENT, SCRATCH, SEARCH = "store alone", "kept current", "from scratch", "from a random root"


def way_of(algorithm: str | None) -> str:
    """Return how the answer of ``algorithm`` after each slide is obtained, one of the constants of this module.

    It is ``STORE`` (no answer) without an algorithm, ``SEARCH`` if it has a parameter ``source``, else ``CURRENT``.
    """
    if algorithm is None:
        return STORE
    return SEARCH if "source" in inspect.signature(algorithm_named(algorithm)).parameters else CURRENT


class Sliding(FixtureTask):
    """Base of the tasks on a window that slides, with an answer after each slide.

    Args:
        fixture: backend and input.
        size: number of events that enter the window in a slide; as many leave.
        algorithm: the algorithm whose result is the answer, or None.
        way: how the answer is obtained: ``STORE`` (there is none), ``CURRENT`` (by a tracker), ``SCRATCH`` (computed
            from scratch) or ``SEARCH`` (computed from a random source).
        words: further texts for the detail of the row.
    """

    def __init__(self, fixture: Fixture, size: int, algorithm: str | None, way: str, *words: str) -> None:
        size = min(size, window_of(fixture.data))
        super().__init__(fixture, size)
        self.items, self.algorithm, self.way = size, algorithm, way
        self.subject = Subject(fixture, algorithm) if algorithm else None
        self.label_row(way, *words)
        self.verified_repeats = constants.VERIFIED_SLIDES
        self.least_repeats = constants.SLIDES
        if self.subject:
            self.oracle = f"{FixtureTask.oracle}; {self.subject.oracle}"
        self.rng = fixture.rng("roots", size)
        self.stream: EventStream
        self.error: float | None = None

    @property
    def directed(self) -> bool:
        """Whether the graph is directed; it is, unless the algorithm needs an undirected one."""
        return self.subject is None or self.subject.directed

    def begin(self) -> EventStream:
        """Raise ``Skipped`` if the algorithm cannot be verified or needs weights; return a new stream of the events."""
        if self.subject:
            self.subject.demand()
            if self.subject.weighted:
                raise Skipped(f"{self.algorithm} needs weights, streams of this suite have none")
        return stream_of(self.fixture, directed=self.directed)

    def answer(self, graph: Any) -> Any:
        """Return the answer computed from scratch on ``graph``; None if there is none or a tracker has it."""
        if self.subject is None or self.way == CURRENT:
            return None
        if self.way == SEARCH:
            self.subject.params = {**self.subject.params, "source": int(self.rng.choice(self.roots))}
        instance = self.subject.new()
        instance.compute(graph)
        return instance.result

    def verify(self, graph: Any, result: Any, stream: EventStream) -> None:
        """Verify that ``graph`` has the edges of the window of ``stream``, and that ``result`` is right for them.

        ``result`` is not verified if it is None.
        """
        model = stream.model()
        check_content(graph, model)
        if self.subject and result is not None:
            self.error = self.subject.check(result, model)

    def start_tracking(self, track: Any) -> None:
        """If the answer is kept current, track the algorithm; also list the sources that searches choose from.

        ``track``: the method of the graph or job that makes a tracker.
        """
        self.roots = np.unique(self.fixture.data.src)
        self.tracker = track(self.subject.kind, **self.subject.params) if self.way == CURRENT and self.subject else None

    def extra(self) -> dict[str, Any]:
        """Return the window's number of events, the share that a slide changes, and the answer's error, by name.

        With a tracker also how often it updated its result ("updated") or computed it from scratch ("computed").
        """
        told: dict[str, Any] = {"window": self.stream.window, "share": self.items / len(self.fixture.data.src)}
        told |= {} if self.error is None else {"error": self.error}
        if self.tracker is not None:
            told |= {"updated": self.tracker.updates.updated, "computed": self.tracker.updates.computed}
        return told


class Slide(Sliding):
    """A slide by hand: one batch with the net change of the window, which is determined untimed.

    ``copied``: whether the batch is on the host, so that the timed call copies it to the device.
    """

    workload = "slide"
    does = "moves the window by a share of the edges with one batch, and has the answer of an algorithm after it"

    def __init__(
        self, fixture: Fixture, size: int, algorithm: str | None = None, way: str | None = None, *, copied: bool = False
    ) -> None:
        words = "" if not fixture.device.is_cuda else "copies shown" if copied else "copies hidden"
        super().__init__(fixture, size, algorithm, way or way_of(algorithm), words)
        self.copied = copied

    def setup(self) -> None:
        """Build a graph of the first window, and track the algorithm if its result is kept current."""
        self.stream = self.begin()
        form = self.subject.form if self.subject else {"weighted": False, "directed": True}
        self.graph = self.fixture.empty_graph(in_edges=self.subject is not None, **form)
        self.graph.insert_edges(*self.fixture.upload(*self.stream.content()))
        self.start_tracking(self.graph.track)

    def prepare(self) -> Batch:
        """Slide the expected window; return the batch of edges that it loses (to delete) and gains (to insert).

        Its arrays are on the host if the task is ``copied``, else on the device.
        """
        gone, new = (ends_of(keys) for keys in self.stream.slide(self.items))
        if not self.copied:
            gone, new = (self.fixture.upload(*ends)[:2] for ends in (gone, new))
        return Batch(delete=gone, insert=new)

    def action(self, batch: Batch) -> Any:
        """Apply the batch; return the answer: the tracker's result, one computed from scratch, or None."""
        self.graph.apply(batch)
        return self.answer(self.graph) if self.tracker is None else self.tracker.result

    def check(self, batch: Batch, result: Any) -> None:
        """Verify the edges of the graph and the answer ``result`` after the batch."""
        self.verify(self.graph, result, self.stream)

    def finish(self) -> None:
        """Verify the edges of the graph and the tracker's result after the last repeat; then drop the graph."""
        self.verify(self.graph, None if self.tracker is None else self.tracker.result, self.stream)
        self.graph = None


class JobSlide(Sliding):
    """A slide of a job over arrays on the host: counting of events, net change, copies, store and answer are timed."""

    workload = "slide of a job"
    does = "the next slide of a window over arrays on the host, end to end, with the answer of an algorithm after it"

    def __init__(self, fixture: Fixture, size: int, algorithm: str | None = None) -> None:
        super().__init__(fixture, size, algorithm, way_of(algorithm))

    def setup(self) -> None:
        """Make the job, and let it run until its window is full."""
        self.stream = self.begin()
        self.slide: Any = None
        self.job: Any = job_of(
            self.fixture, self.stream.chunks(self.items), self.stream.window, self.items, self.subject
        )
        self.start_tracking(self.job.track)
        while self.job.past.events < self.stream.window:
            self.slide = next(self.job)
        self.stream.slide(self.job.past.events - self.stream.window)

    def prepare(self) -> None:
        """Slide the expected window, with which the job's graph is compared after the action."""
        self.stream.slide(self.items)

    def action(self, prepared: None) -> Any:
        """Let the job do its next slide; return the answer: the tracker's result, one from scratch, or None."""
        self.slide = next(self.job)
        return self.answer(self.slide.graph) if self.tracker is None else self.tracker.result

    def check(self, prepared: None, result: Any) -> None:
        """Verify the edges of the job's graph and the answer ``result`` after the slide."""
        self.verify(self.slide.graph, result, self.stream)

    def finish(self) -> None:
        """Verify the edges of the job's graph and the tracker's result after the last repeat; then drop the job."""
        self.verify(self.slide.graph, None if self.tracker is None else self.tracker.result, self.stream)
        self.parts = parts_of(self.job)
        self.job = self.slide = None

    def extra(self) -> dict[str, Any]:
        """Return what :meth:`Sliding.extra` does (size of the window, share of a slide, error), and seconds, by name.

        The seconds are medians over the slides, one for each step of the job.
        """
        return {**super().extra(), **self.parts}


def job_of(
    fixture: Fixture, source: Any, window: int, slide: int, subject: Subject | None = None, **options: Any
) -> st.Window:
    """Return a job over unweighted events, whose graph has the fixture's backend and settings.

    Args:
        fixture: backend and device of the graph.
        source: the events, as ``suricate.stream.Window`` takes them.
        window, slide: numbers of events of the window and of a slide.
        subject: the algorithm, which determines whether the graph is directed; None: directed.
        options: further arguments of ``suricate.stream.Window``.
    """
    directed = subject is None or subject.directed
    graph = {"directed": directed, "weight_dtype": None, **fixture.settings}
    if not options.get("names"):
        graph["num_vertices"] = fixture.data.num_vertices
    return st.Window(source, size=window, slide=slide, graph=graph, **options)


def parts_of(job: st.Window) -> dict[str, float]:
    """Return the median seconds that a slide of ``job`` spends in each step, by name; only its later half counts."""
    history = job.history
    half = len(history) // 2
    return {f"{part}_s": float(np.median(history[part][half:])) for part in ("source", "window", "graph", "total")}
