"""The environment of a run: machine, GPU, software, commit, seed, inputs, command line."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import Any

from suricate.base.devices import Device

FORMAT = 1  #: version of the results format, in every header


def environment(
    run: str, device: Device, seed: int, inputs: list[dict[str, Any]], peak: float | None,
    brought: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:  # fmt: skip
    """Return the header line of a results file for the run with the id ``run``, as a dict for JSON.

    ``seed``: of the run; ``inputs``: the descriptions of the graphs; ``peak``: the device's measured bandwidth in bytes
    per second, None if unknown; ``brought``: the versions of the distributions that bring plugins, by name.
    """
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
        "versions": {**brought, **{name: _version(name) for name in ("suricate", "numpy", "scipy", "numba")}},
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
    """Return commit and dirty flag of the Git checkout that ``folder`` belongs to; None if it belongs to none."""
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
