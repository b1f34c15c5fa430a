"""Reusable buffers in pinned host memory, for data that is copied to the device or read by kernels."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from suricate.base.devices import Device
from suricate.cuda.launch import wait_for

SMALLEST = 1 << 14  #: bytes of a buffer


class Staging:
    """Buffers in pinned memory that kernels or copies read; a buffer is reused when the work that reads it is done.

    Args:
        device: the CUDA device that reads them.
    """

    def __init__(self, device: Device) -> None:
        self._device, self._xp = device, device.xp
        self._idle: deque[np.ndarray] = deque()
        self._busy: deque[tuple[np.ndarray, Any]] = deque()  # with the event behind what reads it
        self._given: list[np.ndarray] = []  # since the last :meth:`queued`

    def __del__(self, finalizing: Callable[[], bool] = sys.is_finalizing) -> None:  # names may be gone by then
        if not finalizing() and any(not event.done for _, event in getattr(self, "_busy", ())):
            wait_for(self._device)

    def __call__(self, size: int) -> np.ndarray:
        """Return a buffer, ``uint8[size]``, for work to be queued before you call :meth:`queued`; never waits."""
        while self._busy and self._busy[0][1].done:
            self._idle.append(self._busy.popleft()[0])
        fitting = next((buffer for buffer in self._idle if len(buffer) >= size), None)
        if fitting is None:
            if self._idle:  # too small, and smaller ones are not needed again
                self._idle.popleft()
            length = max(SMALLEST, 1 << (size - 1).bit_length())
            fitting = np.frombuffer(self._xp.cuda.alloc_pinned_memory(length), np.uint8, length)
        else:
            self._idle = deque(buffer for buffer in self._idle if buffer is not fitting)
        self._given.append(fitting)
        return fitting[:size]

    def queued(self) -> None:
        """Record that all work that reads the buffers returned so far is queued, in the current stream."""
        for buffer in self._given:
            event = self._xp.cuda.Event(disable_timing=True)
            event.record()
            self._busy.append((buffer, event))
        self._given.clear()
