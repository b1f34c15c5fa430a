"""Ids of events on their way to a CUDA device: copied and checked beside what the device does for the slide before.

A stream of its own copies two columns from the host to a buffer and looks for the largest id, for which the host waits;
the graph's stream then takes the ids out of the buffer. There are two buffers in turn: one is written again when the
ids of two chunks before have been taken out. Kernels: ``arrivals.cu``.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from suricate.base.devices import Array, Device
from suricate.base.types import MAX_VERTICES
from suricate.cuda.pinned import PinnedCounters
from suricate.cuda.program import Program, c_type
from suricate.intake.arrays import is_flat

LEAST = 1 << 15  #: events of a chunk; the host checks fewer in less time
DTYPES = "uint32", "int32", "int64", "uint64"
_BLOCK, _MAX_BLOCKS = 256, 1 << 11


@cache
def program(dtype: str) -> Program:
    """Return the program for ids of a dtype."""
    return Program(Path(__file__).with_name("arrivals.cu"), defines=(("ID_T", c_type(dtype)),))


def programs() -> list[Program]:
    """Return all programs, for the compile check."""
    return [program(dtype) for dtype in DTYPES]


class Arrivals:
    """Takes ids to a device; used in one thread at a time.

    Args:
        device: the CUDA device.
    """

    def __init__(self, device: Device) -> None:
        self._device, self._xp = device, device.xp
        self._stream = device.xp.cuda.Stream(non_blocking=True)
        self._largest, self._read = device.xp.empty(1, np.uint64), PinnedCounters(device, 1)
        self._buffers = [_Buffer(device), _Buffer(device)]
        device.synchronize()  # what had this memory before may be under way in another stream

    def take(self, src: Any, dst: Any) -> tuple[Array, Array] | None:
        """Return two columns of ids as ``uint32`` arrays on the device; waits until they are there, and are checked.

        Args:
            src, dst: arrays of one length, on the host or on the device; those of the host may be changed afterwards.

        Returns:
            None if they are few, of another kind, or not all ids of vertices: :func:`checked_ids` says which are not.

        Raises:
            MemoryError: there is not enough memory.
        """
        columns = src, dst
        if not all(map(self._takes, columns)) or len(src) != len(dst):
            return None
        with self._device.current():
            if isinstance(src, np.ndarray) and isinstance(dst, np.ndarray):
                return self._copied(columns)
            return self._kept(columns)

    def _takes(self, column: Any) -> bool:
        kinds = np.ndarray, self._xp.ndarray
        return type(column) in kinds and is_flat(column) and len(column) >= LEAST and column.dtype.name in DTYPES

    def _copied(self, columns: tuple[Any, ...]) -> tuple[Array, Array] | None:
        """Return columns of the host."""
        buffer = self._buffers[0]
        buffer.reserve(sum(map(_bytes_for, columns)))
        with self._stream:
            raw = buffer.filled(columns, self._stream)
            valid = self._are_ids(raw)
        if not valid:
            return None
        src, dst = (self._taken(column) for column in raw)
        buffer.used()
        self._buffers.reverse()
        return src, dst

    def _kept(self, columns: tuple[Any, ...]) -> tuple[Array, Array] | None:
        """Return columns of which one or both are on the device."""
        raw = [self._xp.asarray(column) for column in columns]
        if not self._are_ids(raw):
            return None
        src, dst = (column if column.dtype == np.uint32 else self._taken(column) for column in raw)
        return src, dst

    def _are_ids(self, columns: list[Array]) -> bool:
        """Return whether all are ids of vertices; waits for the current stream."""
        self._largest.fill(0)
        for column in columns:
            self._launch("largest_id", column, self._largest)
        self._read.copy_from(self._largest)
        self._read.wait()
        return int(self._read.array[0]) < MAX_VERTICES

    def _taken(self, column: Array) -> Array:
        ids = self._xp.empty(len(column), np.uint32)
        self._launch("take_ids", column, ids)
        return ids

    @staticmethod
    def _launch(name: str, column: Array, result: Array) -> None:
        n, kernel = len(column), program(column.dtype.name).kernel(name)
        kernel((min(-(-n // _BLOCK), _MAX_BLOCKS),), (_BLOCK,), (column, np.int64(n), result))


def _bytes_for(column: np.ndarray) -> int:
    """Return the bytes that a column takes in a buffer, so that the next one is aligned."""
    return -(-column.nbytes // 16) * 16


class _Buffer:
    """Memory on a device that a stream of copies writes and the current stream reads, in turn."""

    def __init__(self, device: Device) -> None:
        self._device, self._memory = device, device.xp.empty(0, np.uint8)
        self._free = device.xp.cuda.Event(disable_timing=True)

    def reserve(self, size: int) -> None:
        """Have ``size`` bytes; waits for the device if that needs more memory."""
        if size > len(self._memory):
            self._memory = self._device.xp.empty(1 << (size - 1).bit_length(), np.uint8)
            self._device.synchronize()  # as above
            self._free.record()

    def filled(self, columns: tuple[np.ndarray, ...], stream: Any) -> list[Array]:
        """Queue copies of columns behind what reads the memory; return them."""
        stream.wait_event(self._free)
        begin, arrays = 0, []
        for column in columns:
            array = self._memory[begin : begin + column.nbytes].view(column.dtype)
            array.set(column, stream=stream)
            arrays.append(array)
            begin += _bytes_for(column)
        return arrays

    def used(self) -> None:
        """Note that what reads the memory is queued in the current stream."""
        self._free.record()
