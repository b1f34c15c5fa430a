"""Ids of events on their way to a CUDA device: copied and checked beside what the device does for the slide before.

A stream of its own copies two columns from the host to a buffer, large ones in pageable memory through pinned memory,
which threads fill (``suricate.cuda.host_copies``), and looks for the largest id, for which the host waits;
the graph's stream then takes the ids out of the buffer. There are two buffers in turn: one is written again when the
ids of two chunks before have been taken out. Kernels: ``arrivals.cu``.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from suricate.base.devices import Array, Device
from suricate.base.types import MAX_VERTICES
from suricate.cuda.host_copies import HostCopies
from suricate.cuda.pinned import PinnedCounters
from suricate.cuda.program import Program, c_type
from suricate.intake.arrays import is_flat

LEAST = 1 << 15  #: events of a chunk; the host checks fewer in less time
BUFFERED = 1 << 21  #: bytes of a chunk that are worth threads
DTYPES = {np.dtype(name) for name in ("uint32", "int32", "int64", "uint64")}
_BLOCK, _MAX_BLOCKS = 256, 1 << 11


@cache
def program(dtype: np.dtype) -> Program:
    """Return the program for ids of a dtype."""
    return Program(Path(__file__).with_name("arrivals.cu"), defines=(("ID_T", c_type(dtype)),))


def programs() -> list[Program]:
    """Return all programs, for the compile check."""
    return [program(dtype) for dtype in DTYPES]


class Arrivals:
    """Copies ids of events to a device and checks them; used in one thread at a time.

    Args:
        device: the CUDA device.
    """

    def __init__(self, device: Device) -> None:
        self._device, self._xp = device, device.xp
        self._stream = device.xp.cuda.Stream(non_blocking=True)
        self._read = PinnedCounters(device, 1)
        self._buffers, self._copies = [_Buffer(device), _Buffer(device)], HostCopies(device)
        self._largest = device.xp.zeros(1, np.uint64)  # of ids that are on the device
        device.synchronize()  # what had the memory of the buffers before may be under way in another stream

    @property
    def memory(self) -> int:
        """Bytes of the buffers, on the device and in pinned memory."""
        return sum(each.memory.nbytes for each in self._buffers) + self._copies.memory

    def take(self, src: Any, dst: Any) -> tuple[Array, Array] | None:
        """Return two columns of ids as ``uint32`` arrays on the device; waits until they are copied and checked.

        Args:
            src, dst: arrays of one length, on the host or on the device; they may be changed afterwards.

        Returns:
            None if they are few, of an unsupported kind, or contain invalid ids, which :func:`checked_ids` then
            reports; or if the device lacks the memory: ids wait on the host, and a slide that fails is made again.
        """
        kinds = np.ndarray, self._xp.ndarray
        if type(src) not in kinds or type(dst) is not type(src) or src.dtype != dst.dtype or len(src) != len(dst):
            return None
        if len(src) < LEAST or src.dtype not in DTYPES or not (is_flat(src) and is_flat(dst)):
            return None
        with self._device.current(), suppress(MemoryError):
            return self._copied(src, dst) if isinstance(src, np.ndarray) else self._kept(src, dst)
        return None

    def _copied(self, src: np.ndarray, dst: np.ndarray) -> tuple[Array, Array] | None:
        """Take columns from the host."""
        buffer = self._buffers[0]
        buffer.reserve(2 * _bytes_for(src))
        with self._stream:
            ends = buffer.columns(src, self._stream)
            try:
                if 2 * src.nbytes < BUFFERED:
                    for column, end in zip((src, dst), ends, strict=True):
                        end.set(column, stream=self._stream)
                else:
                    self._copies((src, dst), ends, self._stream)
                valid = self._are_ids(ends, buffer.largest)
            except BaseException:
                self._stream.synchronize()  # the caller may change what would still be read
                raise
        if not valid:
            buffer.largest.fill(0)
            buffer.used()
            return None
        ids = self._taken(ends, buffer.largest)
        buffer.used()
        self._buffers.reverse()
        return ids

    def _kept(self, src: Array, dst: Array) -> tuple[Array, Array] | None:
        """Take columns that are on the device."""
        if self._are_ids((src, dst), self._largest):
            return self._taken((src, dst), self._largest)
        self._largest.fill(0)
        return None

    def _are_ids(self, ends: tuple[Array, Array], largest: Array) -> bool:
        """Return whether all are ids of vertices; waits for the current stream."""
        self._launch("largest_id", ends, largest)
        self._read.copy_from(largest)
        self._read.wait()
        return int(self._read.array[0]) < MAX_VERTICES

    def _taken(self, ends: tuple[Array, Array], largest: Array) -> tuple[Array, Array]:
        ids = self._xp.empty((2, len(ends[0])), np.uint32)
        self._launch("take_ids", ends, ids, largest)
        return ids[0], ids[1]

    @staticmethod
    def _launch(name: str, ends: tuple[Array, Array], *results: Array) -> None:
        n, kernel = len(ends[0]), program(ends[0].dtype).kernel(name)
        kernel((min(-(-n // _BLOCK), _MAX_BLOCKS),), (_BLOCK,), (*ends, np.int64(n), *results))


def _bytes_for(column: np.ndarray) -> int:
    """Return the bytes that a column takes in a buffer, so that the next one is aligned."""
    return -(-column.nbytes // 16) * 16


class _Buffer:
    """Memory on a device that a stream of copies writes and the current stream reads, in turn.

    Attributes:
        memory: ``uint8[n]``.
        largest: ``uint64[1]``, zero between chunks.
    """

    def __init__(self, device: Device) -> None:
        self._device, self.memory = device, device.xp.empty(0, np.uint8)
        self._free = device.xp.cuda.Event(disable_timing=True)
        self.largest = device.xp.zeros(1, np.uint64)

    def reserve(self, size: int) -> None:
        """Have ``size`` bytes; waits for the device if that needs more memory."""
        if size > len(self.memory):
            self.memory = self._device.xp.empty(1 << (size - 1).bit_length(), np.uint8)
            self._device.synchronize()  # what had this memory before may be under way in another stream
            self._free.record()

    def columns(self, like: np.ndarray, stream: Any) -> tuple[Array, Array]:
        """Return two arrays of the dtype and length of one, which ``stream`` may write behind what reads the memory."""
        stream.wait_event(self._free)
        step, size = _bytes_for(like), like.nbytes
        first, second = (self.memory[at : at + size].view(like.dtype) for at in (0, step))
        return first, second

    def used(self) -> None:
        """Note that what reads the memory is queued in the current stream."""
        self._free.record()
