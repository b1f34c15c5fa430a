"""CUDA support: assembling, compiling and caching kernels, and passing views to them.

A kernel lives in a ``.cu`` or ``.cuh`` file beside the Python that launches it. :class:`Program` says what is put in
front of it (macros, the struct of a view, a device functor) and compiles the whole with NVRTC through CuPy, once per
process and source text; CuPy keeps the binary on disk. Assembling the text needs no GPU and no CuPy, so that every
source can be compiled anywhere (see ``.ci/compile_cuda.py``).
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from suricate.devices import Device
from suricate.store import StoreView

HERE = Path(__file__).parent

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
        headers = _headers_digest(self.include_dirs)
        return f'// headers {headers}\n{macros}#include "suricate.cuh"\n{self.prelude}\n{self.source.read_text()}'

    @property
    def options(self) -> tuple[str, ...]:
        """Options for NVRTC, without the architecture."""
        return ("-std=c++17", *(f"-I{folder}" for folder in self.include_dirs))

    def kernel(self, name: str) -> Any:
        """Return the compiled kernel ``name`` (``cupy.RawKernel``-like: ``kernel(grid, block, args)``)."""
        kernel = self._kernels.get(name)
        if kernel is None:
            kernel = self._kernels[name] = _module(self).get_function(name)
        return kernel

    @cached_property
    def _kernels(self) -> dict[str, Any]:
        return {}


def wait_for(device: Device) -> None:
    """Wait for all streams of a CUDA device, whichever is current."""
    device.xp.cuda.Device(device.index).synchronize()


class StructKernel:
    """A kernel whose one argument is a struct, launched with less work for the host than CuPy's own launch takes.

    The struct is packed into ``buffer`` before each launch; ``prefix`` is what it begins with, if known.
    """

    def __init__(self, program: Program, name: str, size: int) -> None:
        from cupy.cuda import driver, get_current_stream

        self._kernel = program.kernel(name)  # keeps the module
        self._address = self._kernel.kernel.ptr
        self._cooperative = program.cooperative
        self._driver, self._current_stream = driver, get_current_stream
        self.buffer = ctypes.create_string_buffer(size)
        self.prefix: bytes | None = None
        self._params = (ctypes.c_void_p * 1)(ctypes.addressof(self.buffer))
        self._params_address = ctypes.addressof(self._params)

    def launch(self, blocks: int, threads: int) -> None:
        """Launch into CuPy's current stream; does not wait."""
        stream, params = self._current_stream().ptr, self._params_address
        if self._cooperative:
            self._driver.launchCooperativeKernel(self._address, blocks, 1, 1, threads, 1, 1, 0, stream, params)
        else:
            self._driver.launchKernel(self._address, blocks, 1, 1, threads, 1, 1, 0, stream, params, 0)

    def resident(self, threads: int) -> int:
        """Return how many blocks of ``threads`` a multiprocessor holds at a time."""
        return self._driver.occupancyMaxActiveBlocksPerMultiprocessor(self._address, threads, 0)

    def begin_with(self, prefix: bytes) -> None:
        """Put ``prefix`` at the start of the buffer."""
        ctypes.memmove(self.buffer, prefix, len(prefix))
        self.prefix = prefix


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


@dataclass(frozen=True)
class ViewStruct:
    """The struct ``View`` of a :class:`StoreView`: its C++ text, and the packed value to pass to a kernel."""

    declaration: str
    dtype: np.dtype = field(compare=False)

    def pack(self, data: Any) -> Any:
        """Return the struct's value (``np.void``) for a view's NamedTuple; pass it to a kernel as one argument."""
        return np.array(tuple(part.data.ptr if hasattr(part, "dtype") else part for part in data), self.dtype)[()]


def view_struct(data: Any) -> ViewStruct:
    """Return the struct made of a view's NamedTuple: pointers for arrays, ``long long`` for ints."""
    fields, members = [], []
    for name, part in zip(data._fields, data, strict=True):
        is_array = hasattr(part, "dtype")
        fields.append((name, np.uint64 if is_array else np.int64))
        members.append(f"    {c_type(part.dtype)}* {name};" if is_array else f"    long long {name};")
    return ViewStruct("struct View {\n" + "\n".join(members) + "\n};", np.dtype(fields, align=True))


def view_prelude(view: StoreView) -> str:
    """Return what a kernel template needs before it can walk ``view``: macros, ``weight_t``, ``View``, the cursor."""
    macros: Mapping[str, Any] = {"WEIGHTED": int(view.weight_dtype is not None), **view.constants}
    lines = [f"#define {name} {value}" for name, value in macros.items()]
    lines.append(f"typedef {c_type(view.weight_dtype or np.int32)} weight_t;")
    lines.append(view_struct(view.data).declaration)
    lines.append(f'#include "{view.header.name}"')
    return "\n".join(lines)
