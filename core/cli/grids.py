"""Tables to print, and their cells as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from suricate.base.visible import visible


class Grid(NamedTuple):
    """A table to print: its key in JSON, its columns, its rows of numbers and texts; whether it has names of users."""

    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    has_names: bool = False


def rounded(value: Any) -> str:
    """Return ``value``, a cell of a table, as text: a float with six significant digits, None as nothing.

    What would steer a terminal, and line breaks, are written out (``visible``).
    """
    import numpy as np

    if value is None:
        return ""
    if isinstance(value, (float, np.floating)):
        return f"{value:.6g}"
    return visible(printable(value))


def printable(value: Any) -> str:
    """Return ``value`` as text that any stream can print: bytes that were not UTF-8 become replacement characters."""
    return str(value).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
