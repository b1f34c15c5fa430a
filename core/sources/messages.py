"""Values of messages: checked one by one, so that one that cannot be read is refused alone; then columns of a chunk."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from suricate.base.parameters import shown
from suricate.base.types import INSERT
from suricate.intake.tables import end_of
from suricate.io.options import FirstRow
from suricate.io.sources.source import Chunk, columns_of
from suricate.io.sources.times import LARGEST, NANOSECONDS, NO_TIME

TIME = "@time"  #: the column of the time that the broker gave to a message, in milliseconds
SRC, DST, WEIGHT, KIND, ATTRIBUTES = range(5)  # of the values of a message
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_SCALARS = (int, float, str, bool, type(None))
_INT64 = 1 << 63


class Refused(NamedTuple):
    """In place of the values of a message that cannot be read: why, and its text, shortened."""

    reason: str
    text: str


class Values:
    """Takes the values out of messages, and makes chunks of them.

    Args:
        columns: names of values, by role.
        attributes: names of further columns.
        time_unit: of times that are numbers.
        names: whether sources and destinations are names. first: whether names are texts, None: not known yet.
        kinds: what the first event said, if one was read before: whether it had a weight, and a whole one, and texts as
            names.
    """

    def __init__(
        self, columns: Mapping[str, Any], attributes: Sequence[str], time_unit: str, *, names: bool,
        first: FirstRow, kinds: tuple[bool, bool, bool] | None,
    ) -> None:  # fmt: skip
        self._columns, self._attributes, self._names, self._first = columns, attributes, names, first
        self.kinds: tuple[bool, bool, bool] | None = None
        if kinds is not None:
            self.hear(kinds)
        self._time, self._weight, self._kind = (columns.get(role, role) for role in ("time", "weight", "kind"))
        self._further = [columns.get(name, name) for name in attributes]
        self._scale = NANOSECONDS["ms" if self._time == TIME else time_unit]

    def read(self, decode: Callable[[Any], Mapping[str, Any]], message: Any, text: Any) -> tuple[int, Any]:
        """Return the time of a message in nanoseconds and its values, or ``NO_TIME`` and ``Refused``.

        ``text`` is what a file of refused messages shows.
        """
        try:
            return self._values(decode(message))
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            return NO_TIME, Refused(reason, shown(text))

    def _values(self, row: Mapping[str, Any]) -> tuple[int, tuple[Any, ...]]:
        if not isinstance(row, Mapping):
            raise ValueError(f"it is no object of names and values, but {shown(row)}")
        time = row.get(self._time)
        if time is None:
            raise ValueError(f"it has no {self._time!r}")
        weight, kind = row.get(self._weight), row.get(self._kind)
        further = [row.get(name) for name in self._further]
        if type(kind) not in (int, str, type(None)) or any(type(each) not in _SCALARS for each in further):
            raise ValueError("a value is neither a number nor a text")
        src, dst = self._end(row, "src"), self._end(row, "dst")
        for text in (src, dst, *further):
            str(text).encode()  # JSON may have half a pair of surrogates, which UTF-8 cannot write
        weight = weight if weight is None else _number(weight, "weight")
        if type(weight) is float and not math.isfinite(weight):
            raise ValueError(f"weight is {weight}")
        return self._ticks(time), (src, dst, weight, INSERT if kind is None else kind, *further)

    def _end(self, row: Mapping[str, Any], role: str) -> Any:
        name = self._columns.get(role, role)
        value = row.get(name)
        if value is None and role not in self._columns:
            value = row.get(end_of(role, row) or role)
        if type(value) is str and not self._names:
            try:
                value = int(value)
            except ValueError:
                raise ValueError(f"{role} is {shown(value)}: names=True takes texts") from None
        if type(value) is str or (type(value) is int and -_INT64 <= value < _INT64):
            return value
        raise ValueError(f"it has no {name!r}" if value is None else f"{role} is {shown(value)}")

    def _ticks(self, time: Any) -> int:
        """Return a time, a number or a text, in nanoseconds since the epoch."""
        if type(time) is str:
            try:
                time = _number(time, "time")
            except ValueError:
                moment = datetime.datetime.fromisoformat(time)
                moment = moment.replace(tzinfo=datetime.UTC) if moment.tzinfo is None else moment
                return (moment - _EPOCH) // datetime.timedelta(microseconds=1) * 1000
        if type(time) is float and math.isfinite(time):
            whole = math.floor(time)
            ticks = whole * self._scale + round((time - whole) * self._scale)
        elif type(time) is int:
            ticks = time * self._scale
        else:
            raise ValueError(f"time is {shown(time)}")
        if abs(ticks) > LARGEST:
            raise ValueError(f"time is {shown(time)}, out of the range of years 1824 to 2116; time_unit= says its unit")
        return ticks

    def said(self, row: tuple[Any, ...]) -> tuple[bool, bool, bool]:
        """Return what the values of the first event say of all: see ``kinds`` of the class."""
        src, dst, weight, *_ = row
        texts = type(src) is str or type(dst) is str if self._first.texts is None else self._first.texts
        return "weight" in self._columns or weight is not None, type(weight) is not float, texts

    def hear(self, kinds: tuple[bool, bool, bool]) -> None:
        """Take over what the first event has said, see :meth:`said`."""
        self.kinds = kinds
        if self._first.texts is None:
            self._first.texts = kinds[2]

    def first_odd(self, rows: Sequence[Any], begin: int = 0) -> int:
        """Return the index of the first row from ``begin`` on that was refused or does not fit the first event.

        The number of rows if there is none.
        """
        if self.kinds is None and type(rows[begin]) is not Refused:
            self.hear(self.said(rows[begin]))
        for at in range(begin, len(rows)):
            if type(rows[at]) is Refused or self.misfit(rows[at]) is not None:
                return at
        return len(rows)

    def misfit(self, row: tuple[Any, ...]) -> str | None:
        """Return why values do not fit those of the first event; None: they do."""
        if self.kinds is None:
            return None
        has_weight, is_whole, _ = self.kinds
        weight = row[WEIGHT]
        if type(weight) is float and has_weight and is_whole:
            return "weights were whole numbers so far: give them as floats from the beginning, by decode="
        if weight is not None and not has_weight:
            return "it has a weight, the first event had none"
        if weight is None and has_weight and row[KIND] == INSERT:
            return "it has no weight, the first event had one"
        if self._names and not self._first.texts and (type(row[SRC]) is str or type(row[DST]) is str):
            return "it has texts as names, and the first event integers: decode= makes texts of all"
        return None

    def chunk(self, ticks: np.ndarray, rows: Sequence[tuple[Any, ...]]) -> Chunk:
        """Return the columns of rows and their times, int64[n]."""
        src, dst, weight, kind, *further = map(list, zip(*rows, strict=True))
        if self._names and self._first.texts:
            src, dst = [*map(str, src)], [*map(str, dst)]
        found: dict[str, Any] = {"src": src, "dst": dst, "time": ticks.view("M8[ns]")}
        if self.kinds is not None and self.kinds[0]:
            found["weight"] = weight
        if any(each != INSERT for each in kind):
            found["kind"] = [*map(str, kind)]
        return columns_of(found | dict(zip(self._attributes, further, strict=True)), {}, self._attributes)


def _number(value: Any, label: str) -> int | float:
    """Return a number, which may be a text; ``ValueError``, which names ``label``, for anything else."""
    if type(value) is str:
        try:
            value = int(value)
        except ValueError:
            value = float(value)
    if type(value) is float or (type(value) is int and -_INT64 <= value < _INT64):
        return value
    raise ValueError(f"{label} is {shown(value)}")
