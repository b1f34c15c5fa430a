"""Pinned host memory: counters that the host polls without waiting, and reusable buffers for copies."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from suricate.base.devices import Array, Device
from suricate.cuda.launch import is_done, raise_fault, wait_for


class PinnedCounters:
    """Counters that the device writes to host memory, where the host polls them without waiting.

    Either kernels store to ``address``, or :meth:`copy_from` queues a copy of counters on the device. If ``busy`` is
    set when the object is deleted, it waits for the device before it frees the memory.

    Args:
        device: the CUDA device that writes the counters.
        size: number of counters.
        dtype: their dtype.

    Attributes:
        array: the counters, ``dtype[size]``, zero at first.
        words: the same as a ``memoryview``: indexing gives plain ints, a whole counter at a time.
        address: their address, for kernels.
        busy: whether work that writes to them may be running. Set it when you launch such a kernel; clear it when all
            of them are known to have ended.
    """

    __slots__ = ("_copied", "_device", "address", "array", "busy", "words")

    def __init__(self, device: Device, size: int, dtype: Any = np.uint64) -> None:
        self.busy = False
        self._device = device
        self._copied: Any = None  # the event behind the last copy
        memory = device.xp.cuda.alloc_pinned_memory(size * np.dtype(dtype).itemsize)
        self.array = np.frombuffer(memory, dtype, size)
        self.array[:] = 0
        self.words = self.array.data
        self.address: int = self.array.ctypes.data

    def __del__(self, finalizing: Callable[[], bool] = sys.is_finalizing) -> None:  # names may be gone by then
        if getattr(self, "busy", False) and not finalizing():
            wait_for(self._device)

    def copy_from(self, counters: Array) -> None:
        """Queue a copy of ``counters``, of the same dtype, to the start of :attr:`array`; does not wait."""
        if self._copied is None:
            self._copied = self._device.xp.cuda.Event(disable_timing=True)
        self.busy = True
        counters.get(out=self.array[: len(counters)], blocking=False)
        self._copied.record()

    def has_arrived(self) -> bool:
        """Return whether the last copy (there must be one) is complete; if so, clear :attr:`busy`."""
        if self.busy and is_done(self._device, self._copied):
            self.busy = False
        return not self.busy

    def wait(self) -> None:
        """Wait until the last copy (there must be one) is complete, but not for work queued after it."""
        self._copied.synchronize()
        self.busy = False


class Answer(PinnedCounters):
    """Numbers, ``uint64``, that a kernel returns to the host, which polls for them in pinned memory.

    The caller passes the kernel :attr:`address` and the number of the call. The kernel's last block writes its numbers
    behind the first word, and then the number of the call to the first word.

    Args:
        device: the CUDA device.
        size: how many numbers a kernel returns.
    """

    __slots__ = ("_calls", "_polls")
    POLLS, AT_ONCE = 1 << 14, 1 << 8  # about ten milliseconds, and twenty microseconds
    PATIENCE = 1 << 10  # polls by has_arrived() after which it looks whether the device has failed

    def __init__(self, device: Device, size: int) -> None:
        super().__init__(device, 1 + size)
        self._calls = self._polls = 0

    def next(self) -> int:
        """Return the number of the next call, to be passed to the kernel; :meth:`read` then waits for this call."""
        self.busy, self._calls = True, self._calls + 1
        return self._calls

    def has_arrived(self) -> bool:
        """Return whether the kernel of the last call has written its numbers, or there was no call; does not wait."""
        self.busy = bool(self.words[0] != self._calls)
        self._polls += self.busy
        if self.busy and self._polls % self.PATIENCE == 0:
            raise_fault(self._device)
        return not self.busy

    def read(self) -> memoryview:
        """Wait until the kernel of the last call, in the current stream, has written its numbers; return them."""
        words, number = self.words, self._calls
        for poll in range(self.POLLS):
            if words[0] == number:
                break
            if poll >= self.AT_ONCE:
                time.sleep(0)  # lets other threads run
        else:
            self._device.synchronize()
        self.busy = False
        return words[1:]


class Arriving(PinnedCounters):
    """Pinned counters, ``uint64[MOST]``, for operators on one graph, which read them between launches."""

    __slots__ = ()
    MOST = 1 << 14  # of 5000 ranks

    def __init__(self, device: Device) -> None:
        super().__init__(device, self.MOST)


SMALLEST = 1 << 14  #: bytes of a buffer


class Staging:
    """Buffers in pinned memory that ``device`` reads; a buffer is reused when the work that reads it is done."""

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
