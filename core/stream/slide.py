"""A slide of a job: what a window holds at its end, and what changed there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suricate.base.errors import RequirementError
from suricate.graph import Graph
from suricate.graph.delta import Delta
from suricate.graph.inspection import bytes_of
from suricate.io.sources.times import moment
from suricate.stream.window_log import WindowLog

if TYPE_CHECKING:
    from suricate.graph.frames import Frame
    from suricate.stream.contents import Due
    from suricate.stream.tracking import JobTracker
    from suricate.stream.window import Window


class Slide:
    """A closed slide; until the next one closes, ``graph`` and trackers show the window as of its end.

    Attributes:
        start, end: the window holds ``start <= t < end``; ``datetime64`` if times have a unit, else numbers. ``start``
            is None for a landmark window.
        events: number of events that entered. left: number of live events that left by time.
        taken: number of events that deletions and sets removed.
        unmatched: number of deletions and sets that found no event.
        late, skipped: numbers of late and of invalid events that came before the slide closed, since the beginning.
        closed_by: ``"events"``; ``"idle"``: by the wall clock, as the source was silent; ``"end"``: of the source.
        partial: whether it closed only because the source has ended, in the middle of its time.
        delta: what changed, as ``Graph.apply`` returns it.
        lag: how far past the end the event was that closed the slide, in ticks of the time; 0 if none was.
        took: seconds by part: ``source``, ``window`` (to find the change), ``graph`` (with its trackers), ``total``.

    Example:
        >>> events = {"time": [1, 2, 3], "src": [0, 1, 2], "dst": [1, 2, 0]}
        >>> for w in st.Window(events, size="2", slide="1", graph={"device": "cpu"}):
        ...     print(isinstance(w, st.Slide), w.end, w.events, w.graph.num_edges, w.delta.num_inserted)
        True 2 1 1 1
        True 3 1 2 1
        True 4 1 2 1
    """

    def __init__(self, job: Window, due: Due, delta: Delta, took: dict[str, float]) -> None:
        unit, change = job.contents.has_unit, due.change
        self._job, self._delta, self._due = job, delta, (due.start, due.end)
        self.end = moment(due.end, has_unit=True) if unit else due.end
        self.start = moment(due.start, has_unit=True) if unit and due.start is not None else due.start
        self.events, self.left, self.taken, self.unmatched = due.entered, change.left, change.taken, change.unmatched
        self.late, self.skipped, self.partial, self.lag = due.late, due.skipped, due.partial, due.lag
        self.closed_by, self.took = due.closed_by, took

    @property
    def graph(self) -> Graph:
        """The graph of the window; raises ``RequirementError`` once the next slide has closed."""
        self._demand_current()
        return self._job.graph

    @property
    def log(self) -> WindowLog:
        """The events of the window by vertex, a ``suricate.Events`` that only slides change; as :attr:`graph`.

        Its times are ticks, as in ``delta``s of numbers: nanoseconds since 1970 if times have a unit. ``copy.copy``
        makes a log that lasts.

        Raises:
            RequirementError: the window was made without ``events=``, or the next slide has closed.
        """
        self._demand_current()
        if self._job.contents.followed is None:
            raise RequirementError("the window keeps no events by vertex: st.Window(..., events='in') does")
        return WindowLog(self._job, *self._due)

    @property
    def delta(self) -> Delta:
        """What the slide changed, a :class:`suricate.Delta`; valid until the next slide closes."""
        self._demand_current()
        return self._delta

    @property
    def memory(self) -> dict[str, int]:
        """Bytes by part: ``graph`` and, if there is one, ``symmetric`` on the device; ``window``: the events.

        On several processes they are those of this one.
        """
        self._demand_current()
        found, twin = {"graph": bytes_of(self._job.graph), "window": self._job.bytes_on_host}, self._job.graphs.twin
        return found if twin is None else found | {"symmetric": bytes_of(twin.graph)}

    def replay(self, tracker: JobTracker, *, at: Any) -> Frame:
        """Return the answers of ``tracker`` at vertices ``at`` after each event of this slide, to find which did it.

        The events run on a copy of the graph on the CPU, made by this call. A row per event and vertex: ``event`` (-1:
        all that left by time, as one step; then those that entered from 0, by time and position; those of which a
        deletion of the slide leaves no name are left out), ``time``, ``src``, ``dst``, ``kind``, ``at``, and the
        arrays and numbers of the result. New vertices of the slide are there from the beginning, without edges. The
        last answers are those of the slide.

        Raises:
            ParameterError: no tracker of this job. UnknownNameError, VertexRangeError: there is no such vertex.
            RequirementError: the algorithm has no step for single events; the graph has columns of edges, is divided
                among processes, or the tracker is symmetric; the slide is over.

        Example:
            >>> events = {"time": [1, 2, 3], "src": [0, 1, 2], "dst": [1, 2, 0]}
            >>> job = st.Window(events, size="4", slide="4", graph={"device": "cpu", "directed": False})
            >>> parts = job.track("wcc")
            >>> [w.replay(parts, at=[2])["label"].tolist() for w in job]
            [[2, 2, 0, 0]]
        """
        self._demand_current()
        from suricate.stream.which_event import replayed

        return replayed(self._job, tracker, at)

    def _demand_current(self) -> None:
        if self._job.current is not self:
            raise RequirementError(f"the slide that ended at {self.end} is over: copy.copy(graph) keeps a graph")

    def __repr__(self) -> str:
        return f"<Slide end={self.end} events={self.events}{' partial' if self.partial else ''}>"
