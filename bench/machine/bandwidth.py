"""The peak that rates are compared with: a large copy on the device, measured in the same run."""

from __future__ import annotations

import statistics
import time

import numpy as np

from suricate.base.devices import Device
from suricate.bench import constants


def copy_bandwidth(device: Device, size: int = constants.COPY_BYTES, repeats: int = constants.COPY_REPEATS) -> float:
    """Copy ``size`` bytes on ``device``; return bytes per second, read plus written (median of ``repeats``).

    If the free memory of a GPU is too small for ``size``, fewer bytes are copied.
    """
    if device.is_cuda:
        free, _ = device.xp.cuda.runtime.memGetInfo()
        size = min(size, free // 4)
    source = device.xp.zeros(size // 8, np.int64)
    target = device.xp.empty_like(source)
    samples = []
    for _ in range(repeats + 2):
        device.synchronize()
        start = time.perf_counter()
        target[:] = source
        device.synchronize()
        samples.append(time.perf_counter() - start)
    return 2 * source.nbytes / statistics.median(samples[2:])
