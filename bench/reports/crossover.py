"""The crossover map: which backend is fastest for which size of graph, size of batch and use, and by how much."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from rich.table import Table

from suricate.bench.reports.colours import PANELS_IN_A_ROW, colour
from suricate.bench.reports.text import count, label, new_table, seconds
from suricate.bench.workloads.crossover import Crossing

Rows = list[dict[str, Any]]
SHADES = 10.0  #: a lead of so many times has the full colour


class Cell(NamedTuple):
    """A place of the map. ``times`` are (seconds, backend), the fastest first; ``over`` those over the limit."""

    device: str
    family: str  #: of graphs: what stands before the colon, or the name of a file
    use: str
    num_edges: int
    batch: int
    times: list[tuple[float, str]]
    over: list[str]

    @property
    def lead(self) -> float:
        """How many times as long the second takes; infinite if there is none within the limit."""
        return self.times[1][0] / self.times[0][0] if len(self.times) > 1 else float("inf")


def cells(rows: Iterable[dict[str, Any]]) -> list[Cell]:
    """Return the places of the map that ``rows`` have, by device, family, use, graph and batch."""
    found: dict[tuple[str, str, str, int, int], Cell] = {}
    for row in rows:
        if row["workload"] != Crossing.workload or row["status"] not in ("ok", "over"):
            continue
        extra = row["extra"]
        place = row["device"], row["graph"].partition(":")[0], extra["use"], extra["num_edges"], row["batch"]
        cell = found.setdefault(place, Cell(*place, times=[], over=[]))
        if row["status"] == "ok":
            cell.times.append((row["median_s"], row["backend"]))
        else:
            cell.over.append(row["backend"])
    for cell in found.values():
        cell.times.sort()
    return list(found.values())


def of(rows: Rows) -> list[Table]:
    """Return a table per device, family of graphs and use, and one of what each backend loses."""
    found = cells(rows)
    tables = [_winners(place, group) for place, group in _groups(found).items()]
    return [*tables, *_losses(found)]


def _winners(place: tuple[str, str, str], group: list[Cell]) -> Table:
    device, family, use = place
    batches = sorted({cell.batch for cell in group})
    title = f"{use} on {device}, {family}: the fastest backend, its time per batch, and its lead over the next"
    table = new_table(title, "edges", map(count, batches))
    for num_edges in sorted({cell.num_edges for cell in group}):
        line = {cell.batch: cell for cell in group if cell.num_edges == num_edges}
        table.add_row(count(num_edges), *(_entry(line.get(batch)) for batch in batches))
    return table


def _entry(cell: Cell | None) -> str:
    if cell is None:
        return "-"
    if not cell.times:
        return "over the limit"
    time, backend = cell.times[0]
    lead = f"{cell.lead:.2g}x" if len(cell.times) > 1 else "alone"
    return f"{label(backend)}\n{seconds(time)}, {lead}"


def _losses(found: list[Cell]) -> list[Table]:
    """Return a line per device and backend: how often it wins, and where it is furthest behind."""
    tables = []
    for device in dict.fromkeys(cell.device for cell in found):
        contested = [cell for cell in found if cell.device == device and len(cell.times) + len(cell.over) > 1]
        table = new_table(f"wins and losses on {device}", "backend", ["wins", "over the limit", "furthest behind"])
        for backend in sorted({name for cell in contested for name in (*cell.over, *(each for _, each in cell.times))}):
            behind = [(_ratio(cell, backend), cell) for cell in contested if _ratio(cell, backend) > 1]
            wins = sum(bool(cell.times) and cell.times[0][1] == backend for cell in contested)
            over = sum(backend in cell.over for cell in contested)
            worst = max(behind, key=lambda each: each[0], default=None)
            table.add_row(label(backend), f"{wins} of {len(contested)}", str(over), _told(worst))
        tables += [table] if contested else []
    return tables


def _ratio(cell: Cell, backend: str) -> float:
    """Return the time of a backend over that of the fastest, 0 if it has none."""
    return next((time / cell.times[0][0] for time, name in cell.times if name == backend), 0.0)


def _told(worst: tuple[float, Cell] | None) -> str:
    if worst is None:
        return "-"
    ratio, cell = worst
    place = f"{cell.use}, {cell.family}, {count(cell.num_edges)} edges, batches of {count(cell.batch)}"
    return f"{ratio:.3g}x {label(cell.times[0][1])}: {place}"


def _groups(found: list[Cell]) -> dict[tuple[str, str, str], list[Cell]]:
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in found:
        groups.setdefault((cell.device, cell.family, cell.use), []).append(cell)
    return groups


def picture(found: list[Cell]) -> Any:
    """Return the heat map of one device as a figure: a panel per family and use, coloured by the winner.

    The number is the winner's lead over the next; the larger it is, the stronger the colour. Needs matplotlib.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    families, uses = (list(dict.fromkeys(part)) for part in ([c.family for c in found], [c.use for c in found]))
    columns = min(len(uses), PANELS_IN_A_ROW)
    rows = [(family, uses[k : k + columns]) for family in families for k in range(0, len(uses), columns)]
    figure = Figure(figsize=(3.2 * columns, 2.6 * len(rows) + 0.6), layout="constrained")
    panels = figure.subplots(len(rows), columns, squeeze=False)
    places = {(family, use): panels[i][j] for i, (family, some) in enumerate(rows) for j, use in enumerate(some)}
    for axes in set(panels.flat) - set(places.values()):
        axes.set_axis_off()
    for (_, family, use), group in _groups(found).items():
        _panel(places[family, use], f"{use}, {family}", group)
    winners = dict.fromkeys(cell.times[0][1] for cell in found if cell.times)
    handles = [Patch(color=colour(name), label=label(name)) for name in winners]
    figure.legend(handles=handles, loc="outside lower center", ncols=5)
    return figure


def _panel(axes: Any, title: str, group: list[Cell]) -> None:
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Rectangle

    batches, sizes = sorted({cell.batch for cell in group}), sorted({cell.num_edges for cell in group})
    for cell in group:
        x, y = batches.index(cell.batch), sizes.index(cell.num_edges)
        strength = min(1.0, 0.25 + 0.75 * (min(cell.lead, SHADES) - 1) / (SHADES - 1)) if cell.times else 1.0
        full = to_rgb(colour(cell.times[0][1]) if cell.times else "dimgrey")
        shade = tuple(1 - strength * (1 - part) for part in full)
        axes.add_patch(Rectangle((x, y), 1, 1, facecolor=shade, edgecolor="white"))
        text = f"{cell.lead:.2g}" if len(cell.times) > 1 else ("" if cell.times else "over")
        axes.text(x + 0.5, y + 0.5, text, ha="center", va="center", fontsize=7)
    axes.set(xlim=(0, len(batches)), ylim=(0, len(sizes)), xlabel="edges in the batch", ylabel="edges in the graph")
    axes.set_title(title, fontsize=9)
    axes.set_xticks([k + 0.5 for k in range(len(batches))], map(_power, batches), fontsize=7)
    axes.set_yticks([k + 0.5 for k in range(len(sizes))], map(_power, sizes), fontsize=7)


def _power(number: int) -> str:
    """Return the power of two at or below a number."""
    return f"2^{number.bit_length() - 1}" if number > 1 else "1"
