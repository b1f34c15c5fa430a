"""Compile CUDA programs on a machine without a GPU, with the NVRTC of ``nvidia-cuda-nvrtc-cu12`` or a later wheel."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from suricate.base.types import StoreView
from suricate.cuda.compiler import OPTION, SINCE
from suricate.cuda.nvrtc import CompileError, compile_text, version_of
from suricate.cuda.program import Program
from suricate.cuda.structs import view_prelude


def no_nvrtc() -> str | None:
    """Return why this machine cannot compile CUDA programs, as text; None if it can."""
    return None if _libraries() else "NVRTC is missing: pip install nvidia-cuda-nvrtc-cu12"


def _libraries() -> list[Path]:
    """Return the NVRTC libraries of installed wheels, by their major versions."""
    spec = importlib.util.find_spec("nvidia")
    places = (spec.submodule_search_locations if spec else None) or ()
    found = [path for place in places for path in Path(place).glob("*/lib/libnvrtc.so.*")]
    return sorted(found, key=lambda path: int(path.suffix[1:]))


def compile_program(program: Program, arch: str) -> None:
    """Compile ``program``; raises ``CompileError`` with the log.

    ``arch`` is ``"sm_80"`` for machine code, or ``"compute_80"`` for PTX: from NVRTC 12.9 on without optimisations, in
    a fifth of the time.
    """
    file = str(library_file())
    quick = (f"{OPTION}max",) if arch.startswith("compute_") and version_of(file) >= SINCE else ()
    compile_text(file, program.text, program.source.name, (f"-arch={arch}", *quick, *program.options))


def library_file() -> Path:
    """Return the path of the NVRTC library; raises ``CompileError`` if it is missing."""
    found = _libraries()
    if not found:
        raise CompileError(str(no_nvrtc()))
    return found[0]


def cursor_program(view: StoreView) -> Program:
    """Return a program that calls every function of the cursor header of ``view``."""
    return Program(
        Path(__file__).parent / "device" / "cursor_probe.cu", view_prelude(view), include=(view.header.parent,)
    )
