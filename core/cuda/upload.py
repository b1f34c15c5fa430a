"""Small batches of host arrays on their way to a CUDA device: all columns go in one transfer."""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.devices import Device
from suricate.types import EdgeList

MOST_BYTES = 1 << 20  #: of a transfer; larger batches go a column at a time
AT_ONCE = 1 << 16  #: bytes of pageable memory that the driver copies before it returns, without a wait for the device


def fits_one_transfer(num_edges: int, weight_dtype: np.dtype | None) -> bool:
    """Return whether a batch of so many edges goes in one transfer."""
    return num_edges * (8 + (0 if weight_dtype is None else weight_dtype.itemsize)) <= MOST_BYTES


def upload(device: Device, edges: EdgeList) -> EdgeList:
    """Return a batch (uint32 ids, weights or None) in arrays on ``device``; does not wait."""
    ndarray, (src, dst, weight) = device.xp.ndarray, edges
    n, width = len(src), 4 * len(src)
    memory = _sent(device.xp, np.concatenate((src, dst) if weight is None else (src, dst, weight.view(np.uint32))))
    return EdgeList(
        ndarray((n,), np.uint32, memory),
        ndarray((n,), np.uint32, memory + width),
        weight if weight is None else ndarray((n,), weight.dtype, memory + 2 * width),
    )


def _sent(cupy: Any, host: np.ndarray) -> Any:
    """Return device memory that holds what ``host`` does. CuPy's own way, by pinned memory, takes the host longer."""
    if host.nbytes > AT_ONCE:
        return cupy.asarray(host).data
    memory, runtime, stream = cupy.cuda.alloc(host.nbytes), cupy.cuda.runtime, cupy.cuda.get_current_stream()
    runtime.memcpyAsync(memory.ptr, host.ctypes.data, host.nbytes, runtime.memcpyHostToDevice, stream.ptr)
    return memory
