"""Kernels of a program, loaded per device, called like CuPy's with grid, block and arguments, with less host work."""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any
from weakref import WeakSet

import numpy as np

from suricate.cuda.compiler import FINAL, LOCAL, RANKS, Compilation

SLOT = 16  #: bytes; parameters begin at multiples of it


class Module:
    """The kernels of one program, loaded on each device that calls them.

    Until the final build of the program exists (see ``suricate.cuda.compiler``), launches use the best one there is. A
    replaced build stays loaded, since launches of it may be running.

    Args:
        compilation: the builds of the program.
        cooperative: whether its kernels are launched cooperatively.
    """

    def __init__(self, compilation: Compilation, *, cooperative: bool) -> None:
        from cupy.cuda import Device, function, runtime

        self.compilation, self.cooperative = compilation, cooperative
        self._device, self._new_module, self.current_device = Device, function.Module, runtime.getDevice
        self.lock = threading.RLock()  # of what is loaded
        self._loaded: dict[int, tuple[Any, str]] = {}  # by device: CuPy's module, the level of the build
        self._replaced: list[Any] = []
        self._kernels: dict[str, Kernel] = {}

    def kernel(self, name: str) -> Kernel:
        """Return the kernel ``name``, compiled and loaded on the current device."""
        with self.lock:
            kernel = self._kernels.get(name)
            if kernel is None:
                kernel = self._kernels[name] = Kernel(self, name)
                assert kernel.function.ptr  # compiled by now
            return kernel

    def load(self, name: str) -> Any:
        """Return CuPy's function for the kernel ``name`` on the current device, from the final or the quick build."""
        with self.lock:
            return self._of(self.current_device()).get_function(name)

    def make_ready(self, device: int) -> None:
        """Load the program on a device unless it is loaded, from the final build if that exists, else the quick one."""
        with self._device(device), self.lock:
            self._of(device)

    @property
    def is_final(self) -> bool:
        """Whether launches on all devices take the final build."""
        return all(level == FINAL for _, level in self._loaded.values())

    def finish(self) -> None:
        """Wait for the final build and replace quick builds by it."""
        if not self.is_final:
            self._replace(self.compilation.final(), FINAL)

    def _of(self, device: int) -> Any:
        """Return CuPy's module on ``device``, which is current; loads the program if necessary."""
        if device not in self._loaded:
            binary, level = self.compilation.soon(self._replace)
            self._loaded[device] = self._module_of(binary), level
        return self._loaded[device][0]

    def _module_of(self, binary: bytes) -> Any:
        module = self._new_module()
        module.load(binary)
        return module

    def _replace(self, binary: bytes, level: str) -> None:
        """Load a build on all devices that use a worse one, and make kernels launch it."""
        with self.lock:
            for device in [device for device, (_, held) in self._loaded.items() if RANKS[held] < RANKS[level]]:
                with self._device(device):
                    module = self._module_of(binary)
                    self._replaced.append(self._loaded[device][0])
                    self._loaded[device] = module, level
                    for kernel in self._kernels.values():
                        kernel.replace(device, module.get_function(kernel.name))


class Kernel:
    """A kernel that packs its arguments in one step and passes them to the driver.

    Until the final build of the program exists, quick ones are launched (see :class:`Module`), and counted.

    Args:
        module: the program that it belongs to.
        name: its name in the program.
    """

    def __init__(self, module: Module, name: str) -> None:
        from cupy.cuda import driver, get_current_stream, runtime

        self.name, self._module, self._cooperative = name, module, module.cooperative
        self._driver, self._current_stream, self._current_device = driver, get_current_stream, runtime.getDevice
        self._make_current = runtime.free
        self._functions: dict[int, Any] = {}  # by device
        self._prepared: WeakSet[PreparedKernel] = WeakSet()
        self._known = _Known()

    @property
    def function(self) -> Any:
        """CuPy's function on the current device, whose address is ``ptr``: of the best build there is."""
        device = self._current_device()
        return self._functions.get(device) or self._load(device)

    def address_for(self, prepared: PreparedKernel) -> int:
        """Return the kernel's address on the current device; a better build loaded later sets ``prepared.function``."""
        with self._module.lock:
            self._prepared.add(prepared)
            return self.function.ptr

    def replace(self, device: int, function: Any) -> None:
        """Use ``function``, from a better build, on a device from now on; the caller holds the module's lock."""
        before, self._functions[device] = self._functions.get(device), function
        if self._module.is_final:
            self.__dict__.pop("launch", None)  # it need not count any more
        for prepared in self._prepared:
            if before is not None and prepared.function == before.ptr:
                prepared.function = function.ptr

    def finish(self) -> None:
        """Wait for the final build; call it before you keep the kernel's address or use its number of registers."""
        self._module.finish()

    def resident(self, threads: int) -> int:
        """Return how many blocks of ``threads`` threads a multiprocessor of the current device holds at a time."""
        self.finish()
        held: int = self._driver.occupancyMaxActiveBlocksPerMultiprocessor(self.function.ptr, threads, 0)
        return held

    def __call__(self, grid: tuple[int, ...], block: tuple[int, ...], arguments: tuple[Any, ...]) -> None:
        """Launch ``grid`` blocks of ``block`` threads into CuPy's current stream; does not wait.

        A grid of 0 becomes one block. ``arguments`` are CuPy arrays and numbers; each must have the same size in every
        call. The first launch of a thread on a device makes the device's context current in the thread.
        """
        device = self._current_device()
        function = self._functions.get(device) or self._load(device)
        parameters = self._known.parameters.get(device)
        if parameters is None:
            self._make_current(0)
            parameters = self._known.parameters[device] = Parameters(arguments)
        shape = (grid[0] or 1, *grid[1:], 1, 1)[:3] + (*block, 1, 1)[:3]
        parameters.pack(arguments)
        self.launch((function.ptr, *shape, 0), parameters.address)

    def launch(self, shape: tuple[int, ...], parameters: int) -> None:
        """Pass a launch to the driver.

        ``shape``: address of the kernel, grid (3), block (3), bytes of shared memory. ``parameters``: address of an
        array that holds the address of each parameter.
        """
        stream = self._current_stream().ptr
        if self._cooperative:
            self._driver.launchCooperativeKernel(*shape, stream, parameters)
        else:
            self._driver.launchKernel(*shape, stream, parameters, 0)

    def _load(self, device: int) -> Any:
        with self._module.lock:
            function = self._functions[device] = self._module.load(self.name)
            if not self._module.is_final:
                self.launch = self._launch_quick  # type: ignore[method-assign]
            return function

    def _launch_quick(self, shape: tuple[int, ...], parameters: int) -> None:
        LOCAL.quick_launches += 1
        self._module.compilation.use()
        Kernel.launch(self, shape, parameters)


class _Known(threading.local):
    """A thread's memory for the parameters of a kernel, by device."""

    def __init__(self) -> None:
        self.parameters: dict[int, Parameters] = {}


class Parameters:
    """The parameters of a kernel, packed in host memory in the form in which the driver's launch takes them.

    Args:
        arguments: examples of the arguments: later arguments must have the same types.

    Attributes:
        address: address of an array that holds the address of each parameter.
    """

    def __init__(self, arguments: tuple[Any, ...]) -> None:
        codes = [_code_of(argument) for argument in arguments]
        self._packers = [struct.Struct(f"={code}") for code in codes]
        slots = [-(-packer.size // SLOT) * SLOT for packer in self._packers]
        self._padded = [f"{code}{slot - p.size}x" for code, p, slot in zip(codes, self._packers, slots, strict=True)]
        self._packer = struct.Struct("=" + "".join(self._padded))
        self._buffer = ctypes.create_string_buffer(self._packer.size + SLOT)
        start = -(-ctypes.addressof(self._buffer) // SLOT) * SLOT
        self._offset = start - ctypes.addressof(self._buffer)
        begins = [sum(slots[:i]) for i in range(len(slots))]
        self._addresses = (ctypes.c_void_p * len(slots))(*(start + begin for begin in begins))
        self._begins = [self._offset + begin for begin in begins]
        self.address = ctypes.addressof(self._addresses)

    def pack(self, arguments: tuple[Any, ...]) -> None:
        """Pack all ``arguments`` of the next launch, in place."""
        self._packer.pack_into(self._buffer, self._offset, *[_VALUES[type(one)](one) for one in arguments])

    def put(self, place: int, argument: Any) -> None:
        """Pack ``argument`` as parameter number ``place``; the other parameters are unchanged."""
        self._packers[place].pack_into(self._buffer, self._begins[place], _VALUES[type(argument)](argument))

    def put_struct(self, place: int, packer: struct.Struct, values: tuple[int, ...]) -> None:
        """Pack ``values`` by ``packer`` as parameter number ``place``, a struct; the other parameters are unchanged."""
        packer.pack_into(self._buffer, self._begins[place], *values)

    def run_of(self, first: int, end: int) -> Callable[..., None]:
        """Return a function that packs numbers or addresses as the parameters ``first`` to ``end`` (exclusive)."""
        packer = struct.Struct("=" + "".join(self._padded[first:end]))
        return partial(packer.pack_into, self._buffer, self._begins[first])


class PreparedKernel:
    """A kernel that is launched repeatedly: it keeps its arguments, and the caller writes only those that change.

    It belongs to one device. Use it in one thread at a time, and keep the arrays alive. ``function`` is the address of
    the kernel, updated when the final build replaces it; ``put``, ``put_struct`` and ``run_of`` are those of
    :class:`Parameters`.

    Args:
        kernel: the kernel.
        blocks: blocks of the grid.
        threads: threads of a block.
        arguments: all arguments, as a :class:`Kernel` takes them.
    """

    def __init__(self, kernel: Kernel, blocks: int, threads: int, arguments: tuple[Any, ...]) -> None:
        self._kernel, self._initialised = kernel, _Initialised()
        self._parameters = Parameters(arguments)
        self._parameters.pack(arguments)
        self.put, self.put_struct, self.run_of = (
            self._parameters.put, self._parameters.put_struct, self._parameters.run_of
        )  # fmt: skip
        self.function, self._blocks, self._threads = kernel.address_for(self), blocks, threads

    def launch(self, blocks: int | None = None) -> None:
        """Launch into CuPy's current stream, ``blocks`` blocks (None: the number of the constructor); does not wait."""
        if not self._initialised.here:
            self._initialised.make_current()
        shape = self.function, blocks or self._blocks, 1, 1, self._threads, 1, 1, 0
        self._kernel.launch(shape, self._parameters.address)


class WordKernel(PreparedKernel):
    """A kernel whose arguments are all numbers or addresses of 64 bits, launched with little work for the host.

    Args:
        kernel: the kernel.
        threads: threads of a block.
        count: number of its arguments.
    """

    def __init__(self, kernel: Kernel, threads: int, count: int) -> None:
        super().__init__(kernel, 1, threads, (0,) * count)
        self._put = self.run_of(0, count)

    def __call__(self, blocks: int, *arguments: int) -> None:
        """Launch ``blocks`` blocks with these numbers or addresses into CuPy's current stream; does not wait."""
        if not self._initialised.here:
            self._initialised.make_current()
        self._put(*arguments)
        self._kernel.launch((self.function, blocks or 1, 1, 1, self._threads, 1, 1, 0), self._parameters.address)


class _Initialised(threading.local):
    """Whether a launch has made the device's context current in this thread."""

    here = False

    def make_current(self) -> None:
        from cupy.cuda import runtime

        runtime.free(0)
        self.here = True


class _Values(dict[type, Callable[[Any], Any]]):
    """By type of an argument, the function that converts the argument to the number or bytes that ``struct`` packs."""

    def __missing__(self, kind: type) -> Callable[[Any], Any]:
        value: Callable[[Any], Any] = _null if kind is type(None) else _address
        if issubclass(kind, np.void):
            value = np.void.tobytes
        elif issubclass(kind, np.floating | float):
            value = float
        elif issubclass(kind, np.generic | int):
            value = int
        self[kind] = value
        return value


def _null(argument: None) -> int:
    return 0


_VALUES = _Values()
_address = attrgetter("data.ptr")  # of an array


def _code_of(argument: Any) -> str:
    """Return the format character by which the ``struct`` module packs ``argument``."""
    if isinstance(argument, np.void):
        return f"{argument.nbytes}s"
    if isinstance(argument, (np.generic, int, float)):
        return _CODES[np.asarray(argument).dtype.str[1:]]
    return "Q"


_CODES = {
    "b1": "?", "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q", "f4": "f",
    "f8": "d",
}  # fmt: skip
