"""The answers after each event, and what ``replay`` returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate.graph import frames

if TYPE_CHECKING:
    from suricate.graph import Graph
    from suricate.graph.tracker import Tracker


class DegreeResult(NamedTuple):
    """What ``replay`` answers without a tracker: ``degree`` is the out-degree, uint32."""

    degree: np.ndarray


@dataclass(frozen=True)
class Replayed:
    """The answers of ``suricate.replay``.

    Attributes:
        done: number of events that were applied.
        answers: with ``at``: the tracker's result, each of its arrays ``[done, len(at)]`` and each number ``[done]``;
            without a tracker an object with the array ``degree``. None without ``at``.
        changed: without ``at``: ``int64[done]``, the number of vertices whose values each event changed, including
            added vertices. None with ``at``.
        compiled: number of events that the compiled loop applied.
        reasons: how many of the other events, which were calls of the graph, there were for each reason.
        most_work: the most arcs that the loop visited to answer one event; 0 without compiled events.
        most_work_at: the index of that event; -1 without compiled events.
    """

    done: int
    answers: Any
    changed: np.ndarray | None
    compiled: int
    reasons: dict[str, int]
    most_work: int
    most_work_at: int


@dataclass
class Work:
    """The counts of a replay under way, with the meaning that they have in :class:`Replayed`."""

    done: int = 0
    compiled: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    most_work: int = 0
    most_work_at: int = -1


class Answers:
    """The arrays that the ``count`` answers of a replay, one after each event, are written to.

    ``at``: ``int64[k]``, the vertices to answer at; None: write the number of changed vertices instead.
    """

    def __init__(self, graph: Graph, tracker: Tracker | None, at: np.ndarray | None, count: int) -> None:
        self.graph, self.tracker, self.at = graph, tracker, at
        self._form: Any = None
        self.parts: dict[str, np.ndarray] = {}
        self.changed: np.ndarray | None = None
        if at is None:
            self.values()
            self.changed = np.zeros(count, np.int64)
            return
        self._form = self.read()
        for name, part in frames.fields_of(self._form).items():
            one = np.asarray(part)
            self.parts[name] = np.empty((count, *one.shape), one.dtype)

    def read(self) -> Any:
        """Return the present result of the tracker at the vertices ``at``."""
        if self.tracker is None:
            return DegreeResult(self.graph.degrees()[self.at])
        return self.tracker.at(self.at)

    def values(self) -> dict[str, np.ndarray]:
        """Return copies of all arrays with a value per vertex in the tracker's result, by name."""
        if self.tracker is None:
            return {"degree": self.graph.degrees()}
        found = frames.entries(self.graph, self.tracker.result, self.tracker.algorithm)
        return {name: part.copy() for name, part in found.items()}

    def put(self, i: int, found: Any) -> None:
        """Write ``found``, the result at the vertices ``at``, as the answer after event ``i``."""
        for name, part in frames.fields_of(found).items():
            self.parts[name][i] = part

    def put_many(self, begin: int, found: Any) -> None:
        """Write ``found``, the results at the vertices ``at`` after the events from ``begin`` on.

        The first dimension of each array is that of events.
        """
        for name, part in frames.fields_of(found).items():
            self.parts[name][begin : begin + len(part)] = part

    def result(self, work: Work) -> Replayed:
        """Return the answers after the events that ``work`` counts as done."""
        done, answers = work.done, None
        if self.at is not None:
            parts = {name: part[:done] for name, part in self.parts.items()}
            answers = frames.of_fields(self._form, parts)
        changed = None if self.changed is None else self.changed[:done]
        counts = work.compiled, dict(work.reasons), work.most_work, work.most_work_at
        return Replayed(done, answers, changed, *counts)


def count_changed(graph: Graph, before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> int:
    """Return how many vertices have other values after an event than before it, added vertices included."""
    size = len(next(iter(before.values())))
    differs = [frames.differ(graph, old, after[name][:size]) for name, old in before.items()]
    return int(np.logical_or.reduce(differs).sum()) + len(next(iter(after.values()))) - size
