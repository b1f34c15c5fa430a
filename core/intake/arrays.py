"""Conversion of ids and weights, as users pass them, to plain arrays, and their checks on the host.

Accepted are NumPy arrays, lists, and anything with ``__dlpack__`` or ``__cuda_array_interface__`` (CuPy, PyTorch). A
masked array is accepted if no entry is masked. Ids may have every integer dtype; they are range-checked and never
wrapped or truncated. Arrays that lie on a CUDA device are checked there instead (``suricate.intake.ingest``).

Both devices report the same error of a batch: that of the first invalid entry, and of one entry first the ids, then the
self-loop, then the weight. ``argument``: what messages call the values; ``prefix``: precedes the names of arrays there.
"""

from __future__ import annotations

import importlib.util
import numbers
import sys
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from suricate.base.devices import Array, Device, module_of
from suricate.base.errors import (
    DeviceError,
    DTypeError,
    SelfLoopError,
    ShapeError,
    SuricateError,
    VertexRangeError,
    WeightError,
)
from suricate.base.parameters import is_number, shown
from suricate.base.types import NUMBERING, EdgeList, ValidEdges
from suricate.cpu import threads

LOOPS = {"drop": 0, "allow": 1, "error": 2}  #: self-loop policies, and what ``ingest.cu`` does about self-loops
#: put in front of an argument in messages: the batch is all of a call, or a part of it
PARTS = ("", "delete.", "insert.")
ARGUMENTS = tuple((f"{part}src", f"{part}dst", f"{part}weight") for part in PARTS)

STREAM = 1 / 16  #: work per entry, in units of ``suricate.cpu.threads``, of what NumPy does while it reads or copies
SHORT = 1 << 12  #: so few ids are checked by one call of NumPy and copied by another
#: dtypes of ids that a loop is compiled for
COMPILED = {np.dtype(name) for name in ("int32", "int64", "uint32", "uint64")}
_DLPACK_CUDA = (2, 13)  # device types of DLPack: CUDA memory, CUDA managed memory
PLAIN = {int, float, str}  #: types of entries of lists that need no further look


def is_flat(array: Array) -> bool:
    """Return whether ``array`` is one-dimensional and contiguous, as kernels take it."""
    contiguous = getattr(array, "_c_contiguous", None)  # of CuPy's own; its `flags` is a new object each time, and slow
    return array.ndim == 1 and (array.flags.c_contiguous if contiguous is None else contiguous)


def is_cuda_array(values: Any) -> bool:
    """Return whether ``values`` offers memory of a CUDA device."""
    if isinstance(values, (np.ndarray, list, tuple, range)):
        return False
    loaded = sys.modules.get("cupy")  # its arrays make an interface whenever they are asked for it
    if (loaded and isinstance(values, loaded.ndarray)) or hasattr(values, "__cuda_array_interface__"):
        return True
    if isinstance(says := getattr(values, "is_cuda", None), bool):  # a tensor; DLPack would ask CUDA, even after a fork
        return says
    try:
        return hasattr(values, "__dlpack_device__") and values.__dlpack_device__()[0] in _DLPACK_CUDA
    except TypeError:  # an array of Arrow of a type that DLPack lacks
        return False


def as_array(values: Any, argument: str) -> Array:
    """Return ``values`` as a plain NumPy or CuPy array, without a copy where possible.

    A list of integers up to 2^64 becomes ``uint64`` where NumPy would round them to floats.

    Raises:
        ShapeError: a ragged list.
        DTypeError: masked entries, a list that mixes bools with other values, or values that NumPy cannot convert.
        DeviceError: memory of a CUDA device, and CuPy is not installed.
    """
    if type(values) is np.ndarray:
        return values
    loaded = sys.modules.get("cupy")
    if loaded is not None and isinstance(values, loaded.ndarray):
        return values
    if isinstance(values, np.ndarray):
        if np.ma.is_masked(values):
            raise DTypeError(f"{argument} has masked entries: leave them out with .compressed(), or set them")
        return np.asarray(values)  # subclasses may compute otherwise
    if isinstance(values, (list, tuple)):
        refuse_mixtures(values, argument)
    if is_cuda_array(values):
        if importlib.util.find_spec("cupy") is None:
            raise DeviceError(f"{argument} is on a CUDA device; that needs CuPy: pip install 'suricate[cuda13]'")
        import cupy

        return cupy.from_dlpack(values) if hasattr(values, "__dlpack__") else cupy.asarray(values)
    if hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
        return np.from_dlpack(values)
    try:
        array = np.asarray(values)
        return np.array(values, np.uint64) if array.dtype == np.float64 and are_large(values) else array
    except ValueError as error:
        raise ShapeError(f"{argument} is no one-dimensional array: {error}") from None
    except (RuntimeError, TypeError) as error:  # of tensors: those with a gradient, or of dtypes that NumPy lacks
        raise DTypeError(f"{argument} cannot be made into an array: {error}") from None


def as_ids(values: Any, argument: str) -> Array:
    """Return ``values`` as a one-dimensional integer array (NumPy or CuPy); the range of the ids is not checked.

    Raises:
        DTypeError: floats, bools, strings or objects.
        ShapeError: not one-dimensional.
        VertexRangeError: Python integers beyond 64 bits.
    """
    array = as_array(values, argument)
    if array.ndim != 1:
        found = f"has shape {array.shape}" if array.ndim or array.dtype != object else f"is {_a(values)}"
        raise ShapeError(f"{argument} {found}: pass a one-dimensional array or a list")
    if array.dtype.kind in "iu":
        return array
    if not len(array):  # of any dtype: tables without rows often have another
        return np.empty(0, np.uint32) if isinstance(array, np.ndarray) else array.astype(np.uint32)
    if not hasattr(values, "dtype") and hasattr(values, "__iter__"):
        items = list(values)
        if all(is_number(item, numbers.Integral) for item in items):
            return _integers([int(item) for item in items], argument)
    if array.dtype.kind == "S":
        raise DTypeError(f"{argument} has bytes: decode them, names of vertices are texts")
    if array.dtype.kind == "U" or (array.dtype == object and any(isinstance(item, str) for item in array[:1])):
        advice = "Graph(names=su.Names()) takes texts, su.Names().intern(texts) numbers them"
        raise DTypeError(f"{argument} has texts, and vertices are numbers: {advice}")
    advice = "np.flatnonzero gives those of a mask" if array.dtype == bool else "convert with .astype('int64')"
    if array.dtype.kind == "f" and bool((array != array).any()):
        advice = "some entries are missing (NaN): leave them out"
    raise DTypeError(f"{argument} has dtype {array.dtype}: integers are needed; {advice}")


def _a(value: Any) -> str:
    """Return the words by which a message describes ``value``: None, or its type."""
    return "None" if value is None else f"of type {type(value).__name__}"


def _integers(items: list[int], argument: str) -> np.ndarray:
    """Return ``items``, Python integers that NumPy would convert to floats or objects, as ``uint32`` ids."""
    for i, item in enumerate(items):
        if not 0 <= item < 1 << 32:
            raise VertexRangeError(f"{argument}[{i}] is {shown(item)}: vertex ids are below 2**32")
    return np.array(items, np.uint32)


def same_length(src: Array, dst: Array, weight: Any = None, prefix: str = "") -> int:
    """Return the common length of the arrays of a batch; ``ShapeError``, with ``prefix`` for names, if they differ."""
    n = len(src)
    if len(dst) != n:
        raise ShapeError(f"{prefix}src has {n} entries and {prefix}dst has {len(dst)}: pass one of each per edge")
    if weight is not None and weight.ndim and len(weight) != n:
        found = f"{prefix}weight has {len(weight)} entries for {n} edges"
        raise ShapeError(f"{found}: pass one per edge, or a single number")
    return n


def range_message(argument: str, index: int | None, value: int, num_vertices: int) -> str:
    """Return the text of a ``VertexRangeError``: id ``value`` at ``index`` of ``argument``, None: it is one id."""
    where = f"{argument} is" if index is None else f"{argument}[{index}] is"
    ids = f"ids are 0 to {num_vertices - 1}" if num_vertices else "the graph has no vertices"
    is_sparse = not 0 <= value < max(64 * num_vertices, 1 << 20)
    way = NUMBERING if is_sparse else "add vertices by insert_vertices() or num_vertices=, or correct the id"
    return f"{where} {shown(value)}, but {ids}: {way}"


def loop_message(prefix: str, index: int, vertex: int) -> str:
    """Return the text of a ``SelfLoopError``: entry ``index`` of ``{prefix}src`` and ``{prefix}dst`` is ``vertex``."""
    where = f"{prefix}src[{index}] and {prefix}dst[{index}]"
    return f"{where} are both {vertex}, a self-loop: build the graph with self_loops='allow' or 'drop'"


def first_bad_id(ids: np.ndarray, num_vertices: int) -> int | None:
    """Return the index of the first of the host ``ids`` that is negative or not below ``num_vertices``, or None."""
    if not len(ids):
        return None
    if ids.dtype.itemsize < 4 or not ids.dtype.isnative:
        ids = ids.astype(np.int64 if ids.dtype.itemsize < 8 else ids.dtype.newbyteorder("="))
    # Seen as unsigned, a negative id is at least 2**31, so one maximum checks both ends wherever that many
    # vertices are out of the question; uint32 and 64-bit ids have no such limit.
    unsigned = ids if ids.dtype.kind == "u" else ids.view(f"u{ids.dtype.itemsize}")
    if len(ids) <= SHORT:
        largest = int(np.maximum.reduce(unsigned))
    else:
        largest = max(threads.over(len(ids), lambda begin, end: int(unsigned[begin:end].max()), unit=STREAM))
    if largest < (num_vertices if ids.dtype != np.int32 else min(num_vertices, 1 << 31)):
        return None
    return int(np.argmax((ids < 0) | (unsigned >= num_vertices)))


def checked_ids(ids: np.ndarray, num_vertices: int, argument: str) -> np.ndarray:
    """Return host ``ids`` as a new ``uint32`` array; ``VertexRangeError`` unless all are below ``num_vertices``."""
    at = first_bad_id(ids, num_vertices)
    if at is not None:
        raise VertexRangeError(range_message(argument, at, int(ids[at]), num_vertices))
    return _ids_of(ids)


def checked_edges(
    edges: tuple[np.ndarray, np.ndarray, Any],
    num_vertices: int,
    weight_dtype: np.dtype | None = None,
    *,
    refuse_loops: bool = False,
    prefix: str = "",
) -> EdgeList:
    """Return a checked host batch in new arrays, ids as ``uint32``, weights as ``weight_dtype``.

    The weight in ``edges`` is an array, a number for all edges, or None. Unless ``refuse_loops`` (self-loops are
    errors), ``ValidEdges`` are returned as they are. ``prefix`` precedes the names of arrays in messages.

    Raises:
        VertexRangeError, SelfLoopError, WeightError: for the first invalid entry, as kernels report it.
    """
    if type(edges) is ValidEdges and not refuse_loops:
        return edges
    src, dst, weight = edges
    faults: list[tuple[int, int, SuricateError]] = []  # index, order within an entry, error
    valid = few_valid((src, dst, None), num_vertices)
    for order, (name, part) in enumerate(() if valid else (("src", src), ("dst", dst))):
        at = first_bad_id(part, num_vertices)
        if at is not None:
            message = range_message(f"{prefix}{name}", at, int(part[at]), num_vertices)
            faults.append((at, order, VertexRangeError(message)))
    if refuse_loops and (loops := src == dst).any():
        at = int(np.argmax(loops))
        faults.append((at, 2, SelfLoopError(loop_message(prefix, at, int(src[at])))))
    if weight is not None and weight_dtype is not None:
        if weight.ndim:
            held, at = converted_weights(weight, weight_dtype)
            if at is not None:
                message = weight_message(f"{prefix}weight[{at}]", weight[at], weight_dtype)
                faults.append((at, 3, WeightError(message)))
            weight = held
        else:
            weight = np.full(len(src), weight)
    if faults:
        raise min(faults, key=lambda fault: fault[:2])[2]
    return EdgeList(_ids_of(src), _ids_of(dst), weight) if valid is None else valid._replace(weight=weight)


def few_valid(edges: tuple[Any, Any, Any], num_vertices: int, dtype: Any = None, most: int = SHORT) -> EdgeList | None:
    """Return copies of a small batch ``(src, dst, weight)``, ids as ``uint32``, if a compiled loop finds it valid.

    Return None for an invalid batch, and for one that the loop does not take: it takes 1 to ``most`` ids of a dtype in
    :data:`COMPILED` and weights of ``dtype``, in plain arrays of equal length, if Numba is loaded.
    """
    src, dst, weight = edges
    if type(src) is not np.ndarray or type(dst) is not np.ndarray or src.shape != dst.shape or src.ndim != 1:
        return None
    if not 0 < len(src) <= most or dst.dtype != src.dtype or src.dtype not in COMPILED or "numba" not in sys.modules:
        return None
    if not (src.flags.carray and dst.flags.carray) or (weight is None) != (dtype is None):
        return None  # the loop is not compiled for strides, nor for read-only memory
    if dtype is not None:
        fits = type(weight) is np.ndarray and weight.dtype == dtype and weight.shape == src.shape
        weight, at = converted_weights(weight, dtype) if fits else (None, 0)
        if at is not None:
            return None
    loops, size, copies = _loops(), len(src), np.empty(2 * len(src), np.uint32)
    given = src, dst, num_vertices, copies
    is_valid = (loops.COPYING.get(src.dtype) or loops.COPYING.look_up(src.dtype, loops.copy_valid, given))(*given)
    return EdgeList(copies[:size], copies[size:], weight) if is_valid else None


@cache
def _loops() -> Any:
    from suricate.primitives import cpu

    return cpu


def fill(array: np.ndarray, value: Any) -> None:
    """Set all entries of an array to ``value``; several threads write a large one."""
    threads.over(len(array), lambda begin, end: array[begin:end].fill(value), unit=STREAM)


def _ids_of(ids: np.ndarray) -> np.ndarray:
    """Return a contiguous copy of valid ids as ``uint32``."""
    if len(ids) <= SHORT:
        return ids.astype(np.uint32)
    copy = np.empty(len(ids), np.uint32)

    def convert(begin: int, end: int) -> None:
        np.copyto(copy[begin:end], ids[begin:end], casting="unsafe")

    threads.over(len(ids), convert, unit=STREAM)
    return copy


def as_weights(values: Any, dtype: np.dtype | None, argument: str = "weight") -> Array | np.generic | None:
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
    if not array.size:
        return np.empty(0, dtype)
    if array.dtype.kind not in "iuf":
        raise DTypeError(
            f"{argument} has dtype {array.dtype}: weights are numbers; convert with .astype({dtype.name!r})"
        )
    if array.ndim:
        return array
    number = np.asarray(array.get() if hasattr(array, "get") else array).reshape(1)
    result, at = converted_weights(number, dtype)
    if at is not None:
        raise WeightError(weight_message(argument, number[0], dtype))
    return result[0]


def weight_message(where: str, value: Any, dtype: np.dtype) -> str:
    """Return the text of a ``WeightError``: ``where`` (as ``weight[3]``) is ``value``, which ``dtype`` cannot hold."""
    if not np.isfinite(value):
        return f"{where} is {value}: weights are finite numbers"
    if abs(value) < 2.0**65 and value == np.trunc(value):
        value = int(value)  # a device reports integers as floats
    if dtype.kind == "f":
        return f"{where} is {value}, too large for {dtype}: build the graph with weight_dtype='float64'"
    if value != np.trunc(value):
        return f"{where} is {value}, but the graph has {dtype} weights: round it, or use weight_dtype='float64'"
    limits, other = np.iinfo(dtype), "uint32" if dtype == np.int32 and 0 <= value < 2**32 else "float64"
    advice = f"build the graph with weight_dtype={other!r}"
    return f"{where} is {value}, out of the range of {dtype} ({limits.min} to {limits.max}): {advice}"


def checked_weights(values: np.ndarray, dtype: np.dtype, argument: str = "weight") -> np.ndarray:
    """Return host weights as a new array of ``dtype``."""
    result, at = converted_weights(values, dtype)
    if at is not None:
        raise WeightError(weight_message(f"{argument}[{at}]", values[at], dtype))
    return result


def converted_weights(values: np.ndarray, dtype: np.dtype) -> tuple[np.ndarray, int | None]:
    """Return host weights as a new array of ``dtype``, and the index of the first that it cannot hold, or None."""
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            result = values.astype(dtype, order="C")
        fine = np.isfinite(result)
    elif values.dtype == dtype:
        return values.astype(dtype, order="C"), None
    else:
        limits = np.iinfo(dtype)
        # Limits are compared in double precision: float32 would round 2**31 - 1 up to 2**31.
        wide = values.astype(np.float64) if values.dtype.kind == "f" and values.dtype.itemsize < 8 else values
        with np.errstate(invalid="ignore"):
            result = wide.astype(dtype, order="C")
            fine = (wide >= limits.min) & (wide <= limits.max)
        if wide.dtype.kind == "f":
            fine &= wide == np.trunc(wide)
    return result, None if fine.all() else int(np.argmin(fine))


def on_device(array: Array, device: Device, argument: str) -> Array:
    """Return ``array`` contiguous on ``device``; raise ``DeviceError`` if it is on another CUDA device."""
    xp = device.xp
    if isinstance(array, xp.ndarray):
        if array.data.device_id != device.index:
            there = f"cuda:{array.data.device_id}"
            raise DeviceError(f"{argument} is on {there}, the graph on {device}: move one (graph.to({there!r}))")
        return array if array.flags.c_contiguous else xp.ascontiguousarray(array)
    return xp.asarray(np.ascontiguousarray(array, array.dtype.newbyteorder("=")))


def placed(array: Array, device: Device, argument: str, holder: str = "graph") -> Array:
    """Return ``array`` contiguous on ``device``; host memory is copied to a CUDA device, but not the other way.

    ``holder`` says in messages what is on ``device``.

    Raises:
        DeviceError: the array is on another CUDA device, or on any if ``device`` is the CPU.
    """
    if device.is_cuda:
        return on_device(array, device, argument)
    if not isinstance(array, np.ndarray):
        raise DeviceError(f"{argument} is on a CUDA device, the {holder} is on the CPU: pass a NumPy array")
    return np.ascontiguousarray(array)


def placed_ids(given: Any, device: Device, bound: int, argument: str, holder: str = "graph") -> Array:
    """Return ids, checked to be below ``bound``, as ``uint32`` on ``device``; waits if they are on a CUDA device.

    Raises:
        VertexRangeError: an id is negative or not below ``bound``.
        DTypeError, ShapeError, DeviceError: raised by :func:`as_ids` and :func:`placed`, which explains ``holder``.
    """
    ids = as_ids(given, argument)
    if isinstance(ids, np.ndarray):
        return placed(checked_ids(ids, bound, argument), device, argument)
    return checked_on_device(placed(ids, device, argument, holder), bound, argument)


def checked_on_device(ids: Array, bound: int, argument: str) -> Array:
    """Return ``ids``, which are on a CUDA device, as ``uint32``; waits for the device."""
    # By the extremes, since CuPy brings these reductions in machine code. It compiles any() for seconds.
    if len(ids) and (int(ids.max()) >= bound or (ids.dtype.kind == "i" and int(ids.min()) < 0)):
        wide = ids.astype(np.uint64)  # negative ids become large ones
        at = int((wide >= bound).argmax())
        raise VertexRangeError(range_message(argument, at, int(ids[at]), bound))
    return ids.astype(np.uint32, copy=False)


def on_host(array: Array) -> np.ndarray:
    """Return ``array`` in host memory (waits for the device if it was on one)."""
    return array if isinstance(array, np.ndarray) else array.get()


def by_owner(owner: Array, size: int) -> tuple[Array, list[tuple[int, int]]]:
    """Return the places of what each rank owns, rank by rank, and where those of each of ``size`` ranks begin and end.

    ``owner``: numbers of ranks, ``[n]``.
    """
    there, owner = module_of(owner), owner.astype(np.uint16)
    order = there.argsort(owner, kind="stable")  # a radix sort
    cuts = on_host(there.searchsorted(owner[order], there.arange(1, size, dtype=np.uint16)))
    return order, [*pairwise([0, *cuts.tolist(), len(order)])]


def both_arcs(xp: Any, edges: EdgeList) -> EdgeList:
    """Return the arcs of undirected edges, all ``(min, max)``, then all ``(max, min)``, in one order, weights twice."""
    if edges.weight is None:
        src, dst = xp.empty((2, 2, len(edges.src)), edges.src.dtype)
        xp.minimum(edges.src, edges.dst, out=src[0])
        xp.maximum(edges.src, edges.dst, out=src[1])
        dst[0], dst[1] = src[1], src[0]
        return EdgeList(src.reshape(-1), dst.reshape(-1))
    low, high = xp.minimum(edges.src, edges.dst), xp.maximum(edges.src, edges.dst)
    return joined(xp, EdgeList(low, high, edges.weight), EdgeList(high, low, edges.weight))


def bits(weight: Array) -> Array:
    """Return weights as unsigned integers of the same size, no copy.

    Weights are compared and copied as bits: ``0.0`` and ``-0.0`` differ, and subnormal floats, which CuPy's own
    kernels treat as zero, are preserved.
    """
    return weight.view(f"u{weight.dtype.itemsize}")


def picked(edges: EdgeList, at: Array | slice) -> EdgeList:
    """Return the edges at indices, in a slice, or where a mask holds; with a mask this waits on CUDA."""
    weight = None if edges.weight is None else bits(edges.weight)[at].view(edges.weight.dtype)
    return EdgeList(edges.src[at], edges.dst[at], weight).in_rows(None if edges.row is None else edges.row[at])


def joined(xp: Any, *lists: EdgeList) -> EdgeList:
    """Return the concatenation of edge lists, arrays of module ``xp``; no weights (rows) if one list has none."""
    src, dst = (xp.concatenate([edges[end] for edges in lists]) for end in (0, 1))
    if lists[0].weight is None and lists[0].row is None:
        return EdgeList(src, dst)
    weight, row = (
        None if any(part is None for part in parts) else xp.concatenate(list(map(bits, parts))).view(parts[0].dtype)
        for parts in zip(*((edges.weight, edges.row) for edges in lists), strict=True)
    )
    return EdgeList(src, dst, weight).in_rows(row)


def sorted_distinct(keys: Array, xp: Any = np) -> Array:
    """Sort ``keys``, of the array module ``xp``, in place; return them without duplicates, faster than NumPy."""
    keys.sort()
    first = xp.ones(len(keys), bool)
    xp.not_equal(keys[1:], keys[:-1], out=first[1:])
    return keys[first]


def move(array: Array, source: Device, target: Device) -> Array:
    """Return a copy of ``array`` (of device ``source``) on ``target``."""
    host = source.to_numpy(array)
    return target.xp.array(host)


def are_large(values: Any) -> bool:
    """Return whether ``values`` is a list of integers that ``uint64`` holds, and ``int64`` does not."""
    if not isinstance(values, (list, tuple)) or not all(isinstance(value, (int, np.integer)) for value in values):
        return False
    return bool(values) and min(values) >= 0 and 1 << 63 <= max(values) < 1 << 64


def refuse_mixtures(values: list[Any] | tuple[Any, ...], argument: str) -> None:
    """Raise ``DTypeError`` if a nested list ``values`` mixes bools with other values or has masked arrays in it."""
    kinds = set(map(type, values))
    if kinds <= PLAIN:
        return
    if len(kinds) > 1 and (bool in kinds or np.bool_ in kinds):
        raise DTypeError(f"{argument} mixes bools with other values: pass numbers only")
    if any(issubclass(kind, np.ma.MaskedArray) for kind in kinds):
        raise DTypeError(f"{argument} has masked entries: leave them out, or set them")
    for part in values if list in kinds or tuple in kinds else ():
        if isinstance(part, (list, tuple)):
            refuse_mixtures(part, argument)
