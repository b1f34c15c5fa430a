"""The functions of the CUDA runtime that are called by name."""

from __future__ import annotations

import ctypes

from cupy.memory import HELD, LIMIT, is_pinned

memcpyHostToHost, memcpyHostToDevice, memcpyDeviceToHost, memcpyDeviceToDevice = range(4)  # noqa: N816

memoryTypeUnregistered, memoryTypeHost = range(2)  # noqa: N816


class CUDARuntimeError(RuntimeError):
    """An error of the device."""


def getDeviceCount() -> int:  # noqa: N802
    """Return 1."""
    return 1


def getDevice() -> int:  # noqa: N802
    """Return the one device."""
    return 0


def free(address: int) -> None:
    """Nothing: 0 makes the device's context."""


def deviceSynchronize() -> None:  # noqa: N802
    """Nothing: all is done."""


def memcpy(target: int, source: int, size: int, kind: int) -> None:
    """Copy bytes."""
    ctypes.memmove(target, source, size)


def memcpyAsync(target: int, source: int, size: int, kind: int, stream: int) -> None:  # noqa: N802
    """Copy bytes."""
    ctypes.memmove(target, source, size)


def memGetInfo() -> tuple[int, int]:  # noqa: N802
    """Return the bytes that are free, and all."""
    return LIMIT - HELD[0], LIMIT


class PointerAttributes:
    """What an address is of."""

    def __init__(self, kind: int) -> None:
        self.type = kind


def pointerGetAttributes(address: int) -> PointerAttributes:  # noqa: N802
    """Return whether memory of the host is pinned."""
    return PointerAttributes(memoryTypeHost if is_pinned(address) else memoryTypeUnregistered)


def driverGetVersion() -> int:  # noqa: N802
    """Return that of CUDA 13.0."""
    return 13000


runtimeGetVersion = driverGetVersion  # noqa: N816
