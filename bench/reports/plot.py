"""Pictures of results: rates by batch size, the crossover map, curves of streams, speedups. Needs matplotlib.

``rows`` are rows of results files, as dicts.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from suricate.bench.reports import crossover, scaling, streams
from suricate.bench.reports.colours import PANELS, PANELS_IN_A_ROW, colour
from suricate.bench.reports.results import what
from suricate.bench.reports.text import backends_of, label

Rows = list[dict[str, Any]]
ID_PAIR, SECTOR = 8, 32  #: bytes: of an edge in a batch, of what the memory of a GPU reads or writes at least
LEAST_BYTES = {"query": ID_PAIR + SECTOR, "insert": ID_PAIR + 2 * SECTOR, "delete": ID_PAIR + 2 * SECTOR}  #: per edge
LIMIT = "limit of the memory"
TITLE_WIDTH = 36


def plot(
    rows: Rows, path: Path, titles: Mapping[str, str] | None = None, peaks: Mapping[str, float] | None = None
) -> list[Path]:
    """Draw every kind of picture for which ``rows`` has measurements; return the files written.

    Args:
        rows: rows of results files.
        path: the file, PNG or SVG by its ending. If there are several pictures, the name of each is appended to its
            stem.
        titles: titles of the crossover maps, by device.
        peaks: measured memory bandwidth in bytes per second, by run id.
    """
    made = pictures(rows, titles or {}, peaks or {})
    files = [path if len(made) == 1 else path.with_stem(f"{path.stem}-{name}") for name in made]
    for file, figure in zip(files, made.values(), strict=True):
        figure.savefig(file)
    return files


def pictures(rows: Rows, titles: Mapping[str, str], peaks: Mapping[str, float]) -> dict[str, Any]:
    """Return every kind of picture for which ``rows`` has measurements: matplotlib figures by name.

    ``titles``: of the crossover maps, by device; ``peaks``: memory bandwidth in bytes per second, by run id.
    """
    panels = list(_panels(rows).items())
    parts = [panels[at : at + PANELS] for at in range(0, len(panels), PANELS)]
    made = {f"rates{number or ''}": rates(dict(part), peaks) for number, part in enumerate(parts)}
    found = crossover.cells(rows)
    for device in dict.fromkeys(cell.device for cell in found):
        name = f"map-{device.replace(':', '')}"
        made[name] = crossover.picture([cell for cell in found if cell.device == device], titles.get(device, ""))
    if (curve := streams.picture(rows)) is not None:
        made["curve"] = curve
    if (memory := streams.memory_picture(rows)) is not None:
        made["memory"] = memory
    if (speedups := scaling.picture(rows)) is not None:
        made["scaling"] = speedups
    return made


def _panels(rows: Rows) -> dict[tuple[str, str, str], Rows]:
    """Return the rows to draw, by (graph, device, operation); operations with one batch size only are left out."""
    panels: dict[tuple[str, str, str], Rows] = {}
    for row in rows:
        if row["batch"] and row["edges_per_s"] and row.get("suite") not in ("crossover", "stream", "scaling"):
            panels.setdefault((row["graph"], row["device"], what(row)), []).append(row)
    return {name: group for name, group in panels.items() if len({row["batch"] for row in group}) > 1}


def rates(named: Mapping[tuple[str, str, str], Rows], peaks: Mapping[str, float]) -> Any:
    """Return a figure with a panel for each key (graph, device, operation) of ``named``, whose values are its rows.

    Lines are median rates by batch size, bands go from the 10th to the 90th percentile. If ``peaks`` has the memory
    bandwidth of the run, in bytes per second, a dashed line shows the rate at which the operation would use all of it:
    per edge, it reads the edge in the batch and a sector of 32 bytes of the graph, which an update writes as well.
    """
    from matplotlib.figure import Figure

    columns = min(len(named), PANELS_IN_A_ROW)
    lines = -(-len(named) // columns)
    figure = Figure(figsize=(3.4 * columns, 2.8 * lines + 0.6), layout="constrained")
    panels = list(figure.subplots(lines, columns, squeeze=False).flat)
    for axes in panels[len(named) :]:
        axes.set_axis_off()
    shown: dict[str, Any] = {}
    for axes, (name, group) in zip(panels, named.items(), strict=False):
        axes.set(xscale="log", yscale="log", xlabel="edges in the batch", ylabel="edges per second")
        axes.set_title(f"{textwrap.fill(name[2], TITLE_WIDTH)}\n{name[0]} on {name[1]}", fontsize=9)
        shown |= {backend: _line(axes, backend, group) for backend in backends_of(group)}
        bytes_per_s = max((peaks[row["run"]] for row in group if peaks.get(row["run"])), default=None)
        if bytes_per_s and group[0]["workload"] in LEAST_BYTES:
            limit = bytes_per_s / LEAST_BYTES[group[0]["workload"]]
            shown[LIMIT] = axes.axhline(limit, color="black", linestyle="--", linewidth=1)
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
