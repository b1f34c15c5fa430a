"""Times in ISO 8601: text to integers and back."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from suricate.base.errors import FileFormatError, ParameterError

#: what is taken for a time in ISO 8601, not a number
LOOKS_LIKE_TIME = re.compile(rb"\d{4}-\d\d-\d\d([Tt ].*)?|\d{8}[Tt]\d{4}.*")

LOOKS_DECIMAL = re.compile(rb"-?\d+\.\d+")  #: what is taken for a time with a fraction

_TIME = re.compile(
    r"(\d{4})(-?)(\d\d)\2(\d\d)(?:[Tt ](\d\d)(:?)(\d\d)(?:\6(\d\d)(?:[.,](\d{1,9})0*)?)?"
    r"(?:([Zz])|([+-])(\d\d)(?::?(\d\d))?)?(\[.+\])?)?",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOST_TICKS = 1 << 62  #: times with fractions are below
LARGEST = 2**63 - 1  #: in place of times that are later than 64 bits can say
MOST_SECONDS = LARGEST // 10**9 - 1  #: seconds, as nanoseconds, that fit into 64 bits with a fraction
UNITS = ("s", "ms", "us", "ns")  #: of times that are numbers


class Time(NamedTuple):
    """A time: seconds since 1970 (UTC), nanoseconds after them, and whether it was written with a zone."""

    seconds: int
    nanoseconds: int
    zoned: bool

    def ticks(self, *, nanoseconds: bool) -> int:
        """Return the time in micro- or nanoseconds; if these do not fit into 64 bits, the largest or least number."""
        if not nanoseconds:
            return self.seconds * 10**6 + self.nanoseconds // 1000
        if abs(self.seconds) > MOST_SECONDS:
            return LARGEST if self.seconds > 0 else -LARGEST
        return self.seconds * 10**9 + self.nanoseconds


def parse(text: str) -> Time:
    """Return an ISO 8601 date or time; without a zone it is UTC.

    ``parse_loops.parse_iso`` is the compiled equivalent.

    Raises:
        ValueError: ``text`` is not a date or time, or has a fraction of a nanosecond.
    """
    found = _TIME.fullmatch(text)
    if not found or not (found[2] or found[5]) or (found[14] and not (found[10] or found[11])):
        raise ValueError(f"{text[:40]!r} is no time of ISO 8601, as 2024-05-17T13:45:00.25Z")
    hours, minutes = int(found[12] or 0), int(found[13] or 0)
    try:
        day = datetime(int(found[1]), int(found[3]), int(found[4]), tzinfo=UTC)
        clock, ahead = time(int(found[5] or 0), int(found[7] or 0), int(found[8] or 0)), time(hours, minutes)
    except ValueError as error:
        raise ValueError(f"{text[:40]!r} is no time of ISO 8601: {error}") from None
    zone = (ahead.hour * 60 + ahead.minute) * (-60 if found[11] == "-" else 60)
    seconds = (day - _EPOCH).days * 86_400 + clock.hour * 3_600 + clock.minute * 60 + clock.second - zone
    return Time(seconds, int((found[9] or "").ljust(9, "0")), bool(found[10] or found[11]))


def looks_zoned(token: bytes) -> bool:
    """Return whether a time in ISO 8601 has a zone; False if it is not one."""
    try:
        return parse(token.decode("utf-8", "replace")).zoned
    except ValueError:
        return False


def reason(text: str) -> str:
    """Return why ``text``, without the quote behind it, is no time of ISO 8601."""
    try:
        parse(text)
    except ValueError as error:
        return str(error)
    return f"a quote follows the time {text!r}"


def demand_in_range(path: Path, times: np.ndarray, rows_before: int = 0) -> np.ndarray:
    """Return int64 nanoseconds; raise ``FileFormatError``, about ``path``, if one did not fit into 64 bits."""
    far = abs(times) == LARGEST
    if far.any():
        wrong = f"time {rows_before + far.argmax()} is not in the years 1678 to 2261"
        raise FileFormatError(path, None, f"{wrong}, as nanoseconds have to be, which other times have")
    return times


def zone_message(text: str, *, zoned: bool) -> str:
    """Return the message about a time with a zone where the first one has none, or without where it has (``zoned``)."""
    found = "has no zone, the first one has" if zoned else "has a zone, the first one has none"
    return f"time {text[:40]!r} {found}: all times of a column have a zone, or none has"


def decimal_ticks(text: bytes, ticks: int) -> int | None:
    """Return the number ``text`` times ``ticks``, a power of ten, rounded, as ``parse_loops.parse_ticks`` does.

    None if it is out of range; a whole number of 64 bits whose product does not fit becomes the largest or least int64.
    """
    digits = len(str(ticks)) - 1
    whole, _, fraction = text.lstrip(b"-").partition(b".")
    if int(whole) >= MOST_TICKS // ticks:
        return None if fraction or int(whole) > LARGEST else -LARGEST if text[:1] == b"-" else LARGEST
    total = int(whole) * ticks + int(fraction[:digits].ljust(digits, b"0")) + (fraction[digits : digits + 1] >= b"5")
    return -total if text[:1] == b"-" else total


def to_nanoseconds(times: np.ndarray) -> np.ndarray:
    """Return int64 microseconds as nanoseconds; if these do not fit into 64 bits, as the largest or least number."""
    return np.where(abs(times) > MOST_SECONDS * 10**6, np.sign(times) * LARGEST, times * 1000)


def to_text(values: np.ndarray, unit: str) -> np.ndarray:
    """Return int64 times of ``unit`` (``"s"``, ``"ms"``, ``"us"`` or ``"ns"``) as ISO 8601 in UTC, dtype ``S``.

    Raises:
        ParameterError: a time lies outside the years 1 to 9999, or there is no such unit.
    """
    if unit not in UNITS:
        raise ParameterError(f"time_unit must be one of {', '.join(UNITS)}, got {unit!r}")
    times = values.view(f"datetime64[{unit}]")
    years = times.astype("datetime64[Y]").astype(np.int64) + 1970
    if np.any((years < 1) | (years > 9999)):
        raise ParameterError("times outside the years 1 to 9999 cannot be written in ISO 8601")
    return np.strings.add(np.datetime_as_string(times).astype("S"), b"Z")
