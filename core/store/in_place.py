"""Arrays of the host that grow in place: they lie at the start of reserved addresses, which take memory when written.

Where the system reserves none (other systems than Linux, strict accounting of memory, limits of address space), an
array is a usual one, and has room for no more entries than it has.
"""

from __future__ import annotations

import mmap
import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

LEAST = 1 << 20  #: bytes of the smallest array that gets room: to copy fewer takes no time that matters
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


def reserved_for(array: np.ndarray) -> tuple[Reserved, np.ndarray] | None:
    """Return the reserved addresses that ``array`` lies at the start of, and all of their bytes; None: there are none.

    Arrays that were cut from it or made longer share them.
    """
    whole = array.base
    memory = getattr(getattr(whole, "base", None), "obj", None)
    if not isinstance(memory, Reserved) or not isinstance(whole, np.ndarray) or array.ctypes.data != whole.ctypes.data:
        return None
    return memory, whole


def reach(array: np.ndarray) -> int:
    """Return how many entries ``array`` can have without being moved; at least those it has."""
    place = reserved_for(array)
    return len(array) if place is None else len(place[1]) // array.itemsize


def lengthened(array: np.ndarray, length: int) -> np.ndarray:
    """Return ``array`` with ``length`` entries, at most :func:`reach` of it, in the same memory.

    Entries behind those of ``array`` are uninitialised.
    """
    place = reserved_for(array)
    if place is None or length <= len(array):
        return array[:length]
    return place[1][: length * array.itemsize].view(array.dtype)
