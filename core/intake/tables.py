"""Tables that users hand in: dicts of columns, data frames, Arrow tables and batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from suricate.base.errors import MissingLibraryError, ParameterError
from suricate.base.types import EMPTY

DIRECTED = b"suricate.directed"  #: key in the metadata of Arrow's schemas: whether edges have a direction
#: what columns with the ends of edges are called, in lower case
ENDS = {
    "src": ("src", "source", "u", "from", "fromnodeid", "src_id", "source_id"),
    "dst": ("dst", "target", "v", "to", "tonodeid", "dst_id", "target_id", "destination", "dest"),
}
LIBRARIES = {"pandas", "polars", "pyarrow"}  #: whose tables are read as they are


def load_arrow() -> Any:
    """Return the module ``pyarrow``; raises ``MissingLibraryError`` if it is not installed."""
    try:
        import pyarrow
    except ImportError as error:
        raise MissingLibraryError("tables of other libraries need pyarrow: pip install 'suricate[arrow]'") from error
    return pyarrow


def is_lazy(table: Any) -> bool:
    """Return whether ``table`` is a lazy frame of polars."""
    return callable(getattr(table, "collect_schema", None)) and not hasattr(table, "__arrow_c_stream__")


def is_stream(table: Any) -> bool:
    """Return whether ``table`` offers its rows by Arrow's C interface, as those of DuckDB, cuDF and others do."""
    return hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__")


def as_table(table: Any) -> Any:
    """Return a table whose columns are at hand; anything that is none as it is.

    A lazy frame of polars is collected; what offers Arrow's C interface becomes a table of Arrow, unless it is a frame
    of pandas or polars.

    Raises:
        MissingLibraryError: that needs pyarrow.
    """
    if type(table) is dict:
        return table
    if is_lazy(table):
        return table.collect()
    known = LIBRARIES & {kind.__module__.partition(".")[0] for kind in type(table).__mro__}
    return load_arrow().table(table) if is_stream(table) and not (known and column_names(table)) else table


def as_column(values: Any) -> Any:
    """Return values that offer nothing but Arrow's C interface as an array of Arrow, others as they are."""
    if hasattr(values, "__array__") or not is_stream(values):
        return values
    arrow = load_arrow()
    return arrow.chunked_array(values) if hasattr(values, "__arrow_c_stream__") else arrow.array(values)


def column_names(table: Any) -> list[Any] | None:
    """Return the names of the columns of a table, None if ``table`` is not one."""
    if type(table) is dict or isinstance(table, Mapping):  # the latter takes longer
        return list(table)
    names = getattr(table, "column_names", None)  # of Arrow
    names = getattr(table, "columns", None) if names is None else names
    return None if names is None or not hasattr(table, "__getitem__") else list(names)


def end_of(end: str, names: Iterable[Any], first: str | None = None) -> Any:
    """Return which of the columns ``names`` has an end of edges, ``"src"`` or ``"dst"``; None: none has a usual name.

    That is the column called ``first``, else that called ``end``, else the one in :data:`ENDS`.

    Raises:
        ParameterError: two columns could be meant.
    """
    exact = next((name for name in (first, end) if name in names), None)
    if exact is not None:
        return exact
    found = [name for name in names if isinstance(name, str) and name.lower() in ENDS[end]]
    if len(found) > 1:
        raise ParameterError(f"{found[0]!r} and {found[1]!r} could both be the column of {end}: name the one that is")
    return found[0] if found else None


def with_nulls(column: Any) -> Any:
    """Return a column of integers or decimals that has nulls (not as NaN) as Python objects; others as they are."""
    if hasattr(column, "isna") and not isinstance(getattr(column, "dtype", np.dtype(object)), np.dtype):  # of pandas
        return np.where(column.isna(), None, np.array(column, object)) if column.isna().any() else column
    count = getattr(column, "null_count", 0)
    if not (count() if callable(count) else count):
        return column
    kind = str(column.dtype if hasattr(column, "dtype") else column.type).lower()
    if not kind.startswith(("int", "uint", "decimal")):
        return column
    return column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()


def without_nulls(column: Any) -> tuple[Any, np.ndarray]:
    """Return a column without its nulls (None, NA, NaN), and ``bool[n]``: which entries were null."""
    if hasattr(column, "is_null"):  # of Arrow or polars
        gone = np.asarray(column.is_null())
        return (column.drop_null() if hasattr(column, "drop_null") else column.drop_nulls()), gone
    if hasattr(column, "isna"):  # of pandas
        return column.dropna(), np.asarray(column.isna())
    array = np.asarray(column, object if isinstance(column, list | tuple) else None)
    gone = np.zeros(len(array), bool)
    if array.dtype.kind in "Of":
        gone[:] = [is_missing(item) for item in array.tolist()]
    if not gone.any():
        return column, gone
    return [item for item, null in zip(array.tolist(), gone.tolist(), strict=True) if not null], gone


def without_empty(column: np.ndarray) -> np.ndarray:
    """Return a column, masked where it has ``EMPTY`` in place of an id (``uint32``)."""
    is_empty = column == EMPTY if column.dtype == np.uint32 else np.zeros(0, bool)
    return np.ma.masked_where(is_empty, column) if is_empty.any() else column


def is_missing(item: Any) -> bool:
    """Return whether an entry of a column of objects stands for a missing value: None, NA, NaN or NaT."""
    return item is None or type(item).__name__ == "NAType" or item != item


def as_numpy(column: Any) -> Any:
    """Return a column of a data frame or of Arrow as a NumPy array, anything else as it is."""
    if isinstance(column, np.ndarray) or not hasattr(column, "to_numpy"):
        return column
    is_arrow = type(column).__module__.partition(".")[0] == "pyarrow"
    return column.to_numpy(zero_copy_only=False) if is_arrow else column.to_numpy()
