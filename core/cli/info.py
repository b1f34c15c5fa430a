"""``suricate info`` and ``suricate plugins``: what is installed, and the facts of a graph file."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from suricate import __version__, plugins
from suricate.cli.carry import shipped_code
from suricate.cli.grids import Grid
from suricate.cli.group import FAILED
from suricate.cli.sources import (
    GRAPH_FILE,
    ReadingCommand,
    describe,
    is_snapshot,
    load_snapshot,
    read_file,
    reading_options,
)
from suricate.cli.terminal import show, table_format
from suricate.cli.warmup import kernel_cache
from suricate.plugins.algorithm import UPDATE_KINDS

if TYPE_CHECKING:
    import numpy as np

    from suricate.io import EdgeFile
    from suricate.plugins.algorithm import Algorithm

LIBRARIES = ("numpy", "scipy", "numba", "pyarrow", "cupy-cuda12x", "cupy-cuda13x")


@click.command("plugins")
@table_format
@click.pass_context
def show_plugins(ctx: click.Context, table_format: str) -> None:
    """List the plugins, and how each algorithm is updated.

    Version, source, hooks and state of each; exit code 1 if one failed.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the table says it
        found = plugins.installed()
    states = [f"failed: {plugin.error}" if plugin.error else "ok" for plugin in found]
    rows = [(p.name, p.version, p.source, " ".join(p.hooks), state) for p, state in zip(found, states, strict=True)]
    grids = [Grid("plugins", ("name", "version", "source", "hooks", "state"), rows)]
    offered = plugins.algorithms()
    if offered:
        updates = [update_row(offered[name]) for name in sorted(offered)]
        grids.append(Grid("algorithms", ("algorithm", "update", "which", "of several processes"), updates))
    show(table_format, grids)
    ctx.exit(FAILED if any(plugin.error for plugin in found) else 0)


def update_row(algorithm: type[Algorithm]) -> tuple[str, str, str, str]:
    """Return the cells of an algorithm in ``suricate plugins``.

    They are its name, its update kind, that kind in words, and how it differs on a graph of several processes.
    """
    kind = algorithm.update_kind
    return algorithm.name, kind, UPDATE_KINDS[kind], algorithm.divided or "the same"


@click.command(cls=ReadingCommand)
@click.argument("file", type=GRAPH_FILE, required=False)
@reading_options
@table_format
def info(file: Path | None, table_format: str, **reading: Any) -> None:
    """Show versions, devices and caches; or the facts of a graph FILE."""
    if file is None:
        facts = machine_facts()
    elif is_snapshot(file):
        facts = snapshot_facts(file, reading)
    else:
        facts = file_facts(read_file(file, **reading))
    show(table_format, [Grid("facts", ("what", "value"), list(facts.items()))])


def machine_facts() -> dict[str, Any]:
    """Return versions, devices, backends and caches of this installation."""
    import platform
    from importlib import metadata

    from suricate.base.devices import cuda_device_count, resolve_device

    facts: dict[str, Any] = {"suricate": __version__, "python": platform.python_version()}
    for name in LIBRARIES:
        try:
            facts[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            facts[name] = "not installed"
    device = resolve_device("auto")
    facts["CUDA devices"] = cuda_device_count()
    facts["default device"] = device
    facts["backends"] = ", ".join(plugins.backends()) or "none"
    if plugins.backends():
        facts["default backend"] = plugins.default_backend(device).name
    facts["algorithms"] = ", ".join(plugins.algorithms()) or "none"
    facts["CPU kernel cache"] = kernel_cache("cpu") or "none that can be written"
    facts["CUDA kernel cache"] = kernel_cache("cuda")
    return facts | shipped_code()


def snapshot_facts(path: Path, reading: dict[str, Any]) -> dict[str, Any]:
    """Return file, format, a description of the graph, and memory of the snapshot at ``path``, by name.

    ``reading`` has the options of reading that the user gave.
    """
    graph = load_snapshot(path, reading, device="cpu")
    usage = graph.memory_usage()
    memory = f"{usage.used} bytes used, {usage.allocated} allocated, {usage.bytes_per_edge:.1f} per edge"
    return {"file": path, "format": "snapshot", "graph": describe(graph), "memory": memory}


def file_facts(data: EdgeFile) -> dict[str, Any]:
    """Return by name what ``suricate info`` prints of ``data``, the edges of a file: sizes, weights, times, degrees.

    Values are numbers, texts and the path of the file.
    """
    import numpy as np

    from suricate.base.types import edge_keys
    from suricate.intake.arrays import sorted_distinct
    from suricate.io.parts import parts_of

    keys = sorted_distinct(edge_keys(data.src, data.dst))
    facts: dict[str, Any] = {"file": data.path, "format": data.format, "vertices": data.num_vertices}
    facts["edges"] = f"{len(data)} ({len(keys)} distinct, {int((data.src == data.dst).sum())} self-loops)"
    facts["directed"] = {True: "yes", False: "no", None: "the file does not say"}[data.directed]
    facts["weights"] = "none" if data.weight is None else extent(data.weight)
    facts["times"] = "none" if data.time is None else extent(data.time) + time_extent(data.time, data.time_unit)
    for name, ends in (("out", data.src), ("in", data.dst)):
        counts = np.unique(ends, return_counts=True)[1]
        without = data.num_vertices - len(counts)
        facts[f"lines per vertex ({name})"] = f"at most {counts.max(initial=0)}, {without} vertices without"
    if data.path.is_file() or parts_of(data.path):  # a pipe cannot be read again
        facts["sha256"] = data.sha256
    return facts


def time_extent(times: np.ndarray, unit: str | None) -> str:
    """Return one text: ``unit``, and the first and last of ``times`` in ISO 8601; "" without a unit or times."""
    from suricate.io.times import to_text

    if unit is None or not len(times):
        return ""
    first, last = (str(text, "ascii") for text in to_text(times.take([times.argmin(), times.argmax()]), unit).tolist())
    return f" {unit} ({first} to {last})"


def extent(values: Any) -> str:
    """Return as one text dtype, least and greatest value of the array ``values``; only the dtype if it is empty."""
    return f"{values.dtype}, {values.min()} to {values.max()}" if len(values) else str(values.dtype)
