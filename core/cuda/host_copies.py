"""Copies of large host arrays to a CUDA device, from pageable memory as fast as from pinned memory.

The driver copies pageable memory in one thread, piece by piece, at a fraction of the speed of the bus. Here several
threads copy pieces to buffers in pinned memory, while full buffers are copied to the device in a stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np

from suricate.base.devices import Array, Device
from suricate.cpu import threads

PIECE = 1 << 20  #: bytes of a buffer
THREADS, EACH = 4, 2  #: the most threads that fill buffers, and the buffers that each uses in turn

Piece = tuple[np.ndarray, int]  # bytes on the host, and where on the device they go


class HostCopies:
    """Copies flat arrays of the host to a device; used in one thread at a time.

    It allocates pinned memory, ``THREADS * EACH * PIECE`` bytes, when pageable memory is first copied, and keeps it.

    Args:
        device: the CUDA device.
    """

    def __init__(self, device: Device) -> None:
        self._device, self._xp = device, device.xp
        self._lanes: list[list[_Buffer]] | None = None  # the buffers of each thread; empty if there is no memory

    @property
    def memory(self) -> int:
        """Bytes of pinned memory that this object holds."""
        return PIECE * EACH * len(self._lanes or ())

    def __call__(self, arrays: Sequence[np.ndarray], targets: Sequence[Array], stream: Any) -> None:
        """Queue copies of ``arrays`` to ``targets``, device arrays of the same dtypes and lengths, in ``stream``.

        Pageable arrays may be changed when this returns, pinned ones only when the copies have ended. If it raises,
        copies may be running: wait for the stream.
        """
        pieces: list[Piece] = []
        for array, target in zip(arrays, targets, strict=True):
            if self.is_pinned(array) or not self._buffers():
                target.set(array, stream=stream)
            else:
                pieces += _pieces(array.view(np.uint8), target.data.ptr)
        if pieces:
            numbers = count()
            threads.run(self._fill, [(lane, pieces, numbers, stream) for lane in self._buffers()])

    def is_pinned(self, array: np.ndarray) -> bool:
        """Return whether a host array is in pinned memory, from which the device can copy by itself."""
        runtime = self._xp.cuda.runtime
        return runtime.pointerGetAttributes(array.ctypes.data).type != runtime.memoryTypeUnregistered

    def _buffers(self) -> list[list[_Buffer]]:
        """Return the buffers of each thread, made at the first call; an empty list if there is no pinned memory."""
        if self._lanes is None:
            try:
                self._lanes = [[_Buffer(self._xp) for _ in range(EACH)] for _ in range(THREADS)]
            except (MemoryError, RuntimeError):
                self._lanes = []
        return self._lanes

    def _fill(self, lane: list[_Buffer], pieces: list[Piece], numbers: Iterator[int], stream: Any) -> None:
        """Copy pieces to the buffers ``lane`` of one thread in turn; queue their copies to the device in ``stream``."""
        runtime, turn = self._xp.cuda.runtime, 0
        with self._device.current():
            while (number := next(numbers)) < len(pieces):
                (source, target), buffer = pieces[number], lane[turn % EACH]
                buffer.copied.synchronize()
                np.copyto(buffer.bytes[: len(source)], source)
                runtime.memcpyAsync(target, buffer.address, len(source), runtime.memcpyHostToDevice, stream.ptr)
                buffer.copied.record(stream)
                turn += 1


class _Buffer:
    """Pinned memory, ``bytes`` at ``address``, and ``copied``, the event after its last copy to the device."""

    def __init__(self, xp: Any) -> None:
        self.bytes = np.frombuffer(xp.cuda.alloc_pinned_memory(PIECE), np.uint8, PIECE)
        self.address: int = self.bytes.ctypes.data
        self.copied = xp.cuda.Event(disable_timing=True)


def _pieces(source: np.ndarray, target: int) -> list[Piece]:
    """Cut the bytes ``source``, to be copied to the device address ``target``, into pieces that fit into a buffer."""
    return [(source[at : at + PIECE], target + at) for at in range(0, len(source), PIECE)]
