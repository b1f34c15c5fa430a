"""What CuPy has where it compiles its own kernels, for tests without it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> type:
    """Put modules in place of CuPy 14.0, in ``folder``, with NVRTC 13; return the class of its programs."""

    class Program:
        method = "cubin"

        def __init__(self, src: str, expressions: tuple[str, ...] = ()) -> None:
            self.src, self.name_expressions = src, expressions

        def compile(self, options: tuple[str, ...] = (), log_stream: Any = None) -> tuple[bytes, Any]:
            return b"compiled", None

    names = "cupy", "cupy.cuda", "cupy.cuda.compiler"
    cupy, cuda, compiler = modules = [ModuleType(name) for name in names]
    vars(cupy).update(__version__="14.0", __file__=str(folder / "cupy" / "__init__.py"), cuda=cuda)
    vars(cuda).update(compiler=compiler, nvrtc=SimpleNamespace(getVersion=lambda: (13, 1)))  # which is no submodule
    vars(compiler).update(_NVRTCProgram=Program)
    for name, module in zip(names, modules, strict=True):
        monkeypatch.setitem(sys.modules, name, module)
    return Program
