"""Trackers: algorithms bound to a graph, current after every batch."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate import plugins
from suricate.algorithm import Algorithm
from suricate.delta import Delta
from suricate.errors import ParameterError
from suricate.locks import on_graph_device
from suricate.pace import Pace

if TYPE_CHECKING:
    from suricate.graph import Graph


@dataclass
class UpdateCounts:
    """What a tracker has done so far.

    Attributes:
        computed: computations from scratch, the first one included.
        updated: updates by a delta. On CUDA these include batches of edges that changed nothing, invalid ones of a
            graph with ``checks="deferred"`` among them: the host does not know, since that would mean to wait.
        skipped: deltas that are known to have changed nothing, for which nothing was done.
        failed: updates that raised.
    """

    computed: int = 0
    updated: int = 0
    skipped: int = 0
    failed: int = 0


class Tracker:
    """The result of one algorithm on one graph, never stale; made by ``Graph.track``.

    The graph calls :meth:`Algorithm.update` within every call that may have changed something. On CUDA the update is
    queued behind the batch, in the same stream, and waits for nothing; an invalid batch changes nothing here either. If
    an update raises, the change of the
    graph stands and the error reaches the caller of the change; the tracker is then stale, and the next access to
    :attr:`result` computes from scratch. The graph holds its trackers weakly: one that is dropped, closed or left as a
    context manager costs nothing more. A tracker may be used in any thread; it cannot be copied or pickled.

    Attributes:
        graph: the graph.
        algorithm: the ``Algorithm`` instance.
        updates: an :class:`UpdateCounts`.
        version: the graph's version that the result belongs to.
        stale: whether the last update failed.
        closed: whether the tracker was closed; its last result stays.
    """

    def __init__(self, graph: Graph, algorithm: Any, params: dict[str, Any]) -> None:
        self.graph = graph
        self.algorithm = make_algorithm(graph, algorithm, params)
        if self.algorithm.learns:
            self.algorithm.pace = Pace(graph.device)
        self.updates = UpdateCounts()
        self.stale, self.closed = True, False
        self.version = graph.version
        self.refresh()

    @property
    def name(self) -> str:
        """Name of the algorithm."""
        return self.algorithm.name

    @property
    def result(self) -> Any:
        """The algorithm's result for the graph as it is now (or was when the tracker was closed).

        Changing it never changes what the tracker holds: NumPy arrays are read-only views, which follow the graph, and
        CuPy arrays, which cannot be read-only, are copies. Copy a NumPy array to keep it as it is.
        """
        return _result(self.graph, self)

    def refresh(self) -> None:
        """Compute from scratch."""
        _refresh(self.graph, self)

    def close(self) -> None:
        """Stop following the graph; the last result stays."""
        self.closed = True

    def advance(self, delta: Delta) -> None:
        """Follow one change of the graph (called by the graph)."""
        if self.stale:  # the next access computes from scratch anyway
            return
        if delta.is_known_empty:
            self.updates.skipped += 1
        else:
            self.stale = True
            try:
                self.algorithm.update(self.graph, delta)
            except Exception:
                self.updates.failed += 1
                raise
            finally:
                if self.algorithm.pace is not None:
                    self.algorithm.pace.finish()
            self.updates.updated += 1
            self.stale = False
        self.version = self.graph.version

    def __enter__(self) -> Tracker:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        raise ParameterError(
            "a tracker follows its graph and cannot be copied or pickled: copy the graph and track again"
        )

    def __repr__(self) -> str:
        state = "closed" if self.closed else "stale" if self.stale else "current"
        return f"<Tracker: {self.name}, {state}, version {self.version}, {self.updates}>"


@on_graph_device
def _result(graph: Graph, tracker: Tracker) -> Any:
    if tracker.stale:
        _refresh(graph, tracker)
    return protected(tracker.algorithm.result)


@on_graph_device
def _refresh(graph: Graph, tracker: Tracker) -> None:
    graph.synchronize()
    tracker.stale = True
    tracker.algorithm.compute(graph)
    tracker.updates.computed += 1
    tracker.stale, tracker.version = False, graph.version


def protected(result: Any) -> Any:
    """Return ``result`` such that changing it does not change the arrays in it: NumPy arrays as read-only views, other
    arrays as copies, containers of such made anew.
    """
    if isinstance(result, np.ndarray):
        view = result.view()
        view.flags.writeable = False
        return view
    if hasattr(result, "__cuda_array_interface__"):
        return result.copy()
    if isinstance(result, dict):
        return {key: protected(part) for key, part in result.items()}
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*map(protected, result))
    return type(result)(map(protected, result)) if type(result) in (tuple, list) else result


def make_algorithm(graph: Graph, algorithm: Any, params: dict[str, Any]) -> Algorithm:
    """Return an instance of ``algorithm`` (a name or a class) that can run on ``graph``.

    Raises:
        UnknownNameError: no algorithm of this name is installed.
        RequirementError: the graph lacks what the algorithm needs.
    """
    if not (isinstance(algorithm, type) and issubclass(algorithm, Algorithm)):
        algorithm = plugins.algorithm(algorithm)
    algorithm.demand(graph)
    return algorithm.create(params)


def advance_all(trackers: list[weakref.ref[Tracker]], delta: Delta) -> list[weakref.ref[Tracker]]:
    """Bring all living trackers up to date and return them.

    If updates raise, the others are still brought up to date; then the first error is raised, with a note. An invalid
    batch of a graph with deferred checks is none of theirs: that is raised by the next call that waits.
    """
    living = [(ref, tracker) for ref in trackers if (tracker := ref()) is not None and not tracker.closed]
    errors: list[Exception] = []
    delta.keeps_errors = True
    try:
        for _, tracker in living:
            try:
                tracker.advance(delta)
            except Exception as error:
                error.add_note(
                    f"in the update of tracker {tracker.name!r}; the graph holds the change, the result is stale"
                )
                errors.append(error)
    finally:
        delta.keeps_errors = False
    if errors:
        raise errors[0]
    return [ref for ref, _ in living]
