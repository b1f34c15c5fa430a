"""The contents of a window: events that wait for their slide, live events, and the edges of the live ones."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from suricate.base.archives import prefixed, state_in
from suricate.base.devices import CPU, Device
from suricate.base.errors import ParameterError, RequirementError
from suricate.base.types import INSERT
from suricate.intake.arrays import on_host
from suricate.intake.name_values import TEXT
from suricate.intake.names import Names
from suricate.io.options import FirstRow
from suricate.io.sources.chunk_columns import in_order
from suricate.io.sources.refusals import Refusals
from suricate.io.sources.times import moment
from suricate.state.locks import capacity_error
from suricate.stream.attributes import AttributeIntake
from suricate.stream.chunk_events import SKIPS, Intake
from suricate.stream.filtered import KEPT, LEFT_OUT
from suricate.stream.options import STEP, TIME, WindowOptions
from suricate.stream.ranks import Head
from suricate.stream.window_names import VertexNames
from suricate.windows.counters import Counters
from suricate.windows.events import Events, joined, nothing, number_before, times_of
from suricate.windows.ring import Change
from suricate.windows.ring.combined_values import EdgeValues
from suricate.windows.ring.device_ring import AnyRing, ring_on
from suricate.windows.rule import AHEAD, DOUBTED, LATE, TAKEN

_NO_IDS = np.empty(0, np.uint32)


class Due(NamedTuple):
    """A slide that has just closed; rank 0 sends it to the other ranks, without arrays of edges, which they get later.

    Attributes:
        end, start: its window, in ticks; ``start`` is None for a landmark window.
        entered: number of events that entered.
        partial: whether it closed only because the source has ended. lag: ticks from its end to the newest event.
        num_pairs: number of edges with live events.
        late, skipped: numbers of such events up to the slide. closed_by: ``"events"``, ``"idle"`` or ``"end"``.
        change: the net change of the edges, ``Change``; on a rank without its arrays, a ``Head``.
        free: ids of vertices whose names are forgotten, ``uint32[k]``; on a rank without the arrays, the names of the
            slide's new vertices (``Values``), or None if vertices have no names.
        took: seconds of reading, and of finding the change.
    """

    end: int
    start: int | None
    entered: int
    partial: bool
    lag: int
    num_pairs: int
    late: int
    skipped: int
    closed_by: str
    change: Any
    free: Any
    took: tuple[float, float]


class Contents:
    """The events and edges of a window, without its source and its graph.

    ``bad`` counts invalid events. ``texts``: names of attributes known to hold texts. ``device`` is called at the first
    chunk, and returns the device for live events.
    """

    def __init__(
        self, options: WindowOptions, time_unit: str | None, bad: Refusals, names: VertexNames | None,
        texts: Collection[str], *, directed: bool, device: Callable[[], Device],
    ) -> None:  # fmt: skip
        self._options, self._directed, self._device, self.names = options, directed, device, names
        self.late, self.bad = Refusals("late", options.late, "drop"), bad
        attributes = AttributeIntake(options.attributes, texts)
        self.intake = Intake(options.mode, time_unit, self.bad, names, attributes)
        self.rule = options.rule(None)  #: when slides close
        self.ring: AnyRing | None = None  #: the live events; None before the first event
        self._waiting: list[Events] = []  # taken, not yet in a slide
        self._sorted: Events | None = None  # the same, sorted by time, or None
        self._doubted: tuple[Any, ...] | None = None  # see _was_valid
        self._ahead: Events | None = None  # far past the watermark, not yet believed or refused
        self._has_warned = False
        self.entered = nothing(None)  #: the events of the newest slide, with ids
        self._by_clock: int | None = None  # the newest end that the wall clock reached
        self.counters, self.read = Counters(), 0  #: refused events by slide; how many events came

    @property
    def has_unit(self) -> bool:
        """Whether times have a unit."""
        return self._options.mode == TIME and self.intake.has_unit

    def first_row(self) -> FirstRow:
        """Return what is known about the first row of the source: whether names are texts, if there are any."""
        kind = None if self.names is None else self.names.kind
        return FirstRow(None if kind is None else kind == TEXT)

    @property
    def weights(self) -> str | None:
        """The dtype of the weights of edges unless the graph's options say otherwise; None: they have none."""
        if self._options.combine == "count":
            return "uint32"
        return None if self.intake.weight_dtype is None else "float64"

    @property
    def columns(self) -> dict[str, np.dtype]:
        """The dtypes of the columns of edges, by name."""
        return {} if self.ring is None or self.ring.attributes is None else self.ring.attributes.kinds()

    @property
    def memory(self) -> int:
        """Bytes of the events, and of the tables of names and texts."""
        waiting = sum(getattr(column, "nbytes", 0) for part in (*self._waiting, *self._held) for column in part)
        parts = [each.memory for each in (self.intake.attributes, self.names, self.ring) if each is not None]
        return waiting + sum(parts)

    # -- events --------------------------------------------------------------------------------------------------------

    def take(self, chunk: Mapping[str, Any], *, on_host: bool = False) -> None:
        """Check the events of a chunk, and store those that are not late until their slide closes.

        If the window is on a CUDA device, ids are checked there, see :meth:`_was_valid`; ``on_host``: on the host.
        """
        arrivals = None if on_host or self.ring is None else self.ring.arrivals
        before = () if arrivals is None else (self.intake.position, self.rule.state.copy(), [*self._waiting])
        self.read += 0 if on_host else len(chunk["src"])
        if KEPT in chunk and self._options.mode != TIME:
            kept = np.flatnonzero(chunk[KEPT])
            chunk = {name: in_order([part], kept) for name, part in chunk.items() if name != KEPT}
        with self._place.current():
            events = self.intake.events(chunk, arrivals)
            if self.ring is None:
                self._begin()
            self._doubted = None if arrivals is None else (arrivals, chunk, *before)
            if (self._waiting or self._options.mode == TIME) and not self._was_valid():
                return  # to sort and join what waits may fail
            self._judge(events, self.intake.gaps)

    @property
    def _held(self) -> tuple[Events, ...]:
        """The events in doubt: ``(events,)``, or ``()`` if there are none."""
        return () if self._ahead is None else (self._ahead,)

    def _judge(self, events: Events, gaps: np.ndarray, *, ended: bool = False) -> None:
        """Store the ``events`` that the window takes, with those in doubt before them, and refuse others.

        ``gaps``: for each invalid event that came, the number of ``events`` before it. ``ended``: no more will come.
        """
        if self._ahead is not None:
            gaps, events, self._ahead = gaps + self._ahead.number, joined([self._ahead, events]), None
        verdict, moves = self.rule.judge(events.time, ended=ended)
        self.counters.take(moves, gaps)
        if verdict is not None:
            events = self._in_time(events, verdict)
        events = events if events.kind is None else self._wanted(events)
        if len(events.time):
            self._waiting.append(events)
            self._sorted = None

    def skip(self, number: int) -> None:
        """Count malformed rows that came behind the newest chunk."""
        self.counters.skip(number)
        self.read += number

    def warn_of_late(self) -> None:
        """Warn, once, if more than a tenth of what was read is late."""
        late = self.late.count
        if 10 * late > self.read and not self._has_warned:
            self._has_warned = True
            told = f"{late} of {self.read} events read so far are late and in no window"
            cause = "a time far ahead has closed their slides (ahead='1d', --ahead 1d, refuses it)"
            warnings.warn(f"{told}: {cause}, or lateness is too small", stacklevel=2)

    def finish(self) -> None:
        """Record that the source has ended: judge the events in doubt, and let all slides close."""
        if self._ahead is not None:
            with self._place.current():
                self._judge(self._ahead.taken(slice(0)), np.empty(0, np.int64), ended=True)
        self.rule.finish()

    def _was_valid(self) -> bool:
        """Return whether the newest chunk has valid ids only; if not, undo :meth:`take` and repeat it on the host."""
        doubted, self._doubted = self._doubted, None
        if doubted is None or doubted[0].are_valid():
            return True
        _, chunk, self.intake.position, self.rule.state, self._waiting = doubted
        self._sorted = None
        self.take(chunk, on_host=True)
        return False

    @property
    def _place(self) -> Device:
        """The device that has the live events."""
        return CPU if self.ring is None else self.ring.device

    def _begin(self) -> AnyRing:
        """Make the rule and the ring from the options and the columns of the first chunk; return the ring."""
        combine, dtype, attributes = self._options.combine, self.intake.weight_dtype, self.intake.attributes
        if dtype is None and combine in ("sum", "min", "max"):
            raise RequirementError(f"combine={combine!r} needs a column of weights")
        if self._options.mode == TIME:
            self.rule = self._options.rule(self.intake.has_unit)
        rules = self._options.attributes
        values = EdgeValues(rules, attributes.dtype, attributes.texts) if rules else None
        device = CPU if self.names is not None else self._device()
        self.ring = ring_on(device, combine, dtype, values, directed=self._directed)
        return self.ring

    def _in_time(self, events: Events, verdict: np.ndarray) -> Events:
        """Refuse late events and those too far ahead, return the rest; ``verdict``: what ``rule.judge`` returned."""
        late, ahead = (self._wanted(events.taken(verdict == reason)) for reason in (LATE, AHEAD))
        self.late.put(int((verdict == LATE).sum()) - late.number, ())
        self.bad.put(int((verdict == AHEAD).sum()) - ahead.number, ())
        if late.number and self.late.raises:
            raise self.intake.late_error(late, int(self.rule.state[1]))
        self.intake.refuse(self.late, late, "late")
        if ahead.number and self.bad.raises:
            time_of = moment(int(ahead.time[0]), has_unit=self.has_unit)
            reason = "is further ahead of the watermark than ahead= allows"
            raise ParameterError(f"an event at {time_of} {reason}; {SKIPS}")
        self.intake.refuse(self.bad, ahead, "ahead of the watermark")
        self._ahead = events.taken(verdict == DOUBTED) if (verdict == DOUBTED).any() else None
        return events.taken(verdict == TAKEN)

    def _wanted(self, events: Events) -> Events:
        """Return the events that ``st.where`` keeps, and release the names of others."""
        kind = events.kind
        if kind is None or not (kind == LEFT_OUT).any():
            return events
        out = np.asarray(kind == LEFT_OUT)
        if self.names is not None:
            self.names.drop(events.taken(out))
        events = events.taken(~out)
        return events if (kind < INSERT).any() else events._replace(kind=None)

    def mark(self) -> None:
        """End the current step, at a mark of the source; raises ``RequirementError`` unless slides are steps."""
        if self._options.mode != STEP:
            raise RequirementError("the source marks steps: slide='step' makes a window of them")
        self.intake.position += 1
        self.rule.reach(self.intake.position)

    # -- slides --------------------------------------------------------------------------------------------------------

    def next_change(self, spent: float) -> Due | None:
        """Close the next slide that is due and return it, or None if none is due. ``spent``: seconds of reading."""
        begin = time.perf_counter()
        found = self._next_end()
        if self._doubted is not None and not self._was_valid():
            found = self._next_end()
        if found is None or self.ring is None:
            return None
        waiting, end = found
        most, number = len(waiting.time), number_before(waiting.time, end)
        change, free = self._change(self.ring, waiting if number == most else waiting.taken(slice(number)), end)
        left = waiting.taken(slice(number, None)) if number < most else None
        self._sorted, self._waiting = left, [] if left is None else [left]
        self.rule.last = end
        if self.intake.attributes.texts and self.intake.attributes.has_many_texts:
            waits = [
                each.attributes for each in (left, self._ahead) if each is not None and each.attributes is not None
            ]
            self.intake.attributes.forget((*self.ring.used_attributes(), *waits))
        newest, size = self.counters.close(end), self.rule.grid.size
        lag, start = 0 if newest is None else max(newest - end, 0), None if size is None else end - size
        late, skipped = self.counters.counts
        reached = self.rule.has_reached(end)
        by = "idle" if end == self._by_clock else "events" if reached else "end"
        is_partial = not reached and end == self.rule.limit
        facts = end, start, number, is_partial, lag, self.ring.num_pairs, late, skipped, by
        return Due(*facts, change, free, (spent, time.perf_counter() - begin))

    def end_by_clock(self, seconds: float) -> int | None:
        """Return the end of the next slide that closes if the watermark runs on for ``seconds``; None if none does.

        It runs from the newest event, ``lateness`` behind it. All slides that are due have closed.
        """
        rule = self.rule
        if self.ring is None or rule.newest is None:
            return None
        return rule.next_end(rule.newest - rule.delay + int(seconds * 1e9), self._by_time().time, self.ring.oldest)

    def reach(self, end: int) -> None:
        """Raise the watermark to ``end``, as the wall clock has reached it."""
        self._by_clock = end
        self.rule.reach(end)

    def _next_end(self) -> tuple[Events, int] | None:
        """Return the events that wait, in order, and the end of the next slide that is due; None if no slide is due."""
        if self.ring is None or (due := self.rule.due) is None:
            return None
        waiting = self._by_time()
        end = self.rule.next_end(due, waiting.time, self.ring.oldest)
        return None if end is None else (waiting, end)

    def _by_time(self) -> Events:
        """Return the events that wait, sorted by (time, position); windows of counts and of steps need no sorting."""
        if self._options.mode != TIME and len(self._waiting) == 1:
            return self._waiting[0]
        if self._sorted is None:
            parts = self._waiting or [nothing(self.intake.weight_dtype, self.intake.attributes.dtype)]
            try:
                with self._place.current():
                    events = joined(parts)
                    times = times_of(events.time) if self._options.mode == TIME else _NO_IDS
                    if (times[1:] < times[:-1]).any():
                        events = events.taken(np.argsort(times, kind="stable"))
            except MemoryError as error:
                raise capacity_error(self._device(), error) from error
            self._waiting = [events] if events.number else []
            self._sorted = events
        return self._sorted

    def _change(self, ring: AnyRing, events: Events, end: int) -> tuple[Change, np.ndarray]:
        """Slide the ring to ``end``, adding ``events``; return the change, and the ids whose names are forgotten."""
        size, cancelled, unmatched = self.rule.grid.size, 0, 0
        if self.names is not None:
            events, cancelled, unmatched = self.names.named(events)
        if events.kind is not None:
            self.ring = ring = ring.on_host()  # one on a device takes insertions only
        self.entered = events
        change = ring.slide(events, None if size is None else end - size)
        if self.names is not None:
            change = change._replace(taken=change.taken + cancelled, unmatched=change.unmatched + unmatched)
        return change, self._freed(change)

    def _freed(self, change: Change) -> np.ndarray:
        """Update the counts of names by a change; return the ids whose names are forgotten, ``uint32[k]``."""
        return _NO_IDS if self.names is None else self.names.close_slide(change)

    # -- on several processes, of which the first one has the events ---------------------------------------------------

    def held(self) -> Change:
        """Return a change that inserts all edges of the window."""
        assert self.ring is not None
        return self.ring.held()

    def told(self, due: Any, skipped: int) -> tuple[Any, ...]:
        """Return rank 0's message: ``due`` (None: no slide closes), numbers of late and skipped events, has_unit."""
        if isinstance(due, Due):  # without names nobody else asks which edges are fresh
            fresh, news = (None, None) if self.names is None else (due.change.fresh, self.names.news())
            due = (*due[:-3], tuple(Head.of(due.change._replace(fresh=fresh))), news, due.took)
        return due, self.late.count, skipped, self.has_unit

    def heard(self, skipped: int, told: Any, late: int, all_skipped: int, has_unit: bool) -> Any:
        """Update this rank's counts of events from a message of rank 0; return the slide in it, ``ENDED`` or None.

        ``skipped``: number of skipped events on this rank so far; other arguments: the four parts of :meth:`told`.
        """
        self.bad.count += all_skipped - skipped
        self.late.count, self.intake.has_unit = late, has_unit
        if not isinstance(told, tuple):
            return told
        due = Due(*told)
        return due._replace(change=Head(*due.change))

    def follow(self, due: Due, change: Change) -> Due:
        """Complete the slide ``due`` of rank 0 on another rank: add the edges ``change``, update names; return it."""
        if self.names is not None:
            self.names.follow(due.free)
        return due._replace(change=change, free=self._freed(change))

    # -- state ---------------------------------------------------------------------------------------------------------

    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the state between two slides: a dict for JSON, and arrays by name."""
        self._was_valid()
        intake = self.intake
        dtype, attributes = intake.weight_dtype, intake.attributes.dtype
        about = {
            "intake": [intake.position, intake.has_unit, intake.begun, None if dtype is None else dtype.name,
                       None if attributes is None else attributes.descr],
            "texts": [*intake.attributes.texts], "late": self.late.save(), "last": self.rule.last,
            "read": self.read,
        }  # fmt: skip
        arrays = {"rule": self.rule.state, "counters": self.counters.save()}
        for number, table in enumerate(intake.attributes.texts.values()):
            arrays |= prefixed(f"text{number}.", table.state())
        if self.names is not None:
            arrays |= self.names.save()
        if self.ring is not None:
            arrays |= prefixed("ring.", self.ring.save()) | prefixed("waiting.", _arrays_of(self._by_time()))
            for events in self._held:
                arrays |= prefixed("ahead.", _arrays_of(events))
        return about, arrays

    def load(self, about: Mapping[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Restore what :meth:`save` returned, ``about`` and ``arrays``; call it before the first event."""
        intake, (position, has_unit, begun, dtype, attributes) = self.intake, about["intake"]
        intake.position, intake.has_unit, intake.begun = position, has_unit, begun
        intake.weight_dtype = None if dtype is None else np.dtype(dtype)
        if attributes is not None:
            intake.attributes.dtype = np.dtype([(name, kind) for name, kind in attributes])
        texts = enumerate(about.get("texts", ()))
        intake.attributes.texts = {name: Names.restore(state_in(arrays, f"text{at}.")) for at, name in texts}
        self.late.load(about["late"])
        if self.names is not None:
            self.names.load(state_in(arrays, "names."), state_in(arrays, "tokens."), arrays["reserved"])
        saved = state_in(arrays, "ring.")
        if saved:
            self._begin().load(saved)
            events = _events_of(state_in(arrays, "waiting."))
            self._waiting = [events] if events.number else []
            if ahead := state_in(arrays, "ahead."):
                self._ahead = _events_of(ahead)
        self.rule.load(arrays["rule"], about["last"])
        self.counters.load(arrays["counters"])
        self.read = about["read"]


def _arrays_of(events: Events) -> dict[str, np.ndarray]:
    """Return the columns of events as arrays on the host, by name."""
    events = events._replace(time=times_of(events.time), src=on_host(events.src), dst=on_host(events.dst))
    return {name: part for name, part in events._asdict().items() if part is not None}


def _events_of(arrays: Mapping[str, np.ndarray]) -> Events:
    """Return the events whose columns are ``arrays``, as :func:`_arrays_of` returned them."""
    return Events(*(arrays.get(name) for name in Events._fields))  # type: ignore[arg-type]
