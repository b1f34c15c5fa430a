"""A plot of the rates over the batch sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from suricate.bench.reports.results import what
from suricate.bench.reports.text import backends_of, label


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    """Write one panel per graph and operation; needs matplotlib."""
    from matplotlib.figure import Figure

    swept = [row for row in rows if row["batch"] and row["edges_per_s"]]
    panels = list(dict.fromkeys((row["graph"], what(row)) for row in swept))
    figure = Figure(figsize=(5 * max(1, len(panels)), 4), layout="constrained")
    for number, panel in enumerate(panels):
        title = f"{panel[1]}, {panel[0]}"
        axes = figure.add_subplot(1, len(panels), number + 1, title=title, xscale="log", yscale="log")
        group = [row for row in swept if (row["graph"], what(row)) == panel]
        for backend in backends_of(group):
            points = sorted((row["batch"], row["edges_per_s"]) for row in group if row["backend"] == backend)
            axes.plot(*zip(*points, strict=True), marker="o", label=label(backend))
        axes.set(xlabel="edges in the batch", ylabel="edges per second")
        axes.legend()
    figure.savefig(path)
