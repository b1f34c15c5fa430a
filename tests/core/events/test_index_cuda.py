"""The index of events on CUDA against lists of Python: merges, expiry, removals, numbers past 2^32, memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from suricate.base.devices import resolve_device
from suricate.errors import CapacityError
from suricate.events import index_cuda
from suricate.events.index_cuda import CudaIndex
from suricate.events.record import Record
from suricate.testing import measure

pytestmark = [pytest.mark.gpu, pytest.mark.plain]
LOW = (1 << 32) - 1


def allow(_: int) -> None:
    """Let every allocation be."""


class Model:
    """Events by number, and the rows that they make."""

    def __init__(self, over: str, first: int) -> None:
        self.over, self.first, self.next = over, first, first
        self.events: dict[int, tuple[int, int]] = {}

    def append(self, src: np.ndarray, dst: np.ndarray) -> None:
        for number, ends in enumerate(zip(src.tolist(), dst.tolist(), strict=True), self.next):
            self.events[number] = ends
        self.next += len(src)

    def expire(self, upto: int) -> None:
        self.events = {number: ends for number, ends in self.events.items() if number >= upto}
        self.first = upto

    def rows(self, num_vertices: int) -> list[list[tuple[int, int]]]:
        rows: list[list[tuple[int, int]]] = [[] for _ in range(num_vertices)]
        for number, (u, v) in self.events.items():
            if self.over != "in":
                rows[u].append((v, number & LOW))
            if self.over == "in" or (self.over == "both" and u != v):
                rows[v].append((u, number & LOW))
        return rows


def rows_of(index: CudaIndex) -> list[list[tuple[int, int]]]:
    begin, end, other, number = (part.get().tolist() for part in index.rows)
    return [list(zip(other[lo:hi], number[lo:hi], strict=True)) for lo, hi in zip(begin, end, strict=True)]


class Log:
    """An index and its model, which change together."""

    def __init__(self, over: str, num_vertices: int, first: int = 0, admit: Any = allow) -> None:
        self.device = resolve_device("cuda")
        self.index, self.model = CudaIndex(self.device, over, num_vertices, admit), Model(over, first)
        self.num_vertices, self.record = num_vertices, Record(self.device)
        self.record.first = self.record.next = first

    def write(self, src: Any, dst: Any) -> tuple[Any, Any]:
        """Write events to the record, behind the last one."""
        put = self.device.xp.asarray
        ends = put(np.asarray(src, np.uint32)), put(np.asarray(dst, np.uint32))
        self.record.reserve(len(ends[0]), allow)
        self.record.write({"src": ends[0], "dst": ends[1]})
        return ends

    def append(self, src: Any, dst: Any) -> None:
        self.write(src, dst)
        self.index.enter(self.record, self.record.next, self.record.next + len(src))
        self.model.append(np.asarray(src, np.uint32), np.asarray(dst, np.uint32))
        self.record.next = self.model.next

    def expire(self, upto: int) -> None:
        self.index.expire(self.record, upto)
        self.record.leave(upto)
        self.model.expire(upto)

    def remove(self, given: np.ndarray) -> None:
        numbers = sorted(given.tolist())
        ends = [self.model.events.pop(number) for number in numbers]
        src, dst = (self.device.xp.asarray(np.array(part, np.uint32)) for part in zip(*ends, strict=True))
        self.index.remove(src, dst, self.device.xp.asarray(np.array(numbers, np.int64)), self.model.first)

    def check(self) -> None:
        assert rows_of(self.index) == self.model.rows(self.num_vertices)


@pytest.mark.parametrize("over", ["in", "out", "both"])
@pytest.mark.parametrize(("num_vertices", "most"), [(1, 70), (5, 300), (700, 2500), (3000, 900)])
def test_rows(over: str, num_vertices: int, most: int) -> None:
    """Random appends, expiries and removals, now and then looked at; numbers pass 2^32."""
    rng, log = np.random.default_rng(num_vertices), Log(over, num_vertices, (1 << 32) - 2 * most)
    for step in range(14):
        what = rng.integers(6)
        live = sorted(log.model.events)
        if what < 3 or not live:
            count = int(rng.integers(most))
            log.append(*(num_vertices * rng.random((2, count)) ** 3).astype(np.uint32))
        elif what < 5:
            log.expire(int(rng.integers(log.model.first, log.model.next + 1)))
        else:
            log.remove(rng.choice(live, int(rng.integers(1, min(len(live), 40) + 1)), replace=False))
        if step % 3 == 0:
            log.check()
    log.check()


def test_between() -> None:
    rng, log = np.random.default_rng(5), Log("in", 20, (1 << 32) - 300)
    log.append(*rng.integers(0, 20, (2, 500)))
    log.expire((1 << 32) - 250)
    rows = log.model.rows(20)
    for low, high in ((0, 1 << 40), ((1 << 32) - 280, (1 << 32) - 100), ((1 << 32) - 20, (1 << 32) + 30), (3, 5)):
        begin, end = (part.get() for part in log.index.between(low, high))
        number = log.index.rows.number.get()
        named = range(max(low, log.model.first), min(high, log.model.next))
        wanted = [[name for _, name in row if name in {number & LOW for number in named}] for row in rows]
        assert [number[lo:hi].tolist() for lo, hi in zip(begin, end, strict=True)] == wanted


def test_large_shares() -> None:
    """Warps that move several pieces each, of rows from no slot to thousands; then rows that move together."""
    rng, count = np.random.default_rng(3), 120_000
    log = Log("out", 50_000)
    log.append((50_000 * rng.random(count) ** 6).astype(np.uint32), rng.integers(0, 50_000, count))
    log.check()
    log.expire(1000)
    log.append([7, 49_999, 7], [1, 2, 3])
    log.check()
    log.append([3], [4])
    log.check()


def test_vertices_come() -> None:
    log = Log("both", 2)
    log.append([0, 1, 1], [1, 1, 0])
    log.index.add_vertices(3)
    log.num_vertices = 5
    log.append([4, 2], [2, 2])
    log.check()
    log.index.add_vertices(1)
    log.num_vertices = 6
    log.check()


def test_all_leave_and_return() -> None:
    log = Log("in", 3)
    log.append([0, 1, 2], [1, 2, 0])
    log.check()
    log.expire(3)
    log.check()
    log.append([2, 2], [1, 1])
    log.expire(5)  # before the merge
    log.append([0], [1])
    log.check()


def test_withdrawn() -> None:
    log = Log("in", 3)
    log.append([0, 1], [1, 2])
    more = log.write(np.zeros(4), np.zeros(4))
    log.index.enter(log.record, 2, 6)
    log.index.withdraw(*more)
    log.append([2], [2])
    log.check()


def test_copies() -> None:
    log = Log("both", 4)
    log.append([0, 1, 2], [1, 2, 2])
    copy = log.index.copy(allow)
    before = rows_of(copy)
    log.append([3], [3])
    log.expire(1)
    log.check()
    assert rows_of(copy) == before == [[(1, 0)], [(0, 0), (2, 1)], [(1, 1), (2, 2)], []]


def test_lack_of_memory_loses_nothing() -> None:
    allowed = [1 << 20]

    def admit(size: int) -> None:
        if size > allowed[0]:
            raise CapacityError("too much")

    log = Log("in", 4, admit=admit)
    log.append([0, 1, 2], [1, 2, 3])
    allowed[0] = 100
    many = np.zeros(5000, np.uint32)
    with pytest.raises(CapacityError):
        log.append(many, many)
    allowed[0] = 1 << 20
    log.check()
    log.append(many, many)
    log.check()


def test_a_slide_is_one_merge_and_waits_for_nothing() -> None:
    log = Log("in", 100)
    log.append(np.arange(100), np.arange(100))
    log.check()

    def slide() -> None:
        log.index.enter(log.record, log.record.next, log.record.next + 60)
        log.record.next += 60
        log.expire(log.record.first + 60)
        assert log.index.rows is log.index.rows

    log.write(np.arange(60), np.arange(60))
    slide()
    log.write(np.arange(60), np.arange(60))
    costs = measure(slide, log.device)
    assert not costs.waits
    assert costs.kernels == {"launchKernel": 1, "launchCooperativeKernel": 2}  # ids; the sort, the merge


def test_memory_of_a_window_is_flat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_cuda, "LEAST", 16)
    rng, log, found = np.random.default_rng(4), Log("in", 10), []
    for step in range(30):
        log.append(*rng.integers(0, 10, (2, 64)))
        log.expire(max(0, log.model.next - 640))
        if step % 4:
            log.check()
        found.append(log.index.memory)
    assert max(found[15:]) <= 24 * 640 + 32 * 10 + 8 * 64 * 2
