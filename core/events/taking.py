"""The loop by which a log on the CPU takes events that need no order: it checks them, and writes them to the rings."""

from __future__ import annotations

from typing import Any

import numpy as np

from suricate.cpu.jit import EntryPoints, kernel
from suricate.events.record import Record
from suricate.intake.arrays import COMPILED

_TAKING = EntryPoints()


def take(record: Record, given: tuple[Any, Any, Any], num_vertices: int, limit: int) -> int | None:
    """Write events behind ``next`` of a record with memory for them, if they are valid and ascend from ``limit`` on.

    ``given``: times, sources and destinations, as many of each, at least one. Return the newest time; None, with
    nothing to tell why, for others than arrays ``int64[n]`` and ids of a dtype in ``COMPILED``.
    """
    time, src, dst = given
    kind = src.dtype
    known = time.dtype == np.int64 and dst.dtype == kind and kind in COMPILED
    if not (known and time.flags.carray and src.flags.carray and dst.flags.carray):
        return None  # the loop is not compiled for strides, nor for read-only memory
    rings = record.time, record.sources, record.targets
    call = time, src, dst, num_vertices, limit, *rings, record.next & (len(rings[0]) - 1)
    taken = (_TAKING.get(kind) or _TAKING.look_up(kind, _take, call))(*call)
    return int(time[-1]) if taken else None


@kernel
def _take(time, src, dst, num_vertices, limit, times, sources, targets, at):
    """Write valid events to rings, from the place ``at`` on; return whether all are valid."""
    mask, last = len(times) - 1, np.int64(limit)
    for i in range(len(time)):
        if time[i] < last or max(np.uint64(src[i]), np.uint64(dst[i])) >= np.uint64(num_vertices):
            return False
        last = time[i]
        place = (at + i) & mask
        times[place], sources[place], targets[place] = time[i], src[i], dst[i]
    return True
