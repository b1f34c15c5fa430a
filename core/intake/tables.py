"""Tables that users hand in: dicts of columns, data frames, Arrow tables and batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def column_names(table: Any) -> list[Any] | None:
    """Return the names of the columns of a table, None if ``table`` is not one."""
    if type(table) is dict or isinstance(table, Mapping):  # the latter takes longer
        return list(table)
    names = getattr(table, "column_names", None)  # of Arrow
    names = getattr(table, "columns", None) if names is None else names
    return None if names is None or not hasattr(table, "__getitem__") else list(names)


def as_numpy(column: Any) -> Any:
    """Return a column of a data frame or of Arrow as a NumPy array, anything else as it is."""
    if isinstance(column, np.ndarray) or not hasattr(column, "to_numpy"):
        return column
    is_arrow = type(column).__module__.partition(".")[0] == "pyarrow"
    return column.to_numpy(zero_copy_only=False) if is_arrow else column.to_numpy()
