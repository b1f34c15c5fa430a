"""The job: a window over a source, slide by slide, kept as a graph with trackers."""

from __future__ import annotations

import asyncio
import copy
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from inspect import GEN_SUSPENDED, getgeneratorstate
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.archives import state_in
from suricate.base.errors import CapacityError, ParameterError, RequirementError
from suricate.base.parameters import flag, shown
from suricate.base.progress import can_show, working
from suricate.base.renamed import keywords
from suricate.graph import Graph
from suricate.graph.frames import Frame
from suricate.graph.interrupts import Uninterrupted
from suricate.intake.names import Names
from suricate.io.sources.opening import as_source
from suricate.io.sources.positions import as_json
from suricate.io.sources.refusals import with_held
from suricate.io.sources.rows import WAITING
from suricate.io.sources.silence import INSIDE, Silence
from suricate.io.sources.source import MARK
from suricate.state.column import TEXT
from suricate.state.edge_table import checked_kinds
from suricate.stream.alerts import EDGES, Alert, checked_alerts, rule_of
from suricate.stream.all_ranks.contents import SharedContents
from suricate.stream.all_ranks.lanes import readers_of
from suricate.stream.all_ranks.names import vertex_names_of_all
from suricate.stream.all_ranks.reading import ENOUGH, Readers
from suricate.stream.attributes import columns_needed
from suricate.stream.background import NOT_YET, Background, ReadAhead, next_of
from suricate.stream.checkpoint import Checkpoints, restore, restore_graph, without_events
from suricate.stream.contents import Contents, Due, Entering
from suricate.stream.graphs import Graphs, VertexColumn, raise_explained
from suricate.stream.history import History
from suricate.stream.live.controls import Controls
from suricate.stream.options import DECAY, WindowOptions
from suricate.stream.ranks import Ranks
from suricate.stream.rehearsal import rehearse
from suricate.stream.report import Report, of_history, picture_of, save
from suricate.stream.sinks import Outputs, Sink, make_sink
from suricate.stream.slide import Slide
from suricate.stream.tracking import JobTracker
from suricate.stream.window_names import vertex_names
from suricate.windows.division import EventDivision

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDED = "ended"  #: in place of a slide: there are no more
OF_SOURCE = "columns", "time_unit", "order", "prefetch", "on_error"


class Window(Controls):
    """A window over a stream of events, kept as a graph: iterate over it to get its slides.

    >>> import suricate.stream as st
    >>> job = st.Window({"src": [0, 1, 2], "dst": [1, 2, 0]}, size=2, slide=1, graph={"device": "cpu"})
    >>> [(w.end, w.graph.num_edges) for w in job]
    [(1, 1), (2, 2), (3, 2)]

    Events are ordered by time, then by position in the source. The window holds ``end - size <= t < end``; ends lie on
    ``origin + k * slide``, and a slide closes when the watermark, the largest ``time - lateness`` so far, has reached
    its end. An edge is in the graph while one of its events is in the window. Each slide is one batch of net changes.

    Args:
        source: ``st.source(...)``, ``st.scan(...)`` of files, ``st.chain``, ``st.merge``, or what ``st.source`` takes
            (a table, an iterable of tables, a function, a file), with columns ``time``, ``src``, ``dst``, ``weight``,
            ``kind``. How it is read, and what happens to invalid events, is said there.
        size: what the window holds: a duration (``"7d"``, ``"90min"``, a timedelta; ``"100"`` if times have no unit),
            a number of events, or of steps if ``slide="step"``; None: everything since the beginning.
        slide: likewise, at most ``size``; ``"step"``: the source marks where slides end (``st.MARK``).
        lateness: a duration: how long a slide waits for events that are behind the newest one.
        ahead: a duration, longer than ``lateness``: events further past the watermark are handled as ``on_error`` of
            the source says, unless further ones follow them that agree, see ``docs/streams.md``; None: no limit.
        combine: the weight of an edge from those of its events: ``"last"``, ``"first"``, ``"sum"``, ``"count"``,
            ``"min"`` or ``"max"``. Sums of whole numbers are exact. ``"decay"``: sums of weights, or of 1 each, that
            halve with every ``half_life`` between the event and the end of the slide.
        late: what happens to events that come after their slide: ``"drop"`` (they are counted), ``"raise"``, or the
            name of a CSV file to append them to.
        origin: where the grid of ends begins, a duration since the epoch.
        empty: ``"emit"`` returns slides in which nothing enters or leaves, too.
        at_end: ``"hold"`` leaves slides open that only the end of the source would close.
        graph: options of the graph (see ``suricate.Graph``); ``weight_dtype`` is float64 by default, uint32 for
            counts, None if events have no weights. With ``comm`` all its processes make the job and
            share its events; the first one reads.
        names: True: sources and destinations are names, texts or integers of 64 bits, which have ids while one of
            their events is in the window; or the ``suricate.Names`` to use. None: they are ids of vertices.
        checkpoint: a folder for the state of the job, which all its processes must see; if it holds one, the job
            continues from there. A checkpoint is written when the loop begins and when it asks for the next slide, so
            it includes what the loop did with a slide.
        checkpoint_every: a number of slides, or a duration; one more is written when the loop ends by itself.
        attributes: further values of events, with the rule of each: ``{"fee": "sum", "rate": "last"}``, rules as of
            ``combine``, for texts ``"first"`` or ``"last"``. They are columns of the graph's edges. ``"count"`` needs
            no values. ``columns`` of the source says where they are found.
        idle: a duration: once the source has said for so long that it has no events, by chunks without rows, the
            watermark runs on with the wall clock, from the newest event. None: it waits for events.
        half_life: a duration, with ``combine="decay"``; ``size`` is at most 900 of them. ``w.graph.edges()``, deltas
            and alerts give the weights as of the end. Operators read stored ones, which times ``graph.weight_scale``
            are these; an algorithm runs if a common factor of all weights does not change its result.
        events: also keep the events of each vertex, ``w.log``, a ``suricate.Events``: those that lead to it (``"in"``),
            that it sends (``"out"``), or ``"both"``, which undirected windows always have; None: only edges.
        readers: which of several processes read the source: the ``"first"``, or ``"all"``: each parses its share of
            files (``st.scan``) that all see, sources of ``st.merge``, partitions of a broker or of a Dask DataFrame.

    Raises:
        ParameterError: an option of the wrong type or value; a checkpoint of another window, source or graph.
        RequirementError: the source cannot continue from the position of the checkpoint.
        FileFormatError: no checkpoint of the folder is whole.
        RequirementError, DTypeError, WeightError, VertexRangeError: while iterating, invalid events.
        LateEventError: while iterating, with ``late="raise"``.
        CapacityError: while iterating; nothing is lost, and the next iteration returns the same slide.
    """

    @keywords(**{each: f"st.source(x, {each}=...)" for each in OF_SOURCE})
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
        origin: Any = 0,
        empty: str = "skip",
        at_end: str = "close",
        graph: Mapping[str, Any] | None = None,
        names: Names | bool | None = None,
        checkpoint: Any = None,
        checkpoint_every: Any = "10s",
        attributes: Mapping[str, str] | None = None,
        idle: Any = None,
        half_life: Any = None,
        events: str | None = None,
        readers: str = "first",
    ) -> None:
        self._options = WindowOptions(
            size, slide, lateness, ahead, combine, late, origin, empty, at_end, attributes, idle, half_life, events,
        )  # fmt: skip
        options = dict(graph) if isinstance(graph, Mapping) else {}
        self._ranks, self._readers = Ranks(options.get("comm")), readers
        self._source = self._ranks.readable(as_source(source), readers, self._options)
        self._source.demand_used(self._options.attributes)
        self.refusals = [copy.copy(each) for each in self._source.refusals]  #: the first one has invalid events
        if not isinstance(graph if graph is not None else {}, Mapping):
            raise ParameterError(f"graph must be a dict of options of suricate.Graph, got {shown(graph)}")
        if events is not None and options.get("comm") is not None:
            raise RequirementError("events: a window of several processes keeps no events by vertex yet")
        directed = bool(options.get("directed", True))
        comm = self._ranks.comm
        division = None if comm is None else EventDivision(comm, lambda: self.graph.partition, directed=directed)
        self._all_read = comm is not None and readers == "all"
        naming = partial(vertex_names_of_all, comm=comm) if self._all_read and comm else vertex_names
        vertices = naming(names, directed=directed)
        declared = checked_kinds(options.get("edge_columns") or {})
        dtype = options.get("weight_dtype", "float64")
        if combine == DECAY and (declared or getattr(dtype, "name", dtype) not in ("float64", float, np.float64)):
            raise ParameterError(f"combine={DECAY!r}: the graph has float64 weights, and no columns of edges")
        known = [name for name, kind in declared.items() if kind.dtype == TEXT]
        #: the events, and the edges that they make
        self.contents: Contents = (SharedContents if self._all_read else Contents)(
            self._options, self._source.time_unit, self.refusals[0], vertices, known,
            directed=directed, device=lambda: self.graphs.device, division=division,
        )  # fmt: skip
        self.graphs: Graphs = Graphs(options, vertices)  #: the graph of these edges, and what follows it
        refusals = self.contents.late, *self.refusals
        self._ranks.mute(refusals, all_read=self._all_read)
        self._sinks: list[Sink] = []
        self.alerts: list[Alert] = []  #: in the order in which they were added
        self.record: Report | None = None  #: made by :meth:`report`
        self._pending: Due | None = None  # a slide that was not handed out yet,
        self._made: Slide | None = None  # what is handed out, once the graph and the trackers have it,
        self._has_lists = False  # and whether it has the lists of all processes, with weights of the graph
        self._reader: Generator[Any, None, None] | ReadAhead | Readers | None = None  # of chunks
        self._is_rehearsed = False  # whether what later slides can call is compiled
        self._shows = False  # whether there is somebody to whom progress is shown
        self._slides: Generator[Slide, None, None] | None = None
        self._error: BaseException | None = None  # that ended the job
        self._has_ended = False  # by itself, an error or a signal
        self._server: Callable[[], Any] | None = None  # closes what serves the metrics
        self.current: Slide | None = None  #: the newest slide
        self.past = History()  #: what :attr:`history` is made from
        self.stopped: str | None = None  #: the signal that ended the loop
        self._stop = threading.Event()
        self._background: Background | None = None  # what runs the loop in a thread
        self._position: Any = None  # of the source, behind what was taken
        self._checkpoints = None if checkpoint is None else Checkpoints(checkpoint, checkpoint_every)
        self.outputs: Outputs = Outputs(self._source, self._checkpoints.folder if self._checkpoints else None, refusals)
        note = self._checkpoints.note if self._checkpoints and self._ranks.is_first else None
        self.silence = Silence(self._options.idle_seconds, note)  #: of the source
        self._inside = False  # a chunk that was taken in part
        self._saved: tuple[dict[str, Any], dict[str, np.ndarray]] | None = None  # from which the job goes on
        self.slides: int = 0  #: the number of slides so far
        if self._checkpoints:
            self._checkpoints.demand_seen(self._ranks)
        saved = self._checkpoints and self._ranks.first(self._checkpoints.load, without_events)
        if saved:
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
        """Whether times have a unit: dates, or numbers with ``time_unit``."""
        return self.contents.has_unit

    @property
    def names(self) -> Names | None:
        """The names of the vertices, as ``graph.names``; None if the source gives ids."""
        return None if self.contents.names is None else self.contents.names.names

    @property
    def late(self) -> int:
        """The number of events read so far that came after their slide had closed; ``w.late``: up to a slide."""
        return self.contents.late.count

    @property
    def read(self) -> int:
        """The number of events read so far, with late and skipped ones."""
        return self.contents.read

    @property
    def skipped(self) -> int:
        """The number of events that were invalid or too far ahead, and of malformed rows of files."""
        return sum([each.count for each in self.refusals])

    @property
    def history(self) -> Frame:
        """A row per slide, of the newest 10,000: ``end``, ``events``, ``late``, ``lag``, ``edges``, bytes and seconds.

        Bytes are those of ``w.memory`` at every 16th slide, seconds those of ``w.took``, a column for each part.
        """
        return self.past.frame()

    @property
    def _is_broken(self) -> bool:
        """Whether the loop was interrupted while a slide was applied, so that graph and trackers may not agree."""
        return self._pending is not None

    @property
    def _is_between(self) -> bool:
        """Whether the loop has handed out a slide, and there may be further ones."""
        return self._slides is not None and getgeneratorstate(self._slides) == GEN_SUSPENDED

    @property
    def bytes_on_host(self) -> int:
        """Bytes of the window's events and of those that wait."""
        return self.contents.memory

    def track(self, algorithm: Any, *, every: int = 1, symmetric: bool = False, **params: Any) -> JobTracker:
        """Keep an algorithm's result current from the first slide on; return its tracker.

        A directed graph gets in-edges if the algorithm needs them or updates faster with them, unless its options say
        otherwise: without in-edges, most algorithms recompute their result from scratch after every deletion.

        Args:
            algorithm: name or class. every: number of slides after which the result is brought up to date.
            symmetric: for a directed window: track it on a second graph, undirected and unweighted, that has an edge
                wherever there is an arc in either direction.
            params: its parameters. If vertices have names, vertices are given by name: sources and keys of mappings.
                Their ids are reserved; without live events they are deleted vertices.

        Raises:
            RequirementError: the job has begun, or the graph's options exclude the algorithm, or weights decay, and it
                is not ``scale_free``.

        Example:
            >>> job = st.Window({"src": [0, 1, 0], "dst": [1, 2, 2]}, size=2, slide=1, graph={"device": "cpu"})
            >>> degree = job.track("degree")
            >>> [degree.result.tolist() for w in job]
            [[1, 0], [1, 1, 0], [1, 1, 0]]
        """
        tracker = JobTracker(algorithm, params, every, flag("symmetric", symmetric))
        if self._options.combine == DECAY and not (tracker.symmetric and self.graphs.directed):
            tracker.kind.demand_scale_free(params)
        self.graphs.track(tracker)
        return tracker

    def vertices(self, name: str, frame: Any, *, on: str = "id", missing: Any = None) -> None:
        """Give vertices, later ones included, an attribute: a column of ``w.graph.columns``.

        Args:
            name: the column of the frame, and of the graph.
            frame: a frame, an Arrow table or a dict of arrays, a row per vertex.
            on: the column with the names of the vertices, or their ids if they have no names.
            missing: the value of vertices that the frame lacks or has a null for; None: NaN, 0, False or ``""``.

        Raises:
            ParameterError, ShapeError, DTypeError: the frame does not fit.

        Example:
            >>> events = {"src": ["ann", "bob"], "dst": ["bob", "cid"]}
            >>> job = st.Window(events, size=2, slide=1, names=True, graph={"device": "cpu"})
            >>> job.vertices("age", {"id": ["ann", "bob", "cid"], "age": [30, 40, 50]})
            >>> [w.graph.columns["age"].tolist() for w in job]
            [[30, 40], [30, 40, 50]]
        """
        self.graphs.add_column(VertexColumn(name, frame, on, missing))

    def sink(self, target: Any, *, by_rank: bool = False) -> Sink:
        """Return a writer of tables: to a ``.csv`` or ``.jsonl`` file, a folder of Parquet parts, or a function.

        ``by_rank``: all processes write to the folder, each its share of the rows of the same table; all call this.

        Raises:
            ParameterError: ``target`` is none of these, or the job reads or writes it already; or the job continues
                and its checkpoint does not list this target.

        Example:
            >>> job = st.Window({"src": [0, 1], "dst": [1, 2]}, size=2, slide=2, graph={"device": "cpu"})
            >>> degree, rows = job.track("degree"), job.sink("rows.csv")
            >>> for w in job:
            ...     rows.write(degree.to_pandas())
            >>> print(open("rows.csv").read(), end="")
            end,vertex,value
            2,0,1
            2,1,1
            2,2,0
        """
        saved = None if self._saved is None else self._saved[0]["sinks"]
        sink = make_sink(target, self, saved, by_rank=flag("by_rank", by_rank))
        self._sinks.append(sink)
        return sink

    def alert(
        self,
        tracker: JobTracker | str,
        *,
        above: float | None = None,
        below: float | None = None,
        grew: float | str | None = None,
        shrank: float | str | None = None,
        size_above: int | None = None,
        merged: int | None = None,
        by: str | None = None,
        sink: Any = None,
    ) -> Alert:
        """Tell when a rule holds that did not at the slide before; return the alert, whose ``fired`` has the rows.

        Values are compared by name with those of the last slide for which the tracker computed some; a vertex that was
        not live then or has left since, or that a search had not reached, had none.

        Args:
            tracker: one of :meth:`track`; ``"edges"``: the weights of edges.
            above, below: values that are so now, and were not, or were none.
            grew, shrank: a difference of at least this number; ``"5x"``: a ratio, of values above 0.
            size_above: groups such as components with more vertices than this, none of whose vertices was in one.
            merged: two or more groups of at least so many vertices, with survivors in one now: a row for each of them.
            by: the array of the result, as in ``Tracker.top``.
            sink: a :meth:`sink`, or what makes one, for the rows of slides with some.

        Raises:
            ParameterError: not one rule, or one that does not suit the algorithm; a tracker of another job; while
                iterating: the algorithm gives no value per vertex, or the checkpoint has other alerts.
            RequirementError: the job has begun; while iterating: the edges have no weights.
        """
        known = {"above": above, "below": below, "grew": grew, "shrank": shrank, "size_above": size_above,
                 "merged": merged}  # fmt: skip
        if self._slides is not None:
            raise RequirementError("alert: add alerts before the loop begins")
        if tracker != EDGES and tracker not in self.graphs.trackers:
            raise ParameterError(f"alert takes a tracker of job.track, or {EDGES!r}, got {shown(tracker)}")
        rule = rule_of(known, None if isinstance(tracker, str) else tracker.kind)
        to = sink if sink is None or isinstance(sink, Sink) else self.sink(sink)
        self.alerts.append(Alert(None if isinstance(tracker, str) else tracker, rule, by, to))
        return self.alerts[-1]

    def report(self, path: Any = None) -> Report:
        """Keep what a report shows of the job from its next slide on: sizes, lag, headlines of trackers, alerts.

        A page of HTML is written to ``path`` while the job runs, and at its end; ``report.write(path)`` writes one at
        any time. What is kept does not grow with the stream, and is in the checkpoint.

        Args:
            path: the file of the page; None: none is written by itself.

        Raises:
            RequirementError: the job has begun, or runs on several processes.
            MissingLibraryError: for a page, Jinja2 or matplotlib is not installed.
            ParameterError, OSError: the file belongs to something else, or cannot be written.

        Example:
            >>> job = st.Window({"src": [0, 1], "dst": [1, 2]}, size=2, slide=1, graph={"device": "cpu"})
            >>> page = job.report("job.html")
            >>> slides = [w.end for w in job]
            >>> "<svg" in open("job.html").read()
            True
        """
        if self._slides is not None or self._ranks.several:
            reason = "has several processes" if self._ranks.several else "has begun: ask for the report before"
            raise RequirementError(f"report: the job {reason}")
        self.record = Report(self, path)
        return self.record

    def plot(self, path: Any = None) -> Figure:
        """Return a ``matplotlib`` figure of the job: events, live vertices and edges, lag, trackers and alerts.

        Trackers are drawn over time if :meth:`report` was called before the loop, else as of the newest slide. Call it
        where the slide may be read: in the loop, after it, or in a question.

        Args:
            path: a file to write it to: an ``.svg``, for light and dark, a ``.png`` or a ``.pdf``.

        Raises:
            MissingLibraryError: matplotlib is not installed. OSError: the file cannot be written.
            ParameterError: it is of another kind, or belongs to something else.

        Example:
            >>> job = st.Window({"src": [0, 1], "dst": [1, 2]}, size=2, slide=1, graph={"device": "cpu"})
            >>> slides = [w.end for w in job]
            >>> picture = job.plot("job.svg")
            >>> "<svg" in open("job.svg").read()
            True
        """
        target = None if path is None else picture_of(self, path)
        figure = (self.record or of_history(self)).figure()
        if target is not None:
            save(figure, target)
        return figure

    # -- in a loop -----------------------------------------------------------------------------------------------------

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
        if self._is_between and not self._stop.is_set():
            self._error = RequirementError("this job has ended, as its with block was left: make it again to go on")
        self._end()
        for sink in self._sinks:
            sink.close()
        if exc[0] is None:
            self._close_report()
        if self._background is not None and exc[0] is None and not self._background.done.seen:
            self._background.done.result()  # what nobody has seen is not lost

    def _on_signal(self, number: int, _frame: Any) -> None:
        if self._stop.is_set():  # the second time: at once
            raise KeyboardInterrupt
        self.stopped = signal.Signals(number).name
        self._stop.set()

    def __iter__(self) -> Iterator[Slide]:
        return self

    def __next__(self) -> Slide:
        elsewhere = self._background is not None and not self._background.takes_slides
        if elsewhere or (self._slides is not None and self._slides.gi_running):  # type: ignore[attr-defined]
            raise RequirementError("another thread takes the slides of this job; query(fn) asks about the newest")
        if self._error is not None:
            raise self._error
        if self._slides is None:
            self._go_on()
        if self.record is not None:
            self.record.refresh()
        begins, asked = self._slides is None, self._stop.is_set()
        stops = asked
        if self._ranks.several or self._checkpoints is not None:
            stops, number = self._ranks.ask(asked, partial(self._number_due, at_once=begins or asked))
            self._keep(number)
        if stops:
            self._keep(self._ranks.first(partial(self._number_due, at_once=not (begins or asked))))
            self._end()
            self._close_report()
            raise StopIteration
        if self._slides is None:
            self._slides, self._shows = self._run(), can_show()
        try:
            slide = self._next_shown() if self._shows else next(self._slides)
            self._pending = self._made = None
            return slide
        except StopIteration:
            self._keep(self._ranks.first(partial(self._number_due, at_once=True)))
            self._end()
            self._close_report()
            raise
        except BaseException as error:
            self._slides = None
            waits = self._pending is not None and isinstance(error, KeyboardInterrupt)
            if not waits and not isinstance(error, CapacityError):
                self._error = error  # else the next call goes on with the slide that waits
                self._end()
            raise

    async def __aiter__(self) -> AsyncIterator[Slide]:
        """Take slides in a thread, so that the event loop goes on; cancelling ends the job with a checkpoint."""
        with ThreadPoolExecutor(1, "suricate slides") as thread:
            while True:
                taking = asyncio.get_running_loop().run_in_executor(thread, next, self, None)
                try:
                    slide = await asyncio.shield(taking)
                except asyncio.CancelledError:
                    self._stop.set()
                    await asyncio.wait([taking])  # for the chunk that is being read
                    taking.exception()  # the job keeps it; what ends this loop is that it was cancelled
                    raise
                if slide is None:
                    return
                yield slide

    def _next_shown(self) -> Slide:
        """Return the next slide; if it takes long, how many events were read is shown meanwhile."""
        assert self._slides is not None
        with working(lambda: f"slide {self.slides + 1:,}: {self.contents.read:,} events read"):
            return next(self._slides)

    def _go_on(self) -> None:
        """Restore the graph of the checkpoint that the job continues from, once."""
        if self._saved is None or not self._saved[1]:
            return
        about, arrays = self._saved
        self._saved = about, {}
        try:
            checked_alerts(self.alerts, about.get("alerts", []))
            for number, alert in enumerate(self.alerts):
                alert.load(self.slides, state_in(arrays, f"alert{number}."))
            if self.record is not None:
                self.record.load(state_in(arrays, "report."))
            if self.slides and any(name.startswith("ring.") for name in about["arrays"]):
                restore_graph(self, about, arrays)
        except BaseException as error:
            self._error = error
            raise

    def _end(self) -> None:
        """Stop what works beside the loop, which has ended: the server of metrics, and what reads the source."""
        self._stop_serving()
        if self._reader is not None:
            self._reader.close()
        if self._slides is not None and self._is_between:  # it refers to the source
            self._slides.close()

    def _close_report(self) -> None:
        if self.record is not None:
            self.record.close()

    def _claim(self) -> None:
        """Be the job that goes on from the checkpoints; ``RequirementError`` if a later one is it already."""
        if self._checkpoints and self._ranks.is_first:
            self._checkpoints.claim()

    def _number_due(self, *, at_once: bool) -> int:
        """Return the number of the checkpoint if one is due or ``at_once``, else 0; then the newest slide is whole."""
        if self._checkpoints is None:
            return 0
        self._claim()
        between = self._pending is None and not self._inside
        is_due = between and (at_once or self._checkpoints.is_due(self.slides))
        return self._checkpoints.next_number() if is_due else 0

    def _keep(self, number: int) -> None:
        """Write the checkpoint with this ``number``, unless that is 0: other ranks their parts, then the first one."""
        if not number or self._checkpoints is None:
            return
        if isinstance(self._reader, Readers):
            self._position = self._reader.position()
        with self._ranks.alike():
            if not self._ranks.is_first:
                self._checkpoints.save_part(self, number)
        self._ranks.first(partial(self._checkpoints.save, self, self.slides, number))

    # -- the loop ------------------------------------------------------------------------------------------------------

    def _run(self) -> Generator[Slide, None, None]:
        if self._pending is not None:
            yield self._apply(self._pending)
        read = partial(next, self._closing(), ENDED)
        while True:
            due = self._ranks.due(read, self) if self._ranks.several else read()
            if due == ENDED:
                return
            if due is not None:
                if self._ranks.several and self.graphs.graph is None:
                    self.make_graph()  # which says where events lie
                yield self._apply(self.contents.close(due))
            elif self._ranks.any(self._stop.is_set(), self._reader):
                return

    def _closing(self) -> Iterator[Entering | None]:
        """Read chunks, and yield the slides that they close; None after a chunk that closes none."""
        yield from self._close(0.0)
        if self._reader is None:
            attributes, first = columns_needed(self._options.attributes), self.contents.first_row()
            saves, holds = self._checkpoints is not None, self._options.at_end == "hold"
            self._source.want(
                attributes, names=self.names is not None, first=first, checked=saves, open_ended=holds,
                silence=self.silence,
            )  # fmt: skip
            self._reader = readers_of(self) if self._all_read else self._chunks()
        if isinstance(self._reader, Readers):
            yield from self._reader.closing()
            return
        begin, asked = time.perf_counter(), self.silence.clock()
        while (found := next_of(self._reader, self._background, self._ranks)) is not None:
            if found is NOT_YET:
                yield None
                continue
            (position, chunk), held = found
            if chunk is MARK:
                self.contents.mark()
            elif isinstance(chunk, int):
                self.contents.reach(self.silence.closes.popleft()[1])
            elif len(chunk["src"]):  # lists without entries have no type
                try:
                    self.contents.take(chunk)
                except RequirementError as error:  # of its columns, by which one file may differ from others
                    place = self._source.place(self._position if position is INSIDE else position)
                    why = f"{place}: {error}"
                    if self.contents.ring is None or self.refusals[0].raises:
                        raise RequirementError(why) from error
                    self.contents.refuse(len(chunk["src"]), why)
                self.silence.rows += len(chunk["src"])
                if not self._is_rehearsed:
                    self._is_rehearsed = True
                    rehearse(self, chunk)
                    begin, asked = time.perf_counter(), self.silence.clock()  # the source was not asked meanwhile
            for each, rows in zip(self.refusals, held, strict=True):
                if rows:
                    each.put(len(rows), rows)
                    self.contents.skip(len(rows))
            self._inside, last = position is INSIDE, self.contents.rule.last
            self._position = self._position if self._inside else position
            yield from self._close(time.perf_counter() - begin)
            if self.silence.after is not None:
                silent = isinstance(chunk, Mapping) and not (len(chunk["src"]) or any(held) or chunk is WAITING)
                yield from self._run_on(self.silence.elapsed(asked, silent=silent))
            if self.contents.rule.last == last:
                yield None
            if self.contents.read >= ENOUGH:
                self.contents.warn_of_late()
            begin, asked = time.perf_counter(), self.silence.clock()
        if self._options.at_end == "close":
            self.contents.finish()
            yield from self._close(time.perf_counter() - begin)
        self.contents.warn_of_late()

    def _chunks(self) -> Generator[Any, None, None] | ReadAhead:
        """Return an iterator over the chunks of the source, with the malformed lines behind each."""
        chunks = self._source.read(self._position)
        if self.silence.closes:
            chunks = self.silence.cut(self._position, chunks)
        found = with_held(chunks, self._source.refusals)
        return ReadAhead(found) if self._source.prefetch else found

    def _run_on(self, elapsed: float | None) -> Iterator[Entering]:
        """Yield the slides that the wall clock has reached ``elapsed`` seconds after the newest event came."""
        while elapsed is not None and (end := self.contents.end_by_clock(elapsed)) is not None:
            self.silence.note([self.silence.rows, end, as_json(self._position)])
            self.contents.reach(end)
            yield from self._close(0.0)

    def _close(self, spent: float) -> Iterator[Entering]:
        """Yield the slides that are due; each is closed before the next is asked for.

        ``spent``: seconds spent on reading, which count for the first.
        """
        while (due := self.contents.next_change(spent)) is not None:
            yield due
            spent = 0.0

    def _apply(self, due: Due) -> Slide:
        """Apply a closed slide to the graph and the trackers; if that raises, the next iteration goes on with it."""
        if self._made is not None:
            return self._told(self._made) if self.alerts else self._made
        self._pending = due
        begin, graph = time.perf_counter(), self.graphs.graph or self.make_graph()
        if not self._has_lists:
            if self._ranks.several:
                due = self.contents.complete(due, self._ranks.change(due.change, self.graphs))
            elif due.change.value is not None:
                due = due._replace(change=self.graphs.fitted(due.change))
            self._pending, self._has_lists = due, True
        try:
            delta = self.graphs.change(due.change, due.free, due.scale)
            if not self.graphs.has_begun:  # not before: a source is a vertex of the first slide
                self.graphs.begin_trackers()
            for tracker in self.graphs.trackers:
                tracker.advance(self.slides + 1)
            for alert in self.alerts:
                alert.advance(self.slides + 1, graph, delta)
            drops = self.graphs.options.get("self_loops", "allow") != "allow"
            edges = graph.num_edges if drops else due.num_pairs  # to count takes time
            if self.record is not None:
                self.record.advance(self.slides + 1, due, graph, edges)
        except CapacityError as error:
            raise_explained(error, self.names, max(int(due.change.top) + 1, graph.num_vertices), due.num_pairs)
        if isinstance(self._reader, ReadAhead):
            self._reader.allow(due.entered * self._source.prefetch)
        took = {"source": due.took[0], "window": due.took[1], "graph": time.perf_counter() - begin}
        took["total"] = sum(took.values())
        slide = Slide(self, due, delta, took)
        with Uninterrupted():
            self.current = slide
            self.past.add(slide, edges)
            self._has_lists, self.slides, self._made = False, self.slides + 1, slide
        return self._told(slide) if self.alerts else slide

    def _told(self, slide: Slide) -> Slide:
        """Write what alerts found at ``slide`` to their sinks, and return it."""
        for alert in self.alerts:
            alert.write()
        return slide

    def make_graph(self) -> Graph:
        """Make the graph of the window from what its source has; return it.

        Example:
            >>> job = st.Window({"src": [0, 1], "dst": [1, 2]}, size=2, slide=1, graph={"device": "cpu"})
            >>> job.make_graph().num_edges
            0
        """
        return self.graphs.make(*self._ranks.first(lambda: (self.contents.weights, self.contents.columns)))
