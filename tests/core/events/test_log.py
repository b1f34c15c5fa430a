"""``su.Events`` against plain lists: what is appended, expires and is found by vertex."""

from __future__ import annotations

import numpy as np
import pytest

import suricate as su
from suricate.base.devices import Device

NUMBERS = (0, (1 << 32) - 40)  #: the first events get these numbers
OVER = ("in", "out", "both")


def starting_at(number: int, num_vertices: int, **options: object) -> su.Events:
    """Return an empty log whose first event gets ``number``."""
    log = su.Events(num_vertices, **options)
    log._record.first = log._record.next = number
    return log


def rows_of(log: su.Events) -> list[list[tuple[int, int]]]:
    """The row of each vertex: the other end and the number of each event."""
    begin, end, other, number = map(log.device.to_numpy, log._index.rows)
    first = log._record.first
    return [
        [(int(other[i]), first + (int(number[i]) - first) % (1 << 32)) for i in range(begin[v], end[v])]
        for v in range(len(begin))
    ]


def expected_rows(events: list[tuple[int, int, int, int]], over: str, num_vertices: int) -> list[list[tuple[int, int]]]:
    """The rows of events (number, time, source, destination)."""
    rows: list[list[tuple[int, int]]] = [[] for _ in range(num_vertices)]
    for number, _, u, v in events:
        if over != "in":
            rows[u].append((v, number))
        if over == "in" or (over == "both" and u != v):
            rows[v].append((u, number))
    return rows


@pytest.mark.parametrize("first", NUMBERS)
@pytest.mark.parametrize("over", OVER)
def test_rows_are_those_of_the_events_kept(over: str, first: int, device: Device) -> None:
    log = starting_at(first, 7, over=over, device=device)
    rng, events, now = np.random.default_rng(first % 7), [], 0
    for _ in range(60):
        count = int(rng.integers(0, 30))
        time, src, dst = now + rng.integers(0, 5, count), rng.integers(0, 7, count) ** 2 % 7, rng.integers(0, 7, count)
        numbers = log.append(time, src, dst)
        order = np.argsort(time, kind="stable")
        events += zip(numbers, time[order].tolist(), src[order].tolist(), dst[order].tolist(), strict=True)
        now = max(now, *time.tolist(), 0)
        if rng.random() < 0.4:
            before = now - int(rng.integers(0, 12))
            left = [event for event in events if event[1] >= before]
            assert log.expire(before) == len(events) - len(left)
            events = left
        log._index.check(log._record)
        assert rows_of(log) == expected_rows(events, over, 7)
        assert len(log) == len(events)
