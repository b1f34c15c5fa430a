"""Times in ISO 8601: text to integers and back."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import numpy as np

from suricate.base.errors import ParameterError

LOOKS_LIKE_TIME = re.compile(rb"\d{4}-\d\d-\d\d([T ].*)?")  #: what is taken for a time in ISO 8601, not a number

LOOKS_DECIMAL = re.compile(rb"-?\d+\.\d+")  #: what is taken for a time with a fraction

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_TIME = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ](?!24)\d\d:\d\d(?::\d\d(?:[.,]\d{1,6}0*)?)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?", re.ASCII
)
MOST_TICKS = 1 << 62  #: times with fractions are below
_UNITS = ("s", "ms", "us", "ns")


def microseconds(text: str) -> int:
    """Return an ISO 8601 date or time as microseconds since 1970; without a zone it is UTC.

    ``parse_loops.parse_iso`` is the compiled equivalent.

    Raises:
        ValueError: ``text`` is not a date or time, or has a fraction of a microsecond.
    """
    if not _TIME.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is no time of ISO 8601, as 2024-05-17T13:45:00.25Z")
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{text[:40]!r} is no time of ISO 8601: {error}") from None
    return ((time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND


def decimal_ticks(text: bytes, ticks: int) -> int | None:
    """Return the decimal number ``text`` multiplied by ``ticks``, a power of ten, and rounded; None: out of range.

    ``parse_loops.parse_ticks`` is the compiled equivalent.
    """
    digits = len(str(ticks)) - 1
    whole, _, fraction = text.lstrip(b"-").partition(b".")
    if int(whole) >= MOST_TICKS // ticks:
        return None
    total = int(whole) * ticks + int(fraction[:digits].ljust(digits, b"0")) + (fraction[digits : digits + 1] >= b"5")
    return -total if text[:1] == b"-" else total


def to_text(values: np.ndarray, unit: str) -> np.ndarray:
    """Return int64 times of ``unit`` (``"s"``, ``"ms"``, ``"us"`` or ``"ns"``) as ISO 8601 in UTC, dtype ``S``.

    Raises:
        ParameterError: a time lies outside the years 1 to 9999, or there is no such unit.
    """
    if unit not in _UNITS:
        raise ParameterError(f"time_unit must be one of {', '.join(_UNITS)}, got {unit!r}")
    times = values.view(f"datetime64[{unit}]")
    years = times.astype("datetime64[Y]").astype(np.int64) + 1970
    if np.any((years < 1) | (years > 9999)):
        raise ParameterError("times outside the years 1 to 9999 cannot be written in ISO 8601")
    return np.strings.add(np.datetime_as_string(times).astype("S"), b"Z")
