"""The bytes of a store against its memory limit, as plain integers."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from suricate.base.devices import Device
from suricate.errors import CapacityError

Made = TypeVar("Made")

LARGE = 1 << 26  # bytes from which on an allocation is compared with the memory of the machine
CGROUP = Path("/sys/fs/cgroup")
_collected = [-1.0]  # when all garbage was collected last


class Budget:
    """How many bytes a store on ``device`` may allocate: old and new arrays while they grow, and scratch memory.

    ``limit`` is the store's ``memory_limit`` in bytes, or None; ``besides()`` gives what else counts against it (see
    ``Store.share_limit``). Arrays that the store returns, and the temporary arrays
    of a query, do not count. Bytes allocated now: ``arrays``, those of the store, which only its ``Pool`` writes;
    ``cached``, scratch memory for the next batch, which only its ``Kernels`` write; ``borrowed``, temporary arrays.
    """

    def __init__(self, limit: int | None, device: Device, besides: Callable[[], int] = int) -> None:
        self.limit, self._device, self.besides = limit, device, besides
        self.arrays = self.cached = self.borrowed = 0

    @property
    def held(self) -> int:
        """Number of bytes that the store holds now: arrays, cached scratch memory, and temporary arrays."""
        return self.arrays + self.cached + self.borrowed

    def allows(self, size: int) -> bool:
        """Return whether ``size`` more bytes are within the limit."""
        return self.limit is None or self.held + self.besides() + size <= self.limit

    def admit(self, size: int) -> None:
        """Raise ``CapacityError`` if ``size`` more bytes are beyond the limit, or more than the machine has left."""
        if not self.allows(size):
            wanted = self.held + self.besides() + size
            raise CapacityError(f"slabhash needs {wanted} bytes, memory_limit is {self.limit}")
        if size > LARGE and (left := memory_left(self._device, size)) is not None and size > left:
            where = "the device" if self._device.is_cuda else "the machine"
            raise CapacityError(f"slabhash needs {size} more bytes, {where} has {left} left")

    def borrow(self, size: int) -> None:
        """Count ``size`` bytes of temporary arrays as held until :meth:`repay`; first check them by :meth:`admit`."""
        self.admit(size)
        self.borrowed += size

    def repay(self, size: int) -> None:
        """Subtract ``size`` bytes of temporary arrays that :meth:`borrow` has added, and that are freed now."""
        self.borrowed -= size

    @contextmanager
    def allocating(self, size: int = 0) -> Iterator[None]:
        """Borrow ``size`` bytes while the block runs; running out of real memory in it raises ``CapacityError``."""
        self.borrow(size)
        try:
            yield
        except MemoryError as error:
            self.fail(error)
        finally:
            self.repay(size)

    def made(self, make: Callable[..., Made], *args: Any) -> Made:
        """Return ``make(*args)``; running out of real memory raises ``CapacityError``."""
        try:
            return make(*args)
        except MemoryError as error:
            self.fail(error)

    def fail(self, error: MemoryError) -> NoReturn:
        """Raise ``error`` if it is a ``CapacityError`` already, else a ``CapacityError`` caused by it."""
        if isinstance(error, CapacityError):
            raise error
        raise CapacityError(f"slabhash cannot allocate memory on {self._device}: {error}") from error


def memory_left(device: Device, wanted: int) -> int | None:
    """Return how many bytes can still be allocated on ``device``; None if an allocator other than CuPy's own is in use.

    An allocation that cannot succeed takes CuPy 50 ms and more: it collects garbage first. If fewer than ``wanted``
    bytes are left, this function collects garbage itself, the oldest generation at most once a second.
    """
    if not device.is_cuda:
        return available_memory()
    cupy = device.xp
    pool = cupy.get_default_memory_pool()
    if cupy.cuda.get_allocator() != pool.malloc:
        return None
    with device.current():
        left = _left_in(pool, cupy)
        if left < wanted:
            now = time.monotonic()
            is_due = now >= _collected[0] + 1
            if is_due:
                _collected[0] = now
            gc.collect(2 if is_due else 1)
            left = _left_in(pool, cupy)
    return left


def _left_in(pool: Any, cupy: Any) -> int:
    left, limit = cupy.cuda.runtime.memGetInfo()[0] + pool.free_bytes(), pool.get_limit()
    return min(left, limit - pool.used_bytes()) if limit else left


def available_memory() -> int:
    """Return the bytes that this process can still allocate: the machine's free memory, within a cgroup's limit."""
    left = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        fields = dict(line.split(":") for line in meminfo.read_text().splitlines() if ":" in line)
        if "MemAvailable" in fields:
            left = min(left, 1024 * int(fields["MemAvailable"].split()[0]))
    try:
        limit, used = ((CGROUP / name).read_text().strip() for name in ("memory.max", "memory.current"))
    except OSError:
        return left
    return left if limit == "max" else min(left, int(limit) - int(used))
