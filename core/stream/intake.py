"""From chunks to events: columns are checked, bad rows raise, are counted, or go to a file; so do late events."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from suricate.base.errors import DTypeError, LateEventError, ParameterError, RequirementError, WeightError
from suricate.base.files import as_path
from suricate.base.parameters import shown
from suricate.stream.columns import Texts
from suricate.stream.events import DELETE, Events, bad_id, checked_ids, checked_weights, kinds_of
from suricate.stream.naming import VertexNames
from suricate.stream.outputs import cut_to, size_on_disk, write_rows
from suricate.stream.ring.attributes import AttributeIntake
from suricate.stream.times import moment, ticks_of

CHOICES = "drop", "skip", "raise"  #: words that are no file's name


class BadLine(NamedTuple):
    """A malformed line of a file: its number from 1, its text, and what is wrong with it."""

    number: int
    text: str
    reason: str


class Refusals:
    """Where events go that are not taken: nowhere, to a CSV file, or they raise.

    Args:
        label: the parameter that says so. choice: ``"raise"``, ``silent``, or a file's name.
        silent: the word for nowhere.
    """

    def __init__(self, label: str, choice: Any, silent: str) -> None:
        self.raises, self.count, self._path = choice == "raise", 0, None
        self.held: list[list[str]] = []  #: rows of malformed lines whose chunk has not been used
        if choice in ("raise", silent):
            return
        if not isinstance(choice, str | os.PathLike) or choice in CHOICES:
            raise ParameterError(f"{label} must be 'raise', {silent!r} or the name of a file, got {shown(choice)}")
        self._path = as_path(choice)

    def mute(self) -> None:
        """Write no file."""
        self._path = None

    def put(self, events: Events, reason: str, *, has_unit: bool, names: VertexNames | None = None) -> None:
        """Count events, and write them if there is a file: time, source, destination, weight, kind, reason."""
        if names is not None:
            src, dst = names.shown(events) if self._path is not None else ([], [])
            names.drop(events)
        else:
            src, dst = events.src.tolist(), events.dst.tolist()
        self.count += events.number
        if self._path is None or not events.number:
            return
        columns = [
            [moment(ticks, has_unit=has_unit) for ticks in events.time.tolist()],
            src, dst,
            [""] * events.number if events.weight is None else events.weight.tolist(),
            [1] * events.number if events.kind is None else events.kind.tolist(),
        ]  # fmt: skip
        write_rows(self._path, zip(*columns, [reason] * events.number, strict=True))

    def hold(self, path: Path, lines: Sequence[BadLine]) -> None:
        """Take note of the malformed lines of a chunk, until it has been used."""
        self.held += [[""] * 5 + [f"{path}:{number}: {why}: {text}"] for number, text, why in lines]

    def put_rows(self, rows: list[list[str]]) -> None:
        """Count malformed lines that were held, and write them if there is a file: their chunk has been used."""
        self.count += len(rows)
        if self._path is not None and rows:
            write_rows(self._path, rows)

    def save(self) -> tuple[int, str, int]:
        """Return the count, and the name and size of the file, which is on the disk."""
        return (self.count, "", 0) if self._path is None else (self.count, str(self._path), size_on_disk(self._path))

    def load(self, saved: Any) -> None:
        """Go on where :meth:`save` was called; raises ``ParameterError`` if the file is shorter than it was."""
        self.count, name, size = saved
        if self._path is not None and str(self._path) == name:  # another file gets what comes from now on
            cut_to(self._path, size)


def take_held(refusals: Sequence[Refusals]) -> list[list[list[str]]]:
    """Return the rows that are held, a list for each, and hold none any more."""
    found = [each.held for each in refusals]
    for each in refusals:
        each.held = []
    return found


class Intake:
    """Makes events of the chunks of a source, all of which must have the same columns.

    Args:
        mode: what the window counts: ``"time"``, ``"count"`` or ``"step"``.
        time_unit: the unit of times that are numbers.
        refusals: where bad rows go.
        names: the names of vertices, None where ids are vertices.
        attributes: the attributes of events.
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
        self._mode, self._unit, self._refusals = mode, time_unit, refusals
        self.has_unit = False
        self.weight_dtype: np.dtype | None = None
        self.position = 0  #: valid events, or steps, so far
        self.begun = False  #: whether a chunk has said which columns there are

    def events(self, chunk: Mapping[str, Any]) -> Events:
        """Return the good events of a chunk.

        Raises:
            RequirementError: a column is missing, or was not there in earlier chunks.
            DTypeError, VertexRangeError, WeightError, ParameterError: bad values, unless they go elsewhere.
        """
        time, bad_times = self._times(chunk)
        (src, bad_src), (dst, bad_dst) = (self._ends(chunk[label], label) for label in ("src", "dst"))
        weight, bad_weights = (None, None) if "weight" not in chunk else checked_weights(chunk["weight"])
        self._demand_same(weight)
        weight = weight if weight is None else weight.astype(self.weight_dtype, copy=False)
        attributes, bad_attributes = self.attributes.values(chunk)
        kind = kinds_of(chunk["kind"]) if "kind" in chunk else None
        if bad_attributes is not None and kind is not None:
            bad_attributes &= kind != DELETE  # what a deletion has there is not used
        events = Events(time, src, dst, weight, kind, attributes)
        problems = {
            "time": bad_times, "src": bad_src, "dst": bad_dst, "weight": bad_weights, "attributes": bad_attributes
        }  # fmt: skip
        for label, bad in problems.items():
            if bad is not None and bad.any() and self._refusals.raises:
                if label in ("src", "dst"):
                    raise bad_id(chunk[label], bad, label)
                raise WeightError(f"{label}: a value is missing or infinite; on_error='skip' leaves such events out")
        found = [bad for bad in problems.values() if bad is not None]
        if found:
            bad = np.logical_or.reduce(found)
            refused, events = events.taken(bad), events.taken(~bad)
            if self._mode != "time":  # only valid events have a number
                refused = refused._replace(time=np.zeros_like(refused.time))
                events = events._replace(time=self._numbers(events.number))
            why = "missing, infinite or out of range"
            self._refusals.put(refused, why, has_unit=self.has_unit, names=self._names)
        self.position += events.number if self._mode == "count" else 0
        return events

    def _ends(self, column: Any, label: str) -> tuple[np.ndarray, np.ndarray | None]:
        """Return ids, or tokens of names, and which of them are none."""
        if self._names is not None:
            return self._names.tokens(column), None
        if isinstance(column, Texts):
            raise DTypeError(f"{label}: ids are texts; names=True takes them")
        return checked_ids(column, label)

    def _times(self, chunk: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray | None]:
        if self._mode != "time":
            return self._numbers(len(chunk["src"])), None
        if "time" not in chunk:
            raise RequirementError(
                "a window of time needs a column of times: time='...' names it; a number as size counts events"
            )
        times, bad = np.asarray(chunk["time"]), None
        if times.dtype.kind in "Mf":
            bad = np.isnat(times) if times.dtype.kind == "M" else ~np.isfinite(times)
            bad = bad if bad.any() else None
            times = times if bad is None else np.where(bad, np.zeros((), times.dtype), times)
        ticks, has_unit = ticks_of(times, self._unit)
        if self.begun and has_unit != self.has_unit:
            raise ParameterError("times of some chunks are dates, those of others are numbers")
        self.has_unit = has_unit
        return ticks, bad

    def _demand_same(self, weight: np.ndarray | None) -> None:
        dtype = None if weight is None else weight.dtype
        if self.begun and (dtype is None) != (self.weight_dtype is None):
            raise RequirementError("some chunks have a column of weights, others have none")
        if not self.begun:
            self.weight_dtype, self.begun = dtype, True
        elif dtype == np.float64 and self.weight_dtype == np.int64:
            raise WeightError("weights were whole numbers so far: give them as floats from the beginning")

    def _numbers(self, count: int) -> np.ndarray:
        """Return the times of the next events where positions or steps are counted."""
        if self._mode == "step":
            return np.full(count, self.position, np.int64)
        return np.arange(self.position, self.position + count, dtype=np.int64)


def refuse_late(events: Events, closed: int, *, has_unit: bool, names: VertexNames | None) -> LateEventError:
    """Return the error that names the first late event."""
    src, dst = (events.src.tolist(), events.dst.tolist()) if names is None else names.shown(events)
    time = moment(int(events.time[0]), has_unit=has_unit)
    return LateEventError(
        f"the event {src[0]} -> {dst[0]} at {time} comes after the slide that ended at "
        f"{moment(closed, has_unit=has_unit)} had closed: a larger lateness waits longer, late='drop' leaves it out"
    )
