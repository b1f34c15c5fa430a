"""Conversion of chunks to events. Columns are checked; an invalid row raises, is counted, or goes to a file."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from suricate.base.errors import (
    DTypeError,
    LateEventError,
    ParameterError,
    RequirementError,
    ShapeError,
    VertexRangeError,
    WeightError,
)  # fmt: skip
from suricate.base.parameters import shown
from suricate.base.types import DELETE, INSERT, MAX_VERTICES
from suricate.intake.arrays import SHORT, as_array, few_valid, is_cuda_array, on_host
from suricate.intake.name_values import is_writable, without_missing
from suricate.intake.tables import is_missing
from suricate.io.sources.chunk_columns import Texts, as_integers, numbers_in, whole_numbers, widened
from suricate.io.sources.kinds import NO_KIND, kinds_of
from suricate.io.sources.refusals import Refusals
from suricate.io.sources.times import as_times, bad_times, moment, ticks_of
from suricate.stream.attributes import AttributeIntake
from suricate.stream.filtered import KEPT, LEFT_OUT
from suricate.stream.window_names import VertexNames
from suricate.windows.events import Events, times_of
from suricate.windows.ring.arrivals import Arrivals

_NONE = np.empty(0, np.int64)
SKIPS = "on_error='skip' leaves such events out"
_CHECKED = "time", "src", "dst", "weight", "attributes", "kind"  # columns that may have bad values


class Intake:
    """Converts the chunks of a source, all of which must have the same columns, to ``Events``.

    ``refusals`` counts invalid rows, writes them to a file, or has this object raise an error.
    """

    def __init__(
        self,
        mode: str,
        time_unit: str | None,
        refusals: Refusals,
        names: VertexNames | None,
        attributes: AttributeIntake,
    ) -> None:
        self._names, self.attributes = names, attributes
        self._mode, self.unit, self._refusals = mode, time_unit, refusals
        self.has_unit = False
        self.weight_dtype: np.dtype | None = None
        self.position = 0  #: valid events, or steps, so far
        self.begun = False  #: whether a chunk has said which columns there are
        self.gaps = _NONE  #: of the newest chunk: how many valid events came before each invalid one

    def events(self, chunk: Mapping[str, Any], arrivals: Arrivals | None = None) -> Events:
        """Return the valid events of a chunk, copies; invalid rows are handled as ``refusals`` says.

        ``arrivals`` copies ids to the CUDA device of the window's events; None: ids stay where they are.

        Raises:
            RequirementError: a column is missing, or was not there in earlier chunks.
            DTypeError, VertexRangeError, WeightError, ParameterError: values are invalid, and ``refusals`` raises.
        """
        time, bad_times = self._times(chunk)
        weight, bad_weights = (None, None) if "weight" not in chunk else checked_weights(chunk["weight"])
        if weight is not None and bad_weights is not None and self.weight_dtype == np.int64:
            weight = as_integers(weight, bad_weights)
        self._demand_same(weight)  # before names are kept, as it may raise
        (src, bad_src), (dst, bad_dst) = self._both_ends(chunk, arrivals)
        if weight is not None:
            weight = weight.astype(self.weight_dtype)
            if bad_weights is not None and weight.dtype.kind == "f":
                weight[bad_weights & ~np.isinf(weight)] = np.nan  # a whole number that is missing came as 0
        attributes, bad_attributes = self.attributes.values(chunk) if self.attributes.names else (None, None)
        skips = not self._refusals.raises
        kind, bad_kinds = kinds_of(chunk["kind"], skips=skips) if "kind" in chunk else (None, None)
        if kind is not None:  # what a deletion has there is not used
            if bad_attributes is not None:
                bad_attributes &= kind != DELETE
            if weight is not None and bad_weights is not None:
                weight = np.where(bad_weights & (kind == DELETE), weight.dtype.type(0), weight)
                bad_weights = bad_weights & (kind != DELETE)
        if KEPT in chunk and not chunk[KEPT].all():
            out = ~chunk[KEPT]
            kind = np.where(out, LEFT_OUT, np.int8(INSERT) if kind is None else kind).astype(np.int8)
            for bad in (bad_src, bad_dst, bad_weights, bad_attributes, bad_kinds):
                if bad is not None:
                    bad[out] = False  # nobody sees the others
        events = Events(time, src, dst, weight, kind, attributes)
        masks = bad_times, bad_src, bad_dst, bad_weights, bad_attributes, bad_kinds
        self.gaps = _NONE
        if not (bad_times is bad_src is bad_dst is bad_weights is bad_attributes is bad_kinds is None):
            events = self._valid(events, chunk, masks)
        self.position += len(events.time) if self._mode == "count" else 0
        return events

    def _valid(self, events: Events, chunk: Mapping[str, Any], masks: Sequence[np.ndarray | None]) -> Events:
        """Return the valid events, refuse others; ``masks``: per column of ``chunk`` a mask of bad values or None."""
        problems = {label: bad for label, bad in zip(_CHECKED, masks, strict=True) if bad is not None}
        for label, bad in problems.items():
            if bad.any() and self._refusals.raises:
                if label in ("src", "dst"):
                    raise bad_id(chunk[label], bad, label)
                raise WeightError(f"{label}: a value is missing or infinite; {SKIPS}")
        bad = np.logical_or.reduce([*problems.values()])
        refused, events = events.taken(bad), events.taken(~bad)
        self.gaps = np.flatnonzero(bad) - np.arange(refused.number)
        if self._mode != "time":  # only valid events have a number
            refused = refused._replace(time=np.zeros(refused.number, np.int64))
            events = events._replace(time=self._numbers(events.number))
        self.refuse(self._refusals, refused, "missing, infinite or out of range")
        return events

    def refuse(self, refusals: Refusals, events: Events, reason: str) -> None:
        """Count refused events, release their names, and write them with the ``reason`` to a file of ``refusals``."""
        rows: list[Any] = []
        if refusals.has_file and events.number:
            weights = [""] * events.number if events.weight is None else events.weight.tolist()
            kinds = [INSERT] * events.number if events.kind is None else events.kind.tolist()
            kinds = ["" if kind == NO_KIND else kind for kind in kinds]
            times = [moment(ticks, has_unit=self.has_unit) for ticks in times_of(events.time).tolist()]
            rows = [*zip(times, *self._ends_of(events), weights, kinds, [reason] * events.number, strict=True)]
        if self._names is not None:
            self._names.drop(events)
        refusals.put(events.number, rows)

    def late_error(self, events: Events, closed: int) -> LateEventError:
        """Return the error that names the first of late ``events``; ``closed``: end of the newest closed slide."""
        (src, *_), (dst, *_) = self._ends_of(events)
        time, end = (moment(int(ticks), has_unit=self.has_unit) for ticks in (events.time[0], closed))
        return LateEventError(
            f"the event {src} -> {dst} at {time} comes after the slide that ended at {end} had closed: "
            "a larger lateness waits longer, late='drop' leaves it out"
        )

    def _ends_of(self, events: Events) -> tuple[list[Any], list[Any]]:
        """Return the sources and the destinations of events: ids, or names if vertices have names."""
        return (events.src.tolist(), events.dst.tolist()) if self._names is None else self._names.shown(events)

    def _both_ends(self, chunk: Mapping[str, Any], arrivals: Arrivals | None) -> list[tuple[Any, np.ndarray | None]]:
        """Return sources and destinations, ids or tokens, each with a mask of the invalid ones; None: all are valid."""
        src, dst = chunk["src"], chunk["dst"]
        taken: Any = None if arrivals is None else arrivals.take(src, dst)
        if taken is None and self._names is None:
            taken = few_valid((src, dst, None), MAX_VERTICES, most=len(src))  # a copy, checked in the same pass
        if taken is not None:
            return [(taken[0], None), (taken[1], None)]
        if self._names is not None and _are_alike(src, dst):
            with suppress(DTypeError):  # it is raised with the name of the column below
                tokens = self._names.tokens(np.concatenate((src, dst)))
                return [(tokens[: len(src)], None), (tokens[len(src) :], None)]
        return [self._ends(chunk[label], label) for label in ("src", "dst")]

    def _ends(self, column: Any, label: str) -> tuple[np.ndarray, np.ndarray | None]:
        """Return ``column`` (``label`` in errors) as ids or tokens, and a mask of invalid ones; None: all are valid."""
        if self._names is not None:
            return self._tokens(on_host(column) if is_cuda_array(column) else column, label)
        if isinstance(column, Texts):
            raise DTypeError("ids are texts, all of them if one in the first row is; names=True (--names) takes them")
        return checked_ids(column, label, skips=not self._refusals.raises)

    def _tokens(self, column: Any, label: str) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the tokens of the names in ``column``, and a mask of missing names; ``label`` names it in errors."""
        assert self._names is not None
        if isinstance(column, np.ndarray) and column.dtype.kind == "f" and not self._refusals.raises:
            whole, missing = whole_numbers(column)
            return self._names.tokens(whole), missing
        try:
            return self._names.tokens(column), None
        except DTypeError:
            found = without_missing(column, self._names.kind)
            if found is None:
                raise
            if self._refusals.raises:
                at = int(found[1].argmax())
                item = next(itertools.islice(column, at, None))
                odd = f"is {shown(item)}, which cannot be written as UTF-8"
                odd = "is missing (null): give a name to it" if is_writable(item) else odd
                raise DTypeError(f"{label}: names[{at}] {odd}; {SKIPS}") from None
        return self._names.tokens(found[0]), found[1]

    def _times(self, chunk: Mapping[str, Any]) -> tuple[np.ndarray | range, np.ndarray | None]:
        if self._mode != "time":
            return self._numbers(len(chunk["src"])), None
        if "time" not in chunk:
            raise RequirementError(
                "it needs times: columns={'time': '...'} names them (an index is none); a number as size counts events"
            )
        times, bad = chunk["time"], None
        if type(times) is not np.ndarray or times.dtype.kind == "O":
            times = as_times(times)
        try:
            ticks, has_unit = ticks_of(times, self.unit)
        except ParameterError as error:
            if self._refusals.raises:
                raise ParameterError(f"{error}; {SKIPS}") from None
            bad = bad_times(times, self.unit)
            ticks, has_unit = ticks_of(np.where(bad, np.zeros((), times.dtype), times), self.unit)
        if self.begun and has_unit != self.has_unit:
            raise ParameterError("times of some chunks are dates, those of others are numbers")
        self.has_unit = has_unit
        return ticks.copy() if ticks is times else ticks, bad

    def _demand_same(self, weight: np.ndarray | None) -> None:
        dtype = None if weight is None else weight.dtype
        if self.begun and (dtype is None) != (self.weight_dtype is None):
            raise RequirementError("some chunks have a column of weights, others have none")
        if not self.begun:
            self.weight_dtype, self.begun = dtype, True
        elif dtype == np.float64 and self.weight_dtype == np.int64:
            raise WeightError("weights were whole numbers so far: give them as floats from the beginning")

    def _numbers(self, count: int) -> np.ndarray | range:
        """Return the times of the next ``count`` events in a window of counts (positions) or steps (current step)."""
        if self._mode == "step":
            return np.full(count, self.position, np.int64)
        return range(self.position, self.position + count)


def _are_alike(src: Any, dst: Any) -> bool:
    """Return whether both are short arrays of whole numbers or of texts, so that one call takes the names of both."""
    if type(src) is not np.ndarray or type(dst) is not np.ndarray or len(src) > SHORT:
        return False
    return src.dtype.kind == dst.dtype.kind and src.dtype.kind in "iuU" and src.ndim == dst.ndim == 1


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


def bad_id(values: Any, bad: np.ndarray, label: str) -> VertexRangeError:
    """Return the error about the first of ``values`` that the mask ``bad`` selects; ``label``: their column."""
    (value,) = (on_host(values) if is_cuda_array(values) else np.asarray(values))[bad][:1].tolist()
    if is_missing(value):
        return VertexRangeError(f"{label}: an id is missing; on_error='skip' (--on-error) leaves such events out")
    return VertexRangeError(
        f"{label}: {shown(value)} is no id of a vertex (0 to {MAX_VERTICES - 1}); "
        "names=True (--names) takes any integers"
    )


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
