"""Assembling, compiling and caching CUDA programs.

A kernel lives in a ``.cu`` or ``.cuh`` file beside the Python that launches it. :class:`Program` says what is put in
front of it (macros, the struct of a view, a device functor) and compiles the whole with NVRTC through CuPy, once per
process and source text; CuPy keeps the binary on disk. Assembling the text needs no GPU and no CuPy, so that every
source can be compiled anywhere (see ``.ci/compile_cuda.py``).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from suricate import types
from suricate.notice import compiling

HERE = Path(__file__).parent
SENTINELS, STATUSES = ("EMPTY", "TOMBSTONE"), ("UNCHANGED", "NEW", "REPLACED", "REMOVED")  #: of ``suricate.types``

C_TYPES = {
    "bool": "bool", "int8": "signed char", "uint8": "unsigned char", "int16": "short", "uint16": "unsigned short",
    "int32": "int", "uint32": "unsigned int", "int64": "long long", "uint64": "unsigned long long",
    "float32": "float", "float64": "double",
}  # fmt: skip


def c_type(dtype: Any) -> str:
    """Return the C++ type of a NumPy dtype."""
    return C_TYPES[np.dtype(dtype).name]


@dataclass(frozen=True)
class Program:
    """One translation unit.

    Attributes:
        source: the ``.cu`` file with the ``extern "C"`` kernels.
        prelude: text put in front of it, after the macros.
        defines: macros.
        include: folders searched for headers, besides the source's own and ``core/cuda``.
        cooperative: whether kernels are launched cooperatively (all blocks resident, grid-wide barriers allowed).
    """

    source: Path
    prelude: str = ""
    defines: tuple[tuple[str, int | str], ...] = ()
    include: tuple[Path, ...] = ()
    cooperative: bool = False

    @cached_property
    def include_dirs(self) -> tuple[Path, ...]:
        """Folders passed to the compiler."""
        return tuple(dict.fromkeys((self.source.parent, HERE, *self.include)))

    @cached_property
    def text(self) -> str:
        """The source text handed to NVRTC; holds a digest of all headers, so that caches notice a changed one."""
        macros = "".join(f"#define {name} {value}\n" for name, value in self.defines)
        return "\n".join(
            [
                f"// headers {_headers_digest(self.include_dirs)}",
                f'{macros}#include "suricate.cuh"',
                *(f"constexpr uint32_t {name} = {getattr(types, name)}u;" for name in SENTINELS),
                *(f"constexpr uint8_t {name} = {getattr(types, name)};" for name in STATUSES),
                self.prelude,
                self.source.read_text(),
            ]
        )

    @property
    def options(self) -> tuple[str, ...]:
        """Options for NVRTC, without the architecture."""
        return ("-std=c++17", *(f"-I{folder}" for folder in self.include_dirs))

    def kernel(self, name: str) -> Any:
        """Return the compiled kernel ``name`` (``cupy.RawKernel``-like: ``kernel(grid, block, args)``)."""
        kernel = self._kernels.get(name)
        if kernel is None:
            with compiling():
                kernel = self._kernels[name] = _module(self).get_function(name)
        return kernel

    @cached_property
    def _kernels(self) -> dict[str, Any]:
        return {}


@cache
def _headers_digest(folders: tuple[Path, ...]) -> str:
    files = sorted(file for folder in folders for file in folder.glob("*.cuh"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


@cache
def _module(program: Program) -> Any:
    import cupy

    return cupy.RawModule(
        code=program.text,
        options=program.options,
        backend="nvrtc",
        enable_cooperative_groups=program.cooperative,
    )
