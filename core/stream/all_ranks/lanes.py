"""The loop of a job whose source is made of lanes: the sources of ``st.merge``, or the partitions of a broker.

At a meeting each rank says what its lanes have. All get the times of all events, and merge them as one process does.
Which lanes are idle, and for how long all have been silent, is agreed, too: each rank says it of its own.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suricate.io.sources.lanes import InLanes, Lanes, Waiting, demand_alike, merged
from suricate.io.sources.rows import WAITING
from suricate.io.sources.silence import INSIDE, Turns
from suricate.io.sources.times import NO_TIME
from suricate.stream.all_ranks.contents import Own, Part, SharedContents
from suricate.stream.all_ranks.reading import MOST, Readers, StretchReaders, left_out
from suricate.stream.background import NOT_YET, ReadAhead, size_of
from suricate.windows.events import Events, joined

if TYPE_CHECKING:
    from suricate.stream.window import Window

_NONE = np.empty(0, np.int64)


class Told(NamedTuple):
    """What all ranks know of a chunk of a lane, besides its times.

    Attributes:
        entries: number of times: of rows, or one for malformed lines without rows, or for an error.
        rows: number of its rows. gaps: how many valid rows come before each invalid one.
        why: all rows are left out, None: they are not. fails: whether it is an error.
        malformed: as of ``Part``. names: of its columns. has_unit: whether its times have a unit.
    """

    entries: int
    rows: int
    gaps: np.ndarray
    why: str | None
    fails: bool
    malformed: tuple[tuple[int, int], ...]
    names: tuple[str, ...]
    has_unit: bool


class _Queued:
    """A chunk of a lane that all know of, without what was merged; on the rank that has read it with its events."""

    def __init__(
        self, told: Told, ticks: np.ndarray, events: Events | None, invalid: Any, chunk: Waiting | None
    ) -> None:
        self.told, self.ticks, self.events, self.chunk = told, ticks, events, chunk
        self._invalid = deque(invalid)
        self._bad = np.zeros(told.rows, bool)
        self._bad[told.gaps + np.arange(len(told.gaps))] = True
        self.names, self.has_unit = told.names, told.has_unit

    @property
    def is_first(self) -> bool:
        """Whether it comes before all rows of other lanes: malformed lines, or an error, right behind other rows."""
        return not self.told.rows and int(self.ticks[0]) == NO_TIME

    def use(self, count: int) -> tuple[np.ndarray, Events | None, list[Any]]:
        """Remove the first rows; return which are invalid, the valid ones, and rows of the others for the file."""
        bad, self._bad, self.ticks = self._bad[:count], self._bad[count:], self.ticks[count:]
        number = int(bad.sum())
        events = self.events and self.events.taken(slice(count - number))
        self.events = self.events and self.events.taken(slice(count - number, None))
        return bad, events, [self._invalid.popleft() for _ in range(min(number, len(self._invalid)))]


class _Taken(NamedTuple):
    """What all take next: its part, times of valid events, what this rank has, what its lanes use; turns behind it."""

    part: Part
    times: np.ndarray
    own: Own
    uses: list[tuple[int, int]]
    turns: tuple[int, tuple[int, ...]]


class _Ahead:
    """Chunks of a lane that a thread reads ahead."""

    def __init__(self, chunks: Any) -> None:
        self._chunks, self._most = ReadAhead(chunks), 0

    def __iter__(self) -> _Ahead:
        return self

    def __next__(self) -> Any:
        found = next(self._chunks)
        if found is NOT_YET:
            return (INSIDE, WAITING), ()
        self._most = max(self._most, size_of(found))
        self._chunks.allow(self._most + 1)  # two chunks
        return found

    def close(self) -> None:
        """Read no further."""
        self._chunks.close()


class LaneReaders(Readers):
    """Readers of the lanes of a source."""

    def __init__(self, job: Window) -> None:
        super().__init__(job)
        assert isinstance(job._source, InLanes)
        rank, size = self._comm.rank, self._comm.size
        self._lanes: Lanes = job._source._lanes(rank, size, job._position, _Ahead, MOST)
        self._turns = Turns(job.silence, *self._lanes.turns)
        self._pair = self._turns.rows, self._turns.idle  # behind what was taken
        self._has_begun = False
        self._queues: list[deque[_Queued]] = []  # by lane, what all know of
        self._ended: list[bool] = []  # by lane, whether it has no more
        self._failed: Exception | int | None = None  # what all raise next, or the rank whose error it is
        self._waited: float | None = None  # for how long all was silent, by the clock of this rank

    def close(self) -> None:
        """Read no further."""
        self._lanes.close()

    def _owner(self, at: int) -> int:
        """Return the rank that reads lane ``at``."""
        return self._lanes.owner(at, self._comm.size)

    def position(self) -> Any:
        """Return the position of the source behind what was taken; collective."""
        if not self._has_begun:
            return self._job._position
        everybody = self._comm.gather("positions", {at: lane.position for at, lane in self._lanes.own.items()})
        lanes = {at: position for each in everybody for at, position in each.items()}
        return self._lanes.position([lanes[at] for at in range(self._lanes.number)], self._pair)

    def _take(self, item: _Taken | int) -> None:
        if not isinstance(item, _Taken):
            self._job.silence.closes.popleft()
            self._contents.reach(item)
            return
        self._contents.take_part(item.part, item.times, item.own)
        for at, count in item.uses:
            self._lanes.own[at].use(count)
        self._pair = item.turns
        self._job.silence.rows += item.part.rows

    # -- meetings ------------------------------------------------------------------------------------------------------

    def _meet(self) -> float:
        if isinstance(self._failed, Exception):
            raise self._failed
        if self._failed is not None:
            self._raise(self._failed)
        begin, self.elapsed, waiting = time.perf_counter(), None, self._job._ranks.waiting
        if not self._has_begun:
            if self._lanes.begin(self._comm.together, waiting):
                self._queues = [deque() for _ in range(self._lanes.number)]
                self._has_begun = True
            self.stops = any(self._comm.allgather(self._job._stop.is_set()))
            return time.perf_counter() - begin
        problem, asked, found, own = None, self._job.silence.clock(), dict[int, Any](), self._lanes.own
        self._turns.repeat()
        with waiting():
            try:
                self._lanes.read()
                found = self._turns.fill(own)
            except Exception as error:
                problem = error
            offered = {at: self._offered(at) for at in own} if problem is None else {}
        spent = time.perf_counter() - begin
        told = {at: [each.told for each in offered[at]] for at in offered}
        candidates = {at: self._candidate(at) for at in offered if not told[at]}
        is_waiting = any(lane.is_waiting for lane in own.values())
        facts = told, found, self._turns.silent, candidates, is_waiting, self._waited, self._job._stop.is_set()
        everybody = self._comm.together(problem, facts)
        all_told, all_found, silent, all_candidates, waits, waited, stops = zip(*everybody, strict=True)
        self.stops = any(stops)
        self._queue(offered, all_told)
        has = [all_found[self._owner(at)][at] for at in range(self._lanes.number)]
        self._ended = [each is False for each in has]
        if self._turns.decide(has, tuple(sorted(at for each in silent for at in each))):
            self._has_ended = all(self._ended)
        self._merge()
        learned = not self._agreed and self._learn({at: one for each in all_candidates for at, one in each.items()})
        is_silent = not (self._agreed or learned or self._failed is not None or any(waits))
        self.elapsed = waited[0] if is_silent else None
        self._waited = self._job.silence.elapsed(asked, silent=is_silent)
        return spent

    def _offered(self, at: int) -> list[_Queued]:
        """Return the chunks of an own lane that other ranks do not know of; with rows only if columns are known."""
        found = list[_Queued]()
        for chunk in islice(self._lanes.own[at].chunks, len(self._queues[at]), None):
            if chunk.rest and not self._knows_columns:
                break
            found.append(self._queued(at, chunk))
        return found

    def _queued(self, at: int, chunk: Waiting) -> _Queued:
        rows, events, gaps = len(chunk.ticks) if chunk.rest else 0, None, _NONE
        invalid, why = list[Any](), None
        if rows:
            try:
                place = partial(self._job._source.place, None)
                events, gaps, invalid, why = self._converted(chunk.rest, rows, place)
            except Exception as error:
                chunk.error, rows = error, 0
        ticks = chunk.ticks
        if chunk.error is not None:
            self._error, ticks = self._error or chunk.error, ticks[:1] if not chunk.rest else np.array([NO_TIME])
        first = self._lanes.own[at].refusals
        malformed = tuple((first + number, len(lines)) for number, lines in enumerate(chunk.held) if lines)
        names = chunk.names if first else ()  # of messages some may have kinds
        told = Told(len(ticks), rows, gaps, why, chunk.error is not None, malformed, names, chunk.has_unit)
        return _Queued(told, ticks, events, invalid, chunk)

    def _queue(self, offered: dict[int, list[_Queued]], told: Sequence[dict[int, list[Told]]]) -> None:
        """Append to the queues what ranks have offered, whose times are exchanged."""
        if not any(each for one in told for each in one.values()):
            return
        ticks = [each.ticks for at in sorted(offered) for each in offered[at]]
        for rank, times in enumerate(self._comm.allgatherv(np.concatenate([_NONE, *ticks]))):
            begin = 0
            for at in sorted(told[rank]):
                for number, one in enumerate(told[rank][at]):
                    part = times[begin : begin + one.entries]
                    begin += one.entries
                    is_own = rank == self._comm.rank
                    self._queues[at].append(offered[at][number] if is_own else _Queued(one, part, None, (), None))

    # -- what the first event says -------------------------------------------------------------------------------------

    def _candidate(self, at: int) -> Any:
        """Return what an own lane says of all, if the source or the window has to know that; None: nothing yet."""
        if not self._lanes.knows:
            return self._lanes.first(at)
        chunk = next((each for each in self._lanes.own[at].chunks if each.rest), None)
        if self._knows_columns or chunk is None:
            return None
        columns = chunk.names if self._lanes.own[at].refusals else ()
        try:
            return columns, chunk.has_unit, self._contents.columns_of(chunk.rest)
        except Exception as error:
            self._error = error
            return columns, chunk.has_unit, None

    def _learn(self, candidates: dict[int, Any]) -> bool:
        """Take over what the next events of all lanes that are waited for say; False if they do not say it yet."""
        waits = self._waits()
        if self._knows_columns or not waits or any(candidates.get(at) is None for at in waits):
            return False
        if not self._lanes.knows:
            self._lanes.hear(min((*candidates[at], at) for at in waits)[1])
            return True
        demand_alike([_Columns(*candidates[at][:2]) for at in waits])
        odd = [at for at in waits if candidates[at][2] is None]
        if odd:
            self._raise(self._owner(odd[0]))
        self._contents.hear_all_columns([candidates[at][2] for at in waits])
        self._knows_columns = True
        return True

    # -- merging -------------------------------------------------------------------------------------------------------

    def _waits(self) -> list[int]:
        """Return the lanes whose next event has to be known."""
        lanes = enumerate(zip(self._queues, self._ended, strict=True))
        return [at for at, (queue, ended) in lanes if at not in self._turns.idle and (queue or not ended)]

    def _merge(self) -> None:
        """Merge what all know, as far as it is known what comes next."""
        turns, closes = self._turns, deque(self._job.silence.closes)
        while self._failed is None:
            turns.repeat()
            if closes and closes[0][0] <= turns.rows:
                self._agreed.append(int(closes.popleft()[1]))
                continue
            waits = self._waits()
            first = [at for at in waits if self._queues[at] and self._queues[at][0].is_first]
            if not first and (not waits or not all(self._queues[at] for at in waits)):
                return
            waits = first[:1] or waits
            limits = [each for each in (turns.most, closes[0][0] - turns.rows if closes else None) if each is not None]
            try:
                demand_alike([head for at in waits if (head := self._queues[at][0]).told.rows])
            except Exception as error:
                self._failed = error
                return
            self._merge_heads(waits, min(limits, default=None))

    def _merge_heads(self, waits: list[int], most: int | None) -> None:
        """Merge the first chunks of these lanes until one is used up, or to ``most`` events."""
        heads = [self._queues[at][0] for at in waits]
        owner, ticks = merged([head.ticks for head in heads], most)
        if heads[owner[-1]].told.fails:
            self._failed = self._owner(waits[owner[-1]])
            owner, ticks = owner[:-1], ticks[:-1]
            if not len(owner):
                return
        rows = len(owner) if heads[owner[-1]].told.rows else len(owner) - 1
        bad, counts = np.zeros(rows, bool), np.bincount(owner[:rows], minlength=len(heads)).tolist()
        events, at, invalid, whys = list[Events](), [_NONE], list[Any](), list[str | None]()
        for number, (head, count) in enumerate(zip(heads, counts, strict=True)):
            if count:
                places = np.flatnonzero(owner[:rows] == number)
                bad[places], found, lines = head.use(count)
                whys.append(head.told.why)
                if found is not None:
                    events.append(found)
                    at.append(places[~bad[places]])
                invalid += zip(places[bad[places]].tolist(), lines, strict=False)
        self._agree(waits, owner, ticks[:rows], bad, whys, Own(*_in_order(events, at, bad), invalid))

    def _agree(
        self, waits: list[int], owner: np.ndarray, ticks: np.ndarray, bad: np.ndarray, whys: list[str | None], own: Own
    ) -> None:
        """Append a piece to what all take: events with these ``ticks`` of the lanes ``waits``, by ``owner``."""
        uses = np.bincount(owner, minlength=len(waits)).tolist()
        malformed: tuple[tuple[int, int], ...] = ()
        last, rows, gone = self._queues[waits[owner[-1]]], len(bad), np.flatnonzero(bad)
        if not last[0].told.rows or not len(last[0].ticks):
            head = last.popleft()
            malformed = head.told.malformed
            if head.chunk is not None:
                lines = [[*enumerate(each)] for each in head.chunk.held if each]
                own = own._replace(malformed=lines)
        leaves = bool(whys) and None not in whys
        if leaves and self._job._ranks.is_first:
            own = own._replace(invalid=[(0, left_out(str(whys[0]), rows))])
        ranks = np.array([self._owner(at) for at in waits])[owner[:rows][~bad]]
        part = Part(ranks, rows, rows - len(gone), gone - np.arange(len(gone)), len(gone), leaves, malformed)
        self._turns.rows += rows
        used = [(at, count) for at, count in zip(waits, uses, strict=True) if count and at in self._lanes.own]
        self._agreed.append(_Taken(part, ticks[~bad], own, used, (self._turns.rows, self._turns.idle)))


class _Columns(NamedTuple):
    names: tuple[str, ...]
    has_unit: bool


def _in_order(events: list[Events], at: list[np.ndarray], bad: np.ndarray) -> tuple[Events | None, np.ndarray | None]:
    """Return the ``events`` of several lanes in merged order, and their places among the valid ones.

    ``at``: their places among all, of which ``bad`` says which are not valid.
    """
    if not events:
        return None, None
    places = (np.cumsum(~bad) - 1)[np.concatenate(at)]
    found = joined(events)
    if len(events) > 1:
        order = np.argsort(places)
        found, places = found.taken(order), places[order]
    return found, places


def readers_of(job: Window) -> Readers:
    """Return the readers of a job whose source all ranks read."""
    assert isinstance(job.contents, SharedContents)
    return LaneReaders(job) if isinstance(job._source, InLanes) else StretchReaders(job)
