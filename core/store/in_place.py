"""Arrays that grow in place: they lie at the start of reserved addresses.

On the host these take memory when they are written, on CUDA when an array is made longer. Where the system reserves
none (other systems than Linux, strict accounting of memory, limits of address space; on CUDA old drivers, allocators
other than CuPy's pool, a limit of that), an array is a usual one, and has room for no more entries than it has.
"""

from __future__ import annotations

import mmap
import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from suricate.base.devices import Array, Device

LEAST = 1 << 20  #: bytes of the smallest array that gets room: to copy fewer takes no time that matters
LARGE = 1 << 28  #: of the smallest on CUDA, where mapping takes about as long as to copy this
AT_LEAST, TIMES = 1 << 32, 64  #: an array gets room for so many bytes, or so many times its own if that is more
NO_RESERVE = 0x4000  # MAP_NORESERVE of Linux, which ``mmap`` names from Python 3.13 on
STRICT = Path("/proc/sys/vm/overcommit_memory")  # "2": reserved addresses count as memory


class Reserved(mmap.mmap):
    """Reserved addresses of one array, of huge pages if the system has such; freed with the last array there."""

    def ask_for_huge_pages(self) -> None:
        """Ask for huge pages: a growing array is written for the first time, page by page, as long as it grows."""
        if hasattr(mmap, "MADV_HUGEPAGE"):
            self.madvise(mmap.MADV_HUGEPAGE)


@cache
def most_reserved() -> int:
    """Return the largest number of bytes that an array gets room for: the machine's memory; 0: none is reserved."""
    if not sys.platform.startswith("linux") or (STRICT.exists() and STRICT.read_text().strip() == "2"):
        return 0
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def growable(length: int, dtype: np.dtype | type, alignment: int = 1) -> np.ndarray:
    """Return an uninitialised array of ``length`` entries, with room to grow if it is large and addresses are there.

    Its address is a multiple of ``alignment`` bytes, a power of two of at most a page.
    """
    size = length * np.dtype(dtype).itemsize
    reserved = min(max(AT_LEAST, TIMES * size), most_reserved()) // mmap.PAGESIZE * mmap.PAGESIZE
    if LEAST <= size <= reserved:
        with suppress(OSError, ValueError, OverflowError):  # no addresses left, or no huge pages in this system
            addresses = Reserved(-1, reserved, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE)
            addresses.ask_for_huge_pages()
            return np.frombuffer(addresses, np.uint8)[:size].view(dtype)
    if alignment == 1:
        return np.empty(length, dtype)
    memory = np.empty(size + alignment, np.uint8)
    start = -memory.ctypes.data % alignment
    return memory[start : start + size].view(dtype)


def growable_on(device: Device, length: int, dtype: np.dtype | type, alignment: int = 1) -> Array:
    """Return an uninitialised array on ``device`` as :func:`growable` does; on CUDA large ones have room to grow."""
    if not device.is_cuda:
        return growable(length, dtype, alignment)
    size = length * np.dtype(dtype).itemsize
    if size < LARGE or not maps(device):
        return device.xp.empty(length, dtype)  # aligned to 512 bytes by CuPy's memory pool
    from suricate.cuda.mapped import Growing

    place = Growing(device)
    place.lengthen(size)
    return place.array(length, dtype)


def maps(device: Device) -> bool:
    """Return whether memory can be mapped on a CUDA device beside CuPy's pool."""
    from suricate.cuda.mapped import least_block

    cupy = device.xp
    pool = cupy.get_default_memory_pool()
    with device.current():
        is_free = cupy.cuda.get_allocator() == pool.malloc and not pool.get_limit()
    return is_free and least_block(device) > 0


def _growing(array: Any) -> Any:
    """Return the ``Growing`` addresses of CUDA that ``array`` lies at the start of; None: there are none."""
    if array.nbytes < LARGE:
        return None
    from suricate.cuda.mapped import GROWING

    return GROWING.get(array.data.ptr)


def reserved_for(array: np.ndarray) -> tuple[Reserved, np.ndarray] | None:
    """Return the reserved addresses that ``array`` lies at the start of, and all of their bytes; None: there are none.

    Arrays that were cut from it or made longer share them.
    """
    whole = array.base
    memory = getattr(getattr(whole, "base", None), "obj", None)
    if not isinstance(memory, Reserved) or not isinstance(whole, np.ndarray) or array.ctypes.data != whole.ctypes.data:
        return None
    return memory, whole


def reach(array: Array) -> int:
    """Return how many entries ``array`` can have without being moved; at least those it has."""
    if not isinstance(array, np.ndarray):
        addresses = _growing(array)
        return len(array) if addresses is None else addresses.size // array.itemsize
    place = reserved_for(array)
    return len(array) if place is None else len(place[1]) // array.itemsize


def lengthened(array: Array, length: int) -> Array:
    """Return ``array`` with ``length`` entries, at most :func:`reach` of it, in the same memory.

    Entries behind those of ``array`` are uninitialised. Raises ``MemoryError`` on CUDA if there is no memory for them.
    """
    if not isinstance(array, np.ndarray):
        addresses = None if length <= len(array) else _growing(array)
        if addresses is None:
            return array[:length]
        addresses.lengthen(length * array.itemsize)
        return addresses.array(length, array.dtype)
    place = reserved_for(array)
    if place is None or length <= len(array):
        return array[:length]
    return place[1][: length * array.itemsize].view(array.dtype)
