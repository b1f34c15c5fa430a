"""Counters that the host polls: plain ints, and memory that the device may still write to is not given back."""

from __future__ import annotations

import gc
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from suricate.comm.protocol import SelfComm
from suricate.cuda.launch import NOT_READY
from suricate.cuda.pinned import Answer, PinnedCounters
from suricate.repair.cuda.by_list import Progress

FAULT = 700


class FakeDevice:
    """A device, and its stream, whose pinned memory is ordinary memory, and that counts waits."""

    index = 0

    def __init__(self) -> None:
        self.waits, self.done, self.status, self.ptr = 0, False, NOT_READY, 0
        self.xp = SimpleNamespace(
            cuda=SimpleNamespace(
                alloc_pinned_memory=bytearray, Event=self.event, Device=lambda index: self,
                get_current_stream=lambda: self,
                runtime=SimpleNamespace(eventQuery=lambda ptr: self.status, streamQuery=lambda ptr: self.status),
            )
        )  # fmt: skip

    def event(self, **how: Any) -> Any:
        return SimpleNamespace(record=lambda: None, done=self.done, ptr=1, synchronize=self.synchronize)

    def synchronize(self) -> None:
        self.waits += 1
        if self.status == FAULT:
            raise RuntimeError("cudaErrorIllegalAddress")


class OnDevice(list[int]):
    """An array on a device, as far as a copy to the host needs it."""

    def get(self, out: np.ndarray, blocking: bool) -> None:
        assert not blocking
        out[:] = self


@pytest.mark.parametrize(("busy", "waits"), [(False, 0), (True, 1)])
def test_memory_is_kept_while_the_device_may_write_to_it(busy: bool, waits: int) -> None:
    device = FakeDevice()
    counters = PinnedCounters(device, 3)  # type: ignore[arg-type]
    counters.busy = busy
    del counters
    gc.collect()
    assert device.waits == waits


def test_counters_are_plain_ints_at_an_address() -> None:
    counters = PinnedCounters(FakeDevice(), 3)  # type: ignore[arg-type]
    assert counters.words.tolist() == [0, 0, 0]
    counters.array[1] = 1 << 40
    assert counters.words[1] == 1 << 40
    assert type(counters.words[1]) is int
    assert counters.address == counters.array.ctypes.data


@pytest.mark.parametrize("done", [False, True])
def test_a_copy_is_busy_until_it_has_arrived(done: bool) -> None:
    device = FakeDevice()
    device.done = done
    counters = PinnedCounters(device, 3, np.int64)  # type: ignore[arg-type]
    counters.copy_from(OnDevice([4, 5]))
    assert counters.words.tolist() == [4, 5, 0]
    assert counters.has_arrived() is done
    assert counters.busy is not done


def test_loops_that_poll_end_where_the_device_has_failed() -> None:
    """Events of a failed device are never done, and its kernels write nothing."""
    device = FakeDevice()
    counters, progress = PinnedCounters(device, 1), Progress(device)  # type: ignore[arg-type]
    counters.copy_from(OnDevice([1]))
    assert not counters.has_arrived()
    device.status = FAULT
    with pytest.raises(RuntimeError, match="IllegalAddress"):
        counters.has_arrived()
    with pytest.raises(RuntimeError, match="IllegalAddress"):
        SelfComm().wait(lambda: progress.has_come(1))
    counters.busy = False


def test_nothing_waits_where_there_was_no_memory() -> None:
    device = FakeDevice()

    def fail(size: int) -> None:
        raise MemoryError

    device.xp.cuda.alloc_pinned_memory = fail
    with pytest.raises(MemoryError):
        PinnedCounters(device, 2)  # type: ignore[arg-type]
    gc.collect()
    assert device.waits == 0


def test_an_answer_is_read_when_its_number_has_come() -> None:
    device = FakeDevice()
    answer = Answer(device, 2)  # type: ignore[arg-type]
    for number in (1, 2):
        assert answer.next() == number
        assert answer.busy
        answer.array[:] = number, 5 * number, 7
        assert [*answer.read()] == [5 * number, 7]
        assert not answer.busy
    assert device.waits == 0


def test_an_answer_that_does_not_come_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Answer, "POLLS", 3)
    device = FakeDevice()
    answer = Answer(device, 1)  # type: ignore[arg-type]
    answer.array[:] = 0, 9  # an older one
    answer.next()
    device.synchronize = lambda: answer.array.__setitem__(slice(None), (1, 4))  # type: ignore[method-assign]
    assert [*answer.read()] == [4]
    answer.next()
    device.synchronize, device.status = FakeDevice.synchronize.__get__(device), FAULT  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="cudaErrorIllegalAddress"):
        answer.read()
    answer.busy = False
