"""Tables that users hand in: dicts of columns, data frames, Arrow tables and batches."""

from __future__ import annotations

import importlib
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


def library(name: str, extra: str) -> Any:
    """Import a library; raises ``MissingLibraryError``, which names the ``extra`` of suricate that installs it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise MissingLibraryError(f"this needs {package}: pip install 'suricate[{extra}]'") from error


def direction_in(metadata: Mapping[bytes, bytes] | None) -> bool | None:
    """Return whether the metadata of a schema of Arrow say that edges have a direction; None if they say nothing."""
    return {b"true": True, b"false": False}.get((metadata or {}).get(DIRECTED, b""))


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
    return (
        library("pyarrow", "arrow").table(table) if is_stream(table) and not (known and column_names(table)) else table
    )


def as_column(values: Any) -> Any:
    """Return values that offer nothing but Arrow's C interface as an array of Arrow, others as they are."""
    if hasattr(values, "__array__") or not is_stream(values):
        return values
    arrow = library("pyarrow", "arrow")
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
        return np.where(column.isna(), np.array(None), np.array(column, object)) if column.isna().any() else column
    count = getattr(column, "null_count", 0)
    if not (count() if callable(count) else count):
        return column
    kind = str(column.dtype if hasattr(column, "dtype") else column.type).lower()
    if not kind.startswith(("int", "uint", "decimal")):
        return column
    return column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()


def nulls_of(column: Any) -> np.ndarray:
    """Return ``bool[n]``: which entries of a column are null (None, NA, NaN; those of Arrow and polars: null)."""
    for test in ("is_null", "isna"):  # of Arrow and polars; of pandas
        if hasattr(column, test):
            return np.asarray(getattr(column, test)())
    array = np.asarray(column, object if isinstance(column, list | tuple) else None)
    if array.dtype.kind not in "Of":
        return np.zeros(len(array), bool)
    return np.fromiter(map(is_missing, array.tolist()), bool, len(array))


def without_nulls(column: Any) -> tuple[Any, np.ndarray]:
    """Return a column without its nulls, and :func:`nulls_of` it."""
    gone = nulls_of(column)
    if not gone.any():
        return column, gone
    drop = next((name for name in ("drop_null", "drop_nulls", "dropna") if hasattr(column, name)), None)
    return ([*np.asarray(column, object)[~gone]] if drop is None else getattr(column, drop)()), gone


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
