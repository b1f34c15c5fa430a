"""The crossover map as files: data for ``suricate advise``, what to choose, and a page on where each backend loses.

The argument ``found`` is a list of cells of the map, all of one device.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from suricate.bench import constants
from suricate.bench.reports.colours import NO_DIFFERENCE
from suricate.bench.reports.crossover import (
    Cell,
    backends_of,
    cells,
    choice,
    contested_of,
    entry,
    picture,
    place_of,
    power,
    times,
)
from suricate.bench.reports.text import label
from suricate.plugins.advice import FORMAT, OVER, REBUILD

Rows = list[dict[str, Any]]
CLOSE = 1.25  #: a backend that takes at most this times the time of the fastest is close to it
PAGE = Path(__file__).resolve().parents[1] / "data" / "crossover.txt"  #: how the page begins


def machines(headers: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Return by device a text that describes its machine, from the last of the ``headers`` of that device."""
    return {header["device"]: _machine(header) for header in headers}


def _machine(header: dict[str, Any]) -> str:
    if header["gpu"]:
        return header["gpu"]["name"]
    cores = header.get("cores_usable") or header["cores"]
    return f"{header['cpu']}, {cores} core{'' if cores == 1 else 's'}"


# -- data --------------------------------------------------------------------------------------------------------------


def save(path: Path, headers: list[dict[str, Any]], rows: Rows) -> None:
    """Write the crossover map of ``rows`` as JSON, which :mod:`suricate.plugins.advice` reads.

    ``headers``: those of the same results files, for the machine and the date.

    Raises:
        ValueError: the rows have no cell of the map, or cells of several devices.
        OSError: the file cannot be written.
    """
    found = cells(rows)
    devices = {cell.device for cell in found}
    if len(devices) != 1:
        raise ValueError(f"a map is of one device, and the results are of {', '.join(sorted(devices)) or 'none'}")
    (device,) = devices
    header = [header for header in headers if header["device"] == device][-1]
    backends = backends_of(found)
    facts = {
        "format": FORMAT, "device": device.partition(":")[0], "machine": _machine(header), "date": header["date"][:10],
        "commit": (header["git"] or {}).get("commit", ""), "limit_ms": 1e3 * constants.CROSSOVER_LIMIT,
        "backends": backends,
    }  # fmt: skip
    lines = ",\n".join(json.dumps(_compact(cell, backends)) for cell in found)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'{json.dumps(facts)[:-1]}, "cells": [\n{lines}\n]}}\n')


def _compact(cell: Cell, backends: list[str]) -> list[Any]:
    times = {backend: time for time, backend in cell.times}
    ms = [OVER if name in cell.over else _rounded(1e3 * times[name]) if name in times else None for name in backends]
    shares = [_rounded(_share(cell, times, name), 2) for name in backends]
    return [cell.family, cell.use, cell.num_vertices, cell.num_edges, cell.batch, ms, shares]


def _share(cell: Cell, times: dict[str, float], name: str) -> float | None:
    return min(1.0, cell.update_s[name] / times[name]) if name in times and name in cell.update_s else None


def _rounded(number: float | None, digits: int = 4) -> float | None:
    return None if number is None else float(f"{number:.{digits}g}")


# -- page --------------------------------------------------------------------------------------------------------------


def choices(rows: Rows, titles: Mapping[str, str]) -> dict[str, Any]:
    """Return a small picture of what to choose by name, one per device; ``titles``: by device."""
    found = cells(rows)
    return {
        f"choice-{device.replace(':', '')}": picture(
            choice([cell for cell in found if cell.device == device]), titles.get(device, "")
        )
        for device in dict.fromkeys(cell.device for cell in found)
    }


def write_page(path: Path, headers: list[dict[str, Any]], rows: Rows) -> list[Path]:
    """Write the crossover maps of all devices as two Markdown pages with pictures beside them; return the files.

    The page at ``path`` says what to choose, and the other, whose name ends in ``-cells``, has all cells of the map,
    and where each backend loses. ``headers`` and ``rows`` are those of results files. A picture is written as PNG and
    as SVG.

    Raises:
        ImportError: matplotlib is not installed.
    """
    found, told, rest = cells(rows), machines(headers), path.with_name(f"{path.stem}-cells{path.suffix}")
    written, first, second = [path, rest], [PAGE.read_text()], [f"# Cells of the crossover map\n\n{_back(path)}\n"]
    for device in dict.fromkeys(cell.device for cell in found):
        own = [cell for cell in found if cell.device == device]
        title, name = told.get(device, device), device.partition(":")[0]
        pictures = [
            _save(path, path.with_name(f"{page.stem}-{name}"), picture(some, title))
            for page, some in ((path, choice(own)), (rest, own))
        ]
        written += [file for files in pictures for file in files]
        dates = sorted({header["date"][:10] for header in headers if header["device"] == device})
        missing = [f"`{label(name)}`" for name in backends_of(found) if name not in backends_of(own)]
        lacking = f" Without {' and '.join(missing)}, not measured here yet." if missing else ""
        days = " to ".join(dict.fromkeys((dates[0], dates[-1])))
        first += [
            f"## {title}\n\nMeasured {days}.{lacking}\n",
            f"![what to choose]({pictures[0][-1].name})\n",
            _summary(contested_of(own)),
        ]
        losses = (_losses(contested_of(own), name) for name in backends_of(own) if name != REBUILD)
        second += [f"## {title}\n", f"![the fastest backend and its lead]({pictures[1][-1].name})\n"]
        second += [_rebuilding(own), *losses, "### All cells\n", *_all(own)]
    path.write_text("\n".join(first))
    rest.write_text("\n".join(second))
    return written


def _back(path: Path) -> str:
    return (
        f"What to choose, and how this was measured: [the crossover map]({path.name}). By use and family of graphs, "
        f"the fastest\nbackend of each cell, its time and how many times as long the next one takes; less than "
        f"{NO_DIFFERENCE:g} is no difference (grey).\n"
    )


def _save(page: Path, stem: Path, figure: Any) -> list[Path]:
    """Write a figure as SVG and PNG, the same file for the same map; return both."""
    from matplotlib import rc_context

    files = [stem.with_suffix(ending) for ending in (".svg", ".png")]
    for file, facts in zip(files, ({"Date": None}, {}), strict=True):
        with rc_context({"svg.hashsalt": page.stem}):
            figure.savefig(file, metadata=facts)
    return files


def _summary(found: list[Cell]) -> str:
    """Return a Markdown table with a line per backend and a column per use.

    It shows how many cells of the map the backend wins, and the geometric mean of its time divided by the fastest
    time.
    """
    uses = list(dict.fromkeys(cell.use for cell in found))
    lines = [f"| | all | {' | '.join(uses)} |", f"|---|---|{'---|' * len(uses)}"]
    for name in backends_of(found):
        parts = [found, *([cell for cell in found if cell.use == use] for use in uses)]
        lines.append(f"| `{label(name)}` | {' | '.join(_wins_and_mean(part, name) for part in parts)} |")
    text = (
        "Cells that each wins, and how many times as long as the fastest it takes on the average of all "
        "(geometric mean; without those over the limit):"
    )
    return "\n".join([text, "", *lines, ""])


def _wins_and_mean(part: list[Cell], name: str) -> str:
    behind = [cell.behind(name) for cell in part if cell.behind(name)]
    if not behind:
        return "-"
    mean = math.exp(sum(map(math.log, behind)) / len(behind))
    return f"{sum(each == 1 for each in behind)}; {times(mean)}x"


def _rebuilding(found: list[Cell]) -> str:
    """Return a list in Markdown of the cells in which rebuilding the graph is the fastest, a line per graph and use."""
    won: dict[tuple[str, str, int], list[Cell]] = {}
    for cell in found:
        if cell.times and cell.times[0][1] == REBUILD:
            won.setdefault((cell.use, cell.family, cell.num_edges), []).append(cell)
    lines = [
        f"- {use}, {family}, {power(edges)} edges: batches of {', '.join(power(cell.batch) for cell in group)}; "
        f"at most {max(cell.lead for cell in group):.3g} times ahead."
        for (use, family, edges), group in won.items()
    ]
    return "\n".join(["### Where rebuilding wins\n", *(lines or ["Nowhere."]), ""])


def _losses(found: list[Cell], name: str) -> str:
    """Return Markdown on the backend ``name``: in how many cells it is fastest, and how much slower it is, by use."""
    own = [cell for cell in found if cell.behind(name)]
    wins, close = (sum(cell.behind(name) <= most for cell in own) for most in (1, CLOSE))
    over = [cell for cell in found if name in cell.over]
    lines = [f"### Where `{label(name)}` loses\n"]
    told = f"Fastest in {wins} of {len(own) + len(over)} cells, within {CLOSE:g} times of the fastest in {close}"
    lines.append(f"{told}, over the limit in {len(over)}.\n")
    for use in dict.fromkeys(cell.use for cell in own):
        lost = [cell for cell in own if cell.use == use and cell.behind(name) > CLOSE]
        if lost:
            worst = max(lost, key=lambda cell: cell.behind(name))
            fastest = label(worst.times[0][1])
            sizes = " to ".join(dict.fromkeys(power(most(cell.batch for cell in lost)) for most in (min, max)))
            of_all = f"{len(lost)} of {sum(cell.use == use for cell in own)} cells (batches of {sizes})"
            where = place_of(worst).partition(", ")[2]
            told = f"{times(worst.behind(name))} times as long as `{fastest}` ({where})"
            lines.append(f"- {use}: loses {of_all}; at most {told}.")
    lines += [f"- over the limit: {place_of(cell)}." for cell in _first(over)]
    return "\n".join([*lines, ""])


def _first(over: list[Cell]) -> list[Cell]:
    """Return for each graph and use the cell of smallest batch; ``over``: those where a backend exceeded the limit."""
    first: dict[tuple[Any, ...], Cell] = {}
    for cell in sorted(over, key=lambda cell: cell.batch):
        first.setdefault((cell.use, cell.family, cell.num_edges), cell)
    return list(first.values())


def _all(found: list[Cell]) -> list[str]:
    """Return a Markdown table per use and family of graphs, with a line per batch size and a column per graph size.

    It shows the fastest backend, its time, and its lead over the next one.
    """
    tables = []
    for family, use in dict.fromkeys((cell.family, cell.use) for cell in found):
        group = [cell for cell in found if (cell.family, cell.use) == (family, use)]
        sizes = sorted({cell.num_edges for cell in group})
        lines = [f"| {use}, {family} | {' | '.join(map(power, sizes))} |", f"|---|{'---|' * len(sizes)}"]
        for batch in sorted({cell.batch for cell in group}):
            line = {cell.num_edges: cell for cell in group if cell.batch == batch}
            shown = (entry(line.get(size)).replace("\n", " ") for size in sizes)
            lines.append(f"| {power(batch)} | {' | '.join(shown)} |")
        tables.append("\n".join([*lines, ""]))
    return tables
