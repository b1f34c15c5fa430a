"""How much memory a piece of work allocates at its peak (arrays of NumPy, CuPy's pool), and what a process holds."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from suricate.base.devices import Device

Peak = Callable[[Callable[[], Any]], int]  #: does a piece of work; returns the most bytes held beyond those before


@contextmanager
def metering(device: Device) -> Iterator[Peak]:
    """Yield a function ``f(work)`` that calls ``work()`` and returns its peak: bytes allocated beyond those before.

    Allocations in the ``with`` block are counted, which slows the host down. On the CPU Python's own objects are
    counted, too, but not arrays that compiled kernels allocate for themselves.
    """
    if device.is_cuda:
        with _meter(device) as meter:
            yield meter.measure
        return
    tracing = tracemalloc.is_tracing()
    tracemalloc.start()
    try:
        yield _peak_on_host
    finally:
        if not tracing:
            tracemalloc.stop()


def resident_bytes() -> int | None:
    """Return the bytes of main memory that this process occupies; None if the system does not report them."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def anonymous_bytes() -> int | None:
    """Return the bytes of main memory that belong to no file, of this process; None if the system does not say."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) << 10
    return None


def _peak_on_host(work: Callable[[], Any]) -> int:
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    work()
    return max(0, tracemalloc.get_traced_memory()[1] - before)


def _meter(device: Device) -> Any:
    hook: Any = device.xp.cuda.MemoryHook

    class Meter(hook):
        name = "suricate peak"
        held = peak = 0

        def malloc_postprocess(self, *, mem_size: int, **_: Any) -> None:
            self.held += mem_size
            self.peak = max(self.peak, self.held)

        def free_postprocess(self, *, mem_size: int, **_: Any) -> None:
            self.held -= mem_size

        def measure(self, work: Callable[[], Any]) -> int:
            before = self.peak = self.held
            work()
            device.synchronize()
            return self.peak - before

    return Meter()
