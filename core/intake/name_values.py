"""Conversion of names in lists, NumPy, pandas, polars or Arrow to ``uint64`` keys for the hash table.

A key is an integer, or the place of a text in a buffer (``start << 32 | length``). Texts are UTF-8; surrogates that
stand for invalid bytes (``surrogateescape``) are written as these bytes.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from suricate.base.errors import DTypeError, ParameterError, ShapeError
from suricate.base.parameters import shown
from suricate.intake.arrays import as_array, on_host
from suricate.intake.tables import is_missing, nulls_of

TEXT, NUMBERS = "text", ("int64", "uint64")
KINDS = (TEXT, *NUMBERS)
LONGEST = (1 << 24) - 1  #: bytes of a text
#: what a table counts (``head``): ids given out, names, free ids, the id from which on free ones are searched for,
#: bytes of texts, those of forgotten ones, slides, ids that the next slide frees, times that names were forgotten, the
#: index in ``KINDS`` of what names are (-1: not known yet); and serial numbers of changes: of the pending one (0: there
#: is none) and of the last one; whether the pending one has changed counts
(NUM_IDS, NUM_NAMES, NUM_FREE, FIRST_FREE, USED, DEAD, SLIDE, NUM_FREED, TIMES, KIND,
 PENDING, SERIAL, COUNTED) = range(13)  # fmt: skip
RESERVED, NEXT_SLIDE, AT_ONCE = range(3)  #: when the ids of forgotten names are free: never, later, at once
BLOCK = 1 << 16  #: names whose keys are made at a time
_NO_BYTES = np.empty(0, np.uint8)


@dataclass(frozen=True)
class Values:
    """Names of one ``kind``: ``"text"``, ``"int64"`` or ``"uint64"``.

    ``numbers`` has integers as they are; of ``n`` texts the ``n + 1`` offsets in ``data``, their bytes in UTF-8.
    """

    kind: str
    numbers: np.ndarray  #: 64-bit integers; for texts the offsets
    data: np.ndarray = field(default_factory=lambda: _NO_BYTES)

    def __len__(self) -> int:
        return len(self.numbers) - (self.kind == TEXT)

    def decoded(self, at: np.ndarray | None = None) -> np.ndarray:
        """Return the names, or those at the positions ``at``: integers, or ``str`` in an object array."""
        if self.kind != TEXT:
            return self.numbers if at is None else self.numbers[at]
        starts, ends = self.numbers[:-1], self.numbers[1:]
        places = zip(*(part.tolist() if at is None else part[at].tolist() for part in (starts, ends)), strict=True)
        raw, names = self.data.tobytes(), np.empty(len(starts) if at is None else len(at), object)
        if raw.isascii():
            text = raw.decode("ascii")
            names[:] = [text[start:end] for start, end in places]
        else:
            names[:] = [raw[start:end].decode("utf-8", "surrogateescape") for start, end in places]
        return names

    def blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield for each block of names their keys (uint64), and the bytes (uint8) that keys of texts point into."""
        if self.kind != TEXT:
            yield self.numbers.view(np.uint64), _NO_BYTES
            return
        for begin in range(0, len(self), BLOCK):
            yield from self._keys(self.numbers[begin : begin + BLOCK + 1])

    def part(self, begin: int, end: int) -> Values:
        """Return the names at the positions from ``begin`` to ``end`` (exclusive)."""
        if self.kind != TEXT:
            return Values(self.kind, self.numbers[begin:end])
        offsets = self.numbers[begin : end + 1]
        first = int(offsets[0])
        return Values(TEXT, offsets - offsets.dtype.type(first), self.data[first : int(offsets[-1])])

    def _keys(self, offsets: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        first, last = int(offsets[0]), int(offsets[-1])
        if last - first >= 1 << 32:  # a place has 32 bits
            half = len(offsets) // 2
            yield from self._keys(offsets[: half + 1])
            yield from self._keys(offsets[half:])
            return
        starts = (offsets[:-1] - first).astype(np.uint64)
        yield (starts << np.uint64(32)) | np.diff(offsets).astype(np.uint64), self.data[first:last]


class Left(NamedTuple):
    """Names that were forgotten together: their ids, the version in which each id was given out, and the names.

    ``version`` is that in which they were forgotten, ``number`` counts the times that names were forgotten.
    """

    ids: np.ndarray
    since: np.ndarray
    names: Values
    version: int
    number: int

    @property
    def nbytes(self) -> int:
        """Return the bytes of all arrays."""
        return sum(part.nbytes for part in (self.ids, self.since, self.names.numbers, self.names.data))


def pairs(one: Values, other: Values) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield, block by block, the keys of two equally long columns and the bytes that these keys point into.

    The keys of ``one`` and ``other`` alternate, beginning with the first key of ``one``.
    """
    for begin in range(0, len(one), BLOCK):
        parts = [part.part(begin, begin + BLOCK) for part in (one, other)]
        if sum(len(part.data) for part in parts) >= 1 << 32:  # a place has 32 bits
            for at in range(len(parts[0])):
                for part in parts:
                    yield from part.part(at, at + 1).blocks()
            continue
        (first, data), (second, more) = (next(part.blocks()) for part in parts)
        second = second + (np.uint64(len(data)) << np.uint64(32)) if one.kind == TEXT else second
        yield np.stack((first, second), axis=1).ravel(), np.concatenate((data, more))


def fixed(array: np.ndarray) -> np.ndarray:
    """Return a contiguous, read-only array, as the loops are compiled for; a view where possible."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def as_values(values: Any, kind: str | None) -> Values:
    """Return one-dimensional ``values`` as names of ``kind``; None: of the kind that they have.

    Raises:
        DTypeError: they are neither texts nor integers, not of the kind, or some are missing.
        ShapeError: they are not one-dimensional.
        ParameterError: a text of 16 MiB or more.
    """
    found = values if isinstance(values, Values) else None
    if hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__"):
        found = _of_arrow(values)
    if found is None:
        found = _of_array(values)
    if not len(found):
        return replace(found, kind=kind) if kind in NUMBERS and found.kind in NUMBERS else _empty(kind or found.kind)
    if found.kind == TEXT and int(np.diff(found.numbers).max()) > LONGEST:
        raise ParameterError(f"a name has more than {LONGEST} bytes")
    return found if kind in (None, found.kind) else _as_kind(found, kind)


def _empty(kind: str) -> Values:
    return Values(kind, np.zeros(int(kind == TEXT), np.int64))


def _as_kind(values: Values, kind: str) -> Values:
    """Return integers as ``kind``: int64 or uint64. Raises ``DTypeError`` for texts, or if an integer does not fit."""
    if TEXT in (kind, values.kind):
        have = "texts" if kind == TEXT else "integers"
        raise DTypeError(f"the names are {have}, got {'integers' if kind == TEXT else 'texts'}")
    extreme = int(values.numbers.min() if values.kind == "int64" else values.numbers.max())
    if extreme in range(1 << 63):
        return replace(values, kind=kind)
    raise DTypeError(f"the names are {kind} and cannot be {shown(extreme)}: make Names('text')")


def _of_array(values: Any) -> Values:
    """Return as ``Values`` a list, a NumPy array, or anything that NumPy can convert to an array."""
    if isinstance(values, (str, bytes)):
        raise ShapeError(f"one name, {shown(values)}, where several are taken: put it into a list")
    if isinstance(values, (list, tuple)) and not any(map(np.ndim, values[:1])):
        return _of_objects(values) if values else _empty(TEXT)  # NumPy would make texts or floats of mixtures
    array = np.asarray(on_host(as_array(values, "names")))
    if array.ndim != 1:
        raise ShapeError(f"names have shape {array.shape}: pass a one-dimensional array or a list")
    if array.dtype.kind in "iu":
        kind = "uint64" if array.dtype == np.uint64 and len(array) and int(array.max()) >= 1 << 63 else "int64"
        return Values(kind, np.ascontiguousarray(array, dtype=kind))
    if not len(array):
        return _empty(TEXT)
    if array.dtype.kind in "SUTO":
        return _of_objects(array.tolist())
    raise DTypeError(f"names have dtype {array.dtype}: they are texts or integers")


def _of_objects(items: list[Any] | tuple[Any, ...]) -> Values:
    kinds = set(map(type, items))
    if not all(issubclass(kind, (int, np.integer)) and kind not in (bool, np.timedelta64) for kind in kinds):
        return _of_texts(items)
    low, high = int(min(items)), int(max(items))
    if low < -(1 << 63) or high >= 1 << (63 if low < 0 else 64):
        raise DTypeError("names that are integers have at most 64 bits: make them texts")
    kind = "uint64" if high >= 1 << 63 else "int64"
    return Values(kind, np.array(items, kind))


def _of_texts(items: list[Any] | tuple[Any, ...]) -> Values:
    """Return a list of ``str`` and ``bytes`` as ``Values``."""
    try:
        joined = "".join(items)
        data = joined.encode("utf-8", "surrogateescape")
        if len(data) == len(joined):
            return _joined(map(len, items), len(items), data)
    except TypeError:
        pass  # some are bytes, or no texts at all
    except UnicodeEncodeError:
        pass  # half a pair of surrogates: which name has it is said below
    parts = [_encoded(item, index) for index, item in enumerate(items)]
    return _joined(map(len, parts), len(parts), b"".join(parts))


def _joined(lengths: Iterator[int], count: int, data: bytes) -> Values:
    offsets = np.fromiter(itertools.chain((0,), itertools.accumulate(lengths)), np.int64, count + 1)
    return Values(TEXT, offsets, np.frombuffer(data, np.uint8))


def _encoded(item: Any, index: int) -> bytes:
    if isinstance(item, str):
        if not is_writable(item):
            raise DTypeError(f"names[{index}] is {shown(item)}, which cannot be written as UTF-8")
        return item.encode("utf-8", "surrogateescape")
    if isinstance(item, bytes):
        try:
            str(item, "utf-8")
        except UnicodeDecodeError:
            raise DTypeError(f"names[{index}] is {shown(item)}, not UTF-8: decode it to str") from None
        return item
    if is_missing(item):
        raise DTypeError(f"names[{index}] is missing ({shown(item)}): leave such rows out, or give a name to them")
    raise DTypeError(f"names[{index}] is {shown(item)}: names are all texts, or all integers")


def is_writable(item: Any) -> bool:
    """Return whether UTF-8 can write an item, unless it is a text with half a pair of surrogates."""
    try:
        return not isinstance(item, str) or item.encode("utf-8", "surrogateescape") is not None
    except UnicodeEncodeError:
        return False


def without_missing(column: Any, kind: str | None) -> tuple[list[Any], np.ndarray] | None:
    """Return a column's names as a list, missing ones and those that UTF-8 cannot write as 0 or "", and which are so.

    None if none is.
    """
    items = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    missing = nulls_of(items) | ~np.fromiter(map(is_writable, items), bool, len(items))
    if not missing.any():
        return None
    usual: type = int if kind in NUMBERS else str
    empty = next((type(item) for item in items if not is_missing(item)), usual)()
    return [empty if gone else item for item, gone in zip(items, missing.tolist(), strict=True)], missing


def _of_arrow(values: Any) -> Values | None:
    """Return as ``Values`` an Arrow array, chunked array or series; None if NumPy has to convert it."""
    pa = sys.modules.get("pyarrow") or _pyarrow()
    if pa is None:
        return None
    if not isinstance(values, (pa.Array, pa.ChunkedArray)):
        if hasattr(values, "to_numpy") and getattr(values, "dtype", None) in (object, np.int64):
            return None  # a series of pandas over NumPy
        values = pa.chunked_array(values) if hasattr(values, "__arrow_c_stream__") else pa.array(values)
    if isinstance(values, pa.ChunkedArray):
        values = values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()
        if isinstance(values, pa.ChunkedArray):  # more texts than one array can hold
            values = pa.concat_arrays([chunk.cast(pa.large_string()) for chunk in values.chunks])
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if values.null_count:
        index = int(np.flatnonzero(np.asarray(values.is_null()))[0])
        raise DTypeError(f"names[{index}] is missing (null): leave such rows out, or give a name to them")
    kind = values.type
    if pa.types.is_integer(kind):
        return _of_array(values.to_numpy(zero_copy_only=False))
    wide = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    if not (wide or pa.types.is_string(kind) or pa.types.is_binary(kind)):
        if kind not in (getattr(pa, "string_view", lambda: None)(), getattr(pa, "binary_view", lambda: None)()):
            raise DTypeError(f"names have type {kind}: they are texts or integers")
        values, wide = values.cast(pa.large_binary()), True
    _, offsets, data = values.buffers()
    dtype = np.dtype(np.int64 if wide else np.int32)
    if not len(values):
        return _empty(TEXT)
    places = np.frombuffer(offsets, dtype, len(values) + 1, values.offset * dtype.itemsize)
    return Values(TEXT, places, _NO_BYTES if data is None else np.frombuffer(data, np.uint8))


@contextlib.contextmanager
def utf8_only() -> Iterator[None]:
    """A context in which texts that are not UTF-8 raise ``ParameterError``: frames and tables cannot hold them."""
    try:
        yield
    except UnicodeEncodeError as error:
        reason = f"{shown(error.object)} is not UTF-8: text formats alone hold it"
        raise ParameterError(f"{reason}; read the file with its encoding=, as 'latin-1'") from error


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        return None
    return pyarrow
