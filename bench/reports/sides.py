"""Two sides compared, A and B: results of several processes each, of which every measurement gives one number.

Repeats within a process are not independent (one layout of memory, one state of the machine), so the unit is the
process, identified by the ``run`` of its rows. Ratio and interval are of Hodges and Lehmann, on logarithms; differences
are tested by Mann and Whitney, and all tests together by Holm.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from suricate.bench import constants
from suricate.bench.machine.sources import conflict
from suricate.bench.reports.results import read, what

Rows = list[dict[str, Any]]
NORMAL = 1.96  #: half the width of an interval of 95 %, in standard deviations
PLACE = ("graph", "device", "backend", "workload", "algorithm", "detail", "batch")  #: identifies a measurement


class Process(NamedTuple):
    """A run of the benchmark: its header, and the median seconds of each of its measurements."""

    header: dict[str, Any]
    seconds: dict[tuple[Any, ...], float]


class Side(NamedTuple):
    """The processes of one side in order of time, and their rows."""

    name: str
    processes: list[Process]
    rows: Rows

    def samples(self, place: tuple[Any, ...]) -> list[float]:
        """Return the seconds of a measurement, one number per process that has it."""
        return [process.seconds[place] for process in self.processes if place in process.seconds]

    def places(self) -> dict[tuple[Any, ...], None]:
        """Return what was measured, in order of appearance."""
        return dict.fromkeys(place for process in self.processes for place in process.seconds)


class Difference(NamedTuple):
    """A measurement of both sides: medians over processes, ``ratio`` (B / A) with its interval, and the tests.

    ``p`` and ``p_holm`` are None if it was not tested.
    """

    graph: str
    device: str
    backend: str
    workload: str
    batch: int | None
    processes_a: int
    processes_b: int
    a_s: float
    b_s: float
    ratio: float
    low: float
    high: float
    p: float | None = None
    p_holm: float | None = None
    verdict: str = ""


def side_of(name: str, paths: Iterable[Path], across: Collection[str] = ()) -> Side:
    """Return the side ``name`` of results files; ``across``: the fields of a row that do not identify it.

    Raises:
        ValueError: a file is malformed, there is no time in it, or the side is of several machines or versions, or has
            several rows of one process that only fields in ``across`` tell apart.
    """
    headers, rows = read(paths)
    by_run = {header["run"]: header for header in headers}
    found: dict[str, dict[tuple[Any, ...], dict[str, Any]]] = {}
    for row in rows:
        if row["status"] != "ok" or row["median_s"] is None:
            continue
        if row["run"] not in by_run:
            raise ValueError(f"side {name}: run {row['run']} has no header, so nothing says on which machine it was")
        place = tuple(None if field in across else row[field] for field in PLACE)
        before = found.setdefault(row["run"], {}).setdefault(place, row)
        if differing := [field for field in PLACE if before[field] != row[field]]:
            raise ValueError(
                f"side {name} has rows that differ in {', '.join(differing)} alone: a side has one of them"
            )
        found[row["run"]][place] = row
    if not found:
        raise ValueError(f"side {name} has no row with a time")
    processes = [
        Process(by_run[run], {place: row["median_s"] for place, row in held.items()}) for run, held in found.items()
    ]
    side = Side(name, sorted(processes, key=lambda process: process.header["date"]), rows)
    for kind, problem in unequal(Side(name, side.processes[:1], rows[:1]), side).items():
        raise ValueError(f"side {name} has several {kind}s: {problem}")
    return side


def unequal(a: Side, b: Side) -> dict[str, str]:
    """Return in what the sides differ, of "machine" and "version" (of plugins and what they run on), with what is."""
    found = {}
    for kind, told in {"machine": _machine, "version": _versions}.items():
        of_a, of_b = ([told(process.header) for process in side.processes] for side in (a, b))
        differing = next((other for other in of_b if other != of_a[0]), None)
        if differing is not None:
            changed = [name for name in differing | of_a[0] if differing.get(name) != of_a[0].get(name)]
            found[kind] = "; ".join(f"{name} {of_a[0].get(name)} and {differing.get(name)}" for name in changed)
    if "version" not in found and (problem := conflict(a.rows, b.rows)):
        found["version"] = problem
    return found


def _machine(header: dict[str, Any]) -> dict[str, Any]:
    gpu = header.get("gpu") or {}
    return {
        "processor": header["cpu"], "cores": header["cores"], "usable cores": header.get("cores_usable"),
        "GPU": gpu.get("name"),
    }  # fmt: skip


def _versions(header: dict[str, Any]) -> dict[str, Any]:
    gpu, git = header.get("gpu") or {}, header.get("git") or {}
    more = {"Python": header["python"], "driver": gpu.get("driver"), "CuPy": gpu.get("cupy")}
    return {**header["versions"], **more, "commit": git.get("commit")}


def refusal(a: Side, b: Side, across: Collection[str] = ()) -> str | None:
    """Return why two sides cannot be compared, None if they can; ``across``: in what they may differ."""
    runs = [{process.header["run"] for process in side.processes} for side in (a, b)]
    if shared := runs[0] & runs[1]:
        return f"run {min(shared)} is on both sides"
    clocks = {
        (process.header.get("limits") or {}).get("processor_time", False) for process in a.processes + b.processes
    }
    if len(clocks) > 1:
        return "some times are of the processor, others of the clock"
    for kind, told in unequal(a, b).items():
        if kind not in across:
            return f"another {kind}: {told} (--across {kind} compares them all the same)"
    if not a.places().keys() & b.places().keys():
        return "no row is on both sides (--across NAME leaves out a field that tells them apart)"
    return None


def by_turns(a: Side, b: Side) -> bool:
    """Return whether the processes of the sides took turns: in order of time, neither was ever more than one ahead."""
    order = sorted((process.header["date"], side) for side in (0, 1) for process in (a, b)[side].processes)
    counts, least = [0, 0], min(len(a.processes), len(b.processes))
    for _, side in order:
        counts[side] += 1
        if abs(counts[0] / len(a.processes) - counts[1] / len(b.processes)) > 1 / least + 1e-9:
            return False
    return True


def compared(a: Side, b: Side) -> list[Difference]:
    """Return every measurement that both sides have; tested if there are enough processes and they took turns."""
    taken = by_turns(a, b)
    found: list[Difference] = []
    tested: list[tuple[int, float]] = []  # place in ``found``, p
    for place in [place for place in a.places() if place in b.places()]:
        graph, device, backend, workload, algorithm, detail, batch = place
        told = what({"workload": workload, "algorithm": algorithm, "detail": detail})
        of_a, of_b = a.samples(place), b.samples(place)
        if taken and min(len(of_a), len(of_b)) >= constants.LEAST_PROCESSES:
            tested.append((len(found), _p_value(of_a, of_b)))
        sizes = len(of_a), len(of_b), float(np.median(of_a)), float(np.median(of_b))
        found.append(Difference(graph, device or "", backend or "", told, batch, *sizes, *ratio_of(of_a, of_b)))
    for (at, p), corrected in zip(tested, holm([p for _, p in tested]), strict=True):
        found[at] = found[at]._replace(p=p, p_holm=corrected, verdict=_verdict(found[at].ratio, corrected))
    return found


def ratio_of(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, float]:
    """Return the median of the ratios of all pairs, b / a, and its interval of 95 %.

    With less than four values per side that interval does not exist: then it is the range of all pairs.
    """
    logs = np.sort(np.subtract.outer(np.log(b), np.log(a)).ravel())
    n, m = len(a), len(b)
    skipped = max(0, math.floor(n * m / 2 - NORMAL * math.sqrt(n * m * (n + m + 1) / 12)) - 1)
    ratio, low, high = np.exp([np.median(logs), logs[skipped], logs[-1 - skipped]]).tolist()
    return ratio, low, high


def _p_value(a: Sequence[float], b: Sequence[float]) -> float:
    from scipy.stats import mannwhitneyu

    distinct = len({*a, *b}) == len(a) + len(b)
    return float(mannwhitneyu(a, b, method="exact" if distinct else "asymptotic").pvalue)


def holm(p: Sequence[float]) -> list[float]:
    """Return p-values corrected by Holm's method: a test is then as if it were the only one."""
    corrected, most = [1.0] * len(p), 0.0
    for rank, at in enumerate(np.argsort(p).tolist()):
        most = max(most, (len(p) - rank) * p[at])
        corrected[at] = min(1.0, most)
    return corrected


def _verdict(ratio: float, corrected: float) -> str:
    if corrected >= constants.ALPHA or 1 / constants.BEYOND <= ratio <= constants.BEYOND:
        return "no difference"
    return "slower" if ratio > 1 else "faster"


def processes_needed(rows: int) -> int:
    """Return with how many processes per side each of so many tested rows can show a difference.

    The least two-sided p of n against n is 2 / (2n over n): no value of one side lies between those of the other.
    """
    n = constants.LEAST_PROCESSES
    while rows * 2 / math.comb(2 * n, n) >= constants.ALPHA:
        n += 1
    return n
