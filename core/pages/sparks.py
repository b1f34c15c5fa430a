"""Panels as lines of text, for a terminal: a row of bars per line, with its newest value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from suricate.base.visible import visible
from suricate.pages.panels import Panel, number

BARS, PLAIN = "▁▂▃▄▅▆▇█", "_.-=+*%#"  #: the latter where the terminal has no others
LABEL, VALUE = 24, 9  #: cells of a terminal


def sparkline(values: np.ndarray, width: int, bars: str = BARS) -> str:
    """Return ``values`` (``float64[n]``) as at most ``width`` bars from 0 to the largest; a blank where there is none.

    Of neighbours that share a bar the last is shown.
    """
    last = -(-np.arange(1, width + 1) * len(values) // width) - 1 if len(values) > width else np.arange(len(values))
    shown = values[last]
    there = ~np.isnan(shown)
    top = shown[there].max(initial=0.0)
    heights = np.zeros(len(shown), np.int64)
    if top > 0:
        heights[there] = np.clip(np.ceil(shown[there] / top * len(bars)), 1, len(bars)) - 1
    return "".join(bars[height] if is_there else " " for height, is_there in zip(heights, there, strict=True))


def lines_of(head: str, panels: Sequence[Panel], width: int, bars: str = BARS) -> Iterator[str]:
    """Yield lines of ``width`` cells at most: ``head``, then a line per line of each panel.

    They are text, not markup: the caller prints them as they are.
    """
    from rich.cells import set_cell_size

    yield set_cell_size(visible(head), width).rstrip()
    cells = max(1, width - LABEL - VALUE - 2)
    for panel in panels:
        if len(panel.lines) != 1:
            yield set_cell_size(visible(panel.title), width).rstrip()
        for line in panel.lines:
            label = visible(panel.title) if len(panel.lines) == 1 else f"  {visible(line.label)}"
            row = sparkline(line.values, cells, bars).ljust(cells)
            yield f"{set_cell_size(label, LABEL)} {row} {number(line.last):>{VALUE}}".rstrip()
