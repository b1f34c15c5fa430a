"""The job: a window over a source, slide by slide, kept as a graph with trackers."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import wait
from functools import partial
from typing import Any

import numpy as np

from suricate.base.archives import state_in
from suricate.base.errors import CapacityError, ParameterError, RequirementError
from suricate.base.parameters import flag, shown
from suricate.graph import Graph
from suricate.graph.frames import Frame
from suricate.intake.names import Names
from suricate.io.sources.columns import in_order
from suricate.io.sources.refusals import Refusals
from suricate.io.sources.source import MARK, as_source
from suricate.io.sources.times import moment
from suricate.state.attributes import TEXT
from suricate.state.edge_table import checked_kinds
from suricate.stream.background import ReadAhead, Threaded
from suricate.stream.checkpoint import Checkpoints, restore
from suricate.stream.graphs import Graphs, VertexColumn
from suricate.stream.history import History
from suricate.stream.intake import Intake
from suricate.stream.naming import vertex_names
from suricate.stream.ranks import Ranks, held_by
from suricate.stream.sinks import Sink, make_sink
from suricate.stream.slide import Slide
from suricate.stream.tracking import JobTracker
from suricate.windows.events import Events, joined, nothing
from suricate.windows.options import STEP, TIME, WindowOptions
from suricate.windows.ring import Change, Ring
from suricate.windows.ring.attributes import AttributeIntake, EdgeValues, columns_needed
from suricate.windows.rule import AHEAD, LATE, TAKEN

WHOLE = "all"  #: the position behind a source that was sorted


class Window(Threaded):
    """A window over a stream of events, kept as a graph: iterate over it to get its slides.

    >>> import suricate.stream as st
    >>> job = st.Window({"src": [0, 1, 2], "dst": [1, 2, 0]}, size=2, slide=1, graph={"device": "cpu"})
    >>> [(w.end, w.graph.num_edges) for w in job]
    [(1, 1), (2, 2), (3, 2)]

    Events are in the order (time, position in the source). The window holds ``end - size <= t < end``; ends lie on
    ``origin + k * slide``, and a slide closes when the watermark, the largest ``time - lateness`` so far, has reached
    its end. An edge is in the graph while one of its events is in the window. Each slide is one batch of net changes.

    Args:
        source: ``st.scan(...)`` of files, ``st.source(fn)``, ``st.chain``, ``st.merge``, or chunks: a dict of arrays, a
            frame, an Arrow table, or an iterable of them; columns ``time``, ``src``, ``dst``, ``weight``, ``kind``.
        size: what the window holds: a duration (``"7d"``, ``"90min"``, a timedelta; ``"100"`` where times have no
            unit), a number of events, or of steps if ``slide="step"``; None: everything since the beginning.
        slide: likewise, at most ``size``; ``"step"``: the source marks where slides end (``st.MARK``).
        lateness: how long a slide waits for events that are behind the newest one.
        ahead: events further past the watermark than this go to ``on_error``; None: none do.
        combine: the weight of an edge from those of its events: ``"last"``, ``"first"``, ``"sum"``, ``"count"``,
            ``"min"`` or ``"max"``. Sums of whole numbers are exact.
        late: what happens to events that come after their slide: ``"drop"`` (they are counted), ``"raise"``, or the
            name of a CSV file.
        on_error: what happens to events that are not valid: ``"raise"``, ``"skip"`` (they are counted), or the name of
            a CSV file.
        order: ``"time"`` sorts a finite source in memory.
        origin: where the grid of ends begins, a duration since the epoch.
        empty: ``"emit"`` shows slides in which nothing enters or leaves, too.
        at_end: ``"hold"`` leaves slides open that only the end of the source would close.
        graph: options of the graph (see ``suricate.Graph``); ``weight_dtype`` is float64 by default, uint32 for counts,
            None where events have no weights. With ``comm`` all its processes make the job; the first one reads.
        names: True: sources and destinations are names, texts or integers of 64 bits, which have ids while one of their
            events is in the window; or the ``suricate.Names`` to use. None: they are ids of vertices.
        checkpoint: a folder that keeps the state of the job; if it has one, the job goes on from there. One is written
            when the loop begins and when it asks for the next slide: what the loop did with a slide is part of it.
        checkpoint_every: a number of slides, or a duration; one more is written when the loop ends by itself.
        columns: names of columns by role. time_unit: what times that are numbers count: ``"s"``, ``"ms"``, ...
        attributes: further columns, with the rule of each: ``{"fee": "sum", "rate": "last"}``, rules as of ``combine``,
            for texts ``"first"`` or ``"last"``. They are columns of the graph's edges. ``"count"`` needs no column.
        prefetch: about how many slides are read and parsed in a thread ahead of the loop, a chunk at least; 0: nothing
            is. None: 2 where files are scanned, 0 where the source is the user's code.

    Raises:
        ParameterError: an option of the wrong type or value; a checkpoint of another window, source or graph.
        RequirementError: the source cannot go on from the position of the checkpoint.
        FileFormatError: no checkpoint of the folder is whole.
        RequirementError, DTypeError, WeightError, VertexRangeError: while iterating, bad events.
        LateEventError: while iterating, with ``late="raise"``.
        CapacityError: while iterating; nothing is lost, and the next slide is the same again.
    """

    def __init__(  # noqa: PLR0913 - what a user may choose, by keyword; WindowOptions holds it from here on
        self,
        source: Any,
        *,
        size: Any = None,
        slide: Any = None,
        lateness: Any = 0,
        ahead: Any = None,
        combine: str = "last",
        late: Any = "drop",
        on_error: Any = "raise",
        order: str | None = None,
        origin: Any = 0,
        empty: str = "skip",
        at_end: str = "close",
        graph: Mapping[str, Any] | None = None,
        names: Names | bool | None = None,
        checkpoint: Any = None,
        checkpoint_every: Any = "10s",
        columns: Mapping[str, str] | None = None,
        time_unit: str | None = None,
        attributes: Mapping[str, str] | None = None,
        prefetch: int | None = None,
    ) -> None:
        self._options = WindowOptions(
            size, slide, lateness, ahead, combine, late, on_error, order, origin, empty, at_end, attributes,
            prefetch,
        )  # fmt: skip
        self._source = as_source(source, columns, time_unit)
        self._source.want(columns_needed(self._options.attributes))
        if not isinstance(graph if graph is not None else {}, Mapping):
            raise ParameterError(f"graph must be a dict of options of suricate.Graph, got {shown(graph)}")
        self._late, self._bad = Refusals("late", late, "drop"), Refusals("on_error", on_error, "skip")
        options = dict(graph or {})
        self._ranks = Ranks(options.get("comm"))
        self._names = vertex_names(names, directed=bool(options.get("directed", True)))
        self.graphs = Graphs(options, self._names)  #: what the window keeps: its graph, and what follows it
        self._ranks.mute((self._late, self._bad, *self._source.refusals))
        declared = checked_kinds(options.get("edge_columns") or {})
        known = [name for name, kind in declared.items() if kind.dtype == TEXT]
        self._intake = Intake(
            self._options.mode, self._source.time_unit, self._bad, self._names,
            AttributeIntake(self._options.attributes, known),
        )  # fmt: skip
        self.rule = self._options.rule(None)  #: when slides close
        self._ring: Ring | None = None
        self._waiting: list[Events] = []  # taken, not yet in a slide
        self._sorted: Events | None = None  # the same, by time, once they were sorted
        self._sinks: list[Sink] = []
        self._pending: tuple[int, Change, np.ndarray, int] | None = None  # a slide that the graph does not hold yet
        self._reader: Iterator[tuple[Any, Any]] | None = None
        self._slides: Iterator[Slide] | None = None
        self._error: BaseException | None = None  # that ended the job
        self.current: Slide | None = None  #: the newest slide
        self.past = History()  #: what :attr:`history` is made from
        self.stopped: str | None = None  #: the signal that ended the loop
        self._stop = threading.Event()
        self._position: Any = None  # of the source, behind what was taken
        self._checkpoints = None if checkpoint is None else Checkpoints(checkpoint, checkpoint_every)
        self._saved: tuple[dict[str, Any], dict[str, np.ndarray]] | None = None  # from which the job goes on
        self.slides = 0  #: the number of slides so far
        if self._checkpoints is not None and (saved := self._ranks.first(self._checkpoints.load)) is not None:
            self._saved, self.slides = saved, int(saved[0]["slides"])
            restore(self, *saved)

    # -- what users ask ------------------------------------------------------------------------------------------------

    @property
    def graph(self) -> Graph:
        """The graph of the window; raises ``RequirementError`` before the first slide."""
        if self.graphs.graph is None:
            raise RequirementError("there is no graph before the first slide")
        return self.graphs.graph

    @property
    def has_unit(self) -> bool:
        """Whether times have a unit."""
        return self._options.mode == TIME and self._intake.has_unit

    @property
    def names(self) -> Names | None:
        """The names of the vertices, also ``graph.names``; None where ids are vertices."""
        return None if self._names is None else self._names.names

    @property
    def late(self) -> int:
        """The number of events that came too late."""
        return self._late.count

    @property
    def skipped(self) -> int:
        """The number of events that were not valid, or too far ahead, and of malformed rows of files."""
        return self._bad.count + sum(each.count for each in self._source.refusals)

    @property
    def history(self) -> Frame:
        """A row per slide, of the newest 10,000: ``end``, ``events``, ``late``, ``lag``, ``edges``, bytes, seconds.

        Bytes are those of every 16th slide; ``w.memory`` is that of the moment.
        """
        return self.past.frame()

    @property
    def bytes_on_host(self) -> int:
        """Bytes of the window's events and of those that wait."""
        waiting = sum(column.nbytes for part in self._waiting for column in part if column is not None)
        names = 0 if self._names is None else self._names.memory
        names += self._intake.attributes.memory
        return waiting + names + (0 if self._ring is None else self._ring.memory)

    def track(self, algorithm: Any, *, every: int = 1, symmetric: bool = False, **params: Any) -> JobTracker:
        """Keep an algorithm's result current; see ``Graph.track``.

        A directed graph keeps in-edges if the algorithm needs them or is updated by their help, unless its options say
        otherwise: without them, most algorithms compute every deletion from scratch.

        Args:
            algorithm: name or class. every: the result is brought up to date after so many slides.
            symmetric: of a directed window, whether it is tracked on a second graph, which is undirected and has no
                weights: an edge where there is an arc in either direction.
            params: its parameters. Where vertices have names, these are names: sources and the like, and the keys of
                mappings. Their ids are kept for them; without events they are no live vertices, and reach nothing.

        Raises:
            RequirementError: the job has begun, or the graph's options exclude it.
        """
        tracker = JobTracker(algorithm, params, every, flag("symmetric", symmetric))
        self.graphs.track(tracker)
        return tracker

    def vertices(self, name: str, frame: Any, *, on: str = "id", missing: Any = None) -> None:
        """Give vertices an attribute by name, also those that come later: a column of ``w.graph.columns``.

        Args:
            name: the column of the frame, and of the graph.
            frame: a frame, an Arrow table or a dict of arrays, a row per vertex.
            on: the column with the names of the vertices, or their ids where they have no names.
            missing: the value of vertices that the frame lacks; None: NaN, 0, False or ``""``.

        Raises:
            ParameterError, ShapeError, DTypeError: the frame does not fit.
        """
        self.graphs.add_column(VertexColumn(name, frame, on, missing))

    def sink(self, target: Any) -> Sink:
        """Return where results go: a ``.csv`` or ``.jsonl`` file, a folder of Parquet parts, or a function.

        Raises:
            ParameterError: it is none of these, or it is there and the checkpoint does not know it.
        """
        saved = None if self._saved is None else self._saved[0]["sinks"]
        sink = make_sink(target, self, saved) if self._ranks.is_first else Sink(self)
        self._sinks.append(sink)
        return sink

    def __enter__(self) -> Window:
        """Let SIGINT and SIGTERM end the loop after the current slide or chunk, in the main thread."""
        self._handlers: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._handlers[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._background is not None:
            self._stop.set()
            wait([self._background.done])
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        for sink in self._sinks:
            sink.close()

    def _on_signal(self, number: int, _frame: Any) -> None:
        if self._stop.is_set():  # the second time: at once
            raise KeyboardInterrupt
        self.stopped = signal.Signals(number).name
        self._stop.set()

    def __iter__(self) -> Iterator[Slide]:
        return self

    def __next__(self) -> Slide:
        if self._error is not None:
            raise self._error
        if self._slides is None:
            self._go_on()
        stops = self._ranks.any(self._stop.is_set())
        self._keep(at_once=stops or self._slides is None)
        if stops:
            raise StopIteration
        if self._slides is None:
            self._slides = self._run()
        try:
            return next(self._slides)
        except StopIteration:
            self._keep(at_once=True)
            raise
        except BaseException as error:
            self._slides = None
            if self._pending is None or not isinstance(error, CapacityError | KeyboardInterrupt):
                self._error = error  # else the next call goes on with the slide that waits
            raise

    def _go_on(self) -> None:
        """Make the graph of the checkpoint from which the job goes on, once."""
        if self._saved is None or not self._saved[1]:
            return
        about, arrays = self._saved
        self._saved = about, {}
        try:
            if self._ring is not None and self.slides:
                self._restore_graph(about, arrays)
        except BaseException as error:
            self._error = error
            raise

    def _keep(self, *, at_once: bool) -> None:
        """Write a checkpoint if it is time, or at once; none while a slide waits to be applied."""
        if self._checkpoints is None or self._pending is not None or not self._ranks.is_first:
            return
        if at_once or self._checkpoints.is_due(self.slides):
            self._checkpoints.save(self, self.slides)

    # -- the loop ------------------------------------------------------------------------------------------------------

    def _run(self) -> Iterator[Slide]:
        if self._pending is not None:
            yield self._apply(*self._pending, {"source": 0.0, "window": 0.0})
        yield from self._close(0.0)
        refusals = self._source.refusals
        if self._reader is None:
            ahead = self._reads_ahead and self._ranks.is_first
            self._reader = ReadAhead(self._source.read(self._position), refusals) if ahead else self._chunks()
        reader, begin = self._reader, time.perf_counter()
        while True:
            found, held = self._ranks.chunk(partial(self._next_chunk, reader), partial(held_by, reader, refusals))
            if found is None:
                break
            position, chunk = found
            if chunk is MARK:
                self._mark()
            elif len(chunk["src"]):  # lists without entries have no type
                self._take(self._intake.events(chunk))
            for each, rows in zip(refusals, held(), strict=True):
                each.put(len(rows), rows)
            self._position = position
            yield from self._close(time.perf_counter() - begin)
            if self._ranks.any(self._stop.is_set()):
                return
            begin = time.perf_counter()
        if self._options.at_end == "close":
            self.rule.finish()
            yield from self._close(time.perf_counter() - begin)

    @property
    def _reads_ahead(self) -> bool:
        if self._options.order is not None:
            return False
        return self._source.reads_ahead if self._options.prefetch is None else self._options.prefetch > 0

    def _chunks(self) -> Iterator[tuple[Any, Any]]:
        if self._options.order is None:
            yield from self._source.read(self._position)
            return
        if self._position == WHOLE:
            return
        parts = [chunk for _, chunk in self._source.read() if isinstance(chunk, Mapping)]
        if not parts:
            return
        names = parts[0].keys()
        order = np.arange(sum(len(part["src"]) for part in parts))
        if "time" in names:
            order = np.argsort(in_order([part["time"] for part in parts], order), kind="stable")
        yield WHOLE, {name: in_order([part[name] for part in parts], order) for name in names}

    def _mark(self) -> None:
        if self._options.mode != STEP:
            raise RequirementError("the source marks steps: slide='step' makes a window of them")
        self._intake.position += 1
        self.rule.reach(self._intake.position)

    def _take(self, events: Events) -> None:
        """Judge events and keep those that are in time."""
        if self._ring is None:
            self._begin()
        verdict = self.rule.judge(events.time)
        if verdict is not None:
            late = events.taken(verdict == LATE)
            if late.number and self._late.raises:
                raise self._intake.late_error(late, int(self.rule.state[1]))
            self._intake.refuse(self._late, late, "late")
            ahead = events.taken(verdict == AHEAD)
            if ahead.number and self._bad.raises:
                time_of = moment(int(ahead.time[0]), has_unit=self.has_unit)
                raise ParameterError(f"an event at {time_of} is further ahead of the watermark than ahead= allows")
            self._intake.refuse(self._bad, ahead, "ahead of the watermark")
            events = events.taken(verdict == TAKEN)
        if events.number:
            self._waiting.append(events)
            self._sorted = None

    def _begin(self) -> None:
        """Make what depends on the first chunk: the unit of times, the weights."""
        dtype = self._intake.weight_dtype
        if dtype is None and self._options.combine in ("sum", "min", "max"):
            raise RequirementError(f"combine={self._options.combine!r} needs a column of weights")
        self.rule = self._options.rule(self._intake.has_unit) if self._options.mode == TIME else self.rule
        rules, attributes = self._options.attributes, self._intake.attributes
        values = EdgeValues(rules, attributes.dtype, attributes.texts) if rules else None
        self._ring = Ring(self._options.combine, dtype, values)

    def _close(self, spent: float) -> Iterator[Slide]:
        """Yield the slides that are due."""
        while self._ring is not None:
            waiting = self._by_time()
            entering = int(waiting.time[0]) if waiting.number else None
            end = self.rule.next_end(entering, self._ring.oldest)
            if end is None:
                return
            begin = time.perf_counter()
            number = int(np.searchsorted(waiting.time, end))
            self._sorted = waiting.taken(slice(number, None))
            self._waiting = [self._sorted] if number < waiting.number else []
            self.rule.last = end
            change, free = self._change(waiting.taken(slice(0, number)), end)
            if self._intake.attributes.has_many_texts:
                waits = [] if self._sorted.attributes is None else [self._sorted.attributes]
                self._intake.attributes.forget((*self._ring.used_attributes(), *waits))
            took = {"source": spent, "window": time.perf_counter() - begin}
            yield self._apply(end, change, free, number, took)
            spent = 0.0

    def _change(self, events: Events, end: int) -> tuple[Change, np.ndarray]:
        """Return what a slide of these events changes, and the ids of vertices whose names are forgotten."""
        assert self._ring is not None
        size, cancelled, unmatched = self.rule.grid.size, 0, 0
        if self._names is not None:
            events, cancelled, unmatched = self._names.named(events)
        if not self.graphs.directed:
            events = events._replace(src=np.minimum(events.src, events.dst), dst=np.maximum(events.src, events.dst))
        change = self._ring.slide(events, None if size is None else end - size)
        if self._names is None:
            return change, np.empty(0, np.uint32)
        free = self._names.close_slide(change.new[:, change.fresh], change.gone)
        return change._replace(taken=change.taken + cancelled, unmatched=change.unmatched + unmatched), free

    def _by_time(self) -> Events:
        """Return the events that wait, in the order (time, position)."""
        if self._sorted is None:
            events = (
                joined(self._waiting)
                if self._waiting
                else nothing(self._intake.weight_dtype, self._intake.attributes.dtype)
            )
            if (events.time[1:] < events.time[:-1]).any():
                events = events.taken(np.argsort(events.time, kind="stable"))
            self._waiting = [events] if events.number else []
            self._sorted = events
        return self._sorted

    def _apply(self, end: int, change: Change, free: np.ndarray, entered: int, took: dict[str, float]) -> Slide:
        """Bring the graph up to date; if that raises, the next call tries again."""
        self._pending = end, change, free, entered
        begin = time.perf_counter()
        graph = self.graphs.graph or self._make_graph()
        delta = self.graphs.change(change, free)
        self._pending, self.slides = None, self.slides + 1
        self.graphs.begin_trackers()  # not before: a source is a vertex of the first slide
        for tracker in self.graphs.trackers:
            tracker.advance()
        if isinstance(self._reader, ReadAhead):
            self._reader.allow(entered * (2 if self._options.prefetch is None else self._options.prefetch))
        took["graph"] = time.perf_counter() - begin
        took["total"] = sum(took.values())
        self.current = Slide(self, end, change, entered, delta, took)
        ring, drops = self._ring, self.graphs.options.get("self_loops", "allow") != "allow"
        self.past.add(self.current, graph.num_edges if drops or ring is None else ring.num_pairs)  # to count takes time
        return self.current

    def _restore_graph(self, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Make the graph that a job had when its checkpoint was taken, and bring its trackers there."""
        assert self._ring is not None
        self._make_graph()
        saved = [*about["trackers"], *[(None, 0)] * len(self.graphs.trackers)]
        goes_on = [each.identity == identity for each, (identity, _) in zip(self.graphs.trackers, saved, strict=False)]
        states = [state_in(arrays, f"state{at}.") if same else {} for at, same in enumerate(goes_on)]
        self.graphs.restore(self._ring.held(), about["num_vertices"], arrays["deleted"], states)
        for number, tracker in enumerate(self.graphs.trackers):
            if goes_on[number]:
                tracker.load(saved[number][1], state_in(arrays, f"tracker{number}."))

    def _make_graph(self) -> Graph:
        weighted = self._intake.weight_dtype is not None or self._options.combine == "count"
        default = ("uint32" if self._options.combine == "count" else "float64") if weighted else None
        attributes = None if self._ring is None else self._ring.attributes
        return self.graphs.make(default, {} if attributes is None else attributes.kinds())
