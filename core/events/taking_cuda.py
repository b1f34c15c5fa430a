"""Events that come to a log on CUDA, by one launch that checks them and writes them to the rings, and cuts in time."""

from __future__ import annotations

from functools import cache, cached_property
from pathlib import Path

import numpy as np

from suricate.base.devices import Array, Device
from suricate.cuda.kernel import WordKernel
from suricate.cuda.pinned import Answer
from suricate.cuda.program import Program, c_type
from suricate.events.index_cuda import INDEX
from suricate.events.record import Record
from suricate.intake.arrays import COMPILED

THREADS, MOST_BLOCKS = 256, 1 << 11


@cache
def program(dtype: np.dtype) -> Program:
    """Return the CUDA program for ids of ``dtype``."""
    return Program(Path(__file__).with_name("take.cu"), defines=(("ID_T", c_type(dtype)),))


def programs() -> list[Program]:
    """Return the CUDA programs for all dtypes of ids."""
    return [*map(program, sorted(COMPILED, key=str))]


class Taking:
    """Takes events on a device, which is current; used in one thread and stream at a time."""

    def __init__(self, device: Device) -> None:
        self._answer, self._kernels = Answer(device, 4), dict[np.dtype, WordKernel]()
        self._state, self._done = device.xp.zeros(2, np.uint64), device.xp.zeros(1, np.uint32)

    def __call__(self, record: Record, given: tuple[Array, Array, Array], num_vertices: int, limit: int) -> int | None:
        """Write events behind ``next`` of a record with memory for them; return the last time.

        ``given``: times, ``int64``, sources and destinations, contiguous arrays on the device, of one length, at least
        1. None, with nothing to tell why: an id is not below ``num_vertices``, times descend, or the first one is below
        ``limit``, or ids have another dtype than those in ``COMPILED``, or two.
        """
        (time, src, dst), rings = given, (record.sources, record.targets, record.time)
        if src.dtype != dst.dtype or src.dtype not in COMPILED:
            return None
        kernel, count = self._kernels.get(src.dtype), len(src)
        if kernel is None:
            kernel = self._kernels[src.dtype] = WordKernel(program(src.dtype).kernel("take_events"), THREADS, 13)
        kernel(
            min(-(-count // THREADS), MOST_BLOCKS), src.data.ptr, dst.data.ptr, time.data.ptr, count,
            *(ring.data.ptr for ring in rings), record.next, record.capacity - 1, self._state.data.ptr,
            self._done.data.ptr, self._answer.address, self._answer.next(),
        )  # fmt: skip
        largest, descends = self._answer.read()[:2]
        first, last = self._answer.array[3:].view(np.int64).tolist()
        return last if largest < num_vertices and not descends and first >= limit else None

    @cached_property
    def _count(self) -> WordKernel:
        return WordKernel(INDEX.kernel("count_before"), 32, 7)

    def number_from(self, record: Record, time: int) -> int:
        """Return the number of the first event kept with a time >= ``time``, ``next`` if there is none."""
        self._count(
            1, record.time.data.ptr, record.capacity - 1, record.first, record.next, time, self._answer.address,
            self._answer.next(),
        )  # fmt: skip
        return record.first + self._answer.read()[0]
