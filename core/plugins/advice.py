"""Which backend suits: an answer from measured times, the crossover map of ``suricate bench --suite crossover``.

A map is a file of ``maps/``, one per machine, written by ``suricate bench --report FILES --save-map``. For cells
(family of graphs, use, vertices, edges, edges in a batch) it has the milliseconds per batch of each backend, null where
there is no time and ``"over"`` where it is over the limit of time or memory, and the share of them that storing the
batch takes. Between cells times are interpolated, logarithms over logarithms of edges and batch. Beyond them the
nearest ones count.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from suricate.base.devices import CPU, Device, resolve_device
from suricate.base.errors import DeviceError, FileFormatError, ParameterError, RequirementError, UnknownNameError
from suricate.base.parameters import integer, shown

FORMAT = 1  #: of the files
FOLDER = Path(__file__).parent / "maps"
REBUILD = "rebuild"  #: stands among the backends of a map for a graph that is rebuilt with every batch
OVER = "over"  #: stands for a time over the limit
NEAR = 1.1  #: a graph or batch that differs by this factor from a measured one is taken for it

Points = list[tuple[float, float]]  #: (logarithm of a size, milliseconds)


class Choice(NamedTuple):
    """The expected cost of a backend: milliseconds per batch, infinite if over the limit of time or memory.

    ``update_share``: the share of it that storing the batch takes, in the nearest measured cell; None if not known.
    """

    backend: str
    ms: float
    update_share: float | None


@dataclass(frozen=True)
class Advice:
    """What :func:`advise` returns; printed, it is a table.

    Attributes:
        choices: the backends, the fastest first.
        rebuild: the cost if the graph is rebuilt with every batch and algorithms compute from scratch; None: not
            measured.
        num_vertices, num_edges, batch, use: the arguments of :func:`advise`; ``use`` as the map names it.
        device: ``"cpu"`` or ``"cuda"``.
        machine: the machine that the times were measured on.
        date: the date of the measurement.
        limit_ms: longer times were not measured; they count as infinite, as do cases that ran out of memory.
        families: families of graphs whose times are averaged (geometric mean): those measured nearest to ``num_edges``.
        nearest: edges, batch and edges per vertex of the nearest measured cell.
        distance: how far the graph and the batch are from the measured cells, as a text.
        inside: whether they are between measured cells, and edges per vertex are within a factor of 2 of those
            measured.

    Example:
        >>> advice = su.advise(1_000_000, 16_000_000, 10_000, "update only", device="cpu")
        >>> isinstance(advice, su.Advice), advice.backend
        (True, 'slabhash')
    """

    choices: tuple[Choice, ...]
    rebuild: Choice | None
    num_vertices: int
    num_edges: int
    batch: int
    use: str
    device: str
    machine: str
    date: str
    limit_ms: float
    families: tuple[str, ...]
    nearest: tuple[int, int, float]
    distance: str
    inside: bool

    @property
    def backend(self) -> str:
        """The fastest backend, for ``Graph(backend=...)``."""
        return self.choices[0].backend

    @property
    def ms(self) -> float:
        """Milliseconds per batch of the fastest backend, including the use; infinite if all are over the limit."""
        return self.choices[0].ms

    @property
    def lead(self) -> float:
        """The time of the second fastest backend divided by the fastest one's; infinite if none is within the limit."""
        return self.choices[1].ms / self.ms if len(self.choices) > 1 and math.isfinite(self.ms) else math.inf

    @property
    def update_share(self) -> float | None:
        """The share of the time, 0 to 1, that storing the batch takes; the use takes the rest. None: not known."""
        return self.choices[0].update_share

    def __str__(self) -> str:
        rows = sorted([*self.choices, *([self.rebuild] if self.rebuild else [])], key=lambda choice: choice.ms)
        width = max(len(row.backend) for row in rows)
        asked = f"{self.num_vertices:,} vertices, {self.num_edges:,} edges, batches of {self.batch:,}: {self.use}"
        lines = [self._verdict(), f"({asked})", "", f"{'':{width}}  ms per batch  times the fastest  update"]
        lines += [f"{row.backend:{width}}  {self._figures(row)}" for row in rows]
        if any(not math.isfinite(row.ms) for row in rows):
            lines += ["", f"over limit: more than {self.limit_ms:,g} ms, or more memory than there was"]
        measured = f"measured on {self.machine}, {self.date}, graphs {' and '.join(self.families)}"
        return "\n".join([*lines, "", f"{measured};", self.distance.replace("; ", ";\n")])

    def _verdict(self) -> str:
        if not math.isfinite(self.ms):
            return "no backend stays below the limit"
        told = f"{self.backend}: {self.ms:.3g} ms per batch"
        if math.isfinite(self.lead):
            told += f"; {self.choices[1].backend} takes {self.lead:.3g} times that"
        if self.rebuild and self.rebuild.ms < self.ms:
            told += f"; rebuilding is faster still, {self.rebuild.ms:.3g} ms"
        return told if self.inside else f"{told} (a guess: no such graph or batch was measured)"

    def _figures(self, row: Choice) -> str:
        share = "" if row.update_share is None else f"{row.update_share:.0%}"
        if not math.isfinite(row.ms):
            return f"{'over limit':>12}"
        return f"{row.ms:>12.3g}  {row.ms / self.ms:>17.3g}  {share:>6}".rstrip()


def advise(
    num_vertices: int,
    num_edges: int,
    batch: int,
    use: str = "update only",
    *,
    device: str | Device = "auto",
    family: str | None = None,
    map: str | Path | None = None,
) -> Advice:
    """Return which backend suits a graph that changes by batches, by times measured on one machine.

    ``Graph(n, backend=su.advise(n, edges, batch, use).backend)`` uses the answer.

    Args:
        num_vertices: number of vertices of the graph.
        num_edges: number of its edges.
        batch: edges per batch, 80 % of them inserted and 20 % deleted.
        use: what follows each batch: ``"update only"``, ``"query"`` (of as many edges), ``"matrix-vector product"``,
            or the name of an algorithm of the map, which is kept current; the beginning of a name suffices.
        device: ``"cpu"``, ``"cuda"`` or ``"auto"``, as for ``Graph``; this machine need not have it.
        family: of graphs, ``"rmat"`` (few hubs have most edges) or ``"uniform"``; None: the mean of all.
        map: a file that ``suricate bench --report FILES --save-map`` wrote, instead of the built-in ones.

    Raises:
        ParameterError: a number is not an integer of at least 1, or there are more edges than pairs of vertices.
        UnknownNameError: the map has no such use or family.
        DeviceError: there is no such kind of device.
        RequirementError: no map has been measured on this kind of device.
        FileFormatError: ``map`` is not such a file.

    Example:
        >>> su.advise(1_000_000, 16_000_000, 10_000, "update only", device="cpu").backend
        'slabhash'
    """
    asked = [
        integer(f"advise: {name}", value, low=1)
        for name, value in (("num_vertices", num_vertices), ("num_edges", num_edges), ("batch", batch))
    ]
    if asked[1] > asked[0] ** 2:
        raise ParameterError(f"advise: num_edges is {num_edges:,}, but {num_vertices:,} vertices have fewer pairs")
    found = _map_of(_kind_of(device), map)
    use = _named("use", use, dict.fromkeys(cell["use"] for cell in found["cells"]))
    cells = [cell for cell in found["cells"] if cell["use"] == use]
    families = tuple(dict.fromkeys(cell["family"] for cell in cells))
    if family is not None:
        families = (_named("family", family, families),)
    families = _nearest_families(cells, families, asked[1])
    cells = [cell for cell in cells if cell["family"] in families]
    return _answer(found, cells, families, use, *asked)


def _nearest_families(cells: list[dict], families: Sequence[str], edges: int) -> tuple[str, ...]:
    """Return the ``families`` whose measured sizes include ``edges``, or are nearest, within a factor ``NEAR``."""
    gaps = {}
    for family in families:
        sizes = [cell["num_edges"] for cell in cells if cell["family"] == family]
        gaps[family] = 0.0 if min(sizes) <= edges <= max(sizes) else min(_gap(size, edges) for size in sizes)
    return tuple(family for family, gap in gaps.items() if gap <= min(gaps.values()) + math.log2(NEAR))


def _answer(
    found: dict[str, Any], cells: list[dict], families: tuple[str, ...], use: str, vertices: int, edges: int, batch: int
) -> Advice:
    nearest = min(cells, key=lambda cell: _gap(cell["num_edges"], edges) + _gap(cell["batch"], batch))
    choices = []
    for backend in dict.fromkeys(name for cell in cells for name in cell["ms"]):
        times = [_interpolated(cells, family, backend, edges, batch, found["limit_ms"]) for family in families]
        known = [time for time in times if time is not None]
        if known:
            mean = math.exp(sum(map(math.log, known)) / len(known))
            choices.append(Choice(backend, mean, nearest["update_share"].get(backend)))
    choices.sort(key=lambda choice: choice.ms)
    rebuild = next((choice for choice in choices if choice.backend == REBUILD), None)
    degree = nearest["num_edges"] / nearest["num_vertices"]
    distance, inside = _distance(cells, edges, batch, edges / vertices, degree)
    return Advice(
        tuple(choice for choice in choices if choice.backend != REBUILD), rebuild, vertices, edges, batch, use,
        found["device"], found["machine"], found["date"], found["limit_ms"], families,
        (nearest["num_edges"], nearest["batch"], degree), distance, inside,
    )  # fmt: skip


def _gap(one: float, other: float) -> float:
    """Return the distance of the sizes ``one`` and ``other``: the absolute binary logarithm of their ratio."""
    return abs(math.log2(one / other))


def _interpolated(cells: list[dict], family: str, backend: str, edges: int, batch: int, limit: float) -> float | None:
    """Return the milliseconds of ``backend`` on graphs of a ``family`` with ``edges`` edges, ``batch`` in a batch."""
    points: dict[int, Points] = {}
    for cell in cells:
        time = cell["ms"].get(backend)
        if cell["family"] == family and time is not None:
            place = points.setdefault(cell["num_edges"], [])
            place.append((math.log2(cell["batch"]), math.inf if time == OVER else time))
    by_size = [(math.log2(size), _between(some, math.log2(batch), limit)) for size, some in points.items()]
    return _between(by_size, math.log2(edges), limit) if by_size else None


def _between(points: Points, place: float, limit: float) -> float:
    """Return the time at ``place``: interpolated between the neighbouring ``points``, else that of the nearest."""
    below = max((point for point in points if point[0] <= place), default=min(points))
    above = min((point for point in points if point[0] >= place), default=max(points))
    weight = (place - below[0]) / (above[0] - below[0]) if above[0] > below[0] else 0.0
    if math.isinf((below, above)[weight > 0.5][1]):
        return math.inf
    first, second = (math.log(min(time, limit)) for _, time in (below, above))
    return math.exp((1 - weight) * first + weight * second)


def _distance(cells: list[dict], edges: int, batch: int, degree: float, known: float) -> tuple[str, bool]:
    """Return, in words, how far a graph and a batch are from the measured ``cells``, and whether they are there."""
    told, inside = [], True
    sizes, batches = ({cell[name] for cell in cells} for name in ("num_edges", "batch"))
    for what, asked, measured in (("graphs", edges, sizes), ("batches", batch, batches)):
        low, high = min(measured), max(measured)
        if not low / NEAR <= asked <= high * NEAR:
            end, word = (low, "smaller") if asked < low else (high, "larger")
            factor = max(asked / end, end / asked)
            told.append(f"{factor:.3g} times {word} than all measured {what}: the times are those of {end:,} edges")
            inside = False
        elif min(_gap(asked, each) for each in measured) > math.log2(NEAR):
            around = max(each for each in measured if each < asked), min(each for each in measured if each > asked)
            told.append(f"between {what} of {around[0]:,} and {around[1]:,} edges")
    if _gap(degree, known) > 1:
        told.append(f"{degree:.3g} edges per vertex, while {known:.3g} were measured")
        inside = False
    return "; ".join(told) or "there is a cell", inside


def _named(what: str, asked: Any, names: Iterable[str]) -> str:
    """Return the one of ``names`` that equals ``asked``, or the only one that begins with it."""
    names = list(names)
    found = [name for name in names if isinstance(asked, str) and asked and name.startswith(asked)]
    if asked in names:
        return asked
    if len(found) != 1:
        raise UnknownNameError(f"the map has no {what} {shown(asked)} (there are: {', '.join(names)})")
    return found[0]


def _kind_of(device: str | Device) -> str:
    """Return the kind of ``device``, ``"cpu"`` or ``"cuda"``; except for ``"auto"``, this machine need not have it."""
    if isinstance(device, Device):
        return device.kind
    if device == "auto":
        return resolve_device(device).kind
    kind, _, index = device.partition(":") if isinstance(device, str) else ("", "", "")
    if kind not in (CPU.kind, "cuda") or (index and not index.isdecimal()):
        raise DeviceError(f"unknown device {shown(device)}: use 'auto', 'cpu' or 'cuda'")
    return kind


def _map_of(kind: str, path: str | Path | None) -> dict[str, Any]:
    """Return the crossover map in the file ``path``; None: the largest built-in map for this ``kind`` of device."""
    maps = [_read(Path(path))] if path is not None else [_read(file) for file in sorted(FOLDER.glob("*.json"))]
    fitting = [each for each in maps if each["device"] == kind]
    if not fitting:
        there = ", ".join(sorted({each["device"] for each in maps})) or "none"
        raise RequirementError(
            f"no map has been measured for {kind} (there is one for: {there}); "
            "`suricate bench --suite crossover` measures one (docs/crossover.md)"
        )
    return max(fitting, key=lambda each: len(each["cells"]))


def _read(path: Path) -> dict[str, Any]:
    """Return the crossover map in a JSON file, with its cells as dictionaries; raises ``FileFormatError``."""
    try:
        found = json.loads(path.read_text())
        if found["format"] != FORMAT:
            raise ValueError(f"format {found['format']}, not {FORMAT}")
        found["cells"] = [_cell(found["backends"], *cell) for cell in found["cells"]]
        return found
    except (ValueError, KeyError, TypeError) as error:
        raise FileFormatError(path, None, f"not a crossover map ({error})") from error


def _cell(
    backends: Sequence[str], family: str, use: str, vertices: int, edges: int, batch: int, ms: list, shares: list
) -> dict[str, Any]:
    return {
        "family": family, "use": use, "num_vertices": vertices, "num_edges": edges, "batch": batch,
        "ms": dict(zip(backends, ms, strict=True)), "update_share": dict(zip(backends, shares, strict=True)),
    }  # fmt: skip
