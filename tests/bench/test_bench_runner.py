"""The runner: statistics on a fake clock, and what a failing task leaves behind."""

import math
from types import SimpleNamespace

import pytest

from suricate.bench import constants, runner
from suricate.bench.runner import Limits, Skipped, Task, Timing, measure, once
from suricate.bench.verify.edges import Mismatch


class Clock:
    """A clock that only moves when told to."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class Fake(Task):
    """Takes the given durations, in turn, the last one for ever; preparing and restoring take a second each."""

    workload, backend, oracle, items = "fake", "none", "nothing", 10

    def __init__(self, clock, durations):
        self.clock, self.durations, self.log = clock, list(durations), []

    def prepare(self):
        self.clock.now += 1
        return len(self.log)

    def action(self, prepared):
        self.log.append("action")
        self.clock.now += self.durations.pop(0) if len(self.durations) > 1 else self.durations[0]
        return prepared

    def check(self, prepared, result):
        assert prepared == result
        self.log.append("check")

    def restore(self, prepared, result):
        self.clock.now += 1

    def finish(self):
        self.log.append("finish")


QUICK = Limits(min_repeats=3, max_repeats=50, time_limit=1000.0, warmups=2)


def test_untimed_parts_are_not_in_the_samples_and_the_first_call_is_apart():
    clock = Clock()
    found = measure(Fake(clock, [5.0, 0.25]), QUICK, clock)
    assert found.status == "ok"
    assert found.timing.median == pytest.approx(0.25)
    assert found.timing.repeats == 3  # without noise the least number is enough
    assert found.first == pytest.approx(5.0)
    assert found.compile == pytest.approx(4.75)


def test_verification_comes_first_and_last():
    clock = Clock()
    task = Fake(clock, [1.0])
    task.verified_repeats = 2
    measure(task, QUICK, clock)
    assert task.log[:4] == ["action", "check", "action", "check"]
    assert task.log[-1] == "finish"
    assert task.log.count("check") == 2
    assert task.log.count("action") == 2 + QUICK.warmups + QUICK.min_repeats


def test_repeats_wait_for_final_builds(monkeypatch):
    """Of CUDA programs: what the verified repeats called is a quick build at first."""
    clock = Clock()
    task = Fake(clock, [1.0])
    monkeypatch.setattr(runner, "POOL", SimpleNamespace(wait=lambda: task.log.append("wait")))
    measure(task, QUICK, clock)
    repeats = QUICK.warmups + QUICK.min_repeats
    assert task.log == ["action", "check", *["wait", "action"] * repeats, "finish"]


def test_statistics():
    timing = Timing.of([1.0, 2.0, 3.0, 4.0, 100.0])  # the outlier does not count in the spread
    assert (timing.median, timing.minimum, timing.maximum, timing.repeats) == (3.0, 1.0, 100.0, 5)
    assert (timing.quartile1, timing.quartile3) == (2.0, 4.0)
    assert timing.deviation == pytest.approx(max(1.4826, 2 / 1.349))
    assert timing.noise == pytest.approx(1.4826 / 3, rel=1e-3)
    assert timing.error == pytest.approx(1.2533 * timing.noise / math.sqrt(5))


def test_calls_that_change_nothing_come_before_every_repeat_but_are_not_timed():
    clock = Clock()
    task = Fake(clock, [1.0])

    def warm():
        clock.now += 7
        task.log.append("warm")

    task.warm = warm
    found = measure(task, QUICK, clock)
    assert found.timing.maximum == pytest.approx(1.0)
    repeats = [*["warm"] * constants.WARM_CALLS, "action"] * (QUICK.warmups + QUICK.min_repeats)
    assert task.log == ["action", "check", *repeats, "finish"]


def test_percentiles():
    timing = Timing.of([float(value) for value in range(101)])
    assert (timing.low, timing.quartile1, timing.quartile3, timing.high) == (10.0, 25.0, 75.0, 90.0)
    assert timing.tail == pytest.approx(99)
    assert Timing.of([1.0] * 99).tail is None


def test_statistics_of_one_sample():
    timing = Timing.of([2.0])
    assert (timing.median, timing.quartile1, timing.quartile3, timing.noise) == (2.0, 2.0, 2.0, 0.0)
    assert timing.low == timing.high == 2.0


def test_noise_asks_for_more_repeats():
    clock = Clock()
    noisy = [1.0, 1.0, 1.0] + [1.0, 1.5] * 50
    found = measure(Fake(clock, noisy), QUICK, clock)
    assert found.timing.repeats == QUICK.max_repeats
    assert found.timing.noise > constants.NOISY


@pytest.mark.parametrize(
    ("repeats", "elapsed", "stops"),
    [(9, 5.0, False), (10, 4.9, False), (10, 5.0, True), (3, 50.0, True), (0, 50.0, False)],
)
def test_time_limit(repeats, elapsed, stops):
    samples = [1.0, 2.0] * (repeats // 2) + [3.0] * (repeats % 2)
    assert Limits(min_repeats=10, time_limit=5.0).enough(samples, elapsed) is stops


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (Mismatch("two levels differ"), "FAIL", "two levels differ"),
        (MemoryError("too much"), "ERROR", "MemoryError: too much"),
        (Skipped("no time stamps"), "skip", "no time stamps"),
    ],
)
@pytest.mark.parametrize("place", ["setup", "check", "finish"])
def test_a_task_that_is_not_ok_has_no_time(error, status, reason, place):
    def fail(*_):
        raise error

    clock = Clock()
    task = Fake(clock, [1.0])
    setattr(task, place, fail)
    found = measure(task, QUICK, clock)
    assert (found.status, found.reason) == (status, reason)
    assert found.timing is None
    assert found.first is None
    assert found.compile is None
    assert found.failed is (status != "skip")
    if place != "finish":
        assert task.log.count("action") <= 1  # never timed


def test_a_failed_task_throws_its_graph_away():
    clock = Clock()
    task = Fake(clock, [1.0])
    task.check = lambda prepared, result: (_ for _ in ()).throw(Mismatch("wrong"))
    gone = []
    task.abandon = lambda: gone.append(True)
    measure(task, QUICK, clock)
    assert gone == [True]


def test_an_interrupt_is_not_swallowed():
    clock = Clock()
    task = Fake(clock, [1.0])
    task.check = lambda prepared, result: (_ for _ in ()).throw(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        measure(task, QUICK, clock)


def test_once():
    clock = Clock()
    assert once(Fake(clock, [0.5]), clock) == pytest.approx(0.5)


@pytest.mark.parametrize(("durations", "tried", "status"), [
    ([3.0, 0.5], 2, "ok"), ([3.0, 2.0, 0.5], 3, "ok"), ([3.0, 3.0], 3, "over"), ([99.0, 0.5], 1, "over"),
])  # fmt: skip
def test_what_may_have_compiled_is_tried_again_unless_it_is_far_over_the_limit(durations, tried, status):
    clock = Clock()
    task = Fake(clock, durations)
    task.limit = 1.0
    found = measure(task, QUICK, clock)
    assert found.status == status
    assert task.log.count("action") == tried + (QUICK.warmups - 1 + QUICK.min_repeats if status == "ok" else 0)
    assert found.over == (None if status == "ok" else durations[0])
