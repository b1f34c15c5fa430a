"""The contents of a window: events that wait for their slide, live events, and the edges of the live ones."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from suricate.base.archives import prefixed, state_in
from suricate.base.devices import CPU, Device, cuda_device_count
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
from suricate.stream.options import DECAY, STEP, TIME, WindowOptions
from suricate.stream.window_log.followed import Followed
from suricate.stream.window_names import VertexNames
from suricate.windows.counters import Counters
from suricate.windows.division import EventDivision
from suricate.windows.events import Events, in_time, joined, nothing, times_of
from suricate.windows.ring import Change, Ring
from suricate.windows.ring.combined_values import EdgeValues
from suricate.windows.ring.decay import Decay
from suricate.windows.ring.device_ring import AnyRing, DeviceRing, ring_on
from suricate.windows.rule import AHEAD, DOUBTED, LATE, TAKEN

_NO_IDS = np.empty(0, np.uint32)


class Entering(NamedTuple):
    """A slide that is to close, and what it does to the ring; rank 0 sends it to the other ranks without events.

    Attributes:
        facts: the attributes of its :class:`Due` up to ``scale``. took: seconds of reading, and of finding what enters.
        cutoff: events with times below it leave, None: none do.
        has_kinds: whether there are deletions or sets among the events of the slide.
        halvings: how many times all weights are halved before, mostly 0.
        is_renewed: whether the change lists all pairs, as their weights were halved.
        cancelled, unmatched: numbers of insertions and sets, and of deletions and sets, that names have left out.
        forgets: whether texts of attributes that nothing has any more are searched for, as there are many.
        top: the largest id of the events, -1 if there are none; for several ranks.
        like: the dtypes of weights and attributes, and the names of attributes that are texts, for ranks without ring.
        news: the names of the slide's new vertices (``Values``), or None if vertices have no names.
        events, left: those that enter, and those that wait for a later slide; None on other ranks.
    """

    facts: Any
    took: tuple[float, float]
    cutoff: int | None
    has_kinds: bool
    halvings: int
    is_renewed: bool
    cancelled: int
    unmatched: int
    forgets: bool
    top: int
    like: Any
    news: Any
    events: Any = None
    left: Any = None


class Due(NamedTuple):
    """A slide that has just closed.

    Attributes:
        end, start: its window, in ticks; ``start`` is None for a landmark window.
        entered: number of events that entered.
        partial: whether it closed only because the source has ended. lag: ticks from its end to the newest event.
        late, skipped: numbers of such events up to the slide. closed_by: ``"events"``, ``"idle"`` or ``"end"``.
        scale: by what weights of the change are multiplied to be those of the end, None: by nothing.
        num_pairs: number of edges with live events.
        change: the net change of the edges, ``Change``; of this rank's until :meth:`Contents.complete`.
        free: ids of vertices whose names are forgotten, ``uint32[k]``.
        took: seconds of reading, and of finding the change.
    """

    end: int
    start: int | None
    entered: int
    partial: bool
    lag: int
    late: int
    skipped: int
    closed_by: str
    scale: float | None
    num_pairs: int
    change: Any
    free: Any
    took: tuple[float, float]


class Contents:
    """The events and edges of a window, without its source and its graph.

    ``bad`` counts invalid events. ``texts``: names of attributes known to hold texts. ``device`` is called at the first
    chunk, and returns the device for live events. ``division``: of the events among ranks; None: this is the only one.
    """

    def __init__(
        self, options: WindowOptions, time_unit: str | None, bad: Refusals, names: VertexNames | None,
        texts: Collection[str], *, directed: bool, device: Callable[[], Device], division: EventDivision | None = None,
    ) -> None:  # fmt: skip
        self._options, self._directed, self._device, self.names = options, directed, device, names
        self.division, self._has_told = division, False
        self.late, self.bad = Refusals("late", options.late, "drop"), bad
        attributes = AttributeIntake(options.attributes, texts)
        self.intake = Intake(options.mode, time_unit, self.bad, names, attributes)
        self.rule = options.rule(None)  #: when slides close
        self.ring: AnyRing | None = None  #: the live events; None before the first event
        self.decay: Decay | None = None  #: how their weights decay; None: they do not, or before the first event
        self.scale: float | None = None  #: by what the newest slide's weights are multiplied
        self.followed: Followed | None = None  #: their index by vertex, if there is one; made with the ring
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
        return None if self.intake.weight_dtype is None and self._options.combine != DECAY else "float64"

    @property
    def columns(self) -> dict[str, np.dtype]:
        """The dtypes of the columns of edges, by name."""
        return {} if self.ring is None or self.ring.attributes is None else self.ring.attributes.kinds()

    @property
    def memory(self) -> int:
        """Bytes of the events, and of the tables of names and texts."""
        waiting = sum(getattr(column, "nbytes", 0) for part in (*self._waiting, *self._held) for column in part)
        parts = [
            each.memory for each in (self.intake.attributes, self.names, self.ring, self.followed) if each is not None
        ]
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
        self._there(self._take, chunk, arrivals, before)

    def _take(self, chunk: Mapping[str, Any], arrivals: Any, before: tuple[Any, ...]) -> None:
        """Take a ``chunk``, as :meth:`take` does, where the live events are; ``before``: what to restore."""
        events = self.intake.events(chunk, arrivals)
        if self.ring is None:
            self._begin()
        self._doubted = None if arrivals is None else (arrivals, chunk, *before)
        doubts = self._doubted is not None and (self._waiting or self._options.mode == TIME)
        if doubts and not self._was_valid():
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

    def refuse(self, number: int, why: str) -> None:
        """Count the rows of a chunk that :meth:`take` did not take, ``number`` of them, as refused."""
        self.counters.skip(number)
        self.bad.put(number, [[""] * 5 + [f"{why} ({number} rows)"]])

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
            self._there(self._judge, self._ahead.taken(slice(0)), np.empty(0, np.int64), ended=True)
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

    def _there(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call ``call(*args, **kwargs)`` with the device current that has the live events; return what it returns."""
        if self.ring is None or not self.ring.device.is_cuda or cuda_device_count() == 1:
            return call(*args, **kwargs)
        with self.ring.device.current():
            return call(*args, **kwargs)

    def _begin(self) -> AnyRing:
        """Make the rule and the ring from the options and the columns of the first chunk; return the ring."""
        combine, dtype, attributes = self._options.combine, self.intake.weight_dtype, self.intake.attributes
        if dtype is None and combine in ("sum", "min", "max"):
            raise RequirementError(f"combine={combine!r} needs a column of weights")
        if self._options.mode == TIME:
            self.rule = self._options.rule(self.intake.has_unit)
        rules = self._options.attributes
        values = EdgeValues(rules, attributes.dtype, attributes.texts) if rules else None
        if values is not None:
            values.as_ids = self.division is not None
        device = CPU if self.names is not None else self._device()
        if combine == DECAY:
            self.decay, combine, dtype = Decay(self._options.half_life_ticks), "sum", np.dtype(np.float64)
        self.ring = ring_on(device, combine, dtype, values, directed=self._directed)
        if self._options.events is not None:
            over = self._options.events if self._directed else "both"
            self.followed = Followed(self._device(), over, decays=self.decay is not None)
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

    def next_change(self, spent: float) -> Entering | None:
        """Return the next slide that is due, or None if none is. ``spent``: seconds of reading.

        Until :meth:`close` has closed it, further calls return the same slide.
        """
        begin = time.perf_counter()
        found = self._next_end()
        if self._doubted is not None and not self._was_valid():
            found = self._next_end()
        if found is None or self.ring is None:
            return None
        waiting, end = found
        events, left = waiting.cut(end)
        return self._entering(self._facts(end, len(events.time)), events, left, spent, begin)

    def _facts(self, end: int, number: int) -> tuple[Any, ...]:
        """Return the attributes of the :class:`Due` with this ``end`` up to ``scale``; ``number`` of events enter."""
        newest, size = self.counters.close(end), self.rule.grid.size
        lag, start = 0 if newest is None else max(newest - end, 0), None if size is None else end - size
        late, skipped = self.counters.counts
        reached = self.rule.has_reached(end)
        by = "idle" if end == self._by_clock else "events" if reached else "end"
        is_partial = not reached and end == self.rule.limit
        return end, start, number, is_partial, lag, late, skipped, by

    def close(self, entering: Entering) -> Due:
        """Close a slide, which slides the ring, and return it, on several ranks with this one's edges; collective."""
        begin, free = time.perf_counter(), _NO_IDS
        if self.division is not None:
            self._follow(entering)
        ring = self.ring
        assert ring is not None
        if entering.has_kinds:
            self.ring = ring = ring.on_host()  # one on a device takes insertions only
        if entering.halvings:
            ring.on_host().renew(entering.halvings)  # it is there
        if self.division is not None:
            self.ring = ring = self.division.moved(ring, entering.top)
            change, pairs = self._divided_change(ring, entering), self.division.num_pairs
        else:
            slide = ring.slide if self.followed is None else partial(self.followed.slide, ring)
            change, pairs = slide(entering.events, entering.cutoff), ring.num_pairs
        if entering.is_renewed:
            change = ring.on_host().with_all(change)._replace(sizes=None)
        if self.decay is not None:
            self.decay.is_renewed = False
        if entering.cancelled or entering.unmatched:
            taken, unmatched = change.taken + entering.cancelled, change.unmatched + entering.unmatched
            change = change._replace(taken=taken, unmatched=unmatched)
        left, self.rule.last = entering.left, entering.facts[0]
        self._sorted, self._waiting = left, [] if left is None else [left]
        if entering.forgets:
            self._forget_texts(ring)
        if self.division is None and self.names is not None:
            free = self.names.close_slide(change)
        spent, found = entering.took
        made = pairs, change, free, (spent, found + time.perf_counter() - begin)
        return Due(*(*entering.facts, *made))

    def complete(self, due: Due, change: Change) -> Due:
        """Return the slide ``due`` of several ranks with the net ``change`` of all, and the ids that get free."""
        free = _NO_IDS if self.names is None else self.names.close_slide(change)
        return due._replace(change=self.with_texts(change), free=free)

    def with_texts(self, change: Change) -> Change:
        """Return a change of all ranks with texts in place of their ids, which rank 0 knows; collective."""
        if self.division is None or self.ring is None or not self.intake.attributes.texts:
            return change
        values, comm = self.ring.attributes, self.division.comm
        assert values is not None
        assert change.attributes is not None
        is_text = {name: ids for name, ids in change.attributes.items() if name in self.intake.attributes.texts}
        texts = comm.agree(values.with_texts(is_text) if comm.rank == 0 else None)
        return change._replace(attributes={**change.attributes, **texts})

    def _forget_texts(self, ring: AnyRing) -> None:
        """Remove texts that nothing has any more; collective."""
        attributes, used = self.intake.attributes, list[np.ndarray]()
        for each in ring.used_attributes():
            texts = [name for name in attributes.texts if name in (each.dtype.names or ())]
            used += [np.unique(each[texts])] if texts else []
        used += [each.attributes for each in (*self._waiting, *self._held) if each.attributes is not None]
        if self.division is not None:
            used = [each for one in self.division.comm.gather("texts", used) for each in one]
        if self.division is None or self.division.comm.rank == 0:
            attributes.forget(used)

    def end_by_clock(self, seconds: float) -> int | None:
        """Return the end of the next slide that closes if the watermark runs on for ``seconds``; None if none does.

        It runs from the newest event, ``lateness`` behind it. All slides that are due have closed.
        """
        rule, whole = self.rule, self.ring if self.division is None else self.division
        if self.ring is None or whole is None or rule.newest is None:
            return None
        return rule.next_end(rule.newest - rule.delay + int(seconds * 1e9), self._by_time().time, whole.oldest)

    def reach(self, end: int) -> None:
        """Raise the watermark to ``end``, as the wall clock has reached it."""
        self._by_clock = end
        self.rule.reach(end)

    def _next_end(self) -> tuple[Events, int] | None:
        """Return the events that wait, in order, and the end of the next slide that is due; None if no slide is due."""
        if self.ring is None or (due := self.rule.due) is None:
            return None
        waiting = self._by_time()
        end = self.rule.next_end(due, waiting.time, (self.ring if self.division is None else self.division).oldest)
        return None if end is None else (waiting, end)

    def _by_time(self) -> Events:
        """Return the events that wait, sorted by (time, position); windows of counts and of steps need no sorting."""
        if self._options.mode != TIME and len(self._waiting) == 1:
            return self._waiting[0]
        if self._sorted is None:
            parts = self._waiting or [self._nothing()]
            try:
                events = self._there(in_time if self._options.mode == TIME else joined, parts)
            except MemoryError as error:
                raise capacity_error(self._device(), error) from error
            self._waiting = [events] if len(events.time) else []
            self._sorted = events
        return self._sorted

    def _nothing(self) -> Events:
        """Return events without rows, with the columns of those that wait."""
        return nothing(self.intake.weight_dtype, self.intake.attributes.dtype)

    def _entering(
        self, facts: tuple[Any, ...], events: Events, left: Events | None, spent: float, begin: float
    ) -> Entering:
        """Return a slide with these ``facts``, those of :class:`Due` before ``scale``.

        ``events`` enter, with ids in place of names, and others are ``left``.

        ``spent``: seconds of reading; ``begin``: when it was begun to find the slide.
        """
        end, size, top, news, like = facts[0], self.rule.grid.size, -1, None, None
        cancelled = unmatched = halvings = 0
        if self.names is not None:
            events, cancelled, unmatched = self.names.named(events)
        self.entered = events
        if self.decay is not None:
            halvings, self.scale = self.decay.advance(_newest(events), end), self.decay.scale(end)
            events = events._replace(weight=self.decay.weights(events))
        if self.division is not None:
            news, like = None if self.names is None else self.names.news(), self._columns_for_others()
            top = max(int(end.max()) for end in events[1:3]) if events.number else -1
        is_renewed = self.decay is not None and self.decay.is_renewed
        cutoff, texts = None if size is None else end - size, self.intake.attributes.texts
        counts = halvings, is_renewed, cancelled, unmatched, bool(texts) and self.intake.attributes.has_many_texts
        took = spent, time.perf_counter() - begin
        return Entering(
            (*facts, self.scale), took, cutoff, events.kind is not None, *counts, top, like, news, events, left
        )

    # -- on several processes, of which the first one reads ------------------------------------------------------------

    def held(self) -> Change:
        """Return a change that inserts all edges of the window; of those of this rank, if there are several."""
        if self.division is None:
            assert self.ring is not None
            return self.ring.held()
        ring = self._begin() if self.ring is None else self.ring
        return self.division.agreed(ring, ring.held())

    def told(self, due: Any, skipped: int) -> tuple[Any, ...]:
        """Return rank 0's message: ``due`` (None: no slide is), numbers of late and skipped events, has_unit."""
        if isinstance(due, Entering):
            due = due[:-2]
        return due, self.late.count, skipped, self.has_unit

    def heard(self, skipped: int, told: Any, late: int, all_skipped: int, has_unit: bool) -> Any:
        """Update this rank's counts of events from a message of rank 0; return the slide in it, ``ENDED`` or None.

        ``skipped``: number of skipped events on this rank so far; other arguments: the four parts of :meth:`told`.
        """
        self.bad.count += all_skipped - skipped
        self.late.count, self.intake.has_unit = late, has_unit
        if not isinstance(told, tuple):
            return told
        return Entering(*told)

    def _columns_for_others(self) -> Any:
        """Return the dtypes that other ranks need to make their rings; None: they have them."""
        intake = self.intake
        if self._has_told:
            return None
        self._has_told = True
        dtype, attributes = intake.weight_dtype, intake.attributes.dtype
        return dtype and dtype.name, attributes and attributes.descr, [*intake.attributes.texts]

    def _follow(self, entering: Entering) -> None:
        """Take over what rank 0 says of the events of a slide, on another rank."""
        if self.ring is None and entering.like is not None:
            self._set_columns(*entering.like)
        if self.ring is None:
            self._begin()
        if self.names is not None and entering.events is None:
            self.names.follow(entering.news)

    def _set_columns(self, dtype: str | None, attributes: Any, texts: Collection[str]) -> None:
        """Set the dtypes of weights and attributes, and which attributes are texts."""
        intake = self.intake
        intake.weight_dtype = None if dtype is None else np.dtype(dtype)
        if attributes is not None:
            intake.attributes.dtype = np.dtype([(name, kind) for name, kind in attributes])
        intake.attributes.texts |= {name: Names("text") for name in texts if name not in intake.attributes.texts}

    def _divided_change(self, ring: AnyRing, entering: Entering) -> Change:
        """Slide the rings of all ranks, of which ``ring`` is that of this one; return the net change of its pairs."""
        assert self.division is not None
        dtype = np.dtype(np.float64) if self._options.combine == DECAY else self.intake.weight_dtype
        none = nothing(dtype, self.intake.attributes.dtype)
        if entering.has_kinds:
            none = none._replace(kind=np.empty(0, np.int8))
        events = none if entering.events is None else entering.events
        if events.position is not None:
            none = none._replace(position=np.empty(0, np.int64))
        return self.division.slide(ring, events, none, entering.cutoff)

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
            "read": self.read, "next": None if self.ring is None else self.ring.number,
            "divided": self.names is not None and self.names.is_divided,
            "decay": self.decay and [self.decay.base, self.decay.newest, self.scale],
        }  # fmt: skip
        arrays = {"rule": self.rule.state, "counters": self.counters.save()}
        for number, table in enumerate(intake.attributes.texts.values()):
            arrays |= prefixed(f"text{number}.", table.state())
        if self.names is not None:
            arrays |= self.names.save()
        return about, arrays | self.save_part() | self.save_waiting()

    def save_waiting(self) -> dict[str, np.ndarray]:
        """Return the events that wait, or are in doubt, as arrays by name, with the names of their tokens."""
        parts: Sequence[Events] = () if self.ring is None else (self._by_time(), *self._held)
        parts, found = (parts, {}) if self.names is None else self.names.save_events(parts)
        for name, events in zip(("waiting.", "ahead."), parts, strict=False):
            found |= prefixed(name, _arrays_of(events))
        return found

    def save_part(self) -> dict[str, np.ndarray]:
        """Return the live events of this rank, as arrays by name."""
        return {} if self.ring is None else prefixed("ring.", self.ring.save())

    def load(
        self, about: Mapping[str, Any], arrays: dict[str, np.ndarray], parts: Sequence[dict[str, np.ndarray]]
    ) -> None:
        """Restore what :meth:`save` returned, ``about`` and ``arrays``; call it before the first event.

        ``parts``: what :meth:`save_part` returned on those ranks whose live events this one is to have; they are in
        ``arrays`` if there was one rank.
        """
        intake, (position, has_unit, begun, dtype, attributes) = self.intake, about["intake"]
        intake.position, intake.has_unit, intake.begun = position, has_unit, begun
        texts = enumerate(about.get("texts", ()))
        intake.attributes.texts = {name: Names.restore(state_in(arrays, f"text{at}.")) for at, name in texts}
        self._set_columns(dtype, attributes, ())
        self.late.load(about["late"])
        if self.names is not None:
            self.names.load(arrays, parts or [arrays], divided=about.get("divided", False))
        saved, decay = state_in(arrays, "ring."), about.get("decay") or (None, None, None)
        self.scale = decay[2]
        if (parts or self.division is not None) and about["next"] is not None:
            self._load_parts([state_in(each, "ring.") for each in parts], about["next"])
        elif saved:
            self._begin().load(saved)
        ring = self.ring
        if ring is not None:
            if self.followed is not None:
                if isinstance(ring, DeviceRing):  # which forgets the numbers of removed events
                    ring = Ring("last", None, directed=self._directed)
                    ring.load(saved)
                self.followed.load(ring)
                self.ring = self.ring if self.followed.record.alive is None else ring
            if self.decay is not None:
                self.decay.base, self.decay.newest = decay[:2]
            self._load_waiting(parts or [arrays])
        self.rule.load(arrays["rule"], about["last"])
        self.counters.load(arrays["counters"])
        self.read = about["read"]

    def _load_waiting(self, parts: Sequence[dict[str, np.ndarray]]) -> None:
        """Take over the events that waited for their slide, or were in doubt, on the ranks with these ``parts``."""
        for name in ("waiting.", "ahead."):
            found = [self._adopted(_events_of(state_in(part, name)), part) for part in parts if f"{name}time" in part]
            events = joined([each for each in found if each.number] or found[:1]) if found else None
            if events is not None and events.position is not None:
                events = events.taken(np.lexsort((events.position, times_of(events.time))))
            events = None if events is None or not events.number else self._placed(events)
            if name == "ahead.":
                self._ahead = events
            else:
                self._waiting = [] if events is None else [events]

    def _adopted(self, events: Events, part: dict[str, np.ndarray]) -> Events:
        known = self.names is None or not events.number
        return events if known else self.names.adopt(events, state_in(part, "tokens."))  # type: ignore[union-attr]

    def _placed(self, events: Events) -> Events:
        """Return events of a checkpoint with positions if those that come have some, else without."""
        return events._replace(position=None)

    def _load_parts(self, parts: Sequence[dict[str, np.ndarray]], number: int) -> None:
        """Make the ring from the live events of several rings; ``number``: of the next slide."""
        ring = self._begin()
        found = [ring.live()]
        for part in parts:
            ring = ring.with_live(*found[0], number)  # an empty one
            ring.load(part)
            found.append(ring.live())
        events, slides = joined([each for each, _ in found]), np.concatenate([each for _, each in found])
        order = np.argsort(events.time, kind="stable")
        self.ring = ring.with_live(events.taken(order), slides[order], number)


def _newest(events: Events) -> int | None:
    """Return the newest time of events, which are in order of time; None if there are none."""
    return int(events.time[-1]) if events.number else None


def _arrays_of(events: Events) -> dict[str, np.ndarray]:
    """Return the columns of events as arrays on the host, by name."""
    events = events._replace(time=times_of(events.time), src=on_host(events.src), dst=on_host(events.dst))
    return {name: part for name, part in events._asdict().items() if part is not None}


def _events_of(arrays: Mapping[str, np.ndarray]) -> Events:
    """Return the events whose columns are ``arrays``, as :func:`_arrays_of` returned them."""
    return Events(*(arrays.get(name) for name in Events._fields))  # type: ignore[arg-type]
