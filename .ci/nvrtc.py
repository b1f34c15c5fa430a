"""Compile CUDA programs with NVRTC on a machine without a GPU (the library of the ``nvidia-cuda-nvrtc-cu12`` wheel)."""

from __future__ import annotations

import ctypes
import importlib.util
from functools import cache
from pathlib import Path

from suricate.cuda.program import Program


class CompileError(RuntimeError):
    """NVRTC rejected a program; the message is its log."""


@cache
def library() -> ctypes.CDLL:
    """Return the NVRTC library."""
    spec = importlib.util.find_spec("nvidia.cuda_nvrtc")
    if spec is None or not spec.submodule_search_locations:
        raise CompileError("NVRTC is missing: pip install nvidia-cuda-nvrtc-cu12")
    return ctypes.CDLL(str(Path(spec.submodule_search_locations[0]) / "lib" / "libnvrtc.so.12"))


def compile_program(program: Program, arch: str) -> None:
    """Compile ``program`` for ``arch`` (``"sm_80"``) to machine code; raises ``CompileError`` with the log."""
    nvrtc = library()
    handle = ctypes.c_void_p()
    text = program.text.encode()
    nvrtc.nvrtcCreateProgram(ctypes.byref(handle), text, program.source.name.encode(), 0, None, None)
    options = [f"-arch={arch}", *program.options]
    failed = nvrtc.nvrtcCompileProgram(
        handle, len(options), (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
    )
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(handle, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(handle, log)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(handle))
    if failed:
        raise CompileError(f"{program.source.name} for {arch}:\n{log.value.decode()}")
