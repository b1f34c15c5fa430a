"""What brokers have in common: partitions merged by the times of their next events, back-pressure, outages, secrets."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Protocol

import numpy as np

from suricate.base.errors import BrokerError, ParameterError, RequirementError
from suricate.base.parameters import flag, integer, one_of, shown
from suricate.io.options import FirstRow
from suricate.io.sources.lanes import InLanes, Lanes, Waiting, merged
from suricate.io.sources.rows import NOTHING, WAITING
from suricate.io.sources.silence import Turns
from suricate.io.sources.source import Chunk
from suricate.io.sources.times import duration
from suricate.sources.messages import Refused, Values

LOGGER = logging.getLogger("suricate.sources")
TRY, PAUSE = 1.0, 0.1  #: seconds for one try to reach a broker, and between two
STARTS = "earliest", "latest"
ALL = slice(None)  #: partitions


class Partition:
    """The part of a log that has one order: its messages that were read and wait to be merged.

    Attributes:
        number: by which it is known. after: the position behind what was merged, last: behind what was read.
        end: the position at which it ends; None: it does not.
        at_end: whether all that was there has been read. has_ended: whether nothing more will be read.
        is_cut_off: whether its broker cannot be reached. is_waiting: whether it has no message, and there may be some.
    """

    def __init__(self, number: int, after: Any, end: Any = None) -> None:
        self.number, self.after, self.last, self.end = number, after, after, end
        self.at_end = self.has_ended = self.is_cut_off = self.is_waiting = False
        self.ticks, self.rows, self.afters = np.empty(0, np.int64), list[Any](), list[Any]()

    def add(self, ticks: list[int], rows: list[Any], afters: list[Any]) -> None:
        """Append messages: their times, their values or ``Refused``, and the positions behind them."""
        self.ticks = np.concatenate([self.ticks, np.array(ticks, np.int64)])
        self.rows += rows
        self.afters += afters
        self.last, self.at_end = afters[-1], False

    def fill(self) -> bool | None:
        """Return whether it has a message; False if it has ended, None if there is none now."""
        self.is_waiting = not self.rows and not self.has_ended and (self.is_cut_off or not self.at_end)
        return True if self.rows else False if self.has_ended else None

    def use(self, count: int) -> None:
        """Remove the first ``count`` messages: they were merged."""
        if count:
            self.after = self.afters[count - 1]
            self.ticks = self.ticks[count:]
            del self.rows[:count], self.afters[:count]


class Outage:
    """Says for how long a broker cannot be reached, and raises ``BrokerError`` when that is longer than ``most``.

    ``name`` is what messages call the broker; ``secrets`` are taken out of them.
    """

    def __init__(self, name: str, most: float, secrets: Iterable[Any]) -> None:
        self._name, self._most = name, most
        self._secrets = sorted({str(each) for each in secrets if each not in (None, "")}, key=len, reverse=True)
        self._since: float | None = None
        self._reason, self._is_told = "", False

    def hidden(self, text: Any) -> str:
        """Return a text in one line, without secrets."""
        found = " ".join(str(text).split())
        for secret in self._secrets:
            found = found.replace(secret, "***")
        return found

    @property
    def lasts(self) -> bool:
        """Whether the broker cannot be reached."""
        return self._since is not None

    def begin(self, reason: Any) -> None:
        """Note that the broker may not be reached."""
        self._since, self._reason = self._since or time.monotonic(), self.hidden(reason)

    def note(self, reason: Any) -> None:
        """Note, and log, that the broker was not reached; raises ``BrokerError`` if that has lasted for too long."""
        self.begin(reason)
        if not self._is_told:
            self._is_told = True
            LOGGER.warning("%s is not reached: %s; trying again for %g s", self._name, self._reason, self._most)
        if self._since is not None and time.monotonic() - self._since >= self._most:
            raise self.error(f"was not reached for {self._most:g} s: {self._reason}")

    def end(self) -> None:
        """Note that the broker was reached."""
        self._since = None
        if self._is_told:
            self._is_told = False
            LOGGER.warning("%s is reached again", self._name)

    def error(self, problem: Any) -> BrokerError:
        """Return the error that names the broker and a ``problem``."""
        return BrokerError(f"{self._name} {self.hidden(problem)}")


class Log(Protocol):
    """The connection of a source to its broker."""

    outage: Outage

    def begin(self, own: slice = ALL) -> list[Partition] | None:
        """Connect, and return the partitions, by number, each where reading begins; None: try once more.

        ``own``: which of them are read.

        Raises:
            RequirementError: reading cannot continue there.
        """

    def poll(self, partitions: Sequence[Partition], full: set[int], seconds: float) -> Iterable[tuple[Partition, Any]]:
        """Return new messages with their partitions, but not of those with the numbers ``full``.

        Waits at most ``seconds`` for the first one, or ``TRY`` for a broker that does not answer.
        """

    def after(self, message: Any) -> Any:
        """Return the position behind a message."""

    def text(self, message: Any) -> Any:
        """Return what a file of refused messages shows of a message."""

    def close(self) -> None:
        """Disconnect."""


START: Any = ({}, (0, ()), None, None)  #: the position of a broker before its first message


class Broker(InLanes):
    """Base class of sources that read from a broker; see ``suricate.sources``.

    A position has the positions of the partitions by number, how many events were merged and which partitions were idle
    (see ``Turns``), what the first event said (see ``Values``), and where partitions end.
    """

    resumes = True
    kind = ""  #: how messages call the broker

    def __init__(
        self, name: str, *, start: str, live: bool, timeout: Any, ahead: int, decode: Any, **options: Any
    ) -> None:
        super().__init__(**options)
        if not isinstance(name, str) or not name:
            raise ParameterError(f"{self.kind}: give the name of what to read as a text, got {shown(name)}")
        if self.time_unit is None:
            raise ParameterError(f"{self.kind}: time_unit must be 's', 'ms', 'us' or 'ns', got None")
        if decode is not None and not callable(decode):
            raise ParameterError(f"{self.kind}: decode must be a function of a message, got {shown(decode)}")
        self.name, self.start = name, one_of("start", start, STARTS)
        self.live, self._ahead = flag("live", live), integer("prefetch", ahead, low=1)
        self.endless = self.live
        self.seconds = duration(timeout, "timeout", has_unit=True) / 1e9
        self._decode: Callable[[Any], Mapping[str, Any]] = decode or self.decoded
        if odd := [name for name in self.columns.values() if not isinstance(name, str)]:
            raise ParameterError(f"columns: messages have names, no positions such as {odd[0]}")
        wanted = {name for name in self.columns.values() if name.startswith("@")}
        unknown = wanted - set(self.facts_of)
        if unknown:
            raise ParameterError(f"columns: {min(unknown)!r} is not one of {', '.join(self.facts_of)}")
        self._facts = sorted(wanted)

    facts_of: Mapping[str, Callable[[Any], Any]] = {}  #: what a message has besides its values: functions by column

    def decoded(self, message: Any) -> Any:
        """Return the values of a message, by name."""
        raise NotImplementedError

    def log(self, begin: Mapping[int, Any], ends: Mapping[int, Any] | None) -> Log:
        """Return a connection that reads from the positions ``begin`` on, without any: from ``start``.

        ``ends``: where the run before was to end, if it was.
        """
        raise NotImplementedError

    def describe(self) -> str:
        """Return the kind of broker and the name, nothing of its address."""
        return f"{type(self).__name__}({self.name})"

    def place(self, position: Any) -> str:
        """Return the kind of broker and the name of what is read."""
        return f"{self.kind} {self.name!r}"

    def is_untouched(self, position: Any) -> bool:
        """Return False: the broker has to be asked."""
        return False

    def read(self, position: Any = None) -> Iterator[tuple[Any, Chunk]]:
        """Yield merged chunks; ``NOTHING`` if all partitions that it waits for are silent, else ``WAITING``."""
        begin, (count, idle), kinds, ends = position or START
        turns, values = Turns(self.silence, count, idle), self._values_of(kinds)
        with closing(self.log(begin, ends)) as log:
            while (found := log.begin()) is None:
                yield position, WAITING
                time.sleep(PAUSE)
            parts, full = found, set[int]()
            ends = None if self.live else {each.number: each.end for each in parts}
            while True:
                self._fill(log, parts, full, values)
                has = turns.ask(parts)
                if not has:
                    return
                for chunk in self._next(parts, has, turns, values):
                    turns.rows += len(chunk["src"])
                    afters = {each.number: each.after for each in parts}
                    yield (afters, (turns.rows, turns.idle), values.kinds, ends), chunk

    def _values_of(self, kinds: Any) -> Values:
        first = self.first or FirstRow()
        return Values(self.columns, self.attributes, str(self.time_unit), names=self.names, first=first, kinds=kinds)

    def _lanes(self, rank: int, size: int, position: Any, ahead: Any, most: int) -> BrokerLanes:
        """Return the partitions that ``rank`` reads."""
        begin, turns, kinds, ends = position or START
        return BrokerLanes(self, self.log(begin, ends), self._values_of(kinds), turns, slice(rank, None, size))

    def _fill(self, log: Log, parts: Sequence[Partition], full: set[int], values: Values) -> None:
        """Read messages, of partitions that have not too many of them, and wait if there is one that has none."""
        for each in parts:
            if len(each.rows) >= self._ahead:
                full.add(each.number)
            elif len(each.rows) <= self._ahead // 2:  # to pause and to go on costs requests
                full.discard(each.number)
        seconds = 0.0 if all(each.rows or each.has_ended for each in parts) else self.max_wait
        found: dict[int, list[Any]] = {}
        for part, message in log.poll(parts, full, seconds):
            found.setdefault(part.number, []).append(message)
        for part in parts:
            if part.number in found:
                messages = found[part.number]
                read = [values.read(self._values, each, log.text(each)) for each in messages]
                part.add([ticks for ticks, _ in read], [row for _, row in read], [*map(log.after, messages)])
            part.is_cut_off = log.outage.lasts

    def _values(self, message: Any) -> Mapping[str, Any]:
        row = self._decode(message)
        return {**row, **{name: self.facts_of[name](message) for name in self._facts}} if self._facts else row

    def _next(
        self, parts: Sequence[Partition], has: Sequence[bool | None], turns: Turns, values: Values
    ) -> Iterator[Chunk]:
        """Yield the next events if all partitions that are neither idle nor at their end have one.

        A message that is refused is alone, in a chunk without rows, so that it does not matter how chunks are cut.
        """
        waits = [at for at, found in enumerate(has) if at not in turns.idle and found is not False]
        if not waits or not all(has[at] for at in waits):
            yield WAITING if any(each.is_cut_off or each.is_waiting for each in parts) else NOTHING
            return
        ready = [parts[at] for at in waits]
        owner, ticks = merged([each.ticks for each in ready], min(self.max_rows, turns.most or self.max_rows))
        sequences = [iter(each.rows[: len(owner)]) for each in ready]
        rows = [next(sequences[number]) for number in owner.tolist()]
        begin = 0
        while begin < len(rows):
            odd = values.first_odd(rows, begin)
            if odd > begin:
                chunk = values.chunk(ticks[begin:odd], rows[begin:odd])
                for part, count in zip(
                    ready, np.bincount(owner[begin:odd], minlength=len(ready)).tolist(), strict=True
                ):
                    part.use(count)
                yield chunk
            if odd < len(rows):
                self._refuse(ready[int(owner[odd])], values)
                yield WAITING
            begin = odd + 1

    def _refuse(self, part: Partition, values: Values) -> None:
        """Handle the first message of ``part``, which cannot be read or does not fit, as ``on_error`` says."""
        self.refusals[0].held.append(self._refusal(part, 0, values))
        part.use(1)

    def _refusal(self, part: Partition, at: int, values: Values) -> list[Any]:
        """Return the row for message ``at`` of ``part``, which cannot be read or does not fit; or raise that."""
        row = part.rows[at]
        reason, text = row if type(row) is Refused else (values.misfit(row), shown(row))
        place = f"{self.place(None)}, {self.position_of(part.number, part.afters[at])}"
        if self.refusals[0].raises:
            raise ParameterError(f"{place}: {reason}: {text}; on_error='skip' leaves such messages out")
        return [""] * 5 + [f"{place}: {reason}: {text}"]

    def position_of(self, number: int, after: Any) -> str:
        """Return a text for the message before the position ``after`` of a partition."""
        raise NotImplementedError


class PartitionLane:
    """A partition that one of several ranks reads; see ``io.sources.lanes``."""

    refusals = 0

    def __init__(self, source: Broker, part: Partition, values: Values) -> None:
        self._source, self.part, self._values = source, part, values
        self.chunks, self._listed = deque[Waiting](), 0  # messages of which these consist
        self.is_waiting = False

    @property
    def position(self) -> Any:
        """The position behind what was merged, and where the partition ends."""
        return self.part.after, self.part.end

    def fill(self) -> bool | None:
        """Make chunks of the messages that have come; return what :meth:`Partition.fill` does."""
        rows, ticks = self.part.rows, self.part.ticks
        while self._listed < len(rows) and (self._values.kinds is not None or type(rows[self._listed]) is Refused):
            begin, odd = self._listed, self._values.first_odd(rows, self._listed)
            if odd > begin:
                chunk = self._values.chunk(ticks[begin:odd], rows[begin:odd])
                self.chunks.append(Waiting(None, chunk, ticks[begin:odd], ()))
            if odd < len(rows):
                held, problem = [], None
                try:
                    held = [[self._source._refusal(self.part, odd, self._values)]]
                except ParameterError as error:
                    problem = error
                self.chunks.append(Waiting(None, {}, int(ticks[odd]), held, error=problem))
            self._listed = min(odd + 1, len(rows))
        has = self.part.fill()
        self.is_waiting = self.part.is_cut_off or self.part.is_waiting
        return has

    def use(self, count: int) -> None:
        """Remove the first ``count`` messages: they were merged."""
        self.part.use(count)
        self._listed -= count
        first = self.chunks[0]
        first.ticks, first.rest = first.ticks[count:], {}  # it was made events of
        if not len(first.ticks):
            self.chunks.popleft()


class BrokerLanes(Lanes):
    """The partitions that a rank reads: those at the places ``own``."""

    def __init__(self, source: Broker, log: Log, values: Values, turns: Any, own: slice) -> None:
        self._source, self._log, self._values, self._own, self.turns = source, log, values, own, turns
        self._numbers, self._parts, self._full = list[int](), list[Partition](), set[int]()
        self.own: dict[int, PartitionLane] = {}

    @property
    def knows(self) -> bool:
        """Whether the first message has said what messages have."""
        return self._values.kinds is not None

    def begin(self, gather: Any, reading: Any) -> bool:
        """Connect; False: some rank has to try once more."""
        problem = None
        with reading():
            try:
                if not self._numbers and (found := self._log.begin(self._own)) is not None:
                    self._numbers, self._parts = [each.number for each in found], found[self._own]
                elif not self._numbers:
                    time.sleep(PAUSE)
            except Exception as error:
                problem = error
        everybody = gather(problem, self._numbers)
        if not all(everybody):
            return False
        if any(numbers != everybody[0] for numbers in everybody):
            raise RequirementError(f"{self._source.place(None)} has other partitions for some ranks than for others")
        places = range(len(self._numbers))[self._own]
        self.own = {at: PartitionLane(self._source, part, self._values)
                    for at, part in zip(places, self._parts, strict=True)}  # fmt: skip
        self.number = len(self._numbers)
        return True

    def read(self) -> None:
        """Read messages of the partitions of this rank."""
        if self._parts:
            self._source._fill(self._log, self._parts, self._full, self._values)

    def first(self, at: int) -> Any:
        """Return the time of the first message of a partition that can be read, and what it says of all messages."""
        part = self.own[at].part
        rows = zip(part.ticks.tolist(), part.rows, strict=True)
        return next(((ticks, self._values.said(row)) for ticks, row in rows if type(row) is not Refused), None)

    def hear(self, told: Any) -> None:
        """Take over what the first message of all partitions says."""
        self._values.hear(told)

    def position(self, lanes: Sequence[Any], turns: Any) -> Any:
        """Return a position of :class:`Broker`."""
        afters, ends = (dict(zip(self._numbers, each, strict=True)) for each in zip(*lanes, strict=True))
        return afters, turns, self._values.kinds, None if self._source.live else ends

    def close(self) -> None:
        """Disconnect."""
        self._log.close()


def lost(place: str, there: Any, position: Any, what: str) -> RequirementError:
    """Return the error that messages between a position and what is there are gone; ``what`` says how."""
    reason = f"{what}: a checkpoint in another folder begins with what is there"
    return RequirementError(f"{place} begins at {there}, and reading was to go on at {position}: {reason}")
