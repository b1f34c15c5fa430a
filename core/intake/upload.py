"""Copies of host arrays of batches to a CUDA device: all columns of a small batch in one transfer."""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.base.devices import Device
from suricate.base.types import EdgeList
from suricate.cuda.staging import Staging

MOST_BYTES = 1 << 20  #: of a transfer; larger batches go a column at a time
AT_ONCE = 1 << 16  #: bytes of pageable memory that the driver copies before it returns, without a wait for the device


def lies_on_host(edges: tuple[Any, Any, Any]) -> bool:
    """Return whether all arrays of a batch lie on the host."""
    src, dst, weight = edges
    if not isinstance(src, np.ndarray) or not isinstance(dst, np.ndarray):
        return False
    return weight is None or isinstance(weight, (np.ndarray, np.generic))


def fits_one_transfer(edges: EdgeList) -> bool:
    """Return whether all columns of a batch on the host can be copied by one transfer."""
    return sum(column.nbytes for column in edges if column is not None) <= MOST_BYTES


class Upload:
    """Copies batches from the host to a CUDA device; does not wait.

    It takes a third of the host time of CuPy's transfers, which check for pinned memory each time.
    """

    def __init__(self, device: Device) -> None:
        self._cupy, self._staging = device.xp, Staging(device)

    def __call__(self, edges: EdgeList) -> EdgeList:
        """Return ``edges``, a batch in host memory (``uint32`` ids, weights or None), as copies on the device."""
        cupy, (src, dst, weight) = self._cupy, edges
        columns = (src, dst) if weight is None else (src, dst, weight.view(np.uint32))
        n, width, size = len(src), 4 * len(src), sum(column.nbytes for column in columns)
        if size > MOST_BYTES:
            return EdgeList(cupy.asarray(src), cupy.asarray(dst), weight if weight is None else cupy.asarray(weight))
        host = np.empty(size, np.uint8) if size <= AT_ONCE else self._staging(size)
        np.concatenate(columns, out=host.view(np.uint32))
        memory, runtime, stream = cupy.cuda.alloc(size), cupy.cuda.runtime, cupy.cuda.get_current_stream()
        runtime.memcpyAsync(memory.ptr, host.ctypes.data, size, runtime.memcpyHostToDevice, stream.ptr)
        if size > AT_ONCE:
            self._staging.queued()
        return EdgeList(
            cupy.ndarray((n,), np.uint32, memory),
            cupy.ndarray((n,), np.uint32, memory + width),
            weight if weight is None else cupy.ndarray((n,), weight.dtype, memory + 2 * width),
        )
