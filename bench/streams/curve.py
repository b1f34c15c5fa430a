"""The curve that users ask for: the time per slide, by the share of the graph that changes in it.

After each slide an answer is kept current, or computed from scratch on the same graph, or computed by SciPy or igraph,
which first build their own graph of the window's events. In tasks ``events`` is what ``prepare`` returned for the
repeat: sources and destinations of the events in the window.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.bench import peers
from suricate.bench.fixtures import Fixture
from suricate.bench.runner import Task
from suricate.bench.streams.events import stream_of, window_of
from suricate.bench.streams.slides import CURRENT, SCRATCH, Slide
from suricate.bench.verify.results import reference_of
from suricate.bench.workloads.algorithms import Subject
from suricate.bench.workloads.references import IGRAPH, SCIPY

CURVE = "curve"
WAYS = (CURRENT, SCRATCH)


class CurveSlide(Slide):
    """A slide of the curve; copies to the device are timed, too, as users of a GPU have their events on the host."""

    workload = CURVE
    does = "a slide of a share of the edges with the answer kept current, or computed from scratch, copies included"

    def __init__(self, fixture: Fixture, size: int, algorithm: str, way: str) -> None:
        super().__init__(fixture, size, algorithm, way, copied=True)
        self.least_repeats = 0

    def answer(self, graph: Any) -> Any:
        """Return the result computed from scratch on ``graph``; None if a tracker keeps it current."""
        if self.way == CURRENT:
            return None
        instance = self.subject.new() if self.subject else None
        if instance is None:
            return None
        instance.compute(graph)
        return instance.result


class Rebuilt(Task):
    """After a slide another library builds a graph of the window's distinct edges on the CPU, and computes on it."""

    workload = CURVE
    detail = "graph built from scratch"

    def __init__(self, fixture: Fixture, size: int, algorithm: str, library: str) -> None:
        size = min(size, window_of(fixture.data))
        self.fixture, self.items, self.batch, self.algorithm = fixture, size, size, algorithm
        self.subject, self.data, self.backend = Subject(fixture, algorithm), fixture.data, library
        self.there = peers.library(library)
        self.oracle, self.answer = self.subject.oracle, self.there.ANSWERS[algorithm]

    def setup(self) -> None:
        """Make the stream of events, with a full window; raise ``Skipped`` if the algorithm cannot be verified."""
        self.subject.demand()
        self.stream = stream_of(self.fixture, directed=self.subject.directed)
        self.repeats_edges = len(self.subject.model) < len(self.data.src)

    def prepare(self) -> tuple[np.ndarray, np.ndarray]:
        """Slide the window; return sources and destinations of its events."""
        self.stream.slide(self.items)
        return self.stream.events()

    def action(self, events: tuple[np.ndarray, np.ndarray]) -> Any:
        """Build a graph of ``events``; return the library's answer."""
        graph = self.there.build(*events, None, self.data.num_vertices, self.subject.directed)
        graph = self.there.distinct(graph) if self.repeats_edges else graph
        return self.answer.compute(graph, **self.subject.params)

    def check(self, events: tuple[np.ndarray, np.ndarray], result: Any) -> None:
        """Compare the answer with the algorithm's reference."""
        model = self.stream.model()
        right = reference_of(self.subject.kind, self.subject.params, model, self.data.num_vertices)
        peers.check(self.subject.kind, self.answer, result, right, self.subject.params)

    def extra(self) -> dict[str, Any]:
        """Return the window's number of events, and the share that a slide changes, by name."""
        return {"window": self.stream.window, "share": self.items / len(self.data.src)}


def peers_of(fixture: Fixture, size: int, algorithm: str) -> list[Task]:
    """Return a task for each of SciPy and igraph that has the algorithm; a slide moves ``size`` events."""
    found = peers.libraries_of(Subject(fixture, algorithm).kind, (SCIPY, IGRAPH))
    return [Rebuilt(fixture, size, algorithm, name) for name in found]
