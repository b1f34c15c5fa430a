"""CUDA kernels of stores and operators on the CPU: what stands for launches, and for a device that has them.

For what launch arguments and NVRTC cannot show: what kernels compute, and how their threads wait for each other. The
whole CUDA path, host code included, is run by ``emulated_cuda`` instead.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from emulated_programs import GXX, MULTIPROCESSORS, address_of, launch_at

from suricate.base.devices import CPU
from suricate.cuda.kernel import Parameters
from suricate.cuda.program import Program
from suricate.primitives import sort_batch

__all__ = ["GXX", "EmulatedArray", "EmulatedDevice", "EmulatedSorter", "EmulatedStructKernel", "kernel", "launch"]
RESIDENT = 2  #: blocks of a cooperative launch


def run(program: Program, name: str, grid: int, block: int, places: int) -> None:
    """Run a kernel whose parameters lie where an array of addresses says."""
    launch_at(address_of(program.text, name), grid, block, program.cooperative, places)


def kernel(program: Program, name: str) -> Callable[[tuple[int, ...], tuple[int, ...], tuple[Any, ...]], None]:
    """Stands for ``Program.kernel``."""

    def launch_it(grid: tuple[int, ...], block: tuple[int, ...], arguments: tuple[Any, ...]) -> None:
        parameters = Parameters(arguments)
        parameters.pack(arguments)
        run(program, name, grid[0], block[0], parameters.address)

    return launch_it


def launch(code: Program, name: str, threads: int, *args: Any, block: int = 256) -> None:
    """Stands for ``suricate.primitives.cuda.launch``."""
    if threads:
        kernel(code, name)((-(-threads // block),), (block,), args)


class EmulatedStructKernel:
    """Stands for ``suricate.cuda.launch.StructKernel``."""

    def __init__(self, program: Program, name: str, size: int) -> None:
        self.buffer, self._program, self._name = ctypes.create_string_buffer(size), program, name
        self._places = (ctypes.c_void_p * 1)(ctypes.addressof(self.buffer))

    def resident(self, threads: int) -> int:
        return RESIDENT

    def launch(self, blocks: int, threads: int) -> None:
        run(self._program, self._name, blocks, threads, ctypes.addressof(self._places))


class EmulatedArray(np.ndarray):
    """An array of the emulated device, in memory of it."""

    def __new__(cls, shape: tuple[int], dtype: Any, memory: np.ndarray | EmulatedMemory) -> EmulatedArray:
        size = shape[0] * np.dtype(dtype).itemsize
        return (memory + 0 if isinstance(memory, EmulatedMemory) else memory)[:size].view(dtype).view(cls)

    @property
    def data(self) -> Any:
        return SimpleNamespace(ptr=self.ctypes.data)

    def get(self, out: np.ndarray | None = None, blocking: bool = True) -> np.ndarray:
        if out is None:
            return np.array(np.asarray(self))
        out[...] = self
        return out


class EmulatedMemory:
    """Memory of the emulated device."""

    def __init__(self, size: int) -> None:
        self.bytes = np.full(size, 0xA5, np.uint8)  # nobody may read what nobody wrote
        self.ptr = self.bytes.ctypes.data

    def __add__(self, offset: int) -> np.ndarray:
        return self.bytes[offset:]


def _made(make: Any) -> Any:
    return lambda *args, **kwargs: make(*args, **kwargs).view(EmulatedArray)


class EmulatedDevice:
    """A CUDA device whose kernels run on the CPU."""

    kind, index, is_cuda = "cuda", 0, True

    def __init__(self) -> None:
        names = ("empty", "zeros", "full", "arange", "asarray", "array", "concatenate")
        self.xp: Any = SimpleNamespace(**{name: _made(getattr(np, name)) for name in names})
        self.xp.ndarray = EmulatedArray
        self.xp.cuda = SimpleNamespace(
            Device=lambda index: SimpleNamespace(
                attributes={"MultiProcessorCount": MULTIPROCESSORS}, synchronize=lambda: None
            ),
            alloc=EmulatedMemory,
            alloc_pinned_memory=bytearray,
            Event=lambda **options: SimpleNamespace(record=lambda: None, done=True),
        )

    def to_numpy(self, array: Any) -> np.ndarray:
        return array.get()

    def put(self, array: np.ndarray | None) -> Any:
        """Return an array as this device has it."""
        return None if array is None else np.array(array).view(EmulatedArray)


class EmulatedSorter:
    """Sorts the batches of a store."""

    def __init__(self, device: EmulatedDevice) -> None:
        self._device = device

    def is_sorted_here(self, size: int, num_vertices: int) -> bool:
        return False

    def sort(self, src: Any, dst: Any, num_vertices: int) -> tuple[Any, Any]:
        keys, order = sort_batch(CPU, np.asarray(src), np.asarray(dst), num_vertices)
        return self._device.put(keys), self._device.put(order)
