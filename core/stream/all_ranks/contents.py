"""The contents of a window whose source all ranks read: each has the events that wait of its own chunks.

Every rank gets the times of all chunks, in their order, and judges them by the same rule. So what is late, when slides
close and what is counted is known to all, and the same as on one process.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from suricate.base.errors import ParameterError, RequirementError
from suricate.base.types import INSERT
from suricate.comm.protocol import Comm
from suricate.io.sources.times import moment
from suricate.stream.all_ranks.names import SharedNames
from suricate.stream.chunk_events import SKIPS
from suricate.stream.contents import Contents, Entering
from suricate.stream.options import COUNT, TIME
from suricate.windows.events import Events, joined, number_before, times_of
from suricate.windows.rule import AHEAD, DOUBTED, LATE, TAKEN

_NONE = np.empty(0, np.int64)


class Part(NamedTuple):
    """What all ranks know of a chunk that one of them has read.

    Attributes:
        position: of the source behind the chunk. rank: who has read it.
        rows: number of its rows. valid: number of valid events.
        gaps: how many valid events came before each invalid row.
        refused: number of invalid rows. left_out: whether these are all, as columns differ from those before.
        malformed: number of malformed lines behind the chunk.
        columns: of the first chunk with rows: what it says about all chunks.
    """

    position: Any
    rank: int
    rows: int
    valid: int
    gaps: np.ndarray
    refused: int
    left_out: bool
    malformed: int
    columns: Any


class SharedContents(Contents):
    """See the module; other arguments are those of ``Contents``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._doubts = self._doubters = _NONE  # times and ranks of the events in doubt on all ranks
        self._knows_doubts = False
        if isinstance(self.names, SharedNames):
            self.names.comm = self._comm

    @property
    def has_times(self) -> bool:
        """Whether windows are of time."""
        return self._options.mode == TIME

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
                return self.intake.events(chunk)
        finally:
            self.intake.position = position

    def columns_told(self) -> Any:
        """Return what the first chunk, which this rank has converted, says of all chunks, for :meth:`hear_columns`."""
        intake = self.intake
        dtype, attributes = intake.weight_dtype, intake.attributes.dtype
        told = dtype and dtype.name, attributes and attributes.descr, [*intake.attributes.texts]
        return intake.has_unit, *told, None if self.names is None else self.names.kind

    def hear_columns(self, has_unit: bool, dtype: Any, attributes: Any, texts: Sequence[str], kind: str | None) -> None:
        """Take over what the first chunk says of all chunks; raise ``RequirementError`` if attributes are texts."""
        if texts:
            told = f"the attribute {texts[0]!r} has texts, which"
            raise RequirementError(f"readers='all': {told} only readers='first' takes")
        self.intake.has_unit, self.intake.begun = has_unit, True
        self._set_columns(dtype, attributes, ())
        if isinstance(self.names, SharedNames):
            self.names.hear_kind(kind)

    def take_part(self, part: Part, times: Any, events: Events | None, rows: Sequence[list[Any]]) -> None:
        """Take a chunk on all ranks: judge its ``times``; the rank that has read it stores its ``events``; collective.

        ``rows``: on that rank those of invalid events for the file, and those of malformed lines; else two empty lists.
        """
        base, self.read = self.read, self.read + part.rows
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
            if events is not None:
                events = events._replace(time=times, position=np.arange(base, base + part.valid))
            verdict, whole, index = self._judge_part(part, times, events)
            if verdict is not None:
                late, ahead = self._refused(whole, index, verdict)
                counts = int((verdict == LATE).sum()), int((verdict == AHEAD).sum())
        self.skip(part.malformed)
        self._hand_on(part, counts, (rows[0], late, ahead, rows[1]))

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
        ranks = np.concatenate((self._doubters, np.full(len(times), part.rank)))
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

    def _hand_on(self, part: Part, counts: tuple[int, int], rows: Sequence[list[Any]]) -> None:
        """Count what was refused with a chunk; the first rank writes the rows of all.

        ``counts``: how many events were late, and how many too far ahead. ``rows``: of this rank those that are
        invalid, late, ahead and malformed.
        """
        late, ahead = counts
        bad = part.refused + part.malformed + ahead
        parts: Sequence[Any] = ([], [], [], [])
        if (bad and self.bad.has_file) or (late and self.late.has_file):
            everybody = self._comm.gather("refused", rows)
            parts = [[row for each in found for row in each] for found in zip(*everybody, strict=True)]
        invalid, late_rows, ahead_rows, malformed = parts
        self.bad.add(part.refused, invalid)
        self.late.add(late, [row for _, row in sorted(late_rows)])
        self.bad.add(ahead, [row for _, row in sorted(ahead_rows)])
        self.bad.add(part.malformed, malformed)

    def finish(self) -> None:
        """Record that the source has ended, see ``Contents.finish``; collective."""
        if not self._knows_doubts:
            self._ask_for_doubts()
        if len(self._doubts):
            end = Part(None, -1, 1, 0, _NONE, 0, False, 0, None)
            verdict, events, index = self._judge_part(end, np.empty(0, np.int64), None, ended=True)
            if verdict is not None:
                counts = int((verdict == LATE).sum()), int((verdict == AHEAD).sum())
                late, ahead = self._refused(events, index, verdict)
                self._hand_on(end, counts, ([], late, ahead, []))
        self.rule.finish()

    # -- slides --------------------------------------------------------------------------------------------------------

    def next_change(self, spent: float) -> Entering | None:
        """Return the next slide that is due, with the events of this rank that enter, or None; collective."""
        begin, due = time.perf_counter(), self.rule.due
        if self.ring is None or due is None:
            return None
        problem, waiting = None, self._nothing()
        try:
            waiting = self._by_time()
        except Exception as error:
            problem = error
        oldest = int(waiting.time[0]) if waiting.number else None
        everybody = self._comm.together(problem, (oldest, waiting.kind is not None))
        times = sorted(time for time, _ in everybody if time is not None)[:1]
        has_kinds = any(kinds for _, kinds in everybody)
        assert self.division is not None
        end = self.rule.next_end(due, np.array(times, np.int64), self.division.oldest)
        if end is None:
            return None
        most, number = waiting.number, number_before(waiting.time, end)
        left = waiting.taken(slice(number, None)) if number < most else None
        events = waiting.taken(slice(number))
        if has_kinds and events.kind is None:
            events = events._replace(kind=np.full(number, INSERT, np.int8))
        return self._entering_all(end, events, left, spent, begin)

    def _entering_all(self, end: int, events: Events, left: Events | None, spent: float, begin: float) -> Entering:
        """Return a slide with this ``end``, as :meth:`Contents._entering` does; collective."""
        number, newest, cancelled, unmatched, halvings = events.number, None, 0, 0, 0
        newest = int(events.time[-1]) if number else None
        if isinstance(self.names, SharedNames):
            self.names.has_kinds = events.kind is not None
            events, cancelled, unmatched = self.names.named(events)
        top = max(int(part.max()) for part in events[1:3]) if events.number else -1
        everybody = self._comm.gather("entering", (number, newest, cancelled, unmatched, top))
        numbers, times, cancels, misses, tops = zip(*everybody, strict=True)
        self.entered = events
        if self.decay is not None:
            newest = max((time for time in times if time is not None), default=None)
            halvings, self.scale = self.decay.advance(newest, end), self.decay.scale(end)
            events = events._replace(weight=self.decay.weights(events))
        is_renewed, size = self.decay is not None and self.decay.is_renewed, self.rule.grid.size
        counts = halvings, is_renewed, sum(cancels), sum(misses), False
        return Entering(
            (*self._facts(end, sum(numbers)), self.scale), (spent, time.perf_counter() - begin),
            None if size is None else end - size, events.kind is not None, *counts, max(tops), None, None, events, left,
        )  # fmt: skip

    # -- state ---------------------------------------------------------------------------------------------------------

    def save_part(self) -> dict[str, np.ndarray]:
        """Return the live events of this rank, those that wait, and its share of names, as arrays by name."""
        shares = self.names.save() if self.names is not None and self.names.is_divided else {}
        return super().save_part() | self.save_waiting() | shares

    def _placed(self, events: Events) -> Events:
        return events if events.position is not None else events._replace(position=np.arange(events.number))
