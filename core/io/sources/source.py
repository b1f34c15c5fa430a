"""Sources of events: chunks of arrays or frames, functions that yield chunks from a position on, chains and merges.

A source yields chunks of columns in the order of arrival, each with the position behind it, from which reading can be
continued. ``scan`` reads files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from suricate.base.errors import ParameterError, RequirementError, ShapeError
from suricate.base.parameters import shown
from suricate.cpu.jit import kernel
from suricate.intake.arrays import as_array, is_cuda_array, on_host
from suricate.intake.tables import ENDS, as_table, column_names, end_of, is_lazy, is_stream, with_nulls
from suricate.io.options import FirstRow
from suricate.io.sources.columns import in_order, part_of
from suricate.io.sources.identity import ChangedError, Sums, rows_behind, sums_of
from suricate.io.sources.times import demand_unit, ticks_of

WHOLE = "all"  #: the position behind a source that was sorted
COLUMNS = ("time", "src", "dst", "weight", "kind")


class _Mark:
    """The class of ``MARK``, which marks the end of a step."""

    def __repr__(self) -> str:
        return "MARK"

    def __reduce__(self) -> str:
        return "MARK"


MARK = _Mark()  #: in place of a chunk: the events of a step are complete

Chunk = Mapping[str, Any]  #: arrays of equal length by column (see ``COLUMNS``)


class Source:
    """Base class of sources of events.

    Attributes:
        time_unit: the unit of times that are numbers, ``"s"`` for instance; None if it is not known.
        resumes: whether :meth:`read` can start at a position.
        reads_ahead: whether by default a thread reads further chunks while the current one is used.
    """

    time_unit: str | None = None
    resumes = False
    reads_ahead = False
    attributes: Sequence[str] = ()  #: further columns that chunks must have
    names = False  #: whether sources and destinations are names, so that ``007`` is not ``7``
    first: FirstRow | None = None  #: what the first row says about all chunks; None: what that of this source says

    checked = False  #: whether positions are saved, and so tied to what was read before them
    open_ended = False  #: whether files may grow: a last line without its end waits

    def want(
        self,
        attributes: Sequence[str],
        *,
        names: bool,
        first: FirstRow,
        checked: bool = False,
        open_ended: bool = False,
    ) -> None:
        """Have :meth:`read` include the columns ``attributes`` in its chunks; see the attributes of this class."""
        self.attributes, self.names, self.first = attributes, names, first
        self.checked, self.open_ended = checked, open_ended

    def read(self, position: Any = None) -> Iterator[tuple[Any, Chunk | _Mark]]:
        """Yield ``(position behind the chunk, chunk)``; ``MARK`` in place of a chunk ends a step.

        Reading begins at ``position``, one yielded before; None is the start.
        """
        raise NotImplementedError

    @property
    def refusals(self) -> Sequence[Any]:
        """The ``refusals.Refusals`` that count malformed rows, one per source of files in this source."""
        return ()

    def reads(self, path: Path) -> bool:
        """Return whether this source reads the file ``path``, or would if it were there."""
        return False

    def is_untouched(self, position: Any) -> bool:
        """Return whether it is known without reading that there is nothing behind ``position``, where reading ended."""
        return True

    def place(self, position: Any) -> str:
        """Return what ``position`` is in, for messages: the name of a file, for instance."""
        return "the source"

    def describe(self) -> str:
        """Return a text by which a checkpoint can tell whether it was made with this source."""
        return type(self).__name__


class Function(Source):
    """A source whose chunks come from a function: ``fn(position)`` yields (position behind the chunk, chunk).

    The position None is the start. ``columns`` maps roles to names of columns, for chunks that name them otherwise.
    """

    resumes = True

    def __init__(
        self,
        fn: Callable[[Any], Iterable[tuple[Any, Any]]],
        columns: Mapping[str, str] | None = None,
        time_unit: str | None = None,
    ) -> None:
        if not callable(fn):
            raise ParameterError(f"source: fn must be a function of a position, got {shown(fn)}")
        self._fn, self._columns, self.time_unit = fn, checked_columns(columns), demand_unit(time_unit)

    def read(self, position: Any = None) -> Iterator[tuple[Any, Chunk | _Mark]]:
        """Yield the positions and chunks of the function; chunks become dicts of arrays by role."""
        for after, chunk in self._fn(position):
            yield after, chunk if chunk is MARK else columns_of(chunk, self._columns, self.attributes)


class Chunks(Source):
    """A source made of an iterable of chunks: dicts of arrays, frames, Arrow tables, or ``MARK``.

    It can be read again if the iterable is a list or a tuple.

    Args:
        chunks: the iterable, or one such chunk.
        columns: the name, by role ("time", "src", "dst", "weight", "kind"), of each column that is not named like its
            role; other columns are ignored.
        time_unit: the unit of times that are numbers: ``"s"``, ``"ms"``, ``"us"`` or ``"ns"``.

    Raises:
        ParameterError: an unknown role or unit.
    """

    def __init__(self, chunks: Any, columns: Mapping[str, str] | None = None, time_unit: str | None = None) -> None:
        is_one = is_stream(chunks) or is_lazy(chunks) or column_names(chunks) is not None
        self._chunks = [chunks] if is_one else chunks
        if not isinstance(self._chunks, Iterable):
            raise ParameterError(
                f"a source must be an iterable of chunks, st.scan(...) or st.source(...), got {shown(chunks)}"
            )
        self._columns, self.time_unit = checked_columns(columns), demand_unit(time_unit)
        self.resumes = isinstance(self._chunks, list | tuple)

    def read(self, position: Any = None) -> Iterator[tuple[Any, Chunk | _Mark]]:
        """Yield the chunks as dicts of arrays by role; see ``identity.rows_behind`` for positions.

        Raises:
            RequirementError: the chunks are no list, and there is a ``position``.
            ParameterError: the rows before ``position`` are not those that were read.
        """
        if position is not None and not self.resumes:
            reason = "st.source takes a function of a position"
            raise RequirementError(f"this source cannot go on behind {position[0]} events: {reason}")
        chunks = (each if each is MARK else columns_of(each, self._columns, self.attributes) for each in self._chunks)
        try:
            yield from rows_behind(chunks, position, checked=self.checked and self.resumes)
        except ChangedError as error:
            raise ParameterError(f"checkpoint: the list of chunks {error}: give it again") from None

    def is_untouched(self, position: Any) -> bool:
        """Return False: whether it is the same list shows when it is read."""
        return False


class Sorted(Source):
    """The events of a finite source as one chunk, sorted by time; events of equal or no time keep their order."""

    def __init__(self, source: Source) -> None:
        self._source, self.time_unit, self.resumes = source, source.time_unit, source.resumes
        self.want, self.describe, self.reads = source.want, source.describe, source.reads  # type: ignore[method-assign]

    @property
    def refusals(self) -> Sequence[Any]:
        """The ``Refusals`` that count the malformed rows of the sorted source."""
        return self._source.refusals

    def read(self, position: Any = None) -> Iterator[tuple[Any, Chunk | _Mark]]:
        """Yield the one chunk, and as its position ``(WHOLE, position)`` with the last one of the sorted source.

        Behind that, yield what has come to the source since.
        """
        parts, end = list[Any](), None if position is None else position[1]
        if position is not None and self._source.is_untouched(end):
            return
        for after, each in self._source.read(end):
            end = after
            if isinstance(each, Mapping):
                parts.append(each)
        if not parts:
            return
        names = parts[0].keys()
        order = np.arange(sum(len(part["src"]) for part in parts))
        if "time" in names:
            order = np.argsort(in_order([part["time"] for part in parts], order), kind="stable")
        yield (WHOLE, end), {name: in_order([part[name] for part in parts], order) for name in names}


class Several(Source):
    """Base class of sources that combine several sources: ``st.chain`` and ``st.merge``."""

    def __init__(self, *sources: Any) -> None:
        self._sources = [as_source(each) for each in sources]
        self.time_unit = common_unit(self._sources)
        self.resumes = all(source.resumes for source in self._sources)
        self.reads_ahead = bool(self._sources) and all(source.reads_ahead for source in self._sources)

    def want(self, attributes: Sequence[str], **wanted: Any) -> None:
        """Call :meth:`Source.want` of all its sources, so that the first row of the first one counts for all."""
        super().want(attributes, **wanted)
        for source in self._sources:
            source.want(attributes, **wanted)

    @property
    def refusals(self) -> Sequence[Any]:
        """The ``Refusals`` that count the malformed rows, those of all sources in order."""
        return [each for source in self._sources for each in source.refusals]

    def reads(self, path: Path) -> bool:
        """Return whether one of its sources reads the file ``path``, or would if it were there."""
        return any(source.reads(path) for source in self._sources)

    def describe(self) -> str:
        """Return the name of the class with the descriptions of the sources it is made of."""
        return f"{type(self).__name__}({', '.join(source.describe() for source in self._sources)})"


class Chain(Several):
    """Sources read one after the other; the watermark of a window is not reset between them."""

    def read(self, position: Any = None) -> Iterator[tuple[Any, Chunk | _Mark]]:
        """Yield the chunks of each source in turn; a position has the positions of those that were begun."""
        ends = [None] if position is None else [*position]
        for at, source in enumerate(self._sources):
            ends += [None] * (at == len(ends))
            if at < len(ends) - 1 and source.is_untouched(ends[at]):
                continue
            for after, chunk in source.read(ends[at]):
                ends[at] = after
                yield tuple(ends), chunk

    def is_untouched(self, position: Any) -> bool:
        """Return whether all its sources say so."""
        ends = position or ()
        return len(ends) == len(self._sources) and all(map(_is_untouched, self._sources, ends))


class Merge(Several):
    """Two sources merged by time; of events with equal times, those of the first source come first."""

    def __init__(self, first: Any, second: Any) -> None:
        super().__init__(first, second)

    def read(self, position: Any = None) -> Iterator[tuple[Any, Chunk | _Mark]]:
        """Yield merged chunks; a position has a triple per source.

        That is the position where the current chunk of the source begins, and how many of its events were merged so
        far, with their checksums.
        """
        begin: Any = position or ((None, 0, {}), (None, 0, {}))
        heads = [_Head(source, at) for source, at in zip(self._sources, begin, strict=True)]
        while all(head.fill() for head in heads):
            first, second = heads
            if first.has_unit != second.has_unit:
                raise ParameterError("merge: the times of one source have a unit, those of the other have none")
            a, b = first.ticks, second.ticks
            order = np.empty(len(a) + len(b), np.int64)
            used_a, used_b = merge_heads(a, b, order)
            chunk = _interleaved(first.rest, second.rest, order[: used_a + used_b], len(a))
            first.use(used_a)
            second.use(used_b)
            yield tuple(head.position for head in heads), chunk
        for head in heads:
            while head.fill():
                rest = head.rest
                head.use(len(head.ticks))
                yield tuple(each.position for each in heads), rest

    def is_untouched(self, position: Any) -> bool:
        """Return whether both sources say so, and all their events were merged."""
        ends = position or ()
        return bool(ends) and all(
            not used and source.is_untouched(end) for source, (end, used, _) in zip(self._sources, ends, strict=True)
        )


@kernel
def merge_heads(a, b, order):
    """Merge the sorted times ``a`` and ``b`` until one of them is used up; return how many of each were used.

    ``order`` (int64) gets the merged order: index i for ``a[i]``, and ``len(a) + j`` for ``b[j]``.
    """
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            order[i + j] = i
            i += 1
        else:
            order[i + j] = len(a) + j
            j += 1
    return i, j


class _Head:
    """A source that is being merged: its current chunk, without the events that were merged already.

    ``at`` is the position in the source where the chunk begins, the number of its events that were merged, and their
    checksums.
    """

    def __init__(self, source: Source, at: tuple[Any, int, Sums]) -> None:
        self._source, (self._begin, self._used, self._sums) = source, at
        self._chunks = source.read(self._begin)
        self._after, self.ticks, self.has_unit = self._begin, np.empty(0, np.int64), False
        self.rest: dict[str, Any] = {}
        self._skip, self._skipped, self._expected = self._used, Sums(), self._sums
        self._held: list[list[Any]] = []  # malformed lines of the chunk, by refusals of the source

    @property
    def position(self) -> tuple[Any, int, Sums]:
        return self._begin, self._used, self._sums

    def fill(self) -> bool:
        """Read the next chunk if the current one is used up; return False at the end of the source."""
        while len(self.ticks) == 0:
            found = next(self._chunks, None)
            if found is None:
                if self._skip:
                    raise self._changed(self._begin)
                return False
            self._begin = self._after
            self._after, chunk = found
            if isinstance(chunk, _Mark):
                raise ParameterError("merge: sources of steps cannot be merged")
            ticks, self.has_unit = ticks_of(chunk["time"], self._source.time_unit)
            self.rest, self.ticks, self._used, self._sums = dict(chunk), ticks, 0, Sums()
            if self._skip:
                self._leave_out(min(self._skip, len(ticks)))
            if len(self.ticks):  # its malformed lines count when it has been used, as on going on it comes again
                self._held = [each.held for each in self._source.refusals]
                for each in self._source.refusals:
                    each.held = []
        return True

    def _leave_out(self, count: int) -> None:
        """Remove the first ``count`` events from a new chunk: they were merged before the source was read again.

        Raises:
            ParameterError: they are not the events that were merged.
        """
        merged = {name: part_of(column, 0, count) for name, column in self.rest.items()}
        self._skipped, self._skip = sums_of(merged, self._skipped), self._skip - count
        if self._source.checked and not self._skip and self._skipped != self._expected:
            raise self._changed(self._after)
        self._remove(count)

    def _changed(self, position: Any) -> ParameterError:
        return ParameterError(f"checkpoint: {self._source.place(position)} has other rows than those merged so far")

    def _remove(self, count: int) -> None:
        if self._source.checked:
            self._sums = sums_of({name: part_of(column, 0, count) for name, column in self.rest.items()}, self._sums)
        self.rest = {name: part_of(column, count) for name, column in self.rest.items()}
        self.ticks, self._used = self.ticks[count:], self._used + count

    def use(self, count: int) -> None:
        """Remove the first ``count`` events from the chunk: they were merged."""
        self._remove(count)
        if len(self.ticks) == 0:
            self._begin, self._used, self._sums = self._after, 0, Sums()
            for each, lines in zip(self._source.refusals, self._held, strict=True):
                each.held += lines
            self._held = [[] for _ in self._held]


def _is_untouched(source: Source, position: Any) -> bool:
    return source.is_untouched(position)


def _interleaved(first: Any, second: Any, order: np.ndarray, boundary: int) -> Chunk:
    names = first.keys() | second.keys()
    if first.keys() != second.keys():
        raise ParameterError(
            f"merge: only one of the sources has columns for {', '.join(first.keys() ^ second.keys())}"
        )
    return {name: in_order((part_of(first[name], 0, boundary), second[name]), order) for name in names}


# -- chunks ------------------------------------------------------------------------------------------------------------


def as_source(value: Any, columns: Mapping[str, str] | None = None, time_unit: str | None = None) -> Source:
    """Return ``value`` if it is a source, else ``Chunks(value, columns, time_unit)``, which makes chunks a source.

    Raises:
        ParameterError: ``value`` is a source, and ``columns`` is given or ``time_unit`` differs from its own.
    """
    if isinstance(value, Source) and (columns is not None or time_unit not in (None, value.time_unit)):
        reason = "columns and time_unit are for chunks; this source takes them itself"
        raise ParameterError(f"{reason}: st.scan(..., time_unit='s'), st.source(fn, columns, 's')")
    return value if isinstance(value, Source) else Chunks(value, columns, time_unit)


def common_unit(sources: Iterable[Source]) -> str | None:
    """Return the ``time_unit`` of all ``sources``; raises ``ParameterError`` if they differ."""
    units = {source.time_unit for source in sources}
    if len(units) > 1:
        raise ParameterError(f"the sources have times of different units: {', '.join(map(str, units))}")
    return units.pop() if units else None


def checked_columns(columns: Mapping[str, str] | None) -> Mapping[str, str]:
    """Return ``columns``, the names of columns by role ({} for None); raises ``ParameterError`` for an unknown role."""
    if columns is None:
        return {}
    if not isinstance(columns, Mapping) or not set(columns) <= set(COLUMNS):
        raise ParameterError(f"columns must map {', '.join(COLUMNS)} to names, got {shown(columns)}")
    return columns


def columns_of(chunk: Any, columns: Mapping[str, str], attributes: Sequence[str] = ()) -> Chunk:
    """Return the columns of a chunk that have a role in :data:`COLUMNS`, and the ``attributes``, as arrays by role.

    ``columns`` gives the names, by role, of columns that are not named like their role; the ends of edges may have
    another usual name (``intake.tables.ENDS``). On a CUDA device they stay there. A single value is a column with one
    row.

    Raises:
        ParameterError: ``chunk`` is not a table; ``src``, ``dst``, a column that is named in ``columns``, or one of the
            ``attributes`` is missing.
        ShapeError: columns differ in length.
    """
    chunk = as_table(chunk)
    names = column_names(chunk)
    if names is None:
        raise ParameterError(f"a chunk must be a dict of arrays, a frame or an Arrow table, got {shown(chunk)}")
    found: dict[str, Any] = {}
    for role in (*COLUMNS, *attributes):
        name = columns.get(role, role)
        if role in ENDS and name not in names and role not in columns:
            name = end_of(role, names) or role
        if name in names:
            found[role] = _column(chunk[name], role)
        elif role in ("src", "dst") or role in columns or role in attributes:
            raise ParameterError(f"a chunk has no column {name!r}; it has {', '.join(sorted(map(str, names)))}")
    found = {role: np.atleast_1d(column) if np.ndim(column) == 0 else column for role, column in found.items()}
    flat = next((role for role, column in found.items() if column.ndim != 1), None)
    if flat is not None:
        raise ShapeError(f"the column {flat} of a chunk has shape {found[flat].shape}: a chunk has one entry per row")
    if len(set(map(len, found.values()))) > 1:
        lengths = {role: len(column) for role, column in found.items()}
        raise ShapeError(f"the columns of a chunk differ in length: {lengths}")
    return found


def _column(values: Any, role: str) -> Any:
    """Return the column of ``role`` ("src", ...) as an array; on a CUDA device only sources and destinations stay.

    A list with texts, unless of times, becomes an array of objects, so that its other values do not become texts, and
    so does a column of integers or decimals with nulls, so that they do not become floats.
    """
    if type(values) is np.ndarray:
        return values
    if not is_cuda_array(values):
        values = with_nulls(values)
        is_list = isinstance(values, list | tuple)
        try:  # lists of other roles may have bools beside None
            array = np.asarray(values) if is_list and role not in ("src", "dst") else as_array(values, role)
        except (ValueError, ShapeError):
            raise ShapeError(f"the column {role} of a chunk is ragged: a chunk has one entry per row") from None
        return np.array(values, object) if is_list and array.dtype.kind in "US" and role != "time" else array
    return as_array(values, role) if role in ("src", "dst") else on_host(as_array(values, role))
