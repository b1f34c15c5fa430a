"""Reserved addresses of a CUDA device, parts of which have memory: arrays that grow in place, or lack most rows.

CuPy has no functions for that, so these are the driver's, by ``ctypes``. What is mapped is no part of CuPy's pool.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from functools import cache
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from suricate.base.devices import Array, Device, cuda_device_count
from suricate.base.errors import DeviceError

ON_DEVICE, PINNED, READ_AND_WRITE = 1, 1, 3  # CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_ALLOCATION_TYPE_, ..._PROT_READWRITE
LEFT = 1 << 30  #: bytes that growing arrays leave to others: NCCL takes memory when it first needs it, not from CuPy
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


class Addresses:
    """Reserved addresses for ``size`` bytes; ``address`` is the first. They go, and what is mapped, with this object.

    Attributes:
        pieces: what is mapped, by its distance from ``address``: its size; all in bytes.
    """

    def __init__(self, device: Device, size: int) -> None:
        self.device, self.size, self.pieces = device, size, dict[int, int]()
        place = ctypes.c_uint64(0)
        with device.current():
            _call("cuMemAddressReserve", ctypes.byref(place), size, 0, 0, 0)
        self.address = place.value

    def array(self, length: int, dtype: Any) -> Array:
        """Return an array over these addresses, which are there as long as it, or what was cut from it."""
        cuda = self.device.xp.cuda
        memory = cuda.UnownedMemory(self.address, self.size, self, self.device.index)
        return self.device.xp.ndarray((length,), dtype, memptr=cuda.MemoryPointer(memory, 0))

    def created(self, count: int, size: int) -> list[int]:
        """Return ``count`` new pieces of ``size`` bytes. If memory lacks, CuPy's pool first gives back its cache."""
        kind, found, has_freed = Kind(type=PINNED, where=ON_DEVICE, device=self.device.index), list[int](), False
        while len(found) < count:
            handle = ctypes.c_uint64(0)
            try:
                _call("cuMemCreate", ctypes.byref(handle), size, ctypes.byref(kind), 0)
                found.append(handle.value)
            except MemoryError:
                if has_freed:
                    for one in found:
                        _call("cuMemRelease", one)
                    raise
                has_freed = True
                self.device.xp.get_default_memory_pool().free_all_blocks()
        return found

    def map(self, at: int, size: int, handle: int, *, kept: bool = False) -> None:
        """Map a piece of ``size`` bytes to ``at``; unless its handle is ``kept``, it goes when it is unmapped."""
        if at in self.pieces:
            _call("cuMemUnmap", self.address + at, self.pieces.pop(at))
        _call("cuMemMap", self.address + at, size, 0, handle, 0)
        self.pieces[at] = size
        if not kept:
            _call("cuMemRelease", handle)

    def allow(self, at: int, size: int) -> None:
        """Let kernels use ``size`` bytes from ``at`` on, which are mapped."""
        access = Access(where=ON_DEVICE, device=self.device.index, flags=READ_AND_WRITE)
        _call("cuMemSetAccess", self.address + at, size, ctypes.byref(access), 1)

    def __del__(self) -> None:
        with suppress(Exception), self.device.current():  # at the end of the process the driver may be gone
            self.device.xp.cuda.runtime.deviceSynchronize()
            for at, size in self.pieces.items():
                _call("cuMemUnmap", self.address + at, size)
            _call("cuMemAddressFree", self.address, self.size)


class Growing(Addresses):
    """Addresses as many as ``device`` has memory, of which the first have memory: an array there grows in place."""

    def __init__(self, device: Device) -> None:
        self._block = least_block(device)
        super().__init__(device, device.xp.cuda.runtime.memGetInfo()[1] // self._block * self._block)
        self._mapped = 0
        GROWING[self.address] = self

    def lengthen(self, size: int) -> None:
        """Give memory to the first ``size`` bytes, uninitialised if they had none; ``MemoryError``: nothing changed."""
        more = -(-size // self._block) * self._block - self._mapped
        if more > 0:
            with self.device.current():
                self._demand(more + LEFT)
                self.map(self._mapped, more, *self.created(1, more))
                self.allow(self._mapped, more)
            self._mapped += more

    def _demand(self, size: int) -> None:
        """Raise ``MemoryError`` unless ``size`` bytes are free, maybe once CuPy's pool has given back its cache."""
        free = self.device.xp.cuda.runtime.memGetInfo
        if free()[0] < size:
            self.device.xp.get_default_memory_pool().free_all_blocks()
            if (left := free()[0]) < size:
                raise MemoryError(f"{size} bytes are wanted, the device has {left} left")


GROWING: WeakValueDictionary[int, Growing] = WeakValueDictionary()  #: all of them, by address


class Mapping(Addresses):
    """Addresses for ``size`` bytes in blocks of ``block`` bytes, zeros; those in ``ranges`` have memory of their own.

    Raises ``MemoryError`` if it lacks.
    """

    def __init__(self, device: Device, size: int, block: int, ranges: np.ndarray) -> None:
        super().__init__(device, -(-size // block) * block)
        self._block = block
        self._shown = np.full(self.size // block, ABSENT, np.int8)  # what each block shows
        with device.current():
            (self._zeros,) = self.created(1, block)
            self.map(0, block, self._zeros, kept=True)
            self.allow(0, block)
            device.xp.cuda.runtime.memset(self.address, 0, block)
            self._shown[0] = ZEROS
            self.keep(ranges)

    def keep(self, ranges: np.ndarray) -> None:
        """Give memory, zeros, to the blocks in ``ranges``, ``int64[k, 2]`` in bytes, and take it from all others.

        Blocks that have memory keep it. Raises ``MemoryError`` before anything has changed. Waits for the device.
        """
        wanted, block = np.full_like(self._shown, ZEROS), self._block
        for begin, end in ranges.tolist():
            wanted[begin // block : -(-end // block)] = OWN
        changed = np.flatnonzero(wanted != self._shown).tolist()
        if not changed:
            return
        runtime, fresh = self.device.xp.cuda.runtime, (wanted == OWN) & (self._shown != OWN)
        with self.device.current():
            handles = self.created(int(fresh.sum()), block)
            runtime.deviceSynchronize()
            for at in changed:
                self.map(at * block, block, handles.pop() if fresh[at] else self._zeros, kept=not fresh[at])
            self._shown = wanted
            self.allow(0, self.size)  # one call for all: each takes long
            for at in np.flatnonzero(fresh).tolist():
                runtime.memset(self.address + at * block, 0, block)
            runtime.deviceSynchronize()

    def __del__(self) -> None:
        super().__del__()
        with suppress(Exception), self.device.current():
            _call("cuMemRelease", self._zeros)
