"""Times of events as int64: nanoseconds since the epoch (UTC) where a unit is known, else the numbers as they are."""

from __future__ import annotations

import datetime
import numbers
import re
from typing import Any

import numpy as np

from suricate.base.errors import DTypeError, ParameterError
from suricate.base.parameters import is_number, shown
from suricate.intake.tables import is_missing
from suricate.io.times import UNITS

NANOSECONDS = {
    "ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9, "d": 86_400 * 10**9,
    "w": 7 * 86_400 * 10**9,
}  # fmt: skip
_FINER = {"ps": 10**3, "fs": 10**6, "as": 10**9}  # parts of a nanosecond
LARGEST = 2**62  #: the largest time and duration, so that their sums fit
LATEST = 2**63 - 1  #: in place of a time that is out of range
NO_TIME = -(2**63)  #: in place of an integer that is missing
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)", re.ASCII | re.IGNORECASE)


def demand_unit(unit: Any) -> str | None:
    """Return ``unit``; raise ``ParameterError`` unless it is one of :data:`UNITS` or None."""
    if unit is not None and not (isinstance(unit, str) and unit in UNITS):
        raise ParameterError(f"time_unit must be 's', 'ms', 'us', 'ns' or None, got {shown(unit)}")
    return unit


def duration(value: Any, label: str, *, has_unit: bool | None) -> int:
    """Return a duration in ticks: nanoseconds if times have a unit, else plain numbers.

    Args:
        value: a text such as ``"7d"``, ``"1h30min"`` or ``"250ms"``, a ``timedelta`` of Python, NumPy or pandas; a
            text without a unit (``"100"``) if times have none; 0.
        label: name of the parameter, for messages.
        has_unit: whether times have a unit; None: not known yet.

    Raises:
        ParameterError: not a duration, negative, too large, or with a unit if times have none (or the reverse).
    """
    value = value[()] if isinstance(value, np.ndarray) and not value.ndim else value
    if hasattr(value, "to_timedelta64"):  # of pandas
        value = value.to_timedelta64()
    if isinstance(value, datetime.timedelta):
        ticks, with_unit = value // datetime.timedelta(microseconds=1) * 1000, True  # NumPy would wrap
    elif isinstance(value, np.timedelta64):
        ticks, with_unit = _exact(value, label)
    elif is_number(value) and value == 0:
        return 0
    elif isinstance(value, str):
        ticks, with_unit = _parsed(value, label)
    else:
        raise ParameterError(f"{label} must be a duration such as '7d', '90min' or a timedelta, got {shown(value)}")
    if not 0 <= ticks <= LARGEST:
        raise ParameterError(f"{label} is negative or too long: {shown(value)}")
    if has_unit is False and with_unit:
        advice = "time_unit='s' (or 'ms', 'us', 'ns') says what their numbers are"
        raise ParameterError(f"{label}={shown(value)} has a unit, but the times of the events have none: {advice}")
    if has_unit and not with_unit and ticks:
        raise ParameterError(f"{label}={shown(value)} has no unit: where times have one, write '{ticks}s', say")
    return ticks


def _exact(value: np.timedelta64, label: str) -> tuple[int, bool]:
    """Return a ``timedelta64`` as nanoseconds, or as the number that it is without a unit, and whether it has one."""
    unit, multiple = np.datetime_data(value.dtype)
    if np.isnat(value) or unit in ("Y", "M"):
        wrong = "is missing (NaT)" if np.isnat(value) else "has a unit of no fixed length: write days"
        raise ParameterError(f"{label}={shown(value)} {wrong}")
    number = int(value.astype(np.int64)) * multiple  # NumPy would wrap
    if unit == "generic":
        return number, False
    scale = NANOSECONDS[{"W": "w", "D": "d", "m": "min"}.get(unit, unit)] if unit not in _FINER else 1
    whole, rest = divmod(number * scale, _FINER.get(unit, 1))
    if rest:
        raise ParameterError(f"{label}={shown(value)} is finer than nanoseconds")
    return whole, True


def _parsed(text: str, label: str) -> tuple[int, bool]:
    """Return the duration in ``text`` (nanoseconds, or the number if it has no unit), and whether it has units."""
    at, whole, total, units = 0, 0, 0.0, set()
    while at < len(text) and (part := _PART.match(text, at)):
        unit = part[2].lower()
        if unit and unit not in NANOSECONDS:
            raise ParameterError(f"{label}: unknown unit {part[2]!r} in {text!r} (there are: {', '.join(NANOSECONDS)})")
        scale = NANOSECONDS[unit] if unit else 1
        if "." in part[1]:
            total += float(part[1]) * scale
        else:
            whole += int(part[1]) * scale
        units.add(bool(unit))
        at = part.end()
    if text[at:].strip() or len(units) != 1 or (units == {False} and total):
        raise ParameterError(f"{label} must be a duration such as '7d', '1h30min' or '250ms', got {text!r}")
    return whole + round(total), units == {True}


def as_times(column: Any) -> np.ndarray:
    """Return a column of times as an array: numbers as they are, dates as ``datetime64``.

    Dates may be those of Python or pandas; with a time zone they are converted to UTC, without one they are UTC.
    """
    array = np.asarray(column)
    if array.dtype.kind != "O":
        return array
    items = array.tolist()
    if all(value is None or isinstance(value, datetime.date) for value in items):
        zoned = {getattr(value, "tzinfo", None) is not None for value in items if value is not None and value == value}
        if len(zoned) > 1:
            raise ParameterError("time: some times have a zone, others have none")
        return np.array([_utc(value) for value in items], "M8" if len(array) else "M8[s]")
    if all(is_missing(value) or is_number(value, numbers.Integral) for value in items):
        whole = [NO_TIME if is_missing(value) else max(min(int(value), LATEST), -LATEST) for value in items]
        return np.array(whole, np.int64)
    return array


def _utc(value: datetime.date | None) -> np.datetime64:
    if value is None:
        return np.datetime64("NaT")
    if isinstance(value, datetime.datetime) and value.tzinfo is not None and not hasattr(value, "to_datetime64"):
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    date = value.to_datetime64() if hasattr(value, "to_datetime64") else np.datetime64(value)  # pandas: nanoseconds
    seconds = date.astype("M8[s]").astype(np.int64)
    # beside nanoseconds, NumPy would wrap
    return date if np.isnat(date) or abs(seconds) <= LARGEST // 10**9 else np.datetime64(LATEST, "ns")


def bad_times(times: np.ndarray, unit: str | None) -> np.ndarray:
    """Return ``bool[n]``: which times, of ``unit`` if they are numbers, are missing, infinite or out of range."""
    if times.dtype.kind == "M":
        return np.isnat(times) | (abs(times.astype("M8[s]").astype(np.int64)) > LARGEST // 10**9)
    limit = LARGEST // NANOSECONDS.get(unit or "ns", 1)
    inside: np.ndarray = (times >= -limit) & (times <= limit)
    return ~inside


def ticks_of(times: Any, unit: str | None) -> tuple[np.ndarray, bool]:
    """Return times as int64 ticks, and whether they have a unit.

    ``datetime64`` and, if ``unit`` is given, numbers become nanoseconds; other whole numbers stay as they are.

    Raises:
        DTypeError: neither dates nor numbers, or fractions without a unit.
        ParameterError: a time is missing (NaT, NaN) or out of range.
    """
    array = times if type(times) is np.ndarray and times.dtype.kind != "O" else as_times(times)
    if array.dtype.kind == "M":
        if np.isnat(array).any():
            raise ParameterError("time: a time is missing (NaT)")
        if len(array) and abs(array.astype("M8[s]").astype(np.int64)).max() > LARGEST // 10**9:
            raise ParameterError("time: a time is out of the range of nanoseconds, about 1824 to 2116")
        return array.astype("M8[ns]").astype(np.int64), True
    if array.dtype.kind not in "iuf":
        texts = array.dtype.kind in "UT" or (array.dtype.kind == "O" and isinstance(next(iter(array), None), str))
        how = (
            "; np.asarray(times, 'datetime64[s]') or pandas.to_datetime(times) reads texts of ISO 8601" if texts else ""
        )
        raise DTypeError(f"time must be dates or numbers, got {array.dtype}{how}")
    scale = 1 if unit is None else NANOSECONDS[unit]
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise ParameterError("time: a time is NaN or infinite")
        if unit is None and (array != np.floor(array)).any():
            raise DTypeError("time must be whole numbers, or time_unit must say what they are")
    if len(array) and max(-int(np.minimum.reduce(array)), int(np.maximum.reduce(array))) > LARGEST // scale:
        worst = array[bad_times(array, unit)][0].item()
        if worst == NO_TIME:
            raise ParameterError("time: a time is missing")
        years = "" if unit is None else f", in {unit!r}: years 1824 to 2116; time_unit= says which unit numbers have"
        raise ParameterError(f"time: {shown(worst)} is out of range{years}")
    if array.dtype.kind == "f":
        whole = np.floor(array.astype(np.float64))  # apart: a product of both has fewer digits than nanoseconds
        return whole.astype(np.int64) * scale + np.round((array - whole) * scale).astype(np.int64), unit is not None
    ticks = array.astype(np.int64, copy=False)
    return ticks if scale == 1 else ticks * scale, unit is not None


def moment(ticks: int, *, has_unit: bool) -> Any:
    """Return a time in ticks as users see it: ``datetime64[ns]`` if ``has_unit`` (nanoseconds), else an int."""
    return np.datetime64(ticks, "ns") if has_unit else ticks
