"""Arrays of the emulated device: NumPy's behind a class that NumPy and the host do not take for theirs."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cupy.memory import COUNTS, MemoryPointer, alloc

BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift", "matmul")
COMPARED = ("lt", "le", "eq", "ne", "gt", "ge")
METHODS = (
    "all", "any", "argmax", "argmin", "argsort", "astype", "clip", "copy", "cumprod", "cumsum", "diagonal", "dot",
    "flatten", "max", "mean", "min", "nonzero", "prod", "ravel", "repeat", "reshape", "round", "searchsorted",
    "squeeze", "std", "sum", "swapaxes", "take", "transpose", "var", "view",
)  # fmt: skip


class ndarray:  # noqa: N801  (CuPy's name)
    """An array of the device, see ``cupy.ndarray``."""

    __slots__ = ("__weakref__", "_data", "_host")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, shape: Any, dtype: Any = float, memptr: MemoryPointer | None = None, order: str = "C") -> None:
        shape = tuple(shape) if isinstance(shape, (tuple, list)) else (int(shape),)
        dtype = np.dtype(dtype)
        if memptr is None:
            memptr = alloc(math.prod(shape) * dtype.itemsize)
        self._data: MemoryPointer = memptr
        self._host = memptr.array(shape, dtype)

    @classmethod
    def _over(cls, host: np.ndarray, memory: Any) -> ndarray:
        """Return an array over memory that ``host`` shows."""
        self = cls.__new__(cls)
        self._host = host
        self._data = MemoryPointer(memory, host.__array_interface__["data"][0] if host.size else 0)
        return self

    @property
    def data(self) -> MemoryPointer:
        """Where it lies."""
        return self._data

    @property
    def device(self) -> Any:
        """The device."""
        return self._data.device

    @property
    def shape(self) -> tuple[int, ...]:
        """See NumPy."""
        return self._host.shape

    @property
    def dtype(self) -> np.dtype:
        """See NumPy."""
        return self._host.dtype

    @property
    def size(self) -> int:
        """See NumPy."""
        return self._host.size

    @property
    def T(self) -> ndarray:  # noqa: N802
        """See NumPy."""
        return self._as_mine(self._host.T)

    def __getattr__(self, name: str) -> Any:
        if name in ("ndim", "nbytes", "itemsize", "strides", "flags"):
            return getattr(self._host, name)
        raise AttributeError(f"'cupy.ndarray' object has no attribute {name!r}")

    def _as_mine(self, result: Any) -> Any:
        """Return what NumPy made of this array: a view of it, or a new array."""
        if result is self._host:
            return self
        if isinstance(result, np.ndarray) and result.base is not None:
            return ndarray._over(result, self._data.mem)
        return on_device(result)

    # -- reading on the host: what waits in CuPy --

    def get(self, stream: Any = None, order: str = "C", out: np.ndarray | None = None, blocking: bool = True) -> Any:
        """Return a copy on the host."""
        COUNTS["waits"] += blocking
        if out is None:
            return np.array(self._host, order=order)  # type: ignore[call-overload]
        if out.dtype != self.dtype or out.shape != self.shape:
            raise ValueError(f"out is {out.dtype}{out.shape}, the array {self.dtype}{self.shape}")
        out[...] = self._host
        return out

    def item(self, *args: int) -> Any:
        """See NumPy."""
        COUNTS["waits"] += 1
        return self._host.item(*args)

    def tolist(self) -> Any:
        """See NumPy."""
        COUNTS["waits"] += 1
        return self._host.tolist()

    def __bool__(self) -> bool:
        COUNTS["waits"] += 1
        return bool(self._host)

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        return self.item().__index__()

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __repr__(self) -> str:
        return repr(self._host)

    def __str__(self) -> str:
        return str(self._host)

    # -- elements --

    def __len__(self) -> int:
        return len(self._host)

    def __iter__(self) -> Iterator[ndarray]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> ndarray:
        at = _index(key)
        found = self._host[at]
        if isinstance(found, np.generic):  # CuPy has no scalars
            found = self._host[(*at, ...) if isinstance(at, tuple) else (at, ...)]
        return self._as_mine(found)

    def __setitem__(self, key: Any, value: Any) -> None:
        whole = key is Ellipsis or (isinstance(key, slice) and key == slice(None))
        self._host[_index(key)] = value if whole and isinstance(value, np.ndarray) else plain(value)

    def fill(self, value: Any) -> None:
        """See NumPy."""
        self._host.fill(plain(value))

    def set(self, values: np.ndarray, stream: Any = None) -> None:
        """Copy an array of the host here."""
        if not isinstance(values, np.ndarray):
            raise TypeError("Only numpy.ndarray can be set to cupy.ndarray")
        if values.dtype != self.dtype or values.shape != self.shape:
            raise ValueError(f"values are {values.dtype}{values.shape}, the array {self.dtype}{self.shape}")
        self._host[...] = values

    def sort(self, axis: int = -1) -> None:
        """See NumPy."""
        self._host.sort(axis)

    def __copy__(self) -> ndarray:
        return on_device(self._host.copy())

    def __deepcopy__(self, memo: Any) -> ndarray:
        return on_device(self._host.copy())

    def __reduce__(self) -> Any:
        return array, (self._host.copy(),)

    # -- what others see of it --

    def __array__(self, *args: Any, **options: Any) -> np.ndarray:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, out: Any = (), **options: Any) -> Any:
        if out:
            options["out"] = tuple(plain(part) for part in out)
        result = getattr(ufunc, method)(*plain(args), **plain(options))
        return out[0] if out else on_device(result)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return on_device(function(*plain(args), **plain(options)))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        strides = None if self.flags.c_contiguous else self.strides
        return {
            "shape": self.shape, "typestr": self.dtype.str, "descr": self.dtype.descr, "version": 3,
            "strides": strides, "data": (self._data.ptr, False), "stream": 1,
        }  # fmt: skip

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("an array of the emulated device is given on by its interface only")


def _binary(name: str) -> Callable[[ndarray, Any], Any]:
    def apply(self: ndarray, other: Any) -> Any:
        return on_device(getattr(self._host, name)(plain(other)))

    return apply


def _in_place(name: str) -> Callable[[ndarray, Any], ndarray]:
    def apply(self: ndarray, other: Any) -> ndarray:
        getattr(self._host, name)(plain(other))
        return self

    return apply


def _method(name: str) -> Callable[..., Any]:
    def apply(self: ndarray, *args: Any, **options: Any) -> Any:
        result = self._as_mine(getattr(self._host, name)(*plain(args), **plain(options)))
        return result if options.get("out") is None else options["out"]

    return apply


for _name in BINARY:
    setattr(ndarray, f"__{_name}__", _binary(f"__{_name}__"))
    setattr(ndarray, f"__r{_name}__", _binary(f"__r{_name}__"))
    setattr(ndarray, f"__i{_name}__", _in_place(f"__i{_name}__"))
for _name in COMPARED:
    setattr(ndarray, f"__{_name}__", _binary(f"__{_name}__"))
for _name in ("neg", "pos", "invert", "abs"):
    setattr(ndarray, f"__{_name}__", lambda self, _at=f"__{_name}__": on_device(getattr(self._host, _at)()))
for _name in METHODS:
    setattr(ndarray, _name, _method(_name))


def _index(key: Any) -> Any:
    """Return an index as NumPy takes it; arrays of the host may be one."""
    if isinstance(key, tuple):
        return tuple(map(_index, key))
    return key._host if isinstance(key, ndarray) else key


def plain(value: Any) -> Any:
    """Return arguments as NumPy takes them; arrays of the host are none."""
    if isinstance(value, ndarray):
        return value._host
    if isinstance(value, (tuple, list)):
        return type(value)(map(plain, value))
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    return value


def on_device(result: Any) -> Any:
    """Return what NumPy returned as new arrays of the device."""
    if isinstance(result, (np.ndarray, np.generic)):
        made = ndarray(result.shape, result.dtype)
        made._host[...] = result
        return made
    if isinstance(result, (tuple, list)):
        return type(result)(map(on_device, result))
    return result


def empty(shape: Any, dtype: Any = float, order: str = "C") -> ndarray:
    """Return an array of values that nobody may read."""
    return ndarray(shape, dtype)


def empty_like(other: ndarray, dtype: Any = None) -> ndarray:
    """Return an array of the same shape."""
    return ndarray(other.shape, other.dtype if dtype is None else dtype)


def full(shape: Any, value: Any, dtype: Any = None) -> ndarray:
    """Return an array of one value."""
    made = ndarray(shape, np.asarray(plain(value)).dtype if dtype is None else dtype)
    made.fill(value)
    return made


def array(values: Any, dtype: Any = None, copy: bool = True) -> ndarray:
    """Return a copy on the device."""
    if isinstance(values, ndarray):
        return values.astype(values.dtype if dtype is None else dtype, copy=copy)
    if hasattr(values, "__cuda_array_interface__"):
        given = _seen(values.__cuda_array_interface__)
        return given if dtype is None and not copy else array(given, dtype)
    if isinstance(values, (tuple, list)):
        values = [value._host if isinstance(value, ndarray) else value for value in values]
    return on_device(np.asarray(values, dtype))


def asarray(values: Any, dtype: Any = None) -> ndarray:
    """Return an array of the device, the same if it is one of this dtype."""
    return array(values, dtype, copy=False)


def ascontiguousarray(values: Any, dtype: Any = None) -> ndarray:
    """Return a contiguous array of the device, the same if it is one."""
    found = asarray(values, dtype)
    return found if found.flags.c_contiguous else on_device(np.ascontiguousarray(found._host))


def from_dlpack(values: Any) -> ndarray:
    """Return the array of another library over the same memory."""
    return values if isinstance(values, ndarray) else _seen(values.__cuda_array_interface__)


def _seen(interface: dict[str, Any]) -> ndarray:
    """Return an array over what an interface describes; its owner keeps the memory."""
    dtype, shape, (address, _) = np.dtype(interface["typestr"]), interface["shape"], interface["data"]
    strides = interface.get("strides") or np.empty(shape, dtype).strides
    size = sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) + dtype.itemsize if all(shape) else 0
    held = (ctypes.c_char * size).from_address(address) if size else bytearray()
    return ndarray._over(np.ndarray(shape, dtype, held, strides=strides), None)
