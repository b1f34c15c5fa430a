"""Upload of the ids of events to a CUDA device: copied and checked while the device works on the slide before.

A separate stream copies two columns from the host to a buffer (pageable memory through pinned memory that threads
fill, see ``suricate.cuda.host_copies``) and finds the largest id, for which the host waits; the graph's stream then
copies the ids out of the buffer. Two buffers alternate: one is written again when the ids of two chunks before have
been copied out. Ids that are on the device, or few ids in pinned memory, are copied and checked by one launch, for
which the host waits when it needs the result (:meth:`Arrivals.are_valid`). Kernels: ``arrivals.cu``.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from suricate.base.devices import Array, Device
from suricate.base.types import MAX_VERTICES
from suricate.cuda.host_copies import HostCopies
from suricate.cuda.kernel import WordKernel
from suricate.cuda.pinned import Answer
from suricate.cuda.program import Program, c_type
from suricate.intake.arrays import COMPILED, is_flat

LEAST = 1 << 17  #: events of a chunk on the host; it checks and copies fewer in less time,
LEAST_PINNED = 1 << 13  #: or fewer than this if they are in pinned memory, which a kernel can read
_BLOCK, _MAX_BLOCKS = 256, 1 << 11


@cache
def program(dtype: np.dtype) -> Program:
    """Return the CUDA program of ``arrivals.cu`` for ids of ``dtype``."""
    return Program(Path(__file__).with_name("arrivals.cu"), defines=(("ID_T", c_type(dtype)),))


def programs() -> list[Program]:
    """Return the CUDA programs for all dtypes of ids, to be compiled in CI without a GPU."""
    return [program(dtype) for dtype in COMPILED]


class Arrivals:
    """Copies ids of events to a device, which is current, and checks them; used in one thread at a time.

    Args:
        device: the CUDA device.
    """

    def __init__(self, device: Device) -> None:
        self._device, self._xp = device, device.xp
        self._stream = device.xp.cuda.Stream(non_blocking=True)
        self._buffers, self._copies = [_Buffer(device), _Buffer(device)], HostCopies(device)
        self._arriving, self._given = _Check(device), _Check(device)  # of ids in the buffers, and on the device
        self._asked = False  # whether the latter has not said whether ids are valid
        device.synchronize()  # what had the memory of the buffers before may be under way in another stream

    @property
    def memory(self) -> int:
        """Bytes of the buffers, on the device and in pinned memory."""
        return sum(each.size for each in self._buffers) + self._copies.memory

    def take(self, src: Any, dst: Any) -> tuple[Array, Array] | None:
        """Return two columns of ids as ``uint32`` arrays on the device; waits until those of the host are there.

        Args:
            src, dst: arrays of one length, on the host or on the device. Call :meth:`are_valid` before the next call,
                and before the arrays are changed.

        Returns:
            None if the caller must check and keep the ids itself (:func:`checked_ids`): they are few, of another dtype,
            or on the host and not all valid; or the device lacks memory.
        """
        kinds = np.ndarray, self._xp.ndarray
        if type(src) not in kinds or type(dst) is not type(src) or src.dtype != dst.dtype or len(src) != len(dst):
            return None
        on_host, number = type(src) is np.ndarray, len(src)
        if not number or src.dtype not in COMPILED or not (is_flat(src) and is_flat(dst)):
            return None
        try:
            if on_host and number >= LEAST:
                return self._copied(src, dst)
            if not on_host:
                return self._kept(src, src.data.ptr, dst.data.ptr)
            if number >= LEAST_PINNED and self._copies.is_pinned(src) and self._copies.is_pinned(dst):
                return self._kept(src, src.ctypes.data, dst.ctypes.data)
        except MemoryError:
            pass
        return None

    def are_valid(self) -> bool:
        """Wait until the columns that :meth:`take` returned last are checked; return whether all ids are valid."""
        asked, self._asked = self._asked, False
        return not asked or self._given.found_valid()

    def _copied(self, src: np.ndarray, dst: np.ndarray) -> tuple[Array, Array] | None:
        """Return ``src`` and ``dst`` from the host as ``uint32`` arrays on the device; None if an id is invalid."""
        buffer = self._buffers[0]
        buffer.reserve(2 * _bytes_for(src))
        with self._stream:
            ends = buffer.columns(src, self._stream)
            try:
                self._copies((src, dst), ends, self._stream)
                valid = self._arriving(src.dtype, len(src), *(each.data.ptr for each in ends)).found_valid()
            except BaseException:
                self._stream.synchronize()  # the caller may change what would still be read
                raise
        if not valid:
            return None  # nothing reads the buffer
        number, (memory, ids) = len(src), self._new_ids(len(src))
        _launch("take_ids", number, *ends, number, memory)
        buffer.used()
        self._buffers.reverse()
        return ids

    def _kept(self, like: Array, src: int, dst: int) -> tuple[Array, Array]:
        """Queue a launch that copies and checks two columns; return the copies, ``uint32`` arrays on the device.

        ``src`` and ``dst`` are addresses that kernels can read; ``like`` is an array of their dtype and length.
        :meth:`are_valid` tells whether the ids are valid.
        """
        memory, ids = self._new_ids(len(like))
        self._given(like.dtype, len(like), src, dst, memory)
        self._asked = True
        return ids

    def _new_ids(self, number: int) -> tuple[int, tuple[Array, Array]]:
        """Return the address of new memory for two columns of ``number`` ids, and the columns, ``uint32`` arrays."""
        array, memory = self._xp.ndarray, self._xp.cuda.alloc(8 * number)
        return memory.ptr, (array(number, np.uint32, memory), array(number, np.uint32, memory + 4 * number))


class _Check:
    """Has the device check whether two columns hold valid ids of vertices; used in one stream."""

    def __init__(self, device: Device) -> None:
        self._answer, self._kernels = Answer(device, 1), dict[np.dtype, WordKernel]()
        self._largest, self._done = device.xp.zeros(1, np.uint64), device.xp.zeros(1, np.uint32)
        self._words = self._largest.data.ptr, self._done.data.ptr, self._answer.address

    def __call__(self, dtype: np.dtype, number: int, src: int, dst: int, ids: int = 0) -> _Check:
        """Queue the check of ``number`` ids of type ``dtype`` at each of the addresses ``src`` and ``dst``.

        ``ids`` is the address for ``uint32`` copies, first those of ``src``; 0: none are made. Returns this object.
        """
        if dtype not in self._kernels:
            self._kernels[dtype] = WordKernel(program(dtype).kernel("check_ids"), _BLOCK, 8)
        launch = self._kernels[dtype]
        launch(_blocks_for(number), src, dst, number, ids, *self._words, self._answer.next())
        return self

    def found_valid(self) -> bool:
        """Wait for the result of the last check; return whether all were ids of vertices."""
        return bool(self._answer.read()[0] < MAX_VERTICES)


def _launch(name: str, number: int, src: Array, *others: Any) -> None:
    kernel = program(src.dtype).kernel(name)
    kernel((_blocks_for(number),), (_BLOCK,), (src, *others))


def _blocks_for(number: int) -> int:
    return min(-(-number // _BLOCK), _MAX_BLOCKS)


def _bytes_for(column: np.ndarray) -> int:
    """Return the bytes that a column takes in a buffer, so that the next one is aligned."""
    return -(-column.nbytes // 16) * 16


class _Buffer:
    """Memory on a device, which a stream of copies writes and the current stream then reads, again and again.

    Attributes:
        size: its bytes.
    """

    def __init__(self, device: Device) -> None:
        self._device, self._xp = device, device.xp
        self._memory: Any = None  # a pointer
        self.size = 0
        self._free = device.xp.cuda.Event(disable_timing=True)

    def reserve(self, size: int) -> None:
        """Make the buffer at least ``size`` bytes large; waits for the device if that needs new memory."""
        if size > self.size:
            wanted = 1 << (size - 1).bit_length()
            self._memory, self.size = self._xp.cuda.alloc(wanted), wanted
            self._device.synchronize()  # what had this memory before may be under way in another stream
            self._free.record()

    def columns(self, like: np.ndarray, stream: Any) -> tuple[Array, Array]:
        """Return two arrays in this memory with the dtype and length of ``like``, for ``stream`` to write.

        ``stream`` first waits until work queued before :meth:`used` has read the memory.
        """
        stream.wait_event(self._free)
        array, memory = self._xp.ndarray, self._memory
        return array(like.shape, like.dtype, memory), array(like.shape, like.dtype, memory + _bytes_for(like))

    def used(self) -> None:
        """Record that all work that reads the memory is queued in the current stream."""
        self._free.record()
