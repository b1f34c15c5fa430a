"""One runner for all workloads: it verifies a task, then times repeats until the median is certain enough.

A repeat is ``prepare`` (untimed: a fresh batch), ``warm`` (untimed), ``action`` (timed until the device has completed
it), ``restore`` (untimed). The timed region has the action and one wait for the device, and no garbage is collected in
it. The first repeats are verified by the task's oracle; only if they pass is anything timed, and the graph is verified
once more at the end. A task that fails has no time. Timed repeats begin when the final builds of CUDA programs have
replaced the quick ones; those builds may take 30 times as long.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar

from suricate.base.devices import CPU, Device
from suricate.bench import constants
from suricate.bench.machine.cores import QuietCore
from suricate.bench.verify.edges import Mismatch
from suricate.cuda.compiler import POOL


class Skipped(Exception):  # noqa: N818 - reads as what it is
    """Raised if a row cannot be measured; the message says why."""


class Over(Exception):  # noqa: N818 - reads as what it is
    """Raised if a task is known to take longer than its :attr:`Task.limit`; the message says why."""


class Task:
    """One row of the results: a measurement, and how it is verified.

    In all tasks ``prepared`` is what :meth:`prepare` returned for this repeat (None if it returns nothing), and
    ``result`` what :meth:`action` returned; a task may use more telling names for both.

    Attributes:
        workload: name of the workload.
        backend: name of the backend, or of the reference library.
        algorithm: name of the algorithm, or None.
        batch: number of edges of a batch, or None.
        detail: what else distinguishes rows of one workload (a dtype, for instance).
        items: how many edges one action processes; the rate is ``items`` over the median time. 0: there is no rate.
        oracle: what the result is verified against, as a text; None: this row is not verified (references).
        verified_repeats: number of verified repeats; they are not timed.
        timed: False for a task that measures a quantity other than time, see :meth:`extra`.
        suite: the suite that the row belongs to, or "".
        options: backend options that the row is measured with.
        setting: the options that a sweep varies, as a text.
        hints: whether the graph was built with degree hints.
        scenario: the condition of the graph that is measured on, see ``suricate.bench.scenarios``.
        least_repeats: the least number of timed repeats, even if they exceed the time limit of the run.
        limit: seconds; a task whose first repeats take longer is not timed, and the row says so.
    """

    workload: str = ""
    backend: str = ""
    algorithm: str | None = None
    batch: int | None = None
    detail: str = ""
    items: int = 0
    oracle: str | None = None
    verified_repeats: int = 1
    timed: bool = True
    suite: str = ""
    options: Mapping[str, Any] = MappingProxyType({})
    setting: str = ""
    hints: bool = False
    scenario: str = "fresh"
    limit: float | None = None
    least_repeats: int = 0
    device: Device = CPU
    does: ClassVar[str] = ""  #: what one repeat does, for ``--list``

    def setup(self) -> None:
        """Build the objects that all repeats share; raise :class:`Skipped` if the row cannot be measured."""

    def prepare(self) -> Any:
        """Return the input of one repeat, on the device."""

    def warm(self) -> None:
        """Make a call like :meth:`action` that changes nothing; a few of them precede each timed call.

        Preparing a repeat evicts the interpreter and the launch path from the caches of the CPU. In a program that
        makes one call after the other they are there; without warm calls an action of 25 microseconds would take a
        fifth longer.
        """

    def action(self, prepared: Any) -> Any:
        """Do the timed work on ``prepared``, the value of :meth:`prepare`; return what :meth:`check` verifies."""
        raise NotImplementedError

    def check(self, prepared: Any, result: Any) -> None:
        """Raise :class:`Mismatch` unless ``result``, returned by the action on ``prepared``, agrees with the oracle."""

    def restore(self, prepared: Any, result: Any) -> None:
        """Undo what the repeat changed in the graph; or only record it, for :meth:`prepare` or :meth:`finish` to undo.

        ``prepared``, ``result``: input and result of the action in this repeat.
        """

    def finish(self) -> None:
        """Verify the graph, after the last timed repeat."""

    def abandon(self) -> None:
        """Drop the graphs that this task shares with others, since they may be wrong; called after a failure."""

    def exceeded(self) -> None:
        """Record that a repeat took longer than ``limit``, so that tasks with larger batches can be skipped."""

    def traffic(self) -> int | None:
        """Return the least number of bytes that one action has to move; None if unknown."""
        return None

    def extra(self) -> dict[str, Any]:
        """Return further facts for the row by name, of types that JSON has."""
        return {}


@dataclass(frozen=True)
class Limits:
    """How often a task is repeated.

    Attributes:
        min_repeats, max_repeats: the least and the largest number of timed repeats.
        time_limit: seconds; after them at most ``min_repeats`` repeats are made, and none after ten times as long.
        warmups: number of repeats between the verified and the timed ones.
        target_error: stop before the time limit if the relative standard error of the median is at most this.
    """

    min_repeats: int = constants.MIN_REPEATS
    max_repeats: int = constants.MAX_REPEATS
    time_limit: float = constants.TIME_LIMIT
    warmups: int = constants.WARMUPS
    target_error: float = constants.TARGET_ERROR
    quiet_core: bool = False  #: whether repeats are timed once more on a quiet core
    processor_time: bool = False  #: whether the seconds are those of the processor, of all threads together

    def enough(self, samples: list[float], elapsed: float) -> bool:
        """Return whether to stop after repeats of ``samples`` seconds; ``elapsed``: seconds since the first began."""
        if len(samples) >= self.max_repeats or elapsed >= constants.PATIENCE * self.time_limit:
            return bool(samples)
        if len(samples) < self.min_repeats:
            return False
        return elapsed >= self.time_limit or Timing.of(samples).error <= self.target_error


@dataclass(frozen=True)
class Timing:
    """Robust statistics of the seconds that repeats took.

    ``low``, ``high``, ``tail`` and ``far_tail`` are the percentiles 10, 90, 99 and 99.9. ``tail`` is None with fewer
    than 100 repeats, ``far_tail`` with fewer than 1,000.
    """

    median: float
    minimum: float
    maximum: float
    low: float
    quartile1: float
    quartile3: float
    high: float
    deviation: float  #: see :meth:`of`
    repeats: int
    tail: float | None = None
    far_tail: float | None = None

    @classmethod
    def of(cls, samples: list[float]) -> Timing:
        """Return the statistics of one or more samples, in seconds.

        ``deviation`` is an estimate of the standard deviation that outliers hardly affect: the larger of 1.4826 x the
        median absolute deviation and the distance of the quartiles / 1.349.
        """
        median = statistics.median(samples)
        several = samples if len(samples) > 1 else samples * 2
        first, _, third = statistics.quantiles(several, n=4, method="inclusive")
        low, *_, high = statistics.quantiles(several, n=10, method="inclusive")
        tail = statistics.quantiles(samples, n=100, method="inclusive")[-1] if len(samples) >= 100 else None
        far = statistics.quantiles(samples, n=1000, method="inclusive")[-1] if len(samples) >= 1000 else None
        spread = 1.4826 * statistics.median(abs(sample - median) for sample in samples)
        deviation = max(spread, (third - first) / 1.349)
        return cls(median, min(samples), max(samples), low, first, third, high, deviation, len(samples), tail, far)

    @property
    def noise(self) -> float:
        """The deviation divided by the median."""
        return self.deviation / self.median if self.median else 0.0

    @property
    def error(self) -> float:
        """The standard error of the median (1.2533 x deviation / sqrt(repeats)) divided by the median."""
        return 1.2533 * self.noise / self.repeats**0.5


@dataclass
class Measurement:
    """The result of measuring a task.

    Attributes:
        status: ``"ok"``, ``"FAIL"`` (differs from the oracle), ``"ERROR"`` (raised), ``"skip"``, or ``"over"`` (too
            slow).
        reason: why it is not ok, as a text.
        timing: statistics of the timed repeats; None unless ok.
        quiet: statistics of further repeats on a quiet core; None unless requested.
        over: seconds of the repeat that exceeded the limit; None if none did, or memory did not suffice for it.
        first: seconds of the first action, compilation included; None unless ok.
        compile: ``first`` minus the median, at least 0: compilation and other work that is done once.
    """

    status: str
    reason: str = ""
    timing: Timing | None = None
    first: float | None = None
    compile: float | None = None
    quiet: Timing | None = None
    over: float | None = None

    @property
    def failed(self) -> bool:
        """Whether the status is "FAIL" or "ERROR", which makes the whole run fail."""
        return self.status in ("FAIL", "ERROR")


def measure(task: Task, limits: Limits, clock: Callable[[], float] = time.perf_counter) -> Measurement:
    """Verify ``task``, then time it; return its status and timing. A mismatch or exception is reported, not raised.

    ``limits``: how often to repeat; ``clock()`` returns seconds, and is replaced if ``limits`` ask for processor time.
    """
    clock = time.process_time if limits.processor_time else clock
    try:
        task.setup()
        first = _verify(task, clock)
        if task.limit is not None:
            seconds = first  # of so much more than the limit compilation is a small part
            for _ in range(2 if first <= constants.FAR_OVER * task.limit else 0):
                seconds = once(task, clock)
                if seconds <= task.limit:  # else it may have compiled something still
                    break
            if seconds > task.limit:
                task.exceeded()
                return Measurement("over", f"{seconds:.3g} s, more than {task.limit:g} s", over=seconds)
            limits = replace(limits, warmups=max(0, limits.warmups - 1))
        timing = _repeat(task, limits, clock) if task.timed else None
        quiet = (
            _repeat(task, limits, clock, QuietCore())
            if limits.quiet_core and task.timed and task.device.is_cuda
            else None
        )
        task.finish()
    except Skipped as reason:
        return Measurement("skip", str(reason))
    except Over as reason:
        return Measurement("over", str(reason))
    except Mismatch as reason:
        task.abandon()
        return Measurement("FAIL", str(reason))
    except MemoryError as error:  # of a task with a limit that is a result, and so for all larger ones
        task.abandon()
        if task.limit is None:
            return Measurement("ERROR", f"{type(error).__name__}: {' '.join(str(error).split())}")
        task.exceeded()
        return Measurement("over", f"memory does not suffice: {' '.join(str(error).split())}")
    except Exception as error:  # a backend may raise anything; the other rows still count
        task.abandon()
        return Measurement("ERROR", f"{type(error).__name__}: {' '.join(str(error).split())}")
    compiling = None if timing is None else max(0.0, first - timing.median)
    return Measurement("ok", "", timing, first if task.timed else None, compiling, quiet)


def _verify(task: Task, clock: Callable[[], float]) -> float:
    """Run the verified repeats of ``task``; return the seconds of the first action, by ``clock``."""
    first = 0.0
    for repeat in range(task.verified_repeats):
        prepared = task.prepare()
        seconds, result = timed(task, prepared, clock)
        first = seconds if repeat == 0 else first
        task.check(prepared, result)
        task.restore(prepared, result)
    return first


def _repeat(
    task: Task, limits: Limits, clock: Callable[[], float], core: AbstractContextManager[Any] | None = None
) -> Timing:
    samples: list[float] = []
    limits = replace(limits, min_repeats=max(limits.min_repeats, task.least_repeats))
    for _ in range(limits.warmups):
        once(task, clock, core)
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        start = clock()
        while not limits.enough(samples, clock() - start):
            samples.append(once(task, clock, core))
    finally:
        if collecting:
            gc.enable()
    return Timing.of(samples)


def once(
    task: Task, clock: Callable[[], float] = time.perf_counter, core: AbstractContextManager[Any] | None = None
) -> float:
    """Run one repeat of ``task``; return the seconds of its action, by ``clock``.

    ``core``: a context in which the warm calls and the timed action run, such as a ``QuietCore``; None: no context.
    """
    POOL.wait()  # for final builds
    prepared = task.prepare()
    with core or nullcontext():
        for _ in range(constants.WARM_CALLS):
            task.warm()
        seconds, result = timed(task, prepared, clock)
    task.restore(prepared, result)
    return seconds


def timed(task: Task, prepared: Any, clock: Callable[[], float] = time.perf_counter) -> tuple[float, Any]:
    """Run the action of ``task`` on ``prepared``, wait for its device work; return ``(seconds, result of the action)``.

    The seconds are measured by ``clock()``; they include the wait.
    """
    wait, action = _waiter(task.device), task.action
    wait()
    start = clock()
    result = action(prepared)
    wait()
    return clock() - start, result


def _waiter(device: Device) -> Callable[[], Any]:
    """Return a function that waits until ``device`` is idle; on CUDA it waits for the stream that is current now."""
    return device.xp.cuda.get_current_stream().synchronize if device.is_cuda else device.synchronize
