"""Sources made of lanes, parts without a common order: how these are merged, and how several ranks divide them.

Of p ranks, rank i reads the lanes i, i + p, and so on. All get the times of all events, and merge them alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import numpy as np

from suricate.base.errors import ParameterError, RequirementError
from suricate.io.sources.chunk_columns import part_of
from suricate.io.sources.identity import Sums, sums_of
from suricate.io.sources.refusals import with_held
from suricate.io.sources.rows import WAITING
from suricate.io.sources.silence import INSIDE
from suricate.io.sources.source import Source, _Mark
from suricate.io.sources.times import NO_TIME, ticks_of

AHEAD = 2  #: chunks of a lane that are read before they are needed, if nobody waits for its next event
START: tuple[Any, int, Any] = None, 0, {}  #: where a source begins that is merged


def merged(ticks: Sequence[np.ndarray], most: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the order in which the events of lanes come until one of these has no more, at most ``most``; None: all.

    Of the next events of all, the one with the smallest time comes first, of equal times that of the first lane. So an
    event that is older than one before it in its lane comes right behind that, as if it had its time.

    Args:
        ticks: times of the next events of each lane, of at least one.
        most: how many events, at most.

    Returns:
        ``int64[n]``, for each event the index of its lane; and ``int64[n]``, its time.
    """
    keys = [np.maximum.accumulate(each[:most]) for each in ticks]
    first_end = min(key[-1] for key in keys)
    counts = [int(np.searchsorted(key, first_end, side="right")) for key in keys]
    ends = np.cumsum(counts)
    order = np.argsort(np.concatenate([key[:count] for key, count in zip(keys, counts, strict=True)]), kind="stable")
    used_up = [end - 1 for end, key, count in zip(ends, keys, counts, strict=True) if count == len(key)]
    last = int(np.isin(order, used_up).argmax()) + 1
    order = order[: last if most is None else min(last, most)]
    whole = np.concatenate([each[:count] for each, count in zip(ticks, counts, strict=True)])
    return np.searchsorted(ends, order, side="right"), whole[order]


def demand_alike(chunks: Sequence[Any]) -> None:
    """Raise ``ParameterError`` unless chunks that are merged have the same columns, and their times are of one kind."""
    if any(each.has_unit != chunks[0].has_unit for each in chunks):
        raise ParameterError("merge: the times of one source have a unit, those of the other have none")
    odd = sorted({name for each in chunks for name in {*each.names} ^ {*chunks[0].names}})
    if odd:
        raise ParameterError(f"merge: only one of the sources has columns for {', '.join(odd)}")


class Waiting:
    """A chunk that waits to be merged, without the events that were merged already.

    Attributes:
        begin: the position where it begins. rest: its columns. ticks: their times; a single one if there are no rows.
        has_unit: whether times have a unit. held: rows of malformed lines behind it, by refusals of its source.
        error: what reading it has raised, with no rows then.
    """

    def __init__(
        self, begin: Any, rest: Mapping[str, Any], ticks: Any, held: Any, *, has_unit: bool = True, error: Any = None
    ) -> None:
        self.begin, self.rest, self.has_unit, self.held, self.error = begin, rest, has_unit, held, error
        self.ticks = np.array([ticks], np.int64) if isinstance(ticks, int) else ticks

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its columns."""
        return (*self.rest,)


class Head:
    """A source that is being merged: chunks that were read, of which the first one may have been merged in part.

    A position ``at`` is where the first chunk begins, how many of its events were merged, and their checksums.
    """

    def __init__(self, source: Source, at: tuple[Any, int, Sums]) -> None:
        self.source, self._at, (self._after, self._used, self._sums) = source, at, at
        self._skip, self._skipped, self._expected = self._used, Sums(), self._sums
        self._reading: Any = None
        self.chunks = deque[Waiting]()
        self.is_waiting = False  # whether the source has no events, and does not say that it is silent

    @property
    def position(self) -> tuple[Any, int, Sums]:
        """Where reading can go on."""
        begin = self.chunks[0].begin if self.chunks else self._after
        return self._at if self._skip else (begin, self._used, self._sums)

    def fill(self) -> bool | None:
        """Read a chunk if there is none; return False at the end of the source, None if it is empty."""
        while not self.chunks:
            has = self._read()
            if not has:
                return has
        return True

    def _opened(self) -> Iterator[Any]:
        return with_held(self.source.read(self._after), self.source.refusals)

    def _read(self) -> bool | None:
        """Read a chunk; return False at the end of the source, None if the chunk is empty."""
        if self._reading is None:
            self._reading = self._opened()
        found = next(self._reading, None)
        if found is None:
            if self._skip:
                raise self._changed(self._after)
            return False
        (after, chunk), held = found
        self.is_waiting = chunk is WAITING
        if after is INSIDE:
            return None
        begin, self._after = self._after, after
        if isinstance(chunk, _Mark):
            raise ParameterError("merge: sources of steps cannot be merged")
        if not len(chunk["src"]):
            self._take_empty(begin, held)
            return None
        if "time" not in chunk:
            raise RequirementError("merge: a source has no column of times, by which it can be merged")
        ticks, has_unit = ticks_of(chunk["time"], self.source.time_unit)
        one = Waiting(begin, dict(chunk), ticks, held, has_unit=has_unit)
        if self._skip:
            self._leave_out(one, min(self._skip, len(ticks)))
        if len(one.ticks):
            self.chunks.append(one)
        else:
            self._give_back(held)
        return True

    def _take_empty(self, begin: Any, held: Any) -> None:
        """Take a chunk without rows, from ``begin`` on."""
        self._give_back(held)

    def _give_back(self, held: Any) -> None:
        """Have malformed lines of a chunk count, which is merged; until then they would come again on going on."""
        for each, lines in zip(self.source.refusals, held, strict=True):
            each.held += lines

    def _leave_out(self, chunk: Waiting, count: int) -> None:
        """Remove the first ``count`` events from a new chunk, merged before; ``ParameterError`` if they are others."""
        taken = {name: part_of(column, 0, count) for name, column in chunk.rest.items()}
        self._skipped, self._skip = sums_of(taken, self._skipped), self._skip - count
        if self.source.checked and not self._skip and self._skipped != self._expected:
            raise self._changed(self._after)
        self._used, self._sums = 0, Sums()
        self._remove(chunk, count)

    def _changed(self, position: Any) -> ParameterError:
        return ParameterError(f"checkpoint: {self.source.place(position)} has other rows than those merged so far")

    def _remove(self, chunk: Waiting, count: int) -> None:
        """Remove the first ``count`` events from the chunk that is merged."""
        if self.source.checked and chunk.rest:
            self._sums = sums_of({name: part_of(column, 0, count) for name, column in chunk.rest.items()}, self._sums)
        chunk.rest = {name: part_of(column, count) for name, column in chunk.rest.items()}
        chunk.ticks, self._used = chunk.ticks[count:], self._used + count
        if not len(chunk.ticks):
            self._used, self._sums = 0, Sums()

    def use(self, count: int) -> None:
        """Remove the first ``count`` events from the first chunk: they were merged."""
        self._remove(self.chunks[0], count)
        if not len(self.chunks[0].ticks):
            self._give_back(self.chunks.popleft().held)


class Lane(Head):
    """A source that one of several ranks reads.

    Its chunks include those with malformed lines only, and errors. ``ahead`` reads it in a thread, if it has
    ``prefetch``; ``most``: of so many rows no further chunk is read before they are needed. ``refusals``: the number of
    those of its source among those of a job.
    """

    def __init__(self, source: Source, at: Any, ahead: Callable[[Any], Any], most: int, refusals: int) -> None:
        super().__init__(source, at)
        self._ahead, self._most, self.refusals, self._is_over = ahead, most, refusals, False

    def _opened(self) -> Iterator[Any]:
        chunks = super()._opened()
        return self._ahead(chunks) if self.source.prefetch else chunks

    def fill(self) -> bool | None:
        """Read on; return True if there is a chunk, False at the end of the source, None if it is empty."""
        while not self._is_over and self._wants():
            try:
                has = self._read()
            except Exception as error:
                self.chunks.append(Waiting(self._after, {}, NO_TIME, (), error=error))
                has = False
            self._is_over = has is False
            if not has:
                break
        return True if self.chunks else False if self._is_over else None

    def _wants(self) -> bool:
        rows = sum(len(each.ticks) for each in self.chunks)
        return not self.chunks or (not self.source.live and len(self.chunks) < AHEAD and rows < self._most)

    def fill_first(self) -> None:
        """Read the first chunk, also if that takes long."""
        while self.fill() is None and self.is_waiting and not self.source.live:
            pass

    def _take_empty(self, begin: Any, held: Any) -> None:
        if any(held):
            self.chunks.append(Waiting(begin, {}, NO_TIME, held))

    def _give_back(self, held: Any) -> None:
        """Do nothing: all ranks are told of malformed lines."""

    def close(self) -> None:
        """Read no further."""
        if self._reading is not None:
            self._reading.close()


class Lanes(ABC):
    """What a rank reads of a source made of lanes; ``own`` are its lanes, by number.

    A lane has ``chunks`` (:class:`Waiting`), ``fill``, ``use``, ``is_waiting`` and ``position`` as :class:`Head`, and
    ``refusals``, see :class:`Lane`.

    Attributes:
        number: of all lanes. own: those of this rank. turns: how many events were merged before, and which were idle.
    """

    number: int
    own: Mapping[int, Any]
    turns: tuple[int, Sequence[int]] = (0, ())

    def owner(self, at: int, size: int) -> int:
        """Return the rank, of ``size``, that reads lane ``at``."""
        return at % size

    @property
    def knows(self) -> bool:
        """Whether the first event of all lanes has said what chunks have; see :meth:`first` and :meth:`hear`."""
        return True

    @abstractmethod
    def begin(
        self, gather: Callable[[Exception | None, Any], list[Any]], reading: Callable[[], AbstractContextManager[None]]
    ) -> bool:
        """Begin to read; False if it is to be called again. Collective: all values of ``gather`` are of all ranks.

        ``reading`` returns a context for reading. ``gather`` raises an exception of one rank on all.
        """

    def read(self) -> None:  # noqa: B027 - most have nothing in common
        """Read what all lanes of this rank have in common, before each is filled."""

    def first(self, at: int) -> Any:
        """Return the time of the first event of lane ``at``, and what it says of all; None: there is none."""
        raise NotImplementedError

    def hear(self, told: Any) -> None:
        """Take over what the first event of all lanes says, the oldest one, by number of the lane."""
        raise NotImplementedError

    @abstractmethod
    def position(self, lanes: Sequence[Any], turns: Any) -> Any:
        """Return the position of the source from those of all ``lanes``, and :attr:`turns`."""

    @abstractmethod
    def close(self) -> None:
        """Read no further."""


class InLanes(Source):
    """Base class of sources whose parts have no common order, so that several ranks can read them."""

    _is_single: ClassVar[bool] = False  #: whether it always has one lane

    @abstractmethod
    def _lanes(self, rank: int, size: int, position: Any, ahead: Callable[[Any], Any], most: int) -> Lanes:
        """Return what ``rank`` reads from ``position`` on; for ``ahead`` and ``most`` see :class:`Lane`."""

    def _told(self) -> list[str]:
        """Return what must be the same on all ranks."""
        return [self.describe()]

    def _demand_divided(self, *, idle: bool) -> None:
        """Raise ``RequirementError`` if ranks cannot divide it; ``idle``: whether silent lanes are not waited for."""


class MergeLanes(Lanes):
    """The sources of ``st.merge`` that a rank reads."""

    def __init__(
        self, sources: Sequence[Source], first: Any, rank: int, size: int, position: Any, ahead: Any, most: int
    ) -> None:
        self._size, self.number, self._first = size, len(sources), first
        *begin, self.turns = position or (*(START for _ in sources), (0, ()))
        before = np.cumsum([1, *(len(each.refusals) for each in sources)]).tolist()
        own = [at for at in range(self.number) if self.owner(at, size) == rank]
        self.own: dict[int, Lane] = {at: Lane(sources[at], begin[at], ahead, most, before[at]) for at in own}

    def begin(self, gather: Any, reading: Any) -> bool:
        """Learn from the first row of the first source that has one what it says about all sources, in their order."""
        for at in range(self.number):
            if self._first.texts is None:
                with reading():
                    if at in self.own:
                        self.own[at].fill_first()
                told = gather(None, (self._first.texts, self._first.zoned))
                self._first.texts, self._first.zoned = told[self.owner(at, self._size)]
        return True

    def position(self, lanes: Sequence[Any], turns: Any) -> Any:
        """Return a position of ``st.merge``."""
        return (*lanes, turns)

    def close(self) -> None:
        """Read no further."""
        for lane in self.own.values():
            lane.close()
