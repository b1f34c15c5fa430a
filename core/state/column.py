"""Columns by vertex, or by row of edges: arrays that grow with a graph, and whose entries are reset at deletions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from suricate.base.devices import CPU, Array, Device
from suricate.base.errors import DTypeError, ShapeError, require
from suricate.base.parameters import shown
from suricate.intake.arrays import as_array, on_host
from suricate.intake.tables import as_numpy, with_nulls

RULE = "columns are numbers of at most 64 bits, bools or texts"
TEXT = np.dtype(object)  #: of columns of ``str``, which are in host memory
_DEFAULTS = {"f": np.nan, "i": 0, "u": 0, "b": False, "O": ""}  # what is missing, by kind of dtype


def unlimited(size: int) -> None:
    """Admit ``size`` bytes: there is no memory limit."""


class Column:
    """One value per vertex, in an array that may be longer; entries beyond the last vertex hold ``missing``.

    Args:
        device: the graph's device.
        size: number of vertices.
        dtype: bool, an integer or floating dtype, or :data:`TEXT`, whose values are in host memory.
        missing: the value of vertices that have none.

    Raises:
        DTypeError: another dtype, or it cannot hold ``missing``.
    """

    def __init__(self, device: Device, size: int, dtype: np.dtype, missing: Any = None) -> None:
        if dtype.kind not in _DEFAULTS or dtype.itemsize > 8:
            raise DTypeError(f"columns are numbers, bools or texts, not {dtype}")
        self.dtype, self.size = dtype, size
        self.device = CPU if dtype == TEXT else device
        value = fitted(_DEFAULTS[dtype.kind] if missing is None else missing, dtype, "missing")
        if value.ndim:
            raise DTypeError(f"missing must be one value, got {shown(missing)}")
        self.missing = value[()]
        self._buffer = self._filled(size)

    def _filled(self, size: int) -> Array:
        buffer = self.device.xp.empty(size, self.dtype)
        buffer.fill(self.missing)
        return buffer

    @property
    def array(self) -> Array:
        """The values, one per vertex: the array itself, not a copy, until vertices are added."""
        return self._buffer[: self.size]

    def demanded(self, name: str, size: int) -> Array:
        """Return :attr:`array`, of column ``name``; raise ``ShapeError`` unless it has ``size`` entries at least."""
        array = self.array
        if len(array) < size:
            raise ShapeError(f"column {name!r} has {len(array)} entries, {size} are needed: set it again")
        return array

    @property
    def nbytes(self) -> int:
        """Bytes allocated; for texts the bytes of the references, not of the texts."""
        return int(self._buffer.nbytes)

    @property
    def capacity(self) -> int:
        """The number of vertices for which there is memory."""
        return len(self._buffer)

    def reserve(self, size: int, admit: Callable[[int], None]) -> None:
        """Allocate for ``size`` vertices (``admit`` gets the bytes), so that :meth:`resize` cannot fail."""
        if size <= self.capacity:
            return
        for length in (max(size, self.capacity * 3 // 2), size):
            try:
                admit(length * self.dtype.itemsize)
                buffer = self._filled(length)
                break
            except MemoryError:
                if length == size:
                    raise
        buffer[: self.size] = self.array
        self._buffer = buffer

    def resize(self, size: int) -> None:
        """Change the number of vertices to ``size``; new ones have the missing value."""
        self.reserve(size, unlimited)
        self.size = size

    def compact(self) -> None:
        """Free unused memory behind the last vertex; raises ``MemoryError``, and nothing has changed."""
        if len(self._buffer) > self.size:
            self._buffer = self.array.copy()

    def reset(self, vertices: Array) -> None:
        """Set the values of vertices (integers, on any device) to ``missing``."""
        if len(vertices):
            self._buffer[self._indices(vertices)] = self.missing

    def put(self, vertices: Array, values: Array) -> None:
        """Set the values of ``vertices`` (ids) to ``values``, one each or one for all; of repeats the last counts."""
        if len(vertices):
            host = on_host(vertices)
            last = np.unique(host[::-1], return_index=True)[1]
            kept = len(host) - 1 - last
            values = values[()] if values.ndim == 0 else self.device.xp.asarray(values)[self.device.xp.asarray(kept)]
            self._buffer[self._indices(host[kept])] = values

    def write(self, rows: np.ndarray, values: Array) -> None:
        """Set the values of ``rows``, a host array without repeats, to ``values``, one each or one for all."""
        if not len(rows):
            return
        values = values[()] if values.ndim == 0 else self.device.xp.asarray(values)
        first, last = int(rows[0]), int(rows[-1])
        if last - first == len(rows) - 1 and (rows[1:] > rows[:-1]).all():
            self._buffer[first : last + 1] = values
        else:
            self._buffer[self._indices(rows)] = values

    def fill(self, values: Array) -> None:
        """Set all values: ``values`` has one per vertex, or is a 0-d array with one for all."""
        self.array[...] = values[()] if values.ndim == 0 else self.device.xp.asarray(values)

    def _indices(self, vertices: Array) -> Array:
        host = on_host(vertices) if not self.device.is_cuda else vertices
        return self.device.xp.asarray(host).astype(np.int64, copy=False)

    def to_numpy(self) -> np.ndarray:
        """Return a copy of the values in host memory."""
        return np.array(self.device.to_numpy(self.array))

    def copy_to(self, device: Device) -> Column:
        """Return a copy for a graph on ``device``."""
        other = Column(device, self.size, self.dtype, self.missing)
        other.fill(self.to_numpy())
        return other

    def check(self, num_vertices: int, deleted: np.ndarray) -> None:
        """Raise ``CheckFailed`` unless there is a value per vertex, and ``missing`` at the ids ``deleted``."""
        require(self.size == num_vertices, "a column has a value per vertex")
        buffer = self.device.to_numpy(self._buffer)
        idle = np.concatenate((buffer[self.size :], buffer[deleted.astype(np.int64)]))
        same = (idle == self.missing) | ((idle != idle) & (self.missing != self.missing))
        require(bool(np.all(same)), "what a column has at deleted vertices is missing")


def dtype_of(values: Any) -> np.dtype:
    """Return the dtype of a column that holds ``values``, an array: :data:`TEXT` for texts, else its dtype."""
    return TEXT if values.dtype.kind in "UTO" else values.dtype


def as_values(values: Any, argument: str, size: int, what: str = "vertices") -> Array:
    """Return ``values`` as an array of ``size`` entries, or as a 0-d array if it is a single value for all.

    Messages call the values ``argument``, and the things that have them ``what``. No values may have any dtype.

    Raises:
        ShapeError: another number of values.
        DTypeError: they are neither numbers nor bools nor texts.
    """
    values = values if isinstance(values, np.ndarray) else as_numpy(with_nulls(values))
    _require_all(values, argument)
    if isinstance(values, str) or (isinstance(values, (list, tuple)) and any(isinstance(v, str) for v in values)):
        made = np.empty(() if isinstance(values, str) else len(values), object)  # NumPy would cut zeros at the end off
        made[...] = values
        values = made
    array = as_array(values, argument)
    if array.ndim > 1 or (array.ndim and len(array) != size):
        raise ShapeError(f"{argument} has shape {array.shape} for {size} {what}: pass one value for each, or for all")
    if not array.size:
        return array
    if array.dtype.kind in "UTO":
        array = array.astype(object)
        wrong = next((value for value in np.ravel(array).tolist() if not isinstance(value, str)), None)
        if wrong is not None:
            rule = "all must be str" if any(isinstance(value, str) for value in np.ravel(array).tolist()) else RULE
            raise DTypeError(f"{argument} has {shown(wrong)}: {rule}")
    elif array.dtype.kind not in "biuf":
        raise DTypeError(f"{argument} has dtype {array.dtype}: {RULE}")
    return array


def _require_all(values: Any, argument: str) -> None:
    """Raise ``DTypeError`` if one of ``values`` is None or NA."""
    if not isinstance(values, (list, tuple)):
        values = values.tolist() if getattr(values, "dtype", None) == TEXT and values.ndim else ()
    for at, value in enumerate(values):
        if value is None or type(value).__name__ == "NAType":
            raise DTypeError(f"{argument} has no value at {at}: fill in what is missing, a column has a value for each")


def fitted(values: Any, dtype: np.dtype, argument: str) -> Array:
    """Return ``values`` converted to ``dtype``; raise ``DTypeError``, naming ``argument``, if that cannot hold one."""
    is_array = hasattr(values, "dtype") and not isinstance(values, str) and not hasattr(values, "iloc")
    array = values if is_array else np.asarray(values, object if isinstance(values, str) else None)
    if not array.size:
        return np.empty(0, dtype)
    if array.dtype.kind in "UT":
        array = array.astype(object)
    if array.dtype.kind not in "biufO":
        raise DTypeError(f"{argument} has dtype {array.dtype}: {RULE}")
    if (array.dtype.kind == "O") != (dtype == TEXT) or (array.dtype.kind == "f" and dtype.kind == "b"):
        raise DTypeError(f"{argument} has dtype {array.dtype}: the column has {_named(dtype)}")
    if array.dtype == dtype or dtype == TEXT:
        return array
    array = np.asarray(array.get() if hasattr(array, "get") else array)
    with np.errstate(all="ignore"):
        result = array.astype(dtype)
        same = result == array if dtype.kind in "biu" else np.isfinite(result) | ~np.isfinite(array)
    if not np.all(same):
        raise DTypeError(f"{argument} has a value that {_named(dtype)} cannot hold")
    return result


def _named(dtype: np.dtype) -> str:
    return "texts" if dtype == TEXT else f"dtype {dtype}"
