"""The table of edges: columns by row. The store keeps as the weight of an edge the number of its row in the table.

The weight that users see is the column :data:`WEIGHT`, read through the row; without this column there are no weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar
from weakref import ref

import numpy as np

from suricate.base.devices import CPU, Array, Device
from suricate.base.errors import (
    CapacityError,
    DTypeError,
    ParameterError,
    UnknownNameError,
    WeightError,
    require,
)
from suricate.base.parameters import shown
from suricate.base.protocols import DeltaLike
from suricate.base.types import WEIGHT_DTYPES, EdgeList
from suricate.intake.arrays import as_weights, bits, checked_weights, on_host
from suricate.state.column import TEXT, Column, as_values, fitted, unlimited

GivenDelta = TypeVar("GivenDelta")
ROW = np.dtype(np.uint32)  #: of row numbers, the weights of the stores
MOST = 1 << 32  #: rows
WEIGHT = "weight"  #: the column with the weights
CONVERTED = tuple(map(np.dtype, ("int8", "int16", "int64", "uint8", "uint16", "uint64")))  #: weights read as float64
_LEAST = 1 << 10  # rows allocated at first
_UNREAD = 1 << 16  # rows whose deltas may wait to be read, at least


class Kind(NamedTuple):
    """The dtype of a column of edges, and ``missing``: the value of edges to which none was given."""

    dtype: np.dtype
    missing: Any


class EdgeTable:
    """Columns of edges by row, and which rows are free; ``kinds`` has the dtype and missing value of each column.

    The delta of an update tells which rows no edge uses any more, but reading it waits for the device. So deltas are
    collected, and read when there are many or when rows run out.
    """

    def __init__(self, device: Device, kinds: Mapping[str, Kind]) -> None:
        self.device, self.kinds = device, dict(kinds)
        self.columns = {name: Column(device, _LEAST, *kind) for name, kind in kinds.items()}
        self._tail = 0  # rows from the tail on were never used
        self._free = np.empty(0, ROW)
        self._unread: list[tuple[np.ndarray, DeltaLike]] = []
        self._given: list[ref[Any]] = []  # deltas that were given out
        self._waiting = 0  # rows of the unread
        self._batch = self._free  # rows of the change under way
        self.admit: Callable[[int], None] = unlimited  #: raises ``CapacityError`` if so many bytes are too many
        self.is_lost = False  #: whether a change is under way, or an interrupt has left open which rows edges have

    @property
    def nbytes(self) -> int:
        """Bytes of all columns; for texts the bytes of the references, not of the texts."""
        return sum(column.nbytes for column in self.columns.values())

    @property
    def capacity(self) -> int:
        """Rows that exist, used or not."""
        return min(column.size for column in self.columns.values())

    # -- rows ----------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start a change, which :meth:`follow` or :meth:`undo` ends; an interrupt between leaves :attr:`is_lost`."""
        self._batch, self.is_lost = self._free[:0], True

    def take(self, count: int) -> np.ndarray:
        """Return free rows for the edges of a batch, ``uint32[count]``; raise ``CapacityError`` if there are none."""
        if self._waiting > max(_UNREAD, self._tail // 2) or self._tail + count - len(self._free) > self.capacity:
            self.read_deltas()
        self._batch = self._taken(count)
        return self._batch

    def _taken(self, count: int) -> np.ndarray:
        reused = min(count, len(self._free))
        tail = self._tail + count - reused
        if tail > self.capacity:
            self._reserve(tail)
        kept = len(self._free) - reused
        rows = np.concatenate((self._free[kept:], np.arange(self._tail, tail, dtype=ROW)))
        self._free, self._tail = self._free[:kept], tail
        return rows

    def _reserve(self, size: int) -> None:
        if size > MOST:
            raise CapacityError(f"{size} rows of edges are too many: there are {MOST}")
        for column in self.columns.values():  # all of them before one grows
            column.reserve(size, self.admit)
        capacity = min(MOST, *(column.capacity for column in self.columns.values()))
        for column in self.columns.values():
            column.resize(capacity)

    def give(self, rows: np.ndarray) -> None:
        """Make ``rows``, which no edge uses, free."""
        self._free = np.concatenate((self._free, rows))

    def undo(self, error: BaseException) -> None:
        """End a change that failed with ``error``; its rows are free again.

        After an interrupt it is unknown which rows edges use: ``is_lost`` stays True until :meth:`recover` is called.
        """
        if isinstance(error, Exception):  # else the batch may have been launched
            self._free, self._batch, self.is_lost = np.concatenate((self._free, self._batch)), self._batch[:0], False

    def follow(self, delta: DeltaLike) -> None:
        """End a change that has succeeded; keep ``delta``, its delta, for :meth:`read_deltas`."""
        self._unread.append((self._batch, delta))
        self._waiting += max(len(self._batch), 1)
        self._batch, self.is_lost = self._free[:0], False

    def read_deltas(self) -> None:
        """Free the rows of the collected deltas; waits for the device. If it fails, nothing has changed."""
        left = [self._free]
        for rows, delta in self._unread:
            left.append(self._left_by(rows, delta._read()))
        self._read_given()
        self._free, self._unread, self._waiting = np.concatenate(left), [], 0

    def show(self, delta: GivenDelta) -> GivenDelta:
        """Return ``delta``, which is given out, and see that it reads its weights before their rows are used again."""
        self._given.append(ref(delta))
        return delta

    def _read_given(self) -> None:
        for given in self._given:
            if (delta := given()) is not None:
                delta._read()
        self._given = []

    def _left_by(self, rows: np.ndarray, delta: DeltaLike) -> np.ndarray:
        """Return the rows that no edge uses after a change; ``rows`` are those that its batch got."""
        used = [on_host(delta.inserted.weight), on_host(delta.replaced.weight)]
        left = [on_host(delta.deleted.weight), on_host(delta.replaced_old)]
        if sum(map(len, used)) < len(rows):  # duplicates in a batch, say
            left.append(np.setdiff1d(rows, np.concatenate(used)))
        return np.concatenate(left)

    def recover(self, rows: np.ndarray) -> None:
        """Recompute after an interrupt which rows are free; ``rows`` are the rows of all edges in the store."""
        for _, delta in self._unread:
            delta._read()
        self._read_given()
        self._free = np.setdiff1d(np.arange(self._tail, dtype=ROW), rows)
        self._unread, self._waiting, self.is_lost = [], 0, False

    def move(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Copy values so that the first ``len(rows)`` rows have those of ``rows``, which are all that edges have.

        Returns:
            The rows whose edges have to move, ascending, and where to, ``uint32[k]`` each.
        """
        old = rows[rows >= len(rows)]
        new = np.setdiff1d(np.arange(len(rows), dtype=ROW), rows)
        for name, column in self.columns.items():
            column.write(new, self.values(name, old))
        return old, new

    def cut(self, count: int) -> None:
        """Free the memory of all but the first ``count`` rows, which are those of the edges."""
        self._free, self._tail = self._free[:0], count
        for column in self.columns.values():
            column.resize(max(count, _LEAST))
        for column in self.columns.values():
            column.compact()

    # -- values --------------------------------------------------------------------------------------------------------

    def column(self, name: Any) -> Column:
        """Return the column ``name``; raises ``UnknownNameError`` if there is none of this name."""
        if not isinstance(name, str) or name not in self.columns:
            known = ", ".join(self.columns) or "none"
            raise UnknownNameError(f"the edges have no column {shown(name)}; they have: {known}")
        return self.columns[name]

    def array(self, name: str) -> Array:
        """Return the array, not a copy, of a column by row; ``UnknownNameError``, or ``ShapeError`` if too short."""
        return self.column(name).demanded(name, self._tail)

    def checked(self, given: Any, count: int) -> dict[str, Array]:
        """Return {column: values} for a batch of ``count`` edges, in the columns' dtypes.

        Values are an array of ``count`` entries, or a 0-d array if there is one value for all edges.

        Args:
            given: a mapping from names of columns to values; None: no values; anything else: values of the column
                ``weight``.
            count: number of edges.

        Raises:
            UnknownNameError, ShapeError, DTypeError: the values do not fit.
            WeightError: a weight is not finite, or none was given and that is what is missing.
        """
        given = {} if given is None else given if isinstance(given, Mapping) else {WEIGHT: given}
        found = {}
        for name, values in given.items():
            array, dtype = as_values(values, name, count, "edges"), self.column(name).dtype
            found[name] = _weights(array, dtype) if name == WEIGHT else fitted(array, dtype, name)
        if WEIGHT in self.columns and WEIGHT not in found and count and not np.isfinite(self.columns[WEIGHT].missing):
            raise WeightError("weight is missing: pass one per edge, or a single number")
        return found

    def write(self, rows: np.ndarray, values: Mapping[str, Array]) -> None:
        """Set the values of ``rows`` to ``values``, by column; columns not in ``values`` get their missing value."""
        for name, column in self.columns.items():
            column.write(rows, values.get(name, np.asarray(column.missing, column.dtype)))

    def values(self, name: str, rows: Array) -> Array:
        """Return the values of column ``name`` in ``rows``; texts are on the host, other values on the device."""
        column = self.column(name)
        rows = on_host(rows) if column.dtype == TEXT else self.device.xp.asarray(rows)
        return column.array[rows.astype(np.int64)]

    @property
    def weights(self) -> Array | None:
        """The values of the column :data:`WEIGHT` by row, not a copy; None: there are no weights."""
        return self.columns[WEIGHT].array if WEIGHT in self.columns else None

    def differs(self, rows: Array, others: Array) -> Array:
        """Return at which of ``rows`` any column has another value than at the one of ``others`` at the same place."""
        found = self.device.xp.zeros(len(rows), bool)
        for name, column in self.columns.items():
            one, other = self.values(name, rows), self.values(name, others)
            found |= self.device.xp.asarray(one != other if column.dtype == TEXT else bits(one) != bits(other))
        return found

    # -- copies --------------------------------------------------------------------------------------------------------

    def copy_to(self, other: EdgeTable) -> None:
        """Make ``other``, the table of another graph on any device, a copy of this one; waits for the device."""
        self.read_deltas()
        other.columns = {name: column.copy_to(other.device) for name, column in self.columns.items()}
        other._tail, other._free = self._tail, self._free.copy()

    def compared(self, rows: np.ndarray) -> np.ndarray:
        """Return ``rows`` itself: the numbers that ``Graph.check`` compares as weights of edges."""
        return rows

    def check(self, rows: np.ndarray) -> None:
        """Verify that each edge has its own row, which is not free; ``rows`` are those of all edges, once each."""
        self.read_deltas()
        known = np.concatenate((rows, self._free))
        require(len(np.unique(known)) == len(known), "each edge has a row of its own, which is not free")
        require(len(known) == self._tail, "rows without edges are free")
        require(not len(known) or int(known.max()) < self._tail, "rows of edges exist")
        require(self._tail <= self.capacity, "a column has a value per row")


def _weights(values: Array, dtype: np.dtype) -> Array:
    """Return ``values``, one per edge or a 0-d array, as weights in a column of ``dtype``; raises ``WeightError``."""
    if dtype not in WEIGHT_DTYPES or not values.size:
        return fitted(values, dtype, WEIGHT)
    given: Any = as_weights(values, dtype)
    if not given.ndim:
        return np.asarray(given)
    on_device = not isinstance(given, np.ndarray) and given.dtype == dtype  # it stays there
    if on_device and (dtype.kind != "f" or bool(np.isfinite(given).all())):
        return given
    return checked_weights(on_host(given), dtype)


def weights_at(values: Array | None, rows: Array) -> Array | None:
    """Return the weights at ``rows`` of ``values``, by row; any weight for rows beyond the table (edges not stored)."""
    if values is None:
        return None
    at = np.minimum(rows, np.uint32(len(values) - 1))  # of CuPy, too
    return bits(values)[at].view(values.dtype).astype(read_as(values.dtype), copy=False)


def weighed(values: Array | None, edges: EdgeList) -> EdgeList:
    """Return ``edges``, which have rows as weights, with weights, and the rows as ``row``; see :func:`weights_at`."""
    rows = edges.weight
    assert rows is not None
    return EdgeList(edges.src, edges.dst, weights_at(values, rows)).in_rows(rows)


def read_as(dtype: np.dtype, name: str = WEIGHT) -> np.dtype:
    """Return the dtype that the values of the column ``name``, of ``dtype``, have as weights."""
    if dtype not in WEIGHT_DTYPES and dtype not in CONVERTED:
        held = "texts" if dtype == TEXT else f"dtype {dtype}"
        raise DTypeError(f"weight={name!r}: the column has {held}, no weights")
    return dtype if dtype in WEIGHT_DTYPES else np.dtype(np.float64)


def weighed_kinds(weight_dtype: np.dtype | None, kinds: dict[str, Kind]) -> tuple[np.dtype | None, dict[str, Kind]]:
    """Return the dtype of weights and the columns of a graph for which these were given; a column has the weights.

    Raises:
        ParameterError: ``weight_dtype`` is another one than that of the column :data:`WEIGHT`.
        DTypeError: this column cannot be weights.
    """
    if not kinds or (weight_dtype is None and WEIGHT not in kinds):
        return weight_dtype, kinds
    if WEIGHT not in kinds:
        assert weight_dtype is not None
        return weight_dtype, {WEIGHT: Kind(weight_dtype, weight_dtype.type(0)), **kinds}
    held = kinds[WEIGHT].dtype
    if held not in WEIGHT_DTYPES and held not in CONVERTED:
        kind = "texts" if held == TEXT else f"of dtype {held}"
        raise DTypeError(f"a column of edges called 'weight' is the weights: it cannot be {kind}, give it another name")
    dtype = read_as(held)
    if weight_dtype is not None and weight_dtype not in (dtype, held):
        raise ParameterError(
            f"weight_dtype={weight_dtype.name!r} and a column of edges called 'weight' of dtype {held}: this column is "
            "the weights, leave one of the two out"
        )
    return dtype, kinds


def checked_kinds(given: Any, argument: str = "edge_columns") -> dict[str, Kind]:
    """Return the dtype and missing value of each column: ``argument``, dtypes by name or ``(dtype, missing)``."""
    if not isinstance(given, Mapping):
        raise ParameterError(f"{argument} must be a dict such as {{'amount': 'float64'}}, got {shown(given)}")
    kinds = {}
    for name, kind in given.items():
        if not isinstance(name, str) or not name:
            raise ParameterError(f"the name of a column is a text, got {shown(name)}")
        if isinstance(kind, Kind):
            kinds[name] = kind
            continue
        named, missing = kind if isinstance(kind, tuple) and len(kind) == 2 else (kind, None)
        dtype = dtype_named(named)
        kinds[name] = Kind(dtype, Column(CPU, 0, dtype, missing).missing)
    return kinds


def dtype_named(dtype: Any) -> np.dtype:
    """Return the NumPy dtype that a user named: ``str`` means :data:`TEXT`."""
    if dtype is str:
        return TEXT
    try:
        if dtype is None:  # which NumPy takes for float64
            raise TypeError
        return np.dtype(dtype)
    except TypeError:
        raise ParameterError(f"dtype must be a dtype of NumPy, or str, got {shown(dtype)}") from None
