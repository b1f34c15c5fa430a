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
    late: int = 0
    skipped: int = 0
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
        """Take events (time, source, destination, weight, kind), one after the other."""
        closed = None
        for event in events:
            time = event[0]
            if None not in (self.ahead, self.watermark) and time > self.watermark + self.ahead:
                self.skipped += 1
            elif closed is not None and time < closed:
                self.late += 1
            else:
                self.accepted.append(event)
                mark = time - self.lateness
                self.watermark = mark if self.watermark is None else max(self.watermark, mark)
                if closed is None and self.watermark >= self.after(min(each[0] for each in self.accepted)):
                    closed = min(each[0] for each in self.accepted)
                if closed is not None:
                    closed = max(closed, self.after(self.watermark) - self.slide)
                    self.close(closed, None)
        if self.accepted and not self.hold:
            limit = self.after(max(each[0] for each in self.accepted))
            self.close(limit, limit)
        return self.shown

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
        self.shown.append(Shown(end, len(entering), left, taken, unmatched, partial, edges, dict(self.ids)))

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
