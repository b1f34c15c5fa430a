"""Kernels of the emulated device."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import emulated_programs
import numpy as np

from cupy.arrays import ndarray
from cupy.cuda import driver, get_current_stream


class RawModule:
    """A program, compiled by g++ when its first kernel is asked for."""

    def __init__(self, *, code: str, options: tuple[str, ...], backend: str, enable_cooperative_groups: bool) -> None:
        self._code, self._together = code, enable_cooperative_groups

    def get_function(self, name: str) -> RawKernel:
        """Return a kernel."""
        return RawKernel(emulated_programs.address_of(self._code, name), self._together)


class RawKernel:
    """A kernel, to be called with grid, block and arguments."""

    def __init__(self, address: int, together: bool) -> None:
        self.kernel, self._together = SimpleNamespace(ptr=address), together

    def __call__(self, grid: tuple[int, ...], block: tuple[int, ...], args: tuple[Any, ...]) -> None:
        values = [ctypes.create_string_buffer(value, len(value) + 16) for value in map(_bytes_of, args)]
        places = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        shape = (max(1, grid[0]), *grid[1:], 1, 1)[:3] + (*block, 1, 1)[:3]
        stream, parameters = get_current_stream().ptr, ctypes.addressof(places)
        if self._together:
            driver.launchCooperativeKernel(self.kernel.ptr, *shape, 0, stream, parameters)
        else:
            driver.launchKernel(self.kernel.ptr, *shape, 0, stream, parameters, 0)


def _bytes_of(argument: Any) -> bytes:
    if isinstance(argument, ndarray):
        return argument.data.ptr.to_bytes(8, "little")
    if argument is None:
        return bytes(8)
    return argument.tobytes() if isinstance(argument, np.generic) else np.asarray(argument).tobytes()
