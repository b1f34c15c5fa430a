"""CUDA kernels on the CPU: programs compiled by g++ over ``emulated.hpp``, and a device whose launches run them.

For what launch arguments and NVRTC cannot show: what kernels compute, and how their threads wait for each other. Each
launch takes its turns in another random order.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from suricate.cuda.kernel import _bytes_of
from suricate.cuda.program import Program
from suricate.devices import CPU
from suricate.primitives import sort_batch

GXX = shutil.which("g++")
HEADER = Path(__file__).with_name("emulated.hpp")
KERNEL = re.compile(r'extern "C" EMULATED_KERNEL void\s+(\w+)\(([^)]*)\)')
# What a template keeps in static storage is each library's own.
COMPILER = ("g++", "-std=c++17", "-O1", "-w", "-fno-strict-aliasing", "-fno-gnu-unique", "-shared", "-fPIC", "-pthread")
ASM = re.compile(r'asm(?: volatile)?\("([a-z]+)[^"]*"\s*:(.*?)\);', re.DOTALL)
OPERAND = re.compile(r'"=?[a-z]"\(((?:[^()]|\([^()]*\))*)\)')
MULTIPROCESSORS, RESIDENT = 2, 2  #: blocks of a cooperative launch: all of them at a time
SEEDS: Iterator[int] = count(1)


@cache
def folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="suricate-emulated-"))


def _in_words(match: re.Match[str]) -> str:
    """Return C++ for a statement in PTX: the same loads and stores, whatever is said of caches and orders of memory."""
    operands = OPERAND.findall(match[2])
    statements = {
        "atom": "{0} = atomicAdd({1}, {2});", "cvt": "{0} = {1};", "ld": "emulated_load({last}, {others});",
        "st": "emulated_store({others}, {last});",
    }  # fmt: skip
    others, last = ", ".join(operands[:-1]), "".join(operands[-1:])
    return statements.get(match[1], ";").format(*operands, last=last, others=others)


@cache
def library(program: Program) -> ctypes.CDLL:
    """Compile a program; ``run_NAME(grid, block, together, seed, parameters)`` runs its kernel NAME."""
    source = f'#include "{HEADER}"\n{ASM.sub(_in_words, program.text)}'
    path = folder() / hashlib.sha256(source.encode()).hexdigest()[:16]
    path.with_suffix(".cpp").write_text(source)
    command = [*COMPILER, "-E", str(path.with_suffix(".cpp"))]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout  # without kernels left out
    runs = []
    for name, given in KERNEL.findall(text):
        kinds = [part.rsplit(maxsplit=1)[0] for part in re.sub(r"(?m)^#.*$", "", given).split(",")]
        values = ", ".join(f"*reinterpret_cast<{kind}*>(p[{i}])" for i, kind in enumerate(kinds))
        runs.append(
            f'extern "C" void run_{name}(unsigned grid, unsigned block, bool together, unsigned seed, void** p) '
            f"{{ emulated::launch(grid, block, together, seed, [=] {{ {name}({values}); }}); }}"
        )
    path.with_suffix(".ii").write_text("\n".join([text.replace("EMULATED_KERNEL", ""), '# 1 "runs"', *runs]))
    subprocess.run([*COMPILER, "-o", str(path.with_suffix(".so")), str(path.with_suffix(".ii"))], check=True)
    return ctypes.CDLL(str(path.with_suffix(".so")))


def run(program: Program, name: str, grid: int, block: int, *parameters: Any) -> None:
    """Run a kernel over ctypes buffers."""
    places = (ctypes.c_void_p * len(parameters))(*map(ctypes.addressof, parameters))
    library(program)[f"run_{name}"](grid, block, program.cooperative, next(SEEDS), places)


def kernel(program: Program, name: str) -> Callable[[tuple[int, ...], tuple[int, ...], tuple[Any, ...]], None]:
    """Stands for ``Program.kernel``."""

    def launch_it(grid: tuple[int, ...], block: tuple[int, ...], arguments: tuple[Any, ...]) -> None:
        parameters = (ctypes.create_string_buffer(value, len(value) + 16) for value in map(_bytes_of, arguments))
        run(program, name, grid[0], block[0], *parameters)

    return launch_it


def launch(code: Program, name: str, threads: int, *args: Any, block: int = 256) -> None:
    """Stands for ``suricate.primitives.cuda.launch``."""
    if threads:
        kernel(code, name)((-(-threads // block),), (block,), args)


class EmulatedStructKernel:
    """Stands for ``suricate.cuda.launch.StructKernel``."""

    def __init__(self, program: Program, name: str, size: int) -> None:
        self.buffer, self._program, self._name = ctypes.create_string_buffer(size), program, name

    def resident(self, threads: int) -> int:
        return RESIDENT

    def launch(self, blocks: int, threads: int) -> None:
        run(self._program, self._name, blocks, threads, self.buffer)


class EmulatedArray(np.ndarray):
    """An array of the emulated device, in memory of it."""

    def __new__(cls, shape: tuple[int], dtype: Any, memory: np.ndarray | EmulatedMemory) -> EmulatedArray:
        size = shape[0] * np.dtype(dtype).itemsize
        return (memory + 0 if isinstance(memory, EmulatedMemory) else memory)[:size].view(dtype).view(cls)

    @property
    def data(self) -> Any:
        return SimpleNamespace(ptr=self.ctypes.data)

    def get(self, out: np.ndarray | None = None, blocking: bool = True) -> np.ndarray:
        if out is None:
            return np.array(np.asarray(self))
        out[...] = self
        return out


class EmulatedMemory:
    """Memory of the emulated device."""

    def __init__(self, size: int) -> None:
        self.bytes = np.full(size, 0xA5, np.uint8)  # nobody may read what nobody wrote
        self.ptr = self.bytes.ctypes.data

    def __add__(self, offset: int) -> np.ndarray:
        return self.bytes[offset:]


def _made(make: Any) -> Any:
    return lambda *args, **kwargs: make(*args, **kwargs).view(EmulatedArray)


class EmulatedDevice:
    """A CUDA device whose kernels run on the CPU."""

    kind, index, is_cuda = "cuda", 0, True

    def __init__(self) -> None:
        names = ("empty", "zeros", "full", "arange", "asarray", "array", "concatenate")
        self.xp: Any = SimpleNamespace(**{name: _made(getattr(np, name)) for name in names})
        self.xp.ndarray = EmulatedArray
        self.xp.cuda = SimpleNamespace(
            Device=lambda index: SimpleNamespace(
                attributes={"MultiProcessorCount": MULTIPROCESSORS}, synchronize=lambda: None
            ),
            alloc=EmulatedMemory,
            alloc_pinned_memory=bytearray,
            Event=lambda **options: SimpleNamespace(record=lambda: None, done=True),
        )

    def to_numpy(self, array: Any) -> np.ndarray:
        return array.get()

    def put(self, array: np.ndarray | None) -> Any:
        """Return an array as this device has it."""
        return None if array is None else np.array(array).view(EmulatedArray)


class EmulatedSorter:
    """Sorts the batches of a store."""

    def __init__(self, device: EmulatedDevice) -> None:
        self._device = device

    def sort(self, src: Any, dst: Any, num_vertices: int) -> tuple[Any, Any]:
        keys, order = sort_batch(CPU, np.asarray(src), np.asarray(dst), num_vertices)
        return self._device.put(keys), self._device.put(order)
