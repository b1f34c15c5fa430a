"""Replay: an answer after every event of a stream, on the CPU.

If the backend offers single edges (``suricate.store.single``) and the algorithm a step (``suricate.plugins.step``), a
compiled loop applies the events, a piece at a time; otherwise each event is a call of the graph.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import DeviceError, ParameterError, ShapeError
from suricate.base.parameters import shown
from suricate.base.progress import working
from suricate.base.public import listing
from suricate.graph.naming import vertices_of
from suricate.graph.tracker import Tracker
from suricate.replaying.answers import Answers, Replayed, Work
from suricate.replaying.calls import SingleCalls
from suricate.replaying.given_events import Events
from suricate.replaying.pieces import Pieces
from suricate.state.locks import capacity_error, on_graph_device

if TYPE_CHECKING:
    from suricate.graph import Graph

__all__ = ["Replayed", "replay"]
__dir__ = listing(__all__)

TURN = 1e-4  #: seconds between two pieces, in which a thread that waits for the graph gets it


def replay(graph: Graph, events: Any, tracker: Tracker | None = None, *, at: Any = None) -> Replayed:
    """Apply ``events`` one after the other, and return the answer of ``tracker`` after each of them.

    The graph, all its trackers and the answers are as after a call of ``insert_edges`` or ``delete_edges`` for each
    event. If backend and algorithm allow it, one compiled call applies up to 2^16 events, a *piece*;
    ``Replayed.reasons`` says how many events were applied by calls of the graph instead, and why. Other threads may use
    the graph between pieces, and an interrupt ends the replay there. A piece counts as one change: the graph's version
    grows by one, and the other trackers get one delta with its net changes.

    Args:
        graph: a graph on the CPU.
        events: ``(src, dst, inserted)``, ``n`` each: ids or names, and whether the edge is inserted (True) or deleted
            (False). On a weighted graph a fourth array has the weights; those of deletions are ignored. A deletion
            removes the edge however often it was inserted.
        tracker: a tracker of the graph; None: out-degrees.
        at: ``k`` vertices, ids or names, whose values are returned after every event; None: the number of vertices
            whose values changed is returned instead.

    Returns:
        The answers. After an error the events before it stand, and ``error.replayed`` has their answers.

    Raises:
        DeviceError: the graph is on a CUDA device.
        ParameterError: ``tracker`` is closed, of another graph or not a tracker, or gives no value per vertex.
        ShapeError, DTypeError, VertexRangeError, UnknownNameError, WeightError, SelfLoopError: the input is invalid;
            nothing has changed.
        CapacityError: there is not enough memory for the answers (nothing has changed), or for an event.

    Example:
        >>> g = su.Graph(3, directed=False, device="cpu")
        >>> degrees = g.track("degree")
        >>> done = su.replay(g, ([0, 1, 0], [1, 2, 1], [True, True, False]), degrees)
        >>> done.changed.tolist()
        [2, 2, 2]
    """
    start = _checked(graph, events, tracker, at)
    given, answers, work = start[0], start[1], Work()
    pieces, calls = Pieces(graph, given, answers, work), SingleCalls(graph, given, answers, work)
    try:
        with working(f"replaying {len(given):,} events") as progress:
            while work.done < len(given):
                if reason := pieces.run():
                    calls.make(reason)
                elif work.done < len(given):
                    progress(work.done, len(given))
                    time.sleep(TURN)
    except BaseException as error:
        ours = capacity_error(graph.device, error) if isinstance(error, MemoryError) else error
        ours.replayed = answers.result(work)  # type: ignore[attr-defined]
        if ours is error:
            raise
        raise ours from error
    return answers.result(work)


@on_graph_device
def _checked(graph: Graph, events: Any, tracker: Tracker | None, at: Any) -> tuple[Events, Answers]:
    """Check the arguments of ``replay``; return the events and the arrays for the answers."""
    graph.demand_owner()
    if graph.device.is_cuda:
        raise DeviceError(
            "replay runs on the CPU: copy the graph with cpu = graph.to('cpu'), and track the algorithm on the copy"
        )
    if tracker is not None:
        if not isinstance(tracker, Tracker):
            raise ParameterError(f"tracker must be one of graph.track(), or None for degrees, got {shown(tracker)}")
        if tracker.graph is not graph:
            raise ParameterError("tracker follows another graph: use graph.track()")
        if tracker.closed:
            raise ParameterError("tracker is closed: use graph.track()")
    if np.ndim(at) > 1:
        raise ShapeError(f"at has shape {np.shape(at)}: pass a one-dimensional array or a list")
    single = isinstance(at, str) or (at is not None and np.ndim(at) == 0)
    vertices = None if at is None else vertices_of(graph, [at] if single else at, "at").astype(np.int64)
    given = Events.of(graph, events)
    return given, Answers(graph, tracker, vertices, len(given))
