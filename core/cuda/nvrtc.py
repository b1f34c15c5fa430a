"""NVIDIA's runtime compiler, called through ctypes: for processes without CuPy, and for machines without a GPU.

Run as a script, it compiles one program in a process that imports nothing else (see ``suricate.cuda.compiler``)::

    python -I -S nvrtc.py LIBRARY NAME OPTION ... < text > binary

It ends with status 1, and the compiler's messages on stderr, if the text has errors.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

NICE = 10  #: added to the niceness of a compiler process: the program that waits for nothing goes first


class CompileError(RuntimeError):
    """NVRTC rejected a program, or is missing; the message is its log."""


@cache
def library(path: str) -> ctypes.CDLL:
    """Return the library of NVRTC, loaded from ``path``, with the library beside it that it opens by name."""
    folder = os.path.dirname(path)
    for name in sorted(os.listdir(folder or ".")):
        if name.startswith("libnvrtc-builtins.so"):
            with suppress(OSError):
                ctypes.CDLL(os.path.join(folder, name))
    return ctypes.CDLL(path)


def version_of(path: str) -> tuple[int, int]:
    """Return the version of the library at ``path`` as (major, minor)."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    library(path).nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return major.value, minor.value


def architectures_of(path: str) -> list[int]:
    """Return the architectures that the library at ``path`` makes code for, such as 90."""
    number = ctypes.c_int()
    library(path).nvrtcGetNumSupportedArchs(ctypes.byref(number))
    found = (ctypes.c_int * number.value)()
    library(path).nvrtcGetSupportedArchs(found)
    return list(found)


def compile_text(path: str, text: str, name: str, options: tuple[str, ...]) -> bytes:
    """Return the binary of a program: machine code, or PTX if the option ``-arch`` names a ``compute_`` architecture.

    Args:
        path: path of the NVRTC library.
        text: the program; it includes nothing.
        name: name of the program in messages.
        options: options of the compiler, including ``-arch=...``.

    Raises:
        CompileError: the text has errors, or an option is unknown.
    """
    nvrtc, handle = library(path), ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(handle), text.encode(), name.encode(), 0, None, None)
    try:
        given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        if nvrtc.nvrtcCompileProgram(handle, len(options), given):
            log = _read(handle, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
            raise CompileError(f"{name} with {' '.join(options)}:\n{log.rstrip(bytes(1)).decode(errors='replace')}")
        if any(option.startswith("-arch=compute_") for option in options):
            return _read(handle, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
        return _read(handle, nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(handle))


def _read(handle: ctypes.c_void_p, size_of: Callable[..., Any], read: Callable[..., Any]) -> bytes:
    size = ctypes.c_size_t()
    size_of(handle, ctypes.byref(size))
    found = ctypes.create_string_buffer(size.value)
    read(handle, found)
    return found.raw


def main(path: str, name: str, *options: str) -> int:
    """Compile the program on standard input and write the binary to standard output; return the exit status.

    ``path`` is the path of the NVRTC library, ``name`` the name of the program in messages; ``options`` are NVRTC's.
    """
    os.nice(NICE)
    try:
        binary = compile_text(path, sys.stdin.buffer.read().decode(), name, options)
    except CompileError as error:
        print(error, file=sys.stderr)
        return 1
    sys.stdout.buffer.write(binary)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
