"""Events: the columns of a source, checked: arrays of equal length."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

import numpy as np

from suricate.base.devices import module_of
from suricate.base.errors import CapacityError, DTypeError, ShapeError, VertexRangeError, WeightError
from suricate.base.parameters import shown
from suricate.base.types import MAX_VERTICES
from suricate.intake.arrays import as_array, few_valid, is_cuda_array, on_host
from suricate.intake.tables import is_missing
from suricate.io.sources.columns import numbers_in, whole_numbers, widened
from suricate.io.sources.kinds import INSERT


class Events(NamedTuple):
    """Checked events, as columns.

    Attributes:
        time: ``int64[n]``, nanoseconds since 1970 if times have a unit, else the numbers given; or a range of
            consecutive positions.
        src, dst: ``uint32[n]``, ids of vertices; on a CUDA device if they were given there.
        weight: ``float64[n]`` or ``int64[n]``, or None.
        kind: ``int8[n]``: 1: insertion, 0: set, -1: deletion; None if all are insertions.
        attributes: a structured array ``[n]`` with a field, ``int64`` or ``float64``, per attribute; or None.
    """

    time: np.ndarray | range
    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray | None = None
    kind: np.ndarray | None = None
    attributes: np.ndarray | None = None

    @property
    def number(self) -> int:
        """Return the number of events."""
        return len(self.time)

    def taken(self, which: Any) -> Events:
        """Return the events that ``which`` selects: an array of positions, a slice or a mask."""
        time, src, dst, weight, kind, attributes = self
        time = time if isinstance(which, slice) else times_of(time)
        return Events(
            time[which], src[which], dst[which], None if weight is None else weight[which],
            None if kind is None else kind[which], None if attributes is None else attributes[which],
        )  # fmt: skip


def times_of(time: np.ndarray | range) -> np.ndarray:
    """Return times as an array, ``int64[n]``; a range becomes one."""
    return np.arange(time.start, time.stop, dtype=np.int64) if isinstance(time, range) else time


def number_before(time: np.ndarray | range, end: int) -> int:
    """Return how many of the ascending times ``time`` are below ``end``."""
    if isinstance(time, range):
        return min(max(end - time.start, 0), len(time))
    return int(np.searchsorted(time, end))


def joined(parts: Sequence[Events]) -> Events:
    """Return the concatenation of events; a part without kinds consists of insertions."""
    if len(parts) == 1:
        return parts[0]
    if any(part.kind is not None for part in parts):
        parts = [part._replace(kind=np.full(part.number, INSERT, np.int8)) if part.kind is None else part
                 for part in parts]  # fmt: skip
    times, *columns = zip(*parts, strict=True)
    return Events(_one_time(times), *(None if column[0] is None else _concatenated(column) for column in columns))  # type: ignore[arg-type]


def _one_time(times: Sequence[np.ndarray | range]) -> np.ndarray | range:
    """Return the times of several parts as one column: an array, or a range if the parts are consecutive ranges."""
    ranges = [time for time in times if isinstance(time, range)]
    if len(ranges) == len(times) and all(after.start == before.stop for before, after in pairwise(ranges)):
        return range(ranges[0].start, ranges[-1].stop)
    return np.concatenate([times_of(time) for time in times])


def _concatenated(parts: Sequence[Any]) -> Any:
    """Return the concatenation of arrays, on the device if one of them is there."""
    there = next((module_of(part) for part in parts if not isinstance(part, np.ndarray)), np)
    return there.concatenate([there.asarray(part) for part in parts])


def nothing(weight_dtype: np.dtype | None, attributes: np.dtype | None = None) -> Events:
    """Return :class:`Events` without rows; weights and attributes have the dtypes given, None: there are none."""
    dtypes = np.int64, np.uint32, np.uint32, weight_dtype, None, attributes
    return Events(*(None if dtype is None else np.empty(0, dtype) for dtype in dtypes))  # type: ignore[arg-type]


def checked_ids(values: Any, label: str, *, skips: bool = False) -> tuple[np.ndarray, np.ndarray | None]:
    """Return ids as ``uint32``, a copy, and a mask of those that are not valid vertex ids (None: all are valid).

    Ids on a CUDA device stay there if all are valid; waits for the device. ``label`` names the column in messages.
    ``skips``: invalid ids are left out, so that a column may be floats, as pandas has integers if some are missing.
    """
    array = as_array(values, label) if is_cuda_array(values) else np.asarray(values)
    if array.ndim != 1:
        raise ShapeError(f"{label} must have one dimension, got shape {array.shape}")
    missing = None
    if array.dtype.kind == "O":
        array, missing = numbers_in(array)
    if array.dtype.kind == "f" and (skips or np.isnan(array).any()):
        array, missing = whole_numbers(array)
    if array.dtype.kind not in "iu":
        raise DTypeError(f"{label} must be whole numbers, got {array.dtype}; names=True (--names) takes texts")
    least = 0 if array.dtype.kind == "u" or not len(array) else int(array.min())
    if least < 0 or (len(array) and int(array.max()) >= MAX_VERTICES):
        array = on_host(array)
        bad = (array < 0) | (array >= MAX_VERTICES)
        return np.where(bad, 0, array).astype(np.uint32), bad if missing is None else bad | missing
    return array.astype(np.uint32), missing


def both_ids(src: Any, dst: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Return copies of ``src`` and ``dst`` as ``uint32[n]``, made and checked in one pass by a compiled loop.

    None if an entry is no valid id, or if the loop does not take such arrays; :func:`checked_ids` takes all kinds.
    """
    copies = few_valid((src, dst, None), MAX_VERTICES, most=len(src))
    return None if copies is None else copies[:2]


def bad_id(values: Any, bad: np.ndarray, label: str) -> VertexRangeError:
    """Return the error about the first of ``values`` that the mask ``bad`` selects; ``label``: their column."""
    (value,) = (on_host(values) if is_cuda_array(values) else np.asarray(values))[bad][:1].tolist()
    if is_missing(value):
        return VertexRangeError(f"{label}: an id is missing; on_error='skip' (--on-error) leaves such events out")
    return VertexRangeError(
        f"{label}: {shown(value)} is no id of a vertex (0 to {MAX_VERTICES - 1}); "
        "names=True (--names) takes any integers"
    )


def raise_explained(error: CapacityError, names: Any, num_vertices: int, num_edges: int) -> NoReturn:
    """Raise ``error``; if ids are sparse, raise a ``CapacityError`` instead that proposes to take them for names.

    They are sparse if there are no ``names``, and ``num_vertices``, the largest id + 1, is over 4 times ``num_edges``.
    """
    if names is not None or num_vertices <= 4 * num_edges:
        raise error
    advice = "ids number the vertices from 0, names=True (--names) takes any integers as names"
    explained = CapacityError(f"{error}; id {num_vertices - 1} makes it {num_vertices} vertices: {advice}")
    for note in getattr(error, "__notes__", ()):
        explained.add_note(note)
    raise explained from error


def checked_weights(values: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Return weights as ``int64`` or ``float64``, and a mask of those that are NaN or infinite (None: none are).

    Objects may be integers, which stay exact, or decimals, floats and missing values.
    """
    array = np.asarray(values)
    missing = None
    if array.dtype.kind == "O":
        array, missing = numbers_in(array)
    if array.dtype.kind not in "iuf":
        raise DTypeError(f"weight must be numbers, got {array.dtype}")
    array = widened(array, "weight", WeightError)
    bad = ~np.isfinite(array) if array.dtype.kind == "f" else missing
    return array, None if bad is None or not bad.any() else bad
