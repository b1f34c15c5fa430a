"""Spans of time between two points of a program, as the device sees them; they are read later, without a wait."""

from __future__ import annotations

import time
from typing import Protocol

from suricate.base.devices import Device
from suricate.base.notice import NOTICE


class Clock(Protocol):
    """Measures device time from :meth:`start` to :meth:`stop`; a span in which something was compiled is 0 s."""

    def start(self) -> bool:
        """Begin a span; return False, and begin none, if the last one is not over yet on the device."""

    def stop(self) -> None:
        """End the span that :meth:`start` began."""

    def seconds(self) -> float | None:
        """Return the length of the last span in seconds, 0 if code was compiled in it; None: it is not over."""


class HostClock:
    """The clock of the CPU: wall-clock seconds between start and stop, 0 if code was compiled meanwhile."""

    def __init__(self) -> None:
        self._began, self._compiled = 0.0, 0.0
        self._length: float | None = 0.0

    def start(self) -> bool:
        """Begin a span; return True."""
        self._began, self._compiled, self._length = time.perf_counter(), NOTICE.seconds, None
        return True

    def stop(self) -> None:
        """End the span that :meth:`start` began."""
        self._length = time.perf_counter() - self._began if NOTICE.seconds == self._compiled else 0.0

    def seconds(self) -> float | None:
        """Return the length of the last span in seconds; None: it has not ended."""
        return self._length


def clock_on(device: Device) -> Clock:
    """Return a new clock for work on ``device``."""
    if not device.is_cuda:
        return HostClock()
    from suricate.cuda.clock import DeviceClock

    return DeviceClock(device)
