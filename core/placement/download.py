"""Copies of a few small arrays from a device to the host, with one wait for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from suricate.base.devices import Array, Device

ALIGNMENT = 16  #: bytes


class Download:
    """Copies arrays of ``device`` to pinned memory, which the next call overwrites; NumPy's are returned unchanged."""

    def __init__(self, device: Device) -> None:
        self._device, self._held = device, np.empty(0, np.uint8)

    def __call__(self, arrays: Sequence[Array]) -> list[Any]:
        """Return ``arrays``, contiguous ones, in host memory; waits for the device if one of them lies there."""
        found = [*arrays]
        places = [place for place, array in enumerate(arrays) if not isinstance(array, np.ndarray)]
        if not places:
            return found
        cuda, at = self._device.xp.cuda, 0
        size = sum(arrays[place].nbytes + ALIGNMENT for place in places)
        if size > len(self._held):
            self._held = np.frombuffer(cuda.alloc_pinned_memory(2 * size), np.uint8, 2 * size)
        for place in places:
            array = arrays[place]
            found[place] = self._held[at : at + array.nbytes].view(array.dtype)
            array.get(out=found[place], blocking=False)
            at += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        cuda.get_current_stream().synchronize()
        return found
