"""A clock of the work in a CUDA stream: one launch before the work and one after it write the time to pinned memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from suricate.base.devices import Device
from suricate.base.notice import NOTICE
from suricate.cuda.compiler import UNFINISHED
from suricate.cuda.kernel import PreparedKernel
from suricate.cuda.pinned import PinnedCounters
from suricate.cuda.program import Program

STAMP = Program(Path(__file__).with_name("clock.cu"))


class DeviceClock:
    """A ``suricate.plugins.clock.Clock`` of the work in CuPy's current stream; no call waits for the device.

    A span in which a program was compiled, or had only its slow quick build, counts as 0 seconds.

    Args:
        device: a CUDA device.
    """

    def __init__(self, device: Device) -> None:
        self._pinned = PinnedCounters(device, 2)  # when the span began, when it ended
        self._stamps: list[PreparedKernel] = []  # of the two, made at the first start
        self._compiled = 0.0
        self._counts = True

    def start(self) -> bool:
        """Begin a span; return False, without beginning one, if the device has not reached the end of the last span."""
        if self.seconds() is None:
            return False
        if not self._stamps:
            places = (np.uint64(self._pinned.address + 8 * k) for k in range(2))
            self._stamps = [PreparedKernel(STAMP.kernel("stamp"), 1, 1, (place,)) for place in places]
        self._pinned.words[0] = self._pinned.words[1] = 0
        self._pinned.busy, self._counts, self._compiled = True, not UNFINISHED, NOTICE.seconds
        self._stamps[0].launch()
        return True

    def stop(self) -> None:
        """End the span that :meth:`start` began, behind the work queued since; does not wait."""
        self._counts = self._counts and not UNFINISHED and NOTICE.seconds == self._compiled
        self._stamps[1].launch()

    def seconds(self) -> float | None:
        """Return the length of the last span in seconds, 0 if it does not count; None if it has not ended."""
        began, ended = self._pinned.words
        if not self._pinned.busy:
            return max(0, ended - began) / 1e9 if self._counts else 0.0
        if not ended:
            return None
        self._pinned.busy = False
        return self.seconds()
