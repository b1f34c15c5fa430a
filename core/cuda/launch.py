"""Launching kernels with little work for the host, waiting for a device, and barriers of whole grids."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from suricate.base.devices import Array, Device
from suricate.cuda.program import Program

NOT_READY = 600  #: the status of an event, or a stream, that is not done


def multiprocessors(device: Device) -> int:
    """Return the number of multiprocessors of a CUDA device."""
    return _multiprocessors(device.xp.cuda.Device, device.index)


@cache
def _multiprocessors(of: Callable[[int], Any], index: int) -> int:
    count: int = of(index).attributes["MultiProcessorCount"]  # for which CuPy asks the driver for all attributes
    return count


def wait_for(device: Device) -> None:
    """Wait for all streams of a CUDA device, whichever is current."""
    device.xp.cuda.Device(device.index).synchronize()


def is_done(device: Device, event: Any) -> bool:
    """Return whether all work before a CUDA event has ended, without a wait; ``RuntimeError`` if the device failed."""
    if event.done:
        return True
    if device.xp.cuda.runtime.eventQuery(event.ptr) not in (0, NOT_READY):
        event.synchronize()
    return False


def address(array: Array | int | None) -> int:
    """Return the address of a device array; an int is returned unchanged, 0 (a null pointer) for None."""
    return 0 if array is None else array if isinstance(array, int) else array.data.ptr


def raise_fault(device: Device) -> None:
    """Raise an exception if a CUDA device has failed; does not wait.

    A loop that polls for a value from a kernel must call it now and then, since after a failure no kernel writes the
    value. The current stream must not be capturing.

    Raises:
        RuntimeError: CuPy's error of the failure.
    """
    stream = device.xp.cuda.get_current_stream()
    if device.xp.cuda.runtime.streamQuery(stream.ptr) not in (0, NOT_READY):
        stream.synchronize()


class StructKernel:
    """A kernel whose only argument is a struct, launched with less host time than CuPy's own launch takes.

    Args:
        program: the program of the kernel.
        name: its name in the program.
        size: size of the struct in bytes.

    Attributes:
        buffer: host memory of the struct; the caller packs the struct into it before each launch.
        prefix: the bytes that :meth:`begin_with` wrote to its start, or None.
    """

    def __init__(self, program: Program, name: str, size: int) -> None:
        self._kernel = program.kernel(name)  # keeps the module
        self._kernel.finish()  # its address is kept
        self._address = self._kernel.function.ptr
        self.buffer = ctypes.create_string_buffer(size)
        self.prefix: bytes | None = None
        self._params = (ctypes.c_void_p * 1)(ctypes.addressof(self.buffer))
        self._params_address = ctypes.addressof(self._params)

    def launch(self, blocks: int, threads: int) -> None:
        """Launch ``blocks`` blocks of ``threads`` threads into CuPy's current stream; does not wait."""
        self._kernel.launch((self._address, blocks, 1, 1, threads, 1, 1, 0), self._params_address)

    def resident(self, threads: int) -> int:
        """Return how many blocks of ``threads`` threads a multiprocessor holds at a time."""
        return self._kernel.resident(threads)

    def begin_with(self, prefix: bytes) -> None:
        """Write ``prefix`` to the start of the buffer, and remember it in :attr:`prefix`."""
        ctypes.memmove(self.buffer, prefix, len(prefix))
        self.prefix = prefix


WRAP = (1 << 32) - 1


class GridBarrier:
    """A counter on the device by which the blocks of cooperative launches synchronise; all launches are in one stream.

    Attributes:
        address: address of the counter, ``uint32``.
        arrived: its value when all launches so far have ended.
    """

    def __init__(self, device: Device) -> None:
        self._word = device.xp.zeros(1, "uint32")
        self.address: int = self._word.data.ptr
        self.arrived = 0

    def expected(self, blocks: int, barriers: int) -> int:
        """Return the counter's value before the next launch; :attr:`arrived` grows by ``blocks * barriers``."""
        before, self.arrived = self.arrived, (self.arrived + blocks * barriers) & WRAP
        return before
