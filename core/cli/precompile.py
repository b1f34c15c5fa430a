"""Compiling ahead what common calls need, so that no call waits for it (``suricate warmup``).

Kernels are compiled when they are first called and kept on disk. Warming up makes those calls
(``suricate.graph.ahead``): updates and queries of a backend, unweighted and weighted, every algorithm kept current, and
the readers of text files.
"""

from __future__ import annotations

import inspect
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from suricate import plugins
from suricate.base.devices import Device, resolve_device
from suricate.cuda.compiler import POOL
from suricate.graph import Graph
from suricate.graph.ahead import EDGES, FIRST, VERTICES, Kind, rehearsing, tracking, updates
from suricate.graph.options import GraphOptions
from suricate.plugins.algorithm import Algorithm
from suricate.primitives.sorting import LARGE

Step = tuple[str, Callable[[], None]]  #: what it is for, and the calls


def warm_up(
    *, backend: str | None = None, device: str = "auto", report: Callable[[str, float], None] | None = None
) -> float:
    """Compile what common calls need on ``device``; return the seconds that it took.

    Args:
        backend: name of the backend; None: the default one of the device.
        device: ``"auto"``, ``"cpu"``, ``"cuda"`` or ``"cuda:N"``.
        report: called after each step with what it was for and the seconds it took.

    Raises:
        UnknownNameError, DeviceError: there is no such backend or device.
    """
    place = resolve_device(device)
    name = plugins.default_backend(place).name if backend is None else plugins.backend(backend).name
    began = time.perf_counter()
    for what, run in _steps(name, place):
        start = time.perf_counter()
        run()
        if report is not None:
            report(what, time.perf_counter() - start)
    POOL.wait()  # for final builds
    return time.perf_counter() - began


def _steps(backend: str, device: Device) -> Iterator[Step]:
    for weight_dtype in (None, "float32"):
        kind = "unweighted" if weight_dtype is None else f"{weight_dtype} weights"
        yield f"{backend}: updates and queries, {kind}", lambda dtype=weight_dtype: _update(backend, device, dtype)  # type: ignore[misc]
    for name in plugins.algorithms():
        algorithm = plugins.algorithm(name)
        if _can_be_sampled(algorithm):
            yield f"{backend}: {name}", lambda algorithm=algorithm: _track(algorithm, backend, device)  # type: ignore[misc]
    yield "reading edge lists and CSV files", _read
    yield "names of vertices", _name


def _can_be_sampled(algorithm: type[Algorithm]) -> bool:
    """Return whether ``sample_params()`` gives every parameter that has no default."""
    given = algorithm.sample_params(VERTICES, 0)
    parameters = inspect.signature(algorithm).parameters.values()
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return all(p.default is not p.empty or p.kind in optional or p.name in given for p in parameters)


def _update(backend: str, device: Device, weight_dtype: str | None) -> None:
    kind = _kind(backend, device, weight_dtype=weight_dtype)
    for size, first in ((EDGES, FIRST), (LARGE, LARGE)):  # small batches; a bulk load and large ones
        _run(updates(kind, size, first))


def _track(algorithm: type[Algorithm], backend: str, device: Device) -> None:
    requires = algorithm.requires
    kind = _kind(
        backend,
        device,
        in_edges=requires.in_edges,
        directed=not requires.undirected,
        weight_dtype="float32" if requires.weighted else None,
    )
    for size in (EDGES,) if device.is_cuda else (EDGES, 4 * LARGE):  # loops of one thread, and of several
        _run(tracking(kind, algorithm, algorithm.sample_params(VERTICES, 0), size))


def _kind(backend: str, device: Device, **options: Any) -> Kind:
    return Kind(Graph, GraphOptions(plugins.backend(backend), **options), device)


def _run(steps: Iterator[None]) -> None:
    with rehearsing():
        for _ in steps:
            pass


def _read() -> None:
    from suricate.io import read, write
    from suricate.io.files import SMALL

    with tempfile.TemporaryDirectory() as folder:
        for name, header, lines, relabel in (
            ("edges.txt", "", "0 1\n1 2\n", False),
            ("numbers.csv", "source,target,weight\n", "10,11,0.5\n11,12,1e3\n", True),
            ("names.csv", "source,target,weight\n", "ann,bob,0.5\nbob,eve,2\n", True),
        ):
            path = Path(folder) / name
            path.write_text(header + lines * (SMALL // len(lines) + 1))  # nothing is compiled for small files
            write(read(path, relabel=relabel), path)


def _name() -> None:
    from suricate.intake.names import Names

    names = Names("text")
    for slide in range(4):  # as many texts come and go as make the table grow and the texts move
        names.release(names.add([f"{slide} {number:200}" for number in range(2000)]))
        names.next_slide()
    names.add(["ann", "bob"])
    names.copy().check()
