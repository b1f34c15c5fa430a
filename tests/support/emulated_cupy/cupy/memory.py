"""Memory of the emulated device: aligned as CuPy's pool aligns it, never zero at first, and overwritten when freed."""

from __future__ import annotations

import ctypes
import math
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

ALIGNMENT, LIMIT = 512, 4 << 30  #: bytes
FRESH, FREED = bytearray(b"\xa5"), 0xDD  #: bytes that nobody may read
COUNTS: Counter[str] = Counter()  #: allocations, launches and waits so far
HELD = [0]  #: bytes, by all arrays
SANITIZER = ctypes.CDLL(None)  #: with the function below, if ``.ci/sanitize_emulated.py`` runs this
GUARDS = 8 * ALIGNMENT if hasattr(SANITIZER, "__asan_poison_memory_region") else 0  #: bytes before and behind memory


class OutOfMemoryError(MemoryError):
    """The emulated device has no more memory."""


def _forbid(address: int, size: int) -> None:
    """Have kernels reported that use these bytes, until they are freed."""
    SANITIZER.__asan_poison_memory_region(ctypes.c_void_p(address), ctypes.c_size_t(size))


class Memory:
    """Memory of ``size`` bytes at ``ptr``, which are ``bytes`` from ``begin`` on."""

    def __init__(self, size: int) -> None:
        if HELD[0] + size > (_pool.limit or LIMIT):
            raise OutOfMemoryError(f"Out of memory allocating {size:,} bytes (allocated so far: {HELD[0]:,} bytes)")
        self.size, self.ptr = size, 0
        HELD[0] += size
        COUNTS["allocations"] += 1
        if size:
            self.bytes = FRESH * (size + ALIGNMENT + 2 * GUARDS)
            start = ctypes.addressof(ctypes.c_char.from_buffer(self.bytes))
            self.begin = GUARDS + -start % ALIGNMENT
            self.ptr = start + self.begin
            if GUARDS:
                _forbid(start, self.begin)
                _forbid(self.ptr + size, len(self.bytes) - self.begin - size)

    def __del__(self, held: list[int] = HELD, freed: int = FREED, set_bytes: Any = ctypes.memset) -> None:
        # names may be gone by then
        if hasattr(self, "ptr"):
            held[0] -= self.size
            set_bytes(self.ptr, freed, self.size)


class UnownedMemory:
    """Memory that somebody else owns."""

    begin = 0

    def __init__(self, ptr: int, size: int, owner: Any, device_id: int = -1) -> None:
        self.ptr, self.size, self._owner = ptr, size, owner
        self.bytes = (ctypes.c_uint8 * size).from_address(ptr)


class MemoryPointer:
    """A place in memory."""

    __slots__ = ("mem", "ptr")
    device_id = 0

    def __init__(self, mem: Any, ptr: int) -> None:
        self.mem, self.ptr = mem, ptr

    def __int__(self) -> int:
        return self.ptr

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self.ptr + offset)

    @property
    def device(self) -> Any:
        """The device."""
        from cupy.cuda import Device

        return Device(0)

    def memset_async(self, value: int, size: int, stream: Any = None) -> None:
        """Set bytes."""
        if size:
            ctypes.memset(self.ptr, value, size)

    memset = memset_async

    def array(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Return the memory as an array of the host."""
        size = math.prod(shape) * dtype.itemsize
        if not size:
            return np.empty(shape, dtype)
        assert self.mem is not None
        offset = self.ptr - self.mem.ptr
        if offset < 0 or (not offset and size > self.mem.size):  # over a range: what lies outside is not used
            return np.ndarray(shape, dtype, (ctypes.c_uint8 * size).from_address(self.ptr))
        assert 0 <= offset <= self.mem.size - size, "an array begins or ends outside its memory"
        return np.ndarray(shape, dtype, self.mem.bytes, self.mem.begin + offset)


class _Local(threading.local):
    def __init__(self) -> None:
        self.allocators: list[Callable[[int], MemoryPointer]] = [allocate]
        self.hooks: list[MemoryHook] = []


class MemoryHook:
    """Is told of allocations inside a ``with`` statement."""

    name = "MemoryHook"

    def __enter__(self) -> MemoryHook:
        _local.hooks.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        _local.hooks.remove(self)

    def malloc_postprocess(self, **allocation: int) -> None:
        """Take note of an allocation."""


def allocate(size: int) -> MemoryPointer:
    """Return memory of the pool."""
    memory = Memory(size)
    for hook in _local.hooks:
        rounded = -(-size // ALIGNMENT) * ALIGNMENT
        hook.malloc_postprocess(device_id=0, size=size, mem_size=rounded, mem_ptr=memory.ptr, pmem_id=id(memory))
    return MemoryPointer(memory, memory.ptr)


_local = _Local()


def alloc(size: int) -> MemoryPointer:
    """Return memory of this thread's allocator."""
    return _local.allocators[-1](size)


def get_allocator() -> Callable[[int], MemoryPointer]:
    """Return this thread's allocator."""
    return _local.allocators[-1]


class MemoryPool:
    """What is allocated, which keeps nothing that is free."""

    malloc = staticmethod(allocate)
    limit = 0

    def get_limit(self) -> int:
        """Return the bytes that may be used, 0 for no limit."""
        return self.limit

    def set_limit(self, size: int) -> None:
        """Refuse what would be more."""
        self.limit = size

    def used_bytes(self) -> int:
        """Return the bytes in use."""
        return HELD[0]

    def free_bytes(self) -> int:
        """Return the bytes that are kept and free."""
        return 0


_pool = MemoryPool()


def get_default_memory_pool() -> MemoryPool:
    """Return the pool."""
    return _pool


@contextmanager
def using_allocator(allocator: Callable[[int], MemoryPointer]) -> Iterator[None]:
    """Make ``allocator`` this thread's inside a ``with`` statement."""
    _local.allocators.append(allocator)
    try:
        yield
    finally:
        _local.allocators.pop()


class Pinned(bytearray):
    """Memory of the host that kernels may write."""

    held: ClassVar[dict[int, int]] = {}  # where each begins and ends

    def __new__(cls, size: int) -> Pinned:
        """Make memory that is not zero."""
        made = super().__new__(cls)
        made += FRESH * size
        made.begin = ctypes.addressof(ctypes.c_char.from_buffer(made)) if size else 0
        cls.held[made.begin] = made.begin + size
        return made

    def __init__(self, size: int) -> None:
        pass

    def __del__(self, held: dict[int, int] = held) -> None:
        held.pop(self.begin, None)


def is_pinned(address: int) -> bool:
    """Return whether an address lies in pinned memory."""
    return any(begin <= address < end for begin, end in Pinned.held.items())


def alloc_pinned_memory(size: int) -> Pinned:
    """Return memory of the host that kernels may write."""
    return Pinned(size)
