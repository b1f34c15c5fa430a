"""Launches without a GPU: arrays that have addresses, and a check of a kernel's arguments against its parameters."""

from __future__ import annotations

import re
import struct
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from suricate.cuda.program import Program
from suricate.cuda.structs import Struct
from suricate.primitives import bits_dtype
from suricate.primitives.located import LocatedBatch

SCALARS = {
    "int": np.int32, "uint32_t": np.uint32, "long long": np.int64, "unsigned long long": np.uint64,
    "double": np.float64,
}  # fmt: skip


class FakeArray(np.ndarray):
    """A host array that looks like a CuPy array to what packs and launches."""

    @property
    def data(self) -> Any:
        """The address."""
        memory = SimpleNamespace(ptr=self.ctypes.data, size=self.nbytes)
        return SimpleNamespace(ptr=self.ctypes.data, mem=memory, memset_async=lambda value, size: None)

    def get(self) -> np.ndarray:
        """Return a copy on the host."""
        return np.array(self)


def array(length: int, dtype: Any) -> FakeArray:
    """Return zeros."""
    return np.zeros(length, dtype).view(FakeArray)


def bits(length: int, dtype: np.dtype | None) -> FakeArray:
    """Return the bits of weights of a type, an empty array for None."""
    return array(0 if dtype is None else length, bits_dtype(dtype))


def batch_of(size: int) -> LocatedBatch:
    """Return a located batch with ranks."""
    keys, order, kind, slot = (array(size, dtype) for dtype in (np.uint64, np.uint32, np.uint8, np.int64))
    return LocatedBatch(keys, order, kind, slot, size, rank=array(size, np.int32))


def fake_cupy() -> ModuleType:
    """Return a module with the few functions of CuPy that launching code calls."""
    module = ModuleType("cupy")
    module.empty = module.zeros = array  # type: ignore[attr-defined]
    module.cuda = SimpleNamespace(  # type: ignore[attr-defined]
        Device=lambda index: SimpleNamespace(attributes={"MultiProcessorCount": 4}),
        alloc=lambda size: FakeMemory(size),
        alloc_pinned_memory=bytearray,
    )
    module.ndarray = lambda shape, dtype, memory: array(shape[0], dtype)  # type: ignore[attr-defined]
    return module


class FakeMemory:
    """Memory that nobody reads or writes."""

    def __init__(self, size: int) -> None:
        self.ptr, self.size = 1 << 20, size

    def __add__(self, offset: int) -> FakeMemory:
        assert offset < self.size
        return self


def fake_device() -> Any:
    """Return a CUDA device of :func:`fake_cupy`."""
    return SimpleNamespace(xp=fake_cupy(), index=0, is_cuda=True)


class FakeStructKernel:
    """A ``StructKernel`` that notes its launches: the names, and how many blocks; ``launched`` is set by a fixture."""

    launched: ClassVar[list[str]] = []
    blocks: ClassVar[list[int]] = []

    def __init__(self, program: Program, name: str, size: int) -> None:
        assert f" {name}(const __grid_constant__" in program.text, f"{program.source.name} has no such kernel {name}"
        self.buffer, self._name = bytearray(size), name

    def resident(self, threads: int) -> int:
        """Return how many blocks a multiprocessor holds."""
        return 2

    def launch(self, blocks: int, threads: int) -> None:
        """Note the launch."""
        self.launched.append(self._name)
        self.blocks.append(blocks)


class FakePrepared:
    """A ``PreparedKernel`` that keeps its arguments as they were given, and launches as other kernels are launched."""

    def __init__(self, kernel: Any, blocks: int, threads: int, arguments: tuple) -> None:
        self.kernel, self.grid, self.arguments = kernel, ((blocks,), (threads,)), [*arguments]

    def put(self, place: int, argument: Any) -> None:
        """Change an argument."""
        assert type(argument) is type(self.arguments[place])
        self.arguments[place] = argument

    def put_struct(self, place: int, packer: struct.Struct, values: tuple[int, ...]) -> None:
        """Change an argument that is a struct."""
        self.put(place, np.frombuffer(packer.pack(*values), self.arguments[place].dtype)[0])

    def launch(self) -> None:
        """Launch."""
        self.kernel(*self.grid, tuple(self.arguments))


def parameters(code: Program, kernel: str) -> list[str]:
    """Return the C++ types of a kernel's parameters; ``VIEWS`` are those of ``core_numbers.cuh``."""
    found = re.search(rf"__global__ void\s+(?:__launch_bounds__\([\w, ]+\)\s+)?{kernel}\(([^)]*)\)", code.text)
    assert found, f"{code.source.name} has no kernel {kernel}"
    views = "OneWay out, OneWay into" if "both_ways.cuh" in code.text else "View g"
    kinds = (" ".join(part.split()[:-1]) for part in found[1].replace("VIEWS", views).split(","))
    return [kind.replace("const ", "").replace("__grid_constant__ ", "") for kind in kinds]


def check_launch(code: Program, kernel: str, args: tuple, structs: dict[str, Struct]) -> None:
    """Assert that ``args`` fit the parameters of a kernel: how many, pointers, structs by size, scalars by type."""
    wanted = parameters(code, kernel)
    assert len(args) == len(wanted), f"{kernel} takes {wanted}"
    for arg, kind in zip(args, wanted, strict=True):
        if kind.endswith("*"):
            assert arg is None or isinstance(arg, (FakeArray, np.uint64)), f"{kernel}: {arg!r} for {kind}"
        elif kind in structs:
            assert isinstance(arg, np.void), f"{kernel}: {arg!r} for {kind}"
            assert arg.nbytes == structs[kind].size, f"{kernel}: {kind}"
        else:
            assert type(arg) is SCALARS[kind], f"{kernel}: {arg!r} for {kind}"
