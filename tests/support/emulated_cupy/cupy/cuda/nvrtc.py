"""NVRTC of the emulated device, of a version that knows no quick build."""

from __future__ import annotations

from typing import Any


class NVRTCError(RuntimeError):
    """Never raised: g++ finds errors later."""


def getVersion() -> tuple[int, int]:  # noqa: N802
    """Return a version that knows no quick build."""
    return 12, 8


def getSupportedArchs() -> list[int]:  # noqa: N802
    """Return that of the device."""
    return [70]


def createProgram(text: str, name: str, headers: Any, names: Any) -> str:  # noqa: N802
    """Return the text."""
    return text


def compileProgram(program: str, options: tuple[str, ...]) -> None:  # noqa: N802
    """Nothing: see ``cupy.modules``."""


def getCUBIN(program: str) -> bytes:  # noqa: N802
    """Return the text."""
    return program.encode()


def destroyProgram(program: str) -> None:  # noqa: N802
    """Nothing."""
