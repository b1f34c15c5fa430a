"""What trackers learn from how long their batches took, with a clock that says what it is told; and real clocks."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import suricate as su
from suricate.base.devices import resolve_device
from suricate.base.notice import compiling
from suricate.plugins.algorithm import LARGE
from suricate.plugins.clock import HostClock, clock_on
from suricate.plugins.pace import CALM, CLEAR, LOSSES, PATIENCE, REACH, SLACK, Pace

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
        answer = self.pace.should_recompute(kind, size, BOUND, arcs)
        if self.clock.running:
            self.pace.finish()
            self.clock.length = compute if answer else update
        return "compute" if answer else "update"

    def computed(self, seconds: float = 1.0) -> None:
        """Compute for another reason than a batch."""
        self.pace.computes(ARCS)
        self.pace.finish()
        self.clock.length = seconds


def test_small_batches_are_neither_timed_nor_computed() -> None:
    timed = Timed()
    assert [timed.batch(BOUND / 8, 5.0) for _ in range(5)] == ["update"] * 5
    assert timed.clock.started == 0


def test_no_batch_is_computed_only_to_be_timed() -> None:
    timed = Timed()
    assert [timed.batch(BOUND, 5.0) for _ in range(50)] == ["update"] * 50
    assert timed.clock.started == 0, "nothing to compare with"
    assert timed.batch(BOUND + 1, 0.1) == "compute", "the declared share decides"
    assert [timed.batch(BOUND + 1, 0.1) for _ in range(50)] == ["update"] * 50, "it was timed"
    assert timed.batch(BOUND + 1, 0.1, arcs=3 * ARCS) == "compute", "the graph is another one now"
    assert timed.batch(BOUND + 1, 0.1, arcs=3 * ARCS) == "update"


def test_computations_for_other_reasons_are_timed() -> None:
    timed = Timed()
    timed.computed()
    assert [timed.batch(size, 0.1) for size in (BOUND + 1, REACH * BOUND, REACH * BOUND + 1)] == ["update"] * 3
    assert timed.batch(2 * REACH * BOUND + 9, 0.1) == "compute", "too large to try"


def test_the_first_computation_of_a_size_that_will_be_updated_is_told_apart() -> None:
    timed = Timed()
    for size, answer, comparing in (
        (REACH * BOUND + 1, "compute", False), (2 * BOUND, "update", False), (REACH * BOUND + 1, "compute", False)
    ):  # fmt: skip
        assert (timed.batch(size, 0.1), timed.pace.comparing) == (answer, comparing)
    assert (timed.batch(2 * BOUND, 0.1, arcs=3 * ARCS), timed.pace.comparing) == ("compute", True)


def test_what_lost_twice_is_computed_from_scratch_for_a_while() -> None:
    timed = Timed()
    timed.computed()
    assert [timed.batch(50, 2.0) for _ in range(2)] == ["update", "update"]
    for patience in (2 * PATIENCE, 4 * PATIENCE, 8 * PATIENCE):
        assert [timed.batch(50, 2.0) for _ in range(patience)] == ["compute"] * patience
        assert timed.batch(20, 0.1) == "update", "smaller ones have not lost"
        assert timed.batch(50, 2.0) == "update", "one is tried again"
    assert timed.batch(50, 2.0, kind=(True, False)) == "update", "of another kind nothing is known"
    assert [timed.batch(50, 0.1) for _ in range(16 * PATIENCE + 3)][-3:] == ["update"] * 3


@pytest.mark.parametrize("slower", [1.5, 4.0, 50.0])
def test_trials_of_what_lost_take_a_small_part_of_the_time(slower: float) -> None:
    timed = Timed()
    timed.computed()
    answers = [timed.batch(2 * BOUND, slower) for _ in range(2000)]
    assert answers.count("update") * (slower - 1) <= LOSSES * slower + 2000 / PATIENCE
    assert "update" in answers[20:], "one is tried again"


def test_one_loss_is_an_accident() -> None:
    timed = Timed()
    timed.computed()
    assert timed.batch(50, 2.0) == "update"
    assert [timed.batch(50, 0.1) for _ in range(20)] == ["update"] * 20


def test_large_batches_lose_at_once_only_by_far() -> None:
    for seconds, answers in ((1.5, ["update", "update", "update"]), (2 * CLEAR, ["compute", "compute", "compute"])):
        timed = Timed()
        timed.computed()
        assert timed.batch(2 * BOUND, seconds) == "update"
        assert [timed.batch(2 * BOUND, 0.1) for _ in range(3)] == answers


def test_sizes_above_the_share_are_tried() -> None:
    timed = Timed()
    timed.computed()
    assert timed.batch(REACH * BOUND + 1, 0.1) == "compute", "too large to try"
    assert [timed.batch(size, 0.1) for size in (700, 1400, 2900, 2500)] == ["update", "update", "compute", "update"]
    assert timed.batch(2600, 3.0) == "update"
    assert [timed.batch(size, 3.0) for size in (2600, 3000, 2500, 2300)] == ["compute"] * 3 + ["update"]


def give_up(timed: Timed, size: float) -> None:
    assert timed.batch(size, 1.3) == "update"
    timed.pace.gave_up()


def test_sizes_at_which_updates_give_up_are_not_tried_again_soon() -> None:
    """Whether or not a computation was timed; batches of about that size, and larger ones, are computed at once."""
    timed = Timed()
    for _ in range(LOSSES):
        give_up(timed, 60)
    assert [timed.batch(size, 1.3) for size in (60, 57, 90, 20)] == ["compute"] * 3 + ["update"]
    assert [timed.batch(60, 1.3) for _ in range(PATIENCE - 3)] == ["compute"] * (PATIENCE - 3)
    give_up(timed, 60)
    assert [timed.batch(60, 1.3) for _ in range(2 * PATIENCE + 1)] == ["compute"] * 2 * PATIENCE + ["update"]


def test_updates_that_give_up_now_and_then_go_on() -> None:
    """Those of smaller sizes, which end, do not count."""
    timed = Timed()
    for _ in range(20):
        give_up(timed, 60)
        assert [timed.batch(60, 0.1) for _ in range(2)] == ["update"] * 2
    assert [timed.batch(60, 0.1) for _ in range(LOSSES)] == ["update"] * LOSSES
    for _ in range(2 * LOSSES):
        give_up(timed, 60)
        assert timed.batch(30, 0.1) == "update"
    assert timed.batch(60, 0.1) == "compute"


def test_few_updates_of_sizes_that_won_are_timed() -> None:
    timed = Timed()
    timed.computed()
    before = timed.clock.started
    assert [timed.batch(50, 0.1) for _ in range(2 + 3 * CALM)] == ["update"] * (2 + 3 * CALM)
    assert timed.clock.started == before + 1 + 3
    answers = [timed.batch(50, 2.0) for _ in range(4 * CALM)]
    assert "compute" in answers
    assert answers.index("compute") <= (LOSSES + 1) * CALM


STREAMS = {  # what a computation and an update take, batch by batch; the last one stays
    "a third, for good": ([1.0], [0.32]),
    "close, for good": ([1.0], [0.9]),
    "slower, for good": ([1.0], [3.0]),
    "slower later": ([1.0], [0.1] * 150 + [2.0]),
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_takes_little_longer_than_the_better_of_both(name: str) -> None:
    timed, taken, batches = Timed(), [], 400
    computes, updates = (part + part[-1:] * (batches - len(part)) for part in STREAMS[name])
    for compute, update in zip(computes, updates, strict=True):
        answer = timed.batch(2 * BOUND, update, compute)
        taken.append(compute if answer == "compute" else update)
    assert sum(taken) <= SLACK * min(sum(computes), sum(updates))
    assert np.median(taken[:10]) <= SLACK * min(np.median(computes[:10]), np.median(updates[:10]))


def test_what_is_done_once_does_not_count() -> None:
    timed = Timed()
    timed.computed()
    for _ in range(3):
        assert not timed.pace.should_recompute(KIND, 50, BOUND, ARCS)
        timed.pace.discard()
        timed.pace.finish()
        timed.clock.length = 9.0
    assert timed.batch(50, 0.1) == "update"


def test_a_time_that_is_not_known_yet_changes_nothing() -> None:
    timed = Timed()
    timed.batch(2 * BOUND, 0)
    timed.clock.length = None
    assert [timed.batch(2 * BOUND, 0.1) for _ in range(3)] == ["compute"] * 3
    assert timed.clock.started == 1
    timed.clock.length = 1.0
    assert timed.batch(2 * BOUND, 0.1) == "update"


def test_a_span_with_a_compilation_does_not_count() -> None:
    timed = Timed()
    timed.batch(2 * BOUND, 0, compute=0.0)
    assert timed.batch(2 * BOUND, 0.1) == "compute"
    assert [timed.batch(2 * BOUND, 0.0) for _ in range(9)] == ["update"] * 9


@pytest.mark.parametrize("loses", [False, True])
def test_trackers_learn(device: su.Device, loses: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Breadth-first search of batches of four times its share: computed once, then updated; where that loses, computed.

    The counts say so, and so does the algorithm.
    """
    clock = FakeClock()
    monkeypatch.setattr("suricate.plugins.pace.clock_on", lambda _: clock)
    graph = su.Graph(2000, device=device, directed=False)
    rng = np.random.default_rng(1)
    graph.insert_edges(*rng.integers(0, 2000, (2, 20_000)))
    tracker, last = graph.track("bfs", source=0), []
    for _ in range(6):
        graph.insert_edges(*rng.integers(0, 2000, (2, 800)))
        assert not clock.running
        clock.length = 1.0 if tracker.last.kind == "recomputed" else 3.0 if loses else 0.1
        last.append(tracker.last.kind)
    assert last == ["recomputed", "updated"] + 4 * ["recomputed" if loses else "updated"]
    assert tracker.updates.computed - 1 == last.count("recomputed")
    assert tracker.updates.updated == last.count("updated")
    assert tracker.recomputations == {LARGE: last.count("recomputed")}
    fresh = su.plugins.algorithm("bfs")()
    fresh.compute(graph)
    assert (tracker.result.level == fresh.result.level).all()
    tracker.close()


def test_a_failed_update_ends_its_span(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeClock()
    monkeypatch.setattr("suricate.plugins.pace.clock_on", lambda _: clock)
    graph = su.Graph(2000, device="cpu", directed=False)
    graph.insert_edges(np.arange(1999), np.arange(1999) + 1)
    tracker = graph.track("bfs", source=0)

    def fails(*args: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(type(tracker.algorithm), "recomputes", fails)
    with pytest.raises(MemoryError):
        graph.insert_edges(np.arange(60), np.arange(60) + 9)
    assert clock.started == 1
    assert not clock.running


# -- clocks ------------------------------------------------------------------------------------------------------------


def test_the_clock_of_a_device(device: su.Device) -> None:
    clock = clock_on(device)
    assert clock.seconds() == 0
    for _ in range(3):
        begun = time.perf_counter()
        assert clock.start()
        device.synchronize()  # a device that others use as well may begin the span late
        assert device.is_cuda or clock.seconds() is None
        time.sleep(0.002)
        clock.stop()
        device.synchronize()
        spent = time.perf_counter() - begun
        assert 0.002 <= clock.seconds() <= 1.01 * spent or clock.seconds() == 0  # 0: the first launch compiles
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
        for _ in range(400):  # longer than this thread may be held up
            x += 1
        clock.stop()
        assert clock.seconds() is None
        assert not clock.start()
        device.synchronize()
        assert clock.seconds() > 1e-3
