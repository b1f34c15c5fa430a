"""Panels as SVG and as text: readable without colour, in the dark, and whatever characters names have."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from rich.cells import cell_len

from suricate.base.visible import visible
from suricate.pages.page import page_of
from suricate.pages.panels import Line, Panel, Story, number
from suricate.pages.pictures import GROUND, INK, LINES, SPACE, figure_of, spread, svg_of
from suricate.pages.sparks import BARS, PLAIN, lines_of, sparkline

pytestmark = pytest.mark.plain

MOMENTS = np.arange("2026-01-01", "2026-01-09", dtype="datetime64[D]").astype("datetime64[ns]")
NAMES = ["<script>alert(1)</script>", "[red]x[/red]", "\x1b[31mred", "$\\frac{1}{2}$", "a\u202eb & \x00 \ud800"]
PANEL = Panel("top", [Line(name, np.arange(8.0) + at) for at, name in enumerate(NAMES)], ["name"], [[n] for n in NAMES])


def texts(svg: str) -> list[str]:
    """The texts of a picture; parsing fails if it is not XML."""
    return [part.text or "" for part in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_names_are_texts_in_pictures() -> None:
    found = "\n".join(texts(svg_of(figure_of([PANEL], MOMENTS))))
    for shown in (
        "<script>alert(1)",
        "[red]x[/red] 8",
        "\\x1b[31mred 9",
        "$\\frac{1}{2}$ 10",
        "a\\u202eb & \\x00 \ufffd 11",
    ):
        assert shown in found


def test_names_are_texts_in_pages_which_load_nothing() -> None:
    page = page_of(Story("<b>title</b>", {"<i>fact</i>": "\x1b]0;x"}, MOMENTS, [PANEL]))
    assert page.count("<script") == page.count("<b>") == page.count("<i>") == 0
    assert "<td>&lt;script&gt;alert(1)&lt;/script&gt;</td>" in page
    assert not any(character in page for character in "\x1b\x00\u202e\ud800")
    assert "http:" not in page.replace("http://www.w3.org/", "")
    assert "https:" not in page
    assert "prefers-color-scheme: dark" in page
    assert "width=device-width" in page


def luminance(colour: str) -> float:
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return float(np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ (0.2126, 0.7152, 0.0722))


@pytest.mark.parametrize("ground", [0, 1])
def test_texts_stand_out_from_the_ground(ground: int) -> None:
    """By the rule of WCAG: a contrast of 4.5 for texts, which have the colour of their line."""
    for pair in (INK, *LINES):
        low, high = sorted((luminance(pair[ground]), luminance(GROUND[ground])))
        assert (high + 0.05) / (low + 0.05) >= 4.5


def test_lines_differ_without_colour() -> None:
    lines = figure_of([PANEL], MOMENTS).axes[0].lines
    assert len({(line._unscaled_dash_pattern[1], line.get_marker()) for line in lines}) == len(NAMES)
    assert len({line.get_marker() for line in lines}) == len(NAMES)


def test_labels_keep_their_order_and_distance() -> None:
    rng = np.random.default_rng(5)
    for size in range(2, 9):
        wanted = rng.random(size) ** 3
        found = spread(wanted, SPACE)
        apart = min(SPACE, 1 / (size - 1))
        assert np.array_equal(np.argsort(found), np.argsort(wanted))
        assert (np.diff(np.sort(found)) > apart - 1e-9).all()
        assert found.min() > -1e-9
        assert found.max() < 1 + 1e-9


def test_pictures_of_little_or_nothing() -> None:
    gaps = np.array([np.nan, 1, np.nan, 3, 4, np.nan, np.nan, -2])
    for moments, values in ((MOMENTS, gaps), (MOMENTS[:1], gaps[:1]), (np.arange(0), gaps[:0]), (np.arange(8), gaps)):
        assert texts(svg_of(figure_of([Panel("a", [Line("b", values)]), Panel("nothing", [])], moments)))


def test_a_figure_shows_itself_in_notebooks() -> None:
    shown = figure_of([PANEL], MOMENTS)._repr_svg_()  # type: ignore[attr-defined]
    assert "prefers-color-scheme" in shown
    assert shown == svg_of(figure_of([PANEL], MOMENTS)), "the same file again"


def test_sparklines() -> None:
    assert sparkline(np.array([0, 1, 4, 8, np.nan]), 9) == "▁▁▄█ "
    assert sparkline(np.arange(1000.0), 8) == "▁▂▃▄▅▆▇█"
    assert sparkline(np.arange(1000.0), 8, PLAIN) == PLAIN
    assert sparkline(np.zeros(3), 8) == "▁▁▁"
    assert sparkline(np.empty(0), 8) == ""
    values = np.random.default_rng(3).random(997)
    ends = [-(-at * 997 // 50) - 1 for at in range(1, 51)]
    assert sparkline(values, 50) == "".join(
        BARS[max(0, int(np.ceil(values[at] / values[ends].max() * 8)) - 1)] for at in ends
    )


def test_lines_fit_a_terminal_and_hold_no_control_characters() -> None:
    wide = Panel("漢字" * 20, [Line("漢字" * 20, np.arange(99.0))])
    for width in (40, 80):
        lines = [*lines_of("head " * 30, [PANEL, wide], width)]
        assert len(lines) == 1 + 1 + len(NAMES) + 1
        assert max(map(cell_len, lines)) <= width
        assert all(line.isprintable() for line in lines)
    assert lines[-1].endswith(" 98")
    assert "  [red]x[/red]" in lines[3]


def test_what_is_visible() -> None:
    assert visible("\u0646\u200c\u0647 漢字 é") == "\u0646\u200c\u0647 漢字 é"
    assert visible("a\nb\x1b[0m\x9b\udc80") == "a\\nb\\x1b[0m\\x9b\ufffd"
    assert visible("abcdef", 4) == "abc…"


def test_numbers_are_short() -> None:
    values = [0, 1234, 9999, 12_345, 1_500_000, 2.5e9, 0.01234, 1234.5, None, float("nan"), "x", -56_789]
    assert [*map(number, values)] == [
        "0",
        "1,234",
        "9,999",
        "12.3k",
        "1.5M",
        "2.5G",
        "0.0123",
        "1,234",
        "-",
        "-",
        "x",
        "-56.8k",
    ]
