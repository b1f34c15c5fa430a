"""Assembling, compiling and caching CUDA programs.

A kernel is in a ``.cu`` or ``.cuh`` file beside the Python that launches it. :class:`Program` names the file and the
text to put before it (macros, the struct of a view, a device functor). ``suricate.cuda.compiler`` compiles the whole
with NVRTC, once per source text, and stores the binary on disk. Assembling the text needs no GPU and no CuPy, so that
every source can be compiled anywhere (see ``.ci/compile_cuda.py``).
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from suricate.base import types
from suricate.cuda.compiler import POOL, Compilation, is_ahead
from suricate.cuda.kernel import Kernel, Module

CORE = Path(__file__).parents[1]
#: folders whose headers any source may include
HEADERS = tuple(CORE / folder for folder in ("cuda/include", "kernels", "intake", "state", "state/edges"))
DIRECTIVE = re.compile(r'\s*#\s*(?P<word>if\w*|endif|include)\b(\s*"(?P<name>[^"]+)")?')
SENTINELS, STATUSES = ("EMPTY", "TOMBSTONE"), ("UNCHANGED", "NEW", "REPLACED", "REMOVED")  #: of ``suricate.base.types``
LINE_INFO = ("-lineinfo",) if os.environ.get("SURICATE_LINE_INFO") == "1" else ()  #: for sanitizers and profilers

C_TYPES = {
    "bool": "bool", "int8": "signed char", "uint8": "unsigned char", "int16": "short", "uint16": "unsigned short",
    "int32": "int", "uint32": "unsigned int", "int64": "long long", "uint64": "unsigned long long",
    "float32": "float", "float64": "double",
}  # fmt: skip


@cache
def c_type(dtype: Any) -> str:
    """Return the C++ type of a NumPy dtype."""
    return C_TYPES[np.dtype(dtype).name]


@dataclass(frozen=True)
class Program:
    """One translation unit.

    Attributes:
        source: the ``.cu`` file with the ``extern "C"`` kernels.
        prelude: text inserted before it, after the macros.
        defines: names and values of macros.
        include: folders searched for headers, besides the source's own and :data:`HEADERS`.
        cooperative: whether kernels are launched cooperatively (all blocks resident, grid-wide barriers allowed).
    """

    source: Path
    prelude: str = ""
    defines: tuple[tuple[str, int | str], ...] = ()
    include: tuple[Path, ...] = ()
    cooperative: bool = False

    @cached_property
    def text(self) -> str:
        """The source text passed to NVRTC, headers included, so that the disk cache notices a changed header."""
        macros = (f"#define {name} {value}" for name, value in self.defines)
        before = "\n".join(
            [
                *macros,
                '#include "suricate.cuh"',
                *(f"[[maybe_unused]] constexpr uint32_t {name} = {getattr(types, name)}u;" for name in SENTINELS),
                *(f"[[maybe_unused]] constexpr uint8_t {name} = {getattr(types, name)};" for name in STATUSES),
                self.prelude,
            ]
        )
        folders, included = (self.source.parent, *HEADERS, *self.include), set[str]()
        parts = (("prelude", before), (self.source.name, self.source.read_text()))
        return "\n".join(_with_headers(text, name, folders, included) for name, text in parts)

    @property
    def options(self) -> tuple[str, ...]:
        """Options for NVRTC, without the architecture.

        Quick builds do not contract ``a * b + c`` into one rounding, so final ones must not either: otherwise two
        processes, one with a quick build and one with a final build, would get different last bits from the same
        numbers.
        """
        return ("-std=c++17", "-fmad=false", *LINE_INFO)

    def kernel(self, name: str) -> Any:
        """Return the compiled kernel ``name``, to be called as ``kernel(grid, block, arguments)``."""
        kernel = self._kernels.get(name)
        if kernel is None:
            kernel = self._kernels[name] = _module(self).kernel(name)
        return kernel if getattr(_local, "notes", None) is None else NotedKernel(name, kernel)

    def prepare(self) -> None:
        """Start to compile the program for the current device in another thread, unless done; returns at once."""
        if is_ahead() and self not in _modules:
            from cupy.cuda import runtime

            device = runtime.getDevice()
            POOL.add(lambda: _module(self).make_ready(device))

    @cached_property
    def _kernels(self) -> dict[str, Kernel]:
        return {}


class Launch(NamedTuple):
    """A recorded launch: its name, the kernel, and grid, block and arguments; ``kernel(*given)`` repeats it."""

    name: str
    kernel: Any
    given: tuple[Any, ...]  #: grid, block, arguments


_local = threading.local()


@contextmanager
def noting(notes: list[Launch] | None) -> Iterator[None]:
    """Append every kernel launch of this thread, while the context is active, to ``notes``; None: record none."""
    before, _local.notes = getattr(_local, "notes", None), notes
    try:
        yield
    finally:
        _local.notes = before


class NotedKernel:
    """A kernel that appends each of its launches to the list of the active :func:`noting` context, if there is one."""

    def __init__(self, name: str, kernel: Any) -> None:
        self._name, self._kernel = name, kernel

    def __call__(self, *given: Any) -> None:
        """Launch the kernel and record the launch; ``given`` are the grid, the block and the arguments."""
        notes = getattr(_local, "notes", None)
        if notes is not None:
            notes.append(Launch(self._name, self._kernel, given))
        self._kernel(*given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)


def _with_headers(text: str, name: str, folders: tuple[Path, ...], included: set[str]) -> str:
    """Return ``text``, of a file ``name``, with the text of headers, from ``folders``, in place of ``#include``.

    Headers in ``included`` are not inserted again. A header inserted outside ``#if`` is added to ``included``, in
    place. A header inside ``#if`` is not, as it may be needed again; so each header gets an include guard. ``#line``
    directives keep file names and line numbers right.
    """
    lines, depth = [f'#line 1 "{name}"'], 0
    for number, line in enumerate(text.splitlines(), 1):
        directive = DIRECTIVE.match(line)
        word = directive["word"] if directive else ""
        depth += word.startswith("if") - (word == "endif")
        if word == "include":
            assert directive is not None
            header = directive["name"]
            if header not in included:
                known = {*included} if depth else included
                known.add(header)
                guard = f"INCLUDED_{re.sub(r'[^a-z0-9]', '_', header)}"
                lines += [f"#ifndef {guard}", f"#define {guard}"]
                lines += [_with_headers(_header(header, folders), header, folders, known), "#endif"]
            lines.append(f'#line {number + 1} "{name}"')
        else:
            lines.append("" if line.strip() == "#pragma once" else line)
    return "\n".join(lines)


def _header(name: str, folders: tuple[Path, ...]) -> str:
    """Return the text of the header ``name``, from the first of ``folders`` that has it."""
    for folder in folders:
        if (folder / name).is_file():
            return (folder / name).read_text()
    raise FileNotFoundError(f"no header {name} in {', '.join(map(str, folders))}")


_modules: dict[Program, Module] = {}
_lock = threading.Lock()  # of adding to them: a program is compiled once, whichever threads ask


def _module(program: Program) -> Module:
    module = _modules.get(program)
    if module is None:
        made = Module(Compilation(program.text, program.source.name, program.options), cooperative=program.cooperative)
        with _lock:
            module = _modules.setdefault(program, made)
    return module


def own_programs(store: object) -> list[Program]:
    """Return ``programs(store)`` of the backend's module ``programs`` or ``cuda`` (without CuPy), or an empty list."""
    package = type(store).__module__.rpartition(".")[0]
    for name in ("programs", "cuda"):
        if package and importlib.util.find_spec(f"{package}.{name}"):
            listed = getattr(importlib.import_module(f"{package}.{name}"), "programs", None)
            return [] if listed is None else list(listed(store))
    return []
