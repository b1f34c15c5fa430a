"""The rule of windows by brute force: plain Python, one event after the other, nothing shared with the library."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


class Event(NamedTuple):
    """An event; ``kind`` is 1 (insert), -1 (delete) or 0 (set)."""

    time: int
    src: int
    dst: int
    weight: float = 1
    kind: int = 1


class Closed(NamedTuple):
    """A slide: its end, the weighted edges of the window, counts of events, and the pairs of the live ones in order."""

    end: int
    edges: dict[tuple[int, int], Any]
    events: int
    late: int
    live: list[tuple[int, int]]


def combined(weights: list[tuple[int, float]], combine: str) -> Any:
    """The weight of an edge from (slide of entry, weight) of its events, oldest first."""
    values = [weight for _, weight in weights]
    if combine == "sum":
        groups: dict[int, Any] = {}
        for slide, weight in weights:
            groups[slide] = groups.get(slide, 0) + weight
        total = 0
        for part in groups.values():
            total = total + part
        return total
    return {"last": values[-1], "first": values[0], "count": len(values), "min": min(values), "max": max(values)}[
        combine
    ]


def model(
    events: Iterable[Event],
    *,
    size: int | None,
    slide: int,
    lateness: int = 0,
    origin: int = 0,
    combine: str = "last",
    directed: bool = True,
) -> list[Closed]:
    """Every slide in which an event enters or a live one leaves, and those that the end of the source closes."""
    taken: list[Event] = []
    watermark: int | None = None
    closed_up_to: int | None = None
    result: list[Closed] = []
    done: list[int] = []
    late = 0

    def ceiling(time: int) -> int:
        end = origin
        while end <= time:
            end += slide
        while end - slide > time:
            end -= slide
        return end

    def close(limit: int) -> None:
        if not taken:
            return
        end = ceiling(min(event.time for event in taken)) if not done else done[-1] + slide
        while end <= limit:
            before = live(taken, done[-1], size, combine, done)[1] if done else []
            after = live(taken, end, size, combine, [*done, end])
            entered = sum(1 for e in taken if e.time < end and (not done or e.time >= done[-1]))
            gone = [i for i in before if size is not None and taken[i].time < end - size]
            done.append(end)
            if entered or gone:
                edges = {}
                for (u, v), weights in after[0].items():
                    edges[u, v] = combined(weights, combine)
                pairs = [(taken[place].src, taken[place].dst) for place in sorted(after[1])]
                result.append(Closed(end, edges, entered, late, pairs))
            end += slide

    for event in events:
        if closed_up_to is not None and event.time < closed_up_to:
            late += 1
            continue
        u, v = event.src, event.dst
        if not directed and u > v:
            event = event._replace(src=v, dst=u)
        taken.append(event)
        taken.sort(key=lambda e: e.time)  # stable: equal times stay in the order of arrival
        mark = event.time - lateness
        watermark = mark if watermark is None else max(watermark, mark)
        if closed_up_to is None and watermark >= ceiling(taken[0].time):
            closed_up_to = taken[0].time
        if closed_up_to is not None:
            closed_up_to = max(closed_up_to, ceiling(watermark) - slide)
            close(watermark)
    if taken:
        close(ceiling(max(event.time for event in taken)))
    return result


def live(taken: list[Event], end: int, size: int | None, combine: str, ends: list[int]) -> tuple[dict, list[int]]:
    """The live events by edge, and their places among ``taken``, at an end: what has left takes no part."""
    found: dict[tuple[int, int], list[tuple[int, float]]] = {}
    places: dict[tuple[int, int], list[int]] = {}
    for place, event in enumerate(taken):
        if event.time >= end:
            continue
        pair = event.src, event.dst
        entered = next(number for number, e in enumerate(ends) if event.time < e)
        if event.kind == -1:
            if found.get(pair):
                found[pair].pop()
                places[pair].pop()
            continue
        if event.kind == 0:
            found[pair], places[pair] = [], []
        found.setdefault(pair, []).append((entered, event.weight))
        places.setdefault(pair, []).append(place)
    if size is not None:
        for pair in found:
            keep = [taken[place].time >= end - size for place in places[pair]]
            found[pair] = [each for each, stays in zip(found[pair], keep, strict=True) if stays]
            places[pair] = [each for each, stays in zip(places[pair], keep, strict=True) if stays]
    edges = {pair: weights for pair, weights in found.items() if weights}
    return edges, [place for each in places.values() for place in each]
