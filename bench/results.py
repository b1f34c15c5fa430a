"""Results on disk: JSON lines, one header with the environment per run, then one object per cell.

Every line carries the id of its ``run``; several runs may share a file. A line is appended with a single write.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import uuid
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from suricate.bench.runner import Measurement, Task
from suricate.devices import Device

FORMAT = 1  #: version of the format, in every header


@dataclass
class Cell:
    """One cell of the matrix as it is written. Times are in seconds; all of them are None unless ``status`` is "ok"."""

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
    state: str = "fresh"
    options: dict[str, Any] = field(default_factory=dict)
    setting: str = ""
    type: str = "cell"

    @classmethod
    def of(cls, run: str, graph: str, task: Task, found: Measurement, peak: float | None = None) -> Cell:
        """Return the record of ``task``; ``peak`` is the device's measured bandwidth in bytes per second, if known."""
        ok = found.status == "ok"
        cell = cls(
            run, task.backend, str(task.device), task.workload, task.algorithm, graph, task.batch, task.detail,
            found.status, found.reason, task.oracle if ok else None, task.items,
            suite=task.suite, hints=task.hints, state=task.state, options=dict(task.options), setting=task.setting,
        )  # fmt: skip
        if ok:
            cell.extra = task.extra()
        if found.timing is None:
            return cell
        timing = found.timing
        cell.median_s, cell.min_s, cell.max_s = timing.median, timing.minimum, timing.maximum
        cell.p10_s, cell.quartile1_s = timing.low, timing.quartile1
        cell.quartile3_s, cell.p90_s = timing.quartile3, timing.high
        cell.iqr_s, cell.repeats, cell.noise = timing.quartile3 - timing.quartile1, timing.repeats, timing.noise
        cell.first_s, cell.compile_s = found.first, found.compile
        cell.edges_per_s = task.items / timing.median if task.items and timing.median else None
        cell.bytes = task.traffic()
        if cell.bytes is not None and timing.median:
            cell.bytes_per_s = cell.bytes / timing.median
            cell.bandwidth_share = cell.bytes_per_s / peak if peak else None
        return cell


class ResultsFile:
    """A file that lines are appended to; opened, and so known to be writable, before any work is done.

    Raises:
        OSError: the folder cannot be made, or the file cannot be opened for appending.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def append(self, line: dict[str, Any]) -> None:
        """Append one object."""
        os.write(self._descriptor, (json.dumps(line, allow_nan=False) + "\n").encode())

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def new_run() -> str:
    """Return an id for a run: date, time and a random part."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:6]}"


def read(paths: Iterable[Path]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return ``(headers, cells)`` of results files.

    Raises:
        ValueError: a line is not one of ours; the message names file and line.
    """
    lines: list[dict[str, Any]] = []
    for path in paths:
        for number, text in enumerate(path.read_text().splitlines(), 1):
            try:
                line = json.loads(text)
                if line["type"] not in ("environment", "cell"):
                    raise ValueError(f"unknown type {line['type']!r}")
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{path}:{number}: not a line of a results file ({error})") from error
            lines.append(line)
    return (
        [line for line in lines if line["type"] == "environment"],
        [line for line in lines if line["type"] == "cell"],
    )


def to_line(cell: Cell) -> dict[str, Any]:
    """Return the object that is written for ``cell``."""
    return asdict(cell)


# -- environment -------------------------------------------------------------------------------------------------------


def environment(
    run: str, device: Device, seed: int, inputs: list[dict[str, Any]], peak: float | None
) -> dict[str, Any]:
    """Return the header line of a run: machine, software, commit, seed, inputs, command line."""
    return {
        "type": "environment",
        "format": FORMAT,
        "run": run,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "device": str(device),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "cores_usable": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": _memory_bytes(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in ("suricate", "numpy", "scipy", "numba")},
        "gpu": _gpu(device) if device.is_cuda else None,
        "peak_bytes_per_s": peak,
        "git": _git(Path(__file__).resolve().parent),
        "seed": seed,
        "threads": {name: os.environ[name] for name in os.environ if name.endswith("_NUM_THREADS")},
        "inputs": inputs,
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def _gpu(device: Device) -> dict[str, Any]:
    """Return name, memory, driver and library versions of a CUDA device."""
    cupy = device.xp
    properties = cupy.cuda.runtime.getDeviceProperties(device.index)
    return {
        "name": properties["name"].decode(),
        "memory_bytes": properties["totalGlobalMem"],
        "multiprocessors": properties["multiProcessorCount"],
        "compute_capability": f"{properties['major']}.{properties['minor']}",
        "driver": _driver_version(),
        "cuda_driver_api": cupy.cuda.runtime.driverGetVersion(),
        "cuda_runtime": cupy.cuda.runtime.runtimeGetVersion(),
        "cupy": cupy.__version__,
    }


def _driver_version() -> str | None:
    try:
        return Path("/sys/module/nvidia/version").read_text().strip()
    except OSError:
        return _output("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0")


def _git(folder: Path) -> dict[str, Any] | None:
    """Return commit and dirty flag of the checkout that holds ``folder``; None where there is none."""
    commit = _output("git", "-C", str(folder), "rev-parse", "HEAD")
    # an installed package may lie inside somebody else's checkout
    tracked = _output("git", "-C", str(folder), "ls-files", "--error-unmatch", str(Path(__file__).resolve()))
    if commit is None or tracked is None:
        return None
    return {"commit": commit, "dirty": bool(_output("git", "-C", str(folder), "status", "--porcelain"))}


def _output(*command: str) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
