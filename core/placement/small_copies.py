"""Small arrays between host and device in few calls, by pinned memory: one way is copied, the other read in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.types import EdgeList, Outcome
from suricate.store import STATUS

if TYPE_CHECKING:
    from suricate.base.devices import Array, Device

ALIGNMENT = 16  #: bytes


class Pinned:
    """Pinned memory of the host, of which parts are handed out in turn; ``at``: where the next one begins."""

    def __init__(self, device: Device) -> None:
        self._device, self._held, self.at = device, np.empty(0, np.uint8), 0
        self.address = 0  #: of the memory

    def _grow(self, size: int) -> Any:
        """Take other memory of ``size`` bytes; arrays over the earlier memory keep it. Return what owns it."""
        owner = self._device.xp.cuda.alloc_pinned_memory(size)
        self._held, self.at = np.frombuffer(owner, np.uint8, size), 0
        self.address = self._held.ctypes.data
        return owner

    def next_part(self, size: int, dtype: Any = np.uint8) -> tuple[int, np.ndarray]:
        """Return the address of the next part, and it as an array of ``size`` bytes."""
        if (end := self.at + size) >= len(self._held):
            self._grow(2 * end + ALIGNMENT)
            end = size
        at, self.at = self.at, (end // ALIGNMENT + 1) * ALIGNMENT  # empty parts have other addresses, too
        return self.address + at, self._held[at:end].view(dtype)


class Download(Pinned):
    """Copies arrays of ``device`` to pinned memory, which the next call overwrites; NumPy's are returned unchanged."""

    def __call__(self, arrays: Sequence[Array], shown: Shown) -> list[Any]:
        """Return ``arrays``, contiguous ones, in host memory; waits for the device if one of them lies there.

        Those that :meth:`Shown.outcome` made are there already.
        """
        found, self.at, stream = [*arrays], 0, None
        for place, array in enumerate(arrays):
            if isinstance(array, np.ndarray):
                continue
            cuda = self._device.xp.cuda
            stream = stream or cuda.get_current_stream()
            found[place] = shown.written.get(array.data.ptr)
            if found[place] is None:  # by the driver's function: ``get`` takes three times as long to call
                address, found[place] = self.next_part(array.nbytes, array.dtype)
                kind = cuda.runtime.memcpyDeviceToHost
                cuda.runtime.memcpyAsync(address, array.data.ptr, array.nbytes, kind, stream.ptr)
        if stream is not None:
            stream.synchronize()
        return found


class Shown(Pinned):
    """Memory of the host that kernels read and write where it lies: for few edges a copy would take longer."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self._memory: Any = None  # CuPy's view of it
        self.busy = False  #: whether kernels may use it
        self.written: dict[int, np.ndarray] = {}  #: by address: what :meth:`outcome` made, as the host has it

    def begin(self) -> None:
        """End the use of all that was shown; waits for the device unless :meth:`release` was called since."""
        if self.busy:
            self._device.synchronize()
        self.at, self.busy = 0, False
        self.written.clear()

    def release(self) -> None:
        """Note that the device has been waited for since the last call, so that kernels have read what was shown."""
        self.busy = False

    def _grow(self, size: int) -> None:
        owner = super()._grow(size)
        self._memory = self._device.xp.cuda.UnownedMemory(self.address, size, owner, self._device.index)

    def __call__(self, edges: EdgeList, places: np.ndarray) -> EdgeList:
        """Return the ``edges`` at ``places`` as arrays that kernels read, until :meth:`begin` is called."""
        columns, count = list[Any](), len(places)
        for column in edges:
            if column is not None:
                shown, there = self._empty(count, column.dtype)
                column.take(places, out=there, mode="clip")  # which copies straight to there
                columns.append(shown)
        return EdgeList(*columns)

    def outcome(self, size: int) -> Outcome:
        """Return an outcome of ``size`` edges without weights, which a kernel may write until :meth:`begin`."""
        shown, there = self._empty(size, STATUS)
        self.written[shown.data.ptr] = there
        return Outcome(shown, None)

    def _empty(self, count: int, dtype: np.dtype) -> tuple[Array, np.ndarray]:
        xp, (address, there), self.busy = self._device.xp, self.next_part(count * dtype.itemsize, dtype), True
        return xp.ndarray((count,), dtype, xp.cuda.MemoryPointer(self._memory, address - self.address)), there
