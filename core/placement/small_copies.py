"""Small arrays between host and device in few calls, by pinned memory: one way is copied, the other read in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.types import EdgeList

if TYPE_CHECKING:
    from suricate.base.devices import Array, Device

ALIGNMENT = 16  #: bytes


class Pinned:
    """Pinned memory of the host, of which parts are handed out in turn."""

    def __init__(self, device: Device) -> None:
        self._device, self._held, self._at = device, np.empty(0, np.uint8), 0
        self._address = 0  # of ``_held``

    def _grow(self, size: int) -> Any:
        """Take other memory, of which ``size`` bytes are handed out next; return what owns it."""
        owner = self._device.xp.cuda.alloc_pinned_memory(2 * size)
        self._held, self._at = np.frombuffer(owner, np.uint8, 2 * size), 0
        self._address = self._held.ctypes.data
        return owner

    def _next(self, size: int, dtype: Any) -> tuple[int, np.ndarray]:
        """Return where the next part begins, and it as an array of ``size`` bytes."""
        at, end = self._at, self._at + size
        self._at = -(-end // ALIGNMENT) * ALIGNMENT
        return at, self._held[at:end].view(dtype)


class Download(Pinned):
    """Copies arrays of ``device`` to pinned memory, which the next call overwrites; NumPy's are returned unchanged."""

    def __call__(self, arrays: Sequence[Array]) -> list[Any]:
        """Return ``arrays``, contiguous ones, in host memory; waits for the device if one of them lies there."""
        found, self._at = [*arrays], 0
        places = [place for place, array in enumerate(arrays) if not isinstance(array, np.ndarray)]
        if not places:
            return found
        size = sum([arrays[place].nbytes + ALIGNMENT for place in places])
        if size > len(self._held):
            self._grow(size)
        cuda = self._device.xp.cuda
        copy, kind, stream = cuda.runtime.memcpyAsync, cuda.runtime.memcpyDeviceToHost, cuda.get_current_stream()
        for place in places:  # by the driver's function: ``get`` takes three times as long to call
            array = arrays[place]
            at, found[place] = self._next(array.nbytes, array.dtype)
            copy(self._address + at, array.data.ptr, array.nbytes, kind, stream.ptr)
        stream.synchronize()
        return found


class Shown(Pinned):
    """Shows edges of the host to kernels, which read them where they lie: for few edges a copy would take longer."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self._memory: Any = None  # CuPy's view of ``_held``

    def begin(self) -> None:
        """End the use of all that was shown; waits for the device unless :meth:`release` was called since."""
        if self._at:
            self._device.xp.cuda.get_current_stream().synchronize()
            self.release()

    def release(self) -> None:
        """Note that the device has been waited for since the last call, so that kernels have read what was shown."""
        self._at = 0

    def __call__(self, edges: EdgeList, places: np.ndarray) -> EdgeList:
        """Return the ``edges`` at ``places`` as arrays that kernels read, until :meth:`begin` is called."""
        return edges.each(lambda column: self._show(column, places))

    def _show(self, column: np.ndarray, places: np.ndarray) -> Array:
        size, cuda = len(places) * column.itemsize, self._device.xp.cuda
        if self._at + size > len(self._held):
            owner = self._grow(size + ALIGNMENT)  # arrays over the earlier memory keep it
            self._memory = cuda.UnownedMemory(self._address, len(self._held), owner, self._device.index)
        at, there = self._next(size, column.dtype)
        column.take(places, out=there, mode="clip")  # which copies straight to there
        return self._device.xp.ndarray((len(places),), column.dtype, cuda.MemoryPointer(self._memory, at))
