"""Addresses of a CUDA device of which some blocks have memory, while all others show one and the same block of zeros.

CuPy has no functions for that, so these are the driver's, by ``ctypes``. What is mapped is no part of CuPy's pool.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from suricate.base.devices import Array, Device, cuda_device_count
from suricate.base.errors import DeviceError

ON_DEVICE, PINNED, READ_AND_WRITE = 1, 1, 3  # CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_ALLOCATION_TYPE_, ..._PROT_READWRITE
OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY
ABSENT, ZEROS, OWN = 0, 1, 2  # what a block shows: nothing yet, the block of zeros, memory of its own


class Kind(ctypes.Structure):
    """``CUmemAllocationProp``: memory of a device, without handles for other processes, compression and so on."""

    _fields_ = (
        ("type", ctypes.c_int), ("handles", ctypes.c_int), ("where", ctypes.c_int), ("device", ctypes.c_int),
        ("windows", ctypes.c_void_p), ("flags", ctypes.c_ubyte * 8),
    )  # fmt: skip


class Access(ctypes.Structure):
    """``CUmemAccessDesc``."""

    _fields_ = (("where", ctypes.c_int), ("device", ctypes.c_int), ("flags", ctypes.c_int))


@cache
def driver() -> Any:
    """Return the library of the driver; None: there is none."""
    with suppress(OSError):
        return ctypes.CDLL("libcuda.so.1")
    return None


@cache
def least_block(device: Device) -> int:
    """Return the least bytes of a mapping on ``device``, of which blocks are multiples; 0: the driver maps none."""
    found, kind = ctypes.c_size_t(0), Kind(type=PINNED, where=ON_DEVICE, device=device.index)
    if cuda_device_count():
        with suppress(AttributeError, DeviceError), device.current():
            _call("cuMemGetAllocationGranularity", ctypes.byref(found), ctypes.byref(kind), 0)
    return found.value


def _call(name: str, *args: Any) -> None:
    """Call a function of the driver, integers as 64 bits; raise ``MemoryError`` or ``DeviceError`` for its errors."""
    code = getattr(driver(), name)(*(ctypes.c_uint64(arg) if isinstance(arg, int) else arg for arg in args))
    if code == OUT_OF_MEMORY:
        raise MemoryError(f"{name}: the device has no memory left")
    if code:
        raise DeviceError(f"{name}: error {code} of the CUDA driver")


class Mapping:
    """Addresses for ``size`` bytes in blocks of ``block`` bytes, zeros; those in ``ranges`` have memory of their own.

    Raises ``MemoryError`` if it lacks.
    """

    def __init__(self, device: Device, size: int, block: int, ranges: np.ndarray) -> None:
        self._device, self._block, self._size = device, block, -(-size // block) * block
        self._shown = np.full(self._size // block, ABSENT, np.int8)  # what each block shows
        place = ctypes.c_uint64(0)
        with device.current():
            (self._zeros,) = self._new_blocks(1)
            _call("cuMemAddressReserve", ctypes.byref(place), self._size, 0, 0, 0)
            self.address = place.value
            self._map(0, self._zeros)
            self._allow(block)
            device.xp.cuda.runtime.memset(self.address, 0, block)
            self._shown[0] = ZEROS
            self.keep(ranges)

    def keep(self, ranges: np.ndarray) -> None:
        """Give memory, zeros, to the blocks in ``ranges``, ``int64[k, 2]`` in bytes, and take it from all others.

        Blocks that have memory keep it. Raises ``MemoryError`` before anything has changed. Waits for the device.
        """
        wanted = np.full_like(self._shown, ZEROS)
        for begin, end in ranges.tolist():
            wanted[begin // self._block : -(-end // self._block)] = OWN
        changed = np.flatnonzero(wanted != self._shown).tolist()
        if not changed:
            return
        runtime, fresh = self._device.xp.cuda.runtime, (wanted == OWN) & (self._shown != OWN)
        with self._device.current():
            handles = self._new_blocks(int(fresh.sum()))
            runtime.deviceSynchronize()
            for at in changed:
                if self._shown[at] != ABSENT:
                    _call("cuMemUnmap", self.address + at * self._block, self._block)
                self._map(at, handles.pop() if fresh[at] else self._zeros)
            self._shown = wanted
            self._allow(self._size)  # one call for all: each takes long
            for at in np.flatnonzero(fresh).tolist():
                runtime.memset(self.address + at * self._block, 0, self._block)
            runtime.deviceSynchronize()

    def array(self, length: int, dtype: np.dtype) -> Array:
        """Return an array over these addresses, which are there as long as it, or what was cut from it."""
        cuda = self._device.xp.cuda
        memory = cuda.UnownedMemory(self.address, self._size, self, self._device.index)
        return self._device.xp.ndarray((length,), dtype, memptr=cuda.MemoryPointer(memory, 0))

    def _new_blocks(self, count: int) -> list[int]:
        """Return ``count`` new blocks of memory, or raise; if it lacks, CuPy's pool first gives back what it caches."""
        kind, found, has_freed = Kind(type=PINNED, where=ON_DEVICE, device=self._device.index), list[int](), False
        while len(found) < count:
            handle = ctypes.c_uint64(0)
            try:
                _call("cuMemCreate", ctypes.byref(handle), self._block, ctypes.byref(kind), 0)
                found.append(handle.value)
            except MemoryError:
                if has_freed:
                    for one in found:
                        _call("cuMemRelease", one)
                    raise
                has_freed = True
                self._device.xp.get_default_memory_pool().free_all_blocks()
        return found

    def _map(self, at: int, handle: int) -> None:
        _call("cuMemMap", self.address + at * self._block, self._block, 0, handle, 0)
        if handle != self._zeros:
            _call("cuMemRelease", handle)  # the memory goes when it is unmapped

    def _allow(self, size: int) -> None:
        """Let kernels use the first ``size`` bytes, which are mapped."""
        access = Access(where=ON_DEVICE, device=self._device.index, flags=READ_AND_WRITE)
        _call("cuMemSetAccess", self.address, size, ctypes.byref(access), 1)

    def __del__(self) -> None:
        with suppress(Exception), self._device.current():  # at the end of the process the driver may be gone
            self._device.xp.cuda.runtime.deviceSynchronize()
            for at in np.flatnonzero(self._shown != ABSENT).tolist():
                _call("cuMemUnmap", self.address + at * self._block, self._block)
            _call("cuMemAddressFree", self.address, self._size)
            _call("cuMemRelease", self._zeros)
