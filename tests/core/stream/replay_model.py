"""A second model of the rule of windows: keeps the live events, slide by slide, with all counters and ids of names."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Shown(NamedTuple):
    """What a slide shows."""

    end: int
    events: int
    left: int
    taken: int
    unmatched: int
    partial: bool
    late: int
    skipped: int
    lag: int
    edges: dict[tuple[Any, Any], Any]
    ids: dict[Any, int]


class Live(NamedTuple):
    """A live event; ``ends`` as it came, ``pair`` as the graph has it."""

    time: int
    place: int
    ends: tuple[Any, Any]
    pair: tuple[Any, Any]
    weight: int


@dataclass
class Replay:
    """The rule, with times as plain integers; counts and steps are times, too (``lateness=-1`` for counts)."""

    size: int | None
    slide: int
    lateness: int = 0
    origin: int = 0
    ahead: int | None = None
    combine: str = "last"
    directed: bool = True
    every: bool = False
    hold: bool = False
    keep: bool = False
    late: list[int] = field(default_factory=list)  # the newest end that had closed when each of them was refused
    skipped: list[int] = field(default_factory=list)
    doubted: list[tuple] = field(default_factory=list)
    open: int = 0
    followed: int = 0
    closed: int = -(10**9)
    accepted: list[tuple] = field(default_factory=list)
    live: list[Live] = field(default_factory=list)
    done: int = -(10**9)
    watermark: int | None = None
    last: int | None = None
    ids: dict[Any, int] = field(default_factory=dict)
    free: list[int] = field(default_factory=list)
    given: int = 0
    shown: list[Shown] = field(default_factory=list)

    def run(self, events: Sequence[tuple]) -> list[Shown]:
        """Take events (time, source, destination, weight, kind), one after the other; insertions need a weight."""
        for event in events:
            before, self.open = len(self.shown), self.closed
            if event[3] is None and event[4] >= 0:
                self.skipped.append(self.open)
            else:
                self.judge(event)
                self.believe(max(2, min(self.followed, 10)))
            self.lags(before)
        before, self.open = len(self.shown), self.closed
        if not self.hold:
            self.believe(1 if self.watermark is None else 2)
            self.believe(2)
            self.skipped += [self.open] * len(self.doubted)
            self.lags(before)
        if self.accepted and not self.hold:
            limit = self.after(max(each[0] for each in self.accepted))
            self.close(limit, limit)
        return [
            each._replace(
                late=sum(open_ < each.end for open_ in self.late),
                skipped=sum(open_ < each.end for open_ in self.skipped),
            )
            for each in self.shown
        ]

    def lags(self, before: int) -> None:
        """Complete the slides from number ``before`` on, which the newest event has closed."""
        newest = max((each[0] for each in self.accepted), default=0)
        self.shown[before:] = [each._replace(lag=max(newest - each.end, 0)) for each in self.shown[before:]]

    def judge(self, event: tuple) -> None:
        time = event[0]
        if self.ahead is not None and (self.watermark is None or time > self.watermark + self.ahead):
            self.doubted.append(event)
        elif time < self.closed:
            self.late.append(self.open)
        else:
            self.skipped += [self.open] * len(self.doubted)
            self.doubted, self.followed = [], self.followed + 1
            self.accepted.append(event)
            self.reach(time)

    def believe(self, needed: int) -> None:
        """Set the clock by the oldest of the events in doubt, as long as so many are."""
        while len(self.doubted) >= needed:
            waiting, self.doubted, self.followed = self.doubted, [], 0
            self.reach(min(event[0] for event in waiting))
            for event in waiting:
                self.judge(event)
            needed = max(2, min(self.followed, needed))

    def reach(self, time: int) -> None:
        mark = time - self.lateness
        self.watermark = mark if self.watermark is None else max(self.watermark, mark)
        first = min((each[0] for each in self.accepted), default=None)
        if first is not None and self.watermark >= self.after(first):
            self.closed = max(self.closed, self.after(self.watermark) - self.slide)
            self.close(self.closed, None)

    def after(self, time: int) -> int:
        return self.origin + ((time - self.origin) // self.slide + 1) * self.slide

    def close(self, due: int, limit: int | None) -> None:
        while True:
            ends = [self.after(each[0]) for each in self.accepted if each[0] >= self.done]
            if self.size is not None:
                ends += [self.after(each.time + self.size) for each in self.live]
            if self.every and self.last is not None:
                ends.append(self.last + self.slide)
            if not ends or min(ends) > due:
                return
            self.last = min(ends)
            self.step(self.last, limit == self.last and self.watermark < self.last)

    def step(self, end: int, partial: bool) -> None:
        before = len(self.live)
        self.live = [each for each in self.live if self.size is None or each.time >= end - self.size]
        left = before - len(self.live)
        entering = sorted((event[0], place, event) for place, event in enumerate(self.accepted)
                          if self.done <= event[0] < end)  # fmt: skip
        taken = unmatched = 0
        for time, place, (_, u, v, weight, kind) in entering:
            pair = (u, v) if self.directed else tuple(sorted((u, v)))
            same = [each for each in self.live if each.pair == pair]
            if kind < 1:
                unmatched += not same
                gone = same[-1:] if kind < 0 else same
                taken += len(gone)
                self.live = [each for each in self.live if each not in gone]
            if kind >= 0:
                self.live.append(Live(time, place, (u, v), pair, weight))
        self.done = end
        self.name()
        weights: dict[tuple, list[int]] = {}
        for each in self.live:
            weights.setdefault(each.pair, []).append(each.weight)
        edges = {pair: combined(values, self.combine) for pair, values in weights.items()}
        self.shown.append(Shown(end, len(entering), left, taken, unmatched, partial, 0, 0, 0, edges, dict(self.ids)))

    def name(self) -> None:
        """Give ids to new names in the order of their first live event; free those of names without events."""
        for each in sorted(self.live, key=lambda each: (each.time, each.place)):
            for name in each.ends:
                if name not in self.ids:
                    self.ids[name] = heapq.heappop(self.free) if self.free else self.given
                    self.given += self.ids[name] == self.given
        alive = {name for each in self.live for name in each.ends}
        for name in [] if self.keep else [name for name in self.ids if name not in alive]:
            heapq.heappush(self.free, self.ids.pop(name))


def combined(values: list[int], combine: str) -> int:
    if combine in ("last", "first"):
        return values[-1 if combine == "last" else 0]
    return {"sum": sum, "count": len, "min": min, "max": max}[combine](values)
