"""Workloads on logs of events (``su.Events``): bulk loads, appends, slides, and samples of trees.

The events are those of an input, in order of time, again and again; each round is later than the one before. Whatever
their names, the argument of ``action`` is what ``prepare`` returned for the repeat, and the arguments of ``check`` and
``restore`` are that and what ``action`` returned.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.bench import constants
from suricate.bench.fixtures import Fixture
from suricate.bench.logs.turns import ByTurns
from suricate.bench.verify.edges import expect
from suricate.bench.workloads.base import FixtureTask
from suricate.events import Events

Arrays = tuple[Any, ...]
LOG = "su.Events"  #: what rows of logs have in place of a backend


class LogTask(FixtureTask):
    """Base of the tasks on a log that has all events of an input.

    Args:
        fixture: input and device.
        batch: number of events of a batch, or None.
        over: which end's rows an event is in, ``"in"`` or ``"out"``.
        words: further texts for the detail of the row.
    """

    oracle = "the events as they were given"

    def __init__(self, fixture: Fixture, batch: int | None = None, over: str = "in", *words: str) -> None:
        super().__init__(fixture, batch)
        self.backend, self.options, self.setting, self.hints = LOG, {}, "", False
        self.over, self.live, self.bytes = over, len(fixture.data.src), dict[str, float]()
        self.detail = ", ".join((f"over {over!r}", *words))

    def events(self, begin: int, end: int) -> Arrays:
        """Return times, sources and destinations of the events ``begin`` to ``end - 1``, on the host."""
        data = self.fixture.data
        time = np.arange(self.live) if data.time is None else data.time
        rounds, at = np.divmod(np.arange(begin, end), self.live)
        return time[at] + rounds * (time[-1] - time[0] + 1), data.src[at], data.dst[at]

    def uploaded(self, begin: int, end: int) -> Arrays:
        """Return the same on the device."""
        return tuple(map(self.device.xp.asarray, self.events(begin, end)))

    def new_log(self) -> Events:
        """Return a log without events."""
        return Events(self.fixture.data.num_vertices, device=self.device, over=self.over)

    def setup(self) -> None:
        """Make a log of all events."""
        self.log: Any = self.new_log()
        self.log.append(*self.events(0, self.live))

    def verify(self, log: Events, begin: int, end: int) -> None:
        """Verify that ``log`` has the events ``begin`` to ``end - 1``, in order by number and by vertex."""
        expect((log.first, log.next, len(log)) == (begin, end, end - begin), "the log has other numbers")
        given, numbers = self.events(begin, end), np.arange(begin, end)
        for name, values in zip(("time", "src", "dst"), given, strict=True):
            expect(np.array_equal(self.device.to_numpy(log.at(name, numbers)), values), f"the log's {name} is wrong")
        src, dst, number = map(self.device.to_numpy, log.between().arcs())
        expect(np.array_equal(np.sort(number), numbers), "the rows lack an event, or have it twice")
        for values, ends in ((src, given[1]), (dst, given[2])):
            expect(np.array_equal(values, ends[number - begin]), "an event is in the row of another vertex")
        owner = (dst if self.over == "in" else src).astype(np.int64)
        steps = np.diff(owner)
        expect((steps >= 0).all() and (np.diff(number)[steps == 0] > 0).all(), "a row is in another order")

    def note(self, log: Events) -> None:
        """Record the bytes per event of the log, of its record and of the index by vertex."""
        self.bytes = {f"{part}_bytes_per_event": size / len(log) for part, size in log.memory_usage().items()}

    def finish(self) -> None:
        """Drop the log."""
        self.log = None

    def extra(self) -> dict[str, Any]:
        """Return the bytes per event."""
        return dict(self.bytes)


class LogBuild(LogTask):
    """All events enter an empty log at once."""

    workload = "log bulk load"
    does = "append all events to an empty log by one call; bytes per event of record and index"

    def __init__(self, fixture: Fixture, over: str = "in") -> None:
        super().__init__(fixture, None, over)
        self.items = self.live

    def setup(self) -> None:
        """Nothing is shared."""

    def prepare(self) -> Any:
        """Return all events."""
        return self.uploaded(0, self.live)

    def action(self, given: Any) -> Events:
        """Fill a log, rows by vertex included."""
        log = self.new_log()
        log.append(*given)
        _ = log._index.rows
        return log

    def check(self, given: Any, log: Events) -> None:
        """Verify the log."""
        self.verify(log, 0, self.live)
        self.note(log)


class LogAppend(ByTurns, LogBuild):
    """All events enter an empty log, in batches; on the CPU by turns with a plain loop that knows all rows before."""

    workload = "log append"
    does = "append all events to an empty log, batch after batch; on the CPU by turns with a plain loop into known rows"

    def __init__(self, fixture: Fixture, batch: int) -> None:
        LogBuild.__init__(self, fixture)
        self.batch, self.beside = batch, not fixture.device.is_cuda

    def setup(self) -> None:
        """Find where the rows of the plain loop begin."""
        from suricate.bench.logs import plain_appending  # imports Numba

        self.start()
        lengths = np.bincount(self.fixture.data.dst, minlength=self.fixture.data.num_vertices)
        self.plain, self.begin = plain_appending.appended, np.cumsum(lengths) - lengths

    def draw(self) -> list[Arrays]:
        """Return the batches."""
        assert self.batch is not None
        given = self.uploaded(0, self.live)
        return [tuple(part[at : at + self.batch] for part in given) for at in range(0, self.live, self.batch)]

    def ours(self, given: list[Arrays]) -> Events:
        """Append batch after batch; then bring the rows by vertex up to date, where an append does not."""
        log = self.new_log()
        for part in given:
            log.append(*part)
        _ = log._index.rows
        return log

    def other(self, given: list[Arrays]) -> Arrays:
        """Append by the plain loop."""
        return self.plain(given, self.begin)

    def extra(self) -> dict[str, Any]:
        """Return the bytes per event, and the seconds by turns."""
        return {**super().extra(), **self.compared()}


class LogSlide(LogTask):
    """``batch`` events are appended, as many leave, and the rows by vertex are brought up to date."""

    workload = "log slide"
    does = "append events, expire as many, bring the rows by vertex up to date; bytes per event of record and index"

    def __init__(self, fixture: Fixture, batch: int, over: str = "in") -> None:
        super().__init__(fixture, min(batch, len(fixture.data.src)), over)
        self.items = self.batch or 0
        self.verified_repeats = constants.VERIFIED_SLIDES

    def events(self, begin: int, end: int) -> Arrays:
        """Return events whose times are their numbers, so that as many leave as enter."""
        return np.arange(begin, end), *super().events(begin, end)[1:]

    def prepare(self) -> Arrays:
        """Return the events that enter."""
        return self.uploaded(self.log.next, self.log.next + self.items)

    def action(self, entering: Arrays) -> None:
        """Slide."""
        log = self.log
        log.append(*entering)
        log.expire(log.next - self.live)
        _ = log._index.rows

    def check(self, entering: Arrays, result: None) -> None:
        """Verify the log."""
        self.verify(self.log, self.log.next - self.live, self.log.next)

    def finish(self) -> None:
        """Verify the log after the last slide; drop it."""
        self.check((), None)
        self.note(self.log)
        self.log = None

    def traffic(self) -> int | None:
        """Return 16 bytes per live event, 32 per entering one, and 32 per vertex."""
        return 16 * self.live + 32 * self.items + 32 * self.fixture.data.num_vertices


class LogSingles(LogSlide):
    """Events are appended one by one to a log that has all events; as many leave, untimed."""

    workload = "log single appends"
    does = "append events to a full log, one by one"

    def __init__(self, fixture: Fixture, over: str = "in") -> None:
        super().__init__(fixture, constants.SINGLE_EVENTS, over)
        self.batch = 1

    def action(self, entering: Arrays) -> None:
        """Append."""
        append, (time, src, dst) = self.log.append, entering
        for at in range(self.items):
            append(time[at : at + 1], src[at : at + 1], dst[at : at + 1])

    def check(self, entering: Arrays, result: None) -> None:
        """Verify the log, with the events that are to leave."""
        self.verify(self.log, self.log.first, self.log.next)

    def restore(self, entering: Arrays, result: None) -> None:
        """Let as many events leave."""
        self.log.expire(self.log.next - self.live)

    def traffic(self) -> None:
        """Return None: what counts are the calls."""


class LogSample(ByTurns, LogTask):
    """Trees are sampled of ``count`` destinations of events at their times, as graph networks are trained on them.

    The rate is that of edges, were all of them there. On the CPU a plain loop draws the same trees by turns.
    """

    workload, oracle = "log sample", "a plain loop over contiguous rows"
    does = (
        "sample trees of events; on the CPU by turns with a plain Numba loop, over contiguous rows, that draws the same"
    )

    def __init__(self, fixture: Fixture, count: int, fan: list[int], take: str) -> None:
        LogTask.__init__(self, fixture, count, "in", f"{fan}, {take}")
        self.fan, self.take, self.beside = fan, take, not fixture.device.is_cuda
        self.items = count * int(np.cumprod(fan).sum())

    def setup(self) -> None:
        """Make the log, and the contiguous rows."""
        from suricate.bench.logs import plain_sampling  # imports Numba

        super().setup()
        self.start()
        self.rng, self.time = self.fixture.rng("roots", self.batch), self.events(0, self.live)[0]
        data, self.plain = self.fixture.data, plain_sampling.sampled
        self.rows = plain_sampling.rows_of(data.src, data.dst, data.num_vertices)

    def draw(self) -> Arrays:
        """Return roots and times, on the device and on the host."""
        pick = self.rng.integers(0, self.live, self.batch)
        host = self.fixture.data.dst[pick], self.time[pick]
        return *map(self.device.xp.asarray, host), *host

    def ours(self, given: Arrays) -> Any:
        """Sample."""
        return self.log.sample(given[0], self.fan, at=given[1], take=self.take)

    def other(self, given: Arrays) -> Arrays:
        """Sample by the plain loop."""
        roots, at = given[2:]
        return self.plain(self.rows, self.time, roots, at, self.fan, self.take)

    def check(self, given: Arrays, sample: Any) -> None:
        """Compare the trees with those of the plain loop."""
        for name, values in zip(("node", "row", "col", "event", "time", "batch"), self.other(given), strict=True):
            expect(np.array_equal(self.device.to_numpy(getattr(sample, name)), values), f"{name} of the trees is wrong")

    def extra(self) -> dict[str, Any]:
        """Return the seconds by turns."""
        return self.compared()
