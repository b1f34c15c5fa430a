"""Sources of events: chunks of arrays or frames, and functions that yield chunks from a position on.

A source yields chunks of columns in the order of arrival, each with the position behind it, from which reading can be
continued.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any, cast

import numpy as np

from suricate.base.errors import ParameterError, RequirementError, ShapeError
from suricate.base.parameters import integer, shown
from suricate.intake.arrays import as_array, is_cuda_array, on_host
from suricate.intake.tables import ENDS, as_table, column_names, end_of, with_nulls
from suricate.io.options import FirstRow, check_columns
from suricate.io.sources.chunk_columns import as_array as column_array
from suricate.io.sources.chunk_columns import in_order
from suricate.io.sources.identity import ChangedError, rows_behind
from suricate.io.sources.refusals import Refusals
from suricate.io.sources.rows import MAX_ROWS, MAX_WAIT, NOTHING, Rows, joined, of_list
from suricate.io.sources.silence import Silence
from suricate.io.sources.times import demand_unit, duration

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
    """Base class of sources of events; ``opening.source`` explains the arguments.

    Example:
        >>> class Ticks(st.Source):
        ...     def read(self, position=None):
        ...         for at in range(position or 0, 2):
        ...             yield at + 1, {"time": [at], "src": [at], "dst": [at + 1]}
        >>> [(w.end, w.events) for w in st.Window(Ticks(), size="1", slide="1", graph={"device": "cpu"})]
        [(1, 1), (2, 1)]
    """

    time_unit: str | None = None  #: of times that are numbers, ``"s"`` for instance; None if it is not known
    resumes = False  #: whether :meth:`read` can start at a position
    live = True  #: whether somebody may wait for its next event: it is neither files nor tables
    endless = False  #: whether it is known to wait for further events when all were read
    prefetch = 0  #: about how many slides a thread reads before they are needed
    on_error: Any = "raise"
    columns: Mapping[str, Any] = {}
    attributes: Sequence[str] = ()  #: further columns that chunks must have
    names = False  #: whether sources and destinations are names, so that ``007`` is not ``7``
    first: FirstRow | None = None  #: what the first row says about all chunks; None: what that of this source says

    silence: Silence | None = None  #: of the job, which says when one of several sources is not waited for
    checked = False  #: whether positions are saved, and so tied to what was read before them
    open_ended = False  #: whether files may grow: a last line without its end waits

    def __init__(
        self,
        columns: Mapping[str, Any] | None = None,
        time_unit: str | None = None,
        prefetch: int | None = None,
        on_error: Any = "raise",
        max_wait: Any = None,
        max_rows: int | None = None,
    ) -> None:
        self.max_wait = MAX_WAIT if max_wait is None else duration(max_wait, "max_wait", has_unit=True) / 1e9
        self.max_rows = MAX_ROWS if max_rows is None else integer("max_rows", max_rows, low=1)
        self.columns, self.time_unit, self.on_error = checked_columns(columns), demand_unit(time_unit), on_error
        if prefetch is not None:
            self.prefetch = integer("prefetch", prefetch, low=0)
        _ = self.refusals  # checks on_error

    @cached_property
    def refusals(self) -> Sequence[Refusals]:
        """Say what happens to refused rows: first those that a window refuses, then those of each source in this one.

        A job counts in copies of these; here ``held`` collects malformed rows.
        """
        return (Refusals("on_error", self.on_error, "skip"),)

    def demand_used(self, attributes: Iterable[str]) -> None:
        """Raise ``ParameterError`` if ``columns`` has a name that is neither a role nor one of ``attributes``.

        Example:
            >>> source = st.source({"src": [0], "dst": [1], "eur": [9.5]}, columns={"amount": "eur"})
            >>> source.demand_used(["amount"])
            >>> source.columns
            {'amount': 'eur'}
        """
        unused = [role for role in self.columns if role not in {*COLUMNS, *attributes}]
        if unused:
            reason = f"one of {', '.join(COLUMNS)} nor an attribute of the window with a rule"
            raise ParameterError(f"columns: {unused[0]!r} is neither {reason}, as attributes={{{unused[0]!r}: 'last'}}")

    def want(
        self,
        attributes: Sequence[str],
        *,
        names: bool,
        first: FirstRow,
        checked: bool = False,
        open_ended: bool = False,
        silence: Silence | None = None,
    ) -> None:
        """Have :meth:`read` include the columns ``attributes`` in its chunks; see the attributes of this class.

        Example:
            >>> source = st.source({"src": [0], "dst": [1], "eur": [9.5]}, columns={"amount": "eur"})
            >>> source.want(["amount"], names=False, first=0)
            >>> source.attributes
            ['amount']
        """
        self.attributes, self.names, self.first = attributes, names, first
        self.checked, self.open_ended, self.silence = checked, open_ended, silence

    def read(self, position: Any = None) -> Iterator[tuple[Any, Chunk | _Mark]]:
        """Yield ``(position behind the chunk, chunk)``; ``MARK`` in place of a chunk ends a step.

        Reading begins at ``position``, one yielded before; None is the start.

        Example:
            >>> source = st.source({"time": [1, 2], "src": [0, 1], "dst": [1, 2]})
            >>> [sorted(chunk) for _, chunk in source.read()]
            [['dst', 'src', 'time']]
        """
        raise NotImplementedError

    def columns_of(self, chunk: Any) -> Chunk:
        """Return the columns of a chunk by role, see :func:`columns_of`.

        Example:
            >>> source = st.source({"payer": [0], "payee": [1]}, columns={"src": "payer", "dst": "payee"})
            >>> sorted(source.columns_of({"payer": [2], "payee": [3]}))
            ['dst', 'src']
        """
        return cast("Chunk", columns_of(chunk, self.columns, self.attributes))

    def reads(self, path: Path) -> bool:
        """Return whether this source reads the file ``path``, or would if it were there.

        Example:
            >>> from pathlib import Path
            >>> st.source({"src": [0], "dst": [1]}).reads(Path("payments.csv"))
            False
        """
        return False

    def is_untouched(self, position: Any) -> bool:
        """Return whether it is known without reading that there is nothing behind ``position``, where reading ended.

        Example:
            >>> st.source({"src": [0], "dst": [1]}).is_untouched(None)
            False
        """
        return True

    def place(self, position: Any) -> str:
        """Return what ``position`` is in, for messages: the name of a file, for instance.

        Example:
            >>> st.source({"src": [0], "dst": [1]}).place(None)
            'the source'
        """
        return "the source"

    def _by_time(self) -> Source:
        """Return a source of its events, sorted by time."""
        return Sorted(self)

    def describe(self) -> str:
        """Return a text by which a checkpoint can tell whether it was made with this source.

        Example:
            >>> st.chain({"src": [0], "dst": [1]}, {"src": [1], "dst": [2]}).describe()
            'Chain(Chunks, Chunks)'
        """
        return type(self).__name__


class Function(Source):
    """A source whose chunks come from a function: ``fn(position)`` yields (position behind the chunk, chunk)."""

    resumes = True

    def __init__(self, fn: Callable[[Any], Iterable[tuple[Any, Any]]], **options: Any) -> None:
        super().__init__(**options)
        self._fn = fn

    def read(self, position: Any = None) -> Iterator[tuple[Any, Chunk | _Mark]]:
        """Yield the positions and chunks of the function; chunks become dicts of arrays by role."""
        found = self._fn(position)
        for after, chunk in joined(position, found, Rows(self.columns), self.max_wait, self.max_rows):
            yield after, self.columns_of(chunk)


class Chunks(Source):
    """A source made of chunks: dicts of arrays, frames, Arrow tables, or ``MARK``; read again if they are a list."""

    def __init__(self, chunks: Iterable[Any], **options: Any) -> None:
        super().__init__(**options)
        self._chunks, self.resumes = chunks, isinstance(chunks, list | tuple)
        self.live = not self.resumes

    def read(self, position: Any = None) -> Iterator[tuple[Any, Chunk | _Mark]]:
        """Yield the chunks as dicts of arrays by role; see ``identity.rows_behind`` for positions.

        Raises:
            RequirementError: the chunks are no list, and there is a ``position``.
            ParameterError: the rows before ``position`` are not those that were read.
        """
        if position is not None and not self.resumes:
            reason = "st.source takes a function of a position"
            raise RequirementError(f"this source cannot go on behind {position[0]} events: {reason}")
        chunks = map(columns_of, self._joined(), itertools.repeat(self.columns), itertools.repeat(self.attributes))
        try:
            yield from rows_behind(chunks, position, checked=self.checked and self.resumes)
        except ChangedError as error:
            raise ParameterError(f"checkpoint: the list of chunks {error}: give it again") from None

    def _joined(self) -> Iterator[Any]:
        rows = Rows(self.columns)
        if self.resumes:
            return of_list(self._chunks, rows, self.max_rows)
        items = _numbered(self._chunks) if hasattr(self._chunks, "__aiter__") else zip(itertools.count(), self._chunks)
        return map(itemgetter(1), joined(None, items, rows, self.max_wait, self.max_rows))

    def is_untouched(self, position: Any) -> bool:
        """Return False: whether it is the same list shows when it is read."""
        return False


async def _numbered(items: Any) -> AsyncIterator[tuple[int, Any]]:
    number = 0
    async for item in items:
        yield number, item
        number += 1


class Sorted(Source):
    """The events of a finite source as one chunk, sorted by time; events of equal time keep their order."""

    live = False

    def __init__(self, source: Source) -> None:
        self._source, self.time_unit, self.resumes = source, source.time_unit, source.resumes
        self.want, self.reads, self.place = source.want, source.reads, source.place  # type: ignore[method-assign]
        self.demand_used, self.on_error = source.demand_used, source.on_error  # type: ignore[method-assign]
        self.refusals = source.refusals

    def read(self, position: Any = None) -> Iterator[tuple[Any, Chunk | _Mark]]:
        """Yield the one chunk, and as its position ``(WHOLE, position)`` with the last one of the sorted source.

        Behind that, yield what has come to the source since.

        Raises:
            RequirementError: events have no times, or the source marks steps.
        """
        parts, end = list[Any](), None if position is None else position[1]
        if position is not None and self._source.is_untouched(end):
            return
        for after, each in self._source.read(end):
            if isinstance(each, _Mark) or (len(each["src"]) and "time" not in each):
                raise RequirementError("order='time' needs events with times, not a source of steps")
            end = after
            parts += [each] if len(each["src"]) else []
        if not parts:
            return
        order = np.argsort(np.concatenate([column_array(part["time"]) for part in parts]), kind="stable")
        yield (WHOLE, end), {name: in_order([part[name] for part in parts], order) for name in parts[0]}

    def describe(self) -> str:
        """Return the description of the source, and that it is sorted."""
        return f"Sorted({self._source.describe()})"


# -- chunks ------------------------------------------------------------------------------------------------------------


def checked_columns(columns: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return ``columns``, names or positions of columns by role or attribute; ``ParameterError`` for anything else."""
    check_columns(columns)
    odd = [role for role in columns or {} if not isinstance(role, str) or not role]
    if odd:
        raise ParameterError(f"columns: {shown(odd[0])} is neither one of {', '.join(COLUMNS)} nor an attribute")
    return columns or {}


def columns_of(chunk: Any, columns: Mapping[str, Any], attributes: Sequence[str] = ()) -> Any:
    """Return the columns of a chunk that have a role in :data:`COLUMNS`, and the ``attributes``, as arrays by role.

    ``columns`` gives the names, by role, of columns that are not named like their role; the ends of edges may have
    another usual name (``intake.tables.ENDS``). On a CUDA device they stay there. A single value is a column with one
    row. ``MARK`` and ``NOTHING`` are returned as they are.

    Raises:
        ParameterError: ``chunk`` is not a table; ``src``, ``dst``, a column that is named in ``columns``, or one of the
            ``attributes`` is missing.
        ShapeError: columns differ in length.
    """
    if chunk is MARK or chunk is NOTHING:
        return chunk
    try:
        names = chunk.keys() if type(chunk) is dict else column_names(chunk := as_table(chunk))
    except ValueError:  # a column, which Arrow makes no table of
        names = None
    if names is None:
        raise ParameterError(f"a chunk must be a dict of arrays, a frame or an Arrow table, got {shown(chunk)}")
    found: dict[str, Any] = {}
    for role in (*COLUMNS, *attributes):
        name = columns.get(role, role)
        if role in ENDS and name not in names and role not in columns:
            name = end_of(role, names) or role
        if name in names:
            column = given if type(given := chunk[name]) is np.ndarray else _column(given, role)
            if column.ndim > 1:
                shape = f"{column.shape}: a chunk has one entry per row"
                raise ShapeError(f"the column {role} of a chunk has shape {shape}")
            found[role] = column if column.ndim else np.atleast_1d(column)
        elif role in ("src", "dst") or role in columns or role in attributes:
            raise ParameterError(f"a chunk has no column {name!r}; it has {', '.join(sorted(map(str, names)))}")
    if len(set(map(len, found.values()))) > 1:
        lengths = {role: len(column) for role, column in found.items()}
        raise ShapeError(f"the columns of a chunk differ in length: {lengths}")
    return found


def _column(values: Any, role: str) -> Any:
    """Return the column of ``role`` ("src", ...) as an array; on a CUDA device only sources and destinations stay.

    Lists with texts, unless of times, and columns with nulls become arrays of objects: no value changes its type.
    """
    loaded = sys.modules.get("cupy") if role in ("src", "dst") else None
    if loaded is not None and type(values) is loaded.ndarray:
        return values
    if not is_cuda_array(values):
        if getattr(getattr(values, "dtype", None), "tz", None) is not None:  # of pandas; NumPy would make objects
            values = getattr(values, "dt", values).tz_convert(None)
        values = with_nulls(values)
        is_list = isinstance(values, list | tuple)
        try:  # lists of other roles may have bools beside None
            array = np.asarray(values) if is_list and role not in ("src", "dst") else as_array(values, role)
        except (ValueError, ShapeError):
            raise ShapeError(f"the column {role} of a chunk is ragged: a chunk has one entry per row") from None
        return np.array(values, object) if is_list and array.dtype.kind in "US" and role != "time" else array
    return as_array(values, role) if role in ("src", "dst") else on_host(as_array(values, role))
