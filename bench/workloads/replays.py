"""Replays: an answer after every event of a stream, on the CPU.

An event deletes or inserts one edge.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from suricate.base.types import ends_of
from suricate.bench import constants
from suricate.bench.fixtures import Fixture
from suricate.bench.runner import Skipped
from suricate.bench.verify.edges import EdgeModel, expect
from suricate.bench.workloads.algorithms import Subject
from suricate.bench.workloads.base import FixtureTask
from suricate.graph.frames import fields_of
from suricate.replaying import replay

NO_KEYS = np.empty(0, np.uint64)


class Events(NamedTuple):
    """Events of one repeat: some edges of the graph, each deleted and inserted again, in random order.

    Attributes:
        keys: the key of each event's edge.
        given: the events as ``replay`` takes them: sources, destinations, whether inserted, and weights if there are
            any.
        at: the vertices whose values are returned after each event.
    """

    keys: np.ndarray
    given: tuple[np.ndarray, ...]
    at: np.ndarray


class Replay(FixtureTask):
    """Apply events one after the other to an undirected graph, with an answer at some vertices after each.

    Args:
        fixture: backend and graph.
        name: the algorithm whose values are the answers; None: degrees.
        batch: number of events of a repeat; None: the default.
    """

    workload = "replay"
    does = "deletes and inserts edges one by one, an edge at a time, with an answer at some vertices after every event"

    def __init__(self, fixture: Fixture, name: str | None = None, batch: int | None = None) -> None:
        super().__init__(fixture, batch)
        self.algorithm, self.subject = name, Subject(fixture, name) if name else None
        if self.subject is not None:
            self.oracle = self.subject.oracle

    def setup(self) -> None:
        """Build an undirected graph and track the algorithm.

        If backend and algorithm do not allow compiled replays, each event is a call of the graph, and the default
        number of events is smaller.
        """
        if self.device.is_cuda:
            raise Skipped("events are replayed on the CPU only")
        weighted, self.tracker = False, None
        if self.subject is not None:
            self.subject.demand()
            weighted = self.subject.kind.uses_weights
        self.model = self.fixture.model(weighted=weighted, directed=False)
        self.graph = self.fixture.empty_graph(weighted=weighted, directed=False)
        self.graph.insert_edges(*self.fixture.all_edges(weighted=weighted))
        if self.subject is not None:
            self.tracker = self.graph.track(self.subject.kind, **self.subject.params)
        self.count = 2
        reasons = self.action(self.prepare()).reasons
        self.count = 2 * ((self.batch or constants.REPLAY_CALLS if reasons else self.batch or constants.REPLAYED) // 2)
        self.count = self.items = min(self.count, 2 * len(self.model))
        self.label_row(*(["single calls"] if reasons else []))

    def prepare(self) -> Events:
        """Return the events of a repeat, on random edges in random order, and random vertices to return values of."""
        rng = self.fixture.rng("replay", self.count)
        chosen = rng.choice(self.model.keys, self.count // 2, replace=False)
        order = rng.permutation(np.arange(len(chosen)).repeat(2))
        inserted = np.ones(self.count, bool)
        inserted[np.unique(order, return_index=True)[1]] = False  # the first of both events of an edge
        keys = chosen[order]
        weights = () if self.model.weight is None else (self.model.weights_of(keys),)
        at = rng.integers(0, self.fixture.data.num_vertices, constants.REPLAYED_AT)
        return Events(keys, (*ends_of(keys), inserted, *weights), at)

    def action(self, events: Events) -> Any:
        """Replay ``events`` on the graph, with an answer after each; return the result of ``suricate``'s ``replay``.

        It has the ``answers`` (row i: after event i), and the reasons against compiled code if there are any.
        """
        self.found = replay(self.graph, events.given, self.tracker, at=events.at)
        return self.found

    def check(self, events: Events, found: Any) -> None:
        """Verify the answers after three of the events (the last one included), and the edges of the graph at the end.

        ``found``: what :meth:`action` returned for ``events``.
        """
        expect(found.done == self.count, "all events are made")
        for i in (self.count // 3, 2 * self.count // 3, self.count - 1):
            done = events.given[2][: i + 1]
            keys = events.keys[: i + 1]
            gone = np.setdiff1d(keys[~done], keys[done])
            self._check_answer(
                found.answers, i, events.at, self.model.updated(gone, *ends_of(NO_KEYS), self._no_weights)
            )
        expect(np.array_equal(np.sort(self._keys()), self.model.keys), "the graph has the edges that it had")

    @property
    def _no_weights(self) -> np.ndarray | None:
        return None if self.model.weight is None else self.model.weight[:0]

    def _keys(self) -> np.ndarray:
        src, dst, *_ = self.graph.edges()
        return src.astype(np.uint64) << np.uint64(32) | dst

    def _check_answer(self, answers: Any, i: int, at: np.ndarray, model: EdgeModel) -> None:
        """Verify the answer after event ``i``, in row ``i`` of ``answers``, at the vertices ``at``.

        ``model``: the edges after that event.
        """
        n = self.fixture.data.num_vertices
        here = {name: part[i] for name, part in fields_of(answers).items()}
        if self.subject is None:
            right = np.bincount(model.arcs()[0], minlength=n)[at]
            expect(np.array_equal(here["degree"], right), f"degrees after event {i}")
            return
        kind, params = self.subject.kind, self.subject.params
        whole = fields_of(kind.reference(*model.arcs(), n, False, **params))
        picked = [part[at] if np.shape(part) == (n,) else part for part in whole.values()]
        result = type(answers)(**here) if hasattr(answers, "_fields") else here["value"]
        reference = type(answers)(*picked) if hasattr(answers, "_fields") else picked[0]
        wrong = kind.mismatch(result, reference, **params)
        expect(wrong is None, f"{kind.name} after event {i}: {wrong}")

    def finish(self) -> None:
        """Free the graph."""
        self.graph = self.tracker = None

    def extra(self) -> dict[str, Any]:
        """Return, as "most_work", the largest number of arcs that were visited for one event of the last repeat."""
        return {"most_work": self.found.most_work}
