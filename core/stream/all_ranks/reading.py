"""The loop of a job whose source all ranks read: each parses its stretches of it, and all take them in order.

A stretch has a number, and one rank owns it (of files that with this number, modulo their number). At a meeting each
rank says what it has read of its next stretch; what follows without a gap on the chunks that were taken is taken, by
all ranks.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import FileFormatError, RequirementError
from suricate.io.sources.all_ranks import START, InStretches
from suricate.io.sources.refusals import with_held
from suricate.stream.all_ranks.contents import Own, Part, SharedContents
from suricate.stream.background import NOT_YET, ReadAhead
from suricate.windows.events import Events, joined, times_of

if TYPE_CHECKING:
    from suricate.stream.contents import Entering
    from suricate.stream.window import Window

MOST = 1 << 20  #: rows that a rank offers at a meeting; a stretch with more is taken in parts
ENOUGH = 1000  #: events of which so many may be late that it is told before the source ends
_NONE = np.empty(0, np.int64)


class _Chunk:
    """A chunk that this rank has read: what it says to all, its events, and rows for the file of refused ones."""

    def __init__(self, position: Any, chunk: Mapping[str, Any], malformed: list[Any]) -> None:
        self.position, self.chunk, self.malformed = position, chunk, malformed
        self.rows = len(chunk["src"])
        self.events: Events | None = None
        self.invalid: list[Any] = []
        self.part: Part | None = None  # None: it was not converted yet

    @property
    def own(self) -> Own:
        """What this rank has of the part."""
        malformed = [[*enumerate(self.malformed)]] if self.malformed else ()
        return Own(self.events, None, [*enumerate(self.invalid)], malformed)


class Readers(ABC):
    """What this rank reads for a job, and what all have read and not taken yet."""

    elapsed: float | None = None  #: for how long the whole source has been silent, if that is long enough
    stops = False  #: whether a rank has said at the newest meeting that the loop ends

    def __init__(self, job: Window) -> None:
        assert isinstance(job.contents, SharedContents)
        assert job._ranks.comm is not None
        self._job, self._contents, self._comm = job, job.contents, job._ranks.comm
        self._contents.refusals = job.refusals
        self._knows_columns = job.contents.intake.begun
        self._agreed = deque[Any]()  # what all have to take
        self._error: Exception | None = None  # of this rank
        self._has_ended = False

    @abstractmethod
    def close(self) -> None:
        """Read no further."""

    @abstractmethod
    def _meet(self) -> float:
        """Read, and agree with the other ranks on what all take next; return the seconds that reading took."""

    @abstractmethod
    def _take(self, item: Any) -> None:
        """Take an item that all have agreed on; collective."""

    def position(self) -> Any:
        """Return the position of the source behind what was taken; collective."""
        return self._job._position

    def closing(self) -> Iterator[Entering | None]:
        """Take chunks, and yield the slides that they close; None after a meeting. Collective."""
        job, contents, spent = self._job, self._contents, 0.0
        while True:
            while self._agreed:
                self._take(self._agreed.popleft())
                yield from job._close(spent)
                spent = 0.0
            if job._ranks.is_first and (self._has_ended or contents.read >= ENOUGH):
                contents.warn_of_late()
            if self._has_ended:
                break
            spent = self._meet()
            yield from job._run_on(self.elapsed)
            yield None
        if job._options.at_end == "close":
            contents.finish()
            yield from job._close(spent)

    def _raise(self, rank: int) -> None:
        """Raise the error of a ``rank`` on all."""
        error = self._error if rank == self._comm.rank else None
        is_of_file = isinstance(error, FileFormatError)
        told = (error.path, error.line, error.reason) if isinstance(error, FileFormatError) else None
        everybody = self._comm.together(None if is_of_file else error, told)
        raise FileFormatError(*everybody[rank]) from error

    def _converted(self, chunk: Any, rows: int, place: Callable[[], str]) -> tuple[Any, np.ndarray, list[Any], Any]:
        """Convert a ``chunk`` with so many ``rows``, which is at ``place()``.

        Returns:
            Its valid events or None; how many of them come before each invalid row; rows of these for the file; and why
            all are left out, None: they are not.
        """
        contents = self._contents
        try:
            events = contents.converted(chunk)
        except RequirementError as error:  # of its columns, by which one file may differ from others
            why = f"{place()}: {error}"
            if not self._knows_columns or contents.bad.raises:
                raise RequirementError(why) from error
            return None, np.zeros(rows, np.int64), [], why
        return events, contents.intake.gaps, contents.bad.taken(), None


def left_out(why: str, rows: int) -> list[Any]:
    """Return the row for the file of invalid events about a chunk with so many ``rows``, all of which are left out."""
    return [""] * 5 + [f"{why} ({rows} rows)"]


def _whole(items: Sequence[tuple[Part, np.ndarray, Own]]) -> list[tuple[Part, np.ndarray, Own]]:
    """Return several chunks without refused rows, their times, and what this rank has of them, as one, or none."""
    if len(items) < 2:
        return [*items]
    parts, times, owns = zip(*items, strict=True)
    valid = [part.valid for part in parts]
    own = [(each.events, begin) for each, begin in zip(owns, accumulate(valid, initial=0), strict=False)]
    own = [(events, begin) for events, begin in own if events is not None]
    at = [np.arange(begin, begin + events.number) for events, begin in own]
    mine = Own(joined([events for events, _ in own]), np.concatenate(at)) if own else Own()
    ranks = np.repeat([part.rank for part in parts], valid)
    positions = tuple(position for part in parts for position in part.position)
    rows = sum([part.rows for part in parts])
    whole = parts[-1]._replace(rank=ranks, rows=rows, valid=sum(valid), position=positions)
    return [(whole, np.concatenate(times), mine)]


class StretchReaders(Readers):
    """Readers of a source in stretches, each of those that it owns."""

    def __init__(self, job: Window) -> None:
        super().__init__(job)
        assert isinstance(job._source, InStretches)
        self._source = job._source
        if job._position is not None:
            with job._ranks.alike():
                self._source.demand_unchanged(job._position)
        self._turn = int((job._position or START)[0])  # the stretch that is taken next, or goes on
        self._offered = deque[_Chunk]()  # what this rank has read of its next stretch,
        self._is_whole = self._is_over = False  # whether this is all of it, and whether there is no such stretch
        chunks = with_held(self._source.of_rank(self._comm.rank, self._comm.size, job._position), self._source.refusals)
        self._chunks: Any = ReadAhead(chunks) if self._source.prefetch else chunks
        self._most = 0  # rows of the longest chunk

    def close(self) -> None:
        """Read no further."""
        self._chunks.close()

    def _take(self, item: tuple[Part, np.ndarray, Own]) -> None:
        part, times, own = item
        if part.columns is not None:
            self._contents.hear_columns(*part.columns)
        self._contents.take_part(part, times, own)
        for position in part.position:
            self._job._position = self._source.joined(self._job._position, position)

    # -- meetings ------------------------------------------------------------------------------------------------------

    def _meet(self) -> float:
        begin, comm = time.perf_counter(), self._comm
        with self._job._ranks.waiting():
            self._read()
            self._convert()
        spent = time.perf_counter() - begin
        parts = [each.part for each in self._offered if each.part is not None]
        is_whole = self._is_whole and len(parts) == len(self._offered)
        stops, has_error = self._job._stop.is_set(), self._error is not None
        everybody = comm.together(None, (parts, is_whole, self._is_over, has_error, stops))
        self.stops = any(each[-1] for each in everybody)
        found, own, heard = list[Part](), list[_Chunk](), set[int]()
        while (rank := self._source.owner(self._turn, comm.size)) not in heard:
            heard.add(rank)
            parts, is_whole, is_over, has_error, _ = everybody[rank]
            if has_error and not found and not parts:
                self._raise(rank)
            found += parts
            if rank == comm.rank:
                own = [self._offered.popleft() for _ in parts]
                self._is_whole &= not is_whole
            if not is_whole:
                self._has_ended = is_over
                break
            self._turn += 1
        self._knows_columns |= any(part.columns is not None for part in found)
        self._share(found, own)
        return spent

    def _share(self, found: list[Part], own: list[_Chunk]) -> None:
        """Get the times of the events of all parts ``found``, of which this rank has the chunks ``own``."""
        times = [_NONE] * self._comm.size
        if self._contents.has_times and any(part.valid for part in found):
            given = [times_of(each.events.time) for each in own if each.events is not None]
            times = self._comm.allgatherv(np.concatenate([_NONE, *given]))
        chunks, plain = deque(own), list[tuple[Part, np.ndarray, Own]]()
        for part in found:
            chunk = chunks.popleft() if part.rank == self._comm.rank else None
            item = part, times[part.rank][: part.valid], Own() if chunk is None else chunk.own
            times[part.rank] = times[part.rank][part.valid :]
            if part.refused or part.malformed or part.columns is not None or self._contents.may_raise:
                self._agreed += [*_whole(plain), item]
                plain = []
            else:
                plain.append(item)
        self._agreed += _whole(plain)

    # -- what this rank reads ------------------------------------------------------------------------------------------

    def _read(self) -> None:
        """Read on in the stretch that this rank offers, or the next one, to its end or until it is much."""
        rows = sum(each.rows for each in self._offered)
        while not (self._is_whole or self._is_over or self._error) and rows < MOST:
            try:
                found = next(self._chunks, None)
            except Exception as error:
                self._error = error
                return
            if found is None:
                self._is_over = True
            elif found is not NOT_YET:
                (position, chunk), (malformed,) = found
                if chunk is None:
                    self._is_whole = True
                    continue
                self._offered.append(_Chunk(position, chunk, malformed))
                rows += self._offered[-1].rows
                self._most = max(self._most, self._offered[-1].rows)
                if isinstance(self._chunks, ReadAhead):
                    self._chunks.allow(self._most + 1)  # two chunks

    def _convert(self) -> None:
        """Convert what is offered; before all know the columns, the first chunk with rows only."""
        knows = self._knows_columns
        if not knows and self._source.owner(self._turn, self._comm.size) != self._comm.rank:
            return
        for at, each in enumerate(self._offered):
            if each.part is None:
                try:
                    each.part = self._part_of(each)
                except Exception as error:
                    self._error, self._is_whole = error, False
                    while len(self._offered) > at:
                        self._offered.pop()
                    return
            if not knows and each.rows:
                return

    def _part_of(self, each: _Chunk) -> Part:
        """Convert a chunk, and return what all are told of it."""
        columns, why, gaps = None, None, _NONE
        if each.rows:
            place = partial(self._source.place, each.position)
            each.events, gaps, each.invalid, why = self._converted(each.chunk, each.rows, place)
            columns = None if self._knows_columns else self._contents.columns_told()
            if why is not None:
                gaps, each.invalid = _NONE, [left_out(why, each.rows)]
        each.chunk = {}
        count = 0 if each.events is None else each.events.number
        malformed = ((0, len(each.malformed)),) if each.malformed else ()
        facts = each.rows, count, gaps, each.rows - count, why is not None, malformed
        return Part(self._comm.rank, *facts, (each.position,), columns)
