"""Results on disk: JSON lines, one header with the environment per run, then one object per row.

Every line carries the id of its ``run``; several runs may share a file. A line is appended with a single write.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from suricate.bench import constants
from suricate.bench.machine.sources import Identity, conflict, identities
from suricate.bench.runner import Measurement, Task
from suricate.cli.grids import Grid
from suricate.cli.sources import STDOUT


@dataclass
class Row:
    """One row of a results file. Times are in seconds; all of them are None unless ``status`` is "ok".

    They are wall-clock times unless processor time was requested. Those of ``quiet_core_*`` were measured on a quiet
    CPU core, and are None unless requested. ``plugins`` says which code was measured, see ``machine.sources``.
    """

    run: str
    backend: str
    device: str
    workload: str
    algorithm: str | None
    graph: str
    batch: int | None
    detail: str
    status: str
    reason: str
    verified: str | None
    items: int
    median_s: float | None = None
    min_s: float | None = None
    max_s: float | None = None
    p10_s: float | None = None
    quartile1_s: float | None = None
    quartile3_s: float | None = None
    p90_s: float | None = None
    p99_s: float | None = None
    p999_s: float | None = None
    iqr_s: float | None = None
    repeats: int = 0
    noise: float | None = None
    first_s: float | None = None
    compile_s: float | None = None
    edges_per_s: float | None = None
    bytes: int | None = None
    bytes_per_s: float | None = None
    bandwidth_share: float | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    suite: str = ""
    hints: bool = False
    scenario: str = "fresh"
    options: dict[str, Any] = field(default_factory=dict)
    setting: str = ""
    quiet_core_median_s: float | None = None
    quiet_core_p10_s: float | None = None
    quiet_core_p90_s: float | None = None
    plugins: dict[str, Identity] = field(init=False)
    type: str = "row"

    def __post_init__(self) -> None:
        self.plugins = identities(self.backend, self.algorithm)

    @classmethod
    def of(cls, run: str, graph: str, task: Task, found: Measurement, peak: float | None = None) -> Row:
        """Return the row of ``task``, which was measured as ``found`` on the graph named ``graph`` in the run ``run``.

        ``peak``: the device's measured bandwidth in bytes per second, None if unknown.
        """
        ok = found.status == "ok"
        row = cls(
            run, task.backend, str(task.device), task.workload, task.algorithm, graph, task.batch, task.detail,
            found.status, found.reason, task.oracle if ok or found.over else None, task.items,
            suite=task.suite, hints=task.hints, scenario=task.scenario, options=dict(task.options),
            setting=task.setting,
        )  # fmt: skip
        if ok:
            row.extra = task.extra()
        if found.status == "over":
            row.extra = {**task.extra(), "over_s": found.over}
        if found.timing is None:
            return row
        timing, quiet = found.timing, found.quiet
        row.median_s, row.min_s, row.max_s = timing.median, timing.minimum, timing.maximum
        row.p10_s, row.quartile1_s = timing.low, timing.quartile1
        row.quartile3_s, row.p90_s, row.p99_s = timing.quartile3, timing.high, timing.tail
        row.p999_s = timing.far_tail
        row.iqr_s, row.repeats, row.noise = timing.quartile3 - timing.quartile1, timing.repeats, timing.noise
        row.first_s, row.compile_s = found.first, found.compile
        if quiet is not None:
            row.quiet_core_median_s, row.quiet_core_p10_s, row.quiet_core_p90_s = quiet.median, quiet.low, quiet.high
        row.edges_per_s = task.items / timing.median if task.items and timing.median else None
        row.bytes = task.traffic()
        if row.bytes is not None and timing.median:
            row.bytes_per_s = row.bytes / timing.median
            row.bandwidth_share = row.bytes_per_s / peak if peak else None
        return row


class ResultsFile:
    """A file to which lines are appended; it is opened at once, so that an unwritable file is an error before any work.

    Raises:
        OSError: the folder cannot be made, or the file cannot be opened for appending.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def append(self, line: dict[str, Any]) -> None:
        """Append ``line``, a header or a row, as one line of JSON."""
        os.write(self._descriptor, (json.dumps(line, allow_nan=False) + "\n").encode())

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def new_run() -> str:
    """Return a new id for a run, a text of date, time and a random part."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:6]}"


def read(paths: Iterable[Path]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return ``(headers, rows)`` of results files as lists of dicts, in the order of the files and their lines.

    Raises:
        ValueError: a line is neither a header nor a row of this benchmark; the message names file and line.
    """
    lines: list[dict[str, Any]] = []
    for path in paths:
        for number, text in enumerate(path.read_text().splitlines(), 1):
            try:
                line = _current(json.loads(text))
                if line["type"] not in ("environment", "row"):
                    raise ValueError(f"unknown type {line['type']!r}")
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{path}:{number}: not a line of a results file ({error})") from error
            lines.append(line)
    return (
        [line for line in lines if line["type"] == "environment"],
        [line for line in lines if line["type"] == "row"],
    )


def _current(line: dict[str, Any]) -> dict[str, Any]:
    """Return a line of a results file in the present format: early files call a row "cell", a scenario "state"."""
    if line["type"] != "cell":
        return line
    return {**line, "type": "row", "scenario": line.get("state", "fresh")}


def to_line(row: Row) -> dict[str, Any]:
    """Return ``row`` as a dict of its fields, as it is written to a results file."""
    return asdict(row)


def what(row: dict[str, Any]) -> str:
    """Return workload, algorithm and detail of a row as one text; the name of its file, if it has one, comes first."""
    words = " ".join(part for part in (row["workload"], row["algorithm"], row["detail"]) if part)
    return f"{row['file']}: {words}" if row.get("file") else words


def place(graph: str, task: Task) -> tuple[Any, ...]:
    """Return a tuple that identifies the row of ``task`` on the graph named ``graph`` in a results file."""
    return graph, str(task.device), task.backend, task.workload, task.algorithm, task.detail, task.batch


def measured(path: Path) -> set[tuple[Any, ...]]:
    """Return the rows in the file ``path`` that need not be repeated, those of status "ok", "over" or "skip".

    Each is given by the tuple that :func:`place` returns for it.
    """
    _, rows = read([path])
    names = ("graph", "device", "backend", "workload", "algorithm", "detail", "batch")
    return {tuple(row[name] for name in names) for row in rows if row["status"] in ("ok", "over", "skip")}


def check_versions(path: Path, tasks: Iterable[tuple[str | None, str | None]]) -> None:
    """Raise ``ValueError`` if the file has rows of other versions of the plugins of ``tasks``, (backend, algorithm)."""
    if path != STDOUT and path.is_file():
        planned = [
            {"backend": backend, "algorithm": algorithm, "plugins": identities(backend or "", algorithm)}
            for backend, algorithm in set(tasks)
        ]
        if problem := conflict(read([path])[1], planned):
            raise ValueError(f"{path}: {problem}: rows of two versions are not put together, name another --output")


def grid(rows: Iterable[dict[str, Any]]) -> Grid:
    """Return rows as one table of numbers and texts, for CSV and JSON: a column per field, units in their names.

    Fields of dicts have columns of their own (``extra.iterations``); ``noisy`` says whether the noise is high.
    """
    flat = [_flat({**row, "noisy": (row.get("noise") or 0) > constants.NOISY}) for row in rows]
    columns = list(dict.fromkeys([*(each.name for each in fields(Row)), *(name for row in flat for name in row)]))
    used = [name for name in columns if name != "type" and any(name in row for row in flat)]
    return Grid("rows", used, [[row.get(name) for name in used] for row in flat])


def _flat(values: dict[str, Any], start: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            found.update(_flat(value, f"{start}{name}."))
        else:
            found[start + name] = json.dumps(value) if isinstance(value, list) else value
    return found


def latest_of_files(paths: Sequence[Path]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return ``(headers, rows)`` of results files; of equal measurements in one file only the last row.

    Measurements are equal if :func:`latest` says so: by graph, device, backend, workload, algorithm, detail, batch
    size. If several files have a row of one measurement, or of two versions of a plugin, every row gets the name of its
    file as ``"file"``, and tables show the rows of all files.

    Raises:
        ValueError: a line is neither a header nor a row of this benchmark, or one file has rows of two versions of a
            plugin.
    """
    found = [read([path]) for path in paths]
    for path, (_, rows) in zip(paths, found, strict=True):
        if problem := conflict([], rows):
            raise ValueError(f"{path}: {problem}: divide the file by version")
    headers, each = [line for lines, _ in found for line in lines], [latest(rows) for _, rows in found]
    together = [row for rows in each for row in rows]
    if len(latest(together)) < len(together) or conflict([], together):
        short = len({path.stem for path in paths}) == len(paths)
        for path, rows in zip(paths, each, strict=True):
            for row in rows:
                row["file"] = path.stem if short else str(path)
    return headers, together


def latest(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return ``rows`` without repeated measurements, of which the last row counts.

    They are equal in graph, device, backend, batch size, and the text of :func:`what` (workload, algorithm, detail).
    """
    return list({(row["graph"], row["device"], row["backend"], what(row), row["batch"]): row for row in rows}.values())
