"""Compile CUDA programs on a machine without a GPU, with the library of the ``nvidia-cuda-nvrtc-cu12`` wheel."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
from functools import cache
from pathlib import Path

from suricate.cuda.program import Program
from suricate.cuda.structs import view_prelude
from suricate.store import Store
from suricate.types import StoreView


class CompileError(RuntimeError):
    """NVRTC rejected a program, or is missing; the message is its log."""


def no_nvrtc() -> str | None:
    """Return why nothing can be compiled here, or None."""
    return None if _folder() else "NVRTC is missing: pip install nvidia-cuda-nvrtc-cu12"


def _folder() -> Path | None:
    try:
        spec = importlib.util.find_spec("nvidia.cuda_nvrtc")
    except ModuleNotFoundError:  # there is no package ``nvidia`` at all
        return None
    places = spec.submodule_search_locations if spec else None
    return Path(places[0]) / "lib" if places else None


@cache
def library() -> ctypes.CDLL:
    """Return the NVRTC library."""
    folder = _folder()
    if folder is None:
        raise CompileError(str(no_nvrtc()))
    return ctypes.CDLL(str(folder / "libnvrtc.so.12"))


def compile_program(program: Program, arch: str) -> None:
    """Compile ``program``; raises ``CompileError`` with the log.

    ``arch`` is ``"sm_80"`` for machine code, or ``"compute_80"`` for PTX, which takes half the time.
    """
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


def own_programs(store: Store) -> list[Program]:
    """Return the CUDA programs of a backend: ``programs(store)`` of the module ``programs`` or ``cuda`` beside its own.

    That module must be importable without CuPy. A backend without kernels of its own has neither, or no such function.
    """
    package = type(store).__module__.rpartition(".")[0]
    for name in ("programs", "cuda"):
        if package and importlib.util.find_spec(f"{package}.{name}"):
            listed = getattr(importlib.import_module(f"{package}.{name}"), "programs", None)
            return [] if listed is None else list(listed(store))
    return []


def cursor_program(view: StoreView) -> Program:
    """Return a program that calls every function of the cursor header of ``view``."""
    return Program(Path(__file__).with_name("cursor_probe.cu"), view_prelude(view), include=(view.header.parent,))
