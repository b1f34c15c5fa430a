"""Events applied one by one by calls of the graph, for any algorithm on any backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.graph.interrupts import Uninterrupted
from suricate.replaying.answers import Answers, Work, count_changed
from suricate.replaying.given_events import Events
from suricate.replaying.report import INSERT, NOTHING

if TYPE_CHECKING:
    from suricate.graph import Graph


class Before:
    """The state of an event's edge and of its ends before the event, by which it can be undone."""

    def __init__(self, graph: Graph, events: Events, i: int) -> None:
        self.version, self.given = graph.version, events.ends_at(i)
        self.found, self.deleted = False, np.empty(0, np.uint32)
        self.weight: Any = None
        if isinstance(self.given[0], np.ndarray):
            found, self.weight = graph._updater.find(*self.given)
            both = np.unique(np.concatenate(self.given))
            self.found, self.deleted = bool(found[0]), np.setdiff1d(both, graph._updater.live.among(both))
            if graph.edge_table is not None and self.found:
                self.weight = {name: graph.edge_columns.at(name, *self.given) for name in graph.edge_columns}

    def restore(self, graph: Graph, error: BaseException) -> None:
        """Undo an event that raised ``error``, if it has changed the graph; added vertices and names stay."""
        if graph.version == self.version:
            return
        try:
            if self.found:
                graph._update(None, (*self.given, self.weight))
            else:
                graph._update((*self.given, None), None)
            if len(self.deleted):
                graph.delete_vertices(self.deleted)
        except Exception as second:
            error.add_note(f"undoing the event failed as well: {second!r}")


class SingleCalls:
    """Applies events one by one, by calls of the graph, and writes the answer after each to ``answers``."""

    def __init__(self, graph: Graph, events: Events, answers: Answers, work: Work) -> None:
        self.graph, self.events, self.answers, self.work = graph, events, answers, work
        self._values: tuple[int, dict[str, np.ndarray]] | None = None  # with the graph's version that they are of

    def make(self, reason: str) -> None:
        """Apply the next event by a call of the graph; count ``reason``, why no loop does; undo an event that fails."""
        graph, i, counts = self.graph, self.work.done, self.work.reasons
        with Uninterrupted(), graph.exclusive():
            before = Before(graph, self.events, i)
            try:
                self._answer(i)
            except BaseException as error:
                before.restore(graph, error)
                raise
            self.work.done += 1
            counts[reason] = counts.get(reason, 0) + 1

    def _answer(self, i: int) -> None:
        answers = self.answers
        if answers.at is not None:
            self._change(i)
            answers.put(i, answers.read())
            return
        assert answers.changed is not None
        held = self._values
        before = held[1] if held is not None and held[0] == self.graph.version else answers.values()
        self._change(i)
        after = answers.values()
        answers.changed[i] = count_changed(self.graph, before, after)
        self._values = self.graph.version, after

    def _change(self, i: int) -> None:
        events, ends = self.events, self.events.ends_at(i)
        if events.kind[i] == INSERT:
            self.graph._update(None, (*ends, events.weight_at(i)))
        elif events.kind[i] != NOTHING:
            self.graph._update((*ends, None), None)
