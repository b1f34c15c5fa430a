"""The crossover map: which backend is fastest for which size of graph, size of batch and use, and by how much.

The argument ``found`` is a list of cells of the map; ``rows`` are rows of results files, as dicts.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from typing import Any, NamedTuple

from rich.table import Table

from suricate.bench.reports.colours import GREY, NO_DIFFERENCE, PANELS_IN_A_ROW, pale, shade
from suricate.bench.reports.text import label, new_table, seconds
from suricate.bench.workloads.crossover import UPDATE, USES, Crossing, power_near
from suricate.plugins.advice import REBUILD

Rows = list[dict[str, Any]]
EVERY = "all graphs"  #: the family of cells that are means
PLAIN, KEPT = "without an algorithm", "an algorithm kept current"  #: uses of such cells
POWER = 1.15  #: a number that differs by this factor from a power of two is written as that


class Cell(NamedTuple):
    """A cell of the crossover map.

    ``times``: (seconds, backend), the fastest first; ``over``: backends that took longer than the limit; ``update_s``:
    the seconds of storing the batch alone, by backend.
    """

    device: str
    family: str  #: of graphs: what stands before the colon, or the name of a file
    use: str
    num_vertices: int
    num_edges: int
    batch: int
    times: list[tuple[float, str]]
    over: list[str]
    update_s: dict[str, float]

    @property
    def lead(self) -> float:
        """The time of the second fastest backend divided by that of the fastest; infinite if there is no second."""
        return self.times[1][0] / self.times[0][0] if len(self.times) > 1 else float("inf")

    def behind(self, backend: str) -> float:
        """Return the time of ``backend`` divided by that of the fastest one; 0 if it has no time."""
        return next((time / self.times[0][0] for time, name in self.times if name == backend), 0.0)


def cells(rows: Iterable[dict[str, Any]]) -> list[Cell]:
    """Return the cells of the map that ``rows`` measure, sorted by device, family of graphs, use, graph and batch."""
    found: dict[tuple[str, str, str, int, int, int], Cell] = {}
    for row in rows:
        if row["workload"] != Crossing.workload or row["status"] not in ("ok", "over"):
            continue
        extra = row["extra"]
        family, sizes = row["graph"].partition(":")[0], (extra["num_vertices"], extra["num_edges"], row["batch"])
        place = row["device"], family, extra["use"], *sizes
        cell = found.setdefault(place, Cell(*place, times=[], over=[], update_s={}))
        if row["status"] == "ok":
            cell.times.append((row["median_s"], row["backend"]))
        else:
            cell.over.append(row["backend"])
        if "update_s" in extra:
            cell.update_s[row["backend"]] = extra["update_s"]
    for place, cell in found.items():
        cell.times.sort()
        if cell.use in USES:  # on the same graphs
            alone = found.get((*place[:2], UPDATE, *place[3:]))
            cell.update_s.update({backend: time for time, backend in alone.times} if alone else {})
    return sorted(found.values(), key=_order)


def _order(cell: Cell) -> tuple[Any, ...]:
    """Return the sort key of a cell; among uses, those without an algorithm come first."""
    use = USES.index(cell.use) if cell.use in USES else len(USES)
    return cell.device, cell.family, use, cell.use, cell.num_edges, cell.batch


def of(rows: Rows) -> list[Table]:
    """Return a table of the fastest backends per device, graph family and use, and of wins and losses per device."""
    found = cells(rows)
    tables = [_winners(place, group) for place, group in _groups(found).items()]
    return [*tables, *_losses(found)]


def _winners(place: tuple[str, str, str], group: list[Cell]) -> Table:
    device, family, use = place
    sizes = sorted({cell.num_edges for cell in group})
    title = f"{use}, {family}, {device}: the fastest backend by edges of the graph"
    table = new_table(title, "batch", map(power, sizes))
    for column in table.columns:
        column.overflow = "fold"
    for batch in sorted({cell.batch for cell in group}):
        line = {cell.num_edges: cell for cell in group if cell.batch == batch}
        table.add_row(power(batch), *(entry(line.get(size)) for size in sizes))
    return table


def entry(cell: Cell | None) -> str:
    """Return the text for a cell: its fastest backend, the time and the lead of that one; "" for None.

    If all backends took longer than the limit, the text says so.
    """
    if cell is None:
        return ""
    if not cell.times:
        return "over the limit"
    time, backend = cell.times[0]
    lead = f"{cell.lead:.2g}x" if len(cell.times) > 1 else "alone"
    return f"{label(backend)}\n{seconds(time)}, {lead}"


def _losses(found: list[Cell]) -> list[Table]:
    """Return a table per device with a line per backend: how many cells it wins, and where it is furthest behind.

    Only cells in which several backends were measured count. A third column has the number of cells in which the
    backend took longer than the limit.
    """
    tables = []
    for device in dict.fromkeys(cell.device for cell in found):
        contested = contested_of([cell for cell in found if cell.device == device])
        table = new_table(f"wins and losses on {device}", "backend", ["wins", "over the limit", "furthest behind"])
        for backend in backends_of(contested):
            worst = max(contested, key=lambda cell: cell.behind(backend))
            over = sum(backend in cell.over for cell in contested)
            wins = f"{sum(cell.behind(backend) == 1 for cell in contested)} of {len(contested)}"
            table.add_row(label(backend), wins, str(over), _told(worst, backend))
        tables += [table] if contested else []
    return tables


def contested_of(found: list[Cell]) -> list[Cell]:
    """Return those of the cells ``found`` in which several backends were measured."""
    return [cell for cell in found if len(cell.times) + len(cell.over) > 1]


def backends_of(found: list[Cell]) -> list[str]:
    """Return the names of the backends that were measured in the cells ``found``, sorted."""
    return sorted({name for cell in found for name in (*cell.over, *(each for _, each in cell.times))})


def _told(cell: Cell, backend: str) -> str:
    ratio = cell.behind(backend)
    return f"{times(ratio)}x {label(cell.times[0][1])}: {place_of(cell)}" if ratio > 1 else "-"


def place_of(cell: Cell) -> str:
    """Return a text that names the use, the graph and the batch size of a cell."""
    return f"{cell.use}, {cell.family}, {power(cell.num_edges)} edges, batches of {power(cell.batch)}"


def _groups(found: list[Cell]) -> dict[tuple[str, str, str], list[Cell]]:
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in found:
        groups.setdefault((cell.device, cell.family, cell.use), []).append(cell)
    return groups


def _families(found: list[Cell]) -> list[str]:
    return list(dict.fromkeys(cell.family for cell in found))


def picture(found: list[Cell], title: str = "") -> Any:
    """Return the heat map of the cells of one device as a figure, with a panel per family of graphs and use.

    Colours show the fastest backend, grey that there is no difference, numbers its lead. ``title`` is that of the
    figure. Needs matplotlib.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    uses = {family: list(dict.fromkeys(c.use for c in found if c.family == family)) for family in _families(found)}
    columns = min(max(map(len, uses.values())), PANELS_IN_A_ROW)
    rows = [(family, some[k : k + columns]) for family, some in uses.items() for k in range(0, len(some), columns)]
    height = 0.75 + 0.3 * max(len({cell.num_edges for cell in found if cell.family == family}) for family in uses)
    figure = Figure(figsize=(3.2 * max(2, columns), height * len(rows) + 1.3), layout="constrained")
    panels = figure.subplots(len(rows), columns, squeeze=False)
    places = {(family, use): panels[i][j] for i, (family, some) in enumerate(rows) for j, use in enumerate(some)}
    for axes in set(panels.flat) - set(places.values()):
        axes.set_axis_off()
    for (_, family, use), group in _groups(found).items():
        _panel(places[family, use], f"{use}, {family}", group)
    winners = sorted({cell.times[0][1] for cell in found if cell.times and cell.lead >= NO_DIFFERENCE})
    handles = [Patch(color=pale(name), label=label(name)) for name in winners]
    handles += [
        Patch(color=GREY, label=f"no difference (less than {NO_DIFFERENCE:g})"),
        Patch(facecolor="white", edgecolor="grey", hatch="///", label="over the limit"),
        Patch(facecolor="white", edgecolor="grey", label="empty: batch larger than the graph, or not measured"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=max(2, min(4, columns)), fontsize=8)
    told = (
        "colour: the fastest backend; number: how many times as long the next one takes; batch across, graph up (edges)"
    )
    told = textwrap.fill(told, 45 * columns)
    figure.suptitle(f"{title}\n{told}" if title else told, fontsize=9)
    for axes in panels[:, 0]:
        axes.set_ylabel("graph", fontsize=8)
    return figure


def choice(found: list[Cell]) -> list[Cell]:
    """Return what to choose: a cell per size of graph and batch, without an algorithm and with one.

    A time is how many times as long as the fastest a backend takes, the geometric mean over uses and families of
    graphs. Backends that lack one of these times, and rebuilding, are left out.
    """
    groups: dict[tuple[str, str, int, int], list[Cell]] = {}
    for cell in found:
        use = PLAIN if cell.use in USES else KEPT
        groups.setdefault((cell.device, use, power_near(cell.num_edges), cell.batch), []).append(cell)
    made = []
    for (device, use, edges, batch), group in groups.items():
        timed = [cell for cell in group if cell.times]
        names = [name for name in backends_of(timed) if name != REBUILD and all(cell.behind(name) for cell in timed)]
        means = [(math.exp(sum(math.log(cell.behind(name)) for cell in timed) / len(timed)), name) for name in names]
        made.append(Cell(device, EVERY, use, 0, edges, batch, sorted(means), [], {}))
    return sorted(made, key=lambda cell: (cell.device, cell.use != PLAIN, cell.num_edges, cell.batch))


def _panel(axes: Any, title: str, group: list[Cell]) -> None:
    from matplotlib.patches import Rectangle

    batches, sizes = sorted({cell.batch for cell in group}), sorted({cell.num_edges for cell in group})
    for cell in group:
        x, y = batches.index(cell.batch), sizes.index(cell.num_edges)
        if not cell.times:
            axes.add_patch(Rectangle((x, y), 1, 1, facecolor="white", edgecolor="grey", hatch="///"))
            continue
        axes.add_patch(Rectangle((x, y), 1, 1, facecolor=shade(cell.times[0][1], cell.lead), edgecolor="white"))
        text = f"{cell.lead:.3g}" if len(cell.times) > 1 else "alone"
        axes.text(x + 0.5, y + 0.5, text, ha="center", va="center", fontsize=7)
    axes.set(xlim=(0, len(batches)), ylim=(0, len(sizes)))
    axes.set_title(title, fontsize=9)
    axes.set_xticks([k + 0.5 for k in range(len(batches))], map(power, batches), fontsize=7)
    axes.set_yticks([k + 0.5 for k in range(len(sizes))], map(power, sizes), fontsize=7)


def times(ratio: float) -> str:
    """Return a ratio as text, with three significant digits, or as an integer from 1000 on."""
    return f"{ratio:.3g}" if ratio < 1000 else f"{ratio:,.0f}"


def power(number: int) -> str:
    """Return a number as text: "2^k" if it is near a power of two, else its digits."""
    near = power_near(number)
    close = max(number / near, near / number) <= POWER
    return f"2^{near.bit_length() - 1}" if close and number > 1 else f"{number:,}"
