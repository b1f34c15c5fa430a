"""Pictures of results: rates over the sizes of batches, and the crossover map. Needs matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from suricate.bench.reports import crossover
from suricate.bench.reports.colours import PANELS_IN_A_ROW, colour
from suricate.bench.reports.results import what
from suricate.bench.reports.text import backends_of, label

Rows = list[dict[str, Any]]


def plot(rows: Rows, path: Path, titles: dict[str, str] | None = None) -> list[Path]:
    """Write all pictures that ``rows`` give; the ending of ``path`` says whether as PNG or SVG. Return their files.

    ``titles`` are those of the maps, by device.

    One picture has the name ``path``; of several each has a word of its own behind the stem.
    """
    made = pictures(rows, titles or {})
    files = [path if len(made) == 1 else path.with_stem(f"{path.stem}-{name}") for name in made]
    for file, figure in zip(files, made.values(), strict=True):
        figure.savefig(file)
    return files


def pictures(rows: Rows, titles: dict[str, str]) -> dict[str, Any]:
    """Return the figures that ``rows`` give, by a word that names each."""
    swept = [row for row in rows if row["batch"] and row["edges_per_s"] and row.get("suite") != "crossover"]
    made = {"rates": rates(swept)} if swept else {}
    found = crossover.cells(rows)
    for device in dict.fromkeys(cell.device for cell in found):
        name = f"map-{device.replace(':', '')}"
        made[name] = crossover.picture([cell for cell in found if cell.device == device], titles.get(device, ""))
    return made


def rates(swept: Rows) -> Any:
    """Return a panel per graph and operation: median rates by size of batch, bands from 10th to 90th percentile."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys((row["graph"], row["device"], what(row)) for row in swept))
    columns = min(len(names), PANELS_IN_A_ROW)
    lines = -(-len(names) // columns)
    figure = Figure(figsize=(3.4 * columns, 2.8 * lines + 0.6), layout="constrained")
    panels = list(figure.subplots(lines, columns, squeeze=False).flat)
    for axes in panels[len(names) :]:
        axes.set_axis_off()
    shown: dict[str, Any] = {}
    for axes, name in zip(panels, names, strict=False):
        group = [row for row in swept if (row["graph"], row["device"], what(row)) == name]
        axes.set(xscale="log", yscale="log", xlabel="edges in the batch", ylabel="edges per second")
        axes.set_title(f"{name[2]}\n{name[0]} on {name[1]}", fontsize=9)
        shown |= {backend: _line(axes, backend, group) for backend in backends_of(group)}
    figure.legend(shown.values(), [label(name) for name in shown], loc="outside lower center", ncols=5)
    return figure


def _line(axes: Any, backend: str, group: Rows) -> Any:
    own = sorted((row for row in group if row["backend"] == backend), key=lambda row: row["batch"])
    sizes = [row["batch"] for row in own]
    (line,) = axes.plot(sizes, [row["edges_per_s"] for row in own], marker="o", markersize=3, color=colour(backend))
    if all(row.get("p10_s") for row in own):
        low, high = ([row["items"] / row[name] for row in own] for name in ("p90_s", "p10_s"))
        axes.fill_between(sizes, low, high, alpha=0.2, color=colour(backend), linewidth=0)
    return line
