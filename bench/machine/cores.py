"""A quiet core for the thread that times small batches: opt-in, since users' threads run where the system puts them.

On virtual machines a loop of fixed length takes up to twice as long at times, for milliseconds to seconds, on some
cores while others are quiet, because the core's other hardware thread is busy. A small batch then takes a fifth more.
The loop shows it within microseconds, so the thread moves to another core before a repeat. All repeats count.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable

from suricate.base.devices import Device
from suricate.bench import constants


def reason_against(device: Device) -> str | None:
    """Return why the thread that times work on ``device`` cannot choose its CPU core; None if it can."""
    if not device.is_cuda:
        return "backends of the CPU run on all cores: it needs a CUDA device"
    if not hasattr(os, "sched_setaffinity"):
        return "threads cannot choose a core on this system"
    try:
        os.sched_setaffinity(0, os.sched_getaffinity(0))
    except PermissionError:
        return "this process may not choose a core"
    return None


def probe() -> float:
    """Return the seconds that a loop of fixed length takes on the current core, the least of ``PROBES`` runs."""
    return min(_loop() for _ in range(constants.PROBES))


def _loop() -> float:
    start = time.perf_counter()
    for _ in range(constants.PROBE_STEPS):
        pass
    return time.perf_counter() - start


class QuietCore:
    """A context in which the calling thread stays on one CPU core, a quiet one if there is any.

    A core is quiet if ``probe()`` takes at most ``BUSY_CORE`` times the least time that it took on any core so far. If
    none is quiet, the thread stays on one of them after probing each. At the end the thread may run on all its former
    cores again.
    """

    def __init__(self, probe: Callable[[], float] = probe) -> None:
        self._probe = probe
        self._allowed = os.sched_getaffinity(0)
        try:
            seconds = {core: self._seconds(core) for core in self._allowed}
        finally:
            os.sched_setaffinity(0, self._allowed)
        self._cores = deque(sorted(seconds, key=seconds.__getitem__))
        self._least = min(seconds.values())

    def __enter__(self) -> None:
        for _ in self._allowed:
            seconds = self._seconds(self._cores[0])
            self._least = min(self._least, seconds)
            if seconds <= constants.BUSY_CORE * self._least:
                return
            self._cores.rotate(-1)

    def __exit__(self, *_: object) -> None:
        os.sched_setaffinity(0, self._allowed)

    def _seconds(self, core: int) -> float:
        os.sched_setaffinity(0, {core})
        return self._probe()
