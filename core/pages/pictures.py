"""Panels as SVG, by matplotlib: for light and dark, and readable without colour.

Lines differ in colour, dash and marker, and are named where they end. Colours are written for a light ground; a rule
of CSS in the picture replaces each by its partner where the reader prefers dark. Programs that know no CSS show it
light. Texts stay texts.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.visible import visible
from suricate.pages.panels import Line, Panel, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GROUND, INK, FAINT = ("#fffffe", "#14161a"), ("#333335", "#dadce0"), ("#d8d8da", "#3c4048")
LINES = (
    ("#005b96", "#6cb8f0"),
    ("#b34700", "#ff9d5c"),
    ("#00705a", "#3ddbab"),
    ("#8a3a9e", "#dba3ea"),
    ("#6b5900", "#e0c050"),
)
DASHES: Sequence[Any] = "-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1))
MARKERS, MARKED = "os^Dv", 8  #: and about how many points of a line have one
LETTERS = 20  #: of a label
SPACE = 0.14  #: between labels, as a part of the height
WIDTH, HEIGHT = 4.4, 1.9  #: inches of a panel: its texts are readable on a phone, which shows it 360 pixels wide
OPTIONS: dict[Any, Any] = {
    "svg.fonttype": "none", "svg.hashsalt": "suricate", "text.parse_math": False,
    "font.size": 9.0, "font.family": "sans-serif",
}  # fmt: skip


def figure_of(panels: Sequence[Panel], moments: np.ndarray, columns: int = 2) -> Figure:
    """Return a figure of ``panels`` over ``moments`` (``datetime64`` or numbers), side by side in ``columns``."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    rows = -(-len(panels) // columns)
    with rc_context(OPTIONS):
        figure = Figure(figsize=(WIDTH * columns, HEIGHT * rows), facecolor=GROUND[0], layout="constrained")
        for place, panel in enumerate(panels):
            _draw(figure.add_subplot(rows, columns, place + 1), panel, moments)
    vars(figure)["_repr_svg_"] = partial(svg_of, figure)  # notebooks show it without pyplot
    return figure


def svg_of(figure: Figure, *, alone: bool = True) -> str:
    """Return ``figure`` as the text of an SVG; unless ``alone``, as an element for a page that has :func:`style`."""
    from matplotlib import rc_context

    with rc_context(OPTIONS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # the program that shows it has other fonts
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    text = re.sub("font-family: [^;]*", "font-family: sans-serif", file.getvalue())
    text = re.sub(r' id="[A-Za-z]\w*(?:\.\w+)?_\d+"', "", text)  # nothing refers to them, and pages have many pictures
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<(?:path|use|text)[^>]*>", lambda tag: re.sub(r"(\d\.\d\d)\d+", r"\1", tag.group()), text)
    if not alone:
        return text[text.index("<svg") :]
    return text.replace("</defs>", f"</defs>\n <style>{style()}</style>", 1)


def style() -> str:
    """Return the rule of CSS that makes pictures dark where the reader prefers that."""
    rules = [
        f'[style*="{part}: {light}"]{{{part}:{dark}!important}}'
        for light, dark in (GROUND, INK, FAINT, *LINES)
        for part in ("fill", "stroke")
    ]
    return "@media (prefers-color-scheme: dark){" + "".join(rules) + "}"


def _draw(axes: Any, panel: Panel, moments: np.ndarray) -> None:
    """Draw a panel: lines from zero, each with its label at its end."""
    axes.set_title(visible(panel.title, 2 * LETTERS), loc="left", fontsize=10, color=INK[0])
    axes.set_facecolor("none")
    for place, line in enumerate(panel.lines):
        colour, style = LINES[place % len(LINES)][0], {"markersize": 3.5, "linewidth": 1.3}
        axes.plot(
            moments, line.values, color=colour, linestyle=DASHES[place % len(DASHES)], marker=MARKERS[place % 5],
            markevery=_marked(line.values), **style,
        )  # fmt: skip
    top = max((np.nanmax(line.values) for line in panel.lines if not np.isnan(line.values).all()), default=0.0)
    axes.set_ylim(min(0.0, _lowest(panel.lines)), 1.08 * top if top > 0 else 1.0)
    _label(axes, panel.lines)
    counts = all(not np.any(line.values[~np.isnan(line.values)] % 1) for line in panel.lines)
    _plain(axes, has_dates=moments.dtype.kind == "M", counts=counts)


def _lowest(lines: Sequence[Line]) -> float:
    return min((np.nanmin(line.values) for line in lines if not np.isnan(line.values).all()), default=0.0)


def _marked(values: np.ndarray) -> list[int]:
    """Return which points get a marker: some, evenly, and those that stand alone between gaps."""
    there = ~np.isnan(values)
    beside = np.concatenate(([False], there[:-1])) | np.concatenate((there[1:], [False]))
    some = np.flatnonzero(there)
    return sorted({*some[:: max(1, len(some) // MARKED)].tolist(), *np.flatnonzero(there & ~beside).tolist()})


def _label(axes: Any, lines: Sequence[Line]) -> None:
    """Name each line at its right end, with its newest value, the names one below the other where lines meet."""
    low, high = axes.get_ylim()
    ends = [_end_of(line.values) for line in lines]
    wanted = np.array([(0.0 if end is None else (end - low) / (high - low)) for end in ends])
    for place, height in enumerate(spread(wanted, SPACE)):
        line = lines[place]
        text = f"{visible(line.label, LETTERS)} {number(line.last)}"
        axes.annotate(
            text, (1.0, height), xytext=(5, 0), xycoords="axes fraction", textcoords="offset points", va="center",
            color=LINES[place % len(LINES)][0], parse_math=False, fontsize=8.5,
        )  # fmt: skip


def _end_of(values: np.ndarray) -> float | None:
    """Return the newest value that is there, None if there is none."""
    there = values[~np.isnan(values)]
    return float(there[-1]) if len(there) else None


def spread(wanted: np.ndarray, space: float) -> np.ndarray:
    """Return heights from 0 to 1 near the ``wanted`` ones, in their order, ``space`` apart if there is room for it."""
    if len(wanted) < 2:
        return wanted
    space = min(space, 1.0 / (len(wanted) - 1))
    order = np.argsort(wanted, kind="stable")
    steps = space * np.arange(len(wanted))
    up = np.maximum.accumulate(wanted[order] - steps)  # each at least ``space`` above the one below
    placed = np.minimum(up, 1.0 - steps[-1]) + steps
    found = np.empty(len(wanted))
    found[order] = np.maximum(placed, steps)
    return found


def _plain(axes: Any, *, has_dates: bool, counts: bool) -> None:
    """Draw thin axes with few ticks; ``counts``: at whole numbers."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    where = AutoDateLocator(minticks=2, maxticks=5) if has_dates else MaxNLocator(4, integer=True)
    axes.xaxis.set_major_locator(where)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(where) if has_dates else FuncFormatter(lambda x, _: number(x)))
    axes.yaxis.set_major_locator(MaxNLocator(3, integer=counts))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: number(y)))
    axes.grid(axis="y", color=FAINT[0], linewidth=0.6)
    axes.tick_params(colors=INK[0], labelsize=8, length=2)
    axes.xaxis.get_offset_text().set(color=INK[0], fontsize=8)
    for name, spine in axes.spines.items():
        spine.set(visible=name in ("left", "bottom"), color=INK[0], linewidth=0.6)
