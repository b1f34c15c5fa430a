"""The contents of a window whose source all ranks read: each has the events that wait of its own chunks.

Every rank gets the times of all events, in their order, and judges them by the same rule. So what is late, when slides
close and what is counted is known to all, and the same as on one process.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from suricate.base.errors import ParameterError, RequirementError
from suricate.base.types import INSERT
from suricate.comm.protocol import Comm
from suricate.intake.arrays import on_host
from suricate.io.sources.refusals import Refusals
from suricate.io.sources.times import moment
from suricate.stream.all_ranks.names import SharedNames
from suricate.stream.all_ranks.waiting_names import WaitingNames
from suricate.stream.attributes import AttributeIntake
from suricate.stream.chunk_events import SKIPS, Intake
from suricate.stream.contents import Contents, Entering
from suricate.stream.options import COUNT, TIME
from suricate.windows.events import Events, joined, number_before, times_of
from suricate.windows.rule import AHEAD, DOUBTED, LATE, TAKEN

_NONE = np.empty(0, np.int64)


class Part(NamedTuple):
    """What all ranks know of a chunk, which one of them, or several where lanes are merged, have read.

    Attributes:
        rank: who has read it, or for each valid event who has, ``int64[n]``.
        rows: number of its rows. valid: number of valid events.
        gaps: how many valid events came before each invalid row.
        refused: number of invalid rows. left_out: whether these are all, as columns differ from those before.
        malformed: of each of the refusals of the job that has malformed lines behind the chunk its number, and theirs.
        position: of the source behind each of the chunks that it is made of; None where lanes are merged.
        columns: of the first chunk with rows: what it says about all chunks.
    """

    rank: Any
    rows: int
    valid: int
    gaps: np.ndarray
    refused: int
    left_out: bool
    malformed: Sequence[tuple[int, int]]
    position: Any = None
    columns: Any = None


class Own(NamedTuple):
    """What this rank has of a :class:`Part`.

    Attributes:
        events: its valid events, None: none.
        at: their places among those of all, None: all are of this rank.
        invalid, malformed: rows for the files, of the latter a list for each entry of ``malformed`` of the part, each
            with a number by which those of all ranks are sorted.
    """

    events: Events | None = None
    at: np.ndarray | None = None
    invalid: Sequence[Any] = ()
    malformed: Sequence[Sequence[Any]] = ()


class _Said(NamedTuple):
    """What a rank says of its events that wait: the oldest time, whether they have kinds; and of those that enter.

    Of these: their number, the newest time, how many names have left out, and the largest id without names.
    """

    oldest: int | None
    has_kinds: bool
    number: int
    newest: int | None
    cancelled: int
    unmatched: int
    top: int


class SharedContents(Contents):
    """See the module; other arguments are those of ``Contents``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._doubts = self._doubters = _NONE  # times and ranks of the events in doubt on all ranks
        self._knows_doubts = False
        self.refusals: Sequence[Refusals] = (self.bad,)  #: those of the job
        if isinstance(self.names, SharedNames):
            self.names.comm = self._comm

    @property
    def has_times(self) -> bool:
        """Whether windows are of time."""
        return self._options.mode == TIME

    @property
    def may_raise(self) -> bool:
        """Whether to judge events can raise, behind the slides that the chunks before them close."""
        return self.late.raises or (self.bad.raises and self._options.ahead is not None)

    @property
    def _comm(self) -> Comm:
        assert self.division is not None
        return self.division.comm

    # -- events --------------------------------------------------------------------------------------------------------

    def converted(self, chunk: Mapping[str, Any]) -> Events:
        """Return the valid events of a chunk of this rank, copies; refused rows are in ``found`` of :attr:`bad`."""
        position = self.intake.position
        try:
            with nullcontext() if self.names is None else self.names.chunk(len(chunk["src"])):
                events = self.intake.events(chunk)
                return events._replace(src=on_host(events.src), dst=on_host(events.dst))
        finally:
            self.intake.position = position

    def columns_told(self) -> Any:
        """Return what the first chunk, which this rank has converted, says of all chunks, for :meth:`hear_columns`."""
        return _told(self.intake, None if self.names is None else self.names.kind)

    def columns_of(self, chunk: Mapping[str, Any]) -> Any:
        """Return what a chunk would say of all chunks if it were the first one, see :meth:`columns_told`."""
        scratch = None if self.names is None else WaitingNames(self.names.kind)
        attributes = AttributeIntake(self._options.attributes, self.intake.attributes.texts)
        unit, refusals = self.intake.unit, Refusals("on_error", "skip", "skip")
        intake = Intake(self._options.mode, unit, refusals, scratch, attributes)  # type: ignore[arg-type]
        with nullcontext() if scratch is None else scratch.chunk(len(chunk["src"])):
            intake.events(chunk)
        return _told(intake, None if scratch is None else scratch.kind)

    def hear_all_columns(self, told: Sequence[Any]) -> None:
        """Take over what the first chunks of several lanes say of all chunks: floats if some have whole numbers."""
        units, dtypes, attributes, texts, kinds = zip(*told, strict=True)
        dtype = None if None in dtypes else np.result_type(*dtypes).name
        fields = attributes[0] and [
            (name, np.result_type(*(dict(each)[name] for each in attributes)).str) for name, _ in attributes[0]
        ]
        found = [name for each in texts for name in each]
        self.hear_columns(units[0], dtype, fields, found, next((kind for kind in kinds if kind is not None), None))

    def hear_columns(self, has_unit: bool, dtype: Any, attributes: Any, texts: Sequence[str], kind: str | None) -> None:
        """Take over what the first chunk says of all chunks; raise ``RequirementError`` if attributes are texts."""
        if texts:
            told = f"the attribute {texts[0]!r} has texts, which"
            raise RequirementError(f"readers='all': {told} only readers='first' takes")
        self.intake.has_unit, self.intake.begun = has_unit, True
        self._set_columns(dtype, attributes, ())
        if isinstance(self.names, SharedNames):
            self.names.hear_kind(kind)

    def take_part(self, part: Part, times: Any, own: Own) -> None:
        """Take a chunk on all ranks: judge its ``times``; ranks that have read it store their events; collective."""
        base, events = self.read, own.events
        self.read += part.rows
        if self._options.mode == COUNT:
            times = range(self.intake.position, self.intake.position + part.valid)
            self.intake.position += part.valid
        late: list[Any] = []
        ahead: list[Any] = []
        counts = 0, 0
        if part.left_out:
            self.counters.skip(part.refused)
        elif part.rows:
            if self.ring is None:
                self._begin()
            if events is not None and own.at is None:
                events = events._replace(time=times, position=np.arange(base, base + part.valid))
            elif events is not None and own.at is not None:
                events = events._replace(time=times_of(times)[own.at], position=own.at + base)
            verdict, whole, index = self._judge_part(part, times, events)
            if verdict is not None:
                late, ahead = self._refused(whole, index, verdict)
                counts = int((verdict == LATE).sum()), int((verdict == AHEAD).sum())
        self.skip(sum(number for _, number in part.malformed))
        self._hand_on(part, counts, (own.invalid, late, ahead, *(own.malformed or [[] for _ in part.malformed])))

    def _judge_part(self, part: Part, times: Any, events: Events | None, *, ended: bool = False) -> Any:
        """Judge the events in doubt and those of a chunk, and store those that are taken.

        Returns:
            The verdict, None: all are taken; and of this rank those events that are not, and the places of all in it.
        """
        if not self._knows_doubts:
            self._ask_for_doubts()
        before = len(self._doubts)
        whole = np.concatenate((self._doubts, times_of(times))) if before else times
        verdict, moves = self.rule.judge(whole, ended=ended)
        self.counters.take(moves, part.gaps + before)
        own = [*self._held, *(() if events is None else (events,))]
        events = joined(own) if own else self._nothing()
        if verdict is None:
            self._ahead, self._doubts, self._doubters = None, _NONE, _NONE
            self._store(events)
            return None, events, _NONE
        ranks = np.concatenate((self._doubters, np.broadcast_to(part.rank, len(times))))
        index, doubted = np.flatnonzero(ranks == self._comm.rank), verdict == DOUBTED
        self._doubts, self._doubters = times_of(whole)[doubted], ranks[doubted]
        self._ahead = events.taken(doubted[index]) if doubted[index].any() else None
        self._store(events.taken(verdict[index] == TAKEN))
        return verdict, events, index

    def _store(self, events: Events) -> None:
        if events.number:
            self._waiting.append(events)
            self._sorted = None

    def _nothing(self) -> Events:
        return super()._nothing()._replace(position=_NONE)

    def _ask_for_doubts(self) -> None:
        """Learn which events are in doubt on all ranks, in order; after a restart they are anywhere."""
        own = self._ahead if self._ahead is not None else self._nothing()
        everybody = self._comm.gather("events in doubt", (own.time, own.position))
        times, positions = (np.concatenate([each[at] for each in everybody]) for at in (0, 1))
        ranks, order = (
            np.repeat(np.arange(self._comm.size), [len(each[0]) for each in everybody]),
            np.argsort(positions),
        )
        self._doubts, self._doubters, self._knows_doubts = times[order], ranks[order], True

    def _refused(self, events: Events, index: np.ndarray, verdict: np.ndarray) -> list[list[Any]]:
        """Refuse late events and those too far ahead; return their rows for files, each with its place in the verdict.

        All ranks raise what the first of them is, if that is wanted.
        """
        found = []
        for reason, why, refusals in ((LATE, "late", self.late), (AHEAD, "ahead of the watermark", self.bad)):
            at = np.flatnonzero(verdict == reason)
            if len(at) and refusals.raises:
                first = events.taken(index == at[0])
                self._comm.together(self._error_of(first, reason) if first.number else None)
            own = verdict[index] == reason
            self.intake.refuse(refusals, events.taken(own), why)
            found.append([*zip(index[own].tolist(), refusals.taken(), strict=False)])
        return found

    def _error_of(self, first: Events, reason: int) -> Exception:
        if reason == LATE:
            return self.intake.late_error(first, int(self.rule.state[1]))
        told = "is further ahead of the watermark than ahead= allows"
        return ParameterError(f"an event at {moment(int(first.time[0]), has_unit=self.has_unit)} {told}; {SKIPS}")

    def _hand_on(self, part: Part, counts: tuple[int, int], rows: Sequence[Sequence[Any]]) -> None:
        """Count what was refused with a chunk; the first rank writes the rows of all.

        ``counts``: how many events were late, and how many too far ahead. ``rows``: of this rank those that are
        invalid, late, ahead, and malformed by refusals, each with its place.
        """
        late, ahead = counts
        found = [(self.bad, part.refused), (self.late, late), (self.bad, ahead)]
        found += [(self.refusals[at], number) for at, number in part.malformed]
        parts: list[list[Any]] = [[] for _ in found]
        if any(number and refusals.has_file for refusals, number in found):
            everybody = self._comm.gather("refused", rows)
            parts = [[row for each in of_all for row in each] for of_all in zip(*everybody, strict=True)]
        for (refusals, number), lines in zip(found, parts, strict=True):
            refusals.add(number, [row for _, row in sorted(lines, key=itemgetter(0))])

    def finish(self) -> None:
        """Record that the source has ended, see ``Contents.finish``; collective."""
        if not self._knows_doubts:
            self._ask_for_doubts()
        if len(self._doubts):
            end = Part(-1, 1, 0, _NONE, 0, False, ())
            verdict, events, index = self._judge_part(end, np.empty(0, np.int64), None, ended=True)
            if verdict is not None:
                counts = int((verdict == LATE).sum()), int((verdict == AHEAD).sum())
                late, ahead = self._refused(events, index, verdict)
                self._hand_on(end, counts, ([], late, ahead))
        self.rule.finish()

    # -- slides --------------------------------------------------------------------------------------------------------

    def next_change(self, spent: float) -> Entering | None:
        """Return the next slide that is due, with the events of this rank that enter, or None; collective."""
        begin, due = time.perf_counter(), self.rule.due
        if self.ring is None or due is None:
            return None
        end, waiting, told = self._next_end_of_all(due)
        if end is None:
            return None
        events, left = waiting.cut(end)
        has_kinds = any(each.has_kinds for each in told)
        if has_kinds and events.kind is None:
            events = events._replace(kind=np.full(events.number, INSERT, np.int8))
        known = told if end == due and not (has_kinds and self.names is not None) else None
        return self._entering_all(end, events, left, known, spent, begin)

    def _next_end_of_all(self, due: int) -> tuple[int | None, Events, list[_Said]]:
        """Return the end of the next slide if all up to ``due`` may close, what waits here, and what all say of that.

        They say it as if the slide ended at ``due``.
        """
        problem, waiting = None, self._nothing()
        try:
            waiting = self._by_time()
        except Exception as error:
            problem = error
        told = self._comm.together(problem, self._said(waiting, number_before(waiting.time, due)))
        times = sorted(each.oldest for each in told if each.oldest is not None)[:1]
        assert self.division is not None
        end = self.rule.next_end(due, np.array(times, np.int64), self.division.oldest)
        return end, waiting, told

    def _said(self, waiting: Events, number: int) -> _Said:
        """Return what this rank says of events that wait, in order, the first ``number`` of which enter."""
        oldest = int(waiting.time[0]) if waiting.number else None
        newest = int(waiting.time[number - 1]) if number else None
        top = max(int(part[:number].max()) for part in waiting[1:3]) if number and self.names is None else -1
        return _Said(oldest, waiting.kind is not None, number, newest, 0, 0, top)

    def end_by_clock(self, seconds: float) -> int | None:
        """Return what :meth:`Contents.end_by_clock` does; collective."""
        rule = self.rule
        if self.ring is None or rule.newest is None:
            return None
        return self._next_end_of_all(rule.newest - rule.delay + int(seconds * 1e9))[0]

    def _entering_all(
        self, end: int, events: Events, left: Events | None, known: list[_Said] | None, spent: float, begin: float
    ) -> Entering:
        """Return a slide with this ``end``, as :meth:`Contents._entering` does; collective.

        ``known``: what all say of its events, if they have said it and names leave out none.
        """
        halvings, own = 0, self._said(events, events.number)
        if isinstance(self.names, SharedNames):
            self.names.has_kinds = events.kind is not None
            events, cancelled, unmatched = self.names.named(events)
            own = own._replace(cancelled=cancelled, unmatched=unmatched)
        everybody = self._comm.gather("entering", own) if known is None else known
        _, _, numbers, times, cancels, misses, tops = zip(*everybody, strict=True)
        top = max(tops) if self.names is None else self.names.num_ids - 1
        self.entered = events
        if self.decay is not None:
            newest = max((time for time in times if time is not None), default=None)
            halvings, self.scale = self.decay.advance(newest, end), self.decay.scale(end)
            events = events._replace(weight=self.decay.weights(events))
        is_renewed, size = self.decay is not None and self.decay.is_renewed, self.rule.grid.size
        counts = halvings, is_renewed, sum(cancels), sum(misses), False
        return Entering(
            (*self._facts(end, sum(numbers)), self.scale), (spent, time.perf_counter() - begin),
            None if size is None else end - size, events.kind is not None, *counts, top, None, None, events, left,
        )  # fmt: skip

    # -- state ---------------------------------------------------------------------------------------------------------

    def save_part(self) -> dict[str, np.ndarray]:
        """Return the live events of this rank, those that wait, and its share of names, as arrays by name."""
        shares = self.names.save() if self.names is not None and self.names.is_divided else {}
        return super().save_part() | self.save_waiting() | shares

    def _placed(self, events: Events) -> Events:
        return events if events.position is not None else events._replace(position=np.arange(events.number))


def _told(intake: Intake, kind: str | None) -> Any:
    """Return what the first chunk said, which an intake has converted; ``kind``: of names."""
    dtype, attributes = intake.weight_dtype, intake.attributes.dtype
    return intake.has_unit, dtype and dtype.name, attributes and attributes.descr, [*intake.attributes.texts], kind
