"""The picture of the demo, an SVG file that is written without further packages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

WIDTH, HEIGHT, LEFT, TOP = 800, 300, 60, 40
COLOURS = {"kept current": "#0072b2", "from scratch": "#e69f00", "SciPy": "#999999"}


def draw(history: Any, measured: list[dict[str, float]], path: Path) -> None:
    """Draw milliseconds per slide over the last weeks: kept current every day, from scratch and by SciPy weekly.

    Args:
        history: the history of the job. measured: the times of each of its last weeks, as ``demo.compared`` returns.
        path: the file to write.
    """
    days = 7 * len(measured)
    ends = history["end"][-days:]
    weeks = np.arange(len(measured)) * 7
    series = {
        "kept current": (np.arange(days), 1000 * np.asarray(history["graph"][-days:])),
        "from scratch": (weeks, np.array([week["scratch"] for week in measured])),
        "SciPy": (weeks, np.array([week["scipy"] for week in measured])),
    }
    low, high = 0.1, 10 ** np.ceil(np.log10(max(values.max() for _, values in series.values())))
    across = lambda day: LEFT + (WIDTH - LEFT - 20) * day / max(days - 1, 1)  # noqa: E731
    down = lambda ms: HEIGHT - 40 - (HEIGHT - 40 - TOP) * np.log(ms / low) / np.log(high / low)  # noqa: E731
    parts = [text(LEFT, 20, "components and distances of a window of two years of MathOverflow: ms per slide of a day")]
    for power in range(-1, int(np.log10(high)) + 1):
        y = down(10.0**power)
        parts.append(f'<path d="M{LEFT} {y:.0f}H{WIDTH - 20}" stroke="#ddd"/>')
        parts.append(text(LEFT - 8, y + 4, f"{10.0**power:g}", "end"))
    parts += [text(across(day), HEIGHT - 20, str(ends[day])[:10], "middle") for day in weeks[::4]]
    for number, (name, (at, values)) in enumerate(series.items()):
        points = " ".join(f"{across(day):.1f},{down(max(ms, low)):.1f}" for day, ms in zip(at, values, strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[name]}" stroke-width="2"/>')
        parts.append(text(LEFT + 130 * number, TOP + 2, name, colour=COLOURS[name]))
    shape = f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12"'
    ground = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    path.write_text("\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {shape}>', ground, *parts, "</svg>", ""]))


def text(x: float, y: float, content: str, anchor: str = "start", colour: str = "#333") -> str:
    """Return an SVG text."""
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="{colour}">{content}</text>'
