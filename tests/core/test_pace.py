"""What trackers learn from how long their batches took, with a clock that says what it is told; and real clocks."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate.clock import HostClock, clock_on
from suricate.devices import resolve_device
from suricate.notice import compiling
from suricate.pace import CALM, CLEAR, FAST, LOSSES, PATIENCE, REACH, SLACK, Pace

ARCS, BOUND = 10_000, 100.0
KIND = (False, True)


class FakeClock:
    """A clock whose spans have the length that is told."""

    def __init__(self) -> None:
        self.running, self.length, self.started = False, None, 0

    def start(self) -> bool:
        assert not self.running
        self.running, self.length = True, None
        self.started += 1
        return True

    def stop(self) -> None:
        assert self.running
        self.running = False

    def seconds(self) -> float | None:
        return self.length


class Timed:
    """A pace, and batches that take so long."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.pace = Pace(resolve_device("cpu"), self.clock)

    def batch(
        self, size: float, update: float, compute: float = 1.0, *, kind: tuple[bool, ...] = KIND, arcs: int = ARCS
    ) -> str:
        answer = self.pace.outweighs(kind, size, BOUND, arcs)
        if self.clock.running:
            self.pace.finish()
            self.clock.length = compute if answer else update
        return "compute" if answer else "update"


def test_small_batches_are_neither_timed_nor_computed() -> None:
    timed = Timed()
    assert [timed.batch(BOUND / 8, 5.0) for _ in range(5)] == ["update"] * 5
    assert timed.clock.started == 0


def test_a_time_to_compare_with_comes_first() -> None:
    timed = Timed()
    assert [timed.batch(50, 0.1) for _ in range(4)] == ["compute", "update", "update", "update"]
    assert timed.batch(50, 0.1, arcs=3 * ARCS) == "compute", "the graph is another one now"
    assert timed.batch(50, 0.1, arcs=3 * ARCS) == "update"


def test_what_lost_twice_is_computed_anew_for_a_while() -> None:
    timed = Timed()
    timed.batch(50, 0)
    assert [timed.batch(50, 2.0) for _ in range(3)] == ["update", "compute", "update"], "a computation in between"
    for patience in (PATIENCE, 2 * PATIENCE, 4 * PATIENCE):
        assert [timed.batch(50, 2.0) for _ in range(patience)] == ["compute"] * patience
        assert timed.batch(20, 0.1) == "update", "smaller ones have not lost"
        assert timed.batch(50, 2.0) == "update", "one is tried again"
    assert timed.batch(50, 2.0, kind=(True, False)) == "update", "of another kind nothing is known"
    assert [timed.batch(50, 0.1) for _ in range(8 * PATIENCE + 3)][-3:] == ["update"] * 3


def test_one_loss_is_an_accident() -> None:
    timed = Timed()
    timed.batch(50, 0)
    assert timed.batch(50, 2.0) == "update"
    assert timed.batch(50, 0.1) == "compute", "does it still take as long?"
    assert [timed.batch(50, 0.1) for _ in range(20)] == ["update"] * 20


def test_computations_for_their_time_alone_are_told_apart() -> None:
    timed, large = Timed(), REACH * BOUND + 1

    def comparing(size: float, update: float = 0.1) -> bool:
        assert timed.batch(size, update) == "compute"
        return timed.pace.comparing

    assert comparing(50), "the first one"
    assert not comparing(large), "too large to try"
    assert timed.batch(50, 2.0) == "update"
    assert comparing(50), "does it still take as long?"
    assert timed.batch(50, 2.0) == "update"
    assert not comparing(50), "updates lost"


def test_large_batches_lose_at_once_only_by_far() -> None:
    for seconds, answers in ((1.5, ["compute", "update", "update"]), (2 * CLEAR, ["compute", "compute", "compute"])):
        timed = Timed()
        timed.batch(50, 0)
        assert timed.batch(2 * BOUND, seconds) == "update"
        assert [timed.batch(2 * BOUND, 0.1) for _ in range(3)] == answers


def test_sizes_above_the_share_are_tried() -> None:
    timed = Timed()
    timed.batch(50, 0)
    assert timed.batch(REACH * BOUND + 1, 0.1) == "compute", "too large to try"
    assert [timed.batch(size, 0.1) for size in (700, 1400, 2900, 2500)] == ["update", "update", "compute", "update"]
    assert timed.batch(2600, 3.0) == "update"
    assert [timed.batch(size, 3.0) for size in (2600, 3000, 2500, 1200)] == ["compute", "compute", "update", "update"]


def test_few_updates_of_sizes_that_won_are_timed() -> None:
    timed = Timed()
    timed.batch(50, 0)
    assert [timed.batch(50, 0.1) for _ in range(2 + 3 * CALM)] == ["update"] * (2 + 3 * CALM)
    assert timed.clock.started == 2 + 3
    answers = [timed.batch(50, 2.0) for _ in range(4 * CALM)]
    assert "compute" in answers
    assert answers.index("compute") <= (LOSSES + 1) * CALM


def test_a_computation_is_timed_again_where_updates_barely_win() -> None:
    """It takes less by now, as on a grid after the first edges across it: updates lose, and larger ones as well."""
    timed = Timed()
    assert timed.batch(50, 0, 11.0) == "compute"
    assert [timed.batch(50, 11.5, 5.0) for _ in range(3)] == ["update", "compute", "update"]
    assert [timed.batch(50, 11.5, 5.0) for _ in range(PATIENCE - 1)] == ["compute"] * (PATIENCE - 1)
    assert timed.batch(500, 4.4, 3.6) == "compute"
    assert timed.batch(500, 4.4, 3.6) == "update", "tried again"
    assert timed.batch(500, 4.4, 3.6) == "compute"
    assert timed.batch(20, 0.1) == "update", "smaller ones have not lost"


def test_where_updates_still_win_computations_are_timed_less_and_less() -> None:
    timed = Timed()
    timed.batch(50, 0)
    answers = [timed.batch(50, 0.5) for _ in range(100)]
    assert [at for at, answer in enumerate(answers) if answer == "compute"] == [2, 11, 32, 53, 74, 95]
    assert [timed.batch(50, FAST) for _ in range(400)] == ["update"] * 400


def test_a_computation_that_gets_faster_is_timed_as_often_as_at_first() -> None:
    timed = Timed()
    timed.batch(50, 0)
    assert [timed.batch(50, 0.5) for _ in range(31)].count("compute") == 2
    assert [timed.batch(50, 0.5, 0.75) for _ in range(24)].count("compute") == 4, "seen at once, and soon again"


STREAMS = {  # what a computation and an update take, batch by batch; the last one stays
    "a third, for good": ([1.0], [0.32]),
    "close, for good": ([1.0], [0.9]),
    "slower, for good": ([1.0], [3.0]),
    "grid, 1,000 edges": ([15.0, 8.0, 5.0, 4.4], [13.0, 9.0, 7.0, 6.0]),
    "grid, 10,000 edges": ([15.0, 4.4], [7.1]),
    "slow at first": ([5.0, 1.0], [1.8]),
    "faster later": ([10.0] * 150 + [2.0], [3.5]),
    "slower later": ([1.0], [0.1] * 150 + [2.0]),
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_takes_little_longer_than_the_better_of_both(name: str) -> None:
    timed, taken, batches = Timed(), [], 400
    computes, updates = (part + part[-1:] * (batches - len(part)) for part in STREAMS[name])
    for compute, update in zip(computes, updates, strict=True):
        answer = timed.batch(50, update, compute)
        taken.append(compute if answer == "compute" else update)
    assert sum(taken) <= SLACK * min(sum(computes), sum(updates))
    assert np.median(taken[:10]) <= SLACK * min(np.median(computes[:10]), np.median(updates[:10]))


def test_what_is_done_once_does_not_count() -> None:
    timed = Timed()
    timed.batch(50, 0)
    for _ in range(3):
        assert not timed.pace.outweighs(KIND, 50, BOUND, ARCS)
        timed.pace.discard()
        timed.pace.finish()
        timed.clock.length = 9.0
    assert timed.batch(50, 0.1) == "update"


def test_a_time_that_is_not_known_yet_changes_nothing() -> None:
    timed = Timed()
    timed.batch(50, 0)
    timed.clock.length = None
    assert [timed.batch(50, 0.1) for _ in range(3)] == ["compute"] * 3
    assert timed.clock.started == 1
    timed.clock.length = 1.0
    assert timed.batch(50, 0.1) == "update"


def test_a_span_with_a_compilation_does_not_count() -> None:
    timed = Timed()
    timed.batch(50, 0, compute=0.0)
    assert timed.batch(50, 0.1) == "compute"
    assert [timed.batch(50, 0.0) for _ in range(9)] == ["update"] * 9


@pytest.mark.parametrize("loses", [False, True])
def test_trackers_learn(device: su.Device, loses: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Breadth-first search of batches of half its share: computed once, then updated; where that loses, computed."""
    clock = FakeClock()
    monkeypatch.setattr("suricate.pace.clock_on", lambda _: clock)
    graph = su.Graph(2000, device=device, directed=False)
    rng = np.random.default_rng(1)
    graph.insert_edges(*rng.integers(0, 2000, (2, 20_000)))
    tracker, done = graph.track("bfs", source=0), []
    compute = type(tracker.algorithm).compute
    monkeypatch.setattr(type(tracker.algorithm), "compute", lambda *args: done.append("compute") or compute(*args))
    for _ in range(6):
        before = len(done)
        graph.insert_edges(*rng.integers(0, 2000, (2, 100)))
        assert not clock.running
        clock.length = 1.0 if len(done) > before else 2.0 if loses else 0.1
    assert len(done) == (1 if not loses else 4)
    fresh = su.plugins.algorithm("bfs")()
    fresh.compute(graph)
    assert (tracker.result.level == fresh.result.level).all()
    tracker.close()


def test_a_failed_update_ends_its_span(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeClock()
    monkeypatch.setattr("suricate.pace.clock_on", lambda _: clock)
    graph = su.Graph(2000, device="cpu", directed=False)
    graph.insert_edges(np.arange(1999), np.arange(1999) + 1)
    tracker = graph.track("bfs", source=0)

    def fails(*args: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(type(tracker.algorithm), "compute", fails)
    with pytest.raises(MemoryError):
        graph.insert_edges(np.arange(30), np.arange(30) + 9)
    assert clock.started == 1
    assert not clock.running


# -- clocks ------------------------------------------------------------------------------------------------------------


def test_the_clock_of_a_device(device: su.Device) -> None:
    clock = clock_on(device)
    assert clock.seconds() == 0
    for _ in range(3):
        assert clock.start()
        device.synchronize()  # a device that others use as well may begin the span late
        assert device.is_cuda or clock.seconds() is None
        time.sleep(0.002)
        clock.stop()
        device.synchronize()
        assert 0.002 <= clock.seconds() < 1 or clock.seconds() == 0  # 0: the first launch compiles
    assert clock.seconds() > 0


def test_a_compilation_spoils_a_span() -> None:
    clock = HostClock()
    clock.start()
    with compiling():
        time.sleep(0.001)
    clock.stop()
    assert clock.seconds() == 0


@pytest.mark.gpu
def test_a_span_is_over_when_the_device_is_done() -> None:
    import cupy

    device = resolve_device("cuda")
    clock, x = clock_on(device), cupy.ones(1 << 26)
    for _ in range(3):
        assert clock.start()
        for _ in range(50):
            x += 1
        clock.stop()
        assert clock.seconds() is None
        assert not clock.start()
        device.synchronize()
        assert clock.seconds() > 1e-3
