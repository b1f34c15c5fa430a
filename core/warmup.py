"""Compiling ahead what common calls need, so that nobody waits for it (``suricate warmup``).

Kernels are compiled when they are first called and kept on disk. Warming up makes those calls, on tiny graphs: updates
and queries of a backend, unweighted and weighted, every algorithm kept current, and the readers of text files.
"""

from __future__ import annotations

import inspect
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from suricate import plugins
from suricate.algorithm import Algorithm
from suricate.devices import Device, resolve_device
from suricate.graph import Graph
from suricate.primitives.sorting import LARGE

VERTICES, EDGES = 500, 6_000  # enough that vertices outgrow what they begin with
FIRST = 100  # edges of a batch before those
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


def _can_be_sampled(algorithm: type[Algorithm]) -> bool:
    """Return whether ``sample_params()`` gives every parameter that has no default."""
    given = algorithm.sample_params(VERTICES, 0)
    parameters = inspect.signature(algorithm).parameters.values()
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return all(p.default is not p.empty or p.kind in optional or p.name in given for p in parameters)


def _edges(size: int = EDGES) -> tuple[np.ndarray, np.ndarray]:
    """Return random edges, a third of them of one vertex."""
    src, dst = np.random.default_rng(1).integers(0, VERTICES, (2, size)).astype(np.uint32)
    src[: size // 3] = 0
    return src, dst


def _update(backend: str, device: Device, weight_dtype: str | None) -> None:
    for size, first in ((EDGES, FIRST), (LARGE, LARGE)):  # small batches; a bulk load and large ones
        graph = Graph(VERTICES, backend=backend, device=device, weight_dtype=weight_dtype)
        for xp in {np, device.xp}:  # arrays of the host, and of the device
            src, dst = (xp.asarray(ids) for ids in _edges(size))
            weight = None if weight_dtype is None else xp.ones(size, weight_dtype)
            few = graph.insert_edges(src[:first], dst[:first], None if weight is None else weight[:first])
            many = graph.insert_edges(src, dst, weight)
            graph.has_edges(src, dst)
            gone = graph.delete_edges(src[: size // 2], dst[: size // 2])
            assert few.num_inserted + many.num_inserted >= gone.num_deleted  # counts are worked out when they are read
        if weight_dtype is not None:
            graph.edge_weights(src, dst, default=0)
        graph.degrees()
        graph.edges()
        graph.neighbors(0)
        graph.synchronize()


def _track(algorithm: type[Algorithm], backend: str, device: Device) -> None:
    requires = algorithm.requires
    for size in (EDGES,) if device.is_cuda else (EDGES, 4 * LARGE):  # loops of one thread, and of several
        graph = Graph(
            VERTICES,
            backend=backend,
            device=device,
            in_edges=requires.in_edges,
            directed=not requires.undirected,
            weight_dtype="float32" if requires.weighted else None,
        )
        src, dst = (device.xp.asarray(ids) for ids in _edges(size))
        weight = device.xp.ones(size, np.float32) if requires.weighted else None
        tracker = graph.track(algorithm, **algorithm.sample_params(VERTICES, 0))
        graph.insert_edges(src, dst, weight)
        graph.delete_edges(src[::10], dst[::10])
        graph.delete_edges(src[1:3], dst[1:3])  # so few that results are repaired
        graph.insert_edges(src[1:3], dst[1:3], None if weight is None else weight[1:3])
        assert tracker.result is not None  # worked out when it is read
        graph.synchronize()


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
