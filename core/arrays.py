"""Input of any kind made into plain arrays: what the graph accepts as ids and weights, and the checks on the host.

Accepted are NumPy arrays, lists, and anything with ``__dlpack__`` or ``__cuda_array_interface__`` (CuPy, PyTorch).
Ids may have every integer dtype; they are range-checked and never wrapped or truncated. Arrays that lie on a CUDA
device are checked there instead (``suricate.cuda.ingest``).
"""

from __future__ import annotations

import importlib.util
import numbers
import sys
from typing import Any

import numpy as np

from suricate.devices import Array, Device
from suricate.errors import DeviceError, DTypeError, ShapeError, VertexRangeError, WeightError

Scalar = np.generic

LOOPS = {"drop": 0, "allow": 1, "error": 2}  #: self-loop policies, and what ``ingest.cu`` does about self-loops
PARTS = (
    "",
    "delete.",
    "insert.",
)  #: put in front of an argument in messages: the batch is all of a call, or a part of it
ARGUMENTS = tuple((f"{part}src", f"{part}dst", f"{part}weight") for part in PARTS)

_DLPACK_CUDA = (2, 13)  # device types of DLPack: CUDA memory, CUDA managed memory


def is_flat(array: Array) -> bool:
    """Return whether ``array`` is one-dimensional and contiguous, as kernels take it."""
    contiguous = getattr(array, "_c_contiguous", None)  # of CuPy's own; its `flags` is a new object each time, and slow
    return array.ndim == 1 and (array.flags.c_contiguous if contiguous is None else contiguous)


def is_cuda_array(values: Any) -> bool:
    """Return whether ``values`` offers memory of a CUDA device."""
    if isinstance(values, (np.ndarray, list, tuple, range)):
        return False
    if hasattr(values, "__cuda_array_interface__"):
        return True
    return hasattr(values, "__dlpack_device__") and values.__dlpack_device__()[0] in _DLPACK_CUDA


def as_array(values: Any, argument: str) -> Array:
    """Return ``values`` as a NumPy or CuPy array, without a copy where possible.

    Raises:
        ShapeError: a ragged list.
        DeviceError: memory of a CUDA device, and CuPy is not installed.
    """
    if isinstance(values, np.ndarray):
        return values
    loaded = sys.modules.get("cupy")
    if loaded is not None and isinstance(values, loaded.ndarray):
        return values
    if is_cuda_array(values):
        if importlib.util.find_spec("cupy") is None:
            raise DeviceError(f"{argument} is on a CUDA device; that needs CuPy: pip install 'suricate[cuda13]'")
        import cupy

        return cupy.from_dlpack(values) if hasattr(values, "__dlpack__") else cupy.asarray(values)
    if hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
        return np.from_dlpack(values)
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ShapeError(f"{argument} is no one-dimensional array: {error}") from None


def as_ids(values: Any, argument: str) -> Array:
    """Return ``values`` as a one-dimensional integer array (NumPy or CuPy), its range not yet checked.

    Raises:
        DTypeError: floats, bools, strings or objects.
        ShapeError: not one-dimensional.
        VertexRangeError: Python integers beyond 64 bits.
    """
    array = as_array(values, argument)
    if array.ndim != 1:
        raise ShapeError(f"{argument} has shape {array.shape}: pass a one-dimensional array, one entry per edge")
    if array.dtype.kind in "iu":
        return array
    if not len(array) and not hasattr(values, "dtype"):
        return np.empty(0, np.uint32)
    if not hasattr(values, "dtype"):  # a list: huge integers make NumPy fall back to floats or objects
        _refuse_huge(values, argument)
    raise DTypeError(f"{argument} has dtype {array.dtype}: vertex ids are integers; convert with .astype('int64')")


def _refuse_huge(values: Any, argument: str) -> None:
    items = list(values)
    if not all(isinstance(item, numbers.Integral) and not isinstance(item, (bool, np.bool_)) for item in items):
        return
    at = next(i for i, item in enumerate(items) if not 0 <= item < 1 << 32)
    raise VertexRangeError(f"{argument}[{at}] is {items[at]}: vertex ids are below 2**32")


def same_length(src: Array, dst: Array, weight: Any = None, prefix: str = "") -> int:
    """Return the common length of the arrays of a batch.

    Raises:
        ShapeError: they differ.
    """
    n = len(src)
    if len(dst) != n:
        raise ShapeError(f"{prefix}src has {n} entries and {prefix}dst has {len(dst)}: pass one of each per edge")
    if weight is not None and weight.ndim and len(weight) != n:
        raise ShapeError(
            f"{prefix}weight has {len(weight)} entries for {n} edges: pass one per edge, or a single number"
        )
    return n


def range_message(argument: str, index: int, value: int, num_vertices: int) -> str:
    """Return the text of a ``VertexRangeError``."""
    if not num_vertices:
        return f"{argument}[{index}] is {value}, but the graph has no vertices: add some with insert_vertices()"
    ids = f"ids are 0 to {num_vertices - 1}"
    return f"{argument}[{index}] is {value}, but {ids}: add vertices with insert_vertices(), or correct the id"


def loop_message(prefix: str, index: int, vertex: int) -> str:
    """Return the text of a ``SelfLoopError``."""
    where = f"{prefix}src[{index}] and {prefix}dst[{index}]"
    return f"{where} are both {vertex}, a self-loop: build the graph with self_loops='allow' or 'drop'"


def checked_ids(ids: np.ndarray, num_vertices: int, argument: str) -> np.ndarray:
    """Return host ``ids`` as a new ``uint32`` array.

    Raises:
        VertexRangeError: an id is negative or not below ``num_vertices``.
    """
    if ids.dtype.itemsize < 4 or not ids.dtype.isnative:
        ids = ids.astype(np.int64)
    # Seen as unsigned, a negative id is at least 2**31, so one maximum checks both ends wherever that many
    # vertices are out of the question; uint32 and 64-bit ids have no such limit.
    unsigned = ids.view(f"u{ids.dtype.itemsize}")
    if len(ids) and int(unsigned.max()) >= (num_vertices if ids.dtype != np.int32 else min(num_vertices, 1 << 31)):
        at = int(np.argmax((ids < 0) | (unsigned >= num_vertices)))
        raise VertexRangeError(range_message(argument, at, int(ids[at]), num_vertices))
    return ids.astype(np.uint32, order="C")


def as_weights(values: Any, dtype: np.dtype | None, argument: str = "weight") -> Array | Scalar | None:
    """Return weights as a one-dimensional array, a number of ``dtype`` (checked), or None on an unweighted graph.

    Raises:
        WeightError: weights for an unweighted graph (``dtype`` None), none for a weighted one, or a number that
            ``dtype`` cannot hold.
        DTypeError: bools, strings or objects.
        ShapeError: more than one dimension.
    """
    if dtype is None:
        if values is None:
            return None
        raise WeightError(
            f"{argument} was given, but the graph is unweighted: build it with Graph(..., weight_dtype='float32')"
        )
    if values is None:
        raise WeightError(
            f"{argument} is missing: the graph has {dtype} weights; pass one per edge, or a single number"
        )
    array = as_array(values, argument)
    if array.ndim > 1:
        raise ShapeError(f"{argument} has shape {array.shape}: pass a one-dimensional array, or a single number")
    if not array.size and not hasattr(values, "dtype"):
        return np.empty(0, dtype)
    if array.dtype.kind not in "iuf":
        raise DTypeError(
            f"{argument} has dtype {array.dtype}: weights are numbers; convert with .astype({dtype.name!r})"
        )
    if array.ndim:
        return array
    return checked_weights(np.asarray(array.get() if hasattr(array, "get") else array).reshape(1), dtype, argument)[0]


def weight_message(where: str, value: Any, dtype: np.dtype) -> str:
    """Return the text of a ``WeightError`` about one value."""
    if not np.isfinite(value):
        return f"{where} is {value}: weights are finite numbers"
    if abs(value) < 2.0**65 and value == np.trunc(value):
        value = int(value)  # a device reports integers as floats
    if dtype.kind == "f":
        return f"{where} is {value}, too large for {dtype}: build the graph with weight_dtype='float64'"
    if value != np.trunc(value):
        return f"{where} is {value}, but the graph has {dtype} weights: round it, or use weight_dtype='float64'"
    limits = np.iinfo(dtype)
    return f"{where} is {value}, out of the range of {dtype} ({limits.min} to {limits.max})"


def checked_weights(values: np.ndarray, dtype: np.dtype, argument: str = "weight") -> np.ndarray:
    """Return host weights as a new array of ``dtype``.

    To a float dtype every number is rounded to the nearest; to an integer dtype only whole numbers in its range go.

    Raises:
        WeightError: NaN, infinite (before or after the rounding), a fraction, or out of range.
    """
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            result = values.astype(dtype, order="C")
        fine = np.isfinite(result)
    elif values.dtype == dtype:
        return values.astype(dtype, order="C")
    else:
        limits = np.iinfo(dtype)
        with np.errstate(invalid="ignore"):
            result = values.astype(dtype, order="C")
            fine = (values >= limits.min) & (values <= limits.max)
        if values.dtype.kind == "f":
            fine &= values == np.trunc(values)
    if not fine.all():
        at = int(np.argmin(fine))
        raise WeightError(weight_message(f"{argument}[{at}]", values[at], dtype))
    return result


def on_device(array: Array, device: Device, argument: str) -> Array:
    """Return ``array`` contiguous on a CUDA ``device``; host memory is copied there.

    Raises:
        DeviceError: it lies on another CUDA device.
    """
    xp = device.xp
    if isinstance(array, xp.ndarray):
        if array.data.device_id != device.index:
            there = f"cuda:{array.data.device_id}"
            raise DeviceError(f"{argument} is on {there}, the graph on {device}: move one (graph.to({there!r}))")
        return array if array.flags.c_contiguous else xp.ascontiguousarray(array)
    return xp.asarray(np.ascontiguousarray(array, array.dtype.newbyteorder("=")))


def on_host(array: Array) -> np.ndarray:
    """Return ``array`` in host memory (waits for the device if it was on one)."""
    return array if isinstance(array, np.ndarray) else array.get()


def mirrored(xp: Any, src: Array, dst: Array, weight: Array | None) -> tuple[Array, Array, Array | None]:
    """Return both arcs of undirected edges: first all ``(min, max)``, then all ``(max, min)``, weights twice.

    The two halves repeat the same edges in the same order, so that duplicates resolve equally in both.
    """
    low, high = xp.minimum(src, dst), xp.maximum(src, dst)
    both = None if weight is None else xp.concatenate((weight, weight))
    return xp.concatenate((low, high)), xp.concatenate((high, low)), both


def sorted_distinct(keys: np.ndarray) -> np.ndarray:
    """Sort ``keys`` in place and return them without duplicates (``np.unique`` hashes, which is slower by far)."""
    keys.sort()
    first = np.ones(len(keys), bool)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return keys[first]


def move(array: Array, source: Device, target: Device) -> Array:
    """Return a copy of ``array`` (of device ``source``) on ``target``."""
    host = source.to_numpy(array)
    return target.xp.array(host)
