"""What is drawn: panels of lines over one axis of moments, and what is written beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

SCALES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k"))  #: below 10,000 numbers have all digits


class Line(NamedTuple):
    """Numbers over time: ``values`` are ``float64[moments]``, NaN where there is none; ``label`` is of the user."""

    label: str
    values: np.ndarray

    @property
    def last(self) -> float:
        """The newest value; NaN if there is none."""
        return float(self.values[-1]) if len(self.values) else np.nan


class Panel(NamedTuple):
    """A diagram: a title, lines over the same moments, and a table below it, of columns and rows."""

    title: str
    lines: Sequence[Line]
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()


class Story(NamedTuple):
    """All that a page shows: ``moments`` (``datetime64[ns]`` or numbers), facts by name, and panels."""

    title: str
    facts: dict[str, str]
    moments: np.ndarray
    panels: Sequence[Panel]


def number(value: Any) -> str:
    """Return a number in few characters: 1,234; 56.7k; 0.0123. NaN and None are a dash, texts stay."""
    if value is None or value != value:
        return "-"
    if isinstance(value, str):
        return value
    for scale, letter in SCALES:
        if abs(value) >= scale:
            return f"{value / scale if scale != 1e4 else value / 1e3:.3g}{letter}"
    return f"{int(value):,}" if float(value).is_integer() else f"{value:,.0f}" if abs(value) >= 1e3 else f"{value:.3g}"


def moment(value: Any) -> str:
    """Return the moment of a slide as text, a date without what is zero."""
    text = str(value).removesuffix(".000000000")
    return text.removesuffix("T00:00:00") if isinstance(value, np.datetime64) else text
