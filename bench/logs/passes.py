"""Workloads that pass over a log: earliest arrival, walks; and windows that keep a log.

As in ``tasks``, ``action`` is given what ``prepare`` returned, ``check`` and ``restore`` also what ``action`` returned.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.bench import constants
from suricate.bench.fixtures import Fixture
from suricate.bench.logs.tasks import LogTask
from suricate.bench.logs.turns import ByTurns
from suricate.bench.streams.events import stream_of, window_of
from suricate.bench.streams.slides import job_of
from suricate.bench.verify.edges import check_content, expect
from suricate.plugins import functions

NEVER = 2**63 - 1


class EarliestArrival(LogTask):
    """When each vertex is reached first from the vertex of most neighbours."""

    workload, oracle = "earliest arrival", "a plain loop over the events"
    does = "find when each vertex is reached first from the one of largest out-degree, by all events"

    def __init__(self, fixture: Fixture) -> None:
        super().__init__(fixture, None, "out")  # CUDA reads rows, and the CPU passes over all events
        self.items = self.live

    def action(self, prepared: None) -> Any:
        """Pass."""
        return functions()["earliest_arrival"](self.log, self.fixture.data.source)

    def check(self, prepared: None, result: Any) -> None:
        """Compare with the vertices that a plain loop reaches, and when."""
        time, src, dst = self.events(0, self.live)
        source = self.fixture.data.source
        reached = {source: int(time[0]) - 1}
        for t, u, v in zip(time.tolist(), src.tolist(), dst.tolist(), strict=True):
            if v not in reached and reached.get(u, t) < t:
                reached[v] = t
        reached[source] += 1
        expected = np.full(self.fixture.data.num_vertices, NEVER)
        expected[list(reached)] = list(reached.values())
        expect(np.array_equal(self.device.to_numpy(result.time), expected), "a vertex is reached at another time")


class TimeWalks(LogTask):
    """Walks in time from random vertices; the rate is that of steps, were all of them there."""

    workload, oracle = "walks in time", "the events as they were given: each step is one, none is left at the end"
    does = "walk by events of ascending time from random vertices"

    def __init__(self, fixture: Fixture, count: int, length: int, bias: str) -> None:
        super().__init__(fixture, count, "out", f"{length} steps, {bias}")
        self.length, self.bias, self.items = length, bias, count * length

    def setup(self) -> None:
        """Make the log."""
        super().setup()
        self.rng = self.fixture.rng("walks", self.batch)

    def prepare(self) -> np.ndarray:
        """Return the starts."""
        return self.rng.integers(0, self.fixture.data.num_vertices, self.batch)

    def action(self, starts: np.ndarray) -> Any:
        """Walk."""
        return functions()["temporal_walks"](self.log, starts, self.length, bias=self.bias)

    def check(self, starts: np.ndarray, walks: Any) -> None:
        """Verify each step, and that a walk ends where no event is later."""
        time, src, dst = self.events(0, self.live)
        vertex, event, when = map(self.device.to_numpy, walks)
        taken = event >= 0
        expect(np.array_equal(vertex[:, 0], starts), "a walk has another start")
        steps = event[taken]
        for values, ends in ((vertex[:, :-1], src), (vertex[:, 1:], dst), (when, time)):
            expect(np.array_equal(values[taken], ends[steps]), "a step is no event")
        before = np.full(when.shape, int(time[0]) - 1)
        before[:, 1:] = when[:, :-1]
        expect((when > before)[taken].all() and (taken[:, :-1] >= taken[:, 1:]).all(), "a step is not later")
        last = np.full(self.fixture.data.num_vertices, int(time[0]) - 1)
        last[src] = time  # of equal places the last value stays
        ends = ~taken & np.pad(taken, ((0, 0), (1, 0)), constant_values=True)[:, :-1]
        expect((last[vertex[:, :-1][ends]] <= before[ends]).all(), "a walk ends although an event is later")


class WindowWithLog(ByTurns):
    """The next slide of a window that keeps its events by vertex, by turns with one that does not."""

    workload, oracle = "slide with events", "sets of the window's edges; its events"
    does = "the next slide of a job with events='in', by turns with that of a job without"

    def __init__(self, fixture: Fixture, size: int) -> None:
        super().__init__(fixture, min(size, window_of(fixture.data)))
        self.items = self.batch or 0
        self.label_row("beside a window without")
        self.verified_repeats, self.least_repeats = constants.VERIFIED_SLIDES, constants.MIN_REPEATS

    def setup(self) -> None:
        """Make both jobs, and let them run until their windows are full."""
        self.start()
        self.stream = stream_of(self.fixture)
        kinds: tuple[dict[str, Any], ...] = {"events": "in"}, {}
        self.jobs = [
            job_of(self.fixture, self.stream.chunks(self.items), self.stream.window, self.items, **options)
            for options in kinds
        ]
        while self.jobs[0].past.events < self.stream.window:
            self.slides = [next(job) for job in self.jobs]
        self.stream.slide(self.jobs[0].past.events - self.stream.window)

    def draw(self) -> None:
        """Slide the expected window."""
        self.stream.slide(self.items)

    def ours(self, given: None) -> Any:
        """Slide the window that keeps its events."""
        return next(self.jobs[0])

    def other(self, given: None) -> Any:
        """Slide the other one."""
        return next(self.jobs[1])

    def check(self, given: None, slide: Any) -> None:
        """Compare the graph with the edges of the window, and the log with its events."""
        check_content(slide.graph, self.stream.model())
        log, ends = slide.log, self.stream.events()
        expect(len(log) == self.stream.window, "the log has not as many events as the window")
        numbers = np.arange(log.first, log.next)
        for name, values in zip(("src", "dst"), ends, strict=True):
            expect(np.array_equal(self.device.to_numpy(log.at(name, numbers)), values), "the log has other events")
        log.check()
        self.index = log.memory_usage()["index"] / len(log)

    def finish(self) -> None:
        """Drop the jobs."""
        self.jobs = []

    def extra(self) -> dict[str, Any]:
        """Return the seconds by turns, and the bytes per event of the index; the log reads the window's own events."""
        return {**self.compared(), "index_bytes_per_event": self.index}
