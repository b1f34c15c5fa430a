"""CuPy's own kernels, from the package ``suricate-code-cuda``: a first stream meets a hundred of them.

CuPy compiles one for each operation and types of arrays, in a tenth of a second or more, and keeps it under a name that
depends on where CuPy is installed. In the package it has a name of its text, its options without folders, and the
versions of CuPy and CUDA; machine code for the oldest architecture of a family serves the later ones, as CUDA promises.
Without the package, or if CuPy has renamed the private method through which they are served, CuPy compiles them.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib import import_module
from typing import Any

from suricate.base import packaged
from suricate.base.cache import shipped
from suricate.base.devices import WITH_CUPY

ARCHITECTURE = re.compile(r"-arch=sm_(\d+)\d")
FOLDERS = "-I", "--pch"  #: begins of options that depend on the machine, or change no code


def oldest(option: str) -> str:
    """Return ``option``, or in place of an architecture that of the oldest of its family: sm_80 for sm_86."""
    return ARCHITECTURE.sub(r"-arch=sm_\g<1>0", option)


def name_of(text: str, options: tuple[str, ...], versions: str) -> str:
    """Return the name of the entry of a kernel; ``versions``: of CuPy, and CUDA's major one."""
    kept = sorted(oldest(option) for option in options if not option.startswith(FOLDERS))
    return f"cupy-{hashlib.sha256(chr(0).join((versions, text, *kept)).encode()).hexdigest()[:32]}.cubin"


@cache
def serve() -> None:
    """Let CuPy take its kernels from the package, if that is installed."""
    if packaged.installed(packaged.MODULES[".cubin"]) is None:
        return
    try:
        program = import_module("cupy.cuda.compiler")._NVRTCProgram
        versions = f"{import_module('cupy').__version__} {import_module('cupy.cuda').nvrtc.getVersion()[0]}"
        compiled = program.compile
    except (ImportError, AttributeError):
        return

    def served(self: Any, options: tuple[str, ...] = (), log_stream: Any = None) -> tuple[bytes, Any]:
        found = None if self.name_expressions else shipped(name_of(self.src, tuple(options), versions))
        result: tuple[bytes, Any] = compiled(self, options, log_stream) if found is None else (found, None)
        return result

    program.compile = served


WITH_CUPY.append(serve)
