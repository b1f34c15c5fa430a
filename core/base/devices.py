"""Where a graph lives: the CPU (NumPy arrays, Numba loops) or one CUDA device (CuPy arrays, CUDA C++ kernels).

The device is decided once, when a graph is built, and stays visible as ``graph.device``. Nothing here imports CuPy
until a CUDA device is really used.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from suricate.base.cache import can_write, private_folder
from suricate.base.errors import DeviceError, RequirementError
from suricate.base.forks import in_child
from suricate.base.notice import tell
from suricate.base.parameters import shown

DeviceName: TypeAlias = Literal[
    "auto", "cpu", "cuda", "cuda:0", "cuda:1", "cuda:2", "cuda:3", "cuda:4", "cuda:5", "cuda:6", "cuda:7", "cuda:8",
    "cuda:9", "cuda:10", "cuda:11", "cuda:12", "cuda:13", "cuda:14", "cuda:15",
]  # fmt: skip
WITH_CUPY: list[Callable[[], None]] = []  #: called by each device that imports CuPy
_NO_OTHER = nullcontext()
Array = Any  #: a ``numpy.ndarray`` on the CPU, a ``cupy.ndarray`` on CUDA: within the package, which uses what differs


class SupportsArray(Protocol):
    """Anything that ``numpy.asarray`` converts: arrays, tensors, columns of data frames."""

    def __array__(self) -> np.ndarray:
        """Return the values as a NumPy array."""


class SupportsDLPack(Protocol):
    """Anything that exports its memory by the DLPack protocol: arrays and tensors of other libraries, on any device."""

    def __dlpack__(self) -> Any:
        """Return the memory as a DLPack capsule."""


ReturnedArray: TypeAlias = "np.ndarray[Any, Any]"  #: an :data:`Array` for users, whose type checkers know NumPy's
GivenArray: TypeAlias = Sequence[float] | SupportsArray | SupportsDLPack  #: numbers from users
GivenVertices: TypeAlias = Iterable[int] | Iterable[str] | SupportsArray | SupportsDLPack  #: ids or names from users


@dataclass(frozen=True)
class Device:
    """One device: ``kind`` is ``"cpu"`` or ``"cuda"``, ``index`` the CUDA ordinal (0 on the CPU).

    Example:
        >>> su.Device("cpu"), su.Device("cpu").is_cuda
        (Device(kind='cpu', index=0), False)
    """

    kind: str
    index: int = 0

    def __post_init__(self) -> None:
        if self.is_cuda:
            _give_cupy_a_cache()

    def __str__(self) -> str:
        return "cpu" if self.kind == "cpu" else f"cuda:{self.index}"

    @cached_property
    def is_cuda(self) -> bool:
        """Whether this is a CUDA device."""
        return self.kind == "cuda"

    @cached_property
    def xp(self) -> ModuleType:
        """The array module of the device: ``numpy`` or ``cupy``."""
        found = importlib.import_module("cupy" if self.is_cuda else "numpy")
        if self.is_cuda:
            for prepare in WITH_CUPY:
                prepare()
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return Device, (self.kind, self.index)

    def current(self) -> AbstractContextManager[Any]:
        """Return a context manager that makes this CUDA device current.

        It does nothing on the CPU, or if there is no other CUDA device.

        Example:
            >>> with su.Graph(3, device="cpu").device.current():
            ...     print("on the device of the graph")
            on the device of the graph
        """
        return self.xp.cuda.Device(self.index) if self.is_cuda and cuda_device_count() > 1 else _NO_OTHER

    def synchronize(self) -> None:
        """Wait until all work queued on the current stream is done (nothing to do on the CPU).

        Example:
            >>> print(su.Graph(3, device="cpu").device.synchronize())
            None
        """
        if self.is_cuda:
            self.xp.cuda.get_current_stream().synchronize()

    def to_numpy(self, array: Array) -> np.ndarray:
        """Copy ``array``, which lies on this device, to a NumPy array; on the CPU it is returned uncopied.

        Raises:
            RequirementError: reading values of a CUDA device is forbidden now (see :func:`reading_refused`).

        Example:
            >>> g = su.Graph.from_coo([0, 0], [1, 2], device="cpu")
            >>> g.device.to_numpy(g.degrees()).tolist()
            [2, 0, 0]
        """
        if self.is_cuda:
            if (reader := getattr(_refused, "reader", None)) is not None:
                raise RequirementError(f"a value of the device is read in {reader}")
            return array.get()
        return np.asarray(array)


DeviceLike: TypeAlias = DeviceName | Device  #: what stands for a device


CPU = Device("cpu")

_refused = threading.local()


@contextmanager
def reading_refused(reader: str) -> Iterator[None]:
    """Make :meth:`Device.to_numpy` of CUDA devices raise in this thread, inside the ``with`` block.

    ``reader`` says for the message where the value is read, such as "the body of iterate".
    """
    outer, _refused.reader = getattr(_refused, "reader", None), reader
    try:
        yield
    finally:
        _refused.reader = outer


def allow_reading() -> None:
    """Permit :meth:`Device.to_numpy` again in this thread, inside a block of :func:`reading_refused`, until its end."""
    _refused.reader = None


@cache
def _give_cupy_a_cache() -> None:
    """Set CuPy's cache folder to a temporary one if its own cannot be written: its import would fail."""
    folder = Path(os.environ.get("CUPY_CACHE_DIR") or os.path.expanduser("~/.cupy/kernel_cache"))
    if os.environ.get("CUPY_CACHE_IN_MEMORY", "0") == "0" and not can_write(folder):
        private = private_folder()
        os.environ["CUPY_CACHE_DIR"] = str(private or os.sep)
        os.environ["CUPY_CACHE_IN_MEMORY"] = str(int(private is None))


def module_of(array: Array) -> Any:
    """Return ``numpy`` for a NumPy array, else ``cupy``."""
    if isinstance(array, np.ndarray):
        return np
    import cupy

    return cupy


def total(array: Array) -> int:
    """Return the sum of integers or bools, or how many bools are true; on CUDA it waits.

    CuPy brings sums in machine code where the sum has the type of the entries; others it compiles for seconds.
    """
    return int(array.sum() if isinstance(array, np.ndarray) else array.astype(np.int64).sum())


def any_true(mask: Array) -> bool:
    """Return whether an entry of ``mask``, bools, is true; on CUDA it waits.

    CuPy brings the largest of bytes in machine code, and compiles ``any()`` for seconds.
    """
    if isinstance(mask, np.ndarray):
        return bool(mask.any())
    return bool(mask.size) and bool(mask.view(np.uint8).max())


def copied(array: Array) -> Array:
    """Return a copy of ``array``; on CUDA without CuPy's copy kernel, whose compilation would delay the first call."""
    xp = module_of(array)
    if xp is np or not array.flags.c_contiguous:
        return array.copy()
    found, runtime = xp.empty_like(array), xp.cuda.runtime
    stream = xp.cuda.get_current_stream().ptr
    runtime.memcpyAsync(found.data.ptr, array.data.ptr, array.nbytes, runtime.memcpyDeviceToDevice, stream)
    return found


@cache
def cuda_device_count() -> int:
    """Return the number of CUDA devices that the driver reports; 0 if there is no driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


_forked = False  # whether this is a child of a process that had initialised CUDA
FORKED = "CUDA was initialised before this process was forked, and does not work in a child of fork"
NO_CUPY = (
    "suricate: there is a CUDA device, but device='auto' takes the CPU, since CuPy is not installed "
    "(pip install 'suricate[cuda13]' or 'suricate[cuda12]'; without this line: device='cpu' or SURICATE_QUIET=1)"
)


@in_child
def _note_fork() -> None:
    global _forked
    _forked = _forked or (cuda_device_count.cache_info().currsize > 0 and cuda_device_count() > 0)


def refuse_after_fork() -> None:
    """Raise ``DeviceError`` in a child of ``fork`` whose parent had initialised CUDA: CUDA does not work there."""
    if _forked:
        raise DeviceError(f"{FORKED}: start processes by the method 'spawn' of multiprocessing")


def _automatic() -> Device:
    """Return the first CUDA device if there is one and it can be used, else the CPU."""
    if cuda_device_count() == 0:
        return CPU
    if _forked:
        tell(f"suricate: {FORKED}, so device='auto' takes the CPU (without this line: device='cpu')")
        return CPU
    if importlib.util.find_spec("cupy") is None:
        tell(NO_CUPY)
        return CPU
    return Device("cuda")


def resolve_device(spec: str | Device = "auto") -> Device:
    """Return the device named by ``spec``: ``"auto"``, ``"cpu"``, ``"cuda"`` or ``"cuda:N"``.

    ``"auto"`` is the first CUDA device if there are a driver, a device and CuPy, else the CPU. If there is a device
    that cannot be used, a line on stderr says so.

    Raises:
        DeviceError: the name is unknown, or the named CUDA device or CuPy is missing.
    """
    if isinstance(spec, Device):
        spec = str(spec)
    name = spec if isinstance(spec, str) else ""
    if name == "auto":
        return _automatic()
    if name == "cpu":
        return CPU
    kind, _, index = name.partition(":")
    if kind != "cuda" or not ((index.isascii() and index.isdigit() and len(index) < 10) or name == "cuda"):
        raise DeviceError(f"unknown device {shown(spec)}: use 'auto', 'cpu', 'cuda' or 'cuda:N'")
    refuse_after_fork()
    wanted = int(index or 0)
    if wanted >= cuda_device_count():
        raise DeviceError(f"device {spec!r} is not available: the CUDA driver reports {cuda_device_count()} device(s)")
    if importlib.util.find_spec("cupy") is None:
        raise DeviceError("CUDA needs CuPy: pip install 'suricate[cuda13]' (or 'suricate[cuda12]')")
    return Device("cuda", wanted)
