"""Workloads on temporal graphs: batches in the order of time, with or without a tracked algorithm.

``batch`` is a pair of the edges to insert and the edges to delete (None: none are deleted); ``delta`` is what
``action`` returned for it.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from suricate.base.types import EdgeList, ends_of
from suricate.bench import constants
from suricate.bench.fixtures import Fixture
from suricate.bench.runner import Skipped
from suricate.bench.verify.edges import EdgeModel, check_content
from suricate.bench.workloads.algorithms import Subject
from suricate.bench.workloads.base import FixtureTask
from suricate.graph.delta import Batch


class Stream(FixtureTask):
    """Insert the events of a temporal graph in the order of time: most are loaded first, the rest in timed batches.

    One repeat is one batch. At the end of the stream the graph is rebuilt (untimed) and the stream starts again.
    """

    workload = "stream"
    does = "inserts the next batch of a temporal graph (after the first 90 %), with the tracker, if any, on"
    window: ClassVar[bool] = False

    def __init__(self, fixture: Fixture, algorithm: str | None = None, batches: int = constants.STREAM_BATCHES) -> None:
        super().__init__(fixture)
        events = len(fixture.data.src)
        self.loaded = int(events * constants.STREAM_LOADED)
        self.batch_size = max(1, (events - self.loaded) // batches)
        self.batch = self.items = self.batch_size
        self.verified_repeats = (events - self.loaded) // self.batch_size
        self.at = self.verified_repeats  # batches that are stored; at the end the stream starts again
        self.graph: Any = None
        self.tracker: Any = None
        self.error: float | None = None
        self.algorithm = algorithm
        self.subject = Subject(fixture, algorithm) if algorithm else None
        if self.subject:
            self.label_row("kept current")
            self.oracle = f"{FixtureTask.oracle}; {self.subject.oracle}"

    def setup(self) -> None:
        """Raise ``Skipped`` if the input has no times or too few events, or the algorithm cannot be verified."""
        if not self.fixture.data.temporal:
            raise Skipped("the graph has no time stamps")
        if not self.verified_repeats:
            raise Skipped("the graph is too small for a stream")
        if self.subject:
            self.subject.demand()

    def prepare(self) -> tuple[EdgeList, EdgeList | None]:
        """Return the next batch, ``(edges to insert, edges to delete or None)``; rebuild the graph at the end."""
        if self.at == self.verified_repeats:
            self._restart()
        begin, end = self._bounds()
        self.at += 1
        insert = self._upload(end, end + self.batch_size)
        if not self.window:
            return insert, None
        leaving = self._model(begin, begin + self.batch_size).keys
        gone = leaving[~self._model(begin + self.batch_size, end).contains(leaving)]
        return insert, self.fixture.upload(*ends_of(gone))

    def action(self, batch: tuple[EdgeList, EdgeList | None]) -> Any:
        """Apply ``batch``, by which the result of the tracker, if any, is updated, too; return the delta."""
        insert, delete = batch
        return self.graph.apply(Batch(insert=insert, delete=delete))

    def check(self, batch: tuple[EdgeList, EdgeList | None], delta: Any) -> None:
        """Verify the edges of the graph and the tracker's result; of long streams only after the last batch."""
        if len(self.fixture.data.src) <= constants.CHECK_EACH_BATCH or self.at == self.verified_repeats:
            self.finish()

    def finish(self) -> None:
        """Compare the edges of the graph and the tracker's result with the events that the graph holds by now."""
        if self.fixture.silent:
            return
        model = self._model(*self._bounds())
        check_content(self.graph, model)
        if self.subject:
            self.error = self.subject.check(self.tracker.result, model)

    @property
    def _form(self) -> dict[str, bool]:
        return self.subject.form if self.subject else {"weighted": False, "directed": True}

    def _bounds(self) -> tuple[int, int]:
        """Return ``(begin, end)``: the graph has the edges of the events ``begin`` to ``end - 1`` now."""
        step = self.at * self.batch_size
        return (step if self.window else 0), self.loaded + step

    def _model(self, begin: int, end: int) -> EdgeModel:
        return EdgeModel(*self._events(begin, end), directed=self._form["directed"])

    def _upload(self, begin: int, end: int) -> EdgeList:
        return self.fixture.upload(*self._events(begin, end))

    def _events(self, begin: int, end: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        data = self.fixture.data
        weight = data.weight[begin:end] if self._form["weighted"] else None
        return data.src[begin:end], data.dst[begin:end], weight

    def _restart(self) -> None:
        self.at = 0
        self.graph = self.fixture.empty_graph(in_edges=self.subject is not None, **self._form)
        self.graph.insert_edges(*self._upload(0, self.loaded))
        if self.subject:
            self.tracker = self.graph.track(self.subject.kind, **self.subject.params)


class Window(Stream):
    """A stream through a sliding window: each batch also deletes the edges of the oldest events."""

    workload = "sliding window"
    does = "as 'stream'; besides, deletes the edges whose last event leaves the window (90 % of the events)"
    window = True
