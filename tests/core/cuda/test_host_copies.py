"""Copies of large host arrays: pageable memory goes through few buffers, none written again before it was copied."""

from __future__ import annotations

import ctypes
import threading
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from suricate.cuda import host_copies
from suricate.cuda.host_copies import HostCopies

PINNED, PAGEABLE = 1, 0


class LazyDevice:
    """A device whose copies happen when somebody waits for them, the first queued first; its memory is the host's."""

    def __init__(self) -> None:
        self.queued: list[tuple[int, int, int]] = []
        self.done = self.taken = 0
        self.pinned: set[int] = set()
        self.lock = threading.Lock()
        runtime = SimpleNamespace(
            pointerGetAttributes=lambda ptr: SimpleNamespace(type=PINNED if ptr in self.pinned else PAGEABLE),
            memoryTypeUnregistered=PAGEABLE, memcpyHostToDevice=1, memcpyAsync=self.copy,
        )  # fmt: skip
        cuda = SimpleNamespace(runtime=runtime, alloc_pinned_memory=self.allocate, Event=lambda **_: LazyEvent(self))
        self.xp, self.current, self.ptr = SimpleNamespace(cuda=cuda), nullcontext, 0

    def allocate(self, size: int) -> Any:
        self.taken += size
        return bytearray(size)

    def copy(self, target: int, source: int, size: int, kind: int, stream: int) -> None:
        assert (kind, stream) == (1, self.ptr)
        with self.lock:
            self.queued.append((target, source, size))

    def reach(self, number: int) -> None:
        with self.lock:
            while self.done < number:
                ctypes.memmove(*self.queued[self.done])
                self.done += 1

    def synchronize(self) -> None:
        self.reach(len(self.queued))


class LazyEvent:
    def __init__(self, device: LazyDevice) -> None:
        self.device, self.behind = device, 0

    def record(self, stream: Any) -> None:
        self.behind = len(self.device.queued)

    def synchronize(self) -> None:
        self.device.reach(self.behind)


class OnDevice:
    """An array of the device; it says whether the driver copied it."""

    def __init__(self, size: int) -> None:
        self.held, self.is_set = np.zeros(size, np.uint32), False
        self.data = SimpleNamespace(ptr=self.held.ctypes.data)

    def set(self, array: np.ndarray, stream: Any) -> None:
        self.held[:], self.is_set = array, True


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> LazyDevice:
    monkeypatch.setattr(host_copies, "PIECE", 64)
    return LazyDevice()


@pytest.mark.parametrize("sizes", [(16, 16), (1, 1000), (777, 333), (5000, 4999)])
def test_copies_equal_what_was_given_even_if_that_changes_at_once(device: LazyDevice, sizes: tuple[int, int]) -> None:
    copies = HostCopies(device)  # type: ignore[arg-type]
    for seed in range(3):
        arrays = [np.random.default_rng((seed, size)).integers(0, 2**32, size, np.uint32) for size in sizes]
        expected, targets = [array.copy() for array in arrays], [OnDevice(size) for size in sizes]
        copies(arrays, targets, device)  # type: ignore[arg-type]
        for array in arrays:
            array.fill(0)
        device.synchronize()
        for target, wanted in zip(targets, expected, strict=True):
            assert np.array_equal(target.held, wanted)
            assert not target.is_set
    assert copies.memory == device.taken == 64 * host_copies.THREADS * host_copies.EACH


def test_pinned_memory_is_copied_by_the_driver(device: LazyDevice) -> None:
    arrays, targets = [np.arange(100, dtype=np.uint32) for _ in range(2)], [OnDevice(100), OnDevice(100)]
    device.pinned.add(arrays[0].ctypes.data)
    copies = HostCopies(device)  # type: ignore[arg-type]
    copies(arrays, targets, device)  # type: ignore[arg-type]
    device.synchronize()
    assert [target.is_set for target in targets] == [True, False]
    assert all(np.array_equal(target.held, arrays[0]) for target in targets)


@pytest.mark.parametrize("error", [MemoryError, RuntimeError])
def test_without_pinned_memory_the_driver_copies(device: LazyDevice, error: type[Exception]) -> None:
    def fail(size: int) -> Any:
        raise error

    device.xp.cuda.alloc_pinned_memory = fail
    array, target, copies = np.arange(1000, dtype=np.uint32), OnDevice(1000), HostCopies(device)  # type: ignore[arg-type]
    copies([array], [target], device)  # type: ignore[list-item]
    assert target.is_set
    assert np.array_equal(target.held, array)
    assert copies.memory == 0


def test_an_error_of_a_copy_is_raised_and_later_copies_are_right(device: LazyDevice) -> None:
    array, target, copies = np.arange(1000, dtype=np.uint32), OnDevice(1000), HostCopies(device)  # type: ignore[arg-type]
    work = device.xp.cuda.runtime.memcpyAsync

    def fail(*_: Any) -> None:
        raise RuntimeError("the device has failed")

    device.xp.cuda.runtime.memcpyAsync = fail
    with pytest.raises(RuntimeError, match="has failed"):
        copies([array], [target], device)  # type: ignore[list-item]
    device.xp.cuda.runtime.memcpyAsync = work
    copies([array], [target], device)  # type: ignore[list-item]
    device.synchronize()
    assert np.array_equal(target.held, array)
