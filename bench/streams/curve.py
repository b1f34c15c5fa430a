"""The curve that users ask for: the time per slide, by the share of the graph that changes in it.

After each slide an answer is kept current, or computed from scratch on the same graph, or computed by SciPy or igraph,
which first build their own graph of the window's events. In tasks ``events`` is what ``prepare`` returned for the
repeat: sources and destinations of the events in the window.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from suricate.bench.fixtures import Fixture
from suricate.bench.runner import Task
from suricate.bench.streams.events import stream_of, window_of
from suricate.bench.streams.slides import CURRENT, SCRATCH, Slide
from suricate.bench.workloads.algorithms import Subject
from suricate.bench.workloads.references import IGRAPH, SCIPY, libraries_of

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
    """Base of the tasks of other libraries on the CPU: after a slide, build a graph of the window and compute on it."""

    workload = CURVE
    detail = "graph built from scratch"

    def __init__(self, fixture: Fixture, size: int, algorithm: str) -> None:
        size = min(size, window_of(fixture.data))
        self.fixture, self.items, self.batch, self.algorithm = fixture, size, size, algorithm
        self.subject, self.data = Subject(fixture, algorithm), fixture.data
        self.error: float | None = None

    def setup(self) -> None:
        """Make the stream of events, with a full window; raise ``Skipped`` if the algorithm cannot be verified."""
        self.subject.demand()
        self.stream = stream_of(self.fixture, directed=self.subject.directed)

    def prepare(self) -> tuple[np.ndarray, np.ndarray]:
        """Slide the window; return sources and destinations of its events, int32, in both directions if undirected."""
        self.stream.slide(self.items)
        src, dst = self.stream.events()
        if not self.subject.directed:
            src, dst = np.concatenate((src, dst)), np.concatenate((dst, src))
        return src.astype(np.int32), dst.astype(np.int32)

    def check(self, events: tuple[np.ndarray, np.ndarray], result: Any) -> None:
        """Record the numerical error of ``result`` if it has a value per vertex; other results are not compared."""
        kind, model = self.subject.kind, self.stream.model()
        if isinstance(result, list | np.ndarray) and len(result) == self.data.num_vertices:
            right = kind.reference(*model.arcs(), self.data.num_vertices, model.directed, **self.subject.params)
            self.error = kind.error(np.asarray(result), right)

    def extra(self) -> dict[str, Any]:
        """Return the window's number of events, the share that a slide changes, and the error if known, by name."""
        told = {"window": self.stream.window, "share": self.items / len(self.data.src)}
        return told | ({} if self.error is None else {"error": self.error})


class ScipyRebuilt(Rebuilt):
    """SciPy builds a CSR matrix of the window's events, then runs the algorithm's ``peer()`` on it."""

    backend = SCIPY

    def action(self, events: tuple[np.ndarray, np.ndarray]) -> Any:
        """Build the CSR matrix of ``events`` (sources, destinations); return the result of ``peer()``."""
        n = self.data.num_vertices
        matrix = sparse.coo_array((np.ones(len(events[0]), np.int32), events), shape=(n, n)).tocsr()
        matrix.data[:] = 1  # an edge counts once, however many events it has
        return self.subject.kind.peer(matrix, **self.subject.params)


class IgraphRebuilt(Rebuilt):
    """igraph builds a graph of the window's distinct edges, then runs the algorithm's ``igraph_peer()`` on it."""

    backend = IGRAPH

    def setup(self) -> None:
        """Make the stream of events, with a full window."""
        super().setup()
        self.repeats_edges = len(self.data.model) < len(self.data.src)

    def action(self, events: tuple[np.ndarray, np.ndarray]) -> Any:
        """Build an igraph graph of ``events`` (sources, destinations); return the result of ``igraph_peer()``."""
        import igraph

        edges = np.stack(events, 1)
        graph = igraph.Graph(self.data.num_vertices, edges, directed=self.subject.directed)
        if self.repeats_edges or not self.subject.directed:
            graph.simplify(multiple=True, loops=False)
        return self.subject.kind.igraph_peer(graph, **self.subject.params)


def peers_of(fixture: Fixture, size: int, algorithm: str) -> list[Task]:
    """Return a task for each of SciPy and igraph that has the algorithm; a slide moves ``size`` events."""
    kind = Subject(fixture, algorithm).kind
    found: list[Task] = [ScipyRebuilt(fixture, size, algorithm)] if kind.has_peer() else []
    return found + ([IgraphRebuilt(fixture, size, algorithm)] if IGRAPH in libraries_of(kind) else [])
