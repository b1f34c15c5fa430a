"""Devices, streams and events of the emulated device: whatever is queued has been done already."""

from __future__ import annotations

import threading
from itertools import count
from typing import Any

import pytest
from emulated_programs import MULTIPROCESSORS, THREADS

from cupy import memory
from cupy.cuda import driver, function, nvrtc, runtime
from cupy.memory import (
    COUNTS,
    MemoryHook,
    UnownedMemory,
    alloc,
    alloc_pinned_memory,
    get_allocator,
    using_allocator,
)  # fmt: skip

__all__ = [
    "Device", "Event", "ExternalStream", "MemoryHook", "MemoryPointer", "Stream", "UnownedMemory", "alloc",
    "alloc_pinned_memory", "driver", "function", "get_allocator", "get_current_stream", "memory", "nvrtc", "runtime",
    "using_allocator",
]  # fmt: skip


def MemoryPointer(mem: Any, offset: int) -> memory.MemoryPointer:  # noqa: N802
    """Return a place in memory."""
    return memory.MemoryPointer(mem, mem.ptr + offset)


class Device:
    """The one device."""

    compute_capability = "70"

    def __init__(self, index: int = 0) -> None:
        if index:
            raise runtime.CUDARuntimeError("cudaErrorInvalidDevice: invalid device ordinal")
        self.id = index
        self.attributes = {"MultiProcessorCount": MULTIPROCESSORS, "MaxThreadsPerMultiProcessor": THREADS}
        self.mem_info = runtime.memGetInfo()

    def __int__(self) -> int:
        return self.id

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def use(self) -> None:
        """Nothing: there is no other."""

    def synchronize(self) -> None:
        """Count a wait."""
        COUNTS["waits"] += 1


class Event:
    """An event that has always happened."""

    done = True

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        pass

    def record(self, stream: Any = None) -> None:
        """Nothing: all that was queued is done."""

    def synchronize(self) -> None:
        """Count a wait."""
        COUNTS["waits"] += 1


class _Streams(threading.local):
    def __init__(self) -> None:
        self.current: list[Any] = [NULL]


class Stream:
    """A stream in which nothing is ever under way; ``ptr`` tells it from others."""

    done = True
    _numbers = count(1)

    def __init__(self, null: bool = False, non_blocking: bool = False) -> None:
        self.ptr = 0 if null else 16 * next(self._numbers)

    def __enter__(self) -> Any:
        _streams.current.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        _streams.current.pop()

    def use(self) -> Any:
        """Make it this thread's current one."""
        _streams.current[-1] = self
        return self

    def synchronize(self) -> None:
        """Count a wait."""
        COUNTS["waits"] += 1

    def record(self, event: Event | None = None) -> Event:
        """Return an event."""
        return event or Event()

    def wait_event(self, event: Event) -> None:
        """Nothing: it has happened."""

    def begin_capture(self, mode: Any = None) -> None:
        """Skip the test."""
        pytest.skip("the emulated device captures no streams")


class ExternalStream(Stream):
    """A stream that another library made."""

    def __init__(self, ptr: int) -> None:
        self.ptr = ptr


NULL = Stream.null = Stream(null=True)  # type: ignore[attr-defined]
_streams = _Streams()


def get_current_stream() -> Any:
    """Return this thread's current stream."""
    return _streams.current[-1]


def get_device_id() -> int:
    """Return the number of the one device."""
    return 0
